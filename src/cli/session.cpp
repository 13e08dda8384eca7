// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/session.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace wavetap::cli {

int fail(const Error& error, int status) {
    fmt::print(stderr, "wavetap: error: {}\n", to_string(error));
    if (!error.hint.empty()) fmt::print(stderr, "hint: {}\n", error.hint);
    return status;
}

void note(const std::string& text) {
    fmt::print(stderr, "wavetap: note: {}\n", text);
}

Result<void> write_json(const JsonOption& json, const std::string& text) {
    std::FILE* out = json.on_stdout() ? stdout : std::fopen(json.file.c_str(), "w");
    bool good = out != nullptr;
    if (good) {
        good = std::fwrite(text.data(), 1, text.size(), out) == text.size();
        if (!text.ends_with('\n')) good = std::fputc('\n', out) != EOF && good;
        good = (out == stdout ? std::fflush(out) : std::fclose(out)) == 0 && good;
    }
    if (good) return {};
    return Error{ErrorCode::kIo, "cannot write the JSON: " + std::generic_category().message(errno),
                 json.on_stdout() ? "stdout" : json.file, ""};
}

} // namespace wavetap::cli
