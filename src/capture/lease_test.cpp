// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/mutex.hpp"
#include "capture/agent_hub.hpp"
#include "capture/fake_backend.hpp"
#include "capture/params.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

namespace wavetap::capture {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

/// Plays the application's queues: executes the streams of a lease at its turn.
class Queues final : public LeaseClient {
  public:
    FakeBackend* gpu = nullptr;
    AgentHub* hub = nullptr;
    LeaseStreams streams;
    std::atomic<bool> retires{true};
    std::atomic<LeaseProgress> progress{LeaseProgress::kDispatch}; ///< of one that does not retire
    std::atomic<int> failures{0};
    std::atomic<FakeGpu*> counts{nullptr}; ///< the n-th turn (from 1) writes n * 32 bytes

    void lease_ready(void* lease, const Result<void>& armed) override {
        if (FakeGpu* fake = counts) fake->wptr = static_cast<std::uint32_t>(ready().size() + 1);
        EXPECT_TRUE(gpu->run(streams.start));
        {
            MutexLock lock(mutex_);
            ready_.push_back(lease);
            armed_.push_back(armed.has_value());
            changed_.notify_all();
        }
        if (!retires) return;
        EXPECT_TRUE(gpu->run(streams.stop));
        hub->lease_retired(lease);
    }
    void lease_ended(void* lease, const Result<RunSummary>& summary) override {
        MutexLock lock(mutex_);
        ended_.push_back(lease);
        good_.push_back(summary.has_value());
        changed_.notify_all();
    }
    LeaseProgress lease_progress(void*) override {
        MutexLock lock(mutex_);
        ++looks_;
        changed_.notify_all();
        return progress;
    }
    bool wait_looks(int count) {
        MutexLock lock(mutex_);
        return changed_.wait_until(mutex_,
                                   std::chrono::steady_clock::now() + std::chrono::seconds(30),
                                   [&]() WAVETAP_REQUIRES(mutex_) { return looks_ >= count; });
    }
    void leases_failed(const Error& reason) override {
        EXPECT_EQ(reason.code, ErrorCode::kTimeout);
        MutexLock lock(mutex_);
        ++failures;
        changed_.notify_all();
    }
    bool wait_failed() {
        MutexLock lock(mutex_);
        return changed_.wait_until(mutex_,
                                   std::chrono::steady_clock::now() + std::chrono::seconds(30),
                                   [&]() WAVETAP_REQUIRES(mutex_) { return failures != 0; });
    }
    bool wait_ready(std::size_t count) {
        MutexLock lock(mutex_);
        return changed_.wait_until(
            mutex_, std::chrono::steady_clock::now() + std::chrono::seconds(30),
            [&]() WAVETAP_REQUIRES(mutex_) { return ready_.size() >= count; });
    }
    bool wait_ended(std::size_t count) {
        MutexLock lock(mutex_);
        return changed_.wait_until(
            mutex_, std::chrono::steady_clock::now() + std::chrono::seconds(30),
            [&]() WAVETAP_REQUIRES(mutex_) { return ended_.size() >= count; });
    }
    std::vector<void*> ready() {
        MutexLock lock(mutex_);
        return ready_;
    }
    std::vector<bool> armed() {
        MutexLock lock(mutex_);
        return armed_;
    }
    std::vector<void*> ended() {
        MutexLock lock(mutex_);
        return ended_;
    }
    std::vector<bool> good() {
        MutexLock lock(mutex_);
        return good_;
    }

  private:
    Mutex mutex_;
    CondVar changed_;
    int looks_ WAVETAP_GUARDED_BY(mutex_) = 0;
    std::vector<void*> ready_ WAVETAP_GUARDED_BY(mutex_), ended_ WAVETAP_GUARDED_BY(mutex_);
    std::vector<bool> armed_ WAVETAP_GUARDED_BY(mutex_), good_ WAVETAP_GUARDED_BY(mutex_);
};

struct Received {
    std::vector<std::uint32_t>
        contexts; ///< of the chunks; delivery thread until the leases are over
    std::vector<std::size_t> sizes;
    std::uint64_t bytes = 0;
};

void receive(const Chunk& chunk, void* user) {
    auto* received = static_cast<Received*>(user);
    received->contexts.push_back(chunk.context);
    received->sizes.push_back(chunk.data.size());
    received->bytes += chunk.data.size();
}

/// A handler that stays inside until it is let go.
struct SlowHandler {
    Received received;
    Mutex mutex;
    CondVar changed;
    int inside WAVETAP_GUARDED_BY(mutex) = 0; ///< calls that began
    bool open WAVETAP_GUARDED_BY(mutex) = false;

