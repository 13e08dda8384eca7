// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// The program of `wavetap soak`: opens QUEUES queues on each of AGENTS GPU agents and launches one
// small kernel LAUNCHES times: on the next queue of every agent at once, then, when all of those have
// completed and every result was checked, on the next queues. With GROUPS it launches a kernel that
// writes many trace tokens: on each agent WINDOW launches with the first number of work-groups that is its
// turn (the numbers are dealt out to the agents), then as many with the next, and so on.
// usage: wavetap-soak-program QUEUES LAUNCHES [AGENTS [WINDOW GROUPS[,GROUPS...]]]
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

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

#define CHECK(call)                                                                                \
    do {                                                                                           \
        const hsa_status_t status = (call);                                                        \
        if (status != HSA_STATUS_SUCCESS) fail(#call, status);                                     \
    } while (false)

namespace {

/// 64 workgroups of four waves: eight on each of eight shader engines, so that the first CUs of
/// every engine get a wave on every SIMD.
constexpr std::uint32_t kGroupItems = 256, kItems = 64 * kGroupItems;
constexpr int kMostQueues = 1000, kMostLaunches = 100'000'000, kMostAgents = 16,
              kMostGroups = 1'000'000;
constexpr std::uint64_t kLaunchLimitNs = 300'000'000'000; ///< a hang becomes a failure

[[noreturn]] void fail(const char* what, hsa_status_t status) {
    const char* words = nullptr;
    if (hsa_status_string(status, &words) != HSA_STATUS_SUCCESS) words = "unknown status";
    std::fprintf(stderr, "wavetap-soak-program: %s gave 0x%x: %s\n", what,
                 static_cast<unsigned>(status), words);
    std::exit(1);
}

struct Machine {
    std::vector<hsa_agent_t> gpus;
    hsa_agent_t cpu{};
    hsa_amd_memory_pool_t host_pool{}, kernarg_pool{};
};

hsa_status_t find_agent(hsa_agent_t agent, void* data) {
    auto& machine = *static_cast<Machine*>(data);
    hsa_device_type_t type{};
    CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
    if (type == HSA_DEVICE_TYPE_GPU) machine.gpus.push_back(agent);
    if (type == HSA_DEVICE_TYPE_CPU && machine.cpu.handle == 0) machine.cpu = agent;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t find_pool(hsa_amd_memory_pool_t pool, void* data) {
    auto& machine = *static_cast<Machine*>(data);
    hsa_amd_segment_t segment{};
    CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
    if (segment != HSA_AMD_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
    std::uint32_t flags = 0;
    CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
    if ((flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT) != 0) machine.kernarg_pool = pool;
    if ((flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED) != 0) machine.host_pool = pool;
    return HSA_STATUS_SUCCESS;
}

Machine find_machine(std::size_t agents) {
    Machine machine;
    CHECK(hsa_iterate_agents(find_agent, &machine));
    if (machine.gpus.size() < agents) {
        std::fprintf(stderr, "wavetap-soak-program: the runtime shows %zu GPUs, %zu are needed\n",
                     machine.gpus.size(), agents);
        std::exit(1);
    }
    machine.gpus.resize(agents);
    CHECK(hsa_amd_agent_iterate_memory_pools(machine.cpu, find_pool, &machine));
    if (machine.kernarg_pool.handle == 0) machine.kernarg_pool = machine.host_pool;
    return machine;
}

struct Kernel {
    hsa_code_object_reader_t reader{};
    hsa_executable_t executable{};
    std::uint64_t object = 0;
    std::uint32_t kernarg_bytes = 0, group_bytes = 0, private_bytes = 0;
};

Kernel load_kernel(hsa_agent_t gpu, const char* name) {
    Kernel kernel;
    CHECK(hsa_code_object_reader_create_from_memory(
        soak_code, static_cast<std::size_t>(soak_code_end - soak_code), &kernel.reader));
    CHECK(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                    nullptr, &kernel.executable));
    CHECK(hsa_executable_load_agent_code_object(kernel.executable, gpu, kernel.reader, nullptr,
                                                nullptr));
    CHECK(hsa_executable_freeze(kernel.executable, nullptr));
    hsa_executable_symbol_t symbol{};
    CHECK(hsa_executable_get_symbol_by_name(kernel.executable, name, &gpu, &symbol));
    const auto get = [symbol](hsa_executable_symbol_info_t info, void* value) {
        CHECK(hsa_executable_symbol_get_info(symbol, info, value));
    };
    get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernel.object);
    get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &kernel.kernarg_bytes);
    get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &kernel.group_bytes);
    get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &kernel.private_bytes);
    return kernel;
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

/// Queues one dispatch behind everything before it and rings the doorbell.
void dispatch(hsa_queue_t* queue, const Kernel& kernel, std::uint32_t items, void* kernarg,
              hsa_signal_t done) {
    const std::uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
    auto* packet =
        static_cast<hsa_kernel_dispatch_packet_t*>(queue->base_address) + index % queue->size;
    std::memset(reinterpret_cast<char*>(packet) + 4, 0, sizeof *packet - 4);
    packet->workgroup_size_x = kGroupItems;
    packet->workgroup_size_y = packet->workgroup_size_z = 1;
    packet->grid_size_x = items;
    packet->grid_size_y = packet->grid_size_z = 1;
    packet->private_segment_size = kernel.private_bytes;
    packet->group_segment_size = kernel.group_bytes;
    packet->kernel_object = kernel.object;
    packet->kernarg_address = kernarg;
    packet->completion_signal = done;
    const std::uint32_t header =
        HSA_PACKET_TYPE_KERNEL_DISPATCH | 1u << HSA_PACKET_HEADER_BARRIER |
        std::uint32_t{HSA_FENCE_SCOPE_SYSTEM} << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
        std::uint32_t{HSA_FENCE_SCOPE_SYSTEM} << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
    __atomic_store_n(reinterpret_cast<std::uint32_t*>(packet), header | 1u << 16, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
}

void* allocate(const Machine& machine, hsa_amd_memory_pool_t pool, std::size_t bytes) {
    void* memory = nullptr;
    CHECK(hsa_amd_memory_pool_allocate(pool, bytes, 0, &memory));
    CHECK(hsa_amd_agents_allow_access(static_cast<std::uint32_t>(machine.gpus.size()),
                                      machine.gpus.data(), nullptr, memory));
    return memory;
}

/// What one agent works with.
struct Worker {
    Kernel kernel;
    std::vector<hsa_queue_t*> queues;
    void* kernarg = nullptr;
    std::uint32_t* out = nullptr;
    hsa_signal_t done{};
};

Worker make_worker(const Machine& machine, hsa_agent_t gpu, std::size_t queues, const Work& work) {
    Worker worker;
    worker.kernel = load_kernel(gpu, work.stream() ? "soak_stream.kd" : "soak_mix.kd");
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
    CHECK(hsa_executable_destroy(worker.kernel.executable));
    CHECK(hsa_code_object_reader_destroy(worker.kernel.reader));
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
    dispatch(worker.queues[round % worker.queues.size()], worker.kernel, launch.items,
             worker.kernarg, worker.done);
}

bool finish(const Worker& worker, const Launch& launch, std::vector<std::uint32_t>& expected) {
    if (hsa_signal_wait_scacquire(worker.done, HSA_SIGNAL_CONDITION_LT, 1, kLaunchLimitNs,
                                  HSA_WAIT_STATE_BLOCKED) >= 1) {
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
