// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// The program of `wavetap soak`: opens QUEUES queues, launches one small kernel LAUNCHES times, each
// on the next queue and after the one before it has completed, and checks every result.
// usage: wavetap-soak-program QUEUES LAUNCHES
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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
constexpr int kMostQueues = 1000, kMostLaunches = 100'000'000;
constexpr std::uint64_t kLaunchLimitNs = 60'000'000'000; ///< a hang becomes a failure

[[noreturn]] void fail(const char* what, hsa_status_t status) {
    const char* words = nullptr;
    if (hsa_status_string(status, &words) != HSA_STATUS_SUCCESS) words = "unknown status";
    std::fprintf(stderr, "wavetap-soak-program: %s gave 0x%x: %s\n", what,
                 static_cast<unsigned>(status), words);
    std::exit(1);
}

struct Machine {
    hsa_agent_t gpu{}, cpu{};
    hsa_amd_memory_pool_t host_pool{}, kernarg_pool{};
};

hsa_status_t find_agent(hsa_agent_t agent, void* data) {
    auto& machine = *static_cast<Machine*>(data);
    hsa_device_type_t type{};
    CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
    if (type == HSA_DEVICE_TYPE_GPU && machine.gpu.handle == 0) machine.gpu = agent;
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

Machine find_machine() {
    Machine machine;
    CHECK(hsa_iterate_agents(find_agent, &machine));
    if (machine.gpu.handle == 0) {
        std::fprintf(stderr, "wavetap-soak-program: the runtime shows no GPU\n");
        std::exit(1);
    }
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

Kernel load_kernel(hsa_agent_t gpu) {
    Kernel kernel;
    CHECK(hsa_code_object_reader_create_from_memory(
        soak_code, static_cast<std::size_t>(soak_code_end - soak_code), &kernel.reader));
    CHECK(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                    nullptr, &kernel.executable));
    CHECK(hsa_executable_load_agent_code_object(kernel.executable, gpu, kernel.reader, nullptr,
                                                nullptr));
    CHECK(hsa_executable_freeze(kernel.executable, nullptr));
    hsa_executable_symbol_t symbol{};
    CHECK(hsa_executable_get_symbol_by_name(kernel.executable, "soak_mix.kd", &gpu, &symbol));
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

/// What the kernel must have written.
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
void dispatch(hsa_queue_t* queue, const Kernel& kernel, void* kernarg, hsa_signal_t done) {
    const std::uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
    auto* packet =
        static_cast<hsa_kernel_dispatch_packet_t*>(queue->base_address) + index % queue->size;
    std::memset(reinterpret_cast<char*>(packet) + 4, 0, sizeof *packet - 4);
    packet->workgroup_size_x = kGroupItems;
    packet->workgroup_size_y = packet->workgroup_size_z = 1;
    packet->grid_size_x = kItems;
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
    CHECK(hsa_amd_agents_allow_access(1, &machine.gpu, nullptr, memory));
    return memory;
}

bool launch_all(const Machine& machine, const Kernel& kernel,
                const std::vector<hsa_queue_t*>& queues, int launches) {
    void* kernarg = allocate(machine, machine.kernarg_pool,
                             kernel.kernarg_bytes < 64 ? 64 : kernel.kernarg_bytes);
    auto* out =
        static_cast<std::uint32_t*>(allocate(machine, machine.host_pool, kItems * sizeof(int)));
    hsa_signal_t done{};
    CHECK(hsa_signal_create(1, 0, nullptr, &done));
    std::vector<std::uint32_t> expected(kItems);
    bool good = true;
    for (int launch = 0; launch < launches && good; ++launch) {
        const Arguments arguments{out, 1u + static_cast<std::uint32_t>(launch) % 3,
                                  static_cast<std::uint32_t>(launch) * 2654435761u};
        std::memset(kernarg, 0, kernel.kernarg_bytes);
        std::memcpy(kernarg, &arguments, sizeof arguments);
        std::memset(out, 0, kItems * sizeof *out);
        hsa_signal_store_relaxed(done, 1);
        dispatch(queues[static_cast<std::size_t>(launch) % queues.size()], kernel, kernarg, done);
        if (hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, kLaunchLimitNs,
                                      HSA_WAIT_STATE_BLOCKED) >= 1) {
            std::fprintf(stderr, "wavetap-soak-program: launch %d did not complete\n", launch);
            std::exit(1);
        }
        expect(expected, arguments.rounds, arguments.seed);
        good = std::memcmp(out, expected.data(), kItems * sizeof *out) == 0;
        if (!good) std::fprintf(stderr, "wavetap-soak-program: launch %d differs\n", launch);
    }
    CHECK(hsa_signal_destroy(done));
    CHECK(hsa_amd_memory_pool_free(out));
    CHECK(hsa_amd_memory_pool_free(kernarg));
    return good;
}

int number(const char* text, int most) {
    char* end = nullptr;
    const long value = std::strtol(text, &end, 10);
    return *text != '\0' && *end == '\0' && value >= 1 && value <= most ? static_cast<int>(value)
                                                                        : 0;
}

} // namespace

int main(int argc, char** argv) {
    const int queue_count = argc == 3 ? number(argv[1], kMostQueues) : 0;
    const int launches = argc == 3 ? number(argv[2], kMostLaunches) : 0;
    if (queue_count == 0 || launches == 0) {
        std::fprintf(stderr, "usage: wavetap-soak-program QUEUES LAUNCHES\n");
        return 2;
    }
    CHECK(hsa_init());
    const Machine machine = find_machine();
    Kernel kernel = load_kernel(machine.gpu);
    std::vector<hsa_queue_t*> queues(static_cast<std::size_t>(queue_count));
    for (hsa_queue_t*& queue : queues)
        CHECK(hsa_queue_create(machine.gpu, 64, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX,
                               UINT32_MAX, &queue));
    const bool good = launch_all(machine, kernel, queues, launches);
    for (hsa_queue_t* queue : queues)
        CHECK(hsa_queue_destroy(queue));
    CHECK(hsa_executable_destroy(kernel.executable));
    CHECK(hsa_code_object_reader_destroy(kernel.reader));
    CHECK(hsa_shut_down());
    if (good) std::printf("soak: %d launches on %d queues, all equal\n", launches, queue_count);
    return good ? 0 : 1;
}
