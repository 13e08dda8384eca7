// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/diagnostics.hpp"
#include "decode/register_state.hpp"
#include "decode/sink.hpp"

#include <cstdint>
#include <vector>

namespace wavetap::decode {

/// Which wave slots of the engine are taken. Fixed size: 2 shader arrays x 16 CUs or WGPs x 4 SIMDs
/// x 32 slots. Waves off the target are delivered at their end.
class Occupancy {
  public:
    /// `quiet_on_target`: an end without a start on the target gives no occupancy records (gfx9).
    Occupancy(CodeMap& code, RecordSink& sink, Diagnostics& diagnostics, bool quiet_on_target)
        : slots_(kSlots), code_(&code), sink_(&sink), diagnostics_(&diagnostics),
          quiet_on_target_(quiet_on_target) {}

    /// Takes a slot; gives the head its ordinal and entry. `entry_address` is absolute.
    void start(StreamPoint at, WaveHead& head, std::uint64_t entry_address, bool is_ext);
    /// Gives a slot back. False if it was not taken (the caller decides what that means).
    bool end(StreamPoint at, const WaveHead& where);
    /// The wave's context is saved: it leaves its slot, its entry is remembered.
    void pause(StreamPoint at, const WaveHead& where);
    /// A saved context comes back.
    void resume(StreamPoint at, WaveHead& head, std::uint64_t entry_address);
    /// An end without a start.
    void end_without_start(StreamPoint at, WaveHead where);
    const WaveHead* find(const WaveHead& where) const {
        const Slot& slot = slots_[index(where)];
        return slot.taken ? &slot.head : nullptr;
    }
    void set_entry(const WaveHead& where, std::uint64_t entry_address);
    void packets_lost() { ++losses_; }
    /// Delivers waves off the target that are still running.
    void finish(StreamPoint at);
    std::uint64_t next_ordinal() { return ordinal_++; }
    std::uint64_t ends_without_start() const { return ends_without_start_; }

  private:
    static constexpr std::size_t kSlots = 2 * 16 * 4 * 32;
    struct Slot {
        WaveHead head;
        bool taken = false;
        bool is_ext = false;
        bool saved = false;       ///< its context was saved; the head's entry is still that wave's
        std::uint64_t losses = 0; ///< that had happened when it was taken
    };
    static std::size_t index(const WaveHead& head) {
        return ((std::size_t{head.sa & 1U} * 16 + (head.cu & 15U)) * 4 + (head.simd & 3U)) * 32 +
               (head.slot & 31U);
    }
    void report(const Slot& slot, std::uint64_t time, bool start);
    void deliver(WaveHead& head);

    std::vector<Slot> slots_;
    InstructionList none_;
    CodeMap* code_;
    RecordSink* sink_;
    Diagnostics* diagnostics_;
    bool quiet_on_target_;
    std::uint64_t ordinal_ = 0;
    std::uint64_t ends_without_start_ = 0;
    std::uint64_t losses_ = 0; ///< so far
};

} // namespace wavetap::decode
