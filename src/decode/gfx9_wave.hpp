// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/finisher.hpp"
#include "decode/register_state.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace wavetap::decode {

/// What a part of a gfx9 stream supposes of a wave that began before it, and that it may not suppose
/// any more (gfx9_part_waves.hpp).
struct Gfx9Doubt {
    std::uint64_t begin = 0; ///< time at which the part begins
    bool failed = false;     ///< something happened that depends on what is not known
};

/// A wave slot of the target CU of a gfx9 stream and the wave in it: ISSUE tokens say when, INST
/// tokens say what. Instructions wait in a queue until they are named. A plain machine: who is asked
/// what, and when, is the caller's business.
struct Gfx9Wave {
    enum class Trap : std::uint8_t { kNormal, kRequested, kStandby, kWaitPc };
    static constexpr unsigned kMaxInFlight = 64;
    static constexpr std::size_t kMaxStalls = 4096;

    bool live = false;
    bool held = false; ///< a start was seen here since the trace began or tokens were lost
    bool anchors_changed = false; ///< in the part
    bool unsure = false;          ///< in a part: its list lacks what came before the part
    Trap trap = Trap::kNormal;
    WaveState state = WaveState::kIdle;
    std::uint64_t state_start = 0;
    WaveHead head;
    InstructionList list;
    AnchorList anchors;
    std::vector<TimelinePiece> timeline;
    std::array<std::uint32_t, kMaxInFlight> queue{}; ///< a ring: issued, not yet named
    unsigned queue_head = 0, queue_size = 0;
    std::array<std::uint32_t, 16> last_named{}; ///< index + 1 of the last of each category
    std::vector<std::uint64_t> stalls;
    std::size_t first_stall = 0;
    WaveContext* context = nullptr;
    Gfx9Doubt* doubt = nullptr;       ///< set for a wave that began before the part
    std::uint32_t entries_before = 0; ///< in the list when the part began

    /// A wave starts; the slot is free.
    void begin(StreamPoint at, const WaveHead& what);
    /// One that runs already, from here on.
    void begin_unseen(std::uint64_t time, const WaveHead& what);
    /// A start while a wave is there, which is delivered as unfinished.
    void make_room(StreamPoint at);
    /// A wave start with a context-switch code.
    void switch_context(StreamPoint at);
    /// False if it is in a trap and goes on.
    bool end(StreamPoint at);
    /// One state of an ISSUE token; not for a wave in a trap.
    void issue(StreamPoint at, unsigned state);
    /// What the oldest waiting instruction was; there is one. `phase` is the counter of issue
    /// phases, which it may move. True if the instruction stays in the list.
    bool name(StreamPoint at, unsigned simd, unsigned type, std::uint32_t& phase);
    /// An INST token while it is in a trap.
    void resume(StreamPoint at, unsigned type);
    void packets_lost(StreamPoint at);
    void deliver(StreamPoint at, bool complete);
    std::size_t stalls_left() const { return stalls.size() - first_stall; }
    /// Index of the `i`th oldest that waits.
    std::uint32_t waiting(unsigned i) const { return queue[(queue_head + i) % kMaxInFlight]; }

  private:
    void clear();
    void add_time(WaveState what, std::uint64_t clocks);
    std::uint64_t least_end(std::size_t i) const;
    void mend(std::size_t i, std::uint64_t time);
    void immediate(StreamPoint at);
    std::uint32_t take_oldest();
    void drop_oldest_issue(StreamPoint at);
    void apply_stalls(std::size_t i);
    void erase(std::size_t i);
    void replay(StreamPoint at, std::size_t i, std::uint8_t category);
    void push_stall(std::uint64_t time);
};

} // namespace wavetap::decode
