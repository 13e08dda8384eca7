// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/clock.hpp"
#include "base/mutex.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace wavetap {
namespace {

TEST(SteadyClockTest, ScaleStretchesDeadlines) {
    const SteadyClock plain;
    const SteadyClock slow(10.0);
    const auto limit = std::chrono::seconds(10);
    EXPECT_LT(plain.deadline_after(limit) + std::chrono::seconds(60), slow.deadline_after(limit));
    EXPECT_GT(slow.deadline_after(Duration::max()), slow.now());
}

TEST(CondVarTest, PredicateSetUnderLock_Wakes) {
    Mutex mutex;
    CondVar changed;
    bool flag = false;
    std::thread setter([&] {
        const MutexLock lock(mutex);
        flag = true;
        changed.notify_all();
    });
    {
        const MutexLock lock(mutex);
        EXPECT_TRUE(changed.wait_until(
            mutex, SteadyClock().deadline_after(std::chrono::seconds(30)), [&] { return flag; }));
    }
    setter.join();
}

TEST(CondVarTest, NeverSet_DeadlineEnds) {
    Mutex mutex;
    CondVar changed;
    const MutexLock lock(mutex);
    EXPECT_FALSE(changed.wait_until(mutex, std::chrono::steady_clock::now(), [] { return false; }));
}

} // namespace
} // namespace wavetap
