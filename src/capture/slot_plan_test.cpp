// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/slot_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace wavetap::capture {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

TEST(SlotPlanTest, DocumentedExamples) {
    const Requirement staging[] = {{2 * kMiB, 3}, {1 * kMiB, 4}};
    const SlotPlan a = plan_slots(staging);
    EXPECT_EQ(a.staging_bytes(0), 2 * kMiB);
    EXPECT_EQ(a.staging_bytes(1), 2 * kMiB);
    EXPECT_EQ(a.staging_bytes(2), 2 * kMiB);
    EXPECT_EQ(a.staging_bytes(3), 1 * kMiB);
    EXPECT_EQ(a.staging_bytes(4), 0u);

    const Requirement output[] = {{32 * kMiB, 1}, {16 * kMiB, 3}};
    const SlotPlan b = plan_slots(output);
    EXPECT_EQ(b.output_bytes(0), 32 * kMiB);
    EXPECT_EQ(b.output_bytes(1), 16 * kMiB);
    EXPECT_EQ(b.output_bytes(2), 16 * kMiB);
    EXPECT_EQ(b.total_output_bytes(), 64 * kMiB);
    EXPECT_EQ(b.output_slots(), 3u);
}

TEST(SlotPlanTest, SingleDispatchesReachTwoSlotsUpToALimit) {
    EXPECT_EQ(lease_slots_of(kMiB), 2u);
    EXPECT_EQ(lease_slots_of(256 * kMiB), 2u);
    EXPECT_EQ(lease_slots_of(256 * kMiB + 1), 1u);
    const Requirement needs[] = {{1024 * kMiB, 1, 1}, {256 * kMiB, 1, 2}, {16 * kMiB, 3}};
    const SlotPlan plan = plan_slots(needs);
    EXPECT_EQ(plan.output_bytes(0), 1024 * kMiB);
    EXPECT_EQ(plan.output_bytes(1), 256 * kMiB);
    EXPECT_EQ(plan.output_bytes(2), 16 * kMiB);
    EXPECT_EQ(plan.staging_bytes(0), 16 * kMiB);
    EXPECT_FALSE(plan_slots({needs, 1}).covers(needs[1]));
}

TEST(SlotPlanTest, NoContextNeedsNothing) {
    EXPECT_EQ(plan_slots({}).output_slots(), 0u);
    EXPECT_FALSE(plan_slots({}).covers(Requirement{1, 1}));
}

std::size_t outputs_of(const Requirement& need) {
    return need.buffers <= 1 ? 1 : std::min<std::size_t>(need.buffers, 3);
}
std::size_t stagings_of(const Requirement& need) {
    return need.buffers > 1 ? need.buffers : 0;
}

TEST(SlotPlanTest, SizeIsTheLargestContextThatReachesTheSlot) {
    std::mt19937 random(7);
    const std::uint32_t counts[] = {1, 3, 4, 5, 8, 16};
    for (int round = 0; round < 500; ++round) {
        std::vector<Requirement> needs(random() % 20);
        for (Requirement& need : needs)
            need = {(random() % 1024 + 1) * kMiB, counts[random() % 6]};
        const SlotPlan plan = plan_slots(needs);
        std::uint64_t naive = 0;
        for (std::size_t slot = 0; slot < kMaxStagingSlots; ++slot) {
            std::uint64_t output = 0, staging = 0;
            for (const Requirement& need : needs) {
                if (slot < outputs_of(need)) output = std::max(output, need.buffer_bytes);
                if (slot < stagings_of(need)) staging = std::max(staging, need.buffer_bytes);
            }
            if (slot < kMaxOutputSlots) {
                EXPECT_EQ(plan.output_bytes(slot), output);
            }
            EXPECT_EQ(plan.staging_bytes(slot), staging);
        }
        for (const Requirement& need : needs) {
            EXPECT_TRUE(plan.covers(need));
            naive += outputs_of(need) * need.buffer_bytes;
        }
        EXPECT_LE(plan.total_output_bytes(), naive);
        std::shuffle(needs.begin(), needs.end(), random);
        EXPECT_EQ(plan_slots(needs), plan);
    }
}

} // namespace
} // namespace wavetap::capture
