// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "report/code_table.hpp"
#include "store/trace_folder.hpp"

#include <functional>
#include <string_view>
#include <vector>

namespace wavetap::report {

struct PerfettoOptions {
    bool instructions = true; ///< inside the waves of the targets
};

/// Takes the next piece of a file.
using TextSink = std::function<Result<void>(std::string_view)>;

/// Chrome trace events (JSON), which ui.perfetto.dev and chrome://tracing open: one process a run
/// and shader engine, one track a wave slot, waves as slices, their instructions inside. Slices
/// never overlap: an instruction is cut where the next one begins.
///
/// Times: one shader clock is shown as one nanosecond, since the trace need not tell the clock's
/// rate; the trace says so in its metadata ("time_unit"), beside "timing".
/// Written in pieces as the trace is read: in memory for half a MiB of it. Errors: those of
/// visit_waves() and of `sink`.
Result<void> write_perfetto(const std::vector<store::TraceFolder>& folders, CodeTable& code,
                            const PerfettoOptions& options, const TextSink& sink);

} // namespace wavetap::report
