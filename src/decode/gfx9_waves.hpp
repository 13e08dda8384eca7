// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/gfx9_tail.hpp"
#include "decode/gfx9_wave.hpp"

#include <array>
#include <bit>
#include <cstdint>

namespace wavetap::decode {

class Gfx9PartWaves;

/// What a part of a gfx9 stream must know of what came before.
struct Gfx9Place {
    static constexpr unsigned kSimds = 4, kSlots = 16; ///< of a SIMD
    std::uint32_t phase = 0;                           ///< of issues
    std::array<Gfx9Tail, kSimds * kSlots> tails;       ///< of each wave slot
};

/// The waves of the target CU of a gfx9 stream.
class Gfx9Waves {
  public:
    static constexpr unsigned kSimds = Gfx9Place::kSimds, kSlots = Gfx9Place::kSlots;

    /// `context` is borrowed.
    explicit Gfx9Waves(WaveContext& context) : context_(&context) {
        for (auto& simd : waves_)
            for (Gfx9Wave& wave : simd)
                wave.context = &context;
    }

    /// A wave starts in a slot; one that is still there is delivered as unfinished.
    void start(StreamPoint at, const WaveHead& head) {
        Gfx9Wave& wave = waves_[head.simd][head.slot];
        if (wave.live) wave.make_room(at);
        wave.begin(at, head);
    }
    /// A wave start with a context-switch code.
    void switch_context(StreamPoint at, unsigned simd, unsigned slot) {
        waves_[simd][slot].switch_context(at);
    }
    /// False if nothing ends there (no wave, or it is in a trap).
    bool end(StreamPoint at, unsigned simd, unsigned slot) {
        Gfx9Wave& wave = waves_[simd][slot];
        return wave.live && wave.end(at);
    }
    void issue(StreamPoint at, unsigned simd, std::uint32_t states);
    /// If no wave is live there, a slot that never held one takes one with an unknown start on CU
    /// `cu`.
    void inst(StreamPoint at, unsigned simd, unsigned slot, unsigned type, unsigned cu);
    void new_pc(unsigned simd, unsigned slot, PcRef pc) {
        Gfx9Wave& wave = waves_[simd][slot];
        if (wave.live) wave.anchors.arrived(wave.list.size(), pc);
    }
    void save_context();
    void packets_lost(StreamPoint at);
    /// Delivers what is still open.
    void finish(StreamPoint at);
    bool live(unsigned simd, unsigned slot) const { return waves_[simd][slot].live; }
    /// The counter of issue phases, less its usual start, modulo four.
    unsigned issue_phase() const { return (phase_ - kFirstPhase) & 3U; }
    void set_issue_phase(unsigned phase) { phase_ = kFirstPhase + phase; }

    /// How things stand.
    void tell(Gfx9Place& place) const;
    void set_phase(std::uint32_t phase) { phase_ = phase; }
    /// Does to a slot what `part`, which comes next in the stream and was right about what came
    /// before it, found there. Slots may be joined by several threads, each slot by one at a time.
    /// `context` is for this slot until the end of the call.
    void join(unsigned slot, Gfx9PartWaves& part, WaveContext& context);

  private:
    static constexpr std::uint32_t kFirstPhase = 15;

    WaveContext* context_;
    std::uint32_t phase_ = kFirstPhase;
    std::array<std::array<Gfx9Wave, kSlots>, kSimds> waves_;
};

/// Calls `each(slot, state)` for what an ISSUE token tells.
template <class Each> inline void each_issue(std::uint32_t states, Each&& each) {
    while (states != 0) {
        const unsigned slot = static_cast<unsigned>(std::countr_zero(states)) / 2;
        const unsigned state = states >> 2 * slot & 3;
        states &= ~(3U << 2 * slot);
        each(slot, state);
    }
}

} // namespace wavetap::decode
