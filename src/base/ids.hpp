// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace wavetap {

/// An integer that cannot be mixed up with one of another Tag.
template <class Tag, class Rep = std::uint32_t> struct StrongId {
    Rep value{};
    friend auto operator<=>(const StrongId&, const StrongId&) = default;
};

} // namespace wavetap

template <class Tag, class Rep> struct std::hash<wavetap::StrongId<Tag, Rep>> {
    std::size_t operator()(const wavetap::StrongId<Tag, Rep>& id) const noexcept {
        return std::hash<Rep>{}(id.value);
    }
};
