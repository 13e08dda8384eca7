// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "softgpu/chip.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wavetap::softgpu::kfd {

/// What the driver's interface says about a chip beyond ChipSpec. Values of the silicon's public
/// driver sources.
struct ChipIdentity {
    std::string_view chip;
    std::uint32_t gfx_target_version; ///< 90010 = gfx90a
    std::uint32_t device_id;
    std::uint32_t gb_addr_config;
    const char* product;
};

/// nullptr for a chip that this driver cannot show.
const ChipIdentity* chip_identity(std::string_view chip);

/// One agent of the virtual machine.
struct AgentDescription {
    ChipSpec spec;
    ChipIdentity identity;
    std::uint64_t hbm_bytes = 0;
    std::uint32_t gpu_id = 0;
    int render_minor = 0;
};

/// The agent number `index` (0 is the first). Errors: kUnsupported.
Result<AgentDescription> describe_agent(const ChipSpec& spec, unsigned index,
                                        std::uint64_t hbm_bytes);

inline constexpr std::string_view kSysfsRoot = "/sys/devices/virtual/kfd";

/// The files of the virtual sysfs by absolute path; an empty optional is a folder. One CPU node,
/// then one node an agent, each linked to the CPU (large BAR) and to the other agents. Every text
/// is below 4,096 bytes, which the runtime's reader needs.
/// `cpu_apicid`: the APIC id of a processor of this machine, by which the runtime finds its name.
std::map<std::string, std::optional<std::string>>
topology_files(const std::vector<AgentDescription>& agents, std::uint32_t cpus,
               std::uint64_t memory_bytes, std::uint32_t cpu_apicid);

/// First "apicid" of the text of /proc/cpuinfo; 0 if there is none.
std::uint32_t first_apicid(std::string_view cpuinfo);

} // namespace wavetap::softgpu::kfd
