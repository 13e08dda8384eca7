// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/float_util.hpp"
#include "softgpu/isa/opcode.hpp"

#include <algorithm>
#include <cmath>

// 64-bit floating point of the vector ALU.

namespace wavetap::softgpu::isa {
namespace {

using U32 = std::uint32_t;
using U64 = std::uint64_t;
using I32 = std::int32_t;

double fract(double x) {
    const double r = x - std::floor(x);
    const double limit = std::bit_cast<double>(U64{0x3fefffffffffffff});
    const double clamped = r < limit ? r : limit;
    return nan_of(r != r ? r : clamped, x);
}
double frexp_mant(double x) {
    int exponent = 0;
    return std::isfinite(x) ? std::frexp(x, &exponent) : nan_of(x, x);
}
I32 frexp_exp(double x) {
    int exponent = 0;
    if (std::isfinite(x) && x != 0.0) std::frexp(x, &exponent);
    return exponent;
}
double ldexp(double x, I32 e) {
    return nan_of(std::ldexp(x, std::clamp(e, -4000, 4000)), x);
}

int exponent_of(double x) {
    return static_cast<int>(std::bit_cast<U64>(x) >> 52 & 0x7ff);
}
bool is_subnormal(double x) {
    return x != 0.0 && exponent_of(x) == 0;
}

WithMask<double> div_scale(double s0, double s1, double s2) {
    const double denominator = s1;
    const double numerator = s2;
    const bool asks_denominator = std::bit_cast<U64>(s0) == std::bit_cast<U64>(s1);
    const bool asks_numerator = std::bit_cast<U64>(s0) == std::bit_cast<U64>(s2);
    if (numerator == 0.0 || denominator == 0.0) return {default_nan(s0), false};
    const int distance = exponent_of(numerator) - exponent_of(denominator);
    if (distance >= 768) return {asks_denominator ? std::ldexp(s0, 128) : s0, true};
    if (is_subnormal(denominator)) return {std::ldexp(s0, 128), false};
    const bool tiny_reciprocal = is_subnormal(1.0 / denominator);
    const bool tiny_quotient = is_subnormal(numerator / denominator);
    if (tiny_reciprocal && tiny_quotient)
        return {asks_denominator ? std::ldexp(s0, -128) : s0, true};
    if (tiny_reciprocal) return {std::ldexp(s0, -128), false};
    if (tiny_quotient) return {asks_numerator ? std::ldexp(s0, 128) : s0, true};
    if (exponent_of(numerator) <= 53) return {std::ldexp(s0, 128), false};
    return {s0, false};
}
double div_fmas(double a, double b, double c, MaskBit scaled) {
    const double r = fma(a, b, c);
    if (!scaled.on) return r;
    return exponent_of(c) > 1023 ? r * 0x1p128 : r * 0x1p-128;
}
double div_fixup(double quotient, double denominator, double numerator) {
    const U64 sign =
        (std::bit_cast<U64>(denominator) ^ std::bit_cast<U64>(numerator)) & (U64{1} << 63);
    const auto with_sign = [sign](U64 bits) { return std::bit_cast<double>(bits | sign); };
    constexpr U64 kInfinity = 0x7ff0000000000000;
    if (numerator != numerator) return quiet(numerator);
    if (denominator != denominator) return quiet(denominator);
    if (denominator == 0.0 && numerator == 0.0) return default_nan(quotient);
    if (std::isinf(denominator) && std::isinf(numerator)) return default_nan(quotient);
    if (denominator == 0.0 || std::isinf(numerator)) return with_sign(kInfinity);
    if (std::isinf(denominator) || numerator == 0.0) return with_sign(0);
    const int distance = exponent_of(numerator) - exponent_of(denominator);
    if (distance < -1075) return with_sign(0);
    // Between finite numbers only steps that overflowed give a NaN.
    if (quotient != quotient) return with_sign(kInfinity);
    return with_sign(std::bit_cast<U64>(quotient) & ~(U64{1} << 63));
}

/// Bits of 2/pi behind the point, most significant first.
constexpr U64 kTwoOverPi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
};

/// Segment `select` (53 bits each) of 2/pi, scaled for argument `x`: the table lookup of large
/// argument reduction.
double trig_preop(double x, U32 select) {
    const int exponent = exponent_of(x);
    unsigned shift = (select & 31) * 53;
    if (exponent > 1077) shift += static_cast<unsigned>(exponent - 1077);
    U64 bits = 0;
    for (unsigned i = 0; i < 53; ++i) {
        const unsigned at = shift + i;
        const U64 bit = at < 1201 ? kTwoOverPi[at / 64] >> (63 - at % 64) & 1 : 0;
        bits = bits << 1 | bit;
    }
    int scale = -53 - static_cast<int>(shift);
    if (exponent >= 1968) scale += 128;
    return std::ldexp(static_cast<double>(bits), scale);
}

constexpr Semantics kRows[] = {
    wide(valu<[](double a, double b) { return add(a, b); }>("v_add_f64")),
    wide(valu<[](double a, double b) { return mul(a, b); }>("v_mul_f64")),
    wide(valu<[](double a, double b, double c) { return fma(a, b, c); }>("v_fma_f64")),
    wide(valu<[](double a, double b, double c) { return fma(a, b, c); }>("v_fmac_f64",
                                                                         kAccumulates)),
    wide(valu<[](double a, double b, Mode m) { return min_num(a, b, m.ieee()); }>("v_min_f64")),
    wide(valu<[](double a, double b, Mode m) { return max_num(a, b, m.ieee()); }>("v_max_f64")),
    wide(valu<[](double a) { return nan_of(std::trunc(a), a); }>("v_trunc_f64")),
    wide(valu<[](double a) { return nan_of(std::ceil(a), a); }>("v_ceil_f64")),
    wide(valu<[](double a) { return nan_of(std::floor(a), a); }>("v_floor_f64")),
    wide(valu<[](double a) { return nan_of(round_even(a), a); }>("v_rndne_f64")),
    wide(valu<[](double a) { return fract(a); }>("v_fract_f64")),
    wide(valu<[](double a) { return frexp_mant(a); }>("v_frexp_mant_f64")),
    wide(valu<[](double a) { return frexp_exp(a); }>("v_frexp_exp_i32_f64")),
    wide(valu<[](double a, I32 e) { return ldexp(a, e); }>("v_ldexp_f64")),
    // The silicon's reciprocals are approximations that clang refines; these are rounded once.
    quarter_rate(wide(valu<[](double a) { return nan_of(1.0 / a, a); }>("v_rcp_f64"))),
    quarter_rate(wide(valu<[](double a) { return nan_of(1.0 / std::sqrt(a), a); }>("v_rsq_f64"))),
    quarter_rate(wide(valu<[](double a) { return nan_of(std::sqrt(a), a); }>("v_sqrt_f64"))),
    wide(valu<[](double a, double b, double c) { return div_scale(a, b, c); }>("v_div_scale_f64")),
    wide(valu<[](double a, double b, double c, MaskBit m) { return div_fmas(a, b, c, m); }>(
        "v_div_fmas_f64", kReadsVcc)),
    wide(valu<[](double a, double b, double c) { return div_fixup(a, b, c); }>("v_div_fixup_f64")),
    wide(valu<[](double a, U32 b) { return trig_preop(a, b); }>("v_trig_preop_f64")),
};

} // namespace

std::span<const Semantics> valu_double_rows() {
    return kRows;
}

} // namespace wavetap::softgpu::isa
