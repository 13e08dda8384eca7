// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// What plain HSA programs do with their queues. usage: hsa_queues CODE.elf CASE [N]
//   held     N launches (at most 250) behind a barrier that the host lets go when all are enqueued
//   destroy  N times: make a queue, launch, wait for the completion signal, destroy the queue at once
//   batch    N launches without waiting, one doorbell for 16 packets
//   pair     N launches by turns on two queues, without waiting
//   beside   N launches on each of two queues, which the host lets go at once; all may run beside each other
//   illegal  a queue ends in an illegal instruction among N launches; another one goes on
//   fault    a queue ends in a memory fault; it is destroyed, and another one goes on
//   stuck    a queue is destroyed while its launch waits for a signal that never comes
#include "soak/hsa_program.hpp"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

using namespace hsa_program;

namespace {

constexpr std::uint32_t kItems = 256;
std::atomic<int> g_queue_errors{0}, g_memory_faults{0};

void on_queue_error(hsa_status_t status, hsa_queue_t*, void*) {
    std::printf("hsa_queues: queue error 0x%x\n", static_cast<unsigned>(status));
    ++g_queue_errors;
}

hsa_queue_t* make_queue(const Machine& machine, std::uint32_t packets = 256) {
    hsa_queue_t* queue = nullptr;
    CHECK(hsa_queue_create(machine.gpu, packets, HSA_QUEUE_TYPE_MULTI, on_queue_error, nullptr,
                           UINT32_MAX, UINT32_MAX, &queue));
    return queue;
}

hsa_signal_t make_signal() {
    hsa_signal_t signal{};
    CHECK(hsa_signal_create(1, 0, nullptr, &signal));
    return signal;
}

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "hsa_queues: %s\n", what.c_str());
    std::exit(1);
}

template <class Condition> bool comes_true(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(kLimitNs);
    while (!condition()) {
        if (std::chrono::steady_clock::now() >= end) return false;
        std::this_thread::yield();
    }
    return true;
}

/// As every program does with a native ring: packets go in while there is room.
void wait_for_room(hsa_queue_t* queue, std::uint64_t packets) {
    if (!comes_true([&] {
            return hsa_queue_load_write_index_relaxed(queue) + packets -
                       hsa_queue_load_read_index_scacquire(queue) <=
                   queue->size;
        }))
        fail("the ring stays full");
}

/// A row of counters that the kernel `tick` counts up.
struct Ticks {
    Kernel kernel;
    std::uint32_t* out = nullptr;
    void* kernarg = nullptr;
    explicit Ticks(const Machine& machine) : kernel(find_kernel(machine, "tick.kd")) {
        out = static_cast<std::uint32_t*>(
            allocate(machine, machine.host_pool, kItems * sizeof(std::uint32_t)));
        kernarg = arguments(machine, kernel, out);
    }
    std::uint64_t write(hsa_queue_t* queue, hsa_signal_t done = {}) const {
        wait_for_room(queue, 1);
        return write_dispatch(queue, kernel, kernarg, kItems, done);
    }
    void check(std::uint32_t launches) const {
        for (std::uint32_t i = 0; i < kItems; ++i)
            if (out[i] != launches)
                fail("element " + std::to_string(i) + " is " + std::to_string(out[i]) + ", not " +
                     std::to_string(launches));
    }
};

void case_destroy(const Machine& machine, int launches) {
    const Ticks ticks(machine);
    const hsa_signal_t done = make_signal();
    for (int launch = 0; launch < launches; ++launch) {
        hsa_queue_t* queue = make_queue(machine);
        hsa_signal_store_relaxed(done, 1);
        ring_doorbell(queue, ticks.write(queue, done));
        if (!wait_below_one(done)) fail("a launch did not complete");
        CHECK(hsa_queue_destroy(queue));
    }
    ticks.check(static_cast<std::uint32_t>(launches));
    CHECK(hsa_signal_destroy(done));
}

