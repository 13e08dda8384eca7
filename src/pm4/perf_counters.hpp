// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "pm4/thread_trace.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

// The SQ's performance counters of gfx9 by the names that AMD's profilers use. Names and numbers:
// the public counter definitions of rocprofiler-sdk (counter_defs.yaml, block SQ), without those of
// the caches (SQC_*), which count for several compute units at once.

namespace wavetap::pm4 {

/// PERF_SEL of the counter called `name` on a chip ("gfx90a", "gfx942", "gfx950"); nothing if it has
/// none.
std::optional<std::uint32_t> counter_id(std::string_view gfx, std::string_view name);
/// The other way round; empty if the chip has no counter with this number.
std::string_view counter_name(std::string_view gfx, std::uint32_t id);

/// A queue counts the waves of its own dispatches only once it has run this (COMPUTE_PERFCOUNT_ENABLE
/// belongs to the queue). The start stream has it, too. Errors: kUnsupported (no gfx9 chip).
Result<std::vector<std::uint32_t>> build_counter_enable(const TraceTopology& topology);

} // namespace wavetap::pm4
