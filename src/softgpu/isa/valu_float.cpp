// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/float_util.hpp"
#include "softgpu/isa/opcode.hpp"

#include <cmath>
#include <limits>

// 32-bit floating point of the vector ALU.

namespace wavetap::softgpu::isa {
namespace {

using U32 = std::uint32_t;
using I32 = std::int32_t;

/// Products with a zero are zero, whatever the other factor is.
float mul_legacy(float a, float b) {
    return a == 0.0F || b == 0.0F ? 0.0F : mul(a, b);
}

/// Functions of the transcendental unit: computed in double, rounded once. The silicon's results
/// differ in the last place; no public document gives its bits.
template <class F> float by_double(float x, F f) {
    return nan_of(static_cast<float>(f(static_cast<double>(x))), x);
}

/// sin(2 pi x) with the argument reduced exactly.
double sin_turns(double x) {
    const double r = x - std::nearbyint(x);
    constexpr double kTwoPi = 6.283185307179586476925286766559;
    if (std::fabs(r) == 0.5 || r == 0.0) return std::copysign(0.0, x);
    if (std::fabs(r) == 0.25) return std::copysign(1.0, r);
    return std::sin(r * kTwoPi);
}
double cos_turns(double x) {
    const double r = std::fabs(x - std::nearbyint(x));
    constexpr double kTwoPi = 6.283185307179586476925286766559;
    if (r == 0.25) return 0.0;
    if (r == 0.5) return -1.0;
    return std::cos(r * kTwoPi);
}

float fract(float x) {
    // The largest value below one keeps the result inside [0, 1).
    const float r = x - std::floor(x);
    const float limit = std::bit_cast<float>(0x3f7fffffU);
    const float clamped = r < limit ? r : limit;
    return nan_of(r != r ? r : clamped, x);
}

bool is_special(float x) {
    return !std::isfinite(x);
}

float frexp_mant(float x) {
    int exponent = 0;
    if (is_special(x)) return nan_of(x, x);
    return std::frexp(x, &exponent);
}
I32 frexp_exp(float x) {
    int exponent = 0;
    if (is_special(x) || x == 0.0F) return 0;
    std::frexp(x, &exponent);
    return exponent;
}
float ldexp(float x, I32 e) {
    // One rounding: the scale is within double's range, so the product there is exact.
    const int clamped = e > 400 ? 400 : (e < -400 ? -400 : e);
    return nan_of(static_cast<float>(std::ldexp(static_cast<double>(x), clamped)), x);
}

float min3(float a, float b, float c, bool ieee) {
    return min_num(min_num(a, b, ieee), c, ieee);
}
float max3(float a, float b, float c, bool ieee) {
    return max_num(max_num(a, b, ieee), c, ieee);
}
float med3(float a, float b, float c, bool ieee) {
    if (a != a || b != b || c != c) return min3(a, b, c, ieee);
    const float top = max3(a, b, c, ieee);
    const U32 t = std::bit_cast<U32>(top);
    if (std::bit_cast<U32>(a) == t) return max_num(b, c, ieee);
    if (std::bit_cast<U32>(b) == t) return max_num(a, c, ieee);
    return max_num(a, b, ieee);
}

// Division: v_div_scale picks factors that keep the quotient's Newton steps in range, v_div_fmas
// takes the factor out again, v_div_fixup sets the special cases.

int exponent_of(float x) {
    return static_cast<int>(std::bit_cast<U32>(x) >> 23 & 0xff);
}
bool is_subnormal(float x) {
    return x != 0.0F && exponent_of(x) == 0;
}

WithMask<float> div_scale(float s0, float s1, float s2) {
    const float denominator = s1;
    const float numerator = s2;
    const bool asks_denominator = std::bit_cast<U32>(s0) == std::bit_cast<U32>(s1);
    const bool asks_numerator = std::bit_cast<U32>(s0) == std::bit_cast<U32>(s2);
    if (numerator == 0.0F || denominator == 0.0F) return {default_nan(s0), false};
    const int distance = exponent_of(numerator) - exponent_of(denominator);
    if (distance >= 96) {
        // The quotient is near overflow: the denominator goes up, and so must the quotient.
        return {asks_denominator ? std::ldexp(s0, 64) : s0, true};
    }
    if (is_subnormal(denominator)) return {std::ldexp(s0, 64), false};
    const bool tiny_reciprocal = is_subnormal(1.0F / denominator);
    const bool tiny_quotient = is_subnormal(numerator / denominator);
    if (tiny_reciprocal && tiny_quotient)
        return {asks_denominator ? std::ldexp(s0, -64) : s0, true};
    if (tiny_reciprocal) return {std::ldexp(s0, -64), false};
    if (tiny_quotient) return {asks_numerator ? std::ldexp(s0, 64) : s0, true};
    if (exponent_of(numerator) <= 23) return {std::ldexp(s0, 64), false};
    return {s0, false};
}

/// The factor goes the way that brings `c`, the first quotient, back.
float div_fmas(float a, float b, float c, MaskBit scaled) {
    if (!scaled.on) return fma(a, b, c);
    const double r = fma(static_cast<double>(a), static_cast<double>(b), static_cast<double>(c));
    return static_cast<float>(exponent_of(c) > 127 ? r * 0x1p64 : r * 0x1p-64);
}

float div_fixup(float quotient, float denominator, float numerator) {
    const U32 sign = (std::bit_cast<U32>(denominator) ^ std::bit_cast<U32>(numerator)) & 0x80000000;
    const auto with_sign = [sign](U32 bits) { return std::bit_cast<float>(bits | sign); };
    if (numerator != numerator) return quiet(numerator);
    if (denominator != denominator) return quiet(denominator);
    if (denominator == 0.0F && numerator == 0.0F) return default_nan(quotient);
    if (std::isinf(denominator) && std::isinf(numerator)) return default_nan(quotient);
    if (denominator == 0.0F || std::isinf(numerator)) return with_sign(0x7f800000);
    if (std::isinf(denominator) || numerator == 0.0F) return with_sign(0);
    const int distance = exponent_of(numerator) - exponent_of(denominator);
    if (distance < -150) return with_sign(0);
    // Between finite numbers only steps that overflowed give a NaN.
    if (quotient != quotient) return with_sign(0x7f800000);
    return with_sign(std::bit_cast<U32>(quotient) & 0x7fffffff);
}

struct Cube {
    float id, sc, tc, ma;
};
/// Face coordinates of a cube map.
Cube cube(float x, float y, float z) {
    const float ax = std::fabs(x);
    const float ay = std::fabs(y);
    const float az = std::fabs(z);
    if (az >= ax && az >= ay) return {z < 0 ? 5.0F : 4.0F, z < 0 ? -x : x, -y, 2.0F * z};
    if (ay >= ax) return {y < 0 ? 3.0F : 2.0F, x, y < 0 ? -z : z, 2.0F * y};
    return {x < 0 ? 1.0F : 0.0F, x < 0 ? z : -z, -y, 2.0F * x};
}

constexpr Semantics kRows[] = {
    valu<[](float a, float b) { return add(a, b); }>("v_add_f32"),
    valu<[](float a, float b) { return sub(a, b); }>("v_sub_f32"),
    valu<[](float a, float b) { return sub(b, a); }>("v_subrev_f32"),
    valu<[](float a, float b) { return mul(a, b); }>("v_mul_f32"),
    valu<[](float a, float b) { return mul_legacy(a, b); }>("v_mul_legacy_f32"),
    valu<[](float a, float b, float c) { return fma(a, b, c); }>("v_fmac_f32", kAccumulates),
    valu<[](float a, float b, float c) { return add(mul(a, b), c); }>("v_mac_f32", kAccumulates),
    valu<[](float a, float k, float b) { return add(mul(a, k), b); }>("v_madmk_f32"),
    valu<[](float a, float b, float k) { return add(mul(a, b), k); }>("v_madak_f32"),
    wide(valu<[](float a, float b, float c) { return add(mul(a, b), c); }>("v_mad_f32")),
    wide(valu<[](float a, float b, float c) { return add(mul_legacy(a, b), c); }>(
        "v_mad_legacy_f32")),
    valu<[](float a, float b, float c) { return fma(a, b, c); }>("v_fma_f32"),
    valu<[](float a, float b, Mode m) { return min_num(a, b, m.ieee()); }>("v_min_f32"),
    valu<[](float a, float b, Mode m) { return max_num(a, b, m.ieee()); }>("v_max_f32"),
    valu<[](float a, float b, float c, Mode m) { return min3(a, b, c, m.ieee()); }>("v_min3_f32"),
    valu<[](float a, float b, float c, Mode m) { return max3(a, b, c, m.ieee()); }>("v_max3_f32"),
    valu<[](float a, float b, float c, Mode m) { return med3(a, b, c, m.ieee()); }>("v_med3_f32"),
    valu<[](float a) { return nan_of(std::trunc(a), a); }>("v_trunc_f32"),
    valu<[](float a) { return nan_of(std::ceil(a), a); }>("v_ceil_f32"),
    valu<[](float a) { return nan_of(std::floor(a), a); }>("v_floor_f32"),
    valu<[](float a) { return nan_of(round_even(a), a); }>("v_rndne_f32"),
    valu<[](float a) { return fract(a); }>("v_fract_f32"),
    valu<[](float a) { return frexp_mant(a); }>("v_frexp_mant_f32"),
    valu<[](float a) { return frexp_exp(a); }>("v_frexp_exp_i32_f32"),
    valu<[](float a, I32 e) { return ldexp(a, e); }>("v_ldexp_f32"),
    quarter_rate(valu<[](float a) { return by_double(a, [](double x) { return std::exp2(x); }); }>(
        "v_exp_f32")),
    quarter_rate(valu<[](float a) { return by_double(a, [](double x) { return std::exp2(x); }); }>(
        "v_exp_legacy_f32")),
    quarter_rate(valu<[](float a) { return by_double(a, [](double x) { return std::log2(x); }); }>(
        "v_log_f32")),
    quarter_rate(valu<[](float a) { return by_double(a, [](double x) { return std::log2(x); }); }>(
        "v_log_legacy_f32")),
    quarter_rate(
        valu<[](float a) { return by_double(a, [](double x) { return 1.0 / x; }); }>("v_rcp_f32")),
    quarter_rate(valu<[](float a) { return by_double(a, [](double x) { return 1.0 / x; }); }>(
        "v_rcp_iflag_f32")),
    quarter_rate(
        valu<[](float a) { return by_double(a, [](double x) { return 1.0 / std::sqrt(x); }); }>(
            "v_rsq_f32")),
    quarter_rate(valu<[](float a) { return by_double(a, [](double x) { return std::sqrt(x); }); }>(
        "v_sqrt_f32")),
    quarter_rate(valu<[](float a) { return by_double(a, [](double x) { return sin_turns(x); }); }>(
        "v_sin_f32")),
    quarter_rate(valu<[](float a) { return by_double(a, [](double x) { return cos_turns(x); }); }>(
        "v_cos_f32")),
    valu<[](float a, float b, float c) { return div_scale(a, b, c); }>("v_div_scale_f32"),
    valu<[](float a, float b, float c, MaskBit m) { return div_fmas(a, b, c, m); }>(
        "v_div_fmas_f32", kReadsVcc),
    valu<[](float a, float b, float c) { return div_fixup(a, b, c); }>("v_div_fixup_f32"),
    valu<[](float a, float b, float c) { return cube(a, b, c).id; }>("v_cubeid_f32"),
    valu<[](float a, float b, float c) { return cube(a, b, c).sc; }>("v_cubesc_f32"),
    valu<[](float a, float b, float c) { return cube(a, b, c).tc; }>("v_cubetc_f32"),
    valu<[](float a, float b, float c) { return cube(a, b, c).ma; }>("v_cubema_f32"),
};

} // namespace

std::span<const Semantics> valu_float_rows() {
    return kRows;
}

} // namespace wavetap::softgpu::isa
