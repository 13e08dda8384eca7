// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/fake_backend.hpp"
#include "capture/session.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

namespace wavetap::capture {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

class SessionTest : public ::testing::Test {
  protected:
    SessionTest() {
        for (FakeGpu& gpu : gpus_) {
            AgentHub::Options options;
            options.engine.topology = {"gfx90a", 1, 8, 14, 4};
            session_.add_agent(
                std::make_unique<AgentHub>(std::make_unique<FakeBackend>(gpu), options, clock_));
        }
    }
    ContextHandle make(std::uint32_t agent = 0, std::uint64_t bytes = kMiB) {
        const auto handle = session_.create();
        EXPECT_TRUE(handle);
        TraceParams params;
        params.buffer_bytes = bytes;
        EXPECT_TRUE(session_.configure(*handle, agent, params, count, &callbacks_));
        return *handle;
    }
    static void count(const Chunk&, void* user) { ++*static_cast<std::atomic<int>*>(user); }

    SteadyClock clock_;
    FakeGpu gpus_[2];
    std::atomic<int> callbacks_{0};
    Session session_;
};

/// Plays queues that never come to a lease.
class NoLeases final : public LeaseClient {
    void lease_ready(void*, const Result<void>&) override {}
    void lease_ended(void*, const Result<RunSummary>&) override {}
    LeaseProgress lease_progress(void*) override { return LeaseProgress::kDispatch; }
    void leases_failed(const Error&) override {}
};

TEST_F(SessionTest, DispatchModeAndContextsExcludeEachOther) {
    NoLeases client;
    const auto context = make(1);
    auto leases = session_.hub(1).open_leases(99, client);
    ASSERT_TRUE(leases);
    const auto refused = session_.start(context);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kBusy);
    EXPECT_NE(refused.error().message.find("context 99"), std::string::npos)
        << refused.error().message;
    // A context on both agents takes neither.
    const auto both = make(0);
    TraceParams params;
    params.buffer_bytes = kMiB;
    ASSERT_TRUE(session_.configure(both, 1, params, count, &callbacks_));
    EXPECT_EQ(session_.start(both).error().code, ErrorCode::kBusy);
    EXPECT_EQ(session_.hub(0).state(), HubState::kIdle);
    ASSERT_TRUE(session_.hub(1).close_leases(leases->owner, false));
    ASSERT_TRUE(session_.start(both));
    EXPECT_EQ(session_.hub(1).open_leases(99, client).error().code, ErrorCode::kBusy);
    EXPECT_TRUE(session_.stop(both));
}