void case_batch(const Machine& machine, int launches) {
    constexpr int kBatch = 16;
    const Ticks ticks(machine);
    const hsa_signal_t done = make_signal();
    hsa_queue_t* queue = make_queue(machine);
    const auto begin = std::chrono::steady_clock::now();
    for (int launch = 0; launch < launches;) {
        const int end = launch + kBatch < launches ? launch + kBatch : launches;
        wait_for_room(queue, kBatch);
        std::uint64_t last = 0;
        for (; launch < end; ++launch)
            last = ticks.write(queue, launch + 1 == launches ? done : hsa_signal_t{});
        ring_doorbell(queue, last);
    }
    if (!wait_below_one(done, 10 * kLimitNs)) fail("the launches did not complete");
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::steady_clock::now() - begin);
    std::printf("hsa_queues: %d launches took %lld us\n", launches,
                static_cast<long long>(took.count()));
    ticks.check(static_cast<std::uint32_t>(launches));
    CHECK(hsa_signal_destroy(done));
    CHECK(hsa_queue_destroy(queue));
}

void case_pair(const Machine& machine, int launches) {
    const Ticks ticks[2] = {Ticks(machine), Ticks(machine)};
    hsa_queue_t* const queues[2] = {make_queue(machine), make_queue(machine)};
    const hsa_signal_t done[2] = {make_signal(), make_signal()};
    for (int launch = 0; launch < launches; ++launch)
        for (int q = 0; q < 2; ++q)
            ring_doorbell(
                queues[q],
                ticks[q].write(queues[q], launch + 1 == launches ? done[q] : hsa_signal_t{}));
    for (int q = 0; q < 2; ++q) {
        if (!wait_below_one(done[q])) fail("the launches did not complete");
        ticks[q].check(static_cast<std::uint32_t>(launches));
        CHECK(hsa_queue_destroy(queues[q]));
        CHECK(hsa_signal_destroy(done[q]));
    }
}

/// A barrier packet that waits for `signal`.
std::uint64_t write_barrier(hsa_queue_t* queue, hsa_signal_t signal) {
    const std::uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
    auto* packet =
        static_cast<hsa_barrier_and_packet_t*>(queue->base_address) + index % queue->size;
    std::memset(packet, 0, sizeof *packet);
    packet->dep_signal[0] = signal;
    __atomic_store_n(reinterpret_cast<std::uint16_t*>(packet),
                     static_cast<std::uint16_t>(HSA_PACKET_TYPE_BARRIER_AND | 1u << 8),
                     __ATOMIC_RELEASE);
    return index;
}

void case_held(const Machine& machine, int launches) {
    const Ticks ticks(machine);
    hsa_queue_t* queue = make_queue(machine);
    const hsa_signal_t go = make_signal(), done = make_signal();
    ring_doorbell(queue, write_barrier(queue, go));
    for (int launch = 0; launch < launches; ++launch)
        ring_doorbell(queue, ticks.write(queue, launch + 1 == launches ? done : hsa_signal_t{}));
    hsa_signal_store_screlease(go, 0);
    if (!wait_below_one(done)) fail("the launches did not complete");
    ticks.check(static_cast<std::uint32_t>(launches));
    CHECK(hsa_queue_destroy(queue));
    CHECK(hsa_signal_destroy(go));
    CHECK(hsa_signal_destroy(done));
}

void case_beside(const Machine& machine, int launches) {
    const Kernel kernel = find_kernel(machine, "pour.kd");
    constexpr std::uint32_t kWords = 1024;
    auto* out = static_cast<std::uint32_t*>(
        allocate(machine, machine.host_pool, kWords * sizeof(std::uint32_t)));
    void* kernarg = arguments(machine, kernel, out);
    hsa_queue_t* const queues[2] = {make_queue(machine), make_queue(machine)};
    const hsa_signal_t go = make_signal(), done = make_signal();
    hsa_signal_store_relaxed(done, 2 * launches);
    for (hsa_queue_t* queue : queues)
        ring_doorbell(queue, write_barrier(queue, go));
    for (int launch = 0; launch < launches; ++launch)
        for (hsa_queue_t* queue : queues)
            ring_doorbell(queue, write_dispatch(queue, kernel, kernarg, kItems, done, false));
    hsa_signal_store_screlease(go, 0);
    if (!wait_below_one(done)) fail("the launches did not complete");
    for (std::uint32_t i = 0; i < kItems; ++i)
        if (out[i] != i) fail("element " + std::to_string(i) + " is " + std::to_string(out[i]));
    for (hsa_queue_t* queue : queues)
        CHECK(hsa_queue_destroy(queue));
    CHECK(hsa_signal_destroy(go));
    CHECK(hsa_signal_destroy(done));
}

