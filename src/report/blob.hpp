// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "decode/decoder.hpp"
#include "report/code_table.hpp"
#include "store/trace_folder.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace wavetap::report {

/// How many waves of a kind.
struct WaveCounts {
    std::uint64_t waves = 0;
    std::uint64_t on_target = 0; ///< with instruction detail
    std::uint64_t foreign = 0;   ///< in no recorded code object
    std::uint64_t open = 0;      ///< no end was seen
    void add(const std::vector<decode::WaveRecord>& records);
};

/// A segment of one shader engine in one run (all of it, unless a trace with N buffers paused): its
/// chunks joined up to the END, decoded. Value; the pointers borrow the folder.
struct Blob {
    const store::ProcessTrace* process = nullptr;
    const store::AgentInfo* agent = nullptr;
    const store::ContextInfo* context = nullptr;
    const store::Run* run = nullptr;
    std::uint32_t se = 0;
    std::uint32_t segment = 0;         ///< counts from 0
    std::uint32_t segments = 1;        ///< of this engine in this run
    std::uint64_t bytes = 0;           ///< as recorded, with the software header
    std::uint64_t capacity_bytes = 0;  ///< of this engine's part of one buffer
    std::uint64_t zero_tail_bytes = 0; ///< zero bytes at the end
    bool gpu_full = false;             ///< in any chunk
    bool cpu_full = false;
    bool lost = false;                     ///< its end could not be fetched
    bool halted = false;                   ///< the trace unit went off by itself
    bool ended = false;                    ///< the last chunk carries END
    std::uint32_t status = 0, dropped = 0; ///< registers of the last chunk
    std::optional<Error> error;            ///< reading or decoding failed; `records` is empty
    WaveCounts handed_over;                ///< waves that are no longer in `records`
    decode::BlobRecords records;
};

/// Called by the thread that visits.
using BlobVisitor = std::function<void(const Blob&)>;

/// Decodes the folder blob by blob, in order of process, run, engine and segment, and hands each one
/// over. Up to `threads` are decoded side by side and in memory at a time (0: one for each
/// processor). `code` takes in the code objects on the way.
/// Errors: kCorrupt if the folder names an agent or context that it does not describe; what fails
/// for one blob is told in that blob.
Result<void> visit_blobs(const store::TraceFolder& folder, CodeTable& code,
                         const BlobVisitor& visit, unsigned threads = 1);

/// The same with memory that does not grow with the trace: `on_waves` (may be null) sees a blob several
/// times, each time with some more of its waves and nothing else decided; blobs that are decoded side by
/// side come in turn. `on_end` sees each blob once, in order, with its totals and no wave. Other
/// records (dispatches, events, samples) are not kept.
Result<void> visit_waves(const store::TraceFolder& folder, CodeTable& code,
                         const BlobVisitor& on_waves, const BlobVisitor& on_end,
                         unsigned threads = 1);

/// visit_waves() with all other records too, one blob at a time. `on_piece` sees the generation, and
/// records.clock_base once the stream has told it.
Result<void> visit_pieces(const store::TraceFolder& folder, CodeTable& code,
                          const BlobVisitor& on_piece, const BlobVisitor& on_end);

} // namespace wavetap::report
