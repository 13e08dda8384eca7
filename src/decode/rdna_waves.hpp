// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/diagnostics.hpp"
#include "decode/finisher.hpp"
#include "decode/gfx9_waves.hpp"
#include "decode/rdna_ops.hpp"
#include "decode/register_state.hpp"
#include "decode/sink.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace wavetap::decode {

/// The waves of the target SIMD of a gfx10 to gfx1250 stream.
class RdnaWaves {
  public:
    RdnaWaves(const sqtt::Header& header, WaveFinisher& finisher, Diagnostics& diagnostics)
        : opens_barrier_(header.version <= 3), finisher_(&finisher), diagnostics_(&diagnostics) {}

    void start(StreamPoint at, const WaveHead& head);
    void save(StreamPoint at, const WaveHead& head);
    void restore(StreamPoint at, const WaveHead& head);
    void end(StreamPoint at, unsigned slot);
    void instruction(StreamPoint at, unsigned slot, const OpRow& op);
    void immediate(StreamPoint at, unsigned slot) {
        if (Wave* wave = active(at, slot)) immediate(*wave, at.time);
    }
    void ready(StreamPoint at, unsigned slot);
    void new_pc(StreamPoint at, unsigned slot, PcRef pc);
    void save_context();
    void packets_lost();
    /// Delivers what is still in the slots.
    void finish(StreamPoint at);
    bool present(unsigned slot) const { return waves_[slot & 31].present; }
    const WaveTotals& totals() const { return totals_; }

  private:
    struct Wave {
        bool present = false; ///< in the slot, perhaps finished
        bool complete = false;
        bool trapped = false;
        bool barrier_open = false;
        bool scale_next = false;
        bool replay_pending = false;
        std::uint64_t replay_time = 0;
        WaveState state = WaveState::kIdle;
        std::uint64_t last = 0; ///< time of the last change of state
        WaveHead head;
        InstructionList list;
        AnchorList anchors;
        std::vector<TimelinePiece> timeline;
    };

    Wave* active(StreamPoint at, unsigned slot);
    void begin(Wave& wave, StreamPoint at, const WaveHead& head);
    void set(Wave& wave, WaveState state, std::uint64_t time) const;
    void append(Wave& wave, std::uint64_t time, const OpRow& op) const;
    void immediate(Wave& wave, std::uint64_t time) const;
    void close_barrier(Wave& wave, std::uint64_t time) const;
    void replay(Wave& wave, std::uint64_t time) const;
    void return_from_trap(Wave& wave, std::uint64_t time) const;
    void deliver(Wave& wave, StreamPoint at);

    bool opens_barrier_;
    WaveFinisher* finisher_;
    Diagnostics* diagnostics_;
    WaveTotals totals_;
    std::array<Wave, 32> waves_;
};

} // namespace wavetap::decode
