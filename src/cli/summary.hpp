// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "cli/plan.hpp"
#include "store/trace_folder.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// What `wavetap record` says at its end: read back from the trace folder, never from what was asked.

namespace wavetap::cli {

inline constexpr std::uint64_t kMostBytesJudged = std::uint64_t{64} << 20;

struct ContextSummary {
    PlannedContext planned;
    std::uint64_t runs = 0;         ///< that were begun
    std::uint64_t bytes = 0;        ///< of all its runs, software headers left out
    std::uint64_t killed = 0;       ///< of its runs: the process ended before they did
    std::uint64_t killed_bytes = 0; ///< of `bytes`: those of such runs
    std::uint64_t dropped = 0;
    bool full = false; ///< a buffer was too small (one buffer: the end of the run is missing)
    // With several buffers, of all its runs and engines.
    std::uint64_t flips = 0; ///< full buffers that the hardware left for the next one
    std::uint64_t cpu_full = 0, gpu_full = 0; ///< segments that ended so
    /// Of all its runs; nothing where the trace was too large to be judged at once.
    std::optional<std::uint64_t> waves, waves_on_target;
    bool captured() const { return bytes > killed_bytes; }
};

struct Summary {
    std::string dir;
    std::vector<std::string> program;
    int status = 0;   ///< of the program
    std::string chip; ///< "gfx90a"
    std::string timing;
    std::vector<ContextSummary> contexts;
    std::uint64_t processes = 0;
    std::uint64_t killed_processes = 0; ///< whose manifest lacks its end
    std::uint64_t dispatches = 0;
    std::string agents_json;                                ///< array
    std::string driver_json;                                ///< object, or "null"
    std::vector<std::pair<std::string, std::string>> notes; ///< severity, text

    std::uint64_t captured() const;
};

/// `folder` may be empty (no process wrote a trace). Traces of up to kMostBytesJudged are decoded to
/// tell which contexts saw no wave on their target. Errors: kIo, kCorrupt (of the driver's file).
Result<Summary> summarize(const store::TraceFolder& folder, const Plan& plan);

std::string summary_text(const Summary& summary);
std::string summary_json(const Summary& summary);

/// Why a trace in which nothing was captured is empty, and what to do.
Error nothing_captured(const Summary& summary);

} // namespace wavetap::cli
