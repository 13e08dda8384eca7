// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "dispatch_launcher.h"

#include "soak/hsa_program.hpp"

#include <string>

using namespace hsa_program;

namespace {

constexpr std::uint32_t kItems = 256;

struct Lane {
    hsa_queue_t* queue = nullptr;
    hsa_signal_t done{};
    std::uint32_t* ticks = nullptr;
    std::uint32_t* filled = nullptr;
    void* tick_kernarg = nullptr;
    void* fill_kernarg = nullptr;
    std::uint32_t tick_count = 0, fill_count = 0;
};

Machine g_machine;
Kernel g_fill, g_tick;
Lane g_lanes[2];

struct FillArguments {
    std::uint32_t* out;
    std::uint32_t count, value;
};

} // namespace

void launcher_open() {
    CHECK(hsa_init());
    g_machine = find_machine();
    for (Lane& lane : g_lanes) {
        CHECK(hsa_queue_create(g_machine.gpu, 256, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr,
                               UINT32_MAX, UINT32_MAX, &lane.queue));
        CHECK(hsa_signal_create(1, 0, nullptr, &lane.done));
    }
}

void launcher_load(const char* code) {
    g_machine = open_machine(code);
    CHECK(hsa_shut_down()); // one of two
    g_fill = find_kernel(g_machine, "fill.kd");
    g_tick = find_kernel(g_machine, "tick.kd");
    for (Lane& lane : g_lanes) {
        const auto words = [] {
            return static_cast<std::uint32_t*>(
                allocate(g_machine, g_machine.host_pool, kItems * sizeof(std::uint32_t)));
        };
        lane.ticks = words();
        lane.filled = words();
        lane.tick_kernarg = arguments(g_machine, g_tick, lane.ticks);
        lane.fill_kernarg = arguments(g_machine, g_fill, FillArguments{lane.filled, kItems, 7});
    }
}

void launcher_launch(int queue, const char* kernel) {
    Lane& lane = g_lanes[queue];
    const bool fill = std::string(kernel) == "fill";
    ++(fill ? lane.fill_count : lane.tick_count);
    hsa_signal_store_relaxed(lane.done, 1);
    ring_doorbell(lane.queue,
                  write_dispatch(lane.queue, fill ? g_fill : g_tick,
                                 fill ? lane.fill_kernarg : lane.tick_kernarg, kItems, lane.done));
    if (wait_below_one(lane.done)) return;
    std::fprintf(stderr, "dispatch_launcher: a launch did not complete\n");
    std::exit(1);
}

int launcher_close() {
    bool good = true;
    for (const Lane& lane : g_lanes)
        for (std::uint32_t i = 0; i < kItems; ++i)
            good = good && lane.ticks[i] == lane.tick_count &&
                   lane.filled[i] == (lane.fill_count != 0 ? 7 + i : 0);
    for (const Lane& lane : g_lanes) {
        CHECK(hsa_signal_destroy(lane.done));
        CHECK(hsa_queue_destroy(lane.queue));
    }
    close_machine(g_machine);
    return good ? 1 : 0;
}
