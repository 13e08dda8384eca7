// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "rocr/completion_gate.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace wavetap::rocr {
namespace {

// A runtime of signals only; the test is its GPU and its handler thread.
struct Signal {
    std::atomic<hsa_signal_value_t> value{0};
};
struct Watched {
    hsa_signal_t signal{};
    hsa_amd_signal_handler handler = nullptr;
    void* data = nullptr;
};
std::vector<Watched> g_watched;
std::set<std::uint64_t> g_live; ///< handles
int g_fail_signal = 0;
bool g_fail_handler = false;

std::atomic<hsa_signal_value_t>& value_of(hsa_signal_t signal) {
    return reinterpret_cast<Signal*>(signal.handle)->value;
}

HsaFunctions signals_only() {
    g_watched.clear();
    g_fail_signal = 0;
    g_fail_handler = false;
    HsaFunctions hsa;
    hsa.status_string = [](hsa_status_t, const char** text) {
        *text = "out of resources";
        return HSA_STATUS_SUCCESS;
    };
    hsa.signal_create = [](hsa_signal_value_t value, std::uint32_t, const hsa_agent_t*,
                           hsa_signal_t* signal) {
        if (g_fail_signal != 0 && --g_fail_signal == 0) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
        signal->handle = reinterpret_cast<std::uint64_t>(new Signal);
        g_live.insert(signal->handle);
        value_of(*signal) = value;
        return HSA_STATUS_SUCCESS;
    };
    hsa.signal_destroy = [](hsa_signal_t signal) {
        g_live.erase(signal.handle);
        delete reinterpret_cast<Signal*>(signal.handle);
        return HSA_STATUS_SUCCESS;
    };
    hsa.signal_load = [](hsa_signal_t signal) { return value_of(signal).load(); };
    hsa.signal_store = [](hsa_signal_t signal, hsa_signal_value_t value) {
        value_of(signal) = value;
    };
    hsa.signal_async_handler = [](hsa_signal_t signal, hsa_signal_condition_t, hsa_signal_value_t,
                                  hsa_amd_signal_handler handler, void* data) {
        if (g_fail_handler) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
        g_watched.push_back({signal, handler, data});
        return HSA_STATUS_SUCCESS;
    };
    return hsa;
}

hsa_signal_t dependency(const Packet& packet) {
    hsa_signal_t signal{};
    std::memcpy(&signal.handle, &packet.words[2], sizeof signal.handle);
    return signal;
}
hsa_signal_t completion(const Packet& packet) {
    hsa_signal_t signal{};
    std::memcpy(&signal.handle, &packet.words[14], sizeof signal.handle);
    return signal;
}

/// What the handler thread does once the oldest watched signal is 0.
void call_handler() {
    const Watched first = g_watched.front();
    ASSERT_LT(value_of(first.signal).load(), 1);
    g_watched.erase(g_watched.begin());
    EXPECT_FALSE(first.handler(0, first.data));
}

void count(void* user) {
    ++*static_cast<int*>(user);
}

class CompletionGateTest : public testing::Test {
  protected:
    /// What a gate has left for its queues.
    ~CompletionGateTest() override {
        for (const std::uint64_t handle : g_live)
            delete reinterpret_cast<Signal*>(handle);
        g_live.clear();
    }
};

TEST_F(CompletionGateTest, TheQueueWaitsUntilTheHandlerHasReturned) {
    auto gate = std::make_unique<CompletionGate>(signals_only(), 1.0);
    int calls = 0;
    Packet out[CompletionGate::kMostPackets];
    const auto filled = gate->packets(count, &calls, {}, out);
    ASSERT_TRUE(filled);
    ASSERT_EQ(*filled, 2u);
    EXPECT_EQ(dependency(out[0]).handle, 0u);
    --value_of(completion(out[0])); // the GPU
    EXPECT_EQ(value_of(dependency(out[1])), 1);
    EXPECT_EQ(calls, 0);
    call_handler();
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(value_of(dependency(out[1])), 0);
    --value_of(completion(out[1]));
    // The same three signals again, closed; the application's own behind them.
    Packet again[CompletionGate::kMostPackets];
    ASSERT_EQ(*gate->packets(count, &calls, {77}, again), 3u);
    EXPECT_EQ(g_live.size(), 3u);
    EXPECT_EQ(std::memcmp(again, out, 2 * sizeof *out), 0);
    EXPECT_EQ(value_of(completion(again[0])), 1);
    EXPECT_EQ(value_of(dependency(again[1])), 1);
    EXPECT_EQ(completion(again[2]).handle, 77u);
    // While these are on their way others are made.
    ASSERT_TRUE(gate->packets(count, &calls, {}, out));
    EXPECT_EQ(g_live.size(), 6u);
    for (const Packet* packets : {again, out}) {
        --value_of(completion(packets[0]));
        call_handler();
        --value_of(completion(packets[1]));
    }
    EXPECT_EQ(calls, 3);
    EXPECT_TRUE(CompletionGate::close(gate));
    EXPECT_EQ(gate, nullptr);
    EXPECT_TRUE(g_live.empty());
}

TEST_F(CompletionGateTest, SignalsWhoseLastPacketHasNotRunAreNotUsedAgain) {
    auto gate = std::make_unique<CompletionGate>(signals_only(), 1.0);
    int calls = 0;
    Packet first[CompletionGate::kMostPackets], second[CompletionGate::kMostPackets];
    ASSERT_TRUE(gate->packets(count, &calls, {}, first));
    --value_of(completion(first[0]));
    call_handler();
    ASSERT_TRUE(gate->packets(count, &calls, {}, second));
    EXPECT_NE(completion(first[0]).handle, completion(second[0]).handle);
    --value_of(completion(first[1]));
    --value_of(completion(second[0]));
    call_handler();
    EXPECT_TRUE(CompletionGate::close(gate));
    EXPECT_EQ(g_live.size(), 3u) << "those of the second one, which a queue may still wait for";
}

TEST_F(CompletionGateTest, WhatTheRuntimeRefusesIsAStatusAndLeavesNothing) {
    auto gate = std::make_unique<CompletionGate>(signals_only(), 1.0);
    int calls = 0;
    Packet out[CompletionGate::kMostPackets];
    for (int n = 1; n <= 3; ++n) {
        g_fail_signal = n;
        const auto refused = gate->packets(count, &calls, {}, out);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, ErrorCode::kLimit);
        EXPECT_TRUE(g_live.empty());
    }
    g_fail_handler = true;
    EXPECT_FALSE(gate->packets(count, &calls, {}, out));
    g_fail_handler = false;
    EXPECT_TRUE(gate->packets(count, &calls, {}, out));
    EXPECT_EQ(g_live.size(), 3u) << "the refused ones are used again";
    --value_of(completion(out[0]));
    call_handler();
    --value_of(completion(out[1]));
    EXPECT_TRUE(CompletionGate::close(gate));
    EXPECT_TRUE(g_live.empty());
    EXPECT_EQ(calls, 1);
}

