// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/caught.hpp"
#include "capture/session.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <vector>

// A program of its own, since it replaces operator new.

namespace {
std::atomic<std::uint64_t> g_allocations{0};
/// The allocations with these numbers fail, in whatever thread.
std::atomic<std::uint64_t> g_fail_first{0}, g_fail_last{0};

void* counted(std::size_t size) {
    const std::uint64_t number = ++g_allocations;
    if (number >= g_fail_first && number <= g_fail_last) throw std::bad_alloc();
    if (void* memory = std::malloc(size != 0 ? size : 1)) return memory;
    throw std::bad_alloc();
}
} // namespace

[[gnu::noinline]] void* operator new(std::size_t size) {
    return counted(size);
}
[[gnu::noinline]] void* operator new[](std::size_t size) {
    return counted(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept {
    std::free(memory);
}

namespace wavetap::capture {
namespace {

/// Answers everything at once, out of memory taken at the start; every trace unit says that it is on.
class InstantBackend final : public Backend {
  public:
    const char* name() const override { return "instant"; }
    Result<void> create_queue() override { return {}; }
    Result<void> destroy_queue() override { return {}; }
    Result<DeviceMemory> allocate_device(std::uint64_t bytes) override {
        ++calls;
        return DeviceMemory{0x100000000, bytes, bytes, 0};
    }
    Result<HostMemory> allocate_host(std::uint64_t bytes) override {
        ++calls;
        blocks_.emplace_back(bytes);
        return HostMemory{blocks_.back().data(), 0x200000000 + (calls << 30), bytes, 0};
    }
    void free_device(const DeviceMemory&) override {}
    void free_host(const HostMemory&) override {}
    Result<Ticket> submit(std::span<const CommandBuffer>, TimePoint) override {
        say_on();
        return Ticket{1};
    }
    void say_on() {
        const pm4::ControlLayout layout = pm4::control_layout(pm4::Dialect::kWavetap);
        constexpr std::uint32_t kBusy = 1U << 30;
        // The first block begins with the control block.
        for (std::uint32_t se = 0; se < 8; ++se)
            std::memcpy(blocks_.front().data() +
                            pm4::engine_entry_offset(pm4::Dialect::kWavetap, se) +
                            layout.query_status,
                        &kBusy, sizeof kBusy);
    }
    Result<void> wait(Ticket, TimePoint) override { return {}; }
    Result<void> copy_to_host(const HostMemory&, std::uint64_t, std::uint64_t, std::uint64_t,
                              TimePoint) override {
        return {};
    }
    std::uint64_t counter() override { return 1; }

    std::uint64_t calls = 0;

  private:
    std::vector<std::vector<std::byte>> blocks_;
};

TEST(AllocationTest, AWarmStartAndStopAllocateNothing) {
    SteadyClock clock;
    Session session;
    auto backend = std::make_unique<InstantBackend>();
    const InstantBackend& instant = *backend;
    AgentHub::Options options;
    options.engine.topology = {"gfx90a", 1, 8, 14, 4};
    session.add_agent(std::make_unique<AgentHub>(std::move(backend), options, clock));
    for (std::uint64_t id = 1; id <= 50; ++id)
        ASSERT_TRUE(session.hub(0).code_object_loaded({id, id << 20, 0x1000}));
    int chunks = 0;
    const auto count = [](const Chunk&, void* user) { ++*static_cast<int*>(user); };
    std::vector<ContextHandle> contexts;
    for (std::uint64_t i = 0; i < 8; ++i) {
        const auto handle = session.create();
        ASSERT_TRUE(handle);
        TraceParams params;
        params.se_mask = 1 + i % 3;
        params.target_cu = i;
        params.perf_counters[0] = {4, 0xf};
        params.perf_counter_count = i % 2;
        params.perf_period = 3 + i;
        ASSERT_TRUE(session.configure(*handle, 0, params, count, &chunks));
        contexts.push_back(*handle);
    }
    const auto round = [&] {
        bool good = true;
        for (const ContextHandle context : contexts) {
            good = session.start(context).has_value() && good;
            good = session.stop(context).has_value() && good;
        }
        return good;
    };
    ASSERT_TRUE(round());
    const std::uint64_t before = g_allocations, calls_before = instant.calls;
    for (int i = 0; i < 20; ++i)
        ASSERT_TRUE(round());
    EXPECT_EQ(g_allocations, before);
    EXPECT_EQ(instant.calls, calls_before);
    EXPECT_GT(chunks, 8 * 20);
}

/// Queues that execute at once.
class InstantQueues final : public LeaseClient {
  public:
    AgentHub* hub = nullptr;
    InstantBackend* gpu = nullptr;
    std::atomic<int> ready{0}, ended{0};
    void lease_ready(void* lease, const Result<void>&) override {
        ++ready;
        gpu->say_on();
        hub->lease_retired(lease);
    }
    void lease_ended(void*, const Result<RunSummary>&) override { ++ended; }
    LeaseProgress lease_progress(void*) override { return LeaseProgress::kDispatch; }
    void leases_failed(const Error&) override {}
};

class ShortMemoryTest : public ::testing::Test {
  protected:
    static constexpr std::uint64_t kMostAllocations = 2000;

    RunRequest request(std::uint32_t buffers) {
        TraceParams params;
        params.buffer_bytes = 1 << 20;
        params.buffers = buffers;
        const auto valid = ValidatedParams::create(params, topology_);
        EXPECT_TRUE(valid);
        RunRequest made;
        made.config = valid->config();
        made.buffers = buffers;
        made.lease_slots = buffers == 1 ? 2 : 0;
        made.handler = [](const Chunk&, void* user) { ++*static_cast<std::atomic<int>*>(user); };
        made.user = &chunks_;
        return made;
    }
    /// A marker that could not be sent is one that the GPU did not execute in time.
    void step(const auto& call, ErrorCode also = ErrorCode::kLimit) {
        const auto done = caught(call);
        if (done) return;
        ++errors_;
        const ErrorCode code = done.error().code;
        if (code != ErrorCode::kLimit && code != also) other_ = code;
    }
    void trace(AgentHub& hub, const RunRequest& request, std::uint64_t id) {
        step([&] { return hub.code_object_loaded({id, 0x10000, 0x1000}); }, ErrorCode::kTimeout);
        std::optional<RunningTrace> run;
        step([&]() -> Result<void> {
            WAVETAP_TRY(run, hub.start(request));
            return {};
        });
        step(
            [&] {
                return hub.code_object_loaded({id + 1, 0x20000, 0x1000});
            },
            ErrorCode::kTimeout);
        if (run) step([&] { return run->stop(); });
        step([&] { return hub.code_object_unloaded(id); }, ErrorCode::kTimeout);
    }
    void lease(AgentHub& hub, InstantQueues& queues, const RunRequest& request) {
        std::uint64_t owner = 0;
        step([&]() -> Result<void> {
            WAVETAP_TRY(const LeaseStreams streams, hub.open_leases(0, queues));
            owner = streams.owner;
            return {};
        });
        if (owner == 0) return;
        for (int& name : names_)
            step([&] { return hub.lease(&name, request); });
        step([&] { return hub.close_leases(owner, false); });
    }
    /// A life of a hub in which the n-th allocation, or each one from it on, fails. Returns whether
    /// there was one.
    bool life(std::uint64_t n, bool for_ever) {
        AgentHub::Options options;
        options.engine.topology = topology_;
        auto backend = std::make_unique<InstantBackend>();
        InstantQueues queues;
        queues.gpu = backend.get();
        AgentHub hub(std::move(backend), options, clock_);
        queues.hub = &hub;
        const RunRequest one = request(1), three = request(3);
        errors_ = 0;
        other_.reset();
        const std::uint64_t first = g_allocations + n;
        g_fail_last = for_ever ? ~std::uint64_t{0} : first;
        g_fail_first = first;
        trace(hub, one, 1);
        lease(hub, queues, one);
        trace(hub, three, 3);
        const bool reached = g_allocations >= first;
        g_fail_first = g_fail_last = 0;

        EXPECT_FALSE(other_) << error_code_name(*other_);
        EXPECT_EQ(queues.ready, queues.ended);
        // Nothing is left behind: all of it works.
        errors_ = 0;
        chunks_ = 0;
        queues.ready = queues.ended = 0;
        trace(hub, one, 5);
        EXPECT_EQ(chunks_, 1);
        lease(hub, queues, one);
        EXPECT_EQ(queues.ended, 3);
        EXPECT_EQ(chunks_, 4);
        trace(hub, three, 7);
        EXPECT_EQ(errors_, 0);
        EXPECT_TRUE(hub.close());
        return reached;
    }

    AgentTopology topology_{"gfx90a", 1, 8, 14, 4, 0, 100'000'000};
    SteadyClock clock_;
    std::atomic<int> chunks_{0};
    int errors_ = 0;
    int names_[3] = {};
    std::optional<ErrorCode> other_;
};

TEST_F(ShortMemoryTest, EveryFailingAllocationIsAnAnswerAndALaterStartWorks) {
    for (const bool for_ever : {false, true}) {
        std::uint64_t n = 1;
        while (n < kMostAllocations && life(n, for_ever)) {
            ASSERT_FALSE(HasFailure()) << "allocation " << n << (for_ever ? " and later" : "");
            ++n;
        }
        EXPECT_GT(n, 50u);
        EXPECT_LT(n, kMostAllocations);
    }
}

// A context on two agents: whichever allocation fails in its start or stop, both agents are free again.
TEST(ShortMemoryTogetherTest, EveryFailingAllocationLeavesTheContextAtRest) {
    for (const bool for_ever : {false, true}) {
        bool reached = true;
        std::uint64_t n = 1;
        for (; reached && n < 1000; ++n) {
            SteadyClock clock;
            Session session;
            std::atomic<int> chunks{0};
            for (int i = 0; i < 2; ++i) {
                AgentHub::Options options;
                options.engine.topology = {"gfx90a", 1, 8, 14, 4};
                session.add_agent(
                    std::make_unique<AgentHub>(std::make_unique<InstantBackend>(), options, clock));
            }
            const auto context = session.create();
            ASSERT_TRUE(context);
            TraceParams params;
            params.buffer_bytes = 1 << 20;
            const auto count = [](const Chunk&, void* user) {
                ++*static_cast<std::atomic<int>*>(user);
            };
            for (std::uint32_t agent = 0; agent < 2; ++agent)
                ASSERT_TRUE(session.configure(*context, agent, params, count, &chunks));
            const std::uint64_t first = g_allocations + n;
            g_fail_last = for_ever ? ~std::uint64_t{0} : first;
            g_fail_first = first;
            const auto started = caught([&] { return session.start(*context); });
            const auto stopped = caught([&] { return session.stop(*context); });
            reached = g_allocations >= first;
            g_fail_first = g_fail_last = 0;
            if (!started) {
                EXPECT_EQ(started.error().code, ErrorCode::kLimit) << n;
            }
            if (!stopped) {
                EXPECT_EQ(stopped.error().code, ErrorCode::kLimit) << n;
            }
            EXPECT_FALSE(*session.running(*context)) << n;
            chunks = 0;
            const auto again = session.start(*context);
            ASSERT_TRUE(again) << n << ": " << to_string(again.error());
            EXPECT_TRUE(session.stop(*context)) << n;
            EXPECT_EQ(chunks, 2) << n;
            EXPECT_TRUE(session.close());
        }
        EXPECT_GT(n, 20u);
        EXPECT_LT(n, 1000u);
    }
}

} // namespace
} // namespace wavetap::capture
