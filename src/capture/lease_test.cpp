// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/lease_fixture.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace wavetap::capture {
namespace {

TEST_F(LeaseTest, LeasesRunInTheOrderTheyCame_AndAreDeliveredInIt) {
    gpu_.wptr = 10;
    open();
    EXPECT_EQ(hub_->state(), HubState::kLeasing);
    std::vector<void*> order;
    for (std::uint32_t i = 0; i < 100; ++i) {
        order.push_back(id(i));
        ASSERT_TRUE(hub_->lease(id(i), request(i)));
    }
    ASSERT_TRUE(queues_.wait_ended(100));
    EXPECT_TRUE(hub_->close_leases(queues_.streams.owner, false));
    EXPECT_EQ(queues_.ready(), order);
    EXPECT_EQ(queues_.ended(), order);
    EXPECT_EQ(queues_.good(), std::vector<bool>(100, true));
    const HubStatistics statistics = hub_->statistics();
    EXPECT_EQ(statistics.starts, 100u);
    EXPECT_EQ(statistics.stops, 100u);
    EXPECT_EQ(statistics.output_slots, 1u);
    EXPECT_EQ(statistics.queues_created, 0u);
    EXPECT_EQ(hub_->state(), HubState::kIdle);
    expect_nothing_held();
    ASSERT_EQ(received_.contexts.size(), 100u);
    for (std::uint32_t i = 0; i < 100; ++i)
        EXPECT_EQ(received_.contexts[i], i);
    EXPECT_EQ(received_.bytes, 100u * (8 + 320));
}

TEST_F(LeaseTest, ALeaseWhoseUnitStayedOffEndsWithAnError_AndTheNextOneIsGood) {
    open();
    gpu_.stays_off = true;
    ASSERT_TRUE(hub_->lease(id(0), request(0)));
    ASSERT_TRUE(queues_.wait_ended(1));
    gpu_.stays_off = false;
    ASSERT_TRUE(hub_->lease(id(1), request(1)));
    ASSERT_TRUE(queues_.wait_ended(2));
    EXPECT_TRUE(hub_->close_leases(queues_.streams.owner, false));
    EXPECT_EQ(queues_.good(), (std::vector<bool>{false, true}));
    EXPECT_EQ(hub_->statistics().queues_created, 0u);
    expect_nothing_held();
}

// "Serialize all": those in between take their turn, touch no slot and are no run.
TEST_F(LeaseTest, AnUntracedLeaseHasItsTurnAndNoData) {
    gpu_.wptr = 10;
    open();
    for (std::uint32_t i = 0; i < 9; ++i) {
        RunRequest lease = request(i);
        lease.untraced = i % 3 != 1;
        ASSERT_TRUE(hub_->lease(id(i), lease));
    }
    ASSERT_TRUE(queues_.wait_ended(9));
    EXPECT_TRUE(hub_->close_leases(queues_.streams.owner, false));
    EXPECT_EQ(queues_.ended(), queues_.ready());
    EXPECT_EQ(queues_.armed(), std::vector<bool>(9, true));
    EXPECT_EQ(queues_.good(), std::vector<bool>(9, true));
    EXPECT_EQ(received_.contexts, (std::vector<std::uint32_t>{1, 4, 7}));
    const HubStatistics statistics = hub_->statistics();
    EXPECT_EQ(statistics.serialized, 6u);
    EXPECT_EQ(statistics.starts, 3u);
    EXPECT_EQ(statistics.stops, 3u);
    EXPECT_EQ(statistics.runs, 3u);
    EXPECT_EQ(statistics.refused, 0u);
    expect_nothing_held();
}

// It needs no slot, so a handler that stays inside does not hold it.
TEST_F(LeaseTest, AnUntracedLeaseDoesNotWaitForASlot) {
    open();
    RunRequest untraced = request(2);
    untraced.untraced = true;
    ASSERT_TRUE(hub_->lease(id(0), slow_request(1, 1)));
    ASSERT_TRUE(slow_.wait_inside());
    ASSERT_TRUE(hub_->lease(id(1), untraced));
    EXPECT_TRUE(queues_.wait_ready(2));
    slow_.let_go();
    EXPECT_TRUE(queues_.wait_ended(2));
    EXPECT_EQ(queues_.ended(), queues_.ready());
    EXPECT_TRUE(hub_->close_leases(queues_.streams.owner, false));
}

TEST_F(LeaseTest, TheStreamsNameTheCachePolicyOfTheChip) {
    for (const auto& [gfx, policy] : {std::pair{"gfx90a", 1}, std::pair{"gfx1201", 3}}) {
        topology_.gfx = gfx;
        make_hub(std::chrono::milliseconds(100));
        open();
        EXPECT_EQ(queues_.streams.start.cache_policy, policy) << gfx;
        EXPECT_EQ(queues_.streams.stop.cache_policy, policy) << gfx;
        EXPECT_TRUE(hub_->close_leases(queues_.streams.owner, false));
    }
}

TEST_F(LeaseTest, ClosingWaitsForWhatWasAdmitted_AndAnotherMayStartAtOnce) {
    make_hub(std::chrono::seconds(60)); // a hundred leases, under a sanitizer too
    open();
    for (std::uint32_t i = 0; i < 100; ++i)
        ASSERT_TRUE(hub_->lease(id(i), request(i)));
    ASSERT_TRUE(hub_->close_leases(queues_.streams.owner, false));
    EXPECT_EQ(queues_.ended().size(), 100u);
    EXPECT_EQ(hub_->lease(id(0), request(0)).error().code, ErrorCode::kWrongState);
    auto run = hub_->start(request(3));
    ASSERT_TRUE(run);
    EXPECT_TRUE(run->stop());
    expect_nothing_held();
}

TEST_F(LeaseTest, OneOwnerAtATime_InAllFourCombinations) {
    auto device = hub_->start(request(1));
    ASSERT_TRUE(device);
    EXPECT_EQ(hub_->start(request(2)).error().code, ErrorCode::kBusy);
    EXPECT_EQ(hub_->open_leases(2, queues_).error().code, ErrorCode::kBusy);
    EXPECT_TRUE(device->stop());
    open();
    const auto start = hub_->start(request(2));
    ASSERT_FALSE(start);
    EXPECT_EQ(start.error().code, ErrorCode::kBusy);
    EXPECT_NE(start.error().message.find("context 7"), std::string::npos) << start.error().message;
    EXPECT_EQ(hub_->open_leases(2, queues_).error().code, ErrorCode::kBusy);
    EXPECT_TRUE(hub_->close_leases(queues_.streams.owner, false));
    EXPECT_EQ(hub_->close_leases(queues_.streams.owner, false).error().code,
              ErrorCode::kWrongState);
    open();
    EXPECT_TRUE(hub_->close_leases(queues_.streams.owner, false));
    expect_nothing_held();
}

TEST_F(LeaseTest, BothModesFromManyThreads_NeverOverlap) {
    std::atomic<int> won{0}, holders{0}, overlaps{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            Queues own;
            own.gpu = queues_.gpu;
            own.hub = hub_.get();
            for (int i = 0; i < 50; ++i) {
                if (t % 2 == 0) {
                    auto run = hub_->start(request(1));
                    if (!run) continue;
                    if (holders.fetch_add(1) != 0) ++overlaps;
                    ++won;
                    std::this_thread::yield();
                    holders.fetch_sub(1);
                    EXPECT_TRUE(run->stop());
                } else {
                    auto streams = hub_->open_leases(2, own);
                    if (!streams) continue;
                    if (holders.fetch_add(1) != 0) ++overlaps;
                    ++won;
                    std::this_thread::yield();
                    holders.fetch_sub(1);
                    EXPECT_TRUE(hub_->close_leases(streams->owner, false));
                }
            }
        });
    for (auto& thread : threads)
        thread.join();
    EXPECT_GT(won, 0);
    EXPECT_EQ(overlaps, 0);
    expect_nothing_held();
}

