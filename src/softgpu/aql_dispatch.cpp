// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/units.hpp"
#include "softgpu/aql_queue.hpp"
#include "softgpu/timing.hpp"

#include <algorithm>

namespace wavetap::softgpu {

namespace {

constexpr std::uint32_t kMaxGroupItems = 1024;
constexpr std::uint32_t kVgprGranule = 8; ///< gfx90a
constexpr std::uint32_t kSgprGranule = 16;
constexpr std::uint32_t kLdsGranule = 512;

// amd_queue_t, from its start.
constexpr std::uint64_t kQueueToWriteIndex = 0x38;
constexpr std::uint64_t kTmpringSize = 0x8C;
constexpr std::uint64_t kScratchDescriptor = 0x90;
constexpr std::uint64_t kScratchLocation = 0xA0;
constexpr std::uint64_t kQueueProperties = 0xB4;
constexpr std::uint32_t kUseScratchOnce = 1U << 4;

// Kernel descriptor.
constexpr std::uint64_t kEntryOffset = 16, kRsrc3 = 44, kRsrc1 = 48, kRsrc2 = 52, kProperties = 56;

} // namespace

void AqlQueue::execute_dispatch(std::uint64_t now) {
    if (launching_ != nullptr && !launching_->launched()) {
        again(now + timing::kAqlPoll, false); // one launch of a queue at a time
        return;
    }
    auto dispatch = std::make_unique<Dispatch>();
    std::string what;
    auto fault = read_dispatch(*dispatch, what);
    if (!fault) fault = read_descriptor(*dispatch, what);
    if (fault) {
        stop(fault, what, now);
        return;
    }
    if (!prepare_scratch(*dispatch, now)) return;
    if (!services_.dispatcher.can_ever_fit(*dispatch)) {
        stop(QueueFault::kOutOfRegisters,
             "no compute unit has room for a work-group of " +
                 std::to_string(dispatch->waves_per_group()) + " waves with " +
                 std::to_string(dispatch->vgpr_allocation) + " registers each",
             now);
        return;
    }
    dispatch->packet_va = slot_va(next_index_);
    dispatch->packet_index = next_index_;
    begin_packet(now);
    dispatch->start_ts = packet_start_ts_;
    dispatch->counted = counters_enabled_;
    dispatch->id = ++services_.dispatch_ids;
    dispatch->queue = id_;
    dispatch->driver_queue = info_.driver_id;
    ++running_dispatches_;
    launching_ = &services_.dispatcher.submit(std::move(dispatch), now + timing::kDispatchSetup);
    again(now + timing::kAqlRetire, false);
}

std::optional<QueueFault> AqlQueue::read_dispatch(Dispatch& dispatch, std::string& what) {
    const auto dimensions = field<std::uint16_t>(2) & 3U;
    dispatch.workgroups = 1;
    for (unsigned axis = 0; axis < 3; ++axis) {
        const auto group = field<std::uint16_t>(4 + 2 * axis);
        const auto grid = field<std::uint32_t>(12 + 4 * axis);
        if (axis >= dimensions && group <= 1 && grid <= 1) continue;
        if (group == 0 || grid == 0 || dimensions == 0) {
            what = "dispatch with group size " + std::to_string(group) + " and grid size " +
                   std::to_string(grid) + " in dimension " + std::to_string(axis);
            return QueueFault::kInvalidDimension;
        }
        dispatch.group[axis] = group;
        dispatch.grid[axis] = grid;
        dispatch.groups[axis] = (grid - 1) / group + 1;
        dispatch.workgroups *= dispatch.groups[axis];
    }
    if (std::uint64_t{dispatch.group[0]} * dispatch.group[1] * dispatch.group[2] > kMaxGroupItems) {
        what = "work-group of more than " + std::to_string(kMaxGroupItems) + " work-items";
        return QueueFault::kGroupTooLarge;
    }
    dispatch.lds_bytes = (field<std::uint32_t>(28) + kLdsGranule - 1) / kLdsGranule * kLdsGranule;
    if (field<std::uint32_t>(28) > 65536) {
        what = "work-group with " + std::to_string(field<std::uint32_t>(28)) + " bytes of LDS";
        return QueueFault::kInvalidGroupMemory;
    }
    dispatch.completion_signal = field<std::uint64_t>(56);
    return std::nullopt;
}

std::optional<QueueFault> AqlQueue::read_descriptor(Dispatch& dispatch, std::string& what) {
    const auto object = field<std::uint64_t>(32);
    std::int64_t entry_offset = 0;
    std::uint32_t properties = 0;
    Memory& memory = services_.memory;
    if (object == 0 || !memory.read(object + kEntryOffset, entry_offset) ||
        !memory.read(object + kRsrc3, dispatch.rsrc3) ||
        !memory.read(object + kRsrc1, dispatch.rsrc1) ||
        !memory.read(object + kRsrc2, dispatch.rsrc2) ||
        !memory.read(object + kProperties, properties)) {
        what = "kernel object " + format_hex(object) + " is not mapped";
        return QueueFault::kInvalidCode;
    }
    dispatch.entry_pc = object + static_cast<std::uint64_t>(entry_offset);
    if (dispatch.entry_pc % 4 != 0) {
        what = "kernel entry " + format_hex(dispatch.entry_pc) + " is misaligned";
        return QueueFault::kInvalidCode;
    }
    const std::uint32_t total = ((dispatch.rsrc1 & 0x3F) + 1) * kVgprGranule;
    const std::uint32_t accum_offset = ((dispatch.rsrc3 & 0x3F) + 1) * 4;
    dispatch.vgpr_allocation = total;
    dispatch.sgpr_allocation = ((dispatch.rsrc1 >> 6 & 0xF) / 2 + 1) * kSgprGranule;
    dispatch.vgprs = std::min(total, accum_offset);
    dispatch.agprs = total - dispatch.vgprs;
    set_user_sgprs(dispatch, properties & 0xFFFF);
    return std::nullopt;
}

void AqlQueue::set_user_sgprs(Dispatch& dispatch, std::uint32_t properties) {
    auto& sgprs = dispatch.user_sgprs;
    const auto word = [&](std::uint64_t va) {
        std::uint32_t value = 0;
        services_.memory.read(va, value);
        sgprs.push_back(value);
    };
    const auto pair = [&](std::uint64_t value) {
        sgprs.push_back(static_cast<std::uint32_t>(value));
        sgprs.push_back(static_cast<std::uint32_t>(value >> 32));
    };
    const std::uint64_t queue = info_.write_index_va - kQueueToWriteIndex;
    const bool has[7] = {(properties & 1) != 0, (properties & 2) != 0,  (properties & 4) != 0,
                         (properties & 8) != 0, (properties & 16) != 0, (properties & 32) != 0,
                         (properties & 64) != 0};
    if (has[0])
        for (unsigned i = 0; i < 4; ++i)
            word(queue + kScratchDescriptor + 4 * i);
    if (has[1]) pair(slot_va(next_index_));
    if (has[2]) pair(queue);
    if (has[3]) pair(field<std::uint64_t>(40)); // kernel arguments
    if (has[4]) pair(next_index_);
    if (has[5]) {
        word(queue + kScratchLocation);
        word(queue + kScratchLocation + 4);
    }
    if (has[6]) sgprs.push_back(field<std::uint32_t>(24)); // private segment bytes
}

// The runtime reads the packet at the read index to learn how much is wanted, and replaces the
// queue's scratch; so everything before must have ended.
bool AqlQueue::prepare_scratch(Dispatch& dispatch, std::uint64_t now) {
    const auto wanted = field<std::uint32_t>(24);
    if (wanted == 0) return true;
    const std::uint64_t queue = info_.write_index_va - kQueueToWriteIndex;
    std::uint32_t tmpring = 0, properties = 0;
    std::uint64_t base = 0;
    services_.memory.read(queue + kTmpringSize, tmpring);
    services_.memory.read(queue + kScratchLocation, base);
    services_.memory.read(queue + kQueueProperties, properties);
    const std::uint32_t waves = tmpring & 0xFFF;
    const std::uint32_t wave_bytes = (tmpring >> 12 & 0x1FFF) * 1024;
    if (waves == 0 || wave_bytes / kLanes < wanted) {
        if (!flights_.empty()) return false; // woken when the last one ends
        if (!raise_inactive(QueueFault::kScratch)) {
            stop(std::nullopt, "kernel wants private memory, and there is no inactive signal", now);
            return false;
        }
        stall_ = Stall::kScratch;
        again(now + timing::kScratchRetry, true);
        return false;
    }
    const std::uint64_t key = base ^ std::uint64_t{tmpring} << 32;
    if (!scratch_ || scratch_key_ != key) {
        if (!flights_.empty()) return false;
        scratch_ = std::make_shared<ScratchSlots>();
        scratch_->base = base;
        scratch_->wave_bytes = wave_bytes;
        scratch_->used.assign(waves, false);
        scratch_->free = waves;
        scratch_key_ = key;
    }
    dispatch.scratch = scratch_;
    dispatch.scratch_lane_bytes = wave_bytes / kLanes;
    scratch_once_ = (properties & kUseScratchOnce) != 0;
    return true;
}

} // namespace wavetap::softgpu
