// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

// What plain HSA programs share: the one of `wavetap soak` and those of the system tests. Any error ends
// the program with 1.

#include <errno.h>
#include <fcntl.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        const hsa_status_t status_of_call = (call);                                                \
        if (status_of_call != HSA_STATUS_SUCCESS) hsa_program::fail(#call, status_of_call);        \
    } while (false)

namespace hsa_program {

[[noreturn]] inline void fail(const char* what, hsa_status_t status) {
    const char* words = nullptr;
    if (hsa_status_string(status, &words) != HSA_STATUS_SUCCESS) words = "unknown status";
    std::fprintf(stderr, "%s: %s gave 0x%x: %s\n", program_invocation_short_name, what,
                 static_cast<unsigned>(status), words);
    std::exit(1);
}

/// Far longer than any of these launches takes, so a hang becomes a failure.
constexpr std::uint64_t kLimitNs = 60'000'000'000;

/// A code object, loaded on one agent.
struct Code {
    hsa_agent_t gpu{};
    hsa_code_object_reader_t reader{};
    hsa_executable_t executable{};
    int file = -1; ///< that the reader reads; -1: none
};

struct Machine {
    std::vector<hsa_agent_t> gpus;
    hsa_agent_t gpu{}, cpu{}; ///< the first ones
    hsa_amd_memory_pool_t host_pool{}, kernarg_pool{};
    Code code; ///< of open_machine()
};

struct Kernel {
    std::uint64_t object = 0;
    std::uint32_t kernarg_bytes = 0, group_bytes = 0, private_bytes = 0;
};

inline hsa_status_t find_agent(hsa_agent_t agent, void* data) {
    auto& machine = *static_cast<Machine*>(data);
    hsa_device_type_t type{};
    CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
    if (type == HSA_DEVICE_TYPE_GPU) machine.gpus.push_back(agent);
    if (type == HSA_DEVICE_TYPE_CPU && machine.cpu.handle == 0) machine.cpu = agent;
    return HSA_STATUS_SUCCESS;
}

inline hsa_status_t find_pool(hsa_amd_memory_pool_t pool, void* data) {
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

/// What the runtime, which is up, shows.
inline Machine find_machine() {
    Machine machine;
    CHECK(hsa_iterate_agents(find_agent, &machine));
    if (!machine.gpus.empty()) machine.gpu = machine.gpus.front();
    CHECK(hsa_amd_agent_iterate_memory_pools(machine.cpu, find_pool, &machine));
    if (machine.kernarg_pool.handle == 0) machine.kernarg_pool = machine.host_pool;
    return machine;
}

/// Loads what the code's reader reads.
inline void load(Code& code) {
    CHECK(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                    nullptr, &code.executable));
    CHECK(hsa_executable_load_agent_code_object(code.executable, code.gpu, code.reader, nullptr,
                                                nullptr));
    CHECK(hsa_executable_freeze(code.executable, nullptr));
}

inline Code load_file(hsa_agent_t gpu, const char* path) {
    Code code;
    code.gpu = gpu;
    code.file = ::open(path, O_RDONLY);
    CHECK(hsa_code_object_reader_create_from_file(code.file, &code.reader));
    load(code);
    return code;
}

inline Code load_memory(hsa_agent_t gpu, const void* bytes, std::size_t size) {
    Code code;
    code.gpu = gpu;
    CHECK(hsa_code_object_reader_create_from_memory(bytes, size, &code.reader));
    load(code);
    return code;
}

inline void unload(const Code& code) {
    CHECK(hsa_executable_destroy(code.executable));
    CHECK(hsa_code_object_reader_destroy(code.reader));
    if (code.file >= 0) ::close(code.file);
}

/// Starts the runtime and loads the code object on the first GPU.
inline Machine open_machine(const char* code_path) {
    CHECK(hsa_init());
    Machine machine = find_machine();
    machine.code = load_file(machine.gpu, code_path);
    return machine;
}

inline void close_machine(const Machine& machine) {
    unload(machine.code);
    CHECK(hsa_shut_down());
}

inline Kernel find_kernel(const Code& code, const char* name) {
    hsa_executable_symbol_t symbol{};
    CHECK(hsa_executable_get_symbol_by_name(code.executable, name, &code.gpu, &symbol));
    Kernel kernel;
    const auto get = [symbol](hsa_executable_symbol_info_t info, void* value) {
        CHECK(hsa_executable_symbol_get_info(symbol, info, value));
    };
    get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernel.object);
    get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &kernel.kernarg_bytes);
    get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &kernel.group_bytes);
    get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &kernel.private_bytes);
    return kernel;
}
inline Kernel find_kernel(const Machine& machine, const char* name) {
    return find_kernel(machine.code, name);
}

/// Zeroed host memory that the GPUs see.
inline void* allocate(const Machine& machine, hsa_amd_memory_pool_t pool, std::size_t bytes) {
    void* memory = nullptr;
    CHECK(hsa_amd_memory_pool_allocate(pool, bytes, 0, &memory));
    CHECK(hsa_amd_agents_allow_access(static_cast<std::uint32_t>(machine.gpus.size()),
                                      machine.gpus.data(), nullptr, memory));
    std::memset(memory, 0, bytes);
    return memory;
}

/// Kernel arguments, for as many launches as use the same values.
template <class T> void* arguments(const Machine& machine, const Kernel& kernel, const T& values) {
    const std::size_t bytes =
        kernel.kernarg_bytes < sizeof values ? sizeof values : kernel.kernarg_bytes;
    void* memory = allocate(machine, machine.kernarg_pool, bytes);
    std::memcpy(memory, &values, sizeof values);
    return memory;
}

/// Writes one dispatch of `items` work-items in groups of `group`; the doorbell is the caller's. Returns the
/// packet's index. The ring must have room. Without `barrier` it may run beside the one before.
inline std::uint64_t write_dispatch(hsa_queue_t* queue, const Kernel& kernel, void* kernarg,
                                    std::uint32_t items, hsa_signal_t done, bool barrier = true,
                                    std::uint16_t group = 64) {
    const std::uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
    auto* packet =
        static_cast<hsa_kernel_dispatch_packet_t*>(queue->base_address) + index % queue->size;
    std::memset(reinterpret_cast<char*>(packet) + 4, 0, sizeof *packet - 4);
    packet->workgroup_size_x = group;
    packet->workgroup_size_y = packet->workgroup_size_z = 1;
    packet->grid_size_x = items;
    packet->grid_size_y = packet->grid_size_z = 1;
    packet->private_segment_size = kernel.private_bytes;
    packet->group_segment_size = kernel.group_bytes;
    packet->kernel_object = kernel.object;
    packet->kernarg_address = kernarg;
    packet->completion_signal = done;
    const std::uint32_t header = HSA_PACKET_TYPE_KERNEL_DISPATCH |
                                 (barrier ? 1u : 0u) << HSA_PACKET_HEADER_BARRIER |
                                 2u << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                                 2u << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
    __atomic_store_n(reinterpret_cast<std::uint32_t*>(packet), header | 1u << 16, __ATOMIC_RELEASE);
    return index;
}

inline void ring_doorbell(hsa_queue_t* queue, std::uint64_t index) {
    hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
}

inline bool wait_below_one(hsa_signal_t signal, std::uint64_t limit_ns = kLimitNs) {
    return hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, limit_ns,
                                     HSA_WAIT_STATE_BLOCKED) < 1;
}

} // namespace hsa_program
