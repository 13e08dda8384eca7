// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

namespace wavetap::tool {

/// External correlation ids that the program pushes through libwavetap.so (wavetap.h), which this
/// library is not linked with. Thread safe.
class ExternalCorrelation {
  public:
    /// Looks whether the program has libwavetap.so, until it was found. Whoever loads it later is
    /// found when the next queue is made.
    void look();
    /// That of the calling thread; 0 = none.
    std::uint64_t current() const {
        const Getter getter = getter_.load();
        return getter != nullptr ? getter() : 0;
    }

  private:
    using Getter = std::uint64_t (*)();
    std::atomic<Getter> getter_{nullptr}; ///< set once
};

} // namespace wavetap::tool
