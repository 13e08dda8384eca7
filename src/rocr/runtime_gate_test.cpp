// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "rocr/runtime_gate.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>

namespace wavetap::rocr {
namespace {

TimePoint after(std::chrono::milliseconds limit) {
    return std::chrono::steady_clock::now() + limit;
}

TEST(RuntimeGateTest, ClosedForGoodOnceClosed) {
    RuntimeGate gate;
    {
        const auto outer = gate.enter();
        const auto inner = gate.enter();
        EXPECT_TRUE(outer && inner);
    }
    EXPECT_TRUE(gate.close(after(std::chrono::milliseconds(0))));
    EXPECT_FALSE(gate.enter());
    EXPECT_TRUE(gate.close(after(std::chrono::milliseconds(0))));
}

TEST(RuntimeGateTest, CloseWaitsForThoseInside_UntilTheDeadline) {
    RuntimeGate gate;
    std::promise<void> entered, go;
    std::thread inside([&] {
        const auto pass = gate.enter();
        entered.set_value();
        go.get_future().wait();
        EXPECT_FALSE(gate.enter());
    });
    entered.get_future().wait();
    EXPECT_FALSE(gate.close(after(std::chrono::milliseconds(20))));
    go.set_value();
    EXPECT_TRUE(gate.close(after(std::chrono::seconds(30))));
    inside.join();
}

} // namespace
} // namespace wavetap::rocr
