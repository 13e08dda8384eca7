// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>

namespace wavetap {

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::steady_clock::time_point;

/// Where deadlines come from. Injected, so that tests and slow (software) GPUs can stretch time
/// without touching any limit in the code. Thread safe.
class Clock {
  public:
    virtual ~Clock() = default;
    virtual TimePoint now() const = 0;
    /// The moment `limit` from now, stretched by the clock's scale.
    virtual TimePoint deadline_after(Duration limit) const = 0;
};

/// steady_clock; `scale` multiplies every limit handed to deadline_after (1 = as written).
class SteadyClock final : public Clock {
  public:
    explicit SteadyClock(double scale = 1.0) : scale_(scale > 0 ? scale : 1.0) {}
    TimePoint now() const override { return std::chrono::steady_clock::now(); }
    TimePoint deadline_after(Duration limit) const override;

  private:
    double scale_;
};

} // namespace wavetap
