// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/float_util.hpp"
#include "softgpu/isa/opcode.hpp"

// v_cmp_* writes a mask; v_cmpx_* writes it to EXEC too.

namespace wavetap::softgpu::isa {
namespace {

using U16 = std::uint16_t;
using I16 = std::int16_t;
using U32 = std::uint32_t;
using I32 = std::int32_t;
using U64 = std::uint64_t;
using I64 = std::int64_t;

float value(Half h) {
    return half_to_float(h);
}
template <class T> T value(T x) {
    return x;
}

/// Classes of a float, in the order of the mask bits of v_cmp_class: signaling NaN, quiet NaN,
/// -infinity, -normal, -subnormal, -0, +0, +subnormal, +normal, +infinity.
template <class T> bool in_class(T bits, unsigned exponent_bits, U32 mask) {
    const unsigned total = sizeof(T) * 8;
    const unsigned fraction_bits = total - 1 - exponent_bits;
    const bool negative = (bits >> (total - 1) & 1) != 0;
    const T exponent_mask = static_cast<T>((T{1} << exponent_bits) - 1);
    const T exponent = static_cast<T>(bits >> fraction_bits & exponent_mask);
    const T fraction = static_cast<T>(bits & ((T{1} << fraction_bits) - 1));
    unsigned which;
    if (exponent == exponent_mask && fraction != 0)
        which = (fraction >> (fraction_bits - 1) & 1) != 0 ? 1 : 0;
    else if (exponent == exponent_mask)
        which = negative ? 2 : 9;
    else if (exponent != 0)
        which = negative ? 3 : 8;
    else if (fraction != 0)
        which = negative ? 4 : 7;
    else
        which = negative ? 5 : 6;
    return (mask >> which & 1) != 0;
}

constexpr Semantics exec_too(Semantics row) {
    row.flags |= kWritesExec;
    return row;
}

#define WAVETAP_CMP(op, type, T, expression)                                                       \
    valu<[](T first, T second) {                                                                   \
        [[maybe_unused]] const auto a = value(first);                                              \
        [[maybe_unused]] const auto b = value(second);                                             \
        return static_cast<bool>(expression);                                                      \
    }>("v_cmp_" op "_" type),                                                                      \
        exec_too(valu<[](T first, T second) {                                                      \
            [[maybe_unused]] const auto a = value(first);                                          \
            [[maybe_unused]] const auto b = value(second);                                         \
            return static_cast<bool>(expression);                                                  \
        }>("v_cmpx_" op "_" type))

#define WAVETAP_CMP_INT(type, T)                                                                   \
    WAVETAP_CMP("f", type, T, false), WAVETAP_CMP("lt", type, T, a < b),                           \
        WAVETAP_CMP("eq", type, T, a == b), WAVETAP_CMP("le", type, T, a <= b),                    \
        WAVETAP_CMP("gt", type, T, a > b), WAVETAP_CMP("ne", type, T, a != b),                     \
        WAVETAP_CMP("ge", type, T, a >= b), WAVETAP_CMP("t", type, T, true)

#define WAVETAP_CMP_FLOAT(type, T)                                                                 \
    WAVETAP_CMP("f", type, T, false), WAVETAP_CMP("lt", type, T, a < b),                           \
        WAVETAP_CMP("eq", type, T, a == b), WAVETAP_CMP("le", type, T, a <= b),                    \
        WAVETAP_CMP("gt", type, T, a > b), WAVETAP_CMP("lg", type, T, (a < b) | (a > b)),          \
        WAVETAP_CMP("ge", type, T, a >= b), WAVETAP_CMP("o", type, T, (a == a) & (b == b)),        \
        WAVETAP_CMP("u", type, T, (a != a) | (b != b)), WAVETAP_CMP("nge", type, T, !(a >= b)),    \
        WAVETAP_CMP("nlg", type, T, !((a < b) | (a > b))), WAVETAP_CMP("ngt", type, T, !(a > b)),  \
        WAVETAP_CMP("nle", type, T, !(a <= b)), WAVETAP_CMP("neq", type, T, a != b),               \
        WAVETAP_CMP("nlt", type, T, !(a < b)), WAVETAP_CMP("tru", type, T, true)

constexpr auto kClassF32 = [](float a, U32 mask) {
    return in_class(std::bit_cast<U32>(a), 8, mask);
};
constexpr auto kClassF64 = [](double a, U32 mask) {
    return in_class(std::bit_cast<U64>(a), 11, mask);
};
constexpr auto kClassF16 = [](Half a, U32 mask) { return in_class(U32{a.bits} << 16, 5, mask); };

constexpr Semantics kRows[] = {
    WAVETAP_CMP_FLOAT("f16", Half),
    WAVETAP_CMP_FLOAT("f32", float),
    WAVETAP_CMP_FLOAT("f64", double),
    WAVETAP_CMP_INT("i16", I16),
    WAVETAP_CMP_INT("u16", U16),
    WAVETAP_CMP_INT("i32", I32),
    WAVETAP_CMP_INT("u32", U32),
    WAVETAP_CMP_INT("i64", I64),
    WAVETAP_CMP_INT("u64", U64),
    valu<kClassF32>("v_cmp_class_f32", kNoDenormFlush),
    exec_too(valu<kClassF32>("v_cmpx_class_f32", kNoDenormFlush)),
    valu<kClassF64>("v_cmp_class_f64", kNoDenormFlush),
    exec_too(valu<kClassF64>("v_cmpx_class_f64", kNoDenormFlush)),
    valu<kClassF16>("v_cmp_class_f16", kNoDenormFlush),
    exec_too(valu<kClassF16>("v_cmpx_class_f16", kNoDenormFlush)),
};

#undef WAVETAP_CMP
#undef WAVETAP_CMP_INT
#undef WAVETAP_CMP_FLOAT

} // namespace

std::span<const Semantics> valu_compare_rows() {
    return kRows;
}

} // namespace wavetap::softgpu::isa
