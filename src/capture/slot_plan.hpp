// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace wavetap::capture {

/// The hardware ring has three output buffers at most; further buffers of a context are staging.
inline constexpr std::size_t kMaxOutputSlots = 3;
inline constexpr std::size_t kMaxStagingSlots = 16;

/// What one context needs: `buffers` of `buffer_bytes` each.
struct Requirement {
    std::uint64_t buffer_bytes = 0;
    std::uint32_t buffers = 1;
    friend bool operator==(const Requirement&, const Requirement&) = default;
};

/// Sizes of the slots that all contexts of an agent share: slot i is as large as the largest
/// context that reaches it. Output slots of a context: 1, or min(N, 3) for N > 1 buffers; staging
/// slots: 0, or N. A value; size 0 = the slot does not exist.
class SlotPlan {
  public:
    void add(const Requirement& need);
    std::uint64_t output_bytes(std::size_t slot) const { return output_[slot]; }
    std::uint64_t staging_bytes(std::size_t slot) const { return staging_[slot]; }
    std::uint64_t total_output_bytes() const;
    std::size_t output_slots() const;
    /// Every slot of the plan of `need` alone is at most as large as ours.
    bool covers(const Requirement& need) const;
    bool covers(const SlotPlan& other) const;
    friend bool operator==(const SlotPlan&, const SlotPlan&) = default;

  private:
    std::array<std::uint64_t, kMaxOutputSlots> output_{};
    std::array<std::uint64_t, kMaxStagingSlots> staging_{};
};

SlotPlan plan_slots(std::span<const Requirement> needs);

} // namespace wavetap::capture
