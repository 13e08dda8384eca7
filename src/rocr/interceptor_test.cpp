// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "rocr/interceptor.hpp"

#include <gtest/gtest.h>

#include <new>
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

// A runtime of which the interceptor sees just enough.
hsa_queue_t g_queue;
InterceptHandler g_handler = nullptr;
void* g_handler_data = nullptr;
std::vector<Packet> g_written;

HsaFunctions small_runtime() {
    g_queue = {};
    g_handler = nullptr;
    g_written.clear();
    HsaFunctions hsa;
    hsa.queue_create = [](hsa_agent_t, std::uint32_t, hsa_queue_type32_t, QueueErrorHandler, void*,
                          std::uint32_t, std::uint32_t, hsa_queue_t**) { return HSA_STATUS_ERROR; };
    hsa.queue_destroy = [](hsa_queue_t*) { return HSA_STATUS_SUCCESS; };
    hsa.signal_create = [](hsa_signal_value_t, std::uint32_t, const hsa_agent_t*,
                           hsa_signal_t* signal) {
        *signal = {1};
        return HSA_STATUS_SUCCESS;
    };
    hsa.signal_destroy = [](hsa_signal_t) { return HSA_STATUS_SUCCESS; };
    hsa.signal_load = [](hsa_signal_t) -> hsa_signal_value_t { return 0; };
    hsa.signal_store = [](hsa_signal_t, hsa_signal_value_t) {};
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
    g_handler(dispatches, 4, 0, g_handler_data, [](const void* packets, std::uint64_t count) {
        const auto* first = static_cast<const Packet*>(packets);
        g_written.insert(g_written.end(), first, first + count);
    });
    ASSERT_EQ(g_written.size(), 8u);
    for (std::uint32_t i = 0; i < 4; ++i)
        EXPECT_EQ(g_written[2 * i + 1].words[5], i);
    EXPECT_EQ(interceptor.failures(), 2u);
    EXPECT_EQ(interceptor.destroy(queue), HSA_STATUS_SUCCESS);
    EXPECT_EQ(hooks.ended, 1);
    EXPECT_EQ(interceptor.failures(), 4u);
}

} // namespace
} // namespace wavetap::rocr
