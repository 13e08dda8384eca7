// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cstdint>

// External correlation ids: numbers by which a program finds its launches again, a stack for each
// thread. Those of the calling thread.

namespace wavetap::capture {

inline constexpr std::size_t kMostCorrelations = 4096;

/// Errors: kLimit (kMostCorrelations of this thread, or no memory).
Result<void> push_external_correlation(std::uint64_t id);
/// Returns what was on top. Errors: kWrongState (nothing was pushed).
Result<std::uint64_t> pop_external_correlation();
/// The top, or 0.
std::uint64_t external_correlation() noexcept;

} // namespace wavetap::capture
