// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

namespace wavetap::sqtt {

/// Where a writer's bytes go. One call carries whole tokens (at most kMaxTokenWrite bytes) that
/// belong together; a sink takes all of them or refuses.
class TokenSink {
  public:
    virtual ~TokenSink() = default;
    /// False: nothing was taken (the buffer is full).
    virtual bool write(std::span<const std::byte> bytes) = 0;
};

inline constexpr std::size_t kMaxTokenWrite = 32;

} // namespace wavetap::sqtt
