// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/units.hpp"

#include <charconv>

namespace wavetap {

namespace {

Error not_a(const char* what, std::string_view text, const char* hint) {
    return Error{ErrorCode::kInvalidArgument,
                 "'" + std::string(text) + "' is not a " + std::string(what), "", hint};
}

} // namespace

Result<std::uint64_t> parse_number(std::string_view text) {
    int base = 10;
    std::string_view digits = text;
    if (digits.starts_with("0x") || digits.starts_with("0X")) {
        digits.remove_prefix(2);
        base = 16;
    }
    std::uint64_t value = 0;
    const auto [end, code] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (digits.empty() || code != std::errc() || end != digits.data() + digits.size())
        return not_a("number", text, "write it in decimal, or in hexadecimal as 0x3");
    return value;
}

Result<std::uint64_t> parse_size(std::string_view text) {
    constexpr const char* kHint = "write bytes or a unit, e.g. 4096, 512KiB, 64MiB, 1GiB";
    std::string_view digits = text;
    std::uint64_t unit = 1;
    for (const auto& [suffix, factor] :
         {std::pair{std::string_view("KiB"), kKiB}, std::pair{std::string_view("MiB"), kMiB},
          std::pair{std::string_view("GiB"), kGiB}}) {
        if (digits.ends_with(suffix)) {
            digits.remove_suffix(suffix.size());
            unit = factor;
            break;
        }
    }
    const auto number = parse_number(digits);
    if (!number || *number == 0) return not_a("size", text, kHint);
    constexpr std::uint64_t kMost = std::uint64_t{1} << 63;
    if (*number > kMost / unit) return not_a("size below 2^63 bytes", text, kHint);
    return *number * unit;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    if (text.empty()) return parts;
    std::size_t begin = 0;
    while (true) {
        const std::size_t end = text.find(separator, begin);
        if (end == std::string_view::npos) {
            parts.push_back(text.substr(begin));
            return parts;
        }
        parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
}

std::string format_size(std::uint64_t bytes) {
    for (const auto& [unit, name] :
         {std::pair{kGiB, "GiB"}, std::pair{kMiB, "MiB"}, std::pair{kKiB, "KiB"}}) {
        if (bytes != 0 && bytes % unit == 0) return std::to_string(bytes / unit) + " " + name;
    }
    return std::to_string(bytes) + " B";
}

std::string format_hex(std::uint64_t value) {
    char buffer[16];
    const auto [end, code] = std::to_chars(buffer, buffer + sizeof buffer, value, 16);
    static_cast<void>(code); // 16 digits always fit
    return "0x" + std::string(buffer, end);
}

} // namespace wavetap
