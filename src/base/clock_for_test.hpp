// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/clock.hpp"

#include <atomic>

namespace wavetap {

/// For tests: a SteadyClock whose scale changes while threads use it, so that a limit is short where
/// it must be missed and long everywhere else, however slow the machine is.
class ClockForTest final : public Clock {
  public:
    TimePoint now() const override { return std::chrono::steady_clock::now(); }
    TimePoint deadline_after(Duration limit) const override {
        return SteadyClock(scale.load()).deadline_after(limit);
    }

    std::atomic<double> scale{1};
};

} // namespace wavetap
