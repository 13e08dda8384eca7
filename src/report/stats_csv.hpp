// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "report/code_table.hpp"
#include "report/hot_spots.hpp"

#include <string>

namespace wavetap::report {

/// The table that rocprofv3 calls stats_*.csv, column for column:
///   CodeObj,Vaddr,Instruction,Hitcount,Latency,Stall,Idle,Source
/// Sums, not means; shader clocks; by code object and address. CodeObj counts from 1. Texts are
/// quoted. Before the first instruction of a function stands a row with "; NAME" (mangled), zeros,
/// and the demangled name as Source. Inlined positions are joined by " -> ", innermost first.
/// The timing word is not in it, since its readers go by position: the caller says it elsewhere.
std::string to_stats_csv(const HotSpots& spots, const CodeTable& code);

} // namespace wavetap::report
