// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/lease_fixture.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace wavetap::capture {
namespace {

// One lease has its turn while another one is on its way to its handler.

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