TEST_F(LeaseTest, AQueueThatEndsWhileArmed_IsDisarmedThroughTheHubsQueue) {
    queues_.retires = false;
    open();
    ASSERT_TRUE(hub_->lease(id(0), request(0)));
    ASSERT_TRUE(hub_->lease(id(1), request(1)));
    ASSERT_TRUE(queues_.wait_ready(1));
    EXPECT_TRUE(gpu_.armed);
    hub_->lease_lost(id(0));
    ASSERT_TRUE(queues_.wait_ended(1));
    EXPECT_EQ(queues_.good(), std::vector<bool>{false});
    ASSERT_TRUE(queues_.wait_ready(2)); // the next one goes on
    EXPECT_EQ(hub_->statistics().queues_created, 1u);
    hub_->lease_lost(id(1));
    ASSERT_TRUE(queues_.wait_ended(2));
    EXPECT_TRUE(hub_->close_leases(queues_.streams.owner, false));
    expect_nothing_held();
}

TEST_F(LeaseTest, ALostLeaseThatWaits_LeavesTheOrder) {
    queues_.retires = false;
    open();
    for (std::uint32_t i = 0; i < 3; ++i)
        ASSERT_TRUE(hub_->lease(id(i), request(i)));
    ASSERT_TRUE(queues_.wait_ready(1));
    hub_->lease_lost(id(1));
    ASSERT_TRUE(queues_.wait_ended(1));
    EXPECT_EQ(queues_.ended()[0], id(1));
    hub_->lease_lost(id(0));
    ASSERT_TRUE(queues_.wait_ready(2));
    EXPECT_EQ(queues_.ready()[1], id(2));
    hub_->lease_lost(id(2));
    ASSERT_TRUE(queues_.wait_ended(3));
    EXPECT_TRUE(hub_->close_leases(queues_.streams.owner, false));
    expect_nothing_held();
}

