// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/float_util.hpp"
#include "softgpu/isa/half_util.hpp"
#include "softgpu/isa/opcode.hpp"

#include <algorithm>

// Packed arithmetic (VOP3P) and dot products.

namespace wavetap::softgpu::isa {
namespace {

using U16 = std::uint16_t;
using I16 = std::int16_t;
using U32 = std::uint32_t;
using I32 = std::int32_t;
using I64 = std::int64_t;
using U64 = std::uint64_t;

template <class T> T half_of(Packed16 p, unsigned which) {
    const auto bits = static_cast<U16>(p.bits >> (16 * which));
    if constexpr (std::is_same_v<T, Half>)
        return Half{bits};
    else
        return static_cast<T>(bits);
}
U32 bits_of(Half h) {
    return h.bits;
}
U32 bits_of(U16 v) {
    return v;
}
U32 bits_of(I16 v) {
    return static_cast<U16>(v);
}

/// F on both halves.
template <class T, class F, class... P> Packed16 both(F f, P... operands) {
    const U32 lo = bits_of(f(half_of<T>(operands, 0)...));
    const U32 hi = bits_of(f(half_of<T>(operands, 1)...));
    return Packed16{lo | hi << 16};
}

I16 clamp16(I32 v) {
    return static_cast<I16>(std::clamp(v, -32768, 32767));
}
U16 clamp_u16(I64 v) {
    return static_cast<U16>(std::clamp<I64>(v, 0, 65535));
}
I32 clamp32(I64 v) {
    return static_cast<I32>(std::clamp<I64>(v, INT32_MIN, INT32_MAX));
}
U32 clamp_u32(U64 v) {
    return static_cast<U32>(std::min<U64>(v, UINT32_MAX));
}

template <unsigned Bits> I64 signed_dot(U32 a, U32 b) {
    I64 sum = 0;
    for (unsigned i = 0; i < 32; i += Bits) {
        const I32 x = static_cast<I32>(a << (32 - Bits - i)) >> (32 - Bits);
        const I32 y = static_cast<I32>(b << (32 - Bits - i)) >> (32 - Bits);
        sum += I64{x} * y;
    }
    return sum;
}
template <unsigned Bits> U64 unsigned_dot(U32 a, U32 b) {
    constexpr U32 kMask = (1U << Bits) - 1;
    U64 sum = 0;
    for (unsigned i = 0; i < 32; i += Bits)
        sum += U64{a >> i & kMask} * (b >> i & kMask);
    return sum;
}
U32 wrap(I64 v) {
    return static_cast<U32>(v);
}

/// Two products of halves and an f32, each step rounded to f32.
float dot2_f16(Packed16 a, Packed16 b, float c) {
    float sum = c;
    for (unsigned i = 0; i < 2; ++i)
        sum = fma(half_to_float(half_of<Half>(a, i)), half_to_float(half_of<Half>(b, i)), sum);
    return sum;
}

constexpr Semantics packed(Semantics row) {
    return wide(row);
}

constexpr Semantics kRows[] = {
    packed(valu<[](Packed16 a, Packed16 b) {
        return both<Half>([](Half x, Half y) { return half_add(x, y); }, a, b);
    }>("v_pk_add_f16")),
    packed(valu<[](Packed16 a, Packed16 b) {
        return both<Half>([](Half x, Half y) { return half_mul(x, y); }, a, b);
    }>("v_pk_mul_f16")),
    packed(valu<[](Packed16 a, Packed16 b, Packed16 c) {
        return both<Half>([](Half x, Half y, Half z) { return half_fma(x, y, z); }, a, b, c);
    }>("v_pk_fma_f16")),
    packed(valu<[](Packed16 a, Packed16 b, Packed16 c) {
        return both<Half>([](Half x, Half y, Half z) { return half_fma(x, y, z); }, a, b, c);
    }>("v_pk_fmac_f16", kAccumulates)),
    packed(valu<[](Packed16 a, Packed16 b, Mode m) {
        return both<Half>([m](Half x, Half y) { return half_min(x, y, m.ieee()); }, a, b);
    }>("v_pk_min_f16")),
    packed(valu<[](Packed16 a, Packed16 b, Mode m) {
        return both<Half>([m](Half x, Half y) { return half_max(x, y, m.ieee()); }, a, b);
    }>("v_pk_max_f16")),
    with_clamp<[](Packed16 a, Packed16 b) {
        return both<I16>([](I16 x, I16 y) { return clamp16(x + y); }, a, b);
    }>(packed(valu<[](Packed16 a, Packed16 b) {
        return both<U16>([](U16 x, U16 y) { return static_cast<U16>(x + y); }, a, b);
    }>("v_pk_add_i16"))),
    with_clamp<[](Packed16 a, Packed16 b) {
        return both<I16>([](I16 x, I16 y) { return clamp16(x - y); }, a, b);
    }>(packed(valu<[](Packed16 a, Packed16 b) {
        return both<U16>([](U16 x, U16 y) { return static_cast<U16>(x - y); }, a, b);
    }>("v_pk_sub_i16"))),
    with_clamp<[](Packed16 a, Packed16 b) {
        return both<U16>([](U16 x, U16 y) { return clamp_u16(x + y); }, a, b);
    }>(packed(valu<[](Packed16 a, Packed16 b) {
        return both<U16>([](U16 x, U16 y) { return static_cast<U16>(x + y); }, a, b);
    }>("v_pk_add_u16"))),
    with_clamp<[](Packed16 a, Packed16 b) {
        return both<U16>([](U16 x, U16 y) { return clamp_u16(x - y); }, a, b);
    }>(packed(valu<[](Packed16 a, Packed16 b) {
        return both<U16>([](U16 x, U16 y) { return static_cast<U16>(x - y); }, a, b);
    }>("v_pk_sub_u16"))),
    packed(valu<[](Packed16 a, Packed16 b) {
        return both<U16>([](U16 x, U16 y) { return static_cast<U16>(U32{x} * y); }, a, b);
    }>("v_pk_mul_lo_u16")),
    with_clamp<[](Packed16 a, Packed16 b, Packed16 c) {
        return both<U16>([](U16 x, U16 y, U16 z) { return clamp_u16(I64{x} * y + z); }, a, b, c);
    }>(packed(valu<[](Packed16 a, Packed16 b, Packed16 c) {
        return both<U16>([](U16 x, U16 y, U16 z) { return static_cast<U16>(U32{x} * y + z); }, a, b,
                         c);
    }>("v_pk_mad_u16"))),
    with_clamp<[](Packed16 a, Packed16 b, Packed16 c) {
        return both<I16>([](I16 x, I16 y, I16 z) { return clamp16(x * y + z); }, a, b, c);
    }>(packed(valu<[](Packed16 a, Packed16 b, Packed16 c) {
        return both<I16>([](I16 x, I16 y, I16 z) { return static_cast<I16>(x * y + z); }, a, b, c);
    }>("v_pk_mad_i16"))),
    packed(valu<[](Packed16 a, Packed16 b) {
        return both<U16>([](U16 x, U16 y) { return (static_cast<U16>(y << (x & 15))); }, a, b);
    }>("v_pk_lshlrev_b16")),
    packed(valu<[](Packed16 a, Packed16 b) {
        return both<U16>([](U16 x, U16 y) { return (static_cast<U16>(y >> (x & 15))); }, a, b);
    }>("v_pk_lshrrev_b16")),
    packed(valu<[](Packed16 a, Packed16 b) {
        return both<I16>([](I16 x, I16 y) { return (static_cast<I16>(y >> (x & 15))); }, a, b);
    }>("v_pk_ashrrev_i16")),
    packed(valu<[](Packed16 a, Packed16 b) {
        return both<I16>([](I16 x, I16 y) { return std::min(x, y); }, a, b);
    }>("v_pk_min_i16")),
    packed(valu<[](Packed16 a, Packed16 b) {
        return both<I16>([](I16 x, I16 y) { return std::max(x, y); }, a, b);
    }>("v_pk_max_i16")),
    packed(valu<[](Packed16 a, Packed16 b) {
        return both<U16>([](U16 x, U16 y) { return std::min(x, y); }, a, b);
    }>("v_pk_min_u16")),
    packed(valu<[](Packed16 a, Packed16 b) {
        return both<U16>([](U16 x, U16 y) { return std::max(x, y); }, a, b);
    }>("v_pk_max_u16")),
    packed(valu<[](Half a, Half b) { return U32{a.bits} | U32{b.bits} << 16; }>("v_pack_b32_f16")),
    valu_pair<[](float a, float b) { return add(a, b); }>("v_pk_add_f32"),
    valu_pair<[](float a, float b) { return mul(a, b); }>("v_pk_mul_f32"),
    valu_pair<[](float a, float b, float c) { return fma(a, b, c); }>("v_pk_fma_f32"),
    packed(valu<[](PackedB32 a, PackedB32 b) {
        return PackedB32{a.lo, b.lo};
    }>("v_pk_mov_b32", kSecondSourceFirst | kNoDenormFlush)),
    packed(
        valu<[](Packed16 a, Packed16 b, float c) { return dot2_f16(a, b, c); }>("v_dot2_f32_f16")),
    packed(valu<[](Packed16 a, Packed16 b, float c) { return dot2_f16(a, b, c); }>(
        "v_dot2c_f32_f16", kAccumulates)),
#define WAVETAP_DOT(name, width, flags)                                                            \
    with_clamp<[](Packed16 a, Packed16 b, I32 c) {                                                 \
        return clamp32(signed_dot<width>(a.bits, b.bits) + c);                                     \
    }>(packed(valu<[](Packed16 a, Packed16 b, I32 c) {                                             \
        return wrap(signed_dot<width>(a.bits, b.bits) + c);                                        \
    }>(name, flags)))
#define WAVETAP_DOT_UNSIGNED(name, width)                                                          \
    with_clamp<[](Packed16 a, Packed16 b, U32 c) {                                                 \
        return clamp_u32(unsigned_dot<width>(a.bits, b.bits) + c);                                 \
    }>(packed(valu<[](Packed16 a, Packed16 b, U32 c) {                                             \
        return static_cast<U32>(unsigned_dot<width>(a.bits, b.bits) + c);                          \
    }>(name)))
    WAVETAP_DOT("v_dot2_i32_i16", 16, 0),
    WAVETAP_DOT("v_dot4_i32_i8", 8, 0),
    WAVETAP_DOT("v_dot8_i32_i4", 4, 0),
    WAVETAP_DOT("v_dot2c_i32_i16", 16, kAccumulates),
    WAVETAP_DOT("v_dot4c_i32_i8", 8, kAccumulates),
    WAVETAP_DOT("v_dot8c_i32_i4", 4, kAccumulates),
    WAVETAP_DOT_UNSIGNED("v_dot2_u32_u16", 16),
    WAVETAP_DOT_UNSIGNED("v_dot4_u32_u8", 8),
    WAVETAP_DOT_UNSIGNED("v_dot8_u32_u4", 4),
#undef WAVETAP_DOT
#undef WAVETAP_DOT_UNSIGNED
};

} // namespace

std::span<const Semantics> valu_packed_rows() {
    return kRows;
}

} // namespace wavetap::softgpu::isa
