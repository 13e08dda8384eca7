// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/c_api.hpp"
#include "capture/correlation.hpp"
#include "capture/fake_backend.hpp"
#include "capture/session.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace wavetap::capture {
namespace {

/// Notes what it is asked.
class FakeDriver final : public DispatchDriver {
  public:
    std::vector<std::pair<std::uint32_t, DispatchClient>> opened;
    std::vector<std::uint32_t> closed;
    int unbound = 0;
    std::uint32_t fails_on = ~0U; ///< open() of this agent
    bool inside = false, waits_for_itself = false;
    std::promise<void>* close_enters = nullptr;
    std::shared_future<void> close_leaves;
    Result<void> close_outcome;

    Result<void> open(std::uint32_t agent, AgentHub&, const DispatchClient& client) override {
        if (agent == fails_on) return Error{ErrorCode::kLimit, "no room", "", ""};
        opened.emplace_back(agent, client);
        return {};
    }
    Result<void> close(std::uint32_t agent) override {
        if (close_enters != nullptr) std::exchange(close_enters, nullptr)->set_value();
        if (close_leaves.valid()) {
            EXPECT_EQ(close_leaves.wait_for(std::chrono::seconds(30)), std::future_status::ready);
        }
        closed.push_back(agent);
        return close_outcome;
    }
    bool deciding() const override { return inside; }
    Result<void> may_wait(std::uint32_t, AgentHub&) const override {
        if (!waits_for_itself) return {};
        return Error{ErrorCode::kWouldDeadlock, "waits for itself", "", ""};
    }
    RingCounts ring_counts(std::uint32_t agent) const override { return {agent + 1, 2, 3}; }
    void unbind() override { ++unbound; }
};

bool never(const Dispatch&, void*, void**) {
    return false;
}
constexpr DispatchHandlers kHandlers{never, nullptr, nullptr};

class SessionDispatchTest : public ::testing::Test {
  protected:
    SessionDispatchTest() {
        for (FakeGpu& gpu : gpus_) {
            AgentHub::Options options;
            options.engine.topology = {"gfx90a", 1, 8, 14, 4, 100'000'000};
            session_.add_agent(
                std::make_unique<AgentHub>(std::make_unique<FakeBackend>(gpu), options, clock_));
        }
        params_.buffer_bytes = 1 << 20;
    }
    ContextHandle make(std::vector<std::uint32_t> agents) {
        const auto handle = session_.create();
        EXPECT_TRUE(handle);
        for (const std::uint32_t agent : agents)
            EXPECT_TRUE(session_.configure_dispatches(*handle, agent, params_, kHandlers, this));
        return *handle;
    }

