// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/session.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

// A program of its own, since it replaces operator new.

namespace {
std::atomic<std::uint64_t> g_allocations{0};

void* counted(std::size_t size) {
    ++g_allocations;
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

/// Answers everything at once, out of memory taken at the start.
class InstantBackend final : public Backend {
  public:
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
    Result<Ticket> submit(std::span<const CommandBuffer>, TimePoint) override { return Ticket{1}; }
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

} // namespace
} // namespace wavetap::capture
