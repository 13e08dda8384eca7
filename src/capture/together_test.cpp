// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/fake_backend.hpp"
#include "capture/session.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <utility>
#include <vector>

// Contexts that span agents: all of them at once, or none.

namespace wavetap::capture {
namespace {

constexpr std::uint32_t kAgents = 4;

class TogetherTest : public ::testing::Test {
  protected:
    TogetherTest() {
        for (FakeGpu& gpu : gpus_) {
            AgentHub::Options options;
            options.engine.topology = {"gfx90a", 1, 8, 14, 4};
            session_.add_agent(
                std::make_unique<AgentHub>(std::make_unique<FakeBackend>(gpu), options, clock_));
        }
    }
    ContextHandle make(const std::vector<std::uint32_t>& agents, ChunkHandler handler = count,
                       void* user = nullptr) {
        const auto handle = session_.create();
        EXPECT_TRUE(handle);
        TraceParams params;
        params.buffer_bytes = 1 << 20;
        for (const std::uint32_t agent : agents)
            EXPECT_TRUE(session_.configure(*handle, agent, params, handler,
                                           user != nullptr ? user : &chunks_[agent]));
        return *handle;
    }
    static void count(const Chunk&, void* user) { ++*static_cast<std::atomic<int>*>(user); }
    bool armed(std::uint32_t agent) const { return gpus_[agent].armed; }
    int chunks() const {
        int sum = 0;
        for (const auto& one : chunks_)
            sum += one;
        return sum;
    }

