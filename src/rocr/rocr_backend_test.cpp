// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/mutex.hpp"
#include "rocr/rocr_backend.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace wavetap::rocr {
namespace {

using std::chrono::milliseconds;

// A runtime with one queue: its packets are done at the doorbell if `answers`; the read index moves when a
// test says so.
constexpr std::uint32_t kRing = 64;
constexpr std::uint64_t kDoorbell = 1000;
alignas(64) std::uint32_t g_ring[kRing][16];
hsa_queue_t g_queue;
std::uint64_t g_write = 0, g_read = 0;
std::vector<hsa_signal_value_t> g_signals; ///< by handle - 1
bool g_answers = true;
int g_looks = 0; ///< at the read index
struct Wait {
    bool blocks = false;
    std::uint64_t limit_ns = 0;
};
std::vector<Wait> g_waits;
std::function<void()> g_on_wait;

void ring_doorbell() {
    if (!g_answers) return;
    for (hsa_signal_value_t& value : g_signals)
        value = 0; // those of submissions are all that stand at 1
}

HsaFunctions small_runtime() {
    g_queue = {};
    g_queue.size = kRing;
    g_queue.base_address = g_ring;
    g_queue.doorbell_signal = {kDoorbell};
    g_write = g_read = 0;
    g_signals.clear();
    g_answers = true;
    g_looks = 0;
    g_waits.clear();
    g_on_wait = [] {};
    HsaFunctions hsa;
    hsa.queue_create = [](hsa_agent_t, std::uint32_t, hsa_queue_type32_t, QueueErrorHandler, void*,
                          std::uint32_t, std::uint32_t, hsa_queue_t** queue) {
        *queue = &g_queue;
        return HSA_STATUS_SUCCESS;
    };
    hsa.queue_destroy = [](hsa_queue_t*) { return HSA_STATUS_SUCCESS; };
    hsa.queue_load_write_index = [](const hsa_queue_t*) { return g_write; };
    hsa.queue_load_read_index = [](const hsa_queue_t*) {
        ++g_looks;
        return g_read;
    };
    hsa.queue_add_write_index = [](const hsa_queue_t*, std::uint64_t count) {
        return std::exchange(g_write, g_write + count);
    };
    hsa.signal_create = [](hsa_signal_value_t value, std::uint32_t, const hsa_agent_t*,
                           hsa_signal_t* signal) {
        g_signals.push_back(value);
        *signal = {g_signals.size()};
        return HSA_STATUS_SUCCESS;
    };
    hsa.signal_destroy = [](hsa_signal_t) { return HSA_STATUS_SUCCESS; };
    hsa.signal_load = [](hsa_signal_t signal) { return g_signals[signal.handle - 1]; };
    hsa.signal_store = [](hsa_signal_t signal, hsa_signal_value_t value) {
        if (signal.handle == kDoorbell)
            ring_doorbell();
        else
            g_signals[signal.handle - 1] = value;
    };
    hsa.signal_wait = [](hsa_signal_t signal, hsa_signal_condition_t, hsa_signal_value_t,
                         std::uint64_t limit_ns, hsa_wait_state_t) {
        const bool blocks = g_signals[signal.handle - 1] >= 1;
        g_waits.push_back({blocks, limit_ns});
        g_on_wait();
        if (blocks && g_signals[signal.handle - 1] >= 1) { // as the runtime, for all of the limit
            Mutex mutex;
            CondVar never;
            MutexLock lock(mutex);
            never.wait_until(mutex,
                             std::chrono::steady_clock::now() + std::chrono::nanoseconds(limit_ns),
                             [] { return false; });
        }
        return g_signals[signal.handle - 1];
    };
    return hsa;
}

class RocrBackendTest : public ::testing::Test {
  protected:
    RocrBackendTest() { EXPECT_TRUE(backend_.create_queue()); }
    static TimePoint in(milliseconds time) { return std::chrono::steady_clock::now() + time; }
    Result<capture::Ticket> submit(std::size_t buffers, milliseconds limit = milliseconds(10'000)) {
        const std::vector<capture::CommandBuffer> streams(buffers, {0x1000, 4, 1});
        return backend_.submit(streams, in(limit));
    }
    /// The ring is full, and the signals of what is in it have completed.
    void fill() {
        const auto ticket = submit(kRing);
        ASSERT_TRUE(ticket);
        ASSERT_TRUE(backend_.wait(*ticket, in(milliseconds(10'000))));
        g_looks = 0;
    }
    /// Nobody looked again without having waited.
    static void expect_pauses() {
        for (const Wait& wait : g_waits) {
            EXPECT_TRUE(wait.blocks) << "a wait that returns at once";
            EXPECT_GT(wait.limit_ns, 0u);
            EXPECT_LE(wait.limit_ns, 20'000'000u) << "a look at the deadline in between";
        }
        EXPECT_LE(static_cast<std::size_t>(g_looks), g_waits.size() + 1);
    }

    RocrBackend backend_{small_runtime(), GpuAgent{}, std::make_shared<RuntimeGate>()};
};

TEST_F(RocrBackendTest, AReadIndexThatFollowsLateIsWaitedForWithPauses) {
    fill();
    g_on_wait = [] { g_read = g_waits.size() == 3 ? kRing : 0; };
    EXPECT_TRUE(submit(1));
    EXPECT_EQ(g_waits.size(), 3u);
    expect_pauses();
}

TEST_F(RocrBackendTest, AReadIndexThatStaysIsWaitedForUntilTheDeadline) {
    fill();
    const auto late = submit(1, milliseconds(20));
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::kTimeout);
    EXPECT_FALSE(g_waits.empty());
    expect_pauses();
    // Nothing was taken by that.
    g_read = kRing;
    for (int i = 0; i < 8; ++i) {
        const auto ticket = submit(1);
        ASSERT_TRUE(ticket) << i;
        EXPECT_TRUE(backend_.wait(*ticket, in(milliseconds(10'000))));
    }
}

TEST_F(RocrBackendTest, ASubmissionThatIsNotAnsweredIsWaitedForByItsSignal) {
    g_answers = false;
    ASSERT_TRUE(submit(kRing));
    g_looks = 0;
    g_answers = true;
    g_on_wait = [] {
        ring_doorbell();
        g_read = kRing;
    };
    EXPECT_TRUE(submit(1));
    ASSERT_EQ(g_waits.size(), 1u);
    EXPECT_GT(g_waits[0].limit_ns, 1'000'000u) << "its signal wakes us";
    expect_pauses();
}

} // namespace
} // namespace wavetap::rocr