TEST_F(LeaseTest, ALeaseThatNeverEnds_IsGivenUpAtTheDeadline) {
    queues_.retires = false;
    open();
    ASSERT_TRUE(hub_->lease(id(0), request(0)));
    ASSERT_TRUE(hub_->lease(id(1), request(1)));
    ASSERT_TRUE(queues_.wait_ready(1));
    const auto closed = hub_->close_leases(queues_.streams.owner, false);
    ASSERT_FALSE(closed);
    EXPECT_EQ(closed.error().code, ErrorCode::kTimeout);
    EXPECT_EQ(queues_.good(), (std::vector<bool>{false, false}));
    EXPECT_FALSE(gpu_.armed);
    // What the GPU may still execute stays, and does nothing.
    hub_->lease_retired(id(0));
    ASSERT_TRUE(hub_->start(request(1)));
    hub_.reset();
    EXPECT_EQ(gpu_.host_blocks, 1);
    EXPECT_EQ(gpu_.device_blocks, 0);
}

TEST_F(LeaseTest, StartOrStopThatNeverRetires_FailsTheLeases_AndALaterStartWorks) {
    for (const LeaseProgress stuck : {LeaseProgress::kBeforeStart, LeaseProgress::kBeforeStop}) {
        queues_.retires = false;
        queues_.failures = 0;
        queues_.progress = stuck;
        open();
        const LeaseStreams old = queues_.streams;
        const std::size_t before = queues_.ended().size();
        ASSERT_TRUE(hub_->lease(id(0), request(0)));
        ASSERT_TRUE(hub_->lease(id(1), request(1)));
        ASSERT_TRUE(queues_.wait_failed());
        EXPECT_EQ(queues_.ended().size(), before + 2);
        EXPECT_FALSE(queues_.good().back());
        EXPECT_EQ(hub_->lease(id(2), request(2)).error().code, ErrorCode::kWrongState);
        EXPECT_EQ(hub_->close_leases(old.owner, false).error().code, ErrorCode::kWrongState);
        EXPECT_FALSE(gpu_.armed);
        // The queue comes back: what it still executes does nothing.
        EXPECT_TRUE(queues_.gpu->run(old.start));
        EXPECT_TRUE(queues_.gpu->run(old.stop));
        EXPECT_FALSE(gpu_.armed);
        auto run = hub_->start(request(3));
        ASSERT_TRUE(run) << to_string(run.error());
        EXPECT_TRUE(run->stop());
        queues_.retires = true;
        open();
        EXPECT_NE(queues_.streams.start.va, old.start.va);
        ASSERT_TRUE(hub_->lease(id(4), request(4)));
        ASSERT_TRUE(queues_.wait_ended(before + 3));
        EXPECT_TRUE(queues_.good().back());
        EXPECT_TRUE(hub_->close_leases(queues_.streams.owner, false));
    }
    EXPECT_EQ(hub_->statistics().deadline_misses, 2u);
    hub_.reset();
    EXPECT_EQ(gpu_.queues, 0);
    EXPECT_EQ(gpu_.device_blocks, 0);
    EXPECT_EQ(gpu_.host_blocks, 2); // the streams of both failures
}

