// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/kfd/topology.hpp"

#include "base/units.hpp"
#include "softgpu/kfd/engine_abi.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace wavetap::softgpu::kfd {
namespace {

using Files = std::map<std::string, std::optional<std::string>>;
using Properties = std::vector<std::pair<const char*, std::uint64_t>>;

constexpr std::array kIdentities = {
    ChipIdentity{"gfx90a", 90010, 0x740c, 0x2a114042, "wavetap software GPU gfx90a"},
};

// capability: doorbell type 2 (bits 13:12), watch points, SRAM ECC (bit 26), coherent host access.
constexpr std::uint64_t kCapability = 2u << 12 | 1u << 7 | 2u << 8 | 1u << 26 | 1u << 28 | 1u << 15;
constexpr std::uint32_t kVendorAmd = 0x1002;
constexpr std::uint32_t kLinkPcie = 2;

void add_folder(Files& files, std::string path) {
    while (path.size() >= kSysfsRoot.size()) {
        files.try_emplace(path, std::nullopt);
        path.resize(path.rfind('/'));
    }
}

void add_text(Files& files, const std::string& path, std::string text) {
    add_folder(files, path.substr(0, path.rfind('/')));
    files[path] = std::move(text);
}

void add_properties(Files& files, const std::string& path, const Properties& properties) {
    std::string text;
    for (const auto& [name, value] : properties)
        text += std::string(name) + ' ' + std::to_string(value) + '\n';
    add_text(files, path, std::move(text));
}

void add_link(Files& files, const std::string& node, unsigned index, unsigned from, unsigned to) {
    const bool to_cpu = from == 0 || to == 0;
    add_properties(files, node + "/io_links/" + std::to_string(index) + "/properties",
                   {{"type", kLinkPcie},
                    {"version_major", 0},
                    {"version_minor", 0},
                    {"node_from", from},
                    {"node_to", to},
                    {"weight", to_cpu ? 20u : 40u},
                    {"min_latency", 0},
                    {"max_latency", 0},
                    {"min_bandwidth", 0},
                    {"max_bandwidth", 0},
                    {"recommended_transfer_size", 0},
                    {"flags", 1}});
}

// Cache types: 1 data, 2 instruction, 4 CPU, 8 HSACU. Sizes in KiB.
void add_cache(Files& files, const std::string& node, unsigned index, std::uint64_t level,
               std::uint64_t kib, std::uint64_t line, std::uint64_t type) {
    add_properties(files, node + "/caches/" + std::to_string(index) + "/properties",
                   {{"processor_id_low", 0},
                    {"level", level},
                    {"size", kib},
                    {"cache_line_size", line},
                    {"cache_lines_per_tag", 1},
                    {"association", 16},
                    {"latency", 0},
                    {"type", type}});
}

void add_cpu_node(Files& files, const std::string& node, unsigned gpus, std::uint32_t cpus,
                  std::uint64_t memory_bytes, std::uint32_t apicid) {
    add_text(files, node + "/gpu_id", "0\n");
    add_text(files, node + "/name", "\n");
    add_properties(files, node + "/properties",
                   {{"cpu_cores_count", cpus},
                    {"simd_count", 0},
                    {"mem_banks_count", 1},
                    {"caches_count", 1},
                    {"io_links_count", gpus},
                    {"cpu_core_id_base", apicid},
                    {"simd_id_base", 0},
                    {"max_waves_per_simd", 0},
                    {"lds_size_in_kb", 0},
                    {"gds_size_in_kb", 0},
                    {"wave_front_size", 0},
                    {"array_count", 0},
                    {"simd_arrays_per_engine", 0},
                    {"cu_per_simd_array", 0},
                    {"simd_per_cu", 0},
                    {"max_slots_scratch_cu", 0},
                    {"vendor_id", 0},
                    {"device_id", 0},
                    {"location_id", 0},
                    {"drm_render_minor", 0},
                    {"max_engine_clk_ccompute", 3000}});
    add_properties(files, node + "/mem_banks/0/properties",
                   {{"heap_type", 0},
                    {"size_in_bytes", memory_bytes},
                    {"flags", 0},
                    {"width", 64},
                    {"mem_clk_max", 1600}});
    add_cache(files, node, 0, 1, 32, 64, 1 + 4);
    for (unsigned gpu = 1; gpu <= gpus; ++gpu)
        add_link(files, node, gpu - 1, 0, gpu);
}

std::uint64_t compute_units(const ChipSpec& spec) {
    return std::uint64_t{spec.shader_engines} * spec.cus_per_engine - spec.harvested.size();
}

void add_gpu_node(Files& files, const std::string& node, const AgentDescription& agent,
                  unsigned number, unsigned gpus) {
    const ChipSpec& spec = agent.spec;
    add_text(files, node + "/gpu_id", std::to_string(agent.gpu_id) + "\n");
    add_text(files, node + "/name", spec.name + "\n");
    add_properties(files, node + "/properties",
                   {{"cpu_cores_count", 0},
                    {"simd_count", compute_units(spec) * spec.simds_per_cu},
                    {"mem_banks_count", 1},
                    {"caches_count", 2},
                    {"io_links_count", gpus},
                    {"cpu_core_id_base", 0},
                    {"simd_id_base", 0x80000000u + 0x1000u * (number - 1)},
                    {"max_waves_per_simd", spec.wave_slots},
                    {"lds_size_in_kb", spec.lds_bytes / 1024},
                    {"gds_size_in_kb", 0},
                    {"num_gws", 0},
                    {"wave_front_size", 64},
                    {"array_count", spec.shader_engines},
                    {"simd_arrays_per_engine", 1},
                    {"cu_per_simd_array", spec.cus_per_engine},
                    {"simd_per_cu", spec.simds_per_cu},
                    {"max_slots_scratch_cu", 32},
                    {"gfx_target_version", agent.identity.gfx_target_version},
                    {"vendor_id", kVendorAmd},
                    {"device_id", agent.identity.device_id},
                    {"location_id", 0x300u + 0x100u * (number - 1)},
                    {"domain", 0},
                    {"drm_render_minor", static_cast<std::uint64_t>(agent.render_minor)},
                    {"hive_id", 0},
                    {"num_sdma_engines", spec.sdma_engines},
                    {"num_sdma_xgmi_engines", 0},
                    {"num_sdma_queues_per_engine", 8},
                    {"num_cp_queues", 24},
                    {"num_xcc", 1},
                    {"max_engine_clk_fcompute", spec.shader_clock_hz / 1'000'000},
                    {"local_mem_size", 0},
                    {"fw_version", 80},
                    {"capability", kCapability},
                    {"sdma_fw_version", 8},
                    {"unique_id", 0x7761766574617000u + number},
                    {"max_engine_clk_ccompute", 3000}});
    add_properties(files, node + "/mem_banks/0/properties",
                   {{"heap_type", 1},
                    {"size_in_bytes", agent.hbm_bytes},
                    {"flags", 0},
                    {"width", 4096},
                    {"mem_clk_max", 1600}});
    add_cache(files, node, 0, 1, 16, 64, 1 + 8);
    add_cache(files, node, 1, 2, 8192, 128, 1 + 8);
    unsigned link = 0;
    for (unsigned other = 0; other <= gpus; ++other)
        if (other != number) add_link(files, node, link++, number, other);
}

} // namespace