TEST_F(CompletionGateTest, AnExceptionOpensIt) {
    auto gate = std::make_unique<CompletionGate>(signals_only(), 1.0);
    Packet out[CompletionGate::kMostPackets];
    ASSERT_TRUE(gate->packets([](void*) { throw std::runtime_error("client"); }, nullptr, {}, out));
    --value_of(completion(out[0]));
    call_handler();
    EXPECT_EQ(value_of(dependency(out[1])), 0);
    --value_of(completion(out[1]));
    EXPECT_TRUE(CompletionGate::close(gate));
}

TEST_F(CompletionGateTest, CloseOpensItAndCallsNoHandler) {
    auto gate = std::make_unique<CompletionGate>(signals_only(), 1.0);
    int calls = 0;
    Packet out[CompletionGate::kMostPackets];
    ASSERT_TRUE(gate->packets(count, &calls, {}, out));
    const hsa_signal_t done = completion(out[0]), release = dependency(out[1]);
    std::thread runtime([done] {
        while (value_of(done).load() != 0)
            std::this_thread::yield();
        call_handler();
    });
    EXPECT_TRUE(CompletionGate::close(gate));
    runtime.join();
    EXPECT_EQ(value_of(release), 0);
    EXPECT_EQ(calls, 0);
    EXPECT_EQ(g_live.size(), 3u) << "a queue may still have the packets";
}

TEST_F(CompletionGateTest, CloseInAHandlerIsRefusedAndOneThatDoesNotReturnIsLeft) {
    auto gate = std::make_unique<CompletionGate>(signals_only(), 1e-3);
    Packet out[CompletionGate::kMostPackets];
    struct Stuck {
        std::unique_ptr<CompletionGate>* gate;
        std::atomic<int> refused{0};
        std::atomic<bool> leave{false};
    } stuck{&gate};
    const auto handler = [](void* user) {
        auto& mine = *static_cast<Stuck*>(user);
        const auto closed = CompletionGate::close(*mine.gate);
        mine.refused = !closed && closed.error().code == ErrorCode::kWouldDeadlock ? 1 : -1;
        while (!mine.leave.load())
            std::this_thread::yield();
    };
    ASSERT_TRUE(gate->packets(handler, &stuck, {}, out));
    --value_of(completion(out[0]));
    std::thread runtime(call_handler);
    while (stuck.refused.load() == 0)
        std::this_thread::yield();
    EXPECT_EQ(stuck.refused.load(), 1);
    CompletionGate* const left = gate.get();
    const auto closed = CompletionGate::close(gate);
    ASSERT_FALSE(closed);
    EXPECT_EQ(closed.error().code, ErrorCode::kTimeout);
    EXPECT_EQ(gate, nullptr);
    EXPECT_FALSE(left->packets(count, nullptr, {}, out)) << "a closed gate was used";
    stuck.leave = true;
    runtime.join();
    delete left;
}

TEST_F(CompletionGateTest, AForkedChildIsRefused) {
    auto gate = std::make_unique<CompletionGate>(signals_only(), 1.0);
    const pid_t child = fork();
    if (child == 0) {
        Packet out[CompletionGate::kMostPackets];
        const auto filled = gate->packets(count, nullptr, {}, out);
        const auto closed = CompletionGate::close(gate);
        const bool refused = !filled && filled.error().code == ErrorCode::kWrongState && !closed &&
                             closed.error().code == ErrorCode::kWrongState;
        _exit(refused && gate == nullptr ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(CompletionGate::close(gate));
}

} // namespace
} // namespace wavetap::rocr
