// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// A plain HSA program in which a tool that stores chunks is slow: its open() of a file "….att" stays
// inside until the program lets it go, or sleeps.
// usage: hsa_paired CODE.elf two|one | hsa_paired CODE.elf slow LAUNCHES MICROSECONDS
// two: the second launch completes while the first one's chunk is inside, the third does not;
// one: the second does not. slow: each file takes so long; prints the time by the clock.
#include "soak/hsa_program.hpp"

#include <dlfcn.h>

#include <chrono>
#include <condition_variable>
#include <cstdarg>
#include <mutex>
#include <string_view>
#include <thread>

using namespace hsa_program;

namespace {

constexpr auto kLimit = std::chrono::seconds(60);
constexpr std::uint64_t kHeldNs = 300'000'000; ///< must not complete for so long

std::mutex g_mutex;
std::condition_variable g_changed;
bool g_hold = false, g_inside = false;
std::chrono::microseconds g_sleep{0};

void store_chunk() {
    std::unique_lock lock(g_mutex);
    if (g_sleep.count() != 0) {
        const auto time = g_sleep;
        lock.unlock();
        std::this_thread::sleep_for(time);
        return;
    }
    g_inside = true;
    g_changed.notify_all();
    g_changed.wait_for(lock, kLimit, [] { return !g_hold; });
}

bool wait_inside() {
    std::unique_lock lock(g_mutex);
    return g_changed.wait_for(lock, kLimit, [] { return g_inside; });
}

void let_go() {
    const std::lock_guard lock(g_mutex);
    g_hold = false;
    g_changed.notify_all();
}

struct Program {
    Machine machine;
    Kernel kernel;
    void* kernarg = nullptr;
    hsa_queue_t* queue = nullptr;
    hsa_signal_t done[3]{};
    static constexpr std::uint32_t kItems = 1024;

    explicit Program(const char* code) : machine(open_machine(code)) {
        kernel = find_kernel(machine, "fill.kd");
        struct Arguments {
            void* out;
            std::uint32_t count, value;
        };
        kernarg = arguments(
            machine, kernel,
            Arguments{allocate(machine, machine.host_pool, kItems * sizeof(std::uint32_t)), kItems,
                      7});
        CHECK(hsa_queue_create(machine.gpu, 256, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr,
                               UINT32_MAX, UINT32_MAX, &queue));
        for (hsa_signal_t& signal : done)
            CHECK(hsa_signal_create(1, 0, nullptr, &signal));
    }
    void launch(int which) {
        ring_doorbell(queue, write_dispatch(queue, kernel, kernarg, kItems, done[which]));
    }
    void close() {
        for (const hsa_signal_t& signal : done)
            CHECK(hsa_signal_destroy(signal));
        CHECK(hsa_queue_destroy(queue));
        close_machine(machine);
    }
};

/// How many launches complete while the first one's chunk is inside.
int count_while_inside(Program& program, int expected) {
    {
        const std::lock_guard lock(g_mutex);
        g_hold = true;
    }
    program.launch(0);
    if (!wait_below_one(program.done[0]) || !wait_inside()) return -1;
    program.launch(1);
    program.launch(2);
    int completed = 1;
    while (completed < expected && wait_below_one(program.done[completed]))
        ++completed;
    if (completed < 3 && wait_below_one(program.done[completed], kHeldNs)) ++completed;
    let_go();
    for (const hsa_signal_t& signal : program.done)
        if (!wait_below_one(signal)) return -1;
    return completed;
}

int run_slowly(Program& program, int launches) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < launches; ++i) {
        hsa_signal_store_relaxed(program.done[0], 1);
        program.launch(0);
        if (!wait_below_one(program.done[0])) return 1;
    }
    const auto took = std::chrono::steady_clock::now() - begin;
    std::printf("hsa_paired: %d launches took %lld us\n", launches,
                static_cast<long long>(
                    std::chrono::duration_cast<std::chrono::microseconds>(took).count()));
    return 0;
}

} // namespace

/// Stands before the C library's, for everything in the process.
extern "C" __attribute__((visibility("default"))) int open(const char* path, int flags, ...) {
    using Open = int (*)(const char*, int, ...);
    static const auto real = reinterpret_cast<Open>(dlsym(RTLD_NEXT, "open"));
    mode_t mode = 0;
    if ((flags & O_CREAT) != 0) {
        va_list list;
        va_start(list, flags);
        mode = va_arg(list, mode_t);
        va_end(list);
        if (std::string_view(path).ends_with(".att")) store_chunk();
    }
    return real(path, flags, mode);
}

int main(int argc, char** argv) {
    const std::string_view how = argc > 2 ? argv[2] : "";
    if (how != "two" && how != "one" && (how != "slow" || argc != 5)) return 2;
    Program program(argv[1]);
    int status = 0;
    if (how == "slow") {
        g_sleep = std::chrono::microseconds(std::atoi(argv[4]));
        status = run_slowly(program, std::atoi(argv[3]));
    } else {
        const int expected = how == "two" ? 2 : 1;
        const int completed = count_while_inside(program, expected);
        std::printf("hsa_paired: %d completed while a chunk was inside\n", completed);
        status = completed == expected ? 0 : 1;
    }
    program.close();
    return status;
}
