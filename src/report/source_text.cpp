// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "report/source_text.hpp"

#include "base/units.hpp"
#include "report/format.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>

namespace wavetap::report {
namespace {

constexpr std::uintmax_t kMostFileBytes = 16 * kMiB;

std::vector<std::string> read_lines(const std::string& file) {
    std::vector<std::string> lines;
    std::error_code code;
    if (!std::filesystem::is_regular_file(file, code) || code) return lines;
    if (std::filesystem::file_size(file, code) > kMostFileBytes || code) return lines;
    std::ifstream stream(file);
    std::string line;
    while (std::getline(stream, line))
        lines.push_back(trimmed(line));
    return lines;
}

} // namespace

const std::string& SourceText::line(const std::string& file, std::uint32_t number) {
    auto found = files_.find(file);
    if (found == files_.end()) found = files_.emplace(file, read_lines(file)).first;
    const std::vector<std::string>& lines = found->second;
    return number == 0 || number > lines.size() ? none_ : lines[number - 1];
}

} // namespace wavetap::report
