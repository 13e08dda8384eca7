// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// The program of `wavetap soak`: opens QUEUES queues on each of AGENTS GPU agents and launches one
// small kernel LAUNCHES times: on the next queue of every agent at once, then, when all of those have
// completed and every result was checked, on the next queues. With GROUPS it launches a kernel that
// writes many trace tokens: on each agent WINDOW launches with the first number of work-groups that is its
// turn (the numbers are dealt out to the agents), then as many with the next, and so on.
// usage: wavetap-soak-program QUEUES LAUNCHES [AGENTS [WINDOW GROUPS[,GROUPS...]]]
#include "soak/hsa_program.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

// The kernel for gfx90a, built from kernel.cl.
asm(".section .rodata\n"
    ".balign 4096\n"
    ".local soak_code\n"
    "soak_code:\n"
    ".incbin \"" WAVETAP_SOAK_CODE "\"\n"
    ".local soak_code_end\n"
    "soak_code_end:\n"
    ".byte 0\n"
    ".previous\n");
extern "C" const char soak_code[];
extern "C" const char soak_code_end[];

using namespace hsa_program;

namespace {

/// 64 workgroups of four waves: eight on each of eight shader engines, so that the first CUs of
/// every engine get a wave on every SIMD.
constexpr std::uint32_t kGroupItems = 256, kItems = 64 * kGroupItems;
constexpr int kMostQueues = 1000, kMostLaunches = 100'000'000, kMostAgents = 16,
              kMostGroups = 1'000'000;
constexpr std::uint64_t kLaunchLimitNs = 300'000'000'000; ///< a hang becomes a failure

/// The first `agents` GPUs.
Machine find_machine(std::size_t agents) {
    Machine machine = hsa_program::find_machine();
    if (machine.gpus.size() < agents) {
        std::fprintf(stderr, "wavetap-soak-program: the runtime shows %zu GPUs, %zu are needed\n",
                     machine.gpus.size(), agents);
        std::exit(1);
    }
    machine.gpus.resize(agents);
    return machine;
}

struct Arguments {
    std::uint32_t* out;
    std::uint32_t rounds;
    std::uint32_t seed;
};

/// What a run does.
struct Work {
    int launches = 0;
    int window = 1;
    std::vector<std::uint32_t> groups; ///< of each context; empty: soak_mix

    bool stream() const { return !groups.empty(); }
    /// `launch` counts over all agents, which take them by turns.
    std::uint32_t groups_of(int launch, int agents) const {
        if (!stream()) return kItems / kGroupItems;
        const auto count = static_cast<int>(groups.size());
        const int turns = (count + agents - 1) / agents; // of each agent
        const int context = launch / agents / window % turns * agents + launch % agents;
        return groups[static_cast<std::size_t>(context % count)];
    }
    std::size_t most_items() const {
        const auto largest = std::max_element(groups.begin(), groups.end());
        return stream() ? std::size_t{*largest} * kGroupItems : kItems;
    }
};

/// What soak_stream must have written.
void expect_stream(std::vector<std::uint32_t>& result, std::uint32_t items, std::uint32_t seed) {
    for (std::uint32_t i = 0; i < items; ++i)
        result[i] = (i ^ seed) * 1664525u;
}

/// What soak_mix must have written.
void expect(std::vector<std::uint32_t>& result, std::uint32_t rounds, std::uint32_t seed) {
    for (std::uint32_t group = 0; group < kItems; group += kGroupItems) {
        std::array<std::uint32_t, kGroupItems> row{}, next{};
        for (std::uint32_t i = 0; i < kGroupItems; ++i)
            row[i] = (group + i) ^ seed;
        for (std::uint32_t round = 0; round < rounds; ++round) {
            for (std::uint32_t i = 0; i < kGroupItems; ++i)
                next[i] = row[i] * 1664525u + row[(i + 1) % kGroupItems];
            row = next;
        }
        std::memcpy(result.data() + group, row.data(), sizeof row);
    }
}

/// What one agent works with.
struct Worker {
    Code code;
    Kernel kernel;
    std::vector<hsa_queue_t*> queues;
    void* kernarg = nullptr;
    std::uint32_t* out = nullptr;
    hsa_signal_t done{};
};

Worker make_worker(const Machine& machine, hsa_agent_t gpu, std::size_t queues, const Work& work) {
    Worker worker;
    worker.code = load_memory(gpu, soak_code, static_cast<std::size_t>(soak_code_end - soak_code));
    worker.kernel = find_kernel(worker.code, work.stream() ? "soak_stream.kd" : "soak_mix.kd");
    worker.queues.resize(queues);
    for (hsa_queue_t*& queue : worker.queues)
        CHECK(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX,
                               UINT32_MAX, &queue));
    const std::uint32_t bytes = worker.kernel.kernarg_bytes;
    worker.kernarg = allocate(machine, machine.kernarg_pool, bytes < 64 ? 64 : bytes);
    worker.out = static_cast<std::uint32_t*>(
        allocate(machine, machine.host_pool, work.most_items() * sizeof(std::uint32_t)));
    CHECK(hsa_signal_create(1, 0, nullptr, &worker.done));
    return worker;
}

