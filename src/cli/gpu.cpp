// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/gpu.hpp"

#include "base/units.hpp"
#include "softgpu/chip.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace wavetap::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* kExample = "write e.g. --gpu soft:gfx90a, or soft:gfx90a,soft:gfx90a for two";

} // namespace

Result<SoftwareGpu> parse_gpu(const std::string& text) {
    constexpr std::string_view kPrefix = "soft:";
    if (!text.starts_with(kPrefix))
        return Error{ErrorCode::kInvalidArgument, "'" + text + "' is not a software GPU", "--gpu",
                     kExample};
    if (text == kPrefix)
        return Error{ErrorCode::kInvalidArgument, "'" + text + "' names no chip", "--gpu",
                     kExample};
    SoftwareGpu gpu;
    gpu.text = text;
    for (std::string_view chip : split(std::string_view(text), ',')) {
        if (chip.starts_with(kPrefix)) chip.remove_prefix(kPrefix.size());
        if (const Result<softgpu::ChipSpec> spec = softgpu::chip_spec(chip); !spec) {
            Error error = spec.error();
            error.where = "--gpu";
            return error;
        }
        gpu.chips.emplace_back(chip);
    }
    return gpu;
}

Result<ChipShape> software_chip(const std::string& name) {
    WAVETAP_TRY(const softgpu::ChipSpec spec, softgpu::chip_spec(name));
    ChipShape chip;
    chip.topology.gfx = spec.name;
    chip.topology.engines_per_xcc = spec.shader_engines;
    chip.topology.cus_per_engine = spec.cus_per_engine;
    chip.topology.simds_per_cu = spec.simds_per_cu;
    chip.topology.counter_hz = spec.counter_hz;
    for (const std::uint16_t fused : spec.harvested)
        chip.harvested.emplace_back(fused >> 8, fused & 0xff);
    chip.modelled = true;
    return chip;
}

Result<std::string> find_library(const std::string& file_name) {
    std::error_code code;
    const fs::path self = fs::read_symlink("/proc/self/exe", code);
    const fs::path root = self.parent_path().parent_path();
    for (const char* folder : {"lib", WAVETAP_LIBRARY_FOLDER}) {
        const fs::path path = root / folder / file_name;
        if (fs::exists(path, code)) return path.string();
    }
    return Error{ErrorCode::kNotFound, "the library " + file_name + " is missing",
                 (root / "lib").string(),
                 "build or install wavetap whole: `./dev build release`, or `cmake --install`"};
}

std::string prepended(const char* name, const std::string& item, char separator) {
    const char* present = std::getenv(name);
    if (present == nullptr || *present == '\0') return item;
    const auto parts = split(present, separator);
    if (std::find(parts.begin(), parts.end(), item) != parts.end()) return present;
    return item + separator + present;
}

Result<Variables> software_gpu_variables(const SoftwareGpu& gpu) {
    WAVETAP_TRY(const std::string library, find_library(kSoftwareGpuLibrary));
    if (library.find_first_of(": ") != std::string::npos)
        return Error{ErrorCode::kNotFound,
                     "a library whose path has a blank or a colon cannot be "
                     "preloaded",
                     library, "move wavetap to another folder"};
    return Variables{{"LD_PRELOAD", prepended("LD_PRELOAD", library, ':')},
                     {"WAVETAP_GPU", gpu.text}};
}

bool has_kernel_driver() {
    return ::access("/dev/kfd", F_OK) == 0;
}

Error no_gpu_error() {
    return Error{ErrorCode::kUnavailable, "there is no AMD GPU here and no --gpu was given",
                 "/dev/kfd", "add --gpu soft:gfx90a to use the software GPU"};
}

} // namespace wavetap::cli
