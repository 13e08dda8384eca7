// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/diagnostics.hpp"
#include "decode/finisher.hpp"
#include "decode/register_state.hpp"
#include "decode/sink.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace wavetap::decode {

struct WaveTotals {
    std::uint64_t instruction_tokens = 0;
    std::uint64_t tokens_without_wave = 0;
};

/// The waves of the target CU of a gfx9 stream: ISSUE tokens say when, INST tokens say what.
class Gfx9Waves {
  public:
    Gfx9Waves(WaveFinisher& finisher, Diagnostics& diagnostics)
        : finisher_(&finisher), diagnostics_(&diagnostics) {}

    /// A wave starts in a slot; one that is still there is delivered as unfinished.
    void start(StreamPoint at, const WaveHead& head);
    /// A wave start with a context-switch code.
    void switch_context(StreamPoint at, unsigned simd, unsigned slot);
    /// False if nothing ends there (no wave, or it is in a trap).
    bool end(StreamPoint at, unsigned simd, unsigned slot);
    void issue(StreamPoint at, unsigned simd, std::uint32_t states);
    /// For a live wave.
    void inst(StreamPoint at, unsigned simd, unsigned slot, unsigned type);
    /// No wave is live there. A slot that never held one takes one with an unknown start; `head`
    /// says how to call it.
    void inst_without_wave(StreamPoint at, const WaveHead& head);
    void inst_pc(unsigned simd, unsigned slot, PcRef pc);
    void save_context();
    void packets_lost(StreamPoint at);
    /// Delivers what is still open.
    void finish(StreamPoint at);
    bool live(unsigned simd, unsigned slot) const { return waves_[simd][slot].live; }
    bool start_seen(unsigned simd, unsigned slot) const {
        return waves_[simd][slot].head.start_seen;
    }
    const WaveTotals& totals() const { return totals_; }
    /// The counter of issue phases, less its usual start, modulo four.
    unsigned issue_phase() const { return (phase_ - kFirstPhase) & 3U; }
    void set_issue_phase(unsigned phase) { phase_ = kFirstPhase + phase; }

  private:
    static constexpr std::uint32_t kFirstPhase = 15;
    enum class Trap : std::uint8_t { kNormal, kRequested, kStandby, kWaitPc };
    static constexpr unsigned kMaxInFlight = 64;
    struct Wave {
        bool live = false;
        bool held = false; ///< a start was seen here since the trace began or tokens were lost
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

        std::uint32_t take_oldest() {
            const std::uint32_t index = queue[queue_head];
            queue_head = (queue_head + 1) % kMaxInFlight;
            --queue_size;
            return index;
        }
    };

    void clear(Wave& wave) const;
    void add_time(Wave& wave, WaveState state, std::uint64_t clocks) const;
    void mend(Wave& wave, std::size_t i, std::uint64_t time) const;
    void issue_one(Wave& wave, StreamPoint at, unsigned state);
    void immediate(Wave& wave, StreamPoint at);
    void drop_oldest_issue(Wave& wave, StreamPoint at);
    void name(Wave& wave, StreamPoint at, unsigned simd, std::size_t i, unsigned type);
    void apply_stalls(Wave& wave, std::size_t i) const;
    void erase(Wave& wave, std::size_t i) const;
    void replay(Wave& wave, StreamPoint at, std::size_t i, std::uint8_t category) const;
    void push_stall(Wave& wave, std::uint64_t time) const;
    void resume(Wave& wave, StreamPoint at, unsigned type) const;
    void deliver(Wave& wave, StreamPoint at, bool complete);

    WaveFinisher* finisher_;
    Diagnostics* diagnostics_;
    WaveTotals totals_;
    std::uint32_t phase_ = kFirstPhase;
    std::array<std::array<Wave, 16>, 4> waves_;
};

} // namespace wavetap::decode
