// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/kfd/events.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <set>
#include <thread>
#include <vector>

namespace wavetap::softgpu::kfd {
namespace {

constexpr std::uint32_t kForever = 0xffffffff;

std::uint32_t make(Events& events, bool auto_reset = true, std::uint32_t type = kEventSignal) {
    std::uint32_t id = 0;
    EXPECT_EQ(events.create(type, auto_reset, id), 0);
    return id;
}

std::uint32_t wait_one(Events& events, std::uint32_t id, std::uint32_t timeout_ms) {
    EventData data{};
    data.event_id = id;
    std::uint32_t result = 99;
    EXPECT_EQ(events.wait({&data, 1}, true, timeout_ms, result), 0);
    return result;
}

/// Threads that wait for `id`; ready() once each is inside the wait.
class Waiters {
  public:
    Waiters(Events& events, std::uint32_t id, unsigned count) {
        for (unsigned i = 0; i < count; ++i)
            threads_.emplace_back([this, &events, id] {
                if (wait_one(events, id, kForever) == kWaitComplete) ++completed_;
            });
        while (events.waiters_for_test(id) != count)
            std::this_thread::yield();
    }
    unsigned join() {
        for (std::thread& thread : threads_)
            thread.join();
        return completed_;
    }

  private:
    std::vector<std::thread> threads_;
    std::atomic<unsigned> completed_{0};
};

TEST(EventsTest, Ids_SignalsFitThePage_OthersDoNot) {
    Events events;
    std::set<std::uint32_t> ids;
    for (std::uint32_t i = 1; i < Events::kSignalLimit; ++i)
        ids.insert(make(events));
    EXPECT_EQ(ids.size(), Events::kSignalLimit - 1);
    EXPECT_GE(*ids.begin(), 1u);
    EXPECT_LT(*ids.rbegin(), Events::kSignalLimit);
    std::uint32_t id = 0;
    EXPECT_EQ(events.create(kEventSignal, true, id), ENOSPC);
    EXPECT_GE(make(events, true, kEventMemory), Events::kFirstOtherId);
    EXPECT_EQ(events.destroy(77), 0);
    EXPECT_EQ(make(events), 77u) << "the only free id";
}

TEST(EventsTest, UnknownIds_AreErrors) {
    Events events;
    EXPECT_EQ(events.set(5), EINVAL);
    EXPECT_EQ(events.reset(5), EINVAL);
    EXPECT_EQ(events.destroy(5), EINVAL);
    events.interrupt(5); // the kernel ignores it, too
    EventData data{};
    data.event_id = 5;
    std::uint32_t result = 0;
    EXPECT_EQ(events.wait({&data, 1}, true, 0, result), EINVAL);
    EXPECT_EQ(result, kWaitFail);
}

TEST(EventsTest, AutoReset_SetWithoutWaiter_SticksForOneWait) {
    Events events;
    const std::uint32_t id = make(events);
    EXPECT_EQ(wait_one(events, id, 0), kWaitTimeout);
    events.set(id);
    EXPECT_EQ(wait_one(events, id, 0), kWaitComplete);
    EXPECT_EQ(wait_one(events, id, 0), kWaitTimeout);
}

TEST(EventsTest, ManualReset_SetSticksUntilReset) {
    Events events;
    const std::uint32_t id = make(events, false);
    events.set(id);
    EXPECT_EQ(wait_one(events, id, 0), kWaitComplete);
    EXPECT_EQ(wait_one(events, id, 0), kWaitComplete);
    events.reset(id);
    EXPECT_EQ(wait_one(events, id, 0), kWaitTimeout);
}

TEST(EventsTest, AutoReset_SetWithWaiters_WakesAllAndDoesNotStick) {
    Events events;
    const std::uint32_t id = make(events);
    Waiters waiters(events, id, 4);
    events.interrupt(id);
    EXPECT_EQ(waiters.join(), 4u);
    EXPECT_EQ(wait_one(events, id, 0), kWaitComplete) << "a thread that did not see it yet";
    EXPECT_EQ(wait_one(events, id, 0), kWaitTimeout);
}

// A thread looked at its signal, and the set that it then waits for was consumed by another one.
TEST(EventsTest, AutoReset_SetWithoutWaiter_EndsTheNextWaitOfEveryThread) {
    Events events;
    const std::uint32_t id = make(events);
    events.set(id);
    std::thread([&] {
        EXPECT_EQ(wait_one(events, id, 0), kWaitComplete);
        EXPECT_EQ(wait_one(events, id, 0), kWaitTimeout);
    }).join();
    EXPECT_EQ(wait_one(events, id, 0), kWaitComplete);
    EXPECT_EQ(wait_one(events, id, 0), kWaitTimeout);
}

TEST(EventsTest, AutoReset_Reset_IsForEveryThread) {
    Events events;
    const std::uint32_t id = make(events);
    events.set(id);
    events.reset(id);
    EXPECT_EQ(wait_one(events, id, 0), kWaitTimeout);
    std::thread([&] { EXPECT_EQ(wait_one(events, id, 0), kWaitTimeout); }).join();
    events.set(id);
    EXPECT_EQ(wait_one(events, id, 0), kWaitComplete);
}

TEST(EventsTest, WaitAll_TimesOut_GivesActivatedEventBack) {
    Events events;
    const std::uint32_t a = make(events), b = make(events);
    events.set(a);
    std::array<EventData, 2> data{};
    data[0].event_id = a;
    data[1].event_id = b;
    std::uint32_t result = 99;
    EXPECT_EQ(events.wait(data, true, 1, result), 0);
    EXPECT_EQ(result, kWaitTimeout);
    EXPECT_EQ(wait_one(events, a, 0), kWaitComplete);
}

TEST(EventsTest, WaitAny_OneSet_ConsumesOnlyThat) {
    Events events;
    const std::uint32_t a = make(events), b = make(events);
    events.set(b);
    std::array<EventData, 2> data{};
    data[0].event_id = a;
    data[1].event_id = b;
    std::uint32_t result = 99;
    EXPECT_EQ(events.wait(data, false, kForever, result), 0);
    EXPECT_EQ(result, kWaitComplete);
    EXPECT_EQ(wait_one(events, b, 0), kWaitTimeout);
}

TEST(EventsTest, Destroy_FailsTheWaiter) {
    Events events;
    const std::uint32_t id = make(events);
    int error = 0;
    std::uint32_t result = 99;
    std::thread waiter([&] {
        EventData data{};
        data.event_id = id;
        error = events.wait({&data, 1}, true, kForever, result);
    });
    while (events.waiters_for_test(id) == 0)
        std::this_thread::yield();
    EXPECT_EQ(events.destroy(id), 0);
    waiter.join();
    EXPECT_EQ(error, EIO);
    EXPECT_EQ(result, kWaitFail);
}

TEST(EventsTest, MemoryFault_FillsEveryMemoryEvent) {
    Events events;
    const std::uint32_t memory = make(events, true, kEventMemory), other = make(events);
    MemoryFaultData fault;
    fault.not_present = 1;
    fault.va = 0x1234000;
    fault.gpu_id = 7;
    EXPECT_EQ(events.memory_fault(fault), 1u);
    EXPECT_EQ(wait_one(events, other, 0), kWaitTimeout);
    EventData data{};
    data.event_id = memory;
    std::uint32_t result = 99;
    EXPECT_EQ(events.wait({&data, 1}, true, 0, result), 0);
    EXPECT_EQ(data.memory_fault.va, 0x1234000u);
    EXPECT_EQ(data.memory_fault.gpu_id, 7u);
    EXPECT_EQ(data.memory_fault.not_present, 1u);
}

TEST(EventsTest, Interrupt_ClearsTheSlotOfThePage) {
    Events events;
    std::vector<std::uint64_t> page(Events::kSignalLimit);
    events.set_page(page.data());
    const std::uint32_t id = make(events);
    EXPECT_EQ(page[id], Events::kUnsignalled);
    page[id] = id;
    events.interrupt(id);
    EXPECT_EQ(page[id], Events::kUnsignalled);
    EXPECT_EQ(wait_one(events, id, 0), kWaitComplete);
}

TEST(EventsTest, Age_OlderThanTheEvent_ReturnsAtOnce) {
    Events events(true);
    const std::uint32_t id = make(events);
    EventData data{};
    data.event_id = id;
    data.last_event_age = 1;
    std::uint32_t result = 99;
    events.set(id);
    EXPECT_EQ(wait_one(events, id, 0), kWaitComplete) << "consumed without looking at the age";
    EXPECT_EQ(events.wait({&data, 1}, true, kForever, result), 0);
    EXPECT_EQ(result, kWaitComplete) << "the age shows what was missed";
    EXPECT_EQ(data.last_event_age, 2u);
    EXPECT_EQ(events.wait({&data, 1}, true, 0, result), 0);
    EXPECT_EQ(result, kWaitTimeout) << "nothing new";
}

// A lost wake-up is a hang of the application: two threads hand a token to and fro.
TEST(EventsTest, PingPong_NoWakeUpIsLost) {
    Events events;
    const std::uint32_t ping = make(events), pong = make(events);
    constexpr int kRounds = 5000;
    std::thread other([&] {
        for (int i = 0; i < kRounds; ++i) {
            wait_one(events, ping, kForever);
            events.interrupt(pong);
        }
    });
    for (int i = 0; i < kRounds; ++i) {
        events.interrupt(ping);
        ASSERT_EQ(wait_one(events, pong, 30'000), kWaitComplete) << i;
    }
    other.join();
}

} // namespace
} // namespace wavetap::softgpu::kfd