    SteadyClock clock_;
    FakeGpu gpus_[2];
    FakeDriver driver_;
    TraceParams params_;
    Session session_;
};

TEST_F(SessionDispatchTest, WithoutAnybodyWhoShowsDispatchesAStartIsRefused) {
    const auto context = make({0});
    const auto started = session_.start(context);
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(started.error().hint.find("wavetap_session_intercept"), std::string::npos);
    EXPECT_TRUE(session_.stop(context));
}

TEST_F(SessionDispatchTest, StartTakesEveryAgentAndStopGivesThemBack) {
    session_.set_dispatch_driver(&driver_);
    params_.serialize_all = 1;
    const auto both = make({0, 1});
    params_.serialize_all = 0;
    const auto second = make({1});
    ASSERT_TRUE(session_.start(both));
    ASSERT_EQ(driver_.opened.size(), 2u);
    EXPECT_EQ(driver_.opened[1].first, 1u);
    EXPECT_EQ(driver_.opened[0].second.user, this);
    EXPECT_TRUE(driver_.opened[0].second.request.serialize_all);
    EXPECT_EQ(driver_.opened[0].second.request.lease_slots, 2u);
    EXPECT_EQ(session_.start(second).error().code, ErrorCode::kBusy);
    EXPECT_TRUE(*session_.running(both));
    ASSERT_TRUE(session_.stop(both));
    EXPECT_EQ(driver_.closed, (std::vector<std::uint32_t>{0, 1}));
    EXPECT_TRUE(session_.start(second));
    EXPECT_FALSE(driver_.opened.back().second.request.serialize_all);
    EXPECT_TRUE(session_.destroy(second));
}

TEST_F(SessionDispatchTest, AContextHasOneMode) {
    const auto context = make({0});
    const auto device = session_.configure(
        context, 1, params_, [](const Chunk&, void*) {}, nullptr);
    ASSERT_FALSE(device);
    EXPECT_EQ(device.error().code, ErrorCode::kWrongState);
    const auto other = session_.create();
    ASSERT_TRUE(session_.configure(*other, 0, params_, nullptr, nullptr));
    EXPECT_EQ(session_.configure_dispatches(*other, 1, params_, kHandlers, nullptr).error().code,
              ErrorCode::kWrongState);
    params_.buffers = 3;
    const auto ring = session_.create();
    EXPECT_EQ(session_.configure_dispatches(*ring, 0, params_, kHandlers, nullptr).error().code,
              ErrorCode::kUnsupported);
}

TEST_F(SessionDispatchTest, AStartThatFailsOnOneAgentIsRolledBack) {
    session_.set_dispatch_driver(&driver_);
    const auto both = make({0, 1});
    driver_.fails_on = 1;
    EXPECT_EQ(session_.start(both).error().code, ErrorCode::kLimit);
    EXPECT_EQ(driver_.closed, std::vector<std::uint32_t>{0});
    EXPECT_FALSE(*session_.running(both));
    driver_.fails_on = ~0U;
    EXPECT_TRUE(session_.start(both));
}

TEST_F(SessionDispatchTest, AnErrorOfTheStopIsToldAndTheRunIsOver) {
    session_.set_dispatch_driver(&driver_);
    const auto context = make({0});
    ASSERT_TRUE(session_.start(context));
    driver_.close_outcome = Error{ErrorCode::kTimeout, "too late", "", ""};
    EXPECT_EQ(session_.stop(context).error().code, ErrorCode::kTimeout);
    EXPECT_FALSE(*session_.running(context));
    EXPECT_TRUE(session_.start(context));
}

TEST_F(SessionDispatchTest, WhatWouldWaitForItselfIsRefusedAndChangesNothing) {
    session_.set_dispatch_driver(&driver_);
    const auto context = make({0});
    ASSERT_TRUE(session_.start(context));
    driver_.inside = driver_.waits_for_itself = true;
    EXPECT_EQ(session_.start(context).error().code, ErrorCode::kWouldDeadlock);
    EXPECT_EQ(session_.stop(context).error().code, ErrorCode::kWouldDeadlock);
    EXPECT_EQ(session_.destroy(context).error().code, ErrorCode::kWouldDeadlock);
    EXPECT_EQ(session_.close().error().code, ErrorCode::kWouldDeadlock);
    EXPECT_TRUE(*session_.running(context));
    EXPECT_EQ(driver_.unbound, 0);
    driver_.inside = driver_.waits_for_itself = false;
    EXPECT_TRUE(session_.close());
    EXPECT_EQ(driver_.closed, std::vector<std::uint32_t>{0});
    EXPECT_EQ(driver_.unbound, 1);
    EXPECT_EQ(session_.start(context).error().code, ErrorCode::kUnsupported);
}

TEST_F(SessionDispatchTest, AnAsynchronousStopReturnsAtOnceAndCloseWaitsForIt) {
    session_.set_dispatch_driver(&driver_);
    const auto context = make({0});
    ASSERT_TRUE(session_.start(context));
    std::promise<void> entered, leave;
    driver_.close_enters = &entered;
    driver_.close_leaves = leave.get_future().share();
    std::vector<ErrorCode> inside;
    int called = 0;
    ASSERT_TRUE(session_.stop_async(context, [&](const Result<RunSummary>& stopped) {
        EXPECT_TRUE(stopped);
        const auto closed = session_.close();
        inside.push_back(closed ? ErrorCode::kInternal : closed.error().code);
        ++called;
    }));
    ASSERT_EQ(entered.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
    EXPECT_EQ(session_.stop(context).error().code, ErrorCode::kBusy);
    leave.set_value();
    EXPECT_TRUE(session_.close());
    EXPECT_EQ(called, 1);
    EXPECT_EQ(inside, std::vector<ErrorCode>{ErrorCode::kWouldDeadlock});
}

TEST_F(SessionDispatchTest, ManyAsynchronousStopsLeaveNoThreads) {
    session_.set_dispatch_driver(&driver_);
    const auto context = make({0});
    for (int i = 0; i < 50; ++i) {
        ASSERT_TRUE(session_.start(context));
        std::promise<void> done;
        ASSERT_TRUE(
            session_.stop_async(context, [&](const Result<RunSummary>&) { done.set_value(); }));
        ASSERT_EQ(done.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
    }
    EXPECT_EQ(driver_.closed.size(), 50u);
    EXPECT_TRUE(session_.close());
}

TEST(SessionDispatchPendingTest, AContextThatIsStartedBeforeTheAgentsAreThereStartsWithThem) {
    SteadyClock clock;
    FakeGpu gpu;
    FakeDriver driver;
    Session session;
    const auto context = session.create();
    TraceParams params;
    params.buffer_bytes = 1 << 20;
    ASSERT_TRUE(session.configure_dispatches(*context, 0, params, kHandlers, nullptr));
    ASSERT_TRUE(session.start(*context));
    EXPECT_TRUE(*session.pending(*context));
    AgentHub::Options options;
    options.engine.topology = {"gfx90a", 1, 8, 14, 4, 100'000'000};
    session.add_agent(
        std::make_unique<AgentHub>(std::make_unique<FakeBackend>(gpu), options, clock));
    session.set_dispatch_driver(&driver);
    EXPECT_TRUE(session.attach().empty());
    EXPECT_TRUE(*session.running(*context));
    EXPECT_EQ(driver.opened.size(), 1u);
    EXPECT_TRUE(session.close());
}

TEST(SessionDispatchStatisticsTest, TheCInterfaceTellsWhatTheRingsHadRoomFor) {
    FakeGpu gpus[2];
    FakeDriver driver;
    auto clock = std::make_unique<SteadyClock>();
    auto inner = std::make_unique<Session>();
    for (FakeGpu& gpu : gpus) {
        AgentHub::Options options;
        options.engine.topology = {"gfx90a", 1, 8, 14, 4};
        inner->add_agent(
            std::make_unique<AgentHub>(std::make_unique<FakeBackend>(gpu), options, *clock));
    }
    wavetap_session* session = wrap_session(std::move(clock), std::move(inner));
    wavetap_statistics statistics{};
    statistics.size = sizeof statistics;
    ASSERT_EQ(wavetap_get_statistics(session, 1, &statistics), WAVETAP_STATUS_SUCCESS);
    EXPECT_EQ(statistics.ring_waits + statistics.ring_crowded + statistics.ring_full, 0u);
    session_of(session).set_dispatch_driver(&driver);
    ASSERT_EQ(wavetap_get_statistics(session, 1, &statistics), WAVETAP_STATUS_SUCCESS);
    EXPECT_EQ(statistics.ring_waits, 2u);
    EXPECT_EQ(statistics.ring_crowded, 2u);
    EXPECT_EQ(statistics.ring_full, 3u);
    EXPECT_EQ(wavetap_session_close(session), WAVETAP_STATUS_SUCCESS);
}

TEST(CorrelationTest, AStackForEachThread) {
    EXPECT_EQ(wavetap_external_correlation_id(), 0u);
    EXPECT_EQ(wavetap_external_correlation_pop(nullptr), WAVETAP_STATUS_WRONG_STATE);
    ASSERT_EQ(wavetap_external_correlation_push(7), WAVETAP_STATUS_SUCCESS);
    ASSERT_EQ(wavetap_external_correlation_push(~std::uint64_t{0}), WAVETAP_STATUS_SUCCESS);
    std::thread([] {
        EXPECT_EQ(wavetap_external_correlation_id(), 0u);
        for (std::size_t i = 0; i < kMostCorrelations; ++i)
            ASSERT_EQ(wavetap_external_correlation_push(i), WAVETAP_STATUS_SUCCESS);
        EXPECT_EQ(wavetap_external_correlation_push(1), WAVETAP_STATUS_LIMIT);
        EXPECT_EQ(wavetap_external_correlation_id(), kMostCorrelations - 1);
    }).join();
    std::uint64_t id = 0;
    EXPECT_EQ(wavetap_external_correlation_id(), ~std::uint64_t{0});
    EXPECT_EQ(wavetap_external_correlation_pop(&id), WAVETAP_STATUS_SUCCESS);
    EXPECT_EQ(id, ~std::uint64_t{0});
    EXPECT_EQ(wavetap_external_correlation_pop(&id), WAVETAP_STATUS_SUCCESS);
    EXPECT_EQ(id, 7u);
    EXPECT_EQ(wavetap_external_correlation_id(), 0u);
}

} // namespace
} // namespace wavetap::capture
