// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "rocr/interceptor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <new>
#include <thread>
#include <utility>
#include <vector>

namespace wavetap::rocr {
namespace {

TEST(Interceptor, AVendorPacketHasTheBuffersCachePolicy) {
    for (const std::int8_t policy : {std::int8_t{1}, std::int8_t{3}}) {
        const Packet packet = vendor_packet({0x1234567800, 0x55, policy}, hsa_signal_t{7});
        EXPECT_EQ(packet.words[2], 0x34567800U);
        EXPECT_EQ(packet.words[3], 0x12U);
        EXPECT_EQ(packet.words[4] >> 28 & 3, static_cast<std::uint32_t>(policy));
        EXPECT_EQ(packet.words[4] & 0xFFFFF, 0x55U);
        EXPECT_EQ(packet.words[14], 7U);
    }
}

// A runtime of which the interceptor sees just enough: one queue, whose packets are executed when a
// test says so or somebody waits for a signal.
hsa_queue_t g_queue;
InterceptHandler g_handler = nullptr;
void* g_handler_data = nullptr;
std::vector<Packet> g_written;
std::vector<hsa_signal_value_t> g_signals; ///< by handle - 1
std::size_t g_executed = 0, g_most_in_flight = 0, g_loads = 0, g_waits = 0;
std::function<void()> g_on_wait;

void execute(std::size_t packets) {
    for (; packets > 0 && g_executed < g_written.size(); --packets) {
        const Packet& packet = g_written[g_executed++];
        std::uint64_t signal = 0;
        std::memcpy(&signal, &packet.words[14], sizeof signal);
        if (signal != 0) --g_signals[signal - 1];
    }
}

void write(const void* packets, std::uint64_t count) {
    const auto* first = static_cast<const Packet*>(packets);
    g_written.insert(g_written.end(), first, first + count);
    g_most_in_flight = std::max(g_most_in_flight, g_written.size() - g_executed);
}

HsaFunctions small_runtime() {
    g_queue = {};
    g_handler = nullptr;
    g_written.clear();
    g_signals.clear();
    g_executed = g_most_in_flight = g_loads = g_waits = 0;
    g_on_wait = [] {};
    HsaFunctions hsa;
    hsa.queue_create = [](hsa_agent_t, std::uint32_t, hsa_queue_type32_t, QueueErrorHandler, void*,
                          std::uint32_t, std::uint32_t, hsa_queue_t**) { return HSA_STATUS_ERROR; };
    hsa.queue_destroy = [](hsa_queue_t*) { return HSA_STATUS_SUCCESS; };
    hsa.signal_create = [](hsa_signal_value_t value, std::uint32_t, const hsa_agent_t*,
                           hsa_signal_t* signal) {
        g_signals.push_back(value);
        *signal = {g_signals.size()};
        return HSA_STATUS_SUCCESS;
    };
    hsa.signal_destroy = [](hsa_signal_t) { return HSA_STATUS_SUCCESS; };
    hsa.signal_load = [](hsa_signal_t signal) {
        ++g_loads;
        return g_signals[signal.handle - 1];
    };
    hsa.signal_store = [](hsa_signal_t signal, hsa_signal_value_t value) {
        g_signals[signal.handle - 1] = value;
    };
    hsa.signal_wait = [](hsa_signal_t signal, hsa_signal_condition_t, hsa_signal_value_t,
                         std::uint64_t, hsa_wait_state_t) {
        ++g_waits;
        g_on_wait();
        return g_signals[signal.handle - 1];
    };
    hsa.signal_async_handler = [](hsa_signal_t, hsa_signal_condition_t, hsa_signal_value_t,
                                  hsa_amd_signal_handler handler, void* data) {
        std::thread([&] { (void)handler(0, data); }).join();
        return HSA_STATUS_SUCCESS;
    };
    hsa.queue_intercept_create = [](hsa_agent_t, std::uint32_t size, hsa_queue_type32_t,
                                    QueueErrorHandler, void*, std::uint32_t, std::uint32_t,
                                    hsa_queue_t** queue) {
        g_queue.size = size;
        *queue = &g_queue;
        return HSA_STATUS_SUCCESS;
    };
    hsa.queue_intercept_register = [](hsa_queue_t*, InterceptHandler handler, void* data) {
        g_handler = handler;
        g_handler_data = data;
        return HSA_STATUS_SUCCESS;
    };
    return hsa;
}

struct ThrowingHooks final : DispatchHooks {
    int dispatches = 0, ended = 0;
    void before_dispatch(std::uint32_t, QueueNote&, std::uint64_t, std::vector<Packet>& front,
                         std::vector<Packet>&) override {
        front.push_back(barrier_packet({}, {}));
        if (++dispatches % 2 == 0) throw std::bad_alloc();
    }
    void queue_ending(std::uint32_t, const QueueNote&) override { throw std::bad_alloc(); }
    void queue_destroyed(std::uint32_t, const QueueNote&) override {
        ++ended;
        throw std::bad_alloc();
    }
};

TEST(Interceptor, NoExceptionReachesTheApplicationAndEveryPacketGoesOn) {
    GpuAgent agent;
    agent.agent = {7};
    agent.queue_max_packets = 4096;
    ThrowingHooks hooks;
    SteadyClock clock;
    QueueInterceptor interceptor(small_runtime(), {agent}, {true}, hooks, clock);
    hsa_queue_t* queue = nullptr;
    ASSERT_EQ(interceptor.create({7}, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, &queue),
              HSA_STATUS_SUCCESS);
    ASSERT_NE(g_handler, nullptr);
    Packet dispatches[4];
    for (std::uint32_t i = 0; i < 4; ++i) {
        dispatches[i].words[0] = HSA_PACKET_TYPE_KERNEL_DISPATCH;
        dispatches[i].words[5] = i;
    }
    g_handler(dispatches, 4, 0, g_handler_data, write);
    ASSERT_EQ(g_written.size(), 8u);
    for (std::uint32_t i = 0; i < 4; ++i)
        EXPECT_EQ(g_written[2 * i + 1].words[5], i);
    EXPECT_EQ(interceptor.failures(), 2u);
    EXPECT_EQ(interceptor.destroy(queue), HSA_STATUS_SUCCESS);
    EXPECT_EQ(hooks.ended, 1);
    EXPECT_EQ(interceptor.failures(), 4u);
}

/// As much as a dispatch may have around it, where there is room.
struct GreedyHooks final : DispatchHooks {
    std::uint64_t room = 0, none = 0;
    void before_dispatch(std::uint32_t, QueueNote& queue, std::uint64_t, std::vector<Packet>& front,
                         std::vector<Packet>& back) override {
        ++(queue.room ? room : none);
        if (!queue.room) return;
        front.insert(front.end(), kFrontPackets, barrier_packet({}, {}));
        back.insert(back.end(), kMostPackets - kFrontPackets, barrier_packet({}, {}));
    }
    void queue_destroyed(std::uint32_t, const QueueNote&) override {}
};

/// Hands every second completion to a barrier behind the dispatch.
struct TakingHooks final : DispatchHooks {
    std::vector<std::uint64_t> seen;
    void before_dispatch(std::uint32_t, QueueNote& queue, std::uint64_t, std::vector<Packet>&,
                         std::vector<Packet>& back) override {
        seen.push_back(queue.completion.handle);
        if (seen.size() % 2 != 0) return;
        back.push_back(barrier_packet({}, std::exchange(queue.completion, {})));
    }
    void queue_destroyed(std::uint32_t, const QueueNote&) override {}
};

TEST(Interceptor, ACompletionCanBeHandedToAPacketBehindItsDispatch) {
    GpuAgent agent;
    agent.agent = {7};
    agent.queue_max_packets = 4096;
    TakingHooks hooks;
    SteadyClock clock;
    QueueInterceptor interceptor(small_runtime(), {agent}, {true}, hooks, clock);
    hsa_queue_t* queue = nullptr;
    ASSERT_EQ(interceptor.create({7}, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, &queue),
              HSA_STATUS_SUCCESS);
    Packet dispatches[3];
    for (std::uint32_t i = 0; i < 3; ++i) {
        dispatches[i].words[0] = HSA_PACKET_TYPE_KERNEL_DISPATCH;
        dispatches[i].words[14] = 70 + i;
    }
    g_handler(dispatches, 3, 0, g_handler_data, write);
    EXPECT_EQ(hooks.seen, (std::vector<std::uint64_t>{70, 71, 72}));
    ASSERT_EQ(g_written.size(), 4u);
    EXPECT_EQ(g_written[0].words[14], 70u);
    EXPECT_EQ(g_written[1].words[14], 0u);
    EXPECT_EQ(g_written[2].words[14], 71u) << "the barrier's";
    EXPECT_EQ(g_written[3].words[14], 72u);
}

struct HandClock final : Clock {
    TimePoint time{};
    TimePoint now() const override { return time; }
    TimePoint deadline_after(Duration limit) const override { return time + limit; }
};

/// One queue of 64 packets, in a ring of 512.
class RingTest : public ::testing::Test {
  protected:
    RingTest() {
        hsa_queue_t* queue = nullptr;
        EXPECT_EQ(
            interceptor_.create({7}, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, &queue),
            HSA_STATUS_SUCCESS);
        EXPECT_EQ(g_queue.size, kRing);
    }
    static GpuAgent agent() {
        GpuAgent agent;
        agent.agent = {7};
        agent.queue_max_packets = 4096;
        return agent;
    }
    void launch(std::uint64_t count) {
        std::vector<Packet> dispatches(count);
        for (Packet& dispatch : dispatches)
            dispatch.words[0] = HSA_PACKET_TYPE_KERNEL_DISPATCH;
        g_handler(dispatches.data(), count, 0, g_handler_data, write);
    }
    std::uint64_t dispatches_written() const {
        return static_cast<std::uint64_t>(
            std::count_if(g_written.begin(), g_written.end(), [](const Packet& packet) {
                return (packet.words[0] & 0xff) == HSA_PACKET_TYPE_KERNEL_DISPATCH;
            }));
    }

