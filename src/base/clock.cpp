// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/clock.hpp"

namespace wavetap {

TimePoint SteadyClock::deadline_after(Duration limit) const {
    const double scaled = static_cast<double>(limit.count()) * scale_;
    // Far enough for anyone, near enough not to overflow time_point.
    constexpr double kLongest = 1e9 * 3600 * 24 * 365;
    const auto ns = static_cast<std::int64_t>(scaled < kLongest ? scaled : kLongest);
    return now() + Duration(ns);
}

} // namespace wavetap
