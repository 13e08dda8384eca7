// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "decode/stream_scan.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

// Cutting a piece out of a blob such that it decodes alone.

namespace wavetap::decode {

/// A stand-alone blob: the header, tokens that bring a decoder into the state that the stream had
/// (registers of dispatches, live code objects, clocks), then a piece of the stream as it was.
///
/// It decodes to the records that a decode of the whole blob has in that piece, with the same times:
/// waves that begin and end in it with all their instructions, dispatches, events, samples. A wave
/// that began before is told by its end only; one that goes on is incomplete. Byte offsets of
/// records move by slice_offset - begin_bits / 8. The tokens in front give records of their own,
/// all at time 0: code objects as loaded before the start, and the writes that carry them.
struct Cut {
    std::vector<std::byte> bytes;
    std::uint64_t begin_bits = 0, end_bits = 0; ///< of the piece, in the whole blob
    std::uint64_t slice_offset = 0;             ///< byte of the cut where the piece begins
    std::uint64_t begin_time = 0;               ///< clock before the first token of the piece
};

/// The tokens from `begin_bits` to before `end_bits`, which must be boundaries of tokens. gfx9: the
/// piece is widened so that a time reset keeps its timestamp. Errors: those of decode_blob(),
/// kInvalidArgument (not begin < end, or end behind the blob).
Result<Cut> cut_range(std::span<const std::byte> bytes, std::uint64_t begin_bits,
                      std::uint64_t end_bits, const ScanOptions& options);
/// The tokens of clocks [begin, end). Errors: also kNotFound (no token in the window).
Result<Cut> cut_window(std::span<const std::byte> bytes, std::uint64_t begin, std::uint64_t end,
                       const ScanOptions& options);
/// Dispatch `index` of the blob (from 0): from its token to the last token of its waves. What other
/// queues do meanwhile comes along. Errors: also kNotFound (fewer dispatches).
Result<Cut> cut_dispatch(std::span<const std::byte> bytes, std::uint64_t index,
                         const ScanOptions& options);

/// What a Cut will hold, without the piece itself: for traces that are not in memory.
struct CutPlan {
    std::vector<std::byte> preamble;
    std::uint64_t begin_bits = 0, end_bits = 0; ///< as in Cut
    std::uint64_t begin_time = 0;               ///< as in Cut
    std::uint64_t unit = 1;                     ///< zeros fill up to a multiple of this many bytes
    std::uint64_t bytes() const;                ///< of the whole cut
};
using ByteSink = std::function<Result<void>(std::span<const std::byte>)>;

/// As the functions above; the blob is read several times, and memory does not grow with it. Errors:
/// also those of the source.
Result<CutPlan> plan_range(BlobSource& source, std::uint64_t begin_bits, std::uint64_t end_bits,
                           const ScanOptions& options);
Result<CutPlan> plan_window(BlobSource& source, std::uint64_t begin, std::uint64_t end,
                            const ScanOptions& options);
Result<CutPlan> plan_dispatch(BlobSource& source, std::uint64_t index, const ScanOptions& options);
/// Gives the bytes of the cut to `sink`, in order. Errors: of source and sink.
Result<void> write_plan(BlobSource& source, const CutPlan& plan, const ByteSink& sink);

/// Header and tokens that bring a fresh decoder to `state`; a piece that goes on there may follow.
/// gfx10 and later: the piece must begin on a byte.
std::vector<std::byte> preamble(const ScanState& state);
/// The same as AMD's tools build it: registers and code objects, times from 0.
std::vector<std::byte> preamble_without_clock(const ScanState& state);

} // namespace wavetap::decode