void end_worker(const Worker& worker) {
    CHECK(hsa_signal_destroy(worker.done));
    CHECK(hsa_amd_memory_pool_free(worker.out));
    CHECK(hsa_amd_memory_pool_free(worker.kernarg));
    for (hsa_queue_t* queue : worker.queues)
        CHECK(hsa_queue_destroy(queue));
    unload(worker.code);
}

/// One launch on one agent.
struct Launch {
    int number = 0; ///< over all agents
    std::uint32_t items = kItems;
    bool stream = false;
};

Arguments arguments_of(const Worker& worker, const Launch& launch) {
    return {worker.out, 1u + static_cast<std::uint32_t>(launch.number) % 3,
            static_cast<std::uint32_t>(launch.number) * 2654435761u};
}

void begin(const Worker& worker, std::size_t round, const Launch& launch) {
    const Arguments arguments = arguments_of(worker, launch);
    std::memset(worker.kernarg, 0, worker.kernel.kernarg_bytes);
    std::memcpy(worker.kernarg, &arguments, sizeof arguments);
    std::memset(worker.out, 0, launch.items * sizeof *worker.out);
    hsa_signal_store_relaxed(worker.done, 1);
    hsa_queue_t* queue = worker.queues[round % worker.queues.size()];
    ring_doorbell(queue, write_dispatch(queue, worker.kernel, worker.kernarg, launch.items,
                                        worker.done, true, kGroupItems));
}

bool finish(const Worker& worker, const Launch& launch, std::vector<std::uint32_t>& expected) {
    if (!wait_below_one(worker.done, kLaunchLimitNs)) {
        std::fprintf(stderr, "wavetap-soak-program: launch %d did not complete\n", launch.number);
        std::exit(1);
    }
    const Arguments arguments = arguments_of(worker, launch);
    if (launch.stream)
        expect_stream(expected, launch.items, arguments.seed);
    else
        expect(expected, arguments.rounds, arguments.seed);
    const bool good =
        std::memcmp(worker.out, expected.data(), launch.items * sizeof *worker.out) == 0;
    if (!good) std::fprintf(stderr, "wavetap-soak-program: launch %d differs\n", launch.number);
    return good;
}

bool launch_all(const std::vector<Worker>& workers, const Work& work) {
    std::vector<std::uint32_t> expected(work.most_items());
    bool good = true;
    const int agents = static_cast<int>(workers.size());
    const auto launch_of = [&](int number) {
        return Launch{number, work.groups_of(number, agents) * kGroupItems, work.stream()};
    };
    for (int first = 0; first < work.launches && good; first += agents) {
        const int last = first + agents < work.launches ? first + agents : work.launches;
        for (int number = first; number < last; ++number)
            begin(workers[static_cast<std::size_t>(number - first)],
                  static_cast<std::size_t>(first / agents), launch_of(number));
        for (int number = first; number < last; ++number)
            good &= finish(workers[static_cast<std::size_t>(number - first)], launch_of(number),
                           expected);
    }
    return good;
}

int number(const char* text, int most) {
    char* end = nullptr;
    const long value = std::strtol(text, &end, 10);
    return *text != '\0' && *end == '\0' && value >= 1 && value <= most ? static_cast<int>(value)
                                                                        : 0;
}

bool parse_groups(const char* text, std::vector<std::uint32_t>& groups) {
    std::string part;
    for (const char* at = text;; ++at) {
        if (*at != ',' && *at != '\0') {
            part += *at;
            continue;
        }
        const int value = number(part.c_str(), kMostGroups);
        if (value == 0) return false;
        groups.push_back(static_cast<std::uint32_t>(value));
        part.clear();
        if (*at == '\0') return true;
    }
}

} // namespace

int main(int argc, char** argv) {
    const bool usage = argc == 3 || argc == 4 || argc == 6;
    const int queue_count = usage ? number(argv[1], kMostQueues) : 0;
    const int agents = usage && argc > 3 ? number(argv[3], kMostAgents) : 1;
    Work work;
    work.launches = usage ? number(argv[2], kMostLaunches) : 0;
    if (argc == 6) work.window = number(argv[4], kMostLaunches);
    if (queue_count == 0 || work.launches == 0 || agents == 0 || work.window == 0 ||
        (argc == 6 && !parse_groups(argv[5], work.groups))) {
        std::fprintf(stderr, "usage: wavetap-soak-program QUEUES LAUNCHES [AGENTS [WINDOW "
                             "GROUPS[,GROUPS...]]]\n");
        return 2;
    }
    CHECK(hsa_init());
    const Machine machine = find_machine(static_cast<std::size_t>(agents));
    std::vector<Worker> workers;
    for (const hsa_agent_t gpu : machine.gpus)
        workers.push_back(make_worker(machine, gpu, static_cast<std::size_t>(queue_count), work));
    const bool good = launch_all(workers, work);
    for (const Worker& worker : workers)
        end_worker(worker);
    CHECK(hsa_shut_down());
    if (good)
        std::printf("soak: %d launches on %d queues of %d agent%s, all equal\n", work.launches,
                    queue_count * agents, agents, agents == 1 ? "" : "s");
    return good ? 0 : 1;
}
