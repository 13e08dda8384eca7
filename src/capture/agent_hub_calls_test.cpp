// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/agent_hub_fixture.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace wavetap::capture {
namespace {

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
