// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/task_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

namespace wavetap {
namespace {

TEST(TaskPool, EveryTaskRunsOnce) {
    for (const unsigned threads : {1U, 2U, 3U, 8U}) {
        TaskPool pool(threads);
        EXPECT_EQ(pool.threads(), threads);
        std::vector<std::atomic<int>> runs(1000);
        pool.for_each(runs.size(), [&runs](std::size_t i) { ++runs[i]; });
        for (const auto& count : runs)
            EXPECT_EQ(count.load(), 1);
        pool.for_each(0, [](std::size_t) { FAIL(); });
    }
}

TEST(TaskPool, GroupsRunSideBySideAndCanBeUsedAgain) {
    TaskPool pool(3);
    TaskPool::Group first, second;
    std::atomic<int> sum{0};
    for (int round = 0; round < 50; ++round) {
        pool.start(first, 10, [&sum](std::size_t) { sum += 1; });
        pool.start(second, 10, [&sum](std::size_t) { sum += 100; });
        pool.finish(second);
        pool.finish(first);
        EXPECT_EQ(sum.exchange(0), 1010);
    }
}

TEST(TaskPool, SeveralThreadsShareOne) {
    TaskPool pool(2);
    std::atomic<int> sum{0};
    std::vector<std::thread> callers;
    for (int i = 0; i < 4; ++i)
        callers.emplace_back([&] { pool.for_each(100, [&sum](std::size_t) { ++sum; }); });
    for (std::thread& caller : callers)
        caller.join();
    EXPECT_EQ(sum.load(), 400);
}

TEST(TaskPool, CountsAreBounded) {
    EXPECT_GE(thread_count(0), 1U);
    EXPECT_EQ(thread_count(3), 3U);
    EXPECT_EQ(thread_count(100'000), TaskPool::kMaxThreads);
    EXPECT_EQ(TaskPool(0).threads(), 1U);
}

} // namespace
} // namespace wavetap
