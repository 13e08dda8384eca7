// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "softgpu/isa/lanes.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

// Floating point as the vector ALU does it, on top of the host's IEEE arithmetic. Results that are
// NaN are made the same on every host and compiler: the first NaN source, quieted; without one, the
// positive quiet NaN (the sign and payload of NaNs are no part of IEEE 754).

namespace wavetap::softgpu::isa {

inline constexpr std::uint32_t kNan32 = 0x7fc00000;
inline constexpr std::uint64_t kNan64 = 0x7ff8000000000000;

inline float quiet(float x) {
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) | 0x00400000U);
}
inline double quiet(double x) {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) | 0x0008000000000000ULL);
}
inline float default_nan(float) {
    return std::bit_cast<float>(kNan32);
}
inline double default_nan(double) {
    return std::bit_cast<double>(kNan64);
}
inline bool is_signaling(float x) {
    const auto b = std::bit_cast<std::uint32_t>(x);
    return (b & 0x7fffffff) > 0x7f800000 && (b & 0x00400000) == 0;
}
inline bool is_signaling(double x) {
    const auto b = std::bit_cast<std::uint64_t>(x);
    return (b & 0x7fffffffffffffffULL) > 0x7ff0000000000000ULL && (b & 0x0008000000000000ULL) == 0;
}

/// `r` unless it is NaN, which becomes the NaN that the sources give.
template <class T> inline T nan_of(T r, T a) {
    const T nan = a != a ? quiet(a) : default_nan(a);
    return r != r ? nan : r;
}
template <class T> inline T nan_of(T r, T a, T b) {
    const T second = b != b ? quiet(b) : default_nan(b);
    const T nan = a != a ? quiet(a) : second;
    return r != r ? nan : r;
}
template <class T> inline T nan_of(T r, T a, T b, T c) {
    const T third = c != c ? quiet(c) : default_nan(c);
    const T second = b != b ? quiet(b) : third;
    const T nan = a != a ? quiet(a) : second;
    return r != r ? nan : r;
}

template <class T> inline T add(T a, T b) {
    return nan_of(a + b, a, b);
}
template <class T> inline T sub(T a, T b) {
    return nan_of(a - b, a, b);
}
template <class T> inline T mul(T a, T b) {
    return nan_of(a * b, a, b);
}
inline float fma(float a, float b, float c) {
    return nan_of(__builtin_fmaf(a, b, c), a, b, c);
}
inline double fma(double a, double b, double c) {
    return nan_of(__builtin_fma(a, b, c), a, b, c);
}

/// Nearest integer, ties to even, whatever the host's rounding mode.
template <class T> inline T round_even(T x) {
    const T down = std::floor(x);
    const T rest = x - down;
    const T odd = down - 2 * std::floor(down / 2);
    const bool up = rest > T{0.5} || (rest == T{0.5} && odd != 0);
    return std::copysign(up ? down + 1 : down, x);
}

/// IEEE 754-2008 minNum / maxNum with -0 < +0. In IEEE mode a signaling NaN gives its quiet form.
template <class T> inline T min_num(T a, T b, bool ieee) {
    const T lesser = a < b ? a : b;
    const T equal = std::signbit(a) ? a : b;
    T r = a == b ? equal : lesser;
    r = a != a ? b : r;
    r = b != b ? a : r;
    r = a != a && b != b ? quiet(a) : r;
    if (ieee) r = is_signaling(b) ? quiet(b) : r;
    if (ieee) r = is_signaling(a) ? quiet(a) : r;
    return r;
}
template <class T> inline T max_num(T a, T b, bool ieee) {
    const T greater = a > b ? a : b;
    const T equal = std::signbit(a) ? b : a;
    T r = a == b ? equal : greater;
    r = a != a ? b : r;
    r = b != b ? a : r;
    r = a != a && b != b ? quiet(a) : r;
    if (ieee) r = is_signaling(b) ? quiet(b) : r;
    if (ieee) r = is_signaling(a) ? quiet(a) : r;
    return r;
}

inline float half_to_float(Half h) {
    const std::uint32_t sign = (h.bits & 0x8000U) << 16;
    const std::uint32_t magnitude = h.bits & 0x7fffU;
    const auto normal = std::bit_cast<float>((magnitude << 13) + (112U << 23));
    const float subnormal = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24F;
    const auto special = std::bit_cast<float>(magnitude << 13 | 0x7f800000U);
    float value = magnitude < 0x400 ? subnormal : normal;
    value = magnitude >= 0x7c00 ? special : value;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
}
inline double half_to_double(Half h) {
    return static_cast<double>(half_to_float(h));
}

/// Rounds once, in the host's current rounding mode.
inline Half double_to_half(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const auto sign = static_cast<std::uint16_t>(bits >> 48 & 0x8000);
    if (x != x) return Half{static_cast<std::uint16_t>(sign | 0x7e00U | (bits >> 42 & 0x1ff))};
    int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
    if (exponent > 15) {
        // Beyond the largest value: infinity, or the largest value where rounding goes inwards.
        if (exponent == 1024) return Half{static_cast<std::uint16_t>(sign | 0x7c00U)};
        exponent = 15;
        x = std::copysign(65535.0, x);
    }
    if (exponent < -14) exponent = -14;
    // Adding and taking away 1.5 * 2^(e + 42) leaves ten bits below 2^e, rounded.
    const auto magic = std::copysign(
        std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 42 + 1023) << 52) * 1.5, x);
    const double sum = x + magic;
    const double rounded = std::fabs(sum - magic);
    if (rounded >= 65536.0) return Half{static_cast<std::uint16_t>(sign | 0x7c00U)};
    if (rounded < 0x1p-14)
        return Half{static_cast<std::uint16_t>(sign | static_cast<unsigned>(rounded * 0x1p24))};
    const auto r = std::bit_cast<std::uint64_t>(rounded);
    const unsigned e = static_cast<unsigned>(r >> 52) - 1023 + 15;
    return Half{static_cast<std::uint16_t>(sign | e << 10 | (r >> 42 & 0x3ff))};
}

} // namespace wavetap::softgpu::isa
