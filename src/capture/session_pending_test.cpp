// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/fake_backend.hpp"
#include "capture/session.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

// Contexts that are started before the runtime is up.

namespace wavetap::capture {
namespace {

class PendingTest : public ::testing::Test {
  protected:
    ContextHandle make(std::uint32_t agent = 0, std::uint64_t cu = 1) {
        const auto handle = session_.create();
        EXPECT_TRUE(handle);
        TraceParams params;
        params.buffer_bytes = 1 << 20;
        params.target_cu = cu;
        EXPECT_TRUE(session_.configure(*handle, agent, params, count, &chunks_));
        return *handle;
    }
    std::vector<Session::Failure> attach() {
        for (FakeGpu& gpu : gpus_) {
            AgentHub::Options options;
            options.engine.topology = {"gfx90a", 1, 8, 14, 4};
            session_.add_agent(
                std::make_unique<AgentHub>(std::make_unique<FakeBackend>(gpu), options, clock_));
        }
        return session_.attach();
    }
    static void count(const Chunk&, void* user) { ++*static_cast<std::atomic<int>*>(user); }

    SteadyClock clock_;
    FakeGpu gpus_[2];
    std::atomic<int> chunks_{0};
    Session session_;
};

TEST_F(PendingTest, StartInit_RunsOnce) {
    const auto context = make();
    ASSERT_TRUE(session_.start(context));
    ASSERT_TRUE(session_.start(context)); // the same wish
    EXPECT_TRUE(*session_.pending(context));
    EXPECT_FALSE(*session_.running(context));
    EXPECT_TRUE(attach().empty());
    EXPECT_TRUE(*session_.running(context));
    EXPECT_FALSE(*session_.pending(context));
    EXPECT_TRUE(gpus_[0].armed);
    ASSERT_TRUE(session_.stop(context));
    EXPECT_EQ(chunks_, 1);
    EXPECT_TRUE(session_.attach().empty()); // not replayed again
    EXPECT_FALSE(*session_.running(context));
    EXPECT_EQ(session_.hub(0).statistics().starts, 1U);
}

TEST_F(PendingTest, StartStopInit_NeverRuns) {
    const auto context = make();
    ASSERT_TRUE(session_.start(context));
    const auto stopped = session_.stop(context);
    ASSERT_TRUE(stopped);
    EXPECT_EQ(stopped->run, 0U);
    EXPECT_FALSE(*session_.pending(context));
    EXPECT_TRUE(attach().empty());
    EXPECT_FALSE(*session_.running(context));
    EXPECT_EQ(session_.hub(0).statistics().starts, 0U);
    ASSERT_TRUE(session_.start(context)); // configured all the same
}

TEST_F(PendingTest, StartStopStartInit_RunsOnceInTheOrderOfTheLastWish) {
    const auto a = make(0), b = make(0), c = make(1);
    ASSERT_TRUE(session_.start(a));
    ASSERT_TRUE(session_.start(b));
    ASSERT_TRUE(session_.start(c));
    ASSERT_TRUE(session_.stop(a));
    ASSERT_TRUE(session_.start(a)); // behind b now
    const auto failures = attach();
    ASSERT_EQ(failures.size(), 1U);
    EXPECT_EQ(failures[0].context, a);
    EXPECT_EQ(failures[0].error.code, ErrorCode::kBusy);
    EXPECT_TRUE(*session_.running(b));
    EXPECT_TRUE(*session_.running(c));
    EXPECT_FALSE(*session_.running(a));
    EXPECT_FALSE(*session_.pending(a));
}

TEST_F(PendingTest, StartInitFails_AWordedFailureAndALaterStartWorks) {
    const auto context = make();
    ASSERT_TRUE(session_.start(context));
    gpus_[0].fail_at[FakeGpu::kCreateQueue] = 1;
    const auto failures = attach();
    ASSERT_EQ(failures.size(), 1U);
    EXPECT_FALSE(failures[0].error.message.empty());
    EXPECT_FALSE(*session_.running(context));
    gpus_[0].no_faults();
    ASSERT_TRUE(session_.start(context));
}

TEST_F(PendingTest, ParametersAreCheckedAtLast) {
    const auto harvested = make(0, 14), beyond = make(7), good = make(1);
    EXPECT_EQ(session_.configure(good, 1, {}, count, &chunks_).error().code,
              ErrorCode::kWrongState);
    for (const ContextHandle context : {harvested, beyond, good})
        ASSERT_TRUE(session_.start(context));
    const auto failures = attach();
    ASSERT_EQ(failures.size(), 4U); // two that are not configured, and so do not start either
    EXPECT_EQ(failures[0].error.code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(failures[1].error.code, ErrorCode::kNotFound);
    EXPECT_EQ(failures[2].error.code, ErrorCode::kWrongState);
    EXPECT_TRUE(*session_.running(good));
}

TEST_F(PendingTest, ADestroyedContextLeavesNothing) {
    const auto context = make();
    ASSERT_TRUE(session_.start(context));
    ASSERT_TRUE(session_.destroy(context));
    EXPECT_EQ(session_.pending(context).error().code, ErrorCode::kNotFound);
    EXPECT_TRUE(attach().empty());
    EXPECT_EQ(session_.hub(0).statistics().starts, 0U);
}

TEST_F(PendingTest, NotConfigured_IsNotPending) {
    const auto handle = session_.create();
    ASSERT_TRUE(handle);
    EXPECT_EQ(session_.start(*handle).error().code, ErrorCode::kWrongState);
}

TEST_F(PendingTest, StopsRaceTheReplay_AndEveryContextEndsUpStopped) {
    std::vector<ContextHandle> contexts;
    for (std::uint32_t i = 0; i < 64; ++i)
        contexts.push_back(make(i % 2));
    for (const ContextHandle context : contexts)
        ASSERT_TRUE(session_.start(context));
    {
        std::jthread stopper([&] {
            for (const ContextHandle context : contexts)
                while (true) {
                    const auto stopped = session_.stop(context);
                    if (stopped || stopped.error().code != ErrorCode::kBusy) break;
                }
        });
        (void)attach();
    }
    for (const ContextHandle context : contexts)
        ASSERT_TRUE(session_.stop(context));
    for (const ContextHandle context : contexts) {
        EXPECT_FALSE(*session_.running(context));
        EXPECT_FALSE(*session_.pending(context));
    }
}

} // namespace
} // namespace wavetap::capture