    SteadyClock clock_;
    FakeGpu gpus_[kAgents];
    std::array<std::atomic<int>, kAgents> chunks_{};
    Session session_;
};

TEST_F(TogetherTest, StartsAndStopsOnEveryAgent) {
    const auto all = make({0, 1, 2, 3});
    for (int turn = 1; turn <= 3; ++turn) {
        ASSERT_TRUE(session_.start(all));
        for (std::uint32_t i = 0; i < kAgents; ++i)
            EXPECT_TRUE(armed(i)) << i;
        const auto summary = session_.stop(all);
        ASSERT_TRUE(summary);
        EXPECT_EQ(summary->chunks, kAgents);
        for (std::uint32_t i = 0; i < kAgents; ++i) {
            EXPECT_FALSE(armed(i)) << i;
            EXPECT_EQ(chunks_[i], turn);
        }
    }
    EXPECT_EQ(session_.contexts(), 1U);
    EXPECT_EQ(session_.contexts_of(2), 1U);
    ASSERT_TRUE(session_.destroy(all));
    EXPECT_EQ(session_.contexts(), 0U);
    EXPECT_EQ(session_.contexts_of(2), 0U);
}

TEST_F(TogetherTest, Configure_TheSameAgentTwiceIsRefused) {
    const auto context = make({0, 2});
    for (const std::uint32_t agent : {0U, 2U})
        EXPECT_EQ(session_.configure(context, agent, {}, count, &chunks_[0]).error().code,
                  ErrorCode::kWrongState);
    ASSERT_TRUE(session_.start(context));
    EXPECT_EQ(session_.configure(context, 1, {}, count, &chunks_[0]).error().code,
              ErrorCode::kWrongState);
    EXPECT_FALSE(armed(1));
    ASSERT_TRUE(session_.stop(context));
    ASSERT_TRUE(session_.configure(context, 1, {}, count, &chunks_[1]));
    ASSERT_TRUE(session_.start(context));
    EXPECT_TRUE(armed(1));
}

TEST_F(TogetherTest, OverlapIsBusyAndDisjointRunsAtOnce) {
    const auto low = make({0, 1}), high = make({2, 3}), middle = make({1, 2}), one = make({3});
    ASSERT_TRUE(session_.start(low));
    ASSERT_TRUE(session_.start(high));
    for (const ContextHandle refused : {middle, one}) {
        const auto started = session_.start(refused);
        ASSERT_FALSE(started);
        EXPECT_EQ(started.error().code, ErrorCode::kBusy);
        EXPECT_FALSE(*session_.running(refused));
    }
    ASSERT_TRUE(session_.stop(low));
    EXPECT_EQ(session_.start(middle).error().code, ErrorCode::kBusy); // agent 2 is still held
    EXPECT_FALSE(armed(1));                                           // and 1 was not touched
    ASSERT_TRUE(session_.stop(high));
    ASSERT_TRUE(session_.start(middle));
    ASSERT_TRUE(session_.start(one));
    EXPECT_EQ(session_.hub(1).statistics().refused + session_.hub(2).statistics().refused +
                  session_.hub(3).statistics().refused,
              3U);
}

TEST_F(TogetherTest, PartialFailure_RollsBackWithoutAChunkAndALaterStartWorks) {
    const auto all = make({0, 1, 2, 3});
    for (std::uint32_t bad = 0; bad < kAgents; ++bad) {
        gpus_[bad].fail_at[FakeGpu::kSubmit] = gpus_[bad].calls[FakeGpu::kSubmit] + 1;
        const auto started = session_.start(all);
        ASSERT_FALSE(started) << bad;
        EXPECT_NE(started.error().where.find("agent " + std::to_string(bad)), std::string::npos)
            << started.error().where;
        EXPECT_FALSE(*session_.running(all));
        for (std::uint32_t i = 0; i < kAgents; ++i)
            EXPECT_FALSE(armed(i)) << i;
        EXPECT_EQ(chunks(), 4 * static_cast<int>(bad));
        gpus_[bad].no_faults();
        // At once: nothing of the roll-back is left on the way.
        ASSERT_TRUE(session_.start(all)) << bad;
        ASSERT_TRUE(session_.stop(all)) << bad;
    }
}

TEST_F(TogetherTest, OneAgentThatDoesNotAnswerAtTheStopLeavesTheOthersTheirData) {
    const auto all = make({0, 1, 2});
    ASSERT_TRUE(session_.start(all));
    gpus_[1].fail_at[FakeGpu::kSubmit] = gpus_[1].calls[FakeGpu::kSubmit] + 1;
    const auto summary = session_.stop(all);
    ASSERT_FALSE(summary);
    EXPECT_NE(summary.error().where.find("agent 1"), std::string::npos);
    EXPECT_EQ(chunks_[0], 1);
    EXPECT_EQ(chunks_[2], 1);
    gpus_[1].no_faults();
    ASSERT_TRUE(session_.start(all));
    ASSERT_TRUE(session_.stop(all));
    EXPECT_EQ(chunks_[1], 2); // the END of the lost run, and this one's
}

/// Of two contexts that share agents in opposite order one always starts: none waits for the other.
TEST_F(TogetherTest, CrossingContextsNeverBothLose) {
    const auto a = make({0, 1, 2}), b = make({2, 1, 3});
    for (int round = 0; round < 200; ++round) {
        std::array<ErrorCode, 2> codes{};
        const auto attempt = [&](std::size_t i, ContextHandle context) {
            const auto started = session_.start(context);
            codes[i] = started ? ErrorCode{} : started.error().code;
        };
        {
            std::jthread other([&] { attempt(1, b); });
            attempt(0, a);
        }
        const int won = (*session_.running(a) ? 1 : 0) + (*session_.running(b) ? 1 : 0);
        EXPECT_EQ(won, 1) << round;
        EXPECT_TRUE(codes[0] == ErrorCode::kBusy || codes[1] == ErrorCode::kBusy) << round;
        ASSERT_TRUE(session_.stop(a));
        ASSERT_TRUE(session_.stop(b));
    }
}

struct Reentrant {
    Session* session = nullptr;
    ContextHandle own, other;
    std::atomic<int> deadlocks{0}, started{0};
};

/// A handler may start what other agents are free for; its own context refuses.
void call_back(const Chunk&, void* user) {
    auto& state = *static_cast<Reentrant*>(user);
    const auto stopped = state.session->stop(state.own);
    if (!stopped && stopped.error().code == ErrorCode::kWouldDeadlock) ++state.deadlocks;
    const auto again = state.session->start(state.own);
    EXPECT_FALSE(again);
    // Two handlers are here at once: one of them may find the other's start or stop on its way.
    if (state.session->start(state.other)) ++state.started;
    const auto ended = state.session->stop(state.other);
    EXPECT_TRUE(ended.has_value() || ended.error().code == ErrorCode::kBusy);
}

TEST_F(TogetherTest, ReentrantHandlers) {
    Reentrant state;
    state.session = &session_;
    state.own = make({0, 1}, call_back, &state);
    state.other = make({2});
    ASSERT_TRUE(session_.start(state.own));
    ASSERT_TRUE(session_.stop(state.own));
    EXPECT_EQ(state.deadlocks, 2);
    EXPECT_GE(state.started, 1);
    ASSERT_TRUE(session_.stop(state.other));
    EXPECT_FALSE(armed(2));
}

TEST_F(TogetherTest, StartAndStopOnAHubsOwnThread) {
    const auto all = make({0, 1, 2});
    std::atomic<bool> done{false}, good{false};
    Mutex mutex;
    CondVar changed;
    ASSERT_TRUE(session_.hub(1).post([&] {
        const bool started = session_.start(all).has_value();
        gpus_[2].fail_at[FakeGpu::kSubmit] = gpus_[2].calls[FakeGpu::kSubmit] + 2;
        const bool stopped = session_.stop(all).has_value();
        const bool failed = !session_.start(all).has_value();
        gpus_[2].no_faults();
        // The roll-back of the hub that this thread is of is over, too.
        const bool again = session_.start(all).has_value() && session_.stop(all).has_value();
        MutexLock lock(mutex);
        good = started && stopped && failed && again;
        done = true;
        changed.notify_all();
    }));
    MutexLock lock(mutex);
    ASSERT_TRUE(changed.wait_until(mutex, clock_.deadline_after(std::chrono::seconds(30)),
                                   [&] { return done.load(); }));
    EXPECT_TRUE(good);
}

TEST_F(TogetherTest, CloseWhileSpanningContextsRun) {
    const auto all = make({0, 1, 2, 3});
    ASSERT_TRUE(session_.start(all));
    ASSERT_TRUE(session_.close());
    EXPECT_EQ(chunks(), 4);
    EXPECT_EQ(session_.stop(all).error().code, ErrorCode::kWrongState);
    EXPECT_EQ(session_.start(all).error().code, ErrorCode::kWrongState);
}

/// Agent 0 starts, then closes and delivers while agent 1's start fails.
struct ClosingHandler {
    Mutex mutex;
    CondVar changed;
    bool inside WAVETAP_GUARDED_BY(mutex) = false;
    bool start_returned WAVETAP_GUARDED_BY(mutex) = false;
    bool late WAVETAP_GUARDED_BY(mutex) = false;

