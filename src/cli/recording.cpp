// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/recording.hpp"

#include "store/files.hpp"
#include "store/trace_folder.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

namespace wavetap::cli {

namespace fs = std::filesystem;

namespace {

/// A program that never loaded the runtime leaves no process folder: that is an empty trace.
Result<store::TraceFolder> read_back(const std::string& dir) {
    Result<store::TraceFolder> folder = store::open_folder(dir);
    if (folder || folder.error().code != ErrorCode::kNotFound) return folder;
    store::TraceFolder empty;
    empty.dir = dir;
    return empty;
}

} // namespace

Result<TraceTarget> software_target(const std::string& gpu_text, bool dry) {
    WAVETAP_TRY(const SoftwareGpu gpu, parse_gpu(gpu_text));
    WAVETAP_TRY(ChipShape chip, software_chip(gpu.chips.front()));
    for (const std::string& other : gpu.chips)
        if (other != gpu.chips.front())
            return Error{ErrorCode::kUnsupported,
                         "one recording takes agents of one chip, not " + gpu.chips.front() +
                             " and " + other,
                         "--gpu", "record them one after the other"};
    chip.agents = static_cast<std::uint32_t>(gpu.chips.size());
    TraceTarget target{std::move(chip), {}};
    if (dry) return target;
    WAVETAP_TRY(target.variables, software_gpu_variables(gpu));
    return target;
}

std::string default_trace_dir(const std::string& program) {
    std::string name = fs::path(program).filename().string();
    for (char& c : name) {
        if (static_cast<unsigned char>(c) <= ' ') c = '_';
    }
    for (int number = 1;; ++number) {
        std::string dir = fmt::format("wavetap-{}-{}", name, number);
        std::error_code code;
        if (!fs::exists(fs::symlink_status(dir, code))) return dir;
    }
}

Result<void> prepare_trace_dir(const std::string& dir, bool force) {
    std::error_code code;
    if (fs::exists(fs::symlink_status(dir, code))) {
        if (!force)
            return Error{ErrorCode::kWrongState, "the folder exists already", dir,
                         "name another one with -o, or add --force to replace the trace in it"};
        WAVETAP_CHECK_OK(store::clear_folder(dir));
    }
    return store::make_directories(dir);
}

Result<Variables> recording_variables(const Plan& plan, const TraceTarget& target,
                                      const std::string& tool, const std::string& dir, bool truth) {
    const std::string full_dir = fs::absolute(dir).lexically_normal().string();
    const std::string config_path = full_dir + "/tool.json";
    const std::string config = tool_config(plan, full_dir);
    std::error_code code;
    fs::remove(config_path, code);
    WAVETAP_CHECK_OK(store::write_new_file(config_path, std::as_bytes(std::span(config))));
    Variables variables = target.variables;
    variables.emplace_back("WAVETAP_TOOL_CONFIG", config_path);
    variables.emplace_back("HSA_TOOLS_LIB", prepended("HSA_TOOLS_LIB", tool, ' '));
    variables.emplace_back("HSA_TOOLS_REPORT_LOAD_FAILURE", "1");
    if (target.chip.modelled) variables.emplace_back("WAVETAP_DRIVER_DIR", full_dir);
    if (truth) variables.emplace_back("WAVETAP_TRUTH_DIR", full_dir);
    return variables;
}

void remove_unused_dir(const std::string& dir) {
    std::error_code code;
    fs::remove(dir + "/tool.json", code);
    fs::remove(dir, code);
}

Result<Summary> finish_recording(const Plan& plan, const std::string& dir,
                                 const std::vector<std::string>& program, int status) {
    WAVETAP_TRY(const store::TraceFolder folder, read_back(dir));
    WAVETAP_TRY(Summary summary, summarize(folder, plan));
    summary.program = program;
    summary.status = status;
    WAVETAP_CHECK_OK(store::write_summary(dir, summary_json(summary) + "\n"));
    return summary;
}

} // namespace wavetap::cli
