// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "softgpu/isa.hpp"
#include "softgpu/truth.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

// What the chip keeps about dispatches, work-groups and waves. Plain data between the dispatcher
// and the compute units.

namespace wavetap::softgpu {

inline constexpr std::uint64_t kNever = ~std::uint64_t{0};

/// The private memory of a queue, cut into one piece a wave.
struct ScratchSlots {
    std::uint64_t base = 0;
    std::uint32_t wave_bytes = 0;
    std::vector<bool> used;
    std::uint32_t free = 0;
};

/// Kernel descriptor and packet of one launch, and how far it is.
struct Dispatch {
    std::uint64_t id = 0; ///< counts from 1
    std::uint32_t queue = 0;
    std::uint64_t driver_queue = 0;
    std::uint64_t entry_pc = 0;
    std::uint64_t packet_va = 0, packet_index = 0;
    std::uint64_t completion_signal = 0;
    std::uint64_t start_ts = 0; ///< host counter at launch
    std::uint8_t me = 0, pipe = 0;

    std::array<std::uint32_t, 3> grid{1, 1, 1};
    std::array<std::uint32_t, 3> group{1, 1, 1};
    std::array<std::uint32_t, 3> groups{1, 1, 1};
    std::uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;
    std::uint32_t lds_bytes = 0;
    std::uint32_t vgprs = 0, agprs = 0; ///< registers a lane has
    std::uint32_t vgpr_allocation = 0;  ///< of the SIMD's unified file
    std::uint32_t sgpr_allocation = 0;  ///< of the SIMD's scalar file
    std::vector<std::uint32_t> user_sgprs;
    std::shared_ptr<ScratchSlots> scratch; ///< null: the kernel uses none
    std::uint32_t scratch_lane_bytes = 0;

    std::uint64_t workgroups = 0;
    std::uint64_t next_group = 0;
    std::uint64_t live_groups = 0;
    std::vector<std::uint32_t> placed_in_engine; ///< work-groups so far, of each shader engine
    bool killed = false;
    bool counted = false; ///< its queue had performance counters enabled at the launch

    std::uint32_t waves_per_group() const { return (group[0] * group[1] * group[2] + 63) / 64; }
    bool launched() const { return next_group == workgroups; }
};

struct WorkGroup {
    std::uint32_t items() const { return size[0] * size[1] * size[2]; }
    std::uint32_t waves() const { return (items() + 63) / 64; }

    Dispatch* dispatch = nullptr;
    std::vector<std::byte> lds;
    std::uint32_t live = 0;    ///< waves that have not ended
    std::uint32_t arrived = 0; ///< waves waiting at s_barrier
    std::array<std::uint32_t, 3> id{};
    std::array<std::uint32_t, 3> size{1, 1, 1}; ///< work-items; smaller at the grid's edge
    std::uint8_t number = 0;                    ///< low bits show in the wave-start token
};

/// What a wave does at the clock that its compute unit has noted for it.
enum class WavePhase : std::uint8_t {
    kStarting, ///< placed; its start token is written
    kReady,    ///< may issue from then on
    kWaiting,  ///< s_waitcnt: finished
    kAsleep,   ///< s_sleep, s_nop: finished
    kBarrier,  ///< at s_barrier, not released: nothing
    kReleased, ///< leaves s_barrier
    kEnding,   ///< its end token is written
};

/// One resident wave.
struct WaveContext {
    Wave state;
    WorkGroup* group = nullptr;
    Dispatch* dispatch = nullptr;
    WavePhase phase = WavePhase::kStarting;
    const Op* op = nullptr;
    std::uint64_t op_epoch = 0;
    std::uint64_t blocked_pc = 0; ///< of the immediate or barrier that the wave is in
    std::uint64_t token_due = 0;  ///< clock of the wave's latest INST token
    bool stall_shown = false;
    bool killed_early = false; ///< its queue died before it started
    std::uint8_t simd = 0, slot = 0;
    std::uint32_t vgpr_allocation = 0, sgpr_allocation = 0;
    std::uint32_t threads = 0;
    std::int64_t scratch_slot = -1;
    std::uint64_t entry_pc = 0, start = 0;
    /// Clocks at which outstanding operations return, in rising order.
    std::vector<std::uint64_t> vector_returns, scalar_returns, export_returns;
    std::vector<TruthInstruction> log;
};

} // namespace wavetap::softgpu
