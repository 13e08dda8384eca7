// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/diagnostics.hpp"
#include "decode/finisher.hpp"
#include "decode/rdna_ops.hpp"
#include "decode/register_state.hpp"
#include "decode/sink.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace wavetap::decode {

/// The waves of the target SIMD of a gfx10 to gfx1250 stream, or of a part of it: there the slots are
/// unknown at first, and what happens in one before a wave starts is written down, to be done when
/// it is known which wave that is.
class RdnaWaves {
  public:
    static constexpr unsigned kSlots = 32;
    /// `context` is borrowed.
    RdnaWaves(const sqtt::Header& header, WaveContext& context)
        : opens_barrier_(header.version <= 3) {
        contexts_.fill(&context);
    }

    void start(StreamPoint at, const WaveHead& head);
    void save(StreamPoint at, const WaveHead& head);
    void restore(StreamPoint at, const WaveHead& head);
    void end(StreamPoint at, unsigned slot);
    void instruction(StreamPoint at, unsigned slot, const OpRow& op);
    void immediate(StreamPoint at, unsigned slot) {
        if (Wave* wave = active({at, nullptr, {}, Kind::kImmediate}, slot))
            immediate(*wave, at.time);
    }
    void ready(StreamPoint at, unsigned slot);
    void new_pc(StreamPoint at, unsigned slot, PcRef pc);
    void save_context();
    void packets_lost();
    /// Delivers what is still in the slots.
    void finish(StreamPoint at);

    /// Every slot is unknown from here on, and `context` borrowed until end_part().
    void begin_part(WaveContext& context);
    void end_part() { contexts_.fill(nullptr); }
    /// Whether a wave started in the slot, so that it is known.
    bool known(unsigned slot) const { return !waves_[slot].unknown; }
    /// What was written down and waits.
    std::size_t waiting() const { return waiting_; }
    /// Instructions in the waves that are open.
    std::size_t open_instructions() const;
    /// Does to a slot what `part`, which comes next in the stream, found there. Slots may be joined
    /// by several threads, each slot by one at a time. `context` is for this slot until the end of
    /// the call.
    void join(unsigned slot, RdnaWaves& part, WaveContext& context);

  private:
    enum class Kind : std::uint8_t { kInstruction, kImmediate, kReady, kNewPc, kEnd };
    struct Waiting {
        StreamPoint at;
        const OpRow* op = nullptr;
        PcRef pc;
        Kind kind = Kind::kInstruction;
    };
    struct Wave {
        bool present = false; ///< in the slot, perhaps finished
        bool complete = false;
        bool unknown = false; ///< nothing of it is known yet: then it is not present
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

    Wave* active(const Waiting& what, unsigned slot);
    void wait(const Waiting& what, unsigned slot);
    void redo(const Waiting& what, unsigned slot);
    void begin(Wave& wave, StreamPoint at, const WaveHead& head);
    void clear(Wave& wave, StreamPoint at);
    void set(Wave& wave, WaveState state, std::uint64_t time) const;
    void append(Wave& wave, std::uint64_t time, const OpRow& op) const;
    void immediate(Wave& wave, std::uint64_t time) const;
    void close_barrier(Wave& wave, std::uint64_t time) const;
    void replay(Wave& wave, std::uint64_t time) const;
    void return_from_trap(Wave& wave, std::uint64_t time) const;
    void deliver(Wave& wave, unsigned slot, StreamPoint at);

    bool opens_barrier_;
    std::array<WaveContext*, kSlots> contexts_{};
    std::array<Wave, kSlots> waves_;
    std::array<std::vector<Waiting>, kSlots> lists_; ///< of slots that were unknown
    std::array<StreamPoint, kSlots> first_start_{};  ///< where a slot became known
    std::size_t waiting_ = 0;
};

} // namespace wavetap::decode
