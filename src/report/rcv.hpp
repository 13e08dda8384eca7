// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "report/code_table.hpp"
#include "store/trace_folder.hpp"

#include <string>
#include <vector>

namespace wavetap::report {

/// Folders that ROCprof Compute Viewer opens: DIR/ui_output_agent_AGENT_dispatch_N/ for each run (N
/// is its first dispatch, or its number plus one where that is not known; a second run with the same
/// number, and further segments of a run, get "_2" and so on). Each holds filenames.json, code.json, occupancy.json, one file a
/// wave of the target, realtime.json, snapshots.json with copies of the source files that are here,
/// other_simd_*, shaderdata_* and *_perfcounter.json where there are such records, and wavetap.json
/// with the timing word. Stalls above 65,535 are clamped, as the viewer keeps sixteen bits.
///
/// In memory are half a MiB of the trace and the tables that are told of a run as a whole: 48 bytes for
/// each wave, some more for each one of the target, and records that belong to no wave. DIR is made; it must not hold such folders yet.
/// Returns the folders. Errors: those of visit_pieces(), kIo, kWrongState (a file is there already).
Result<std::vector<std::string>> write_rcv(const std::vector<store::TraceFolder>& folders,
                                           CodeTable& code, const std::string& dir);

} // namespace wavetap::report
