// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/scalar_util.hpp"

#include <bit>

// Vector instructions that look across lanes or write scalar registers. EXEC does not matter to
// v_readlane and v_writelane.

namespace wavetap::softgpu::isa {
namespace {

bool is_vector(const Operand& o) {
    return o.kind == Operand::Kind::kVgpr || o.kind == Operand::Kind::kAgpr;
}
LaneWords& vector_of(Wave& w, const Operand& o) {
    return (o.kind == Operand::Kind::kAgpr ? w.agpr : w.vgpr)[o.index];
}

/// "name dst, src, …": vector operands are noted, others are 32-bit scalars or constants.
Result<void> bind_mixed(const Semantics& row, ParsedText& text, std::uint64_t, Op&, OpCode& c) {
    if (text.operands.size() != row.extra) return unsupported_text(text, "unexpected operands");
    for (unsigned i = 0; i < row.extra; ++i) {
        if (is_vector(text.operands[i])) {
            c.op[i] = text.operands[i];
            note_registers(c, c.op[i]);
        } else {
            WAVETAP_CHECK_OK(bind_scalar_operand(text, c, i, 1, false));
        }
    }
    return {};
}

StepInfo run_readfirstlane(const Op& op, Wave& w, Memory&) {
    const OpCode& c = *op.code;
    if (!registers_fit(c, w)) return illegal_register();
    const unsigned lane = w.exec == 0 ? 0 : static_cast<unsigned>(std::countr_zero(w.exec));
    write_scalar(w, c.op[0].index, vector_of(w, c.op[1])[lane]);
    return next(op, w);
}
StepInfo run_readlane(const Op& op, Wave& w, Memory&) {
    const OpCode& c = *op.code;
    if (!registers_fit(c, w)) return illegal_register();
    const std::uint32_t lane = read_operand<std::uint32_t>(c, 2, w) % kLanes;
    write_scalar(w, c.op[0].index, vector_of(w, c.op[1])[lane]);
    return next(op, w);
}
StepInfo run_writelane(const Op& op, Wave& w, Memory&) {
    const OpCode& c = *op.code;
    if (!registers_fit(c, w)) return illegal_register();
    const std::uint32_t lane = read_operand<std::uint32_t>(c, 2, w) % kLanes;
    vector_of(w, c.op[0])[lane] = read_operand<std::uint32_t>(c, 1, w);
    return next(op, w);
}

/// Bits of the mask below the lane, counted, plus an addend; Low takes lanes 0..31.
template <bool Low> StepInfo run_mbcnt(const Op& op, Wave& w, Memory&) {
    const OpCode& c = *op.code;
    if (!registers_fit(c, w)) return illegal_register();
    LaneWords out;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        const auto source = [&](unsigned i) {
            return is_vector(c.op[i]) ? vector_of(w, c.op[i])[lane]
                                      : read_operand<std::uint32_t>(c, i, w);
        };
        const std::uint64_t below = (std::uint64_t{1} << lane) - 1;
        const auto mask = static_cast<std::uint32_t>(Low ? below : below >> 32);
        out[lane] = static_cast<std::uint32_t>(std::popcount(source(1) & mask)) + source(2);
    }
    LaneWords& to = vector_of(w, c.op[0]);
    for (unsigned lane = 0; lane < kLanes; ++lane)
        if ((w.exec >> lane & 1) != 0) to[lane] = out[lane];
    return next(op, w);
}

StepInfo run_swap(const Op& op, Wave& w, Memory&) {
    const OpCode& c = *op.code;
    if (!registers_fit(c, w)) return illegal_register();
    LaneWords& a = vector_of(w, c.op[0]);
    LaneWords& b = vector_of(w, c.op[1]);
    for (unsigned lane = 0; lane < kLanes; ++lane)
        if ((w.exec >> lane & 1) != 0) std::swap(a[lane], b[lane]);
    return next(op, w);
}

StepInfo run_nop(const Op& op, Wave& w, Memory&) {
    return next(op, w);
}

constexpr Semantics mixed(std::string_view name, unsigned operands, RunFn run) {
    Semantics row;
    row.name = name;
    row.bind = &bind_mixed;
    row.run = run;
    row.unit = Unit::kValu;
    row.sqtt_type = kInstValu32;
    row.extra = operands;
    return row;
}

constexpr Semantics kRows[] = {
    mixed("v_readfirstlane_b32", 2, &run_readfirstlane),
    mixed("v_readlane_b32", 3, &run_readlane),
    mixed("v_writelane_b32", 3, &run_writelane),
    mixed("v_mbcnt_lo_u32_b32", 3, &run_mbcnt<true>),
    mixed("v_mbcnt_hi_u32_b32", 3, &run_mbcnt<false>),
    mixed("v_swap_b32", 2, &run_swap),
    mixed("v_nop", 0, &run_nop),
};

} // namespace

std::span<const Semantics> valu_cross_lane_rows() {
    return kRows;
}

} // namespace wavetap::softgpu::isa
