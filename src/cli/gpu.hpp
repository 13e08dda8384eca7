// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "cli/plan.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Where the software GPU and the tool library are, and the environment that puts a program on them.

namespace wavetap::cli {

/// Value of --gpu: "soft:gfx90a" or "soft:gfx90a,gfx90a" (one agent each).
struct SoftwareGpu {
    std::string text; ///< as written
    std::vector<std::string> chips;
};

/// Errors: kInvalidArgument (not soft:…), kUnsupported (unknown chip; names those there are).
Result<SoftwareGpu> parse_gpu(const std::string& text);

/// Engines, compute units and SIMDs of a chip of the software GPU. Errors: kUnsupported.
Result<ChipShape> software_chip(const std::string& name);

/// Full path of a library of this build or installation, looked for relative to the running
/// program. Errors: kNotFound.
Result<std::string> find_library(const std::string& file_name);

inline constexpr const char* kSoftwareGpuLibrary = "libwavetap-softgpu.so";
inline constexpr const char* kToolLibrary = "libwavetap-tool.so";

using Variables = std::vector<std::pair<std::string, std::string>>;

/// LD_PRELOAD (before what is there) and WAVETAP_GPU. Errors: kNotFound (library missing or at a
/// place that LD_PRELOAD cannot name).
Result<Variables> software_gpu_variables(const SoftwareGpu& gpu);

/// Puts `item` before the value that variable `name` has, unless it is in there already.
std::string prepended(const char* name, const std::string& item, char separator);

/// Whether the kernel driver of AMD GPUs is loaded.
bool has_kernel_driver();

/// The error of a command that needs a GPU where there is none.
Error no_gpu_error();

} // namespace wavetap::cli
