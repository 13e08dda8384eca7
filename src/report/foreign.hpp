// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "store/trace_folder.hpp"

#include <string>
#include <string_view>

// Folders that other tools wrote, opened as if they were ours (docs/foreign-folders.md):
//
//   rocprofv3     PREFIX_AGENT_shader_engine_SE_DISPATCH.att, PREFIX_GFX_code_object_id_ID.out and
//                 PREFIX_results.json, in the folder or up to three below it
//   plain         NAME<N>.att of one kernel launch (N = shader engine), one code object, and
//                 perhaps meta.json with its load_base: how tinygrad's traces are kept

namespace wavetap::report {

/// One process for each PREFIX, one context for each agent, one run for each dispatch. Damage that
/// leaves the rest readable becomes a note of the process: two files of one shader engine, a listed
/// file that is missing, a code object without a number.
/// Errors: kNotFound (no .att file), kCorrupt (names or JSON that cannot be read, with the path),
/// kIo.
Result<store::TraceFolder> open_foreign(const std::string& dir);

/// Ours, or else a foreign one. Errors: those of store::open_folder and of open_foreign.
Result<store::TraceFolder> open_any(const std::string& dir);

/// The parts of a rocprofv3 file name; the prefix may hold anything.
struct AttName {
    std::string prefix;
    std::string agent; ///< handle, decimal
    std::uint32_t se = 0;
    std::uint64_t dispatch = 0;
};
/// False if `name` is not of the form above.
bool parse_att_name(std::string_view name, AttName& out);

} // namespace wavetap::report
