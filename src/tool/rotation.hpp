// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace wavetap::tool {

/// Which context an agent's matching dispatches belong to. A value; not thread safe.
class Rotation {
  public:
    /// `contexts` > 0, `window` > 0. Without `rotate` the first context takes everything.
    Rotation(std::size_t contexts, std::uint64_t window, bool rotate)
        : contexts_(contexts), window_(window), rotate_(rotate) {}

    /// Counts one matching dispatch. Returns the context that must take over before it, if any.
    std::optional<std::size_t> next() {
        const std::uint64_t number = matching_++;
        if (number == 0) return 0;
        if (!rotate_ || number % window_ != 0) return std::nullopt;
        return static_cast<std::size_t>(number / window_ % contexts_);
    }
    std::uint64_t matching() const { return matching_; }

  private:
    std::size_t contexts_;
    std::uint64_t window_;
    bool rotate_;
    std::uint64_t matching_ = 0;
};

} // namespace wavetap::tool
