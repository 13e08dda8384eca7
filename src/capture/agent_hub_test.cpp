// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/hub_fixture.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cstring>
#include <future>
#include <initializer_list>
#include <random>
#include <thread>
#include <vector>

namespace wavetap::capture {
namespace {

struct Received {
    std::vector<Chunk> chunks;
    std::vector<std::vector<std::byte>> data;
    std::atomic<int> count{0};
};
void receive(const Chunk& chunk, void* user) {
    auto* received = static_cast<Received*>(user);
    received->chunks.push_back(chunk);
    received->data.emplace_back(chunk.data.begin(), chunk.data.end());
    ++received->count;
}

class AgentHubTest : public HubTest {
  protected:
    /// Limits so short that a test can wait for them; those of the client's side stay long.
    static HubLimits hasty() {
        HubLimits limits;
        limits.start = limits.stop = limits.copy = limits.marker = std::chrono::milliseconds(50);
        return limits;
    }
    void make(const HubLimits& limits = {}, std::uint64_t landing_limit = 32 * kMiB) {
        hub_.reset();
        AgentHub::Options options;
        options.engine.topology = topology_;
        options.engine.landing_limit = landing_limit;
        options.engine.limits = limits;
        hub_ = std::make_unique<AgentHub>(std::make_unique<FakeBackend>(gpu_), options, clock_);
    }
    RunRequest request(std::uint32_t context, std::uint64_t bytes = kMiB,
                       std::uint64_t se_mask = 1) {
        return make_request(context, bytes, se_mask, receive, &received_);
    }