/// `launches` on a queue of its own, each waited for.
void work_on(const Machine& machine, hsa_queue_t* queue, int launches) {
    const Ticks ticks(machine);
    const hsa_signal_t done = make_signal();
    for (int launch = 0; launch < launches; ++launch) {
        hsa_signal_store_relaxed(done, 1);
        ring_doorbell(queue, ticks.write(queue, done));
        if (!wait_below_one(done)) fail("a launch behind the fault did not complete");
    }
    ticks.check(static_cast<std::uint32_t>(launches));
    CHECK(hsa_signal_destroy(done));
}

void case_illegal(const Machine& machine, int launches) {
    hsa_queue_t* good = make_queue(machine);
    hsa_queue_t* bad = make_queue(machine);
    work_on(machine, bad, launches);
    const Kernel broken = find_kernel(machine, "broken.kd");
    const Ticks behind(machine);
    void* kernarg = arguments(machine, broken, behind.out);
    std::uint64_t last = write_dispatch(bad, broken, kernarg, 64, {});
    for (int launch = 0; launch < launches; ++launch)
        last = behind.write(bad);
    ring_doorbell(bad, last);
    if (!comes_true([] { return g_queue_errors != 0; })) fail("no queue error");
    work_on(machine, good, launches);
    CHECK(hsa_queue_destroy(bad));
    work_on(machine, good, launches);
    CHECK(hsa_queue_destroy(good));
}

void case_fault(const Machine& machine, int launches) {
    CHECK(hsa_amd_register_system_event_handler(
        [](const hsa_amd_event_t*, void*) {
            ++g_memory_faults;
            return HSA_STATUS_SUCCESS;
        },
        nullptr));
    hsa_queue_t* good = make_queue(machine);
    hsa_queue_t* bad = make_queue(machine);
    work_on(machine, bad, launches);
    const Kernel tick = find_kernel(machine, "tick.kd");
    void* kernarg = arguments(machine, tick, std::uint64_t{0x123456789000});
    ring_doorbell(bad, write_dispatch(bad, tick, kernarg, 64, {}));
    if (!comes_true([] { return g_memory_faults != 0; })) fail("no memory fault");
    CHECK(hsa_queue_destroy(bad));
    work_on(machine, good, launches);
    CHECK(hsa_queue_destroy(good));
}

void case_stuck(const Machine& machine, int launches) {
    hsa_queue_t* good = make_queue(machine);
    hsa_queue_t* stuck = make_queue(machine);
    const hsa_signal_t never = make_signal();
    (void)write_barrier(stuck, never);
    const Ticks ticks(machine);
    ring_doorbell(stuck, ticks.write(stuck));
    work_on(machine, good, launches);
    CHECK(hsa_queue_destroy(stuck));
    work_on(machine, good, launches);
    ticks.check(0);
    CHECK(hsa_queue_destroy(good));
    CHECK(hsa_signal_destroy(never));
}

struct Case {
    const char* name;
    void (*run)(const Machine& machine, int launches);
};
constexpr Case kCases[] = {{"held", case_held},     {"destroy", case_destroy},
                           {"batch", case_batch},   {"pair", case_pair},
                           {"beside", case_beside}, {"illegal", case_illegal},
                           {"fault", case_fault},   {"stuck", case_stuck}};

} // namespace

int main(int argc, char** argv) {
    const std::string name = argc > 2 ? argv[2] : "";
    const int launches = argc > 3 ? std::atoi(argv[3]) : 4;
    for (const Case& c : kCases) {
        if (name != c.name) continue;
        Machine machine = open_machine(argv[1]);
        c.run(machine, launches);
        close_machine(machine);
        std::printf("hsa_queues: %s %d, all equal\n", c.name, launches);
        return 0;
    }
    std::fprintf(
        stderr,
        "usage: hsa_queues CODE.elf held|destroy|batch|pair|beside|illegal|fault|stuck [N]\n");
    return 2;
}
