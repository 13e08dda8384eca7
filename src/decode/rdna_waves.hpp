// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/diagnostics.hpp"
#include "decode/finisher.hpp"
#include "decode/rdna_ops.hpp"
#include "decode/register_state.hpp"
#include "decode/sink.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace wavetap::decode {

/// What most instruction tokens do, in one look: QuickOps of a stream by code.
struct QuickOp {
    enum class Kind : std::uint8_t { kOther, kNormal, kImmediate };
    Kind kind = Kind::kOther; ///< kOther: see OpRow
    Category category = Category::kSalu;
    std::uint32_t cycles = 1;
};

/// The waves of the target SIMD of a gfx10 to gfx1250 stream, or of a part of it: there the slots are
/// unknown at first, and what happens in one before a wave starts is written down, to be done when
/// it is known which wave that is.
class RdnaWaves {
  public:
    static constexpr unsigned kSlots = 32;
    static constexpr std::uint64_t kLongStall = std::uint64_t{1} << 31;
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
    /// As instruction() or immediate(), if that is all there is to it: false, and nothing done, else.
    [[gnu::always_inline]] bool quick(std::uint64_t time, unsigned slot, const QuickOp& op) {
        Wave& wave = waves_[slot];
        if (!wave.plain) [[unlikely]]
            return false;
        if (op.kind == QuickOp::Kind::kNormal) [[likely]] {
            const std::uint64_t begin =
                wave.state == WaveState::kStall ? std::min(wave.last, time) : time;
            if (time - begin > kLongStall) [[unlikely]]
                return false;
            const auto stall = static_cast<std::uint32_t>(time - begin);
            wave.list.push(begin, static_cast<std::uint8_t>(op.category), op.cycles + stall, stall);
            set(wave, WaveState::kExec, time);
            return true;
        }
        if (op.kind != QuickOp::Kind::kImmediate) return false;
        push_immediate(wave, time);
        return true;
    }
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
        bool plain = false; ///< present, and nothing special the matter: see settle()
        WaveState state = WaveState::kIdle;
        std::uint64_t last = 0;  ///< up to which the state is known
        std::uint64_t since = 0; ///< from which on `timeline` does not have it yet
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
    static void settle(Wave& wave) {
        wave.plain = wave.present && !wave.complete && !wave.trapped && !wave.barrier_open &&
                     !wave.scale_next && !wave.replay_pending;
    }
    [[gnu::always_inline]] static void set(Wave& wave, WaveState state, std::uint64_t time) {
        wave.last = std::max(wave.last, time);
        if (state == wave.state) return;
        write_state(wave);
        wave.state = state;
    }
    /// Brings `timeline` up to date.
    [[gnu::noinline]] static void write_state(Wave& wave) {
        const std::uint64_t clocks = wave.last - wave.since;
        wave.since = wave.last;
        if (clocks == 0) return;
        if (!wave.timeline.empty() && wave.timeline.back().state == wave.state)
            wave.timeline.back().clocks += clocks;
        else
            wave.timeline.push_back({wave.state, clocks});
    }
    void issue(Wave& wave, std::uint64_t time, const OpRow& op) const;
    void append(Wave& wave, std::uint64_t time, const OpRow& op) const;
    void immediate(Wave& wave, std::uint64_t time) const;
    [[gnu::always_inline]] static void push_immediate(Wave& wave, std::uint64_t time) {
        const std::size_t size = wave.list.size();
        const std::uint64_t begin = size == 0 ? time : std::min(time, wave.list.end(size - 1));
        const std::uint64_t stall = time - begin;
        wave.list.push(begin, static_cast<std::uint8_t>(Category::kImmed), to_u32(stall + 1),
                       to_u32(stall));
        set(wave, WaveState::kWait, begin);
        set(wave, WaveState::kExec, time + 1);
    }
    static std::uint32_t to_u32(std::uint64_t value) {
        return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, 0xFFFFFFFF));
    }
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
