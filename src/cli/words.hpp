// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// How numbers are written in the text output.

namespace wavetap::cli {

/// "1 dispatch", "2 dispatches", "3 waves".
std::string count_of(std::uint64_t count, std::string_view thing);
/// "1,234,567".
std::string grouped(std::uint64_t value);
/// One decimal in the largest unit: 67117056 -> "64.0 MiB"; below 1 KiB "100 B".
std::string size_text(std::uint64_t bytes);
/// Numbers of the set bits: 0xf -> "0-3", 0x5 -> "0,2", 0 -> "-".
std::string bits_text(std::uint64_t mask);

} // namespace wavetap::cli
