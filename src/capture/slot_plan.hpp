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

/// Dispatch mode: a dispatch is traced into one output slot while the data of the one before leave
/// another, unless a slot is larger than this.
inline constexpr std::uint64_t kLargestPairedSlot = 256ull << 20;
constexpr std::uint32_t lease_slots_of(std::uint64_t buffer_bytes) {
    return buffer_bytes <= kLargestPairedSlot ? 2 : 1;
}

/// What one context needs: `buffers` of `buffer_bytes` each.
struct Requirement {
    std::uint64_t buffer_bytes = 0;
    std::uint32_t buffers = 1;
    std::uint32_t lease_slots =
        0; ///< output slots that its dispatches take in turn; 0: device mode
    friend bool operator==(const Requirement&, const Requirement&) = default;
};

/// Sizes of the slots that all contexts of an agent share: slot i is as large as the largest
/// context that reaches it. Output slots of a context: 1, min(N, 3) for N > 1 buffers, in dispatch
/// mode its lease slots; staging slots: 0, or N. A value; size 0 = the slot does not exist.
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
