// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "softgpu/chip.hpp"
#include "softgpu/thread_trace_unit.hpp"
#include "softgpu/wave_context.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// One compute unit: its SIMDs issue from the resident waves. Each SIMD has one issue turn a quad (4
// clocks): at most one instruction of each category, each from another wave, oldest wave first;
// immediates (s_waitcnt, s_nop, …) take no issue slot. Durations: softgpu/timing.hpp.

namespace wavetap::softgpu {

/// What compute units share and whom they tell. Implemented by the chip.
class ShaderHost {
  public:
    virtual ~ShaderHost() = default;
    virtual void wave_ended(WaveContext& wave, unsigned se, unsigned cu, std::uint64_t now) = 0;
    virtual void group_ended(WorkGroup& group, std::uint64_t now) = 0;
    /// The wave cannot go on; the host kills its queue before anything else runs.
    enum class Trouble : std::uint8_t { kIllegalInstruction, kMemoryFault, kTrap };
    virtual void wave_failed(WaveContext& wave, Trouble trouble, const std::string& what) = 0;
    virtual std::uint64_t counter_at(std::uint64_t clock) = 0;
    /// Clocks that an access issued at `now` waits for the chip's memory bandwidth.
    virtual std::uint64_t memory_delay(std::uint64_t now) = 0;
};

struct ShaderServices {
    ShaderHost& host;
    Memory& memory;
    Program& program;
    ThreadTraceUnit& trace; ///< of the CU's engine
    const ChipSpec& spec;
    const std::uint64_t& program_epoch; ///< changes when cached instructions may be stale
    Host& front_end;
    std::uint64_t& instructions;
    bool log_instructions = false;
};

/// What a work-group needs of one CU.
struct GroupNeeds {
    std::uint32_t waves = 1;
    std::uint32_t vgpr_allocation = 0; ///< of each wave
    std::uint32_t sgpr_allocation = 0;
    std::uint32_t lds_bytes = 0;
};

class ComputeUnit {
  public:
    static constexpr unsigned kMaxSimds = 4;
    static constexpr std::uint32_t kVgprsPerSimd = 512; ///< unified file of gfx90a, per lane
    static constexpr std::uint32_t kSgprsPerSimd = 800;
    static constexpr std::uint32_t kGroupsPerCu = 16; ///< barrier resources

    ComputeUnit(ShaderServices services, unsigned se, unsigned cu);

    /// Waves of these needs that a SIMD with so much left can take.
    static std::uint32_t room(const GroupNeeds& needs, std::uint32_t slots, std::uint32_t vgprs,
                              std::uint32_t sgprs);
    bool fits(const GroupNeeds& needs) const;
    /// SIMD and slot for each wave of a group that fits: waves go over the SIMDs in turn, starting
    /// where the last group ended; the lowest free slot.
    std::vector<WavePlace> choose(const GroupNeeds& needs);
    void begin_group(std::uint32_t lds_bytes) {
        lds_free_ -= lds_bytes;
        ++groups_;
    }
    /// Takes a wave over that starts at clock `start`. Place from choose().
    void add(std::unique_ptr<WaveContext> wave, const WavePlace& place, std::uint64_t start);

    /// Clock of the next thing that happens here; kNever if nothing will.
    std::uint64_t next() const { return next_; }
    /// Everything due at `now` (>= next()).
    void run(std::uint64_t now);
    /// Ends all waves of a dispatch within the next few quads.
    void kill(const Dispatch& dispatch, std::uint64_t now);
    /// Waves that are here now, for the log at destruction.
    template <class Visitor> void each_wave(Visitor visit) {
        for (Simd& simd : simds_) {
            for (const std::uint8_t slot : simd.order)
                visit(*simd.waves[slot]);
        }
    }
    unsigned se() const { return se_; }
    unsigned cu() const { return cu_; }
    bool empty() const;

