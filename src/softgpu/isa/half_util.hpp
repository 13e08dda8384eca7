// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "softgpu/isa/float_util.hpp"

namespace wavetap::softgpu::isa {

inline Half half_add(Half a, Half b) {
    return double_to_half(add(half_to_double(a), half_to_double(b)));
}
inline Half half_sub(Half a, Half b) {
    return double_to_half(sub(half_to_double(a), half_to_double(b)));
}
inline Half half_mul(Half a, Half b) {
    return double_to_half(mul(half_to_double(a), half_to_double(b)));
}
inline Half half_fma(Half a, Half b, Half c) {
    return double_to_half(fma(half_to_double(a), half_to_double(b), half_to_double(c)));
}
inline bool half_is_signaling(Half a) {
    return (a.bits & 0x7fff) > 0x7c00 && (a.bits & 0x200) == 0;
}
inline Half half_quiet(Half a) {
    return Half{static_cast<std::uint16_t>(a.bits | 0x200)};
}

/// As min_num and max_num; conversions to double would quiet signaling NaNs first.
inline Half half_min(Half a, Half b, bool ieee) {
    if (ieee && half_is_signaling(a)) return half_quiet(a);
    if (ieee && half_is_signaling(b)) return half_quiet(b);
    return double_to_half(min_num(half_to_double(a), half_to_double(b), false));
}
inline Half half_max(Half a, Half b, bool ieee) {
    if (ieee && half_is_signaling(a)) return half_quiet(a);
    if (ieee && half_is_signaling(b)) return half_quiet(b);
    return double_to_half(max_num(half_to_double(a), half_to_double(b), false));
}
inline Half half_med3(Half a, Half b, Half c, bool ieee) {
    const auto nan = [](Half h) { return (h.bits & 0x7fff) > 0x7c00; };
    if (nan(a) || nan(b) || nan(c)) return half_min(half_min(a, b, ieee), c, ieee);
    const Half low = half_min(a, b, ieee);
    const Half high = half_max(a, b, ieee);
    return half_max(low, half_min(high, c, ieee), ieee);
}

} // namespace wavetap::softgpu::isa
