// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/decoder.hpp"
#include "decode/instruction_list.hpp"
#include "decode/records.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace wavetap::decode {

/// Identity and life of a wave. The small fields lie together so that place() can write them as two
/// words: copies of single bytes that are read back as words stall the pipeline.
struct WaveHead {
    std::uint64_t ordinal = 0; ///< counts wave starts of the blob in stream order
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint64_t record_end = 0;
    PcRef entry;
    std::uint8_t sa = 0, cu = 0, simd = 0, slot = 0;
    std::uint8_t me = 0, pipe = 0, count = 0, contexts = 0;
    std::uint8_t workgroup = 0, cluster = 0;
    bool complete = true;
    bool on_target = false;
    bool start_seen = true; ///< false: it ran before the trace began (or its start was lost)
    std::uint8_t unused[3] = {};

    WaveHead() = default;
    WaveHead(const WaveHead& other) { copy(other); }
    WaveHead& operator=(const WaveHead& other) {
        copy(other);
        return *this;
    }

    struct Queue {
        std::uint32_t me = 0, pipe = 0, count = 0, workgroup = 0, cluster = 0;
    };
    void place(std::uint32_t new_sa, std::uint32_t new_cu, std::uint32_t new_simd,
               std::uint32_t new_slot, bool target, Queue queue);

  private:
    // Word by word, as they were written.
    void copy(const WaveHead& other) {
        ordinal = other.ordinal;
        start = other.start;
        end = other.end;
        record_end = other.record_end;
        entry.object = other.entry.object;
        entry.address = other.entry.address;
        for (const std::size_t offset : {offsetof(WaveHead, sa), offsetof(WaveHead, workgroup)}) {
            std::uint64_t word = 0;
            std::memcpy(&word, reinterpret_cast<const char*>(&other) + offset, sizeof word);
            std::memcpy(reinterpret_cast<char*>(this) + offset, &word, sizeof word);
        }
    }
};
static_assert(offsetof(WaveHead, workgroup) == offsetof(WaveHead, sa) + 8);
static_assert(sizeof(WaveHead) == offsetof(WaveHead, sa) + 16);

inline void WaveHead::place(std::uint32_t new_sa, std::uint32_t new_cu, std::uint32_t new_simd,
                            std::uint32_t new_slot, bool target, Queue queue) {
    const std::uint64_t words[2] = {
        new_sa | new_cu << 8 | new_simd << 16 | new_slot << 24 | std::uint64_t{queue.me} << 32 |
            std::uint64_t{queue.pipe} << 40 | std::uint64_t{queue.count} << 48,
        queue.workgroup | queue.cluster << 8 | 1U << 16 | (target ? 1U : 0U) << 24 |
            std::uint64_t{1} << 32};
    std::memcpy(reinterpret_cast<char*>(this) + offsetof(WaveHead, sa), words, sizeof words);
}

/// A finished wave; everything is borrowed for the length of the call.
struct WaveView {
    const WaveHead& head;
    const InstructionList& instructions;  ///< empty for waves off the target
    std::span<const PcRef> pcs;           ///< one for each instruction, or empty (not asked for)
    std::span<const std::uint8_t> has_pc; ///< likewise
    std::span<const TimelinePiece> timeline;
    std::span<const WaveRecord::ExcludedBarrierWait> excluded_barrier_waits;
    bool stitched = false;
    std::uint32_t lines_without_token = 0;
};

/// A wave slot was taken or given back, in stream order.
struct OccupancyRecord {
    std::uint64_t time = 0;
    PcRef pc;
    bool start = false;
    bool is_ext = false; ///< `workgroup` is known
    std::uint8_t sa = 0, cu = 0, simd = 0, slot = 0;
    std::uint8_t me = 0, pipe = 0;
    std::uint8_t workgroup = 0, cluster = 0;
};

/// Takes records as the decoder finds them. The default of each call drops the record. Calls come
/// from the decoding thread.
class RecordSink {
  public:
    virtual ~RecordSink() = default;
    virtual void wave(const WaveView&) {}
    virtual void occupancy(const OccupancyRecord&) {}
    virtual void dispatch(const DispatchRecord&) {}
    virtual void realtime(const RealtimeRecord&) {}
    virtual void register_write(const RegisterWrite&) {}
    virtual void code_object(const CodeObjectEvent&) {}
    virtual void event(const EventRecord&) {}
    virtual void shader_data(const ShaderDataRecord&) {}
    virtual void perf(const PerfRecord&) {}
    virtual void other_simd(const BlobRecords::OtherSimd&) {}
};

} // namespace wavetap::decode
