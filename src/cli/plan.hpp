// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "capture/params.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// What `wavetap record` asks the tool library to do. Pure: options and a chip in, contexts out.

namespace wavetap::cli {

/// The options as the user wrote them; empty = not given.
struct RecordOptions {
    std::string agents, mode, se, cu, simd, buffer, buffers, contexts, sweep, window;
    std::string kernel, kernel_exclude;
    std::string stream_rate, on_full, packets;
    bool no_detail = false, every_launch = false, serialize_all = false;
    std::string perf_counters; ///< list of NAME|ID[:SIMDMASK]
    std::string perf_period, perf_exclude;
    bool stream_engines = false; ///< several engines at once with several buffers
};

/// The GPU that will be traced.
struct ChipShape {
    capture::AgentTopology topology;
    /// Compute units that are fused off: engine, CU.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> harvested;
    bool modelled = false;    ///< the software GPU
    std::uint32_t agents = 1; ///< so many of this chip
};

struct PlannedContext {
    std::uint32_t id = 0;
    std::uint32_t agent = 0;
    std::uint64_t se_mask = 1;
    std::uint32_t cu = 1;
    std::uint32_t simd_mask = 0xf; ///< bit i = SIMD i
    std::uint64_t buffer_bytes = 0;
    std::uint32_t buffers = 1;
    bool several_engines = false;                      ///< with several buffers
    std::uint64_t stream_rate = 0;                     ///< bytes a second, with several buffers
    std::string on_full = "chip";                      ///< see tool-config.md, with several buffers
    std::uint64_t handler_slowness = 0, hub_stall = 0; ///< percent, see tool-config.md
    bool detail = true;
    bool serialize_all = false; ///< dispatch mode
    std::vector<capture::PerfCounterParam> perf_counters;
    std::uint64_t perf_period = 0, perf_exclude_mask = 0; ///< with counters
};

struct Plan {
    std::string mode; ///< "dispatch", "device"
    std::vector<PlannedContext> contexts;
    std::uint64_t window = 2; ///< dispatches before the next context takes over
    bool rotate = false;      ///< more than one context
    bool sharing = true;      ///< false: each context has a queue and a buffer of its own (a test)
    std::string turns = "launches"; ///< or "completions", see tool-config.md
    bool every_launch = false;      ///< dispatch mode
    std::string kernel, kernel_exclude;
    std::string packets = "wavetap"; ///< or "aqlprofile"
    std::string aqlprofile_library;  ///< empty: as ROCm installs it
    bool modelled = false;
};

inline constexpr std::uint64_t kMostContexts = 100'000;

/// With several agents (all of them, or those of --agent): `--contexts N` deals the contexts out to
/// the agents by turns; otherwise every agent gets a context of each kind.
/// Every context of the answer is accepted by capture::ValidatedParams. Errors: kInvalidArgument and
/// kUnsupported, with the option in `where`.
Result<Plan> make_plan(const RecordOptions& options, const ChipShape& chip);

/// The number that `option` has as `text`. Errors: kInvalidArgument (none, or outside least..most),
/// with the option in `where`.
Result<std::uint64_t> number_option(const std::string& text, const char* option,
                                    std::uint64_t least, std::uint64_t most);

/// The file that WAVETAP_TOOL_CONFIG names (docs/formats/tool-config.md). `dir` is absolute.
std::string tool_config(const Plan& plan, const std::string& dir);

/// What --dry-run prints.
std::string plan_text(const Plan& plan, const ChipShape& chip);
std::string plan_json(const Plan& plan, const ChipShape& chip);

} // namespace wavetap::cli
