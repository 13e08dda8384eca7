// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/decoder.hpp"
#include "decode/instruction_list.hpp"
#include "decode/records.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace wavetap::decode {

/// The small fields of a WaveHead, in its order, as two words that stay in registers: bytes that are
/// written one by one and read back together stall the pipeline.
struct WaveWords {
    std::uint64_t first = 0;  ///< sa, cu, simd, slot, me, pipe, count, contexts
    std::uint64_t second = 0; ///< workgroup, cluster, complete, on_target, start_seen

    static WaveWords place(std::uint32_t sa, std::uint32_t cu, std::uint32_t simd,
                           std::uint32_t slot, bool target) {
        return {sa | cu << 8 | simd << 16 | slot << 24,
                1U << 16 | (target ? 1U : 0U) << 24 | std::uint64_t{1} << 32};
    }
    WaveWords from(std::uint32_t me, std::uint32_t pipe, std::uint32_t count,
                   std::uint32_t workgroup, std::uint32_t cluster) const {
        return {first | std::uint64_t{me} << 32 | std::uint64_t{pipe} << 40 |
                    std::uint64_t{count} << 48,
                second | workgroup | cluster << 8};
    }
    std::uint32_t sa() const { return byte(first, 0); }
    std::uint32_t cu() const { return byte(first, 8); }
    std::uint32_t simd() const { return byte(first, 16); }
    std::uint32_t slot() const { return byte(first, 24); }
    std::uint32_t me() const { return byte(first, 32); }
    std::uint32_t pipe() const { return byte(first, 40); }
    std::uint32_t count() const { return byte(first, 48); }
    bool on_target() const { return (second >> 24 & 1) != 0; }
    void set_incomplete() { second &= ~(std::uint64_t{1} << 16); }
    void set_start_unseen() { second &= ~(std::uint64_t{1} << 32); }

  private:
    static std::uint32_t byte(std::uint64_t word, unsigned shift) {
        return static_cast<std::uint32_t>(word >> shift & 0xFF);
    }
};

/// Identity and life of a wave.
struct WaveHead {
    std::uint64_t ordinal = 0; ///< offset of its first token: orders waves that start in one clock
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

    void set(WaveWords words) {
        std::memcpy(reinterpret_cast<char*>(this) + offsetof(WaveHead, sa), &words, sizeof words);
    }
};
static_assert(offsetof(WaveHead, workgroup) == offsetof(WaveHead, sa) + 8);
static_assert(offsetof(WaveHead, complete) == offsetof(WaveHead, workgroup) + 2);
static_assert(offsetof(WaveHead, start_seen) == offsetof(WaveHead, workgroup) + 4);
static_assert(sizeof(WaveHead) == offsetof(WaveHead, sa) + sizeof(WaveWords));

/// What a sink makes of a wave before the wave's turn comes, see RecordSink::digest().
using WaveDigest = std::array<std::uint64_t, 4>;

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
    WaveDigest digest{};
    std::uint64_t with_pc = 0;    ///< instructions that have their program counter
    std::uint64_t without_pc = 0; ///< that lack it; traps, which have none, are neither
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

    /// All fields from `start` on.
    void set(WaveWords words, bool is_start, bool ext) {
        char* const fields = reinterpret_cast<char*>(this) + offsetof(OccupancyRecord, start);
        const std::uint64_t low = (is_start ? 1U : 0U) | (ext ? 1U : 0U) << 8 | words.first << 16;
        const auto high = static_cast<std::uint16_t>(words.second);
        std::memcpy(fields, &low, sizeof low);
        std::memcpy(fields + sizeof low, &high, sizeof high);
    }
};
static_assert(offsetof(OccupancyRecord, sa) == offsetof(OccupancyRecord, start) + 2);
static_assert(offsetof(OccupancyRecord, workgroup) == offsetof(OccupancyRecord, start) + 8);

/// Takes records as the decoder finds them. The default of each call drops the record. Calls come
/// from the thread that feeds the decoder, however many threads it uses, but for digest(). Records of one kind come
/// in stream order, waves with and without instruction detail each for themselves; records of several
/// kinds do not wait for each other.
class RecordSink {
  public:
    virtual ~RecordSink() = default;
    virtual void wave(const WaveView&) {}
    /// Sums over the instructions of a wave, so that all threads add them up and wave() need not: it
    /// gets the answer as WaveView::digest. Called once for each wave that has instructions, in any
    /// order, by any thread of the decoder and by several at once.
    virtual WaveDigest digest(const WaveView&) const { return {}; }
    virtual void occupancy(const OccupancyRecord&) {}
    /// Several at once, for sinks that take many. The default calls occupancy() for each.
    virtual void occupancies(std::span<const OccupancyRecord> records) {
        for (const OccupancyRecord& record : records)
            occupancy(record);
    }
    /// Several waves without instruction detail at once. The default calls wave() for each.
    virtual void waves_without_detail(std::span<const WaveHead> heads) {
        const InstructionList none;
        for (const WaveHead& head : heads)
            wave({head, none, {}, {}, {}, {}, false, 0});
    }
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
