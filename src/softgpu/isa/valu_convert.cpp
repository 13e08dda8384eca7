// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/float_util.hpp"
#include "softgpu/isa/opcode.hpp"

#include <algorithm>
#include <cmath>

// Conversions. Float to integer truncates, saturates, and gives zero for NaN.

namespace wavetap::softgpu::isa {
namespace {

using U16 = std::uint16_t;
using I16 = std::int16_t;
using U32 = std::uint32_t;
using I32 = std::int32_t;

I32 to_i32(double x) {
    const double inside = x > -2147483648.0 ? (x < 2147483647.0 ? x : 2147483647.0) : -2147483648.0;
    return x != x ? 0 : static_cast<I32>(inside);
}
U32 to_u32(double x) {
    const double inside = x > 0.0 ? (x < 4294967295.0 ? x : 4294967295.0) : 0.0;
    return static_cast<U32>(static_cast<std::int64_t>(inside));
}
I16 to_i16(double x) {
    const I32 v = to_i32(x);
    return static_cast<I16>(std::clamp(v, -32768, 32767));
}
U16 to_u16(double x) {
    return static_cast<U16>(std::min(to_u32(x), 65535U));
}

/// Scales [-1, 1] or [0, 1] to integers, to the nearest.
U16 normalized_i16(double x) {
    if (x != x) return 0;
    return static_cast<U16>(static_cast<I16>(round_even(std::clamp(x, -1.0, 1.0) * 32767.0)));
}
U16 normalized_u16(double x) {
    if (x != x) return 0;
    return static_cast<U16>(round_even(std::clamp(x, 0.0, 1.0) * 65535.0));
}
U32 pack(U16 lo, U16 hi) {
    return lo | U32{hi} << 16;
}

/// Rounds toward zero; what is too large becomes the largest value.
U16 half_toward_zero(float x) {
    const U32 bits = std::bit_cast<U32>(x);
    const U32 sign = bits >> 16 & 0x8000;
    const U32 magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return static_cast<U16>(sign | 0x7e00 | (magnitude >> 13 & 0x1ff));
    if (magnitude == 0x7f800000) return static_cast<U16>(sign | 0x7c00);
    if (magnitude >= 0x47800000) return static_cast<U16>(sign | 0x7bff);
    if (magnitude >= 0x38800000) return static_cast<U16>(sign | (magnitude - 0x38000000) >> 13);
    const U32 exponent = magnitude >> 23;
    if (exponent < 102) return static_cast<U16>(sign);
    const U32 fraction = (magnitude & 0x7fffff) | 0x800000;
    return static_cast<U16>(sign | fraction >> (126 - exponent));
}

float ubyte(U32 v, unsigned i) {
    return static_cast<float>(v >> (8 * i) & 0xff);
}

/// Byte `which` of `old` becomes `x`, rounded and saturated.
U32 pack_u8(float x, U32 which, U32 old) {
    const double inside = x > 0.0F ? std::min(static_cast<double>(x), 255.0) : 0.0;
    const auto byte = static_cast<U32>(round_even(inside));
    const unsigned shift = 8 * (which & 3);
    return (old & ~(0xffU << shift)) | byte << shift;
}

float offset_i4(U32 v) {
    const I32 value = static_cast<I32>(v << 28) >> 28;
    return static_cast<float>(value) / 16.0F;
}

float half_in(Half h) {
    const float f = half_to_float(h);
    return f != f ? quiet(f) : f;
}

constexpr Semantics kRows[] = {
    valu<[](I32 a) { return static_cast<float>(a); }>("v_cvt_f32_i32"),
    valu<[](U32 a) { return static_cast<float>(a); }>("v_cvt_f32_u32"),
    valu<[](float a) { return to_u32(a); }>("v_cvt_u32_f32"),
    valu<[](float a) { return to_i32(a); }>("v_cvt_i32_f32"),
    valu<[](float a) { return to_i32(std::floor(static_cast<double>(a) + 0.5)); }>(
        "v_cvt_rpi_i32_f32"),
    valu<[](float a) { return to_i32(std::floor(a)); }>("v_cvt_flr_i32_f32"),
    valu<[](float a) { return double_to_half(a); }>("v_cvt_f16_f32"),
    valu<[](Half a) { return half_in(a); }>("v_cvt_f32_f16"),
    valu<[](U32 a) { return offset_i4(a); }>("v_cvt_off_f32_i4"),
    valu<[](U32 a) { return ubyte(a, 0); }>("v_cvt_f32_ubyte0"),
    valu<[](U32 a) { return ubyte(a, 1); }>("v_cvt_f32_ubyte1"),
    valu<[](U32 a) { return ubyte(a, 2); }>("v_cvt_f32_ubyte2"),
    valu<[](U32 a) { return ubyte(a, 3); }>("v_cvt_f32_ubyte3"),
    wide(valu<[](double a) { return to_i32(a); }>("v_cvt_i32_f64")),
    wide(valu<[](double a) { return to_u32(a); }>("v_cvt_u32_f64")),
    wide(valu<[](I32 a) { return static_cast<double>(a); }>("v_cvt_f64_i32")),
    wide(valu<[](U32 a) { return static_cast<double>(a); }>("v_cvt_f64_u32")),
    wide(valu<[](double a) { return static_cast<float>(a); }>("v_cvt_f32_f64")),
    wide(valu<[](float a) { return static_cast<double>(a); }>("v_cvt_f64_f32")),
    valu<[](U16 a) { return double_to_half(a); }>("v_cvt_f16_u16"),
    valu<[](I16 a) { return double_to_half(a); }>("v_cvt_f16_i16"),
    valu<[](Half a) { return to_u16(half_to_double(a)); }>("v_cvt_u16_f16"),
    valu<[](Half a) { return to_i16(half_to_double(a)); }>("v_cvt_i16_f16"),
    valu<[](Half a) { return normalized_i16(half_to_double(a)); }>("v_cvt_norm_i16_f16"),
    valu<[](Half a) { return normalized_u16(half_to_double(a)); }>("v_cvt_norm_u16_f16"),
    valu<[](float a, float b) { return pack(half_toward_zero(a), half_toward_zero(b)); }>(
        "v_cvt_pkrtz_f16_f32"),
    wide(valu<[](float a, float b) { return pack(normalized_i16(a), normalized_i16(b)); }>(
        "v_cvt_pknorm_i16_f32")),
    wide(valu<[](float a, float b) { return pack(normalized_u16(a), normalized_u16(b)); }>(
        "v_cvt_pknorm_u16_f32")),
    wide(valu<[](Half a, Half b) {
        return pack(normalized_i16(half_to_double(a)), normalized_i16(half_to_double(b)));
    }>("v_cvt_pknorm_i16_f16")),
    wide(valu<[](Half a, Half b) {
        return pack(normalized_u16(half_to_double(a)), normalized_u16(half_to_double(b)));
    }>("v_cvt_pknorm_u16_f16")),
    wide(valu<[](U32 a, U32 b) {
        return pack(static_cast<U16>(std::min(a, 65535U)), static_cast<U16>(std::min(b, 65535U)));
    }>("v_cvt_pk_u16_u32")),
    wide(valu<[](I32 a, I32 b) {
        return pack(static_cast<U16>(std::clamp(a, -32768, 32767)),
                    static_cast<U16>(std::clamp(b, -32768, 32767)));
    }>("v_cvt_pk_i16_i32")),
    wide(valu<[](float a, U32 which, U32 old) { return pack_u8(a, which, old); }>(
        "v_cvt_pk_u8_f32")),
    wide(valu<[](float a, U32 which, U32 old) { return pack_u8(a, which, old); }>(
        "v_cvt_pkaccum_u8_f32", kAccumulates)),
};

} // namespace

std::span<const Semantics> valu_convert_rows() {
    return kRows;
}

} // namespace wavetap::softgpu::isa
