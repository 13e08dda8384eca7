// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/units.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace wavetap::softgpu::kfd {

/// Settings of the software GPU, from the environment of the process. A value.
struct Config {
    std::vector<std::string> chips;       ///< WAVETAP_GPU=soft:CHIP[,CHIP…], one an agent
    std::uint64_t hbm_bytes = 64 * kGiB;  ///< WAVETAP_SOFTGPU_HBM, an agent
    std::uint32_t queues_per_agent = 128; ///< WAVETAP_SOFTGPU_QUEUES, all owners counted, 1..1024
    std::uint64_t seed = 0;               ///< WAVETAP_SOFTGPU_SEED
    std::string truth_folder;             ///< WAVETAP_TRUTH_DIR; empty = no truth log
    std::string counters_folder;          ///< WAVETAP_DRIVER_DIR, else the truth's; empty = no file
    std::string log_path;                 ///< WAVETAP_SOFTGPU_LOG; empty = no ioctl trace
    std::uint32_t interface_minor = 11; ///< WAVETAP_SOFTGPU_KFD_MINOR, the 1.MINOR told to callers
};

/// `get` looks a variable up (nullptr = unset). Errors: kInvalidArgument naming the variable.
Result<Config> read_config(const std::function<const char*(const char*)>& get);

} // namespace wavetap::softgpu::kfd
