// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "pm4/thread_trace.hpp"

// The command streams of gfx10.3, gfx11.0 and gfx12.0: what thread_trace.hpp's builders do for
// them. Called by thread_trace.cpp after its checks. Pure functions, any thread.

namespace wavetap::pm4 {

namespace rdna {

/// Rules that only these chips have. Errors: kInvalidArgument, kUnsupported.
Result<void> check(const TraceTopology& topology, const TraceConfig& config);

/// Preconditions of all: check() and thread_trace.cpp's checks passed; `capacity` is
/// capacity_per_engine().
std::vector<std::uint32_t> start(const TraceTopology& topology, const TraceConfig& config,
                                 const TraceMemory& memory, std::uint64_t capacity);
std::vector<std::uint32_t> stop(const TraceTopology& topology, const TraceConfig& config,
                                const TraceMemory& memory, std::uint64_t capacity);
/// gfx12 with a ring only.
std::vector<std::uint32_t> query(const TraceTopology& topology, const TraceConfig& config,
                                 const TraceMemory& memory, std::uint64_t capacity);
std::vector<std::uint32_t> swap(const TraceTopology& topology, const TraceConfig& config,
                                const TraceMemory& memory, std::uint64_t capacity, std::uint32_t se,
                                std::uint64_t index);
/// As pm4::interpret_query(), of gfx12.
QueryResult interpret(std::uint32_t status2, std::uint32_t wptr);
/// As pm4::interpret_control().
EngineResult interpret(Generation generation, const ControlWords& words,
                       std::uint64_t capacity_bytes);

} // namespace rdna

} // namespace wavetap::pm4
