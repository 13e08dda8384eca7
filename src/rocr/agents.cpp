// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "rocr/agents.hpp"

#include <algorithm>

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

hsa_status_t add_pool(hsa_amd_memory_pool_t pool, void* data) {
    auto& search = *static_cast<PoolSearch*>(data);
    hsa_amd_segment_t segment{};
    bool allowed = false;
    std::uint32_t flags = 0;
    const auto get = search.hsa->memory_pool_get_info;
    if (get(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment) != HSA_STATUS_SUCCESS ||
        segment != HSA_AMD_SEGMENT_GLOBAL)
        return HSA_STATUS_SUCCESS;
    if (get(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, &allowed) != HSA_STATUS_SUCCESS ||
        !allowed || get(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags) != HSA_STATUS_SUCCESS)
        return HSA_STATUS_SUCCESS;
    search.pools.push_back({pool, flags});
    return HSA_STATUS_SUCCESS;
}

/// The first pool with all of `wanted` and none of `unwanted`, or handle 0.
hsa_amd_memory_pool_t find_pool(const HsaFunctions& hsa, hsa_agent_t agent, std::uint32_t wanted,
                                std::uint32_t unwanted) {
    PoolSearch search{&hsa, {}};
    (void)hsa.agent_iterate_memory_pools(agent, add_pool, &search);
    for (const Pool& pool : search.pools)
        if ((pool.flags & wanted) == wanted && (pool.flags & unwanted) == 0) return pool.pool;
    return {};
}

hsa_status_t add_agent(hsa_agent_t agent, void* data) {
    static_cast<std::vector<hsa_agent_t>*>(data)->push_back(agent);
    return HSA_STATUS_SUCCESS;
}

template <class T> T info(const HsaFunctions& hsa, hsa_agent_t agent, int attribute, T fallback) {
    T value = fallback;
    if (hsa.agent_get_info(agent, static_cast<hsa_agent_info_t>(attribute), &value) !=
        HSA_STATUS_SUCCESS)
        return fallback;
    return value;
}

capture::AgentTopology topology_of(const HsaFunctions& hsa, hsa_agent_t agent) {
    char name[64] = {};
    (void)hsa.agent_get_info(agent, HSA_AGENT_INFO_NAME, name);
    name[sizeof name - 1] = 0;
    capture::AgentTopology topology;
    topology.gfx = name;
    const auto engines = info<std::uint32_t>(hsa, agent, HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES, 1);
    const auto cus = info<std::uint32_t>(hsa, agent, HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT, 1);
    // This table version cannot tell the number of XCCs; its runtimes know single-XCC chips only.
    topology.xccs = 1;
    topology.engines_per_xcc = std::max(engines, 1u);
    topology.cus_per_engine = (cus + topology.engines_per_xcc - 1) / topology.engines_per_xcc;
    topology.compute_units = cus;
    topology.simds_per_cu = info<std::uint32_t>(hsa, agent, HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU, 4);
    return topology;
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
        const auto type =
            info<hsa_device_type_t>(hsa, agent, HSA_AGENT_INFO_DEVICE, HSA_DEVICE_TYPE_DSP);
        if (type == HSA_DEVICE_TYPE_CPU && host_pool.handle == 0) {
            cpu = agent;
            host_pool = find_pool(hsa, agent, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED,
                                  HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT);
            if (host_pool.handle == 0)
                host_pool = find_pool(hsa, agent, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED, 0);
        }
        if (type != HSA_DEVICE_TYPE_GPU) continue;
        GpuAgent gpu;
        gpu.agent = agent;
        gpu.topology = topology_of(hsa, agent);
        gpu.device_pool = find_pool(hsa, agent, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED, 0);
        gpu.queue_min_packets = info<std::uint32_t>(hsa, agent, HSA_AGENT_INFO_QUEUE_MIN_SIZE, 64);
        gpu.queue_max_packets =
            info<std::uint32_t>(hsa, agent, HSA_AGENT_INFO_QUEUE_MAX_SIZE, 65536);
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
