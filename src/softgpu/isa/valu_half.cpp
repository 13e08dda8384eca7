// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/float_util.hpp"
#include "softgpu/isa/half_util.hpp"
#include "softgpu/isa/opcode.hpp"

#include <algorithm>
#include <cmath>

// 16-bit floating point of the vector ALU. Sums, products and fused products of halves are exact in
// double wherever their rounding to half can depend on it, so that one rounding is left.

namespace wavetap::softgpu::isa {
namespace {

using U16 = std::uint16_t;
using I16 = std::int16_t;

template <class F> Half by_double(Half a, F f) {
    const double x = half_to_double(a);
    return double_to_half(nan_of(f(x), x));
}

double sin_turns(double x) {
    const double r = x - round_even(x);
    constexpr double kTwoPi = 6.283185307179586476925286766559;
    if (std::fabs(r) == 0.5 || r == 0.0) return std::copysign(0.0, x);
    return std::sin(r * kTwoPi);
}
double cos_turns(double x) {
    const double r = std::fabs(x - round_even(x));
    constexpr double kTwoPi = 6.283185307179586476925286766559;
    return r == 0.25 ? 0.0 : std::cos(r * kTwoPi);
}
double fract(double x) {
    const double r = x - std::floor(x);
    constexpr double kLimit = 1.0 - 0x1p-11;
    return r < kLimit || r != r ? r : kLimit;
}
Half frexp_mant(Half a) {
    int exponent = 0;
    const double x = half_to_double(a);
    return double_to_half(std::isfinite(x) ? std::frexp(x, &exponent) : nan_of(x, x));
}
I16 frexp_exp(Half a) {
    int exponent = 0;
    const double x = half_to_double(a);
    if (std::isfinite(x) && x != 0.0) std::frexp(x, &exponent);
    return static_cast<I16>(exponent);
}
Half ldexp(Half a, I16 e) {
    return by_double(a, [e](double x) { return std::ldexp(x, std::clamp<int>(e, -100, 100)); });
}
Half div_fixup(Half quotient, Half denominator, Half numerator) {
    const double d = half_to_double(denominator);
    const double n = half_to_double(numerator);
    const auto sign = static_cast<U16>((denominator.bits ^ numerator.bits) & 0x8000);
    const auto with_sign = [sign](unsigned bits) { return Half{static_cast<U16>(bits | sign)}; };
    if (n != n) return Half{static_cast<U16>(numerator.bits | 0x200)};
    if (d != d) return Half{static_cast<U16>(denominator.bits | 0x200)};
    if ((d == 0.0 && n == 0.0) || (std::isinf(d) && std::isinf(n))) return Half{0x7e00};
    if (d == 0.0 || std::isinf(n)) return with_sign(0x7c00);
    if (std::isinf(d) || n == 0.0) return with_sign(0);
    return with_sign(quotient.bits & 0x7fffU);
}

/// Fused with 32-bit sources; the destination is f32 or one half.
float mix(Mix a, Mix b, Mix c) {
    return fma(a.value, b.value, c.value);
}
Half mix_half(Mix a, Mix b, Mix c) {
    // The product of two 24-bit numbers is exact in double; the sum is rounded to f32, then half.
    return double_to_half(static_cast<double>(mix(a, b, c)));
}

constexpr Semantics kRows[] = {
    valu<[](Half a, Half b) { return half_add(a, b); }>("v_add_f16"),
    valu<[](Half a, Half b) { return half_sub(a, b); }>("v_sub_f16"),
    valu<[](Half a, Half b) { return half_sub(b, a); }>("v_subrev_f16"),
    valu<[](Half a, Half b) { return half_mul(a, b); }>("v_mul_f16"),
    valu<[](Half a, Half b, Half c) { return half_add(half_mul(a, b), c); }>("v_mac_f16",
                                                                             kAccumulates),
    valu<[](Half a, Half k, Half b) { return half_add(half_mul(a, k), b); }>("v_madmk_f16"),
    valu<[](Half a, Half b, Half k) { return half_add(half_mul(a, b), k); }>("v_madak_f16"),
    wide(valu<[](Half a, Half b, Half c) { return half_add(half_mul(a, b), c); }>("v_mad_f16",
                                                                                  kKeepsHighHalf)),
    wide(valu<[](Half a, Half b, Half c) { return half_add(half_mul(a, b), c); }>(
        "v_mad_legacy_f16")),
    wide(valu<[](Half a, Half b, Half c) { return half_fma(a, b, c); }>("v_fma_f16",
                                                                        kKeepsHighHalf)),
    wide(valu<[](Half a, Half b, Half c) { return half_fma(a, b, c); }>("v_fma_legacy_f16")),
    valu<[](Half a, Half b, Mode m) { return half_min(a, b, m.ieee()); }>("v_min_f16"),
    valu<[](Half a, Half b, Mode m) { return half_max(a, b, m.ieee()); }>("v_max_f16"),
    wide(valu<[](Half a, Half b, Half c, Mode m) {
        return half_min(half_min(a, b, m.ieee()), c, m.ieee());
    }>("v_min3_f16", kKeepsHighHalf)),
    wide(valu<[](Half a, Half b, Half c, Mode m) {
        return half_max(half_max(a, b, m.ieee()), c, m.ieee());
    }>("v_max3_f16", kKeepsHighHalf)),
    wide(valu<[](Half a, Half b, Half c, Mode m) { return half_med3(a, b, c, m.ieee()); }>(
        "v_med3_f16", kKeepsHighHalf)),
    valu<[](Half a) { return by_double(a, [](double x) { return std::trunc(x); }); }>(
        "v_trunc_f16"),
    valu<[](Half a) { return by_double(a, [](double x) { return std::ceil(x); }); }>("v_ceil_f16"),
    valu<[](Half a) { return by_double(a, [](double x) { return std::floor(x); }); }>(
        "v_floor_f16"),
    valu<[](Half a) { return by_double(a, [](double x) { return round_even(x); }); }>(
        "v_rndne_f16"),
    valu<[](Half a) { return by_double(a, [](double x) { return fract(x); }); }>("v_fract_f16"),
    valu<[](Half a) { return frexp_mant(a); }>("v_frexp_mant_f16"),
    valu<[](Half a) { return frexp_exp(a); }>("v_frexp_exp_i16_f16"),
    valu<[](Half a, I16 e) { return ldexp(a, e); }>("v_ldexp_f16"),
    quarter_rate(
        valu<[](Half a) { return by_double(a, [](double x) { return 1.0 / x; }); }>("v_rcp_f16")),
    quarter_rate(valu<[](Half a) { return by_double(a, [](double x) { return std::sqrt(x); }); }>(
        "v_sqrt_f16")),
    quarter_rate(
        valu<[](Half a) { return by_double(a, [](double x) { return 1.0 / std::sqrt(x); }); }>(
            "v_rsq_f16")),
    quarter_rate(valu<[](Half a) { return by_double(a, [](double x) { return std::log2(x); }); }>(
        "v_log_f16")),
    quarter_rate(valu<[](Half a) { return by_double(a, [](double x) { return std::exp2(x); }); }>(
        "v_exp_f16")),
    quarter_rate(valu<[](Half a) { return by_double(a, [](double x) { return sin_turns(x); }); }>(
        "v_sin_f16")),
    quarter_rate(valu<[](Half a) { return by_double(a, [](double x) { return cos_turns(x); }); }>(
        "v_cos_f16")),
    wide(valu<[](Half a, Half b, Half c) { return div_fixup(a, b, c); }>("v_div_fixup_f16",
                                                                         kKeepsHighHalf)),
    wide(valu<[](Half a, Half b, Half c) { return div_fixup(a, b, c); }>("v_div_fixup_legacy_f16")),
    wide(valu<[](Mix a, Mix b, Mix c) { return mix(a, b, c); }>("v_fma_mix_f32")),
    wide(valu<[](Mix a, Mix b, Mix c) { return mix_half(a, b, c); }>("v_fma_mixlo_f16",
                                                                     kKeepsHighHalf)),
    wide(valu<[](Mix a, Mix b, Mix c) { return mix_half(a, b, c); }>("v_fma_mixhi_f16",
                                                                     kWritesHighHalf)),
};

} // namespace

std::span<const Semantics> valu_half_rows() {
    return kRows;
}

} // namespace wavetap::softgpu::isa
