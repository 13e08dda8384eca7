// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/scalar_util.hpp"

#include <bit>

// Scalar ALU: SOP1, SOP2, SOPK, SOPC. Source: AMD "Vega" / "CDNA2" instruction set documents.

namespace wavetap::softgpu::isa {
namespace {

using U32 = std::uint32_t;
using I32 = std::int32_t;
using U64 = std::uint64_t;
using I64 = std::int64_t;

I32 to_signed(U32 x) {
    return static_cast<I32>(x);
}
U32 to_unsigned(I32 x) {
    return static_cast<U32>(x);
}

U32 add_carry(U32 a, U32 b, bool in, bool& scc) {
    const U64 sum = U64{a} + b + in;
    scc = (sum >> 32) != 0;
    return static_cast<U32>(sum);
}
U32 sub_borrow(U32 a, U32 b, bool in, bool& scc) {
    scc = U64{a} < U64{b} + in;
    return a - b - in;
}
bool overflows(I64 value) {
    return value != static_cast<I32>(value);
}

template <class T> T bit_field(T value, U32 control) {
    constexpr unsigned kBits = sizeof(T) * 8;
    const unsigned offset = control & (kBits - 1);
    const unsigned width = control >> 16 & 0x7f;
    if (width == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
        if (offset + width >= kBits) return static_cast<T>(value >> offset);
        using Unsigned = std::make_unsigned_t<T>;
        const unsigned up = kBits - offset - width;
        return static_cast<T>(static_cast<T>(static_cast<Unsigned>(value) << up) >>
                              (kBits - width));
    } else {
        const T shifted = static_cast<T>(value >> offset);
        return width >= kBits ? shifted : static_cast<T>(shifted & ((T{1} << width) - 1));
    }
}

template <class T> T bit_field_mask(U32 width, U32 offset) {
    constexpr unsigned kBits = sizeof(T) * 8;
    return static_cast<T>(((T{1} << (width & (kBits - 1))) - 1) << (offset & (kBits - 1)));
}

template <class T> T whole_quads(T value) {
    T out = 0;
    for (unsigned i = 0; i < sizeof(T) * 8; i += 4)
        if ((value >> i & 15) != 0) out |= T{15} << i;
    return out;
}
template <class T> T quad_mask(T value) {
    T out = 0;
    for (unsigned i = 0; i < sizeof(T) * 2; ++i)
        if ((value >> (4 * i) & 15) != 0) out |= T{1} << i;
    return out;
}
template <class T> T reverse_bits(T value) {
    T out = 0;
    for (unsigned i = 0; i < sizeof(T) * 8; ++i)
        out |= (value >> i & 1) << (sizeof(T) * 8 - 1 - i);
    return out;
}
template <class T> U32 first_one(T value) {
    return value == 0 ? ~0U : static_cast<U32>(std::countr_zero(value));
}
template <class T> U32 leading(T value) {
    return value == 0 ? ~0U : static_cast<U32>(std::countl_zero(value));
}
/// Position of the first bit that differs from the sign.
template <class T> U32 sign_leading(T value) {
    const T sign = value >> (sizeof(T) * 8 - 1) != 0 ? static_cast<T>(~T{0}) : T{0};
    return leading(static_cast<T>(value ^ sign));
}
U64 replicate_bits(U32 value) {
    U64 out = 0;
    for (unsigned i = 0; i < 32; ++i)
        if ((value >> i & 1) != 0) out |= U64{3} << (2 * i);
    return out;
}

// SAVEEXEC: destination takes EXEC, which takes F(source, EXEC).
template <auto F> StepInfo run_saveexec(const Op& op, Wave& w, Memory&) {
    const OpCode& c = *op.code;
    const U64 source = read_operand<U64>(c, 1, w);
    const U64 old = w.exec;
    w.exec = F(source, old);
    write_scalar_pair(w, c.op[0].index, old);
    w.scc = w.exec != 0;
    return next(op, w);
}
/// WREXEC: EXEC and the destination take F(source, EXEC).
template <auto F> StepInfo run_wrexec(const Op& op, Wave& w, Memory&) {
    const OpCode& c = *op.code;
    w.exec = F(read_operand<U64>(c, 1, w), w.exec);
    write_scalar_pair(w, c.op[0].index, w.exec);
    w.scc = w.exec != 0;
    return next(op, w);
}
template <auto F> constexpr Semantics saveexec(std::string_view name) {
    return scalar_row(name, &bind_scalar<2, 2>, &run_saveexec<F>);
}
template <auto F> constexpr Semantics wrexec(std::string_view name) {
    return scalar_row(name, &bind_scalar<2, 2>, &run_wrexec<F>);
}

/// Register number M0 further on; beyond the last SGPR nothing happens.
template <bool Destination, unsigned Dwords> StepInfo run_movrel(const Op& op, Wave& w, Memory&) {
    const OpCode& c = *op.code;
    const unsigned from = c.op[1].index + (Destination ? 0 : w.m0);
    const unsigned to = c.op[0].index + (Destination ? w.m0 : 0);
    if (from + Dwords > kFlatScratchLo || to + Dwords > kFlatScratchLo) return illegal_register();
    for (unsigned i = 0; i < Dwords; ++i)
        w.sgpr[to + i] = w.sgpr[from + i];
    return next(op, w);
}

constexpr Semantics kRows[] = {
    // SOP2
    salu<[](U32 a, U32 b, bool& scc) { return add_carry(a, b, false, scc); }>("s_add_u32"),
    salu<[](U32 a, U32 b, bool& scc) { return sub_borrow(a, b, false, scc); }>("s_sub_u32"),
    salu<[](I32 a, I32 b, bool& scc) {
        scc = overflows(I64{a} + b);
        return to_unsigned(a) + to_unsigned(b);
    }>("s_add_i32"),
    salu<[](I32 a, I32 b, bool& scc) {
        scc = overflows(I64{a} - b);
        return to_unsigned(a) - to_unsigned(b);
    }>("s_sub_i32"),
    salu<[](U32 a, U32 b, bool& scc) { return add_carry(a, b, scc, scc); }>("s_addc_u32"),
    salu<[](U32 a, U32 b, bool& scc) { return sub_borrow(a, b, scc, scc); }>("s_subb_u32"),
    salu<[](I32 a, I32 b, bool& scc) {
        scc = (a < b);
        return scc ? a : b;
    }>("s_min_i32"),
    salu<[](U32 a, U32 b, bool& scc) {
        scc = (a < b);
        return scc ? a : b;
    }>("s_min_u32"),
    salu<[](I32 a, I32 b, bool& scc) {
        scc = (a > b);
        return scc ? a : b;
    }>("s_max_i32"),
    salu<[](U32 a, U32 b, bool& scc) {
        scc = (a > b);
        return scc ? a : b;
    }>("s_max_u32"),
    salu<[](U32 a, U32 b, bool& scc) { return scc ? a : b; }>("s_cselect_b32"),
    salu<[](U64 a, U64 b, bool& scc) { return scc ? a : b; }>("s_cselect_b64"),
    logic<[](U32 a, U32 b) { return a & b; }>("s_and_b32"),
    logic<[](U64 a, U64 b) { return a & b; }>("s_and_b64"),
    logic<[](U32 a, U32 b) { return a | b; }>("s_or_b32"),
    logic<[](U64 a, U64 b) { return a | b; }>("s_or_b64"),
    logic<[](U32 a, U32 b) { return a ^ b; }>("s_xor_b32"),
    logic<[](U64 a, U64 b) { return a ^ b; }>("s_xor_b64"),
    logic<[](U32 a, U32 b) { return a & ~b; }>("s_andn2_b32"),
    logic<[](U64 a, U64 b) { return a & ~b; }>("s_andn2_b64"),
    logic<[](U32 a, U32 b) { return a | ~b; }>("s_orn2_b32"),
    logic<[](U64 a, U64 b) { return a | ~b; }>("s_orn2_b64"),
    logic<[](U32 a, U32 b) { return ~(a & b); }>("s_nand_b32"),
    logic<[](U64 a, U64 b) { return ~(a & b); }>("s_nand_b64"),
    logic<[](U32 a, U32 b) { return ~(a | b); }>("s_nor_b32"),
    logic<[](U64 a, U64 b) { return ~(a | b); }>("s_nor_b64"),
    logic<[](U32 a, U32 b) { return ~(a ^ b); }>("s_xnor_b32"),
    logic<[](U64 a, U64 b) { return ~(a ^ b); }>("s_xnor_b64"),
    logic<[](U32 a, U32 b) { return (a << (b & 31)); }>("s_lshl_b32"),
    logic<[](U64 a, U32 b) { return (a << (b & 63)); }>("s_lshl_b64"),
    logic<[](U32 a, U32 b) { return (a >> (b & 31)); }>("s_lshr_b32"),
    logic<[](U64 a, U32 b) { return (a >> (b & 63)); }>("s_lshr_b64"),
    logic<[](I32 a, U32 b) { return (a >> (b & 31)); }>("s_ashr_i32"),
    logic<[](I64 a, U32 b) { return (a >> (b & 63)); }>("s_ashr_i64"),
    salu<[](U32 a, U32 b) { return bit_field_mask<U32>(a, b); }>("s_bfm_b32"),
    salu<[](U32 a, U32 b) { return bit_field_mask<U64>(a, b); }>("s_bfm_b64"),
    salu<[](U32 a, U32 b) { return a * b; }>("s_mul_i32"),
    logic<[](U32 a, U32 b) { return bit_field(a, b); }>("s_bfe_u32"),
    logic<[](I32 a, U32 b) { return bit_field(a, b); }>("s_bfe_i32"),
    logic<[](U64 a, U32 b) { return bit_field(a, b); }>("s_bfe_u64"),
    logic<[](I64 a, U32 b) { return bit_field(a, b); }>("s_bfe_i64"),
    logic<[](U32 a, U32 b) {
        const U32 difference = a - b;
        return (to_signed(difference) < 0 ? 0 - difference : difference);
    }>("s_absdiff_i32"),
    salu<[](U32 a, U32 b) { return static_cast<U32>(U64{a} * b >> 32); }>("s_mul_hi_u32"),
    salu<[](I32 a, I32 b) { return static_cast<I32>(I64{a} * b >> 32); }>("s_mul_hi_i32"),
    salu<[](U32 a, U32 b, bool& scc) { return shift_add(a, b, 1, scc); }>("s_lshl1_add_u32"),
    salu<[](U32 a, U32 b, bool& scc) { return shift_add(a, b, 2, scc); }>("s_lshl2_add_u32"),
    salu<[](U32 a, U32 b, bool& scc) { return shift_add(a, b, 3, scc); }>("s_lshl3_add_u32"),
    salu<[](U32 a, U32 b, bool& scc) { return shift_add(a, b, 4, scc); }>("s_lshl4_add_u32"),
    salu<[](U32 a, U32 b) { return ((a & 0xffff) | b << 16); }>("s_pack_ll_b32_b16"),
    salu<[](U32 a, U32 b) { return (a & 0xffff) | (b & 0xffff0000); }>("s_pack_lh_b32_b16"),
    salu<[](U32 a, U32 b) { return (a >> 16 | (b & 0xffff0000)); }>("s_pack_hh_b32_b16"),
    // SOP1
    salu<[](U32 a) { return a; }>("s_mov_b32"),
    salu<[](U64 a) { return a; }>("s_mov_b64"),
    salu_keep<[](U32 a, U32 old, bool& scc) { return scc ? a : old; }>("s_cmov_b32"),
    salu_keep<[](U64 a, U64 old, bool& scc) { return scc ? a : old; }>("s_cmov_b64"),
    logic<[](U32 a) { return ~a; }>("s_not_b32"),
    logic<[](U64 a) { return ~a; }>("s_not_b64"),
    logic<[](U32 a) { return whole_quads(a); }>("s_wqm_b32"),
    logic<[](U64 a) { return whole_quads(a); }>("s_wqm_b64"),
    salu<[](U32 a) { return reverse_bits(a); }>("s_brev_b32"),
    salu<[](U64 a) { return reverse_bits(a); }>("s_brev_b64"),
    logic<[](U32 a) { return static_cast<U32>(std::popcount(~a)); }>("s_bcnt0_i32_b32"),
    logic<[](U64 a) { return static_cast<U32>(std::popcount(~a)); }>("s_bcnt0_i32_b64"),
    logic<[](U32 a) { return static_cast<U32>(std::popcount(a)); }>("s_bcnt1_i32_b32"),
    logic<[](U64 a) { return static_cast<U32>(std::popcount(a)); }>("s_bcnt1_i32_b64"),
    salu<[](U32 a) { return first_one(~a); }>("s_ff0_i32_b32"),
    salu<[](U64 a) { return first_one(~a); }>("s_ff0_i32_b64"),
    salu<[](U32 a) { return first_one(a); }>("s_ff1_i32_b32"),
    salu<[](U64 a) { return first_one(a); }>("s_ff1_i32_b64"),
    salu<[](U32 a) { return leading(a); }>("s_flbit_i32_b32"),
    salu<[](U64 a) { return leading(a); }>("s_flbit_i32_b64"),
    salu<[](U32 a) { return sign_leading(a); }>("s_flbit_i32"),
    salu<[](U64 a) { return sign_leading(a); }>("s_flbit_i32_i64"),
    salu<[](U32 a) { return static_cast<I32>(static_cast<std::int8_t>(a)); }>("s_sext_i32_i8"),
    salu<[](U32 a) { return static_cast<I32>(static_cast<std::int16_t>(a)); }>("s_sext_i32_i16"),
    salu_keep<[](U32 a, U32 old) { return (old & ~(1U << (a & 31))); }>("s_bitset0_b32"),
    salu_keep<[](U32 a, U64 old) { return old & ~(U64{1} << (a & 63)); }>("s_bitset0_b64"),
    salu_keep<[](U32 a, U32 old) { return (old | 1U << (a & 31)); }>("s_bitset1_b32"),
    salu_keep<[](U32 a, U64 old) { return old | U64{1} << (a & 63); }>("s_bitset1_b64"),
    saveexec<[](U64 s, U64 exec) { return s & exec; }>("s_and_saveexec_b64"),
    saveexec<[](U64 s, U64 exec) { return s | exec; }>("s_or_saveexec_b64"),
    saveexec<[](U64 s, U64 exec) { return s ^ exec; }>("s_xor_saveexec_b64"),
    saveexec<[](U64 s, U64 exec) { return s & ~exec; }>("s_andn2_saveexec_b64"),
    saveexec<[](U64 s, U64 exec) { return s | ~exec; }>("s_orn2_saveexec_b64"),
    saveexec<[](U64 s, U64 exec) { return ~(s & exec); }>("s_nand_saveexec_b64"),
    saveexec<[](U64 s, U64 exec) { return ~(s | exec); }>("s_nor_saveexec_b64"),
    saveexec<[](U64 s, U64 exec) { return ~(s ^ exec); }>("s_xnor_saveexec_b64"),
    saveexec<[](U64 s, U64 exec) { return ~s & exec; }>("s_andn1_saveexec_b64"),
    saveexec<[](U64 s, U64 exec) { return ~s | exec; }>("s_orn1_saveexec_b64"),
    wrexec<[](U64 s, U64 exec) { return ~s & exec; }>("s_andn1_wrexec_b64"),
    wrexec<[](U64 s, U64 exec) { return s & ~exec; }>("s_andn2_wrexec_b64"),
    logic<[](U32 a) { return quad_mask(a); }>("s_quadmask_b32"),
    logic<[](U64 a) { return quad_mask(a); }>("s_quadmask_b64"),
    scalar_row("s_movrels_b32", &bind_scalar<1, 1>, &run_movrel<false, 1>),
    scalar_row("s_movrels_b64", &bind_scalar<2, 2>, &run_movrel<false, 2>),
    scalar_row("s_movreld_b32", &bind_scalar<1, 1>, &run_movrel<true, 1>),
    scalar_row("s_movreld_b64", &bind_scalar<2, 2>, &run_movrel<true, 2>),
    logic<[](U32 a) { return (to_signed(a) < 0 ? 0 - a : a); }>("s_abs_i32"),
    salu<[](U32 a) { return replicate_bits(a); }>("s_bitreplicate_b64_b32"),
    // SOPC
    salu<[](I32 a, I32 b, bool& scc) { scc = a == b; }>("s_cmp_eq_i32"),
    salu<[](I32 a, I32 b, bool& scc) { scc = a != b; }>("s_cmp_lg_i32"),
    salu<[](I32 a, I32 b, bool& scc) { scc = (a > b); }>("s_cmp_gt_i32"),
    salu<[](I32 a, I32 b, bool& scc) { scc = (a >= b); }>("s_cmp_ge_i32"),
    salu<[](I32 a, I32 b, bool& scc) { scc = (a < b); }>("s_cmp_lt_i32"),
    salu<[](I32 a, I32 b, bool& scc) { scc = a <= b; }>("s_cmp_le_i32"),
    salu<[](U32 a, U32 b, bool& scc) { scc = a == b; }>("s_cmp_eq_u32"),
    salu<[](U32 a, U32 b, bool& scc) { scc = a != b; }>("s_cmp_lg_u32"),
    salu<[](U32 a, U32 b, bool& scc) { scc = (a > b); }>("s_cmp_gt_u32"),
    salu<[](U32 a, U32 b, bool& scc) { scc = (a >= b); }>("s_cmp_ge_u32"),
    salu<[](U32 a, U32 b, bool& scc) { scc = (a < b); }>("s_cmp_lt_u32"),
    salu<[](U32 a, U32 b, bool& scc) { scc = a <= b; }>("s_cmp_le_u32"),
    salu<[](U64 a, U64 b, bool& scc) { scc = a == b; }>("s_cmp_eq_u64"),
    salu<[](U64 a, U64 b, bool& scc) { scc = a != b; }>("s_cmp_lg_u64"),
    salu<[](U32 a, U32 b, bool& scc) { scc = ((a >> (b & 31) & 1) == 0); }>("s_bitcmp0_b32"),
    salu<[](U32 a, U32 b, bool& scc) { scc = ((a >> (b & 31) & 1) != 0); }>("s_bitcmp1_b32"),
    salu<[](U64 a, U32 b, bool& scc) { scc = ((a >> (b & 63) & 1) == 0); }>("s_bitcmp0_b64"),
    salu<[](U64 a, U32 b, bool& scc) { scc = ((a >> (b & 63) & 1) != 0); }>("s_bitcmp1_b64"),
    // SOPK
    sopk<[](I32 k) { return k; }>("s_movk_i32"),
    sopk_keep<[](I32 k, I32 old, bool& scc) { return scc ? k : old; }>("s_cmovk_i32"),
    sopk_compare<[](I32 a, I32 k) { return a == k; }>("s_cmpk_eq_i32"),
    sopk_compare<[](I32 a, I32 k) { return a != k; }>("s_cmpk_lg_i32"),
    sopk_compare<[](I32 a, I32 k) { return (a > k); }>("s_cmpk_gt_i32"),
    sopk_compare<[](I32 a, I32 k) { return (a >= k); }>("s_cmpk_ge_i32"),
    sopk_compare<[](I32 a, I32 k) { return (a < k); }>("s_cmpk_lt_i32"),
    sopk_compare<[](I32 a, I32 k) { return a <= k; }>("s_cmpk_le_i32"),
    sopk_compare<[](U32 a, U32 k) { return a == k; }>("s_cmpk_eq_u32"),
    sopk_compare<[](U32 a, U32 k) { return a != k; }>("s_cmpk_lg_u32"),
    sopk_compare<[](U32 a, U32 k) { return (a > k); }>("s_cmpk_gt_u32"),
    sopk_compare<[](U32 a, U32 k) { return (a >= k); }>("s_cmpk_ge_u32"),
    sopk_compare<[](U32 a, U32 k) { return (a < k); }>("s_cmpk_lt_u32"),
    sopk_compare<[](U32 a, U32 k) { return a <= k; }>("s_cmpk_le_u32"),
    sopk_keep<[](I32 k, I32 old, bool& scc) {
        scc = overflows(I64{old} + k);
        return to_unsigned(old) + to_unsigned(k);
    }>("s_addk_i32"),
    sopk_keep<[](I32 k, I32 old, bool&) { return to_unsigned(old) * to_unsigned(k); }>(
        "s_mulk_i32"),
};

} // namespace

std::span<const Semantics> salu_rows() {
    return kRows;
}

} // namespace wavetap::softgpu::isa
