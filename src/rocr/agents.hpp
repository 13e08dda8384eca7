// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "capture/params.hpp"
#include "rocr/hsa_table.hpp"

#include <cstdint>
#include <vector>

namespace wavetap::rocr {

/// A GPU agent as ROCr shows it, with the memory pools that capture needs. A value.
struct GpuAgent {
    hsa_agent_t agent{};
    hsa_agent_t cpu{}; ///< owner of the host pool
    capture::AgentTopology topology;
    hsa_amd_memory_pool_t device_pool{}; ///< coarse-grained device memory
    hsa_amd_memory_pool_t host_pool{};   ///< fine-grained host memory
    std::uint32_t queue_min_packets = 64, queue_max_packets = 65536;
};

/// All GPU agents in the runtime's order. Errors: kUnavailable, kLimit (an HSA call failed, whichever:
/// nothing is assumed), kNotFound (an agent without the pools that we need).
Result<std::vector<GpuAgent>> find_gpu_agents(const HsaFunctions& hsa);
/// The place of `agent` in the list; -1 = none.
int index_of(const std::vector<GpuAgent>& agents, hsa_agent_t agent);

} // namespace wavetap::rocr
