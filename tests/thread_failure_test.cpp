// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/task_pool.hpp"
#include "capture/session.hpp"
#include "stream_driver.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>

// A system that gives no more threads: the n-th one fails, for every n.

namespace {

std::atomic<int> g_until_failure{0}; ///< threads that are still given; 0 = all

} // namespace

// Stands before that of the C library, for the C++ library too (ENABLE_EXPORTS).
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*start)(void*), void* argument) {
    if (g_until_failure > 0 && --g_until_failure == 0) return EAGAIN;
    static const auto real =
        reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
    return real(thread, attributes, start, argument);
}

namespace wavetap::test {
namespace {

void ignore(const capture::Chunk&, void*) {}

/// Starts and stops a context with four buffers, delivered by several threads, whose n-th thread fails, then once more.
/// Returns false once there is no n-th thread.
bool start_fails(int n) {
    StreamGpu gpu(10);
    SteadyClock clock;
    {
        capture::Session session;
        capture::AgentHub::Options options;
        options.engine.topology = stream_topology();
        session.add_agent(std::make_unique<capture::AgentHub>(std::make_unique<StreamBackend>(gpu),
                                                              options, clock));
        capture::TraceParams params;
        params.buffers = 4;
        params.buffer_bytes = 1 << 20;
        params.as_ready = 1;
        const auto context = session.create();
        EXPECT_TRUE(context && session.configure(*context, 0, params, ignore, nullptr));
        g_until_failure = n;
        const auto started = session.start(*context);
        const bool failed = g_until_failure.exchange(0) == 0;
        EXPECT_EQ(started.has_value(), !failed) << n;
        if (!started) {
            EXPECT_EQ(started.error().code, ErrorCode::kLimit) << to_string(started.error());
            EXPECT_NE(started.error().message.find("no thread"), std::string::npos);
            EXPECT_FALSE(gpu.any_armed()) << n;
            const auto again = session.start(*context);
            EXPECT_TRUE(again) << n << ": " << to_string(again.error());
        }
        const auto stopped = session.stop(*context);
        EXPECT_TRUE(stopped) << n;
        EXPECT_TRUE(session.close());
        if (!failed) return false;
    }
    EXPECT_EQ(gpu.blocks, 0) << n;
    EXPECT_EQ(gpu.queues, 0) << n;
    return true;
}

TEST(ThreadFailure, AStartWithoutAThreadIsAStatusAndALaterOneWorks) {
    int n = 1;
    while (n < 20 && start_fails(n) && !HasFailure())
        ++n;
    EXPECT_EQ(n, 1 + 1 + 4) << "the hub's thread and one for each buffer";
}

TEST(ThreadFailure, FewerThreadsDoTheSameWork) {
    for (int n = 1; n <= 4; ++n) {
        g_until_failure = n;
        TaskPool pool(4);
        g_until_failure = 0;
        TaskPool::Group group;
        std::atomic<int> sum{0};
        pool.start(group, 100, [&](std::size_t i) { sum += static_cast<int>(i); });
        pool.finish(group);
        EXPECT_EQ(sum, 99 * 100 / 2) << n;
    }
}

} // namespace
} // namespace wavetap::test
