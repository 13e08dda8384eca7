// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/agent_hub_fixture.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <cstring>
#include <initializer_list>
#include <string>
#include <thread>
#include <vector>

namespace wavetap::capture {
namespace {

/// The fake executes gfx9 registers only: here the streams are made, submitted and read back.
TEST_F(AgentHubTest, EveryGenerationStartsAndStops) {
    for (const AgentTopology& chip :
         std::initializer_list<AgentTopology>{{"gfx90a", 1, 8, 14, 4},
                                              {"gfx942", 8, 4, 10, 4},
                                              {"gfx950", 8, 4, 9, 4},
                                              {"gfx1030", 1, 4, 20, 2},
                                              {"gfx1100", 1, 6, 16, 2},
                                              {"gfx1201", 1, 4, 16, 2}}) {
        topology_ = chip;
        make();
        const std::uint64_t all = (std::uint64_t{1} << chip.xccs * chip.engines_per_xcc) - 1;
        for (const std::uint64_t engines : {std::uint64_t{1}, all}) {
            const auto count = static_cast<std::uint64_t>(std::popcount(engines));
            auto run = hub_->start(request(1, count * kMiB, engines));
            ASSERT_TRUE(run) << chip.gfx << ": " << to_string(run.error());
            const auto summary = run->stop();
            ASSERT_TRUE(summary) << chip.gfx << ": " << to_string(summary.error());
            EXPECT_GT(summary->chunks, 0u) << chip.gfx;
        }
        expect_nothing_held();
    }
}

TEST_F(AgentHubTest, AStartBehindWhichTheUnitIsOffIsRefused_AndALaterOneWorks) {
    make();
    for (const std::uint32_t buffers : {1U, 3U}) {
        RunRequest asked = request(1, 4 * kMiB, buffers == 1 ? 0b101 : 1);
        asked.buffers = buffers;
        if (buffers > 1) asked.config.buffers = kRingSlots;
        gpu_.stays_off = true;
        const auto refused = hub_->start(asked);
        ASSERT_FALSE(refused) << buffers;
        EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
        EXPECT_NE(refused.error().message.find("shader engine 0 is off"), std::string::npos)
            << to_string(refused.error());
        EXPECT_EQ(hub_->state(), HubState::kIdle);
        EXPECT_EQ(received_.count, 0);
        gpu_.stays_off = false;
        auto run = hub_->start(asked);
        ASSERT_TRUE(run) << to_string(run.error());
        EXPECT_TRUE(run->stop());
        received_.count = 0;
    }
    EXPECT_EQ(hub_->statistics().queues_created, 1u) << "nothing was lost";
    EXPECT_EQ(hub_->statistics().refused, 2u);
    expect_nothing_held();
}

// A small buffer may be full before its status is read; what says so has been on.
TEST_F(AgentHubTest, AUnitThatIsOffAndHasWrittenHasBeenOn) {
    make();
    gpu_.stays_off = true;
    gpu_.wptr = 100;
    auto run = hub_->start(request(1));
    ASSERT_TRUE(run) << to_string(run.error());
    EXPECT_TRUE(run->stop());
    gpu_.wptr = 0;
    gpu_.status = 1U << 31; // FULL
    run = hub_->start(request(1));
    ASSERT_TRUE(run) << to_string(run.error());
    EXPECT_TRUE(run->stop());
}

TEST_F(AgentHubTest, NothingIsHeldBeforeTheFirstStart) {
    make();
    EXPECT_EQ(gpu_.queues, 0);
    EXPECT_EQ(gpu_.device_blocks + gpu_.host_blocks, 0);
    EXPECT_EQ(hub_->statistics().threads, 0u);
    EXPECT_EQ(hub_->state(), HubState::kIdle);
}

TEST_F(AgentHubTest, StartAndStopDeliverEachEngineOnceInOrder) {
    make();
    gpu_.wptr = 100;
    auto run = hub_->start(request(5, 4 * kMiB, 0b1011));
    ASSERT_TRUE(run) << to_string(run.error());
    EXPECT_EQ(hub_->state(), HubState::kRunning);
    EXPECT_TRUE(gpu_.armed);
    EXPECT_EQ(received_.count, 0);
    const auto summary = run->stop();
    ASSERT_TRUE(summary) << to_string(summary.error());
    EXPECT_FALSE(gpu_.armed);
    EXPECT_FALSE(run->active());
    ASSERT_EQ(received_.chunks.size(), 3u);
    const std::uint32_t engines[] = {0, 1, 3};
    for (std::uint32_t i = 0; i < 3; ++i) {
        const Chunk& chunk = received_.chunks[i];
        EXPECT_EQ(chunk.engine, engines[i]);
        EXPECT_EQ(chunk.index, i);
        EXPECT_EQ(chunk.flags, kChunkEnd);
        EXPECT_EQ(chunk.context, 5u);
        EXPECT_EQ(chunk.run, summary->run);
        EXPECT_EQ(chunk.wptr, 100u);
        ASSERT_EQ(received_.data[i].size(), 8u + 3200u);
        std::uint64_t header = 0;
        std::memcpy(&header, received_.data[i].data(), 8);
        const RunRequest asked = request(5, 4 * kMiB, 0b1011);
        EXPECT_EQ(header, pm4::gfx9_header(pm4_topology(topology_), asked.config, engines[i]));
        const std::uint64_t offset =
            *pm4::engine_offset(pm4_topology(topology_), asked.config, engines[i]);
        for (std::uint64_t b = 0; b < 3200; ++b)
            ASSERT_EQ(received_.data[i][8 + b], static_cast<std::byte>((offset + b) * 131 >> 3));
    }
    EXPECT_EQ(summary->bytes_delivered, 3u * 3208);
    EXPECT_EQ(summary->bytes_lost, 0u);
    const HubStatistics s = hub_->statistics();
    EXPECT_EQ(s.runs, 1u);
    EXPECT_EQ(s.queues_created, 1u);
    EXPECT_EQ(s.output_slots, 1u);
    EXPECT_EQ(s.output_bytes, 4 * kMiB + 8192);
    EXPECT_EQ(s.threads, 1u);
    expect_nothing_held();
}

TEST_F(AgentHubTest, ALargeSampleComesInChunksOfBoundedSize) {
    make({}, 64 * 1024);
    gpu_.wptr = 200 * 1024 / 32;
    auto run = hub_->start(request(0));
    ASSERT_TRUE(run);
    ASSERT_TRUE(run->stop());
    ASSERT_EQ(received_.chunks.size(), 4u);
    std::vector<std::byte> all;
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(received_.chunks[i].flags, i == 3 ? kChunkEnd : kChunkNone);
        EXPECT_EQ(received_.chunks[i].index, i);
        all.insert(all.end(), received_.data[i].begin(), received_.data[i].end());
    }
    ASSERT_EQ(all.size(), 8u + 200 * 1024);
    for (std::size_t b = 0; b < 200 * 1024; ++b)
        ASSERT_EQ(all[8 + b], static_cast<std::byte>(b * 131 >> 3));
    EXPECT_EQ(hub_->statistics().staging_bytes, 64u * 1024 + 4096);
}

TEST_F(AgentHubTest, AFullBufferIsFlagged) {
    make();
    gpu_.wptr = 0x3FFFFFFF;
    auto run = hub_->start(request(0));
    ASSERT_TRUE(run);
    const auto summary = run->stop();
    ASSERT_TRUE(summary);
    EXPECT_TRUE(summary->gpu_full);
    ASSERT_EQ(received_.chunks.size(), 1u);
    EXPECT_EQ(received_.chunks[0].flags, kChunkEnd | kChunkGpuBufferFull);
    EXPECT_EQ(received_.data[0].size(), kMiB + 8);
}

TEST_F(AgentHubTest, ASecondContextIsRefusedAtOnceAndStartsLater) {
    make();
    auto a = hub_->start(request(1));
    ASSERT_TRUE(a);
    auto b = hub_->start(request(2));
    ASSERT_FALSE(b);
    EXPECT_EQ(b.error().code, ErrorCode::kBusy);
    EXPECT_NE(b.error().message.find("context 1"), std::string::npos);
    ASSERT_TRUE(a->stop());
    b = hub_->start(request(2));
    ASSERT_TRUE(b);
    ASSERT_TRUE(b->stop());
    EXPECT_EQ(hub_->statistics().refused, 1u);
    EXPECT_EQ(hub_->statistics().queues_created, 1u);
}

TEST_F(AgentHubTest, EightContextsShareOneSlot) {
    make();
    SlotPlan plan;
    for (std::uint32_t i = 0; i < 8; ++i)
        plan.add({(i % 2 ? 2 : 4) * kMiB, 1});
    hub_->set_plan(plan);
    for (int round = 0; round < 3; ++round)
        for (std::uint32_t i = 0; i < 8; ++i) {
            auto run = hub_->start(request(i, (i % 2 ? 2 : 4) * kMiB));
            ASSERT_TRUE(run);
            ASSERT_TRUE(run->stop());
        }
    EXPECT_EQ(gpu_.calls[FakeGpu::kDevice], 1u);
    EXPECT_EQ(gpu_.calls[FakeGpu::kHost], 2u); // arena and landing area
    EXPECT_EQ(gpu_.calls[FakeGpu::kCreateQueue], 1u);
    EXPECT_EQ(hub_->statistics().output_bytes, 4 * kMiB + 8192);
    EXPECT_EQ(received_.count, 24);
}

TEST_F(AgentHubTest, GrowthWaitsForIdleAndAFailedGrowthHurtsNobodyElse) {
    make();
    auto a = hub_->start(request(1, kMiB));
    ASSERT_TRUE(a);
    SlotPlan plan;
    plan.add({kMiB, 1});
    plan.add({8 * kMiB, 1});
    hub_->set_plan(plan);
    EXPECT_EQ(hub_->start(request(2, 8 * kMiB)).error().code, ErrorCode::kBusy);
    ASSERT_TRUE(a->stop());
    {
        auto b = hub_->start(request(2, 8 * kMiB));
        ASSERT_TRUE(b);
        ASSERT_TRUE(b->stop());
    }
    EXPECT_EQ(hub_->statistics().output_bytes, 8 * kMiB + 8192);

    plan.add({64 * kMiB, 1});
    hub_->set_plan(plan);
    gpu_.device_limit = 16 * kMiB;
    const auto c = hub_->start(request(3, 64 * kMiB));
    ASSERT_FALSE(c);
    EXPECT_EQ(c.error().code, ErrorCode::kLimit);
    EXPECT_NE(c.error().message.find("64 MiB"), std::string::npos);
    EXPECT_FALSE(c.error().hint.empty());
    for (int i = 0; i < 2; ++i) {
        auto again = hub_->start(request(1, kMiB));
        ASSERT_TRUE(again) << to_string(again.error());
        ASSERT_TRUE(again->stop());
    }
    expect_nothing_held();
}

TEST_F(AgentHubTest, AWarmStartAndStopAllocateNothingOnTheGpuSide) {
    make();
    for (int i = 0; i < 2; ++i)
        ASSERT_TRUE(hub_->start(request(1))->stop());
    const auto device = gpu_.calls[FakeGpu::kDevice].load();
    const auto host = gpu_.calls[FakeGpu::kHost].load();
    for (int i = 0; i < 50; ++i)
        ASSERT_TRUE(hub_->start(request(1))->stop());
    EXPECT_EQ(gpu_.calls[FakeGpu::kDevice], device);
    EXPECT_EQ(gpu_.calls[FakeGpu::kHost], host);
    EXPECT_EQ(gpu_.calls[FakeGpu::kCreateQueue], 1u);
}

TEST_F(AgentHubTest, AnIdleHubGivesEverythingBackOnceItWasQuietForLong) {
    const auto held = [this] { return gpu_.queues + gpu_.device_blocks + gpu_.host_blocks; };
    const auto all_gone = [&] {
        const TimePoint deadline = clock_.deadline_after(std::chrono::seconds(30));
        while (held() != 0 && clock_.now() < deadline)
            std::this_thread::yield();
        return held() == 0;
    };
    make();
    hub_->set_idle_release(std::chrono::milliseconds(1));
    for (int turn = 1; turn <= 3; ++turn) {
        auto running = hub_->start(request(1));
        ASSERT_TRUE(running);
        EXPECT_NE(held(), 0); // not while a context holds the agent
        ASSERT_TRUE(running->stop());
        EXPECT_TRUE(all_gone()) << turn;
        EXPECT_EQ(received_.count, turn);
    }
    EXPECT_EQ(hub_->statistics().output_bytes, 0u);
    EXPECT_EQ(hub_->statistics().queues_created, 3u);
    // Kept from now on; asked for again, it goes at last.
    hub_->set_idle_release(Duration::zero());
    ASSERT_TRUE(hub_->start(request(1))->stop());
    ASSERT_TRUE(hub_->start(request(2))->stop());
    EXPECT_EQ(hub_->statistics().queues_created, 4u);
    hub_->set_idle_release(std::chrono::milliseconds(1));
    EXPECT_TRUE(all_gone());
    expect_nothing_held();
}

TEST_F(AgentHubTest, MoreCodeObjectsThanAQueueHasPackets) {
    make();
    constexpr std::uint64_t kObjects = 700;
    for (std::uint64_t id = 1; id <= kObjects; ++id)
        ASSERT_TRUE(hub_->code_object_loaded({id, id << 16, 0x1000}));
    ASSERT_TRUE(hub_->start(request(1))->stop());
    EXPECT_GE(gpu_.user_data_words, kObjects * 5);
    EXPECT_EQ(hub_->statistics().markers, kObjects);
    // Unloaded and loaded meanwhile: the next start replays the list of now.
    ASSERT_TRUE(hub_->code_object_unloaded(1));
    ASSERT_TRUE(hub_->code_object_loaded({kObjects + 1, 0x10000, 0x1000}));
    ASSERT_TRUE(hub_->code_object_loaded({kObjects + 2, 0x20000, 0x1000}));
    auto running = hub_->start(request(2));
    ASSERT_TRUE(running);
    EXPECT_EQ(hub_->statistics().markers, 2 * kObjects + 1);
    ASSERT_TRUE(hub_->code_object_unloaded(2)); // live
    EXPECT_EQ(hub_->statistics().markers, 2 * kObjects + 2);
    ASSERT_TRUE(running->stop());
}

TEST_F(AgentHubTest, CodeObjectsAreReplayedAtStartAndMarkedWhileRunning) {
    make();
    for (std::uint64_t id = 1; id <= 600; ++id)
        ASSERT_TRUE(hub_->code_object_loaded({id, id << 16, 0x1000}));
    EXPECT_EQ(hub_->statistics().threads, 0u); // idle: noted, nothing else
    {
        auto run = hub_->start(request(1));
        ASSERT_TRUE(run);
        EXPECT_EQ(hub_->statistics().markers, 600u);
        ASSERT_TRUE(hub_->code_object_loaded({601, 601 << 16, 0x1000}));
        ASSERT_TRUE(hub_->code_object_unloaded(1));
        EXPECT_EQ(hub_->statistics().markers, 602u);
        ASSERT_TRUE(run->stop());
    }
    auto again = hub_->start(request(1));
    ASSERT_TRUE(again);
    EXPECT_EQ(hub_->statistics().markers, 602u + 600u);
    ASSERT_TRUE(again->stop());
    expect_nothing_held();
}

} // namespace
} // namespace wavetap::capture
