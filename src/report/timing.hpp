// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "report/blob.hpp"

#include <set>
#include <string>
#include <string_view>
#include <vector>

// Facts that every report shows.

namespace wavetap::report {

/// "modelled", "hardware", "mixed"; "unknown" where no agent was recorded.
std::string timing_word(const std::set<std::string>& timings);
/// The line that every text shows: what the times are worth.
std::string timing_line(std::string_view timing);

/// "process 4711, run 3, SE 1".
std::string blob_name(const Blob& blob);
/// Of a whole process: it was killed, notes of the recorder with severity warning or error.
std::vector<std::string> process_problems(const store::ProcessTrace& process);

} // namespace wavetap::report
