// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "sqtt/token.hpp"

#include <cstdint>

namespace wavetap::sqtt {

/// The first eight bytes of a blob: written by the capture software on gfx9, the HEADER token of
/// the stream itself from gfx10 on. Fields that a generation lacks are 0.
struct Header {
    Generation generation = Generation::kGfx9;
    std::uint64_t raw = 0;
    std::uint8_t version = 0;   ///< gfx9: version2 (4..6); later: 1..5
    std::uint8_t simd_mask = 0; ///< traced SIMDs; from gfx10 on exactly one bit
    std::uint8_t target_cu = 0; ///< gfx9: CU; later: WGP
    std::uint8_t target_sa = 0; ///< shader array of the target
    std::uint8_t engine = 0;    ///< gfx9 only
    /// gfx9, bits 34:33, which the hardware's users leave 0: what the counter of issue phases begins
    /// with, less its usual start. Pieces cut out of a trace carry it, so that they decode alike.
    std::uint8_t issue_phase = 0;
    std::uint8_t dp_rate = 0;          ///< raw field
    std::uint32_t dp_cycles = 1;       ///< issue cycles of a double-precision operation
    std::uint32_t dp_derate = 1;       ///< factor
    bool double_buffer = false;        ///< the blob is a sequence of chunks
    bool exclude_barrier_wait = false; ///< gfx12: s_barrier_wait leaves no token
    bool trans2 = false;               ///< gfx1250: halves the cycles of transcendental operations
};

/// Errors: kCorrupt (no generation has such a header).
Result<Header> parse_header(std::uint64_t raw);

/// A gfx9 header with Header::issue_phase set to the low two bits of `phase`.
constexpr std::uint64_t with_issue_phase(std::uint64_t raw, unsigned phase) {
    return (raw & ~(std::uint64_t{3} << 33)) | std::uint64_t{phase & 3U} << 33;
}

} // namespace wavetap::sqtt
