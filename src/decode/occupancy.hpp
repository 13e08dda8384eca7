// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/diagnostics.hpp"
#include "decode/register_state.hpp"
#include "decode/sink.hpp"

#include <cstdint>
#include <vector>

namespace wavetap::decode {

struct PartSlots;

/// Which wave slots of the engine are taken. Fixed size: 2 shader arrays x 16 CUs or WGPs x 4 SIMDs
/// x 32 slots. Waves off the target are delivered at their end. Records are collected for the sink
/// until flush() or until there are enough.
class Occupancy {
  public:
    /// `quiet_on_target`: an end without a start on the target gives no occupancy records (gfx9).
    Occupancy(CodeMap& code, RecordSink& sink, Diagnostics& diagnostics, bool quiet_on_target)
        : slots_(kSlots), records_(kBatch), waves_(kBatch), code_(&code), sink_(&sink),
          diagnostics_(&diagnostics), quiet_on_target_(quiet_on_target) {}

    struct alignas(64) Slot {
        std::uint64_t start = 0;
        std::uint64_t ordinal = 0;
        WaveWords words;
        PcRef entry;
        std::uint32_t losses = 0; ///< that had happened when it was taken
        bool taken = false;
        bool is_ext = false;
        bool saved = false;      ///< its context was saved; the entry is still that wave's
        bool started = false;    ///< for PartOccupancy: a wave started here in this part
        std::uint32_t stamp = 0; ///< for PartOccupancy: the part that touched it last
    };
    static_assert(sizeof(Slot) == 64);
    static constexpr std::size_t kSlots = 2 * 16 * 4 * 32;
    static std::size_t index(WaveWords words) {
        return static_cast<std::size_t>((words.sa() & 1U) << 11 | (words.cu() & 15U) << 7 |
                                        (words.simd() & 3U) << 5 | (words.slot() & 31U));
    }
    static WaveHead head_of(const Slot& slot);
    /// A wave of which only the end is known.
    static Slot unseen(StreamPoint at, WaveWords where);
    static OccupancyRecord record_of(const Slot& slot, std::uint64_t time, bool start) {
        OccupancyRecord record;
        record.time = time;
        record.pc = slot.entry;
        record.set(slot.words, start, slot.is_ext);
        return record;
    }

    /// A wave takes the slot.
    [[gnu::always_inline]] static void fill(Slot& slot, StreamPoint at, WaveWords words,
                                            PcRef entry, bool is_ext, std::uint32_t losses) {
        slot.start = at.time;
        slot.words = words;
        slot.entry.object = entry.object;
        slot.entry.address = entry.address;
        slot.taken = true;
        slot.is_ext = is_ext;
        slot.saved = false;
        slot.losses = losses;
        slot.ordinal = at.offset_bytes;
    }
    /// The wave of a slot, at its end.
    [[gnu::always_inline]] static void fill(WaveHead& wave, const Slot& slot, std::uint64_t end,
                                            const CodeMap& code) {
        wave.ordinal = slot.ordinal;
        wave.start = slot.start;
        wave.end = end;
        wave.record_end = end;
        wave.entry.object = slot.entry.object;
        wave.entry.address = slot.entry.address;
        wave.set(slot.words);
        if (slot.entry.object == 0) wave.entry = code.attribute_late(slot.entry.address);
    }

    /// Takes a slot.
    [[gnu::always_inline]] void start(StreamPoint at, WaveWords words, PcRef entry, bool is_ext) {
        Slot& slot = slots_[index(words)];
        if (slot.taken) [[unlikely]]
            end_is_missing(slot, at);
        fill(slot, at, words, entry, is_ext, losses_);
        report(slot, at.time, true);
    }
    /// Gives a slot back. False if it was not taken (the caller decides what that means).
    [[gnu::always_inline]] bool end(StreamPoint at, WaveWords where) {
        Slot& slot = slots_[index(where)];
        if (!slot.taken) return false;
        slot.taken = false;
        report(slot, at.time, false);
        if (!slot.words.on_target()) deliver(slot, at.time);
        return true;
    }
    /// The wave's context is saved: it leaves its slot, its entry is remembered.
    void pause(StreamPoint at, WaveWords where) {
        if (end(at, where)) slots_[index(where)].saved = true;
    }
    /// A saved context comes back; `now`: the entry, unless its slot remembers it.
    void resume(StreamPoint at, WaveWords words, PcRef now);
    /// An end without a start.
    void end_without_start(StreamPoint at, WaveWords where);
    bool taken(WaveWords where) const { return slots_[index(where)].taken; }
    /// The wave that was started last in the slot.
    WaveHead head(WaveWords where) const { return head_of(slots_[index(where)]); }
    void set_entry(WaveWords where, PcRef entry);
    void packets_lost() { ++losses_; }
    std::uint32_t losses() const { return losses_; }
    /// Goes on with what `part`, which comes next in the stream, found, and fills in what that left
    /// open; then its records are ready to be sent.
    void join(PartSlots& part, Diagnostics& diagnostics);
    /// Delivers waves off the target that are still running.
    void finish(StreamPoint at);
    /// Hands over what was collected for the sink.
    void flush();
    std::uint64_t ends_without_start() const { return ends_without_start_; }

  private:
    static constexpr std::size_t kBatch = 128;
    [[gnu::always_inline]] void report(const Slot& slot, std::uint64_t time, bool start) {
        OccupancyRecord& record = records_[record_count_];
        record.time = time;
        record.pc.object = slot.entry.object;
        record.pc.address = slot.entry.address;
        record.set(slot.words, start, slot.is_ext);
        if (++record_count_ == kBatch) flush();
    }
    [[gnu::always_inline]] void deliver(const Slot& slot, std::uint64_t end) {
        fill(waves_[wave_count_], slot, end, *code_);
        if (++wave_count_ == kBatch) flush();
    }
    void end_is_missing(Slot& slot, StreamPoint at);

    std::vector<Slot> slots_;
    std::vector<OccupancyRecord> records_; ///< for the sink
    std::vector<WaveHead> waves_;          ///< likewise
    std::size_t record_count_ = 0, wave_count_ = 0;
    CodeMap* code_;
    RecordSink* sink_;
    Diagnostics* diagnostics_;
    bool quiet_on_target_;
    std::uint64_t ends_without_start_ = 0;
    std::uint32_t losses_ = 0; ///< so far
};

} // namespace wavetap::decode
