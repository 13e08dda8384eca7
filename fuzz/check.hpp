// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <source_location>
#include <span>
#include <vector>

namespace wavetap::fuzz {

/// Ends the program if `good` is false, naming the line.
inline void check(bool good, std::source_location at = std::source_location::current()) {
    if (good) return;
    std::fprintf(stderr, "ERROR: %s:%u does not hold\n", at.file_name(),
                 static_cast<unsigned>(at.line()));
    std::abort();
}

/// A stream whose header `choice` takes from one of each generation.
inline std::vector<std::byte> stream_of(std::uint8_t choice, std::span<const std::uint8_t> behind) {
    static constexpr std::uint64_t kHeaders[] = {0x00000000000FC011, 0x0000000000000091,
                                                 0x0000000000000111, 0x0000000068900191,
                                                 0x0913100868700211, 0x0800000000000291};
    std::vector<std::byte> bytes(sizeof kHeaders[0] + behind.size());
    std::memcpy(bytes.data(), &kHeaders[choice % std::size(kHeaders)], sizeof kHeaders[0]);
    if (!behind.empty())
        std::memcpy(bytes.data() + sizeof kHeaders[0], behind.data(), behind.size());
    return bytes;
}

} // namespace wavetap::fuzz
