// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/agent_hub_fixture.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace wavetap::capture {
namespace {

TEST_F(AgentHubTest, AGpuThatNeverAnswersTheStartFailsTheHubWhichRecovers) {
    make(hasty());
    gpu_.hang = true;
    const auto run = hub_->start(request(1));
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().code, ErrorCode::kTimeout);
    EXPECT_EQ(hub_->state(), HubState::kFailed);
    EXPECT_EQ(hub_->statistics().deadline_misses, 1u);
    EXPECT_EQ(hub_->start(request(2)).error().code, ErrorCode::kTimeout); // still hangs
    gpu_.hang = false;
    auto later = hub_->start(request(1));
    ASSERT_TRUE(later) << to_string(later.error());
    ASSERT_TRUE(later->stop());
    EXPECT_EQ(hub_->state(), HubState::kIdle);
    EXPECT_GE(hub_->statistics().queues_created, 2u);
    EXPECT_EQ(gpu_.queues, 1);
    expect_nothing_held();
}

TEST_F(AgentHubTest, AStopThatIsNeverAnsweredEndsTheRunAsLost) {
    make(hasty());
    gpu_.wptr = 5;
    auto run = hub_->start(request(1, 4 * kMiB, 0b11));
    ASSERT_TRUE(run);
    gpu_.hang = true;
    const auto summary = run->stop();
    ASSERT_FALSE(summary);
    EXPECT_EQ(summary.error().code, ErrorCode::kTimeout);
    EXPECT_FALSE(run->active());
    ASSERT_EQ(received_.chunks.size(), 2u);
    for (const Chunk& chunk : received_.chunks)
        EXPECT_EQ(chunk.flags, kChunkEnd | kChunkLost);
    EXPECT_EQ(hub_->state(), HubState::kFailed);
    EXPECT_TRUE(gpu_.armed);
    gpu_.hang = false;
    auto later = hub_->start(request(2));
    ASSERT_TRUE(later);
    ASSERT_TRUE(later->stop());
    EXPECT_FALSE(gpu_.armed);
    expect_nothing_held();
}

TEST_F(AgentHubTest, AMarkerThatIsNeverAnsweredCostsItsDeadlineOnce) {
    make(hasty());
    auto run = hub_->start(request(1));
    ASSERT_TRUE(run);
    gpu_.hang = true;
    EXPECT_EQ(hub_->code_object_loaded({1, 0x1000, 0x100}).error().code, ErrorCode::kTimeout);
    EXPECT_EQ(hub_->code_object_loaded({2, 0x2000, 0x100}).error().code, ErrorCode::kTimeout);
    EXPECT_FALSE(run->stop());
    gpu_.hang = false;
    auto later = hub_->start(request(2));
    ASSERT_TRUE(later);
    EXPECT_EQ(hub_->statistics().markers, 2u);
    ASSERT_TRUE(later->stop());
    expect_nothing_held();
}

TEST_F(AgentHubTest, ACopyThatIsNeverAnsweredLosesTheDataOnly) {
    make(hasty());
    gpu_.wptr = 5;
    auto run = hub_->start(request(1, 4 * kMiB, 0b11));
    ASSERT_TRUE(run);
    gpu_.hang_copies = true;
    EXPECT_FALSE(run->stop());
    ASSERT_EQ(received_.chunks.size(), 2u);
    for (const Chunk& chunk : received_.chunks)
        EXPECT_EQ(chunk.flags, kChunkEnd | kChunkLost);
    EXPECT_EQ(hub_->statistics().bytes_lost, 320u);
    gpu_.hang_copies = false;
    received_.chunks.clear();
    auto later = hub_->start(request(2));
    ASSERT_TRUE(later);
    ASSERT_TRUE(later->stop());
    ASSERT_EQ(received_.chunks.size(), 1u);
    EXPECT_EQ(received_.chunks[0].flags, kChunkEnd);
}

TEST_F(AgentHubTest, AStopThatGivesUpOnABlockedHandlerSilencesTheRest) {
    HubLimits limits;
    limits.request = std::chrono::seconds(1);
    make(limits);
    struct Blocked {
        std::atomic<bool> entered{false}, release{false};
        std::atomic<int> calls{0};
    } blocked;
    RunRequest asked = request(1, 4 * kMiB, 0b11);
    asked.user = &blocked;
    asked.handler = [](const Chunk&, void* user) {
        auto* b = static_cast<Blocked*>(user);
        ++b->calls;
        b->entered = true;
        while (!b->release)
            std::this_thread::yield();
    };
    clock_.scale = 100;
    auto run = hub_->start(asked);
    ASSERT_TRUE(run);
    clock_.scale = 1;
    EXPECT_EQ(run->stop().error().code, ErrorCode::kTimeout);
    EXPECT_TRUE(blocked.entered);
    EXPECT_EQ(hub_->start(request(2)).error().code, ErrorCode::kBusy);
    blocked.release = true;
    while (hub_->state() != HubState::kIdle)
        std::this_thread::yield();
    EXPECT_EQ(blocked.calls, 1);
}

// Every call kind, every n: a status comes back, the next start works, counters return.
TEST_F(AgentHubTest, EveryFailingCallGivesAStatusAndHealsAtTheNextStart) {
    const auto round = [this] {
        received_.chunks.clear();
        auto run = hub_->start(request(1, 4 * kMiB, 0b11));
        if (!run) return false;
        (void)hub_->code_object_loaded({77, 0x7000, 0x100});
        const bool stopped = run->stop().has_value();
        std::size_t ends = 0;
        for (const Chunk& chunk : received_.chunks)
            ends += (chunk.flags & kChunkEnd) != 0;
        EXPECT_EQ(ends, 2u);
        (void)hub_->code_object_unloaded(77);
        return stopped;
    };
    int injected = 0;
    for (int kind = 0; kind < FakeGpu::kCalls; ++kind)
        for (std::uint64_t n = 1;; ++n) {
            gpu_.no_faults();
            gpu_.wptr = 3;
            for (auto& calls : gpu_.calls)
                calls = 0;
            make();
            ASSERT_TRUE(hub_->code_object_loaded({1, 0x1000, 0x100}));
            gpu_.fail_at[kind] = n;
            const bool first = round(), second = round();
            const bool reached = gpu_.calls[kind] >= n;
            gpu_.fail_at[kind] = 0;
            EXPECT_TRUE(round()) << "kind " << kind << " n " << n;
            EXPECT_EQ(gpu_.queues, 1);
            EXPECT_LE(gpu_.device_blocks, 1);
            expect_nothing_held();
            if (!reached) {
                EXPECT_TRUE(first && second);
                break;
            }
            ++injected;
        }
    EXPECT_GT(injected, 20);
}

} // namespace
} // namespace wavetap::capture