TEST_F(LeaseTest, ADispatchMayTakeLongerThanAnyLimit) {
    queues_.retires = false;
    open();
    ASSERT_TRUE(hub_->lease(id(0), request(0)));
    ASSERT_TRUE(queues_.wait_ready(1));
    ASSERT_TRUE(queues_.wait_looks(16)); // four looks a limit
    EXPECT_EQ(queues_.failures, 0);
    EXPECT_TRUE(queues_.gpu->run(queues_.streams.stop));
    hub_->lease_retired(id(0));
    ASSERT_TRUE(queues_.wait_ended(1));
    EXPECT_EQ(queues_.good(), std::vector<bool>{true});
    EXPECT_TRUE(hub_->close_leases(queues_.streams.owner, false));
    expect_nothing_held();
}

TEST_F(LeaseTest, AGpuThatAnswersNobody_LeavesTheHubFailed_AndItRecovers) {
    queues_.retires = false;
    queues_.progress = LeaseProgress::kBeforeStart;
    open();
    gpu_.hang = true;
    ASSERT_TRUE(hub_->lease(id(0), request(0)));
    ASSERT_TRUE(queues_.wait_failed());
    EXPECT_EQ(hub_->state(), HubState::kFailed);
    EXPECT_FALSE(hub_->start(request(1)));
    gpu_.no_faults();
    auto run = hub_->start(request(1));
    ASSERT_TRUE(run) << to_string(run.error());
    EXPECT_TRUE(run->stop());
    EXPECT_EQ(hub_->state(), HubState::kIdle);
    hub_.reset();
    EXPECT_EQ(gpu_.queues, 0);
    EXPECT_EQ(gpu_.device_blocks, 0);
    EXPECT_EQ(gpu_.host_blocks, 1);
    EXPECT_EQ(gpu_.freed_while_armed, 0u);
}

TEST_F(LeaseTest, EachFailingCallOfDisarming_LeavesNothingArmed_AndALaterLeaseWorks) {
    int hits = 0;
    for (const FakeGpu::Call call :
         {FakeGpu::kCreateQueue, FakeGpu::kDestroyQueue, FakeGpu::kSubmit, FakeGpu::kWait}) {
        for (std::uint64_t n = 1; n <= 2; ++n) {
            queues_.retires = false;
            open();
            const std::size_t before = queues_.ready().size();
            ASSERT_TRUE(hub_->lease(id(0), request(0)));
            ASSERT_TRUE(queues_.wait_ready(before + 1));
            gpu_.calls[call] = 0;
            gpu_.fail_at[call] = n;
            hub_->lease_lost(id(0));
            ASSERT_TRUE(queues_.wait_ended(before + 1));
            EXPECT_FALSE(queues_.good().back());
            hits += gpu_.calls[call] >= n ? 1 : 0;
            gpu_.no_faults();
            queues_.retires = true;
            ASSERT_TRUE(hub_->lease(id(1), request(1)));
            ASSERT_TRUE(queues_.wait_ended(before + 2));
            EXPECT_TRUE(queues_.good().back()) << call << " " << n;
            EXPECT_TRUE(queues_.armed().back());
            EXPECT_FALSE(gpu_.armed);
            EXPECT_TRUE(hub_->close_leases(queues_.streams.owner, false));
        }
    }
    EXPECT_GE(hits, 4); // each kind failed at least at its first call
    expect_nothing_held();
}

TEST_F(LeaseTest, ALeaseThatRetiredBeforeItsQueueEnded_IsDelivered) {
    queues_.retires = false;
    gpu_.wptr = 10;
    open();
    // Both are told while the hub's thread is busy elsewhere.
    Mutex mutex;
    CondVar changed;
    bool go = false;
    ASSERT_TRUE(hub_->lease(id(0), request(0)));
    ASSERT_TRUE(queues_.wait_ready(1));
    ASSERT_TRUE(hub_->post([&] {
        MutexLock lock(mutex);
        (void)changed.wait_until(mutex, std::chrono::steady_clock::now() + std::chrono::seconds(30),
                                 [&] { return go; });
    }));
    EXPECT_TRUE(queues_.gpu->run(queues_.streams.stop));
    hub_->lease_retired(id(0));
    hub_->lease_lost(id(0));
    {
        MutexLock lock(mutex);
        go = true;
        changed.notify_all();
    }
    ASSERT_TRUE(queues_.wait_ended(1));
    EXPECT_TRUE(hub_->close_leases(queues_.streams.owner, false));
    EXPECT_EQ(queues_.good(), std::vector<bool>{true});
    EXPECT_EQ(hub_->statistics().queues_created, 0u);
    expect_nothing_held();
}