const ChipIdentity* chip_identity(std::string_view chip) {
    const auto it = std::find_if(kIdentities.begin(), kIdentities.end(),
                                 [&](const ChipIdentity& i) { return i.chip == chip; });
    return it == kIdentities.end() ? nullptr : &*it;
}

Result<AgentDescription> describe_agent(const ChipSpec& spec, unsigned index,
                                        std::uint64_t hbm_bytes) {
    const ChipIdentity* identity = chip_identity(spec.name);
    if (identity == nullptr)
        return Error{ErrorCode::kUnsupported,
                     "no software GPU '" + spec.name + "' below the runtime", "WAVETAP_GPU",
                     "use soft:gfx90a"};
    AgentDescription agent;
    agent.spec = spec;
    agent.identity = *identity;
    agent.hbm_bytes = hbm_bytes;
    agent.gpu_id = 0x5741 + 0x101 * index;
    agent.render_minor = kFirstRenderMinor + static_cast<int>(index);
    return agent;
}

Files topology_files(const std::vector<AgentDescription>& agents, std::uint32_t cpus,
                     std::uint64_t memory_bytes, std::uint32_t cpu_apicid) {
    Files files;
    const std::string root = std::string(kSysfsRoot) + "/kfd/topology";
    add_text(files, root + "/generation_id", "2\n");
    add_properties(files, root + "/system_properties",
                   {{"platform_oem", 0}, {"platform_id", 0}, {"platform_rev", 0}});
    const auto gpus = static_cast<unsigned>(agents.size());
    add_cpu_node(files, root + "/nodes/0", gpus, std::max(cpus, 1u), memory_bytes, cpu_apicid);
    for (unsigned i = 0; i < gpus; ++i)
        add_gpu_node(files, root + "/nodes/" + std::to_string(i + 1), agents[i], i + 1, gpus);
    return files;
}

std::uint32_t first_apicid(std::string_view cpuinfo) {
    for (const std::string_view line : split(cpuinfo, '\n')) {
        if (!line.starts_with("apicid")) continue;
        const std::size_t colon = line.find(": ");
        if (colon == std::string_view::npos) continue;
        std::uint32_t id = 0;
        const std::string_view digits = line.substr(colon + 2);
        std::from_chars(digits.data(), digits.data() + digits.size(), id);
        return id;
    }
    return 0;
}

} // namespace wavetap::softgpu::kfd
