// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "report/hot_spots.hpp"

#include <string>

namespace wavetap::report {

/// A file of speedscope (a flame graph viewer): two profiles, all clocks of latency and all clocks of
/// stall. A stack is kernel function, source positions from the outermost call site inwards,
/// instruction. The timing word stands in the profiles' names. Ends with a line feed.
std::string to_speedscope(const HotSpots& spots);

} // namespace wavetap::report
