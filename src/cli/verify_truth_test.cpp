// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/verify_truth.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace wavetap::cli {
namespace {

TEST(IdRangesTest, AnyOrderGivesWhatWasSet) {
    std::mt19937 random(7);
    for (int round = 0; round < 200; ++round) {
        IdRanges ranges;
        std::map<std::uint64_t, std::uint64_t> plain;
        for (int i = 0; i < 40; ++i) {
            const std::uint64_t id = random() % 24, number = random() % 3;
            ranges.set(id, number);
            plain[id] = number;
            for (std::uint64_t each = 0; each < 26; ++each) {
                const auto found = plain.find(each);
                ASSERT_EQ(ranges.get(each), found == plain.end() ? IdRanges::kNone : found->second);
            }
        }
    }
}

TEST(IdRangesTest, TheLastIdThereIs) {
    IdRanges ranges;
    ranges.set(~std::uint64_t{0}, 5);
    ranges.set(0, 5);
    EXPECT_EQ(ranges.get(~std::uint64_t{0}), 5U);
    EXPECT_EQ(ranges.get(0), 5U);
    EXPECT_EQ(ranges.get(1), IdRanges::kNone);
}

// Clocks around each edge, and a dispatch that the log does not have.
TEST(AgentTruthTest, WhichDispatchesBeganBefore) {
    using Kind = softgpu::TruthTraceEvent::Kind;
    softgpu::Truth truth;
    truth.trace_events = {{0, 0, Kind::kArm, 100, 0, 0, 0},
                          {0, 1, Kind::kArm, 104, 0, 0, 0},
                          {0, 0, Kind::kDisarm, 200, 0, 0, 0},
                          {1, 0, Kind::kArm, 150, 0, 0, 0},
                          {0, 0, Kind::kArm, 300, 0, 0, 0}};
    const softgpu::TruthLog log(truth);
    AgentTruth agent(log, 0);
    const std::uint64_t clocks[] = {0, 96, 100, 102, 104, 150, 199, 200, 201, 300, 400};
    for (std::size_t i = 0; i < std::size(clocks); ++i)
        agent.add({0, i + 1, 0, 0, clocks[i], 1});
    for (const std::uint64_t edge : {0ULL, 100ULL, 104ULL, 200ULL, 300ULL, ~0ULL}) {
        softgpu::TruthWave wave;
        wave.start = 250;
        for (std::size_t i = 0; i < std::size(clocks); ++i) {
            wave.dispatch = i + 1;
            EXPECT_EQ(agent.dispatched_before(wave, edge), clocks[i] < edge) << i << " " << edge;
        }
        wave.dispatch = 77;
        EXPECT_EQ(agent.dispatched_before(wave, edge), wave.start < edge) << edge;
    }
}

} // namespace
} // namespace wavetap::cli
