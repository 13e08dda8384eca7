// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "rocr/counter_enable.hpp"

#include "capture/params.hpp"
#include "pm4/perf_counters.hpp"

#include <cstring>

namespace wavetap::rocr {

Result<capture::CommandBuffer> make_counter_enable(const HsaFunctions& hsa, const GpuAgent& agent) {
    constexpr std::size_t kPage = 4096;
    const pm4::TraceTopology topology = capture::pm4_topology(agent.topology);
    WAVETAP_TRY(const auto words, pm4::build_counter_enable(topology));
    void* memory = nullptr;
    hsa_status_t status = hsa.memory_pool_allocate(agent.host_pool, kPage, 0, &memory);
    if (status == HSA_STATUS_SUCCESS)
        status = hsa.agents_allow_access(1, &agent.agent, nullptr, memory);
    if (status != HSA_STATUS_SUCCESS) {
        if (memory != nullptr) (void)hsa.memory_pool_free(memory);
        return hsa_error(hsa, status, "memory to enable the counters of queues");
    }
    std::memcpy(memory, words.data(), words.size() * 4);
    return capture::CommandBuffer{reinterpret_cast<std::uint64_t>(memory),
                                  static_cast<std::uint32_t>(words.size()),
                                  static_cast<std::int8_t>(pm4::command_cache_policy(topology))};
}

} // namespace wavetap::rocr