TEST_F(SessionTest, LifeOfAContext) {
    const auto handle = session_.create();
    ASSERT_TRUE(handle);
    EXPECT_EQ(session_.start(*handle).error().code, ErrorCode::kWrongState);
    EXPECT_TRUE(session_.stop(*handle)); // nothing runs
    TraceParams bad;
    bad.se_mask = 0;
    EXPECT_EQ(session_.configure(*handle, 0, bad, count, &callbacks_).error().code,
              ErrorCode::kInvalidArgument);
    EXPECT_EQ(session_.configure(*handle, 2, {}, count, &callbacks_).error().code,
              ErrorCode::kNotFound);
    ASSERT_TRUE(session_.configure(*handle, 0, {}, count, &callbacks_));
    EXPECT_EQ(session_.configure(*handle, 0, {}, count, &callbacks_).error().code,
              ErrorCode::kWrongState);
    ASSERT_TRUE(session_.start(*handle));
    ASSERT_TRUE(session_.start(*handle)); // already active
    EXPECT_TRUE(*session_.running(*handle));
    ASSERT_TRUE(session_.stop(*handle));
    EXPECT_EQ(callbacks_, 1);
    ASSERT_TRUE(session_.start(*handle));
    ASSERT_TRUE(session_.destroy(*handle)); // stops first
    EXPECT_EQ(callbacks_, 2);
    EXPECT_EQ(session_.start(*handle).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(session_.destroy(*handle).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(session_.running({}).error().code, ErrorCode::kNotFound);
    const auto next = session_.create(); // reuses the record, not the handle
    ASSERT_TRUE(next);
    EXPECT_NE(*next, *handle);
}

TEST_F(SessionTest, AgentsAreIndependent) {
    const auto a = make(0), b = make(0), c = make(1);
    ASSERT_TRUE(session_.start(a));
    EXPECT_EQ(session_.start(b).error().code, ErrorCode::kBusy);
    ASSERT_TRUE(session_.start(c));
    ASSERT_TRUE(session_.stop(a));
    ASSERT_TRUE(session_.start(b));
    ASSERT_TRUE(session_.close());
    EXPECT_EQ(callbacks_, 3);
}

TEST_F(SessionTest, ADestroyedContextNoLongerCountsForTheSlots) {
    const auto small = make(0, kMiB);
    const auto huge = make(0, 512 * kMiB);
    gpus_[0].device_limit = 64 * kMiB;
    ASSERT_TRUE(session_.start(small)); // the plan does not fit, the context does
    ASSERT_TRUE(session_.stop(small));
    EXPECT_EQ(session_.start(huge).error().code, ErrorCode::kLimit);
    ASSERT_TRUE(session_.destroy(huge));
    ASSERT_TRUE(session_.start(small));
    EXPECT_EQ(session_.hub(0).statistics().output_bytes, kMiB + 8192);
}

TEST_F(SessionTest, AHundredThousandIdleContextsCostHostBytesOnly) {
    for (int i = 0; i < 100'000; ++i)
        make(static_cast<std::uint32_t>(i % 2), 512 * kMiB);
    EXPECT_EQ(session_.contexts(), 100'000u);
    EXPECT_EQ(session_.contexts_of(1), 50'000u);
    EXPECT_LE(session_.host_bytes_per_context(), 1024u);
    for (const FakeGpu& gpu : gpus_) {
        EXPECT_EQ(gpu.queues + gpu.device_blocks + gpu.host_blocks, 0);
    }
    EXPECT_EQ(session_.hub(0).statistics().threads, 0u);
}

// Three contexts on each of two agents against a reference: at most one runs on an agent.
TEST_F(SessionTest, RandomOperationsMatchAReferenceModel) {
    std::vector<ContextHandle> contexts;
    for (std::uint32_t i = 0; i < 6; ++i)
        contexts.push_back(make(i % 2));
    int owner[2] = {-1, -1};
    std::mt19937 random(3);
    for (int step = 0; step < 2000; ++step) {
        const int i = static_cast<int>(random() % 6);
        const int agent = i % 2;
        const ContextHandle context = contexts[static_cast<std::size_t>(i)];
        if (random() % 2 == 0) {
            const auto started = session_.start(context);
            if (owner[agent] == -1) owner[agent] = i;
            if (owner[agent] == i) {
                EXPECT_TRUE(started);
            } else {
                ASSERT_FALSE(started);
                EXPECT_EQ(started.error().code, ErrorCode::kBusy);
            }
        } else {
            const int before = callbacks_;
            EXPECT_TRUE(session_.stop(context));
            EXPECT_EQ(callbacks_ - before, owner[agent] == i ? 1 : 0);
            if (owner[agent] == i) owner[agent] = -1;
        }
    }
}

TEST_F(SessionTest, StormOnFourHundredContexts) {
    std::vector<ContextHandle> contexts;
    for (std::uint32_t i = 0; i < 400; ++i)
        contexts.push_back(make(i % 2));
    std::atomic<int> stopped{0}, wrong{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 8; ++t)
        threads.emplace_back([&, t] {
            std::mt19937 random(t);
            for (int i = 0; i < 100; ++i) {
                const ContextHandle context = contexts[random() % contexts.size()];
                const auto started = session_.start(context);
                if (!started && started.error().code != ErrorCode::kBusy) ++wrong;
                const auto ended = session_.stop(context);
                if (ended && ended->run != 0) ++stopped;
                if (!ended && ended.error().code != ErrorCode::kBusy) ++wrong;
            }
        });
    for (auto& thread : threads)
        thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(stopped, 0);
    ASSERT_TRUE(session_.close());
    EXPECT_GE(callbacks_, stopped);
}

} // namespace
} // namespace wavetap::capture