    Received received_;
};

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

TEST_F(AgentHubTest, ADroppedTokenDisarmsWithoutCallback) {
    make();
    gpu_.wptr = 10;
    {
        auto run = hub_->start(request(1));
        ASSERT_TRUE(run);
    }
    // The cancellation is served before this start, or refuses it while it drains.
    for (int i = 0; i < 10000; ++i) {
        auto next = hub_->start(request(2));
        if (!next) {
            ASSERT_EQ(next.error().code, ErrorCode::kBusy);
            std::this_thread::yield();
            continue;
        }
        EXPECT_EQ(received_.count, 0);
        ASSERT_TRUE(next->stop());
        break;
    }
    EXPECT_EQ(received_.count, 1);
    EXPECT_EQ(hub_->statistics().bytes_lost, 320u);
    expect_nothing_held();
}

TEST_F(AgentHubTest, CallsFromAChunkHandlerGetAStatus) {
    make();
    struct Inside {
        AgentHub* hub;
        RunningTrace* run;
        RunRequest other;
        ErrorCode start = ErrorCode::kInternal, stop = ErrorCode::kInternal,
                  close = ErrorCode::kInternal;
        HubState state = HubState::kIdle;
    } inside;
    RunRequest asked = request(1);
    inside.hub = hub_.get();
    inside.other = request(2);
    asked.user = &inside;
    asked.handler = [](const Chunk&, void* user) {
        auto* in = static_cast<Inside*>(user);
        in->start = in->hub->start(in->other).error().code;
        in->stop = in->run->stop().error().code;
        in->close = in->hub->close().error().code;
        in->state = in->hub->state();
    };
    auto run = hub_->start(asked);
    ASSERT_TRUE(run);
    RunningTrace token = std::move(*run);
    RunningTrace other;
    inside.run = &other;
    ASSERT_TRUE(token.stop());
    EXPECT_EQ(inside.start, ErrorCode::kWouldDeadlock);
    EXPECT_EQ(inside.stop, ErrorCode::kWrongState); // an empty token
    EXPECT_EQ(inside.close, ErrorCode::kWouldDeadlock);
    EXPECT_EQ(inside.state, HubState::kDraining);
}

TEST_F(AgentHubTest, JobsRunOnTheHubThreadInOrderAndMayStartAndStop) {
    make();
    gpu_.wptr = 1;
    std::atomic<int> finished{0};
    RunningTrace running; // hub thread only
    for (std::uint32_t i = 0; i < 20; ++i)
        ASSERT_TRUE(hub_->post([&, i] {
            if (running.active()) {
                EXPECT_TRUE(running.stop());
            }
            auto next = hub_->start(request(i));
            EXPECT_TRUE(next);
            if (next) running = std::move(*next);
            ++finished;
        }));
    std::promise<void> last;
    ASSERT_TRUE(hub_->post([&] { last.set_value(); }));
    ASSERT_EQ(last.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
    ASSERT_TRUE(hub_->close()); // delivers the last one
    EXPECT_EQ(finished, 20);
    EXPECT_EQ(received_.count, 20);
    for (std::uint32_t i = 0; i < 20; ++i)
        EXPECT_EQ(received_.chunks[i].context, i);
    EXPECT_EQ(hub_->start(request(1)).error().code, ErrorCode::kWrongState);
    EXPECT_EQ(hub_->post([] {}).error().code, ErrorCode::kWrongState);
}

TEST_F(AgentHubTest, CloseDeliversARunLeftRunning) {
    make();
    gpu_.wptr = 7;
    auto run = hub_->start(request(1));
    ASSERT_TRUE(run);
    ASSERT_TRUE(hub_->close());
    EXPECT_EQ(received_.count, 1);
    EXPECT_FALSE(gpu_.armed);
    EXPECT_EQ(run->stop().error().code, ErrorCode::kWrongState);
    ASSERT_TRUE(hub_->close());
    EXPECT_EQ(received_.count, 1);
}

TEST_F(AgentHubTest, ATokenMayOutliveItsHub) {
    make();
    std::vector<RunningTrace> tokens;
    for (int round = 0; round < 3; ++round) {
        make();
        auto run = hub_->start(request(1));
        ASSERT_TRUE(run);
        tokens.push_back(std::move(*run));
        hub_.reset(); // delivers it
        EXPECT_FALSE(gpu_.armed);
    }
    EXPECT_EQ(received_.count, 3);
    EXPECT_EQ(tokens[0].stop().error().code, ErrorCode::kWrongState);
    EXPECT_FALSE(tokens[0].active());
    EXPECT_TRUE(tokens[1].discard());
    tokens.clear(); // the last one is dropped
    EXPECT_EQ(received_.count, 3);
    EXPECT_EQ(gpu_.queues, 0);
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
    limits.request = std::chrono::milliseconds(500);
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
    auto run = hub_->start(asked);
    ASSERT_TRUE(run);
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

TEST_F(AgentHubTest, StormOfStartsStopsAndLoadsFromEightThreads) {
    make();
    gpu_.wptr = 4;
    std::atomic<std::uint64_t> good{0}, busy{0}, other{0}, callbacks{0};
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < 8; ++t)
        threads.emplace_back([&, t] {
            std::mt19937 random(t);
            for (std::uint64_t i = 0; i < 100; ++i) {
                RunRequest asked = request(static_cast<std::uint32_t>(t * 50 + random() % 50));
                asked.user = &callbacks;
                asked.handler = [](const Chunk&, void* user) {
                    ++*static_cast<std::atomic<std::uint64_t>*>(user);
                };
                auto run = hub_->start(asked);
                if (run) {
                    if (random() % 8 != 0) {
                        if (run->stop()) ++good;
                    }
                } else {
                    ++(run.error().code == ErrorCode::kBusy ? busy : other);
                }
                const std::uint64_t id = t * 1000 + i;
                EXPECT_TRUE(hub_->code_object_loaded({id, id << 12, 0x100}));
                EXPECT_TRUE(hub_->code_object_unloaded(id));
            }
        });
    for (auto& thread : threads)
        thread.join();
    EXPECT_EQ(other, 0u);
    EXPECT_GT(good, 0u);
    EXPECT_EQ(callbacks, good);
    EXPECT_EQ(gpu_.queues, 1);
    expect_nothing_held();
}

} // namespace
} // namespace wavetap::capture