TEST_F(LeaseTest, ClosingTheHubEndsItsLeases) {
    queues_.retires = false;
    open();
    ASSERT_TRUE(hub_->lease(id(0), request(0)));
    ASSERT_TRUE(queues_.wait_ready(1));
    EXPECT_TRUE(hub_->close());
    EXPECT_EQ(queues_.ended().size(), 1u);
    EXPECT_FALSE(gpu_.armed);
    EXPECT_EQ(hub_->lease(id(1), request(1)).error().code, ErrorCode::kWrongState);
}

TEST_F(LeaseTest, WithoutMemoryTheDispatchRunsUntraced_AndTheNextOneIsTraced) {
    open();
    gpu_.device_limit = 0;
    ASSERT_TRUE(hub_->lease(id(0), request(0)));
    ASSERT_TRUE(queues_.wait_ended(1));
    EXPECT_EQ(queues_.armed(), std::vector<bool>{false});
    EXPECT_EQ(gpu_.user_data_words, 0u);
    gpu_.device_limit = std::int64_t{1} << 40;
    ASSERT_TRUE(hub_->lease(id(1), request(1)));
    ASSERT_TRUE(queues_.wait_ended(2));
    EXPECT_EQ(queues_.armed(), (std::vector<bool>{false, true}));
    EXPECT_TRUE(hub_->close_leases(queues_.streams.owner, false));
    expect_nothing_held();
}

TEST_F(LeaseTest, EachFailingCall_EndsInAStatus_AndALaterLeaseWorks) {
    for (const FakeGpu::Call call : {FakeGpu::kDevice, FakeGpu::kHost, FakeGpu::kCopy}) {
        for (std::uint64_t n = 1; n <= 4; ++n) {
            gpu_.no_faults();
            gpu_.wptr = 10;
            gpu_.calls[call] = 0;
            gpu_.fail_at[call] = n;
            queues_.streams = {};
            const std::size_t before = queues_.ended().size();
            auto streams = hub_->open_leases(7, queues_);
            if (streams) {
                queues_.streams = *streams;
                // Two in flight, each with a slot that must grow.
                for (std::uint32_t i = 2; i < 4; ++i) {
                    RunRequest asked = request(i, (n + i) * kMiB);
                    asked.lease_slots = 2;
                    ASSERT_TRUE(hub_->lease(id(i), asked));
                }
                ASSERT_TRUE(queues_.wait_ended(before + 2));
            } else {
                EXPECT_EQ(hub_->state(), HubState::kIdle);
                gpu_.no_faults();
                open();
            }
            gpu_.no_faults();
            const std::size_t now = queues_.ended().size();
            ASSERT_TRUE(hub_->lease(id(1), request(1)));
            ASSERT_TRUE(queues_.wait_ended(now + 1));
            EXPECT_TRUE(queues_.good().back());
            EXPECT_TRUE(queues_.armed().back());
            EXPECT_TRUE(hub_->close_leases(queues_.streams.owner, false));
        }
    }
    expect_nothing_held();
}

TEST_F(LeaseTest, MarkersOfWhatIsLoadedAtItsTurn) {
    ASSERT_TRUE(hub_->code_object_loaded({1, 0x1000, 0x100}));
    open();
    ASSERT_TRUE(hub_->code_object_loaded({2, 0x2000, 0x100}));
    ASSERT_TRUE(hub_->lease(id(0), request(0)));
    ASSERT_TRUE(queues_.wait_ended(1));
    EXPECT_EQ(hub_->statistics().markers, 2u);
    EXPECT_GT(gpu_.user_data_words, 0u);
    EXPECT_TRUE(hub_->close_leases(queues_.streams.owner, false));
    expect_nothing_held();
}

TEST_F(LeaseTest, ClosingFromTheHubsThread_IsRefused) {
    open();
    Mutex mutex;
    CondVar changed;
    std::optional<ErrorCode> code;
    ASSERT_TRUE(hub_->post([&] {
        const auto closed = hub_->close_leases(queues_.streams.owner, false);
        MutexLock lock(mutex);
        code = closed ? ErrorCode::kInternal : closed.error().code;
        changed.notify_all();
    }));
    {
        MutexLock lock(mutex);
        ASSERT_TRUE(changed.wait_until(mutex,
                                       std::chrono::steady_clock::now() + std::chrono::seconds(30),
                                       [&] { return code.has_value(); }));
    }
    EXPECT_EQ(*code, ErrorCode::kWouldDeadlock);
    EXPECT_TRUE(hub_->close_leases(queues_.streams.owner, false));
    expect_nothing_held();
}

} // namespace
} // namespace wavetap::capture
