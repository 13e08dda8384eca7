// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "cli/gpu.hpp"
#include "cli/plan.hpp"
#include "cli/summary.hpp"

#include <string>
#include <vector>

// The steps from a plan to a trace folder, which `record` and `soak` share.

namespace wavetap::cli {

/// The chip that will be traced, and what the program's environment needs for it.
struct TraceTarget {
    ChipShape chip;
    Variables variables;
};

/// `gpu` as --gpu has it. With `dry` no library is looked for. Errors: those of parse_gpu,
/// software_chip, software_gpu_variables; "--gpu" in `where` = wrong use.
Result<TraceTarget> software_target(const std::string& gpu, bool dry);

/// "wavetap-NAME-N", the first N that is free; NAME is the last part of `program`.
std::string default_trace_dir(const std::string& program);

/// Makes the folder; with `force` it replaces the trace in it. Errors: kWrongState (it is there
/// already), kIo.
Result<void> prepare_trace_dir(const std::string& dir, bool force);

/// Writes the tool's configuration into `dir` and gives the environment of the program to record.
/// `tool` is the path of the tool library; `truth` also keeps what really ran. Errors: kIo.
Result<Variables> recording_variables(const Plan& plan, const TraceTarget& target,
                                      const std::string& tool, const std::string& dir, bool truth);

/// After a program that could not be started: the folder goes if nothing else is in it.
void remove_unused_dir(const std::string& dir);

/// Reads the folder back after `program` ended with `status`, and writes its summary.json. A program
/// that never loaded the runtime left an empty trace. Errors: kIo, kCorrupt.
Result<Summary> finish_recording(const Plan& plan, const std::string& dir,
                                 const std::vector<std::string>& program, int status);

} // namespace wavetap::cli
