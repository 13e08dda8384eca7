// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "decode/records.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace wavetap::code {
class CodeObject;
}

namespace wavetap::decode {

/// A code object that the caller knows to be loaded: absolute address = load_base + ELF address.
struct LoadedObject {
    const code::CodeObject* object = nullptr; ///< borrowed
    std::uint64_t load_base = 0;
    std::uint64_t id = 0; ///< matches marker ids; 0 = give it one
};

struct Options {
    std::string gfx; ///< exact chip where known ("gfx950"); empty = the generation's first
    std::vector<LoadedObject> objects;
    /// Bytes that continue an earlier chunk have no header: the 8-byte header to assume.
    std::optional<std::uint64_t> header;
    bool want_instructions = true;
    bool want_events =
        true; ///< everything that is no wave: dispatches, samples, register writes, …
    /// Threads that work on the blob, this one included; 0: one for each processor. The records are
    /// the same whatever their number.
    unsigned threads = 1;
    /// Bytes that one thread takes at a time; 0: a good size. Changes nothing but speed.
    std::size_t part_bytes = 0;
};

/// Everything of one blob. For larger traces: stream.hpp.
struct BlobRecords {
    std::string generation; ///< "gfx9", "gfx10", "gfx11", "gfx12", "gfx1250"
    std::uint64_t header = 0;
    std::map<std::string, std::uint64_t> header_fields; ///< golden names: DSIMDM, DCU, SEID, …
    std::map<std::string, std::uint64_t> token_counts;
    std::uint64_t tokens_total = 0;
    std::uint64_t first_time = 0, last_time = 0;
    /// Absolute clock of blob time 0, from the stream's own absolute timestamps (gfx9); absent if
    /// the stream has none. absolute = time + *clock_base.
    std::optional<std::uint64_t> clock_base;
    std::vector<WaveRecord> waves; ///< by start time
    std::vector<DispatchRecord> dispatches;
    std::vector<RealtimeRecord> realtime;
    std::vector<RegisterWrite> userdata_writes;
    std::vector<CodeObjectEvent> code_objects;
    std::vector<EventRecord> events;
    std::vector<ShaderDataRecord> shader_data;
    std::vector<PerfRecord> perf;
    std::uint32_t counter_frequency_khz = 0; ///< of the constant counter, if the stream names it
    struct OtherSimd {
        std::uint64_t time = 0;
        Category kind = Category::kVmem;
        std::uint32_t cycles = 0;
    };
    std::vector<OtherSimd> other_simd;
    std::uint64_t instructions = 0, instructions_with_pc = 0, instruction_tokens = 0;
    std::uint64_t wave_end_without_start = 0, tokens_without_wave = 0;
    std::uint64_t used_bytes = 0; ///< bytes before the zero padding of the end
    std::vector<Diagnostic> diagnostics;

    /// The stream is one of gfx10 or later: what its records call `cu` is a WGP.
    bool has_wgps() const { return !generation.empty() && generation != "gfx9"; }
    /// Records that come by and by: waves, dispatches, samples, events and so on.
    bool has_lists() const;
    void clear_lists();
    /// Swaps the lists with those of `other`; takes its generation and clock_base.
    void take_lists(BlobRecords& other);
};

/// Decodes one shader engine's bytes. Errors: kCorrupt / kUnsupported only if the header cannot be
/// understood; everything later is a diagnostic and decoding goes on.
Result<BlobRecords> decode_blob(std::span<const std::byte> bytes, const Options& options);

/// decode_blob() for a blob that comes in pieces. What was found so far can be taken and dropped on
/// the way, so that memory does not grow with the blob. One thread (beside its own).
class PieceDecoder {
  public:
    explicit PieceDecoder(const Options& options);
    ~PieceDecoder();
    PieceDecoder(PieceDecoder&&) noexcept;
    PieceDecoder& operator=(PieceDecoder&&) noexcept;

    /// The next bytes. Errors: as decode_blob(); the decoder is of no further use then.
    Result<void> feed(std::span<const std::byte> bytes);
    /// No more come: open waves are delivered, totals and diagnostics are there. Errors: kCorrupt (no
    /// whole header came).
    Result<void> finish();
    /// What was found since it was last dropped; waves in the order of their starts. Also the generation
    /// and, once the stream has told it, clock_base; other totals only after finish(). The same whatever
    /// the number of threads. Objects that the stream names late as loaded before it began are found
    /// for waves that are still here.
    BlobRecords& records();
    /// Drops the records found so far; totals stay.
    void drop();

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace wavetap::decode