    bool wait(const Clock& clock, Duration patience, const bool& what) WAVETAP_REQUIRES(mutex) {
        return changed.wait_until(mutex, clock.now() + patience, [&what] { return what; });
    }
    void set(bool& what) WAVETAP_REQUIRES(mutex) {
        what = true;
        changed.notify_all();
    }
};

TEST_F(TogetherTest, RollBackOnAHubThatClosesWaitsForItsHandler) {
    ClosingHandler state;
    const auto handler = [](const Chunk&, void* user) {
        auto& all = *static_cast<ClosingHandler*>(user);
        const SteadyClock clock;
        MutexLock lock(all.mutex);
        all.set(all.inside);
        // Comes only if start() does not wait for this handler.
        all.late = all.wait(clock, std::chrono::milliseconds(100), all.start_returned) || all.late;
    };
    const auto both = make({0, 1}, handler, &state);
    std::jthread closer;
    bool began = false; // on hub 1's thread
    gpus_[1].watch = [&](FakeGpu::Call call) {
        if (call != FakeGpu::kSubmit || std::exchange(began, true)) return;
        bool started = false; // a job behind the start on hub 0
        EXPECT_TRUE(session_.hub(0).post([&] {
            MutexLock lock(state.mutex);
            state.set(started);
        }));
        MutexLock lock(state.mutex);
        EXPECT_TRUE(state.wait(clock_, std::chrono::seconds(30), started));
        closer = std::jthread([this] { EXPECT_TRUE(session_.hub(0).close()); });
        EXPECT_TRUE(state.wait(clock_, std::chrono::seconds(30), state.inside));
    };
    gpus_[1].fail_at[FakeGpu::kSubmit] = 1;
    EXPECT_FALSE(session_.start(both));
    {
        MutexLock lock(state.mutex);
        state.set(state.start_returned);
    }
    closer.join();
    EXPECT_TRUE(session_.close()); // before what `watch` refers to
    MutexLock lock(state.mutex);
    EXPECT_TRUE(state.inside);
    EXPECT_FALSE(state.late) << "start() had failed and returned while a handler of it ran";
}

} // namespace
} // namespace wavetap::capture