    static void handle(const Chunk& chunk, void* user) {
        auto* self = static_cast<SlowHandler*>(user);
        receive(chunk, &self->received);
        MutexLock lock(self->mutex);
        ++self->inside;
        self->changed.notify_all();
        EXPECT_TRUE(self->changed.wait_until(
            self->mutex, std::chrono::steady_clock::now() + std::chrono::seconds(30),
            [&]() WAVETAP_REQUIRES(self->mutex) { return self->open; }));
    }
    bool wait_inside() {
        MutexLock lock(mutex);
        return changed.wait_until(mutex,
                                  std::chrono::steady_clock::now() + std::chrono::seconds(30),
                                  [&]() WAVETAP_REQUIRES(mutex) { return inside > 0; });
    }
    void let_go() {
        MutexLock lock(mutex);
        open = true;
        changed.notify_all();
    }
};

class LeaseTest : public ::testing::Test {
  protected:
    void SetUp() override { make_hub(std::chrono::milliseconds(100)); }
    void make_hub(std::chrono::milliseconds drain) {
        AgentHub::Options options;
        options.engine.topology = topology_;
        options.engine.limits.start = std::chrono::milliseconds(100);
        options.engine.limits.stop = std::chrono::milliseconds(100);
        options.engine.limits.drain = drain;
        auto backend = std::make_unique<FakeBackend>(gpu_);
        queues_.gpu = backend.get();
        hub_ = std::make_unique<AgentHub>(std::move(backend), options, clock_);
        queues_.hub = hub_.get();
    }
    void open() {
        auto streams = hub_->open_leases(7, queues_);
        ASSERT_TRUE(streams) << to_string(streams.error());
        queues_.streams = *streams;
    }
    RunRequest request(std::uint32_t context, std::uint64_t bytes = kMiB) {
        TraceParams params;
        params.buffer_bytes = bytes;
        params.se_mask = 1;
        const auto valid = ValidatedParams::create(params, topology_);
        EXPECT_TRUE(valid);
        RunRequest made;
        made.context = context;
        made.config = valid->config();
        made.handler = receive;
        made.user = &received_;
        return made;
    }
    RunRequest slow_request(std::uint32_t context, std::uint32_t slots,
                            std::uint64_t bytes = kMiB) {
        RunRequest made = request(context, bytes);
        made.handler = SlowHandler::handle;
        made.user = &slow_;
        made.lease_slots = slots;
        return made;
    }
    /// What was asked for before is done, as far as it can be.
    void settle() {
        Mutex mutex;
        CondVar changed;
        bool done = false;
        ASSERT_TRUE(hub_->post([&] {
            MutexLock lock(mutex);
            done = true;
            changed.notify_all();
        }));
        MutexLock lock(mutex);
        ASSERT_TRUE(changed.wait_until(mutex,
                                       std::chrono::steady_clock::now() + std::chrono::seconds(30),
                                       [&] { return done; }));
    }
    void expect_nothing_held() {
        hub_.reset();
        EXPECT_EQ(gpu_.queues, 0);
        EXPECT_EQ(gpu_.device_blocks, 0);
        EXPECT_EQ(gpu_.host_blocks, 0);
        EXPECT_EQ(gpu_.freed_while_armed, 0u);
        EXPECT_FALSE(gpu_.armed);
    }
    void* id(std::size_t i) { return &ids_[i]; }