  private:
    static constexpr unsigned kMaxSlots = ThreadTraceUnit::kIssueSlots;
    /// `next` lies apart from the waves: it is looked at every quad.
    struct Simd {
        Simd() { next.fill(kNever); }
        std::array<std::uint64_t, kMaxSlots> next; ///< by slot; kNever: nothing to do
        std::uint64_t soonest = kNever;            ///< not later than the least of `next`
        std::vector<std::uint8_t> order;           ///< slots in use, oldest wave first
        std::array<std::unique_ptr<WaveContext>, kMaxSlots> waves;
        std::uint32_t slots_used = 0; ///< bit i: slot i
        std::uint32_t vgprs_free = kVgprsPerSimd, sgprs_free = kSgprsPerSimd;
        std::uint64_t valu_free_at = 0;
    };
    struct Turn {
        std::uint64_t now = 0;
        unsigned simd = 0;
        std::uint32_t categories = 0; ///< that issued this turn
        bool watched = false;         ///< the trace unit records this SIMD
        bool any_state = false;
        ThreadTraceUnit::IssueStates states{};
        /// What issued; reported behind the turn's ISSUE token.
        struct Issued {
            std::uint64_t due;
            std::uint8_t slot, type;
            std::optional<std::uint64_t> next_pc;
        };
        std::array<Issued, kMaxSlots> issued;
        unsigned issued_count = 0;
    };

    void run_simd(Turn& turn);
    void advance(Turn& turn, WaveContext& wave);
    void start_wave(Turn& turn, WaveContext& wave);
    void try_issue(Turn& turn, WaveContext& wave);
    const Op* fetch(WaveContext& wave);
    bool unit_free(const Turn& turn, const WaveContext& wave, const Op& op) const;
    bool counters_full(WaveContext& wave, const Op& op, std::uint64_t now);
    void issue(Turn& turn, WaveContext& wave, const Op& op);
    void immediate(Turn& turn, WaveContext& wave, const Op& op);
    void occupy(Turn& turn, const Op& op);
    void start_operation(WaveContext& wave, const Op& op, std::uint64_t now);
    void show_issue(Turn& turn, WaveContext& wave, const Op& op, const StepInfo& info);
    void show_state(Turn& turn, const WaveContext& wave, sqtt::Gfx9Issue state);
    void finish_immediate(Turn& turn, WaveContext& wave);
    void apply(Turn& turn, WaveContext& wave, const Op& op, const StepInfo& info, std::uint64_t pc);
    void arrive(Turn& turn, WaveContext& wave);
    void release_if_complete(WorkGroup& group, std::uint64_t now);
    void end_wave(WaveContext& wave, std::uint64_t now);
    void release_group(std::uint32_t lds_bytes) {
        lds_free_ += lds_bytes;
        --groups_;
    }
    void remove_ended(Simd& simd);
    /// " in KERNEL (FILE:LINE)", or "" if the front end does not know.
    std::string in_code(std::uint64_t pc) const;
    void fail(WaveContext& wave, ShaderHost::Trouble trouble, const std::string& what);
    WavePlace token_place(const WaveContext& wave) const {
        return {static_cast<std::uint8_t>(cu_), wave.simd, wave.slot};
    }
    void note(WaveContext& wave, std::uint64_t pc, std::uint64_t time);
    void set_next(const WaveContext& wave, std::uint64_t clock) {
        Simd& simd = simds_[wave.simd];
        simd.next[wave.slot] = clock;
        simd.soonest = std::min(simd.soonest, clock);
    }
    void recompute_next(std::uint64_t now);

    ShaderServices services_;
    unsigned se_;
    unsigned cu_;
    unsigned simd_count_;
    std::array<Simd, kMaxSimds> simds_;
    unsigned next_simd_ = 0;
    std::uint32_t lds_free_ = 0;
    std::uint32_t groups_ = 0;
    std::uint64_t vmem_free_at_ = 0, lds_free_at_ = 0, smem_free_at_ = 0;
    std::uint64_t next_ = kNever;
    bool has_ended_ = false;
    bool failed_ = false;
};

} // namespace wavetap::softgpu
