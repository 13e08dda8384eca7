// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "store/trace_folder.hpp"

#include <string>
#include <vector>

namespace wavetap::report {

/// A folder with the names that rocprofv3 uses, for viewers and scripts that read raw traces:
/// DIR/PID_AGENT_shader_engine_SE_DISPATCH.att (the bytes as recorded, one file a segment of a run;
/// DISPATCH is its first dispatch, or its number plus one where that is not known; the next number
/// that is free where it is taken),
/// DIR/PID_GFX_code_object_id_ID.out and DIR/PID_results.json. AGENT is the agent's number plus one.
/// open_foreign() reads it back.
///
/// Returns the number of traces. Errors: kIo, kCorrupt (a recorded file), kWrongState (a file is
/// there already), kInvalidArgument (two processes with one id).
Result<std::size_t> write_att_folder(const std::vector<store::TraceFolder>& folders,
                                     const std::string& dir);

} // namespace wavetap::report
