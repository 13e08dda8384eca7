// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "store/trace_folder.hpp"

#include <cstdint>
#include <string>
#include <string_view>

// The lines of manifest.jsonl (docs/formats/trace-folder.md): one function a kind of line, without
// the line feed, and one that reads any of them.

namespace wavetap::store {

inline constexpr std::uint32_t kManifestVersion = 1;

std::string folder_line(int pid);
std::string agent_line(const AgentInfo& agent);
std::string context_line(const ContextInfo& context);
std::string code_object_line(const CodeObjectInfo& object);
std::string code_object_unloaded_line(std::uint64_t id);
std::string dispatch_line(const DispatchInfo& dispatch);
std::string run_begin_line(const RunInfo& run);
std::string chunk_line(const ChunkInfo& chunk);
std::string run_end_line(const RunInfo& run);
/// Errors: kInvalidArgument if `json_object` is not a JSON object.
Result<std::string> statistics_line(std::string_view json_object);
std::string note_line(std::string_view severity, std::string_view text);
std::string finish_line();

/// Adds what one line says to `trace`. `number` counts from 1; line 1 must be the folder line.
/// Errors, without a place: kCorrupt, kUnsupported (a newer version).
Result<void> apply_line(std::string_view line, std::uint64_t number, ProcessTrace& trace);

} // namespace wavetap::store
