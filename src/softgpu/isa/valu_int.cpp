// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/opcode.hpp"

#include <algorithm>
#include <bit>
#include <limits>

// Integers and bits of the vector ALU.

namespace wavetap::softgpu::isa {
namespace {

using U16 = std::uint16_t;
using I16 = std::int16_t;
using U32 = std::uint32_t;
using I32 = std::int32_t;
using U64 = std::uint64_t;
using I64 = std::int64_t;

WithMask<U32> add_carry(U32 a, U32 b, bool in) {
    const U32 sum = a + b + in;
    return {sum, sum < a || (in && sum == a)};
}
WithMask<U32> sub_borrow(U32 a, U32 b, bool in) {
    return {a - b - in, a < b || (in && a == b)};
}
/// The same with clamp: saturation to what 32 unsigned bits hold.
WithMask<U32> saturated(WithMask<U32> r, bool down) {
    if (r.mask) r.value = down ? 0 : ~0U;
    return r;
}

I32 clamp32(I64 v) {
    constexpr I64 kLow = std::numeric_limits<I32>::min();
    constexpr I64 kHigh = std::numeric_limits<I32>::max();
    return static_cast<I32>(v < kLow ? kLow : (v > kHigh ? kHigh : v));
}
I16 clamp16(I32 v) {
    return static_cast<I16>(v < -32768 ? -32768 : (v > 32767 ? 32767 : v));
}
U16 clamp_u16(I32 v) {
    return static_cast<U16>(v < 0 ? 0 : (v > 65535 ? 65535 : v));
}
U32 clamp_u32(U64 v) {
    return v >> 32 != 0 ? ~0U : static_cast<U32>(v);
}

I32 sext24(U32 v) {
    return static_cast<I32>(v << 8) >> 8;
}
U32 low24(U32 v) {
    return v & 0xffffff;
}
U32 mul_i24(U32 a, U32 b) {
    return static_cast<U32>(I64{sext24(a)} * sext24(b));
}
U32 mul_u24(U32 a, U32 b) {
    return static_cast<U32>(U64{low24(a)} * low24(b));
}

U32 bfe_u32(U32 v, U32 offset, U32 width) {
    offset &= 31;
    width &= 31;
    return v >> offset & ((1U << width) - 1);
}
I32 bfe_i32(I32 v, U32 offset, U32 width) {
    offset &= 31;
    width &= 31;
    if (width == 0) return 0;
    if (offset + width >= 32) return v >> offset;
    return static_cast<I32>(static_cast<U32>(v) << (32 - offset - width)) >> (32 - width);
}

template <class T> T min3(T a, T b, T c) {
    return std::min(std::min(a, b), c);
}
template <class T> T max3(T a, T b, T c) {
    return std::max(std::max(a, b), c);
}
template <class T> T med3(T a, T b, T c) {
    return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

U32 abs_difference(U32 a, U32 b) {
    return a > b ? a - b : b - a;
}
U32 byte_of(U32 v, unsigned i) {
    return v >> (8 * i) & 0xff;
}
U32 sad_u8(U32 a, U32 b) {
    U32 sum = 0;
    for (unsigned i = 0; i < 4; ++i)
        sum += abs_difference(byte_of(a, i), byte_of(b, i));
    return sum;
}
/// Bytes where the reference `b` is zero do not count.
U32 masked_sad_u8(U32 a, U32 b) {
    U32 sum = 0;
    for (unsigned i = 0; i < 4; ++i)
        if (byte_of(b, i) != 0) sum += abs_difference(byte_of(a, i), byte_of(b, i));
    return sum;
}
template <bool Masked> U64 quad_sad(U64 a, U32 b, U64 c) {
    U64 out = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const auto window = static_cast<U32>(a >> (8 * i));
        const U32 sum = (Masked ? masked_sad_u8(window, b) : sad_u8(window, b)) +
                        static_cast<U32>(c >> (16 * i) & 0xffff);
        out |= U64{std::min(sum, 0xffffU)} << (16 * i);
    }
    return out;
}
U32 sad_u16(U32 a, U32 b) {
    return abs_difference(a & 0xffff, b & 0xffff) + abs_difference(a >> 16, b >> 16);
}
U32 lerp_u8(U32 a, U32 b, U32 c) {
    U32 out = 0;
    for (unsigned i = 0; i < 4; ++i)
        out |= ((byte_of(a, i) + byte_of(b, i) + (byte_of(c, i) & 1)) >> 1 & 0xff) << (8 * i);
    return out;
}

/// Byte `selector` of {a, b} (b is the low half), or a sign copy, zero, or ones.
U32 permute_byte(U64 both, U32 selector) {
    if (selector > 12) return 0xff;
    if (selector == 12) return 0;
    if (selector < 8) return static_cast<U32>(both >> (8 * selector) & 0xff);
    return (both >> (16 * (selector - 8) + 15) & 1) != 0 ? 0xff : 0;
}
U32 permute(U32 a, U32 b, U32 selectors) {
    const U64 both = U64{a} << 32 | b;
    U32 out = 0;
    for (unsigned i = 0; i < 4; ++i)
        out |= permute_byte(both, byte_of(selectors, i)) << (8 * i);
    return out;
}

U32 reverse_bits(U32 v) {
    v = (v >> 1 & 0x55555555) | (v & 0x55555555) << 1;
    v = (v >> 2 & 0x33333333) | (v & 0x33333333) << 2;
    v = (v >> 4 & 0x0f0f0f0f) | (v & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(v);
}
U32 first_high(U32 v) {
    return v == 0 ? ~0U : static_cast<U32>(std::countl_zero(v));
}
U32 first_low(U32 v) {
    return v == 0 ? ~0U : static_cast<U32>(std::countr_zero(v));
}
U32 first_sign(U32 v) {
    const U32 sign = static_cast<I32>(v) < 0 ? ~0U : 0U;
    return first_high(v ^ sign);
}
U32 saturate_pair_u8(U32 v) {
    const auto one = [](U32 half) {
        const I32 s = static_cast<I16>(half);
        return static_cast<U32>(s < 0 ? 0 : (s > 255 ? 255 : s));
    };
    return one(v & 0xffff) | one(v >> 16) << 8;
}

WithMask<U64> mad_u64(U32 a, U32 b, U64 c) {
    const U64 product = U64{a} * b;
    const U64 sum = product + c;
    return {sum, sum < product};
}
WithMask<I64> mad_i64(I32 a, I32 b, I64 c) {
    const I64 product = I64{a} * b;
    const auto sum = static_cast<I64>(static_cast<U64>(product) + static_cast<U64>(c));
    return {sum, ((product ^ sum) & (c ^ sum)) < 0};
}

constexpr Semantics kMove[] = {
    valu<[](U32 a) { return a; }>("v_mov_b32", kNoDenormFlush),
    valu<[](U32 a) { return a; }>("v_accvgpr_read_b32"),
    valu<[](U32 a) { return a; }>("v_accvgpr_write_b32"),
    valu<[](U32 a) { return a; }>("v_accvgpr_mov_b32"),
    valu<[](U32 a, U32 b, MaskBit m) { return m.on ? b : a; }>("v_cndmask_b32", kNoDenormFlush),
};

constexpr Semantics kRows[] = {
    kMove[0],
    kMove[1],
    kMove[2],
    kMove[3],
    kMove[4],
    // Addition and subtraction.
    with_clamp<[](U32 a, U32 b) { return clamp_u32(U64{a} + b); }>(
        valu<[](U32 a, U32 b) { return a + b; }>("v_add_u32")),
    with_clamp<[](U32 a, U32 b) { return (a < b ? 0U : a - b); }>(
        valu<[](U32 a, U32 b) { return a - b; }>("v_sub_u32")),
    with_clamp<[](U32 a, U32 b) { return (b < a ? 0U : b - a); }>(
        valu<[](U32 a, U32 b) { return b - a; }>("v_subrev_u32")),
    with_clamp<[](I32 a, I32 b) { return clamp32(I64{a} + b); }>(
        wide(valu<[](U32 a, U32 b) { return a + b; }>("v_add_i32"))),
    with_clamp<[](I32 a, I32 b) { return clamp32(I64{a} - b); }>(
        wide(valu<[](U32 a, U32 b) { return a - b; }>("v_sub_i32"))),
    with_clamp<[](U32 a, U32 b) { return saturated(add_carry(a, b, false), false); }>(
        valu<[](U32 a, U32 b) { return add_carry(a, b, false); }>("v_add_co_u32")),
    with_clamp<[](U32 a, U32 b) { return saturated(sub_borrow(a, b, false), true); }>(
        valu<[](U32 a, U32 b) { return sub_borrow(a, b, false); }>("v_sub_co_u32")),
    with_clamp<[](U32 a, U32 b) { return saturated(sub_borrow(b, a, false), true); }>(
        valu<[](U32 a, U32 b) { return sub_borrow(b, a, false); }>("v_subrev_co_u32")),
    with_clamp<[](U32 a, U32 b, MaskBit m) { return saturated(add_carry(a, b, m.on), false); }>(
        valu<[](U32 a, U32 b, MaskBit m) { return add_carry(a, b, m.on); }>("v_addc_co_u32")),
    with_clamp<[](U32 a, U32 b, MaskBit m) { return saturated(sub_borrow(a, b, m.on), true); }>(
        valu<[](U32 a, U32 b, MaskBit m) { return sub_borrow(a, b, m.on); }>("v_subb_co_u32")),
    with_clamp<[](U32 a, U32 b, MaskBit m) { return saturated(sub_borrow(b, a, m.on), true); }>(
        valu<[](U32 a, U32 b, MaskBit m) { return sub_borrow(b, a, m.on); }>("v_subbrev_co_u32")),
    wide(valu<[](U32 a, U32 b, U32 c) { return a + b + c; }>("v_add3_u32")),
    wide(valu<[](U32 a, U32 b, U32 c) { return ((a << (b & 31)) + c); }>("v_lshl_add_u32")),
    wide(valu<[](U32 a, U32 b, U32 c) { return ((a + b) << (c & 31)); }>("v_add_lshl_u32")),
    wide(valu<[](U32 a, U32 b, U32 c) { return (a << (b & 31) | c); }>("v_lshl_or_b32")),
    wide(valu<[](U32 a, U32 b, U32 c) { return (a & b) | c; }>("v_and_or_b32")),
    wide(valu<[](U32 a, U32 b, U32 c) { return a | b | c; }>("v_or3_b32")),
    wide(valu<[](U32 a, U32 b, U32 c) { return (a ^ b) + c; }>("v_xad_u32")),
    // Multiplication.
    valu<[](U32 a, U32 b) { return mul_i24(a, b); }>("v_mul_i32_i24"),
    valu<[](U32 a, U32 b) { return static_cast<U32>(I64{sext24(a)} * sext24(b) >> 32); }>(
        "v_mul_hi_i32_i24"),
    valu<[](U32 a, U32 b) { return mul_u24(a, b); }>("v_mul_u32_u24"),
    valu<[](U32 a, U32 b) { return static_cast<U32>(U64{low24(a)} * low24(b) >> 32); }>(
        "v_mul_hi_u32_u24"),
    with_clamp<[](U32 a, U32 b, I32 c) { return clamp32(I64{sext24(a)} * sext24(b) + c); }>(
        wide(valu<[](U32 a, U32 b, U32 c) { return mul_i24(a, b) + c; }>("v_mad_i32_i24"))),
    with_clamp<[](U32 a, U32 b, U32 c) { return clamp_u32(U64{low24(a)} * low24(b) + c); }>(
        wide(valu<[](U32 a, U32 b, U32 c) { return mul_u24(a, b) + c; }>("v_mad_u32_u24"))),
    quarter_rate(wide(valu<[](U32 a, U32 b) { return a * b; }>("v_mul_lo_u32"))),
    quarter_rate(wide(
        valu<[](U32 a, U32 b) { return static_cast<U32>(U64{a} * b >> 32); }>("v_mul_hi_u32"))),
    quarter_rate(wide(
        valu<[](I32 a, I32 b) { return static_cast<I32>(I64{a} * b >> 32); }>("v_mul_hi_i32"))),
    quarter_rate(wide(valu<[](U32 a, U32 b, U64 c) { return mad_u64(a, b, c); }>("v_mad_u64_u32"))),
    quarter_rate(wide(valu<[](I32 a, I32 b, I64 c) { return mad_i64(a, b, c); }>("v_mad_i64_i32"))),
    // Minimum, maximum, median.
    valu<[](I32 a, I32 b) { return std::min(a, b); }>("v_min_i32"),
    valu<[](I32 a, I32 b) { return std::max(a, b); }>("v_max_i32"),
    valu<[](U32 a, U32 b) { return std::min(a, b); }>("v_min_u32"),
    valu<[](U32 a, U32 b) { return std::max(a, b); }>("v_max_u32"),
    wide(valu<[](I32 a, I32 b, I32 c) { return min3(a, b, c); }>("v_min3_i32")),
    wide(valu<[](I32 a, I32 b, I32 c) { return max3(a, b, c); }>("v_max3_i32")),
    wide(valu<[](I32 a, I32 b, I32 c) { return med3(a, b, c); }>("v_med3_i32")),
    wide(valu<[](U32 a, U32 b, U32 c) { return min3(a, b, c); }>("v_min3_u32")),
    wide(valu<[](U32 a, U32 b, U32 c) { return max3(a, b, c); }>("v_max3_u32")),
    wide(valu<[](U32 a, U32 b, U32 c) { return med3(a, b, c); }>("v_med3_u32")),
    // Shifts.
    valu<[](U32 a, U32 b) { return (b << (a & 31)); }>("v_lshlrev_b32"),
    valu<[](U32 a, U32 b) { return (b >> (a & 31)); }>("v_lshrrev_b32"),
    valu<[](U32 a, I32 b) { return (b >> (a & 31)); }>("v_ashrrev_i32"),
    wide(valu<[](U32 a, U64 b) { return (b << (a & 63)); }>("v_lshlrev_b64")),
    wide(valu<[](U32 a, U64 b) { return (b >> (a & 63)); }>("v_lshrrev_b64")),
    wide(valu<[](U32 a, I64 b) { return (b >> (a & 63)); }>("v_ashrrev_i64")),
    wide(valu<[](U32 a, U32 b, U32 c) { return static_cast<U32>((U64{a} << 32 | b) >> (c & 31)); }>(
        "v_alignbit_b32")),
    wide(valu<[](U32 a, U32 b, U32 c) {
        return static_cast<U32>((U64{a} << 32 | b) >> (8 * (c & 3)));
    }>("v_alignbyte_b32")),
    // Logic and bits.
    valu<[](U32 a, U32 b) { return a & b; }>("v_and_b32"),
    valu<[](U32 a, U32 b) { return a | b; }>("v_or_b32"),
    valu<[](U32 a, U32 b) { return a ^ b; }>("v_xor_b32"),
    valu<[](U32 a, U32 b) { return ~(a ^ b); }>("v_xnor_b32"),
    valu<[](U32 a) { return ~a; }>("v_not_b32"),
    valu<[](U32 a) { return reverse_bits(a); }>("v_bfrev_b32"),
    valu<[](U32 a) { return first_high(a); }>("v_ffbh_u32"),
    valu<[](U32 a) { return first_low(a); }>("v_ffbl_b32"),
    valu<[](U32 a) { return first_sign(a); }>("v_ffbh_i32"),
    wide(valu<[](U32 a, U32 b, U32 c) { return bfe_u32(a, b, c); }>("v_bfe_u32")),
    wide(valu<[](I32 a, U32 b, U32 c) { return bfe_i32(a, b, c); }>("v_bfe_i32")),
    wide(valu<[](U32 a, U32 b, U32 c) { return (a & b) | (~a & c); }>("v_bfi_b32")),
    wide(valu<[](U32 a, U32 b) { return (((1U << (a & 31)) - 1) << (b & 31)); }>("v_bfm_b32")),
    wide(valu<[](U32 a, U32 b) { return static_cast<U32>(std::popcount(a)) + b; }>(
        "v_bcnt_u32_b32")),
    wide(valu<[](U32 a, U32 b, U32 c) { return permute(a, b, c); }>("v_perm_b32")),
    // Sums of absolute differences.
    wide(valu<[](U32 a, U32 b, U32 c) { return sad_u8(a, b) + c; }>("v_sad_u8")),
    wide(valu<[](U32 a, U32 b, U32 c) { return ((sad_u8(a, b) << 16) + c); }>("v_sad_hi_u8")),
    wide(valu<[](U32 a, U32 b, U32 c) { return sad_u16(a, b) + c; }>("v_sad_u16")),
    wide(valu<[](U32 a, U32 b, U32 c) { return abs_difference(a, b) + c; }>("v_sad_u32")),
    wide(valu<[](U32 a, U32 b, U32 c) { return masked_sad_u8(a, b) + c; }>("v_msad_u8")),
    quarter_rate(wide(
        valu<[](U64 a, U32 b, U64 c) { return quad_sad<false>(a, b, c); }>("v_qsad_pk_u16_u8"))),
    quarter_rate(wide(
        valu<[](U64 a, U32 b, U64 c) { return quad_sad<true>(a, b, c); }>("v_mqsad_pk_u16_u8"))),
    wide(valu<[](U32 a, U32 b, U32 c) { return lerp_u8(a, b, c); }>("v_lerp_u8")),
    valu<[](U32 a) { return saturate_pair_u8(a); }>("v_sat_pk_u8_i16"),
    // 16 bits.
    with_clamp<[](U16 a, U16 b) { return clamp_u16(a + b); }>(
        valu<[](U16 a, U16 b) { return static_cast<U16>(a + b); }>("v_add_u16")),
    with_clamp<[](U16 a, U16 b) { return clamp_u16(a - b); }>(
        valu<[](U16 a, U16 b) { return static_cast<U16>(a - b); }>("v_sub_u16")),
    with_clamp<[](U16 a, U16 b) { return clamp_u16(b - a); }>(
        valu<[](U16 a, U16 b) { return static_cast<U16>(b - a); }>("v_subrev_u16")),
    with_clamp<[](I16 a, I16 b) { return clamp16(a + b); }>(wide(
        valu<[](U16 a, U16 b) { return static_cast<U16>(a + b); }>("v_add_i16", kKeepsHighHalf))),
    with_clamp<[](I16 a, I16 b) { return clamp16(a - b); }>(wide(
        valu<[](U16 a, U16 b) { return static_cast<U16>(a - b); }>("v_sub_i16", kKeepsHighHalf))),
    valu<[](U16 a, U16 b) { return static_cast<U16>(U32{a} * b); }>("v_mul_lo_u16"),
    valu<[](U16 a, U16 b) { return (static_cast<U16>(b << (a & 15))); }>("v_lshlrev_b16"),
    valu<[](U16 a, U16 b) { return (static_cast<U16>(b >> (a & 15))); }>("v_lshrrev_b16"),
    valu<[](U16 a, I16 b) { return (static_cast<I16>(b >> (a & 15))); }>("v_ashrrev_i16"),
    valu<[](U16 a, U16 b) { return std::max(a, b); }>("v_max_u16"),
    valu<[](I16 a, I16 b) { return std::max(a, b); }>("v_max_i16"),
    valu<[](U16 a, U16 b) { return std::min(a, b); }>("v_min_u16"),
    valu<[](I16 a, I16 b) { return std::min(a, b); }>("v_min_i16"),
    wide(valu<[](I16 a, I16 b, I16 c) { return min3(a, b, c); }>("v_min3_i16", kKeepsHighHalf)),
    wide(valu<[](I16 a, I16 b, I16 c) { return max3(a, b, c); }>("v_max3_i16", kKeepsHighHalf)),
    wide(valu<[](I16 a, I16 b, I16 c) { return med3(a, b, c); }>("v_med3_i16", kKeepsHighHalf)),
    wide(valu<[](U16 a, U16 b, U16 c) { return min3(a, b, c); }>("v_min3_u16", kKeepsHighHalf)),
    wide(valu<[](U16 a, U16 b, U16 c) { return max3(a, b, c); }>("v_max3_u16", kKeepsHighHalf)),
    wide(valu<[](U16 a, U16 b, U16 c) { return med3(a, b, c); }>("v_med3_u16", kKeepsHighHalf)),
    with_clamp<[](U16 a, U16 b, U16 c) {
        const U64 r = U64{a} * b + c;
        return (static_cast<U16>(r > 65535 ? 65535 : r));
    }>(
        wide(valu<[](U16 a, U16 b, U16 c) { return static_cast<U16>(U32{a} * b + c); }>(
            "v_mad_u16", kKeepsHighHalf))),
    with_clamp<[](I16 a, I16 b, I16 c) { return clamp16(a * b + c); }>(
        wide(valu<[](I16 a, I16 b, I16 c) { return static_cast<I16>(a * b + c); }>(
            "v_mad_i16", kKeepsHighHalf))),
    wide(valu<[](U16 a, U16 b, U16 c) { return static_cast<U16>(U32{a} * b + c); }>(
        "v_mad_legacy_u16")),
    wide(valu<[](I16 a, I16 b, I16 c) { return static_cast<I16>(a * b + c); }>("v_mad_legacy_i16")),
    with_clamp<[](U16 a, U16 b, U32 c) { return clamp_u32(U64{a} * b + c); }>(
        wide(valu<[](U16 a, U16 b, U32 c) { return U32{a} * b + c; }>("v_mad_u32_u16"))),
    with_clamp<[](I16 a, I16 b, I32 c) { return clamp32(I64{a} * b + c); }>(
        wide(valu<[](I16 a, I16 b, U32 c) { return static_cast<U32>(I32{a} * b) + c; }>(
            "v_mad_i32_i16"))),
};

} // namespace

std::span<const Semantics> valu_int_rows() {
    return kRows;
}

} // namespace wavetap::softgpu::isa
