// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/gfx9_waves.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace wavetap::decode {

/// The waves of the target CU in a part of a gfx9 stream, found while what came before is not known
/// but guessed: a run-up of tokens before the part says where the counter of issue phases stands and
/// how the lists of the running waves end; a wave without a token there is taken for one that has
/// been waiting for long. was_right() for what each slot was supposed to hold, and the phase, are
/// the proof. What a running wave does at first, until nothing depends on its earlier list any more,
/// is written down and done again with the real wave; from there on its list is only put behind.
class Gfx9PartWaves {
  public:
    static constexpr unsigned kSlots = Gfx9Place::kSlots;
    static constexpr unsigned kAllSlots = Gfx9Place::kSimds * kSlots;

    /// Nothing is known. Tokens from here to begin_part() are the run-up.
    void begin(std::uint32_t phase);
    /// Instead of a run-up: how things really stand.
    void begin_at(const Gfx9Place& place);
    /// The part begins, at `time`. Contexts are borrowed until end_part().
    void begin_part(std::uint64_t time, WaveContext& context);
    void end_part(std::uint64_t time);

    // As those of Gfx9Waves.
    void start(StreamPoint at, const WaveHead& head);
    bool end(StreamPoint at, unsigned simd, unsigned slot);
    void issue(StreamPoint at, unsigned simd, std::uint32_t states);
    void inst(StreamPoint at, unsigned simd, unsigned slot, unsigned type, unsigned cu);
    void new_pc(unsigned simd, unsigned slot, PcRef pc);
    /// False if an end of a wave there would end nothing.
    bool live(unsigned simd, unsigned slot) const {
        const Slot& at = slots_[simd * kSlots + slot];
        return at.wave.live || at.status == Status::kUnseen;
    }
    /// The part cannot be built.
    void fail() { doubt_.failed = true; }
    bool failed() const { return doubt_.failed; }
    /// What was written down and waits, and the instructions of waves that are open.
    std::size_t size() const;

    /// Whether what was supposed of `place` is right; then it becomes what comes behind the part.
    bool check(Gfx9Place& place) const;
    /// Whether a wave leaves the slot that was there before the part, if there is one.
    bool wave_left(unsigned slot) const { return slots_[slot].started || slots_[slot].ended; }
    /// Does to the stream's wave what was found.
    void join(unsigned slot, Gfx9Wave& wave);

  private:
    enum class Status : std::uint8_t {
        kUnseen, ///< no token yet
        kBefore, ///< a wave runs that began before the part
        kGone,   ///< it ended in the run-up
        kKnown,  ///< what is there, or nothing, is known since the part began
    };
    enum class Kind : std::uint8_t { kIssue, kInst, kNewPc };
    struct Written {
        StreamPoint at;
        PcRef pc;
        Kind kind = Kind::kIssue;
        std::uint8_t what = 0;  ///< state or type
        std::uint8_t phase = 0; ///< before an INST
    };
    struct Slot {
        Gfx9Wave wave;
        Gfx9Wave before; ///< the one from before the part, once it is not in the slot any more
        Status status = Status::kUnseen;
        bool used = false;    ///< something of the wave from before is in the part
        bool ended = false;   ///< its end is in the part
        bool started = false; ///< a start came to the slot while it was not kKnown
        bool synced = false;  ///< from list entry `sync` on nothing depends on what came before
        bool named = false;   ///< stalls from before the part are gone
        bool timed = false;   ///< the time of its last change of state is known
        std::uint32_t sync = 0, size_before = 0;
        StreamPoint first_end, first_start;
        std::vector<Written> written;
        Gfx9Tail guess;
    };

    Slot& slot(unsigned simd, unsigned number) { return slots_[simd * kSlots + number]; }
    bool find(Slot& slot, std::uint64_t time);
    void begin_before(Slot& slot, std::uint64_t time);
    void leave(Slot& slot);
    void issue_unsure(Slot& slot, StreamPoint at, unsigned state);
    void inst_unsure(Slot& slot, StreamPoint at, unsigned simd, unsigned type);
    void write(Slot& slot, const Written& what);
    void sync(Slot& slot);
    Gfx9Tail seen_tail(const Slot& slot) const;
    static void redo(const Written& what, unsigned simd, Gfx9Wave& wave);
    static void append(Gfx9Wave& part, std::size_t sync, Gfx9Wave& wave);

    std::array<Slot, kAllSlots> slots_;
    Gfx9Doubt doubt_;
    Diagnostics nowhere_; ///< for faults that are found again when the part is joined
    WaveContext unsure_{nullptr, &nowhere_, 0};
    WaveContext* context_ = nullptr; ///< null in the run-up
    std::uint32_t phase_ = 0, first_phase_ = 0;
    bool phase_used_ = false;
    std::uint64_t end_time_ = 0;
};

} // namespace wavetap::decode
