// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "rocr/agents.hpp"

#include <algorithm>
#include <array>
#include <new>

namespace wavetap::rocr {

namespace {

struct Pool {
    hsa_amd_memory_pool_t pool{};
    std::uint32_t flags = 0;
};

struct PoolSearch {
    const HsaFunctions* hsa;
    std::vector<Pool> pools;
};

template <class T>
Result<T> info(const HsaFunctions& hsa, hsa_agent_t agent, int attribute, const char* what) {
    T value{};
    if (const hsa_status_t status =
            hsa.agent_get_info(agent, static_cast<hsa_agent_info_t>(attribute), &value);
        status != HSA_STATUS_SUCCESS)
        return hsa_error(hsa, status, what);
    return value;
}

template <class T>
hsa_status_t pool_info(const HsaFunctions& hsa, hsa_amd_memory_pool_t pool,
                       hsa_amd_memory_pool_info_t attribute, T& value) {
    return hsa.memory_pool_get_info(pool, attribute, &value);
}

// What the callbacks return ends the runtime's loop and is its answer.

hsa_status_t add_pool(hsa_amd_memory_pool_t pool, void* data) {
    auto& search = *static_cast<PoolSearch*>(data);
    const HsaFunctions& hsa = *search.hsa;
    hsa_amd_segment_t segment{};
    bool allowed = false;
    std::uint32_t flags = 0;
    hsa_status_t status = pool_info(hsa, pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, segment);
    if (status != HSA_STATUS_SUCCESS || segment != HSA_AMD_SEGMENT_GLOBAL) return status;
    status = pool_info(hsa, pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, allowed);
    if (status != HSA_STATUS_SUCCESS || !allowed) return status;
    status = pool_info(hsa, pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, flags);
    if (status != HSA_STATUS_SUCCESS) return status;
    try {
        search.pools.push_back({pool, flags});
    } catch (const std::bad_alloc&) {
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    }
    return HSA_STATUS_SUCCESS;
}

/// The first pool with all of `wanted` and none of `unwanted`, or handle 0.
Result<hsa_amd_memory_pool_t> find_pool(const HsaFunctions& hsa, hsa_agent_t agent,
                                        std::uint32_t wanted, std::uint32_t unwanted) {
    PoolSearch search{&hsa, {}};
    if (const hsa_status_t status = hsa.agent_iterate_memory_pools(agent, add_pool, &search);
        status != HSA_STATUS_SUCCESS)
        return hsa_error(hsa, status, "listing the memory pools");
    for (const Pool& pool : search.pools)
        if ((pool.flags & wanted) == wanted && (pool.flags & unwanted) == 0) return pool.pool;
    return hsa_amd_memory_pool_t{};
}

Result<hsa_amd_memory_pool_t> find_host_pool(const HsaFunctions& hsa, hsa_agent_t cpu) {
    WAVETAP_TRY(const hsa_amd_memory_pool_t pool,
                find_pool(hsa, cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED,
                          HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT));
    if (pool.handle != 0) return pool;
    return find_pool(hsa, cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED, 0);
}

hsa_status_t add_agent(hsa_agent_t agent, void* data) {
    try {
        static_cast<std::vector<hsa_agent_t>*>(data)->push_back(agent);
    } catch (const std::bad_alloc&) {
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    }
    return HSA_STATUS_SUCCESS;
}

Result<capture::AgentTopology> topology_of(const HsaFunctions& hsa, hsa_agent_t agent) {
    using Name = std::array<char, 64>;
    WAVETAP_TRY(Name name, info<Name>(hsa, agent, HSA_AGENT_INFO_NAME, "an agent's name"));
    name.back() = 0;
    WAVETAP_TRY(const auto engines,
                info<std::uint32_t>(hsa, agent, HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES,
                                    "an agent's shader engines"));
    WAVETAP_TRY(const auto cus,
                info<std::uint32_t>(hsa, agent, HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT,
                                    "an agent's compute units"));
    WAVETAP_TRY(
        const auto simds,
        info<std::uint32_t>(hsa, agent, HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU, "an agent's SIMDs"));
    capture::AgentTopology topology;
    topology.gfx = name.data();
    // This table version cannot tell the number of XCCs; its runtimes know single-XCC chips only.
    topology.xccs = 1;
    topology.engines_per_xcc = std::max(engines, 1u);
    topology.cus_per_engine = (cus + topology.engines_per_xcc - 1) / topology.engines_per_xcc;
    topology.compute_units = cus;
    topology.simds_per_cu = simds;
    return topology;
}

Result<GpuAgent> gpu_of(const HsaFunctions& hsa, hsa_agent_t agent) {
    GpuAgent gpu;
    gpu.agent = agent;
    WAVETAP_TRY(gpu.topology, topology_of(hsa, agent));
    WAVETAP_TRY(gpu.device_pool,
                find_pool(hsa, agent, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED, 0));
    WAVETAP_TRY(gpu.queue_min_packets,
                info<std::uint32_t>(hsa, agent, HSA_AGENT_INFO_QUEUE_MIN_SIZE, "queue sizes"));
    WAVETAP_TRY(gpu.queue_max_packets,
                info<std::uint32_t>(hsa, agent, HSA_AGENT_INFO_QUEUE_MAX_SIZE, "queue sizes"));
    return gpu;
}

} // namespace

Result<std::vector<GpuAgent>> find_gpu_agents(const HsaFunctions& hsa) {
    std::vector<hsa_agent_t> all;
    if (const hsa_status_t status = hsa.iterate_agents(add_agent, &all);
        status != HSA_STATUS_SUCCESS)
        return hsa_error(hsa, status, "listing the agents");

    hsa_agent_t cpu{};
    hsa_amd_memory_pool_t host_pool{};
    std::vector<GpuAgent> gpus;
    for (const hsa_agent_t agent : all) {
        WAVETAP_TRY(const auto type,
                    info<hsa_device_type_t>(hsa, agent, HSA_AGENT_INFO_DEVICE, "an agent's type"));
        if (type == HSA_DEVICE_TYPE_CPU && host_pool.handle == 0) {
            cpu = agent;
            WAVETAP_TRY(host_pool, find_host_pool(hsa, agent));
        }
        if (type != HSA_DEVICE_TYPE_GPU) continue;
        WAVETAP_TRY(GpuAgent gpu, gpu_of(hsa, agent));
        gpus.push_back(std::move(gpu));
    }
    for (GpuAgent& gpu : gpus) {
        gpu.cpu = cpu;
        gpu.host_pool = host_pool;
        if (gpu.host_pool.handle == 0 || gpu.device_pool.handle == 0)
            return Error{ErrorCode::kNotFound,
                         "agent " + gpu.topology.gfx + " has no memory pool for traces", "", ""};
    }
    return gpus;
}

int index_of(const std::vector<GpuAgent>& agents, hsa_agent_t agent) {
    for (std::size_t i = 0; i < agents.size(); ++i)
        if (agents[i].agent.handle == agent.handle) return static_cast<int>(i);
    return -1;
}

} // namespace wavetap::rocr
