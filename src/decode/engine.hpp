// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/task_pool.hpp"
#include "decode/code_map.hpp"
#include "decode/diagnostics.hpp"
#include "decode/sink.hpp"
#include "sqtt/header.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace wavetap::decode {

/// What a decode run adds up besides the records.
struct BlobTotals {
    std::array<std::uint64_t, sqtt::kTokenTypeCount> tokens{};
    std::uint64_t cut_tokens = 0; ///< by the end of the blob or a gap in it
    std::uint64_t first_time = 0, last_time = 0;
    std::optional<std::uint64_t> clock_base;
    std::uint64_t instructions = 0, instructions_with_pc = 0, instruction_tokens = 0;
    std::uint64_t wave_end_without_start = 0, tokens_without_wave = 0;
    std::uint32_t counter_frequency_khz = 0;
    unsigned issue_phase = 0; ///< gfx9: as Header::issue_phase, for a stream that goes on here
};

struct EngineSetup {
    sqtt::Header header;
    CodeMap* code = nullptr;
    RecordSink* sink = nullptr;
    Diagnostics* diagnostics = nullptr;
    bool want_instructions = true;
    bool insert_barrier_waits = false;
    TaskPool* pool = nullptr; ///< may be null
    std::size_t part_bytes = 0;
    std::uint64_t header_offset_bits = 0; ///< where the header token lies, which says nothing new
};

/// The decoder of one generation. Keeps its state from piece to piece of the stream.
class Engine {
  public:
    virtual ~Engine() = default;
    /// Decodes `bytes` from `start_bits` (less than 8 on the first byte of a piece, or behind the
    /// header). `origin` is the offset of bytes[0] in the stream. Unless `last`, some bytes at the
    /// end are left: they must come again, in front of the next piece. Returns the bit position of
    /// the next token in `bytes`.
    virtual std::uint64_t consume(std::span<const std::byte> bytes, std::uint64_t start_bits,
                                  std::uint64_t origin, bool last) = 0;
    /// What was left of the last piece never comes whole, and tokens are missing in front of the next
    /// one, as where the trace unit loses some. The last piece was consumed as `last`.
    virtual void gap() = 0;
    /// After the last piece: waves that are still open are delivered as unfinished.
    virtual BlobTotals finish() = 0;
    /// BlobTotals::clock_base once the stream has told it.
    virtual std::optional<std::uint64_t> clock_base() const = 0;
};

struct StreamOptions {
    std::optional<std::uint64_t> header; ///< as Options::header
    bool want_instructions = true;
    /// gfx12 with s_barrier_wait excluded from the trace: put an immediate record where one must
    /// have been, as AMD's decoder does. Off: WaveView::excluded_barrier_waits says where.
    bool insert_barrier_waits = false;
    /// Threads that work on the stream: the caller and others of a pool that the decoder owns. The
    /// records are the same whatever their number. 0: one for each processor.
    unsigned threads = 1;
    /// Bytes that one thread takes at a time; 0: a good size. Changes nothing but speed.
    std::size_t part_bytes = 0;
};

std::unique_ptr<Engine> make_gfx9_engine(const EngineSetup& setup);
std::unique_ptr<Engine> make_rdna_engine(const EngineSetup& setup); ///< gfx10 to gfx1250

/// Decodes one shader engine's bytes into `sink`: constant memory beside the waves that are open
/// and the code lines that they run through. Errors as decode_blob().
Result<BlobTotals> decode_stream(std::span<const std::byte> bytes, const StreamOptions& options,
                                 CodeMap& code, RecordSink& sink, Diagnostics& diagnostics);

} // namespace wavetap::decode
