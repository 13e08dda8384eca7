// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "tests/support/proof.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

// Helpers for tests that read real traces (environment WAVETAP_DATA, or the folder named at
// configure time). Test code only.

namespace wavetap::test {

inline std::filesystem::path data_folder() {
    if (const char* folder = std::getenv("WAVETAP_DATA"); folder != nullptr && *folder != '\0')
        return folder;
    return WAVETAP_DATA_DEFAULT;
}

/// True where missing data must fail the test instead of skipping it.
inline bool data_required() {
    return std::getenv("CI") != nullptr || std::filesystem::exists(data_folder());
}

/// Files `se*SUFFIX` of every trace of an architecture ("gfx950"), sorted.
inline std::vector<std::filesystem::path> trace_files(const std::string& arch,
                                                      const std::string& suffix) {
    std::vector<std::filesystem::path> files;
    const auto root = data_folder() / "traces" / arch;
    if (!std::filesystem::exists(root)) return files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with("se") && name.ends_with(suffix)) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

inline std::vector<std::byte> read_bytes(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> chars{std::istreambuf_iterator<char>(file), {}};
    std::vector<std::byte> bytes(chars.size());
    std::transform(chars.begin(), chars.end(), bytes.begin(),
                   [](char c) { return static_cast<std::byte>(c); });
    return bytes;
}

} // namespace wavetap::test

/// Use inside TEST bodies: fails or skips (loudly) when `files` is empty.
#define WAVETAP_NEED_DATA(files)                                                                   \
    if ((files).empty()) {                                                                         \
        if (wavetap::test::data_required())                                                        \
            FAIL() << "no real traces in " << wavetap::test::data_folder();                        \
        ::wavetap::test::count_proof("skipped", 0, 1);                                             \
        GTEST_SKIP() << "REAL TRACES MISSING: set WAVETAP_DATA (looked in "                        \
                     << wavetap::test::data_folder() << ")";                                       \
    }
