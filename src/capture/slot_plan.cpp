// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/slot_plan.hpp"

#include <algorithm>
#include <numeric>

namespace wavetap::capture {

void SlotPlan::add(const Requirement& need) {
    const std::size_t outputs =
        std::clamp<std::size_t>(std::max(need.buffers, need.lease_slots), 1, kMaxOutputSlots);
    for (std::size_t i = 0; i < outputs; ++i)
        output_[i] = std::max(output_[i], need.buffer_bytes);
    const std::size_t stagings =
        need.buffers > 1 ? std::min<std::size_t>(need.buffers, kMaxStagingSlots) : 0;
    for (std::size_t i = 0; i < stagings; ++i)
        staging_[i] = std::max(staging_[i], need.buffer_bytes);
}

std::uint64_t SlotPlan::total_output_bytes() const {
    return std::accumulate(output_.begin(), output_.end(), std::uint64_t{0});
}

std::size_t SlotPlan::output_slots() const {
    return static_cast<std::size_t>(
        std::count_if(output_.begin(), output_.end(), [](std::uint64_t size) { return size > 0; }));
}

bool SlotPlan::covers(const SlotPlan& other) const {
    return std::equal(output_.begin(), output_.end(), other.output_.begin(),
                      std::greater_equal<>()) &&
           std::equal(staging_.begin(), staging_.end(), other.staging_.begin(),
                      std::greater_equal<>());
}

bool SlotPlan::covers(const Requirement& need) const {
    SlotPlan alone;
    alone.add(need);
    return covers(alone);
}

SlotPlan plan_slots(std::span<const Requirement> needs) {
    SlotPlan plan;
    for (const Requirement& need : needs)
        plan.add(need);
    return plan;
}

} // namespace wavetap::capture
