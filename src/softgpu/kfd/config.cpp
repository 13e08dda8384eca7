// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/kfd/config.hpp"

#include <string_view>

namespace wavetap::softgpu::kfd {
namespace {

constexpr std::size_t kMaxAgents = 16;
constexpr std::uint64_t kMaxQueues = 1024; // doorbell slots of an agent

Error bad(const char* variable, std::string message, std::string hint) {
    return Error{ErrorCode::kInvalidArgument, std::move(message), variable, std::move(hint)};
}

Result<std::vector<std::string>> parse_chips(std::string_view text) {
    constexpr std::string_view kPrefix = "soft:";
    const char* const hint = "write WAVETAP_GPU=soft:gfx90a, one chip for each agent";
    if (!text.starts_with(kPrefix))
        return bad("WAVETAP_GPU", "unknown GPU '" + std::string(text) + "'", hint);
    std::vector<std::string> chips;
    for (std::string_view part : split(text, ',')) {
        if (part.starts_with(kPrefix)) part.remove_prefix(kPrefix.size());
        if (part.empty()) return bad("WAVETAP_GPU", "a chip name is empty", hint);
        chips.emplace_back(part);
    }
    if (chips.size() > kMaxAgents)
        return bad("WAVETAP_GPU", std::to_string(chips.size()) + " agents; at most 16 are possible",
                   "name fewer chips");
    return chips;
}

Result<std::uint64_t> number_in(const char* variable, const char* text, std::uint64_t low,
                                std::uint64_t high) {
    auto value = parse_number(text);
    if (!value || *value < low || *value > high)
        return bad(variable, "'" + std::string(text) + "' is not a number in the range",
                   "use " + std::to_string(low) + " to " + std::to_string(high));
    return *value;
}

} // namespace

Result<Config> read_config(const std::function<const char*(const char*)>& get) {
    Config config;
    const auto set = [&](const char* name) {
        const char* value = get(name);
        return value != nullptr && *value != '\0' ? value : nullptr;
    };
    if (const char* text = set("WAVETAP_GPU")) {
        WAVETAP_TRY(config.chips, parse_chips(text));
    }
    if (const char* text = set("WAVETAP_SOFTGPU_HBM")) {
        auto bytes = parse_size(text);
        if (!bytes || *bytes < 64 * kMiB || *bytes > 1024 * kGiB)
            return bad("WAVETAP_SOFTGPU_HBM", "'" + std::string(text) + "' is not a size in range",
                       "use 64MiB to 1024GiB");
        config.hbm_bytes = *bytes / 4096 * 4096;
    }
    if (const char* text = set("WAVETAP_SOFTGPU_QUEUES")) {
        WAVETAP_TRY(const std::uint64_t n,
                    number_in("WAVETAP_SOFTGPU_QUEUES", text, 1, kMaxQueues));
        config.queues_per_agent = static_cast<std::uint32_t>(n);
    }
    if (const char* text = set("WAVETAP_SOFTGPU_SEED")) {
        WAVETAP_TRY(config.seed, number_in("WAVETAP_SOFTGPU_SEED", text, 0, ~std::uint64_t{0}));
    }
    if (const char* text = set("WAVETAP_SOFTGPU_KFD_MINOR")) {
        WAVETAP_TRY(const std::uint64_t n, number_in("WAVETAP_SOFTGPU_KFD_MINOR", text, 1, 17));
        config.interface_minor = static_cast<std::uint32_t>(n);
    }
    if (const char* text = set("WAVETAP_TRUTH_DIR")) config.truth_folder = text;
    config.counters_folder = config.truth_folder;
    if (const char* text = set("WAVETAP_DRIVER_DIR")) config.counters_folder = text;
    if (const char* text = set("WAVETAP_SOFTGPU_LOG")) config.log_path = text;
    return config;
}

} // namespace wavetap::softgpu::kfd