    static constexpr std::uint32_t kRing = 512;
    static constexpr std::size_t kExpansion = DispatchHooks::kMostPackets;
    GreedyHooks hooks_;
    HandClock clock_;
    QueueInterceptor interceptor_{small_runtime(), {agent()}, {true}, hooks_, clock_};
};

TEST_F(RingTest, OnTheHandlerThreadNobodyWaits_WhatHasNoRoomIsWrittenAsItIs) {
    interceptor_.note_handler_thread(); // of this one
    for (int i = 0; i < 95; ++i)
        launch(1);
    EXPECT_EQ(g_waits, 0u);
    EXPECT_LT(g_most_in_flight, kRing) << "ROCr would spin for ever";
    EXPECT_GT(hooks_.room, 60u);
    EXPECT_GT(hooks_.none, 10u);
    EXPECT_EQ(hooks_.room + hooks_.none, 95u);
    EXPECT_EQ(dispatches_written(), 95u);
    const capture::RingCounts counts = interceptor_.ring_counts(0);
    EXPECT_EQ(counts.full, hooks_.none);
    EXPECT_EQ(counts.waits + counts.crowded, 0u);
    execute(kRing);
    launch(1);
    EXPECT_EQ(hooks_.none, counts.full) << "there is room again";
}

TEST_F(RingTest, ASlowQueueIsWaitedForAndNothingIsDeclined) {
    g_on_wait = [] { execute(40); };
    for (int i = 0; i < 50; ++i)
        launch(16);
    EXPECT_EQ(hooks_.room, 800u);
    EXPECT_LT(g_most_in_flight, kRing);
    const capture::RingCounts counts = interceptor_.ring_counts(0);
    EXPECT_GT(counts.waits, 20u);
    EXPECT_LE(counts.waits, 50u);
    EXPECT_EQ(counts.full + counts.crowded, 0u);
    // Who waits is woken by the GPU, and looks only then.
    EXPECT_LT(g_loads, 3 * (g_waits + 800));
}

TEST_F(RingTest, AGpuThatDoesNotComeOnIsWaitedForUntilTheDeadlineOnly) {
    g_on_wait = [this] { clock_.time += std::chrono::milliseconds(20); };
    for (int i = 0; i < 70; ++i)
        launch(1);
    EXPECT_LT(g_most_in_flight, kRing);
    const capture::RingCounts counts = interceptor_.ring_counts(0);
    EXPECT_GT(hooks_.none, 0u);
    EXPECT_EQ(counts.full, hooks_.none);
    EXPECT_EQ(counts.waits, hooks_.none) << "each of those launches waited once";
    EXPECT_EQ(clock_.time.time_since_epoch(), hooks_.none * std::chrono::seconds(60));
    EXPECT_EQ(dispatches_written(), 70u);
}

TEST_F(RingTest, TooManyAtOnceAreNotWaitedFor) {
    launch(475);
    const capture::RingCounts counts = interceptor_.ring_counts(0);
    EXPECT_EQ(counts.crowded, 475u);
    EXPECT_EQ(counts.waits + counts.full, 0u);
    EXPECT_EQ(dispatches_written(), 475u);
    EXPECT_LT(g_most_in_flight, kRing);
    // Of fewer the first ones have room.
    execute(kRing);
    launch(200);
    EXPECT_EQ(hooks_.room, (kRing - 32 - 201) / kExpansion);
    EXPECT_EQ(interceptor_.ring_counts(0).crowded, 475u + 200 - hooks_.room);
    EXPECT_LT(g_most_in_flight, kRing);
}

} // namespace
} // namespace wavetap::rocr
