// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace wavetap::tool {

struct CounterConfig {
    std::uint64_t id = 0, simd_mask = 0xf;
};

struct ContextConfig {
    std::uint32_t id = 0;
    std::uint32_t agent = 0;
    std::uint64_t se_mask = 1, cu = 1, simd_mask = 0xf;
    std::uint64_t buffer_bytes = 0, buffers = 1;
    bool several_engines = false;
    std::uint64_t stream_rate = 60'000'000'000;
    std::string on_full = "chip"; ///< or "restart", "end": several buffers, no room in the hardware
    /// For tests of streaming, in percent of the time between the first two buffers: how long the tool
    /// takes for each chunk; for how long it keeps the hub from looking, once in each run.
    std::uint64_t handler_slowness = 0, hub_stall = 0;
    bool detail = true;
    bool serialize_all = false; ///< dispatch mode: what is not traced runs alone, too
    std::vector<CounterConfig> perf_counters;
    std::uint64_t perf_period = 0, perf_exclude_mask = 0;
    std::string mode = "device";

    bool samples_counters() const { return !perf_counters.empty() && perf_period != 0; }
};

/// What the file named by WAVETAP_TOOL_CONFIG says (docs/formats/tool-config.md). A value.
struct ToolConfig {
    std::string dir;
    std::vector<ContextConfig> contexts;
    std::uint64_t window = 2; ///< matching dispatches before the next context takes over
    bool rotate = false;
    /// false: a test mode in which every context has a queue, a buffer and a thread of its own, as
    /// profilers without a shared owner do (device mode only).
    bool sharing = true;
    std::string kernel, kernel_exclude; ///< regular expressions; empty = all / none
    std::string mode = "device";        ///< that of all contexts
    std::string turns = "launches";     ///< or "completions": device mode, see CompletionTurns
    bool every_launch = false; ///< dispatch mode: not only a kernel's first one in each context
    /// Whose start, stop and marker packets: "wavetap", or "aqlprofile" for AMD's library, which
    /// `aqlprofile_library` names (empty: as ROCm installs it).
    std::string packets = "wavetap", aqlprofile_library;
    std::string timing = "hardware";
    double deadline_scale = 1.0;
};

/// Errors: kIo (the file), kInvalidArgument (naming the member).
Result<ToolConfig> read_config(const std::string& path);
Result<ToolConfig> parse_config(const std::string& json, const std::string& where);

} // namespace wavetap::tool
