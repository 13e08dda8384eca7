// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "softgpu/compute_unit.hpp"
#include "softgpu/wave_context.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

// Places work-groups on compute units.
//
// Rule: work-group i of a dispatch goes to shader engine (r + i) mod engines, or to the next one
// that has room; inside an engine to the CU after the one that took the dispatch's last group
// there, or the next that has room, fused-off CUs left out; its waves to the SIMDs in turn, each
// to the lowest free slot. r and the first CU are 0 with seed 0 and otherwise drawn from the seed
// and the dispatch's number. A pipe launches one dispatch at a time; there are eight (two micro
// engines of four), and every one places at most one work-group a quad. An engine starts at most
// one wave a quad.

namespace wavetap::softgpu {

/// Told by the dispatcher; implemented by the chip.
class DispatchHost {
  public:
    virtual ~DispatchHost() = default;
    /// The initiator register is written: the dispatch's registers go to the trace units.
    virtual void dispatch_started(const Dispatch& dispatch, std::uint64_t now) = 0;
    /// All waves of a launched (or killed) dispatch have ended.
    virtual void dispatch_ended(std::unique_ptr<Dispatch> dispatch, std::uint64_t now) = 0;
};

class Dispatcher {
  public:
    static constexpr unsigned kPipes = 8;

    Dispatcher(const ChipSpec& spec, std::vector<std::unique_ptr<ComputeUnit>>& cus,
               DispatchHost& host);

    /// Takes a dispatch over; its first work-group is placed at `ready_at` or later.
    Dispatch& submit(std::unique_ptr<Dispatch> dispatch, std::uint64_t ready_at);
    /// Whether an empty CU could hold a work-group of it.
    bool can_ever_fit(const Dispatch& dispatch) const;
    /// Nothing more of the dispatch is placed, its waves end.
    void kill(Dispatch& dispatch, std::uint64_t now);
    void group_ended(WorkGroup& group, std::uint64_t now);

    std::uint64_t next() const { return next_; }
    void run(std::uint64_t now);
    /// CUs that got waves in the last run(), as indices; cleared by the caller.
    std::vector<std::size_t>& touched() { return touched_; }
    /// Dispatches of one queue that have not ended.
    std::vector<Dispatch*> of_queue(std::uint32_t queue);

  private:
    struct Entry {
        std::unique_ptr<Dispatch> dispatch;
        std::uint64_t ready_at = 0;
        bool started = false;
    };
    struct Pipe {
        std::deque<Dispatch*> waiting; ///< front: being launched
        std::uint64_t next = kNever;
        std::uint64_t last_start = 0; ///< start clock of the last wave placed
    };

    Entry& entry(const Dispatch& dispatch) { return entries_.at(&dispatch); }
    void run_pipe(Pipe& pipe, std::uint64_t now);
    bool place(Dispatch& dispatch, Pipe& pipe, std::uint64_t now);
    ComputeUnit* find_unit(Dispatch& dispatch, const GroupNeeds& needs);
    void launch(std::unique_ptr<WorkGroup> group, ComputeUnit& unit, const GroupNeeds& needs,
                Pipe& pipe, std::uint64_t now);
    void finish_if_done(Dispatch& dispatch, std::uint64_t now);
    void recompute_next();

    const ChipSpec& spec_;
    std::vector<std::unique_ptr<ComputeUnit>>& cus_; ///< by engine, then CU; null: fused off
    DispatchHost& host_;
    std::array<Pipe, kPipes> pipes_;
    std::unordered_map<const Dispatch*, Entry> entries_;
    std::unordered_map<const WorkGroup*, std::unique_ptr<WorkGroup>> groups_;
    std::vector<std::uint64_t> engine_free_at_; ///< when an engine can start the next wave
    std::vector<std::size_t> touched_;
    std::uint64_t next_ = kNever;
    std::uint8_t group_number_ = 0;
};

/// A wave at its first instruction: registers by the kernel ABI (LLVM's AMDGPU usage guide, "Initial
/// Kernel Execution State", gfx90a). `index` counts the group's waves.
std::unique_ptr<WaveContext> make_wave(Dispatch& dispatch, WorkGroup& group, std::uint32_t index,
                                       unsigned se, const WavePlace& place);

} // namespace wavetap::softgpu
