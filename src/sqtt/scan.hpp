// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "sqtt/token.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace wavetap::sqtt {

struct ScanResult {
    std::uint64_t tokens = 0;   ///< complete tokens, padding included
    std::uint64_t end_bits = 0; ///< where the next token would begin: the exit state of the scan
    std::array<std::uint64_t, kTokenTypeCount> by_type{};
};

/// Counts the tokens from `start_bits` to the end of the span, or to the first token at or after
/// `stop_bits`. Takes no times and builds no records: it finds token boundaries, fast.
ScanResult scan_tokens(Generation generation, std::span<const std::byte> bytes,
                       std::uint64_t start_bits = 0, std::uint64_t stop_bits = ~std::uint64_t{0});

} // namespace wavetap::sqtt
