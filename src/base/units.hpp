// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wavetap {

inline constexpr std::uint64_t kKiB = 1024;
inline constexpr std::uint64_t kMiB = 1024 * kKiB;
inline constexpr std::uint64_t kGiB = 1024 * kMiB;

/// "4096", "64KiB", "1MiB", "2GiB" -> bytes. Errors: kInvalidArgument for anything else, for 0 and
/// for a product over 2^63.
Result<std::uint64_t> parse_size(std::string_view text);

/// Decimal or 0x hexadecimal. Errors: kInvalidArgument.
Result<std::uint64_t> parse_number(std::string_view text);

/// Splits at `separator`; "" gives no parts.
std::vector<std::string_view> split(std::string_view text, char separator);

/// Largest unit that divides evenly: 67108864 -> "64 MiB"; otherwise bytes: "100 B".
std::string format_size(std::uint64_t bytes);

/// "0x1a2b".
std::string format_hex(std::uint64_t value);

} // namespace wavetap
