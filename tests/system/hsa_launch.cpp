// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// A plain HSA program: loads a code object, launches its kernel, shuts the runtime down, so that a
// tool's OnUnload runs. usage: hsa_launch CODE.elf [LAUNCHES]
#include <fcntl.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        const hsa_status_t status = (call);                                                        \
        if (status != HSA_STATUS_SUCCESS) {                                                        \
            std::fprintf(stderr, "hsa_launch: %s gave 0x%x\n", #call,                              \
                         static_cast<unsigned>(status));                                           \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (false)

namespace {

hsa_agent_t gpu{};
hsa_agent_t cpu{};
hsa_amd_memory_pool_t host_pool{};
hsa_amd_memory_pool_t kernarg_pool{};

hsa_status_t find_agent(hsa_agent_t agent, void*) {
    hsa_device_type_t type{};
    CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
    if (type == HSA_DEVICE_TYPE_GPU && gpu.handle == 0) gpu = agent;
    if (type == HSA_DEVICE_TYPE_CPU && cpu.handle == 0) cpu = agent;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t find_pool(hsa_amd_memory_pool_t pool, void*) {
    hsa_amd_segment_t segment{};
    CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
    if (segment != HSA_AMD_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
    std::uint32_t flags = 0;
    CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
    if ((flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT) != 0) kernarg_pool = pool;
    if ((flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED) != 0) host_pool = pool;
    return HSA_STATUS_SUCCESS;
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fprintf(stderr, "usage: hsa_launch CODE.elf [LAUNCHES]\n");
        return 2;
    }
    const int launches = argc > 2 ? std::atoi(argv[2]) : 6;
    constexpr std::uint32_t kCount = 1024;
    CHECK(hsa_init());
    CHECK(hsa_iterate_agents(find_agent, nullptr));
    CHECK(hsa_amd_agent_iterate_memory_pools(cpu, find_pool, nullptr));
    if (kernarg_pool.handle == 0) kernarg_pool = host_pool;

    const int file = ::open(argv[1], O_RDONLY);
    hsa_code_object_reader_t reader{};
    CHECK(hsa_code_object_reader_create_from_file(file, &reader));
    hsa_executable_t executable{};
    CHECK(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                    nullptr, &executable));
    CHECK(hsa_executable_load_agent_code_object(executable, gpu, reader, nullptr, nullptr));
    CHECK(hsa_executable_freeze(executable, nullptr));
    hsa_executable_symbol_t symbol{};
    CHECK(hsa_executable_get_symbol_by_name(executable, "fill.kd", &gpu, &symbol));
    std::uint64_t kernel = 0;
    std::uint32_t kernarg_bytes = 0, group_bytes = 0, private_bytes = 0;
    CHECK(
        hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernel));
    CHECK(hsa_executable_symbol_get_info(
        symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &kernarg_bytes));
    CHECK(hsa_executable_symbol_get_info(
        symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &group_bytes));
    CHECK(hsa_executable_symbol_get_info(
        symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &private_bytes));

    void* kernarg = nullptr;
    std::uint32_t* out = nullptr;
    CHECK(hsa_amd_memory_pool_allocate(kernarg_pool, kernarg_bytes < 64 ? 64 : kernarg_bytes, 0,
                                       &kernarg));
    CHECK(hsa_amd_agents_allow_access(1, &gpu, nullptr, kernarg));
    CHECK(hsa_amd_memory_pool_allocate(host_pool, kCount * sizeof *out, 0,
                                       reinterpret_cast<void**>(&out)));
    CHECK(hsa_amd_agents_allow_access(1, &gpu, nullptr, out));
    hsa_queue_t* queue = nullptr;
    CHECK(hsa_queue_create(gpu, 256, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX,
                           UINT32_MAX, &queue));
    hsa_signal_t done{};
    CHECK(hsa_signal_create(1, 0, nullptr, &done));

    for (int launch = 0; launch < launches; ++launch) {
        struct Arguments {
            std::uint32_t* out;
            std::uint32_t count;
            std::uint32_t value;
        } arguments{out, kCount, static_cast<std::uint32_t>(launch)};
        std::memset(kernarg, 0, kernarg_bytes);
        std::memcpy(kernarg, &arguments, sizeof arguments);
        hsa_signal_store_relaxed(done, 1);
        const std::uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
        auto* packet =
            static_cast<hsa_kernel_dispatch_packet_t*>(queue->base_address) + index % queue->size;
        std::memset(reinterpret_cast<char*>(packet) + 4, 0, sizeof *packet - 4);
        packet->workgroup_size_x = 64;
        packet->workgroup_size_y = packet->workgroup_size_z = 1;
        packet->grid_size_x = kCount;
        packet->grid_size_y = packet->grid_size_z = 1;
        packet->private_segment_size = private_bytes;
        packet->group_segment_size = group_bytes;
        packet->kernel_object = kernel;
        packet->kernarg_address = kernarg;
        packet->completion_signal = done;
        const std::uint32_t header = HSA_PACKET_TYPE_KERNEL_DISPATCH |
                                     1u << HSA_PACKET_HEADER_BARRIER |
                                     2u << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                                     2u << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
        __atomic_store_n(reinterpret_cast<std::uint32_t*>(packet), header | 1u << 16,
                         __ATOMIC_RELEASE);
        hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
        // 60 s: far longer than any of these launches takes, so a hang becomes a failure.
        if (hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, 60'000'000'000,
                                      HSA_WAIT_STATE_BLOCKED) >= 1) {
            std::fprintf(stderr, "hsa_launch: launch %d did not complete\n", launch);
            return 1;
        }
        for (std::uint32_t i = 0; i < kCount; ++i) {
            if (out[i] != i + static_cast<std::uint32_t>(launch)) {
                std::fprintf(stderr, "hsa_launch: element %u is %u\n", i, out[i]);
                return 1;
            }
        }
    }
    CHECK(hsa_signal_destroy(done));
    CHECK(hsa_queue_destroy(queue));
    CHECK(hsa_executable_destroy(executable));
    CHECK(hsa_code_object_reader_destroy(reader));
    ::close(file);
    CHECK(hsa_shut_down());
    std::printf("hsa_launch: %d launches, all equal\n", launches);
    return 0;
}