    AgentTopology topology_{"gfx90a", 1, 8, 14, 4, 100'000'000};
    FakeGpu gpu_;
    Received received_;
    SlowHandler slow_;
    SteadyClock clock_;
    Queues queues_;
    char ids_[100] = {};
    std::unique_ptr<AgentHub> hub_;
};

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

TEST_F(LeaseTest, TwoSlots_TheNextDispatchRunsWhileAHandlerIsInside_TheThirdIsHeld) {
    make_hub(std::chrono::seconds(60));
    queues_.counts = &gpu_;
    open();
    for (std::uint32_t i = 0; i < 4; ++i)
        ASSERT_TRUE(hub_->lease(id(i), slow_request(i, 2)));
    ASSERT_TRUE(slow_.wait_inside());
    // Start, dispatch and stop of the second one were executed; the first is not delivered.
    ASSERT_TRUE(queues_.wait_ready(2));
    settle();
    EXPECT_EQ(queues_.ready().size(), 2u);
    EXPECT_TRUE(queues_.ended().empty());
    EXPECT_EQ(hub_->statistics().output_slots, 2u);
    EXPECT_EQ(hub_->statistics().threads, 2u);
    EXPECT_EQ(gpu_.device_blocks, 2);
    slow_.let_go();
    ASSERT_TRUE(hub_->close_leases(queues_.streams.owner, false));
    const std::vector<void*> order{id(0), id(1), id(2), id(3)};
    EXPECT_EQ(queues_.ready(), order);
    EXPECT_EQ(queues_.ended(), order);
    EXPECT_EQ(queues_.good(), std::vector<bool>(4, true));
    // Each got what its own control block said.
    EXPECT_EQ(slow_.received.contexts, (std::vector<std::uint32_t>{0, 1, 2, 3}));
    EXPECT_EQ(slow_.received.sizes, (std::vector<std::size_t>{40, 72, 104, 136}));
    expect_nothing_held();
}

TEST_F(LeaseTest, OneSlot_TheNextDispatchWaitsForTheHandler) {
    make_hub(std::chrono::seconds(60));
    open();
    for (std::uint32_t i = 0; i < 2; ++i)
        ASSERT_TRUE(hub_->lease(id(i), slow_request(i, 1)));
    ASSERT_TRUE(slow_.wait_inside());
    settle();
    EXPECT_EQ(queues_.ready().size(), 1u);
    slow_.let_go();
    ASSERT_TRUE(hub_->close_leases(queues_.streams.owner, false));
    EXPECT_EQ(queues_.ended().size(), 2u);
    EXPECT_EQ(gpu_.device_bytes, static_cast<std::int64_t>(kMiB));
    expect_nothing_held();
}

TEST_F(LeaseTest, ALeaseThatComesWhileAHandlerIsInside_HasItsTurnAtOnce) {
    open();
    ASSERT_TRUE(hub_->lease(id(0), slow_request(0, 2)));
    ASSERT_TRUE(slow_.wait_inside());
    ASSERT_TRUE(hub_->lease(id(1), slow_request(1, 2)));
    ASSERT_TRUE(queues_.wait_ready(2));
    slow_.let_go();
    ASSERT_TRUE(queues_.wait_ended(2));
    EXPECT_TRUE(hub_->close_leases(queues_.streams.owner, false));
    expect_nothing_held();
}

TEST_F(LeaseTest, NothingGrowsWhileDataAreOnTheirWay) {
    make_hub(std::chrono::seconds(60));
    open();
    ASSERT_TRUE(hub_->lease(id(0), slow_request(0, 2)));
    ASSERT_TRUE(slow_.wait_inside());
    ASSERT_TRUE(hub_->lease(id(1), slow_request(1, 2, 4 * kMiB)));
    settle();
    EXPECT_EQ(queues_.ready().size(), 1u);
    slow_.let_go();
    ASSERT_TRUE(queues_.wait_ended(2));
    EXPECT_EQ(queues_.armed(), (std::vector<bool>{true, true}));
    EXPECT_EQ(gpu_.device_bytes, static_cast<std::int64_t>(8 * kMiB));
    EXPECT_TRUE(hub_->close_leases(queues_.streams.owner, false));
    expect_nothing_held();
}

TEST_F(LeaseTest, WithMemoryForOneSlot_TheSecondIsDoneWithout) {
    make_hub(std::chrono::seconds(60));
    gpu_.device_limit = kMiB + kMiB / 2;
    open();
    for (std::uint32_t i = 0; i < 2; ++i)
        ASSERT_TRUE(hub_->lease(id(i), slow_request(i, 2)));
    ASSERT_TRUE(slow_.wait_inside());
    settle();
    EXPECT_EQ(queues_.ready().size(), 1u);
    slow_.let_go();
    ASSERT_TRUE(hub_->close_leases(queues_.streams.owner, false));
    EXPECT_EQ(queues_.armed(), (std::vector<bool>{true, true}));
    EXPECT_EQ(queues_.good(), (std::vector<bool>{true, true}));
    expect_nothing_held();
}

TEST_F(LeaseTest, AQueueThatEndsWhileAHandlerIsInside_EndsBothProperly) {
    make_hub(std::chrono::seconds(60));
    queues_.retires = false;
    gpu_.wptr = 10;
    open();
    ASSERT_TRUE(hub_->lease(id(0), slow_request(0, 2)));
    ASSERT_TRUE(queues_.wait_ready(1));
    EXPECT_TRUE(queues_.gpu->run(queues_.streams.stop));
    hub_->lease_retired(id(0));
    ASSERT_TRUE(slow_.wait_inside());
    ASSERT_TRUE(hub_->lease(id(1), slow_request(1, 2)));
    ASSERT_TRUE(queues_.wait_ready(2));
    EXPECT_TRUE(gpu_.armed);
    hub_->lease_lost(id(0)); // its stop has retired: it is delivered all the same
    hub_->lease_lost(id(1));
    settle();
    EXPECT_FALSE(gpu_.armed);
    EXPECT_EQ(hub_->statistics().queues_created, 1u);
    EXPECT_TRUE(queues_.ended().empty()); // in the order of turns
    slow_.let_go();
    ASSERT_TRUE(queues_.wait_ended(2));
    EXPECT_EQ(queues_.ended(), (std::vector<void*>{id(0), id(1)}));
    EXPECT_EQ(queues_.good(), (std::vector<bool>{true, false}));
    EXPECT_EQ(slow_.received.sizes, (std::vector<std::size_t>{328, 0}));
    EXPECT_TRUE(hub_->close_leases(queues_.streams.owner, false));
    expect_nothing_held();
}

TEST_F(LeaseTest, AHandlerThatDoesNotReturn_IsLeftAlone_AndALaterLeaseWorksOnceItHas) {
    gpu_.wptr = 10;
    open();
    for (std::uint32_t i = 0; i < 3; ++i)
        ASSERT_TRUE(hub_->lease(id(i), slow_request(i, 2)));
    ASSERT_TRUE(slow_.wait_inside());
    ASSERT_TRUE(queues_.wait_ready(2));
    const auto closed = hub_->close_leases(queues_.streams.owner, false);
    ASSERT_FALSE(closed);
    EXPECT_EQ(closed.error().code, ErrorCode::kTimeout);
    EXPECT_EQ(queues_.ended(), (std::vector<void*>{id(0), id(1), id(2)}));
    EXPECT_EQ(queues_.good(), (std::vector<bool>{false, false, false}));
    EXPECT_EQ(hub_->statistics().bytes_delivered, 0u);
    EXPECT_EQ(hub_->statistics().bytes_lost, 2 * 320u + 8);
    EXPECT_EQ(hub_->state(), HubState::kIdle);
    EXPECT_EQ(hub_->open_leases(7, queues_).error().code, ErrorCode::kBusy);
    // The other mode has its own way to deliver.
    auto run = hub_->start(request(3));
    ASSERT_TRUE(run) << to_string(run.error());
    EXPECT_TRUE(run->stop());
    slow_.let_go();
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    auto streams = hub_->open_leases(7, queues_);
    while (!streams && streams.error().code == ErrorCode::kBusy &&
           std::chrono::steady_clock::now() < until)
        streams = hub_->open_leases(7, queues_);
    ASSERT_TRUE(streams) << to_string(streams.error());
    queues_.streams = *streams;
    ASSERT_TRUE(hub_->lease(id(4), request(4)));
    ASSERT_TRUE(queues_.wait_ended(4));
    EXPECT_TRUE(queues_.good().back());
    EXPECT_EQ(received_.contexts, (std::vector<std::uint32_t>{3, 4}));
    EXPECT_TRUE(hub_->close_leases(queues_.streams.owner, false));
    hub_.reset();
    EXPECT_EQ(gpu_.queues, 0);
    EXPECT_EQ(gpu_.device_blocks, 0);
    EXPECT_EQ(gpu_.host_blocks,
              2); // what the handler read, and the streams of the lease that waited
}

TEST_F(LeaseTest, StartsAndClosesFromAHandler_AreRefused) {
    open();
    struct Caller {
        AgentHub* hub;
        LeaseClient* client;
        std::uint64_t owner;
        RunRequest other;
        std::vector<ErrorCode> codes;
    } caller{hub_.get(), &queues_, queues_.streams.owner, request(2), {}};
    RunRequest asked = request(1);
    asked.user = &caller;
    asked.handler = [](const Chunk&, void* user) {
        auto* self = static_cast<Caller*>(user);
        self->codes = {self->hub->close_leases(self->owner, false).error().code,
                       self->hub->open_leases(2, *self->client).error().code,
                       self->hub->start(self->other).error().code};
    };
    ASSERT_TRUE(hub_->lease(id(0), asked));
    ASSERT_TRUE(queues_.wait_ended(1));
    EXPECT_EQ(caller.codes, std::vector<ErrorCode>(3, ErrorCode::kWouldDeadlock));
    EXPECT_TRUE(hub_->close_leases(queues_.streams.owner, false));
    expect_nothing_held();
}

} // namespace
} // namespace wavetap::capture
