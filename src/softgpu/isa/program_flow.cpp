// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/scalar_util.hpp"

// Branches, waits, messages, hardware registers: SOPP and what else moves the program counter.

namespace wavetap::softgpu::isa {
namespace {

/// Number of a hardware register in simm16 of s_getreg and s_setreg.
enum HardwareRegister : std::uint32_t {
    kRegMode = 1,
    kRegStatus = 2,
    kRegTrapStatus = 3,
    kRegHwId = 4,
    kRegGprAlloc = 5,
    kRegLdsAlloc = 6,
    kRegIbStatus = 7,
    kRegMemoryBases = 15,
};

constexpr std::uint32_t kGprIndexEnable = 1U << 27; ///< in MODE

Result<void> bind_imm16(const Semantics&, ParsedText& text, std::uint64_t raw, Op&, OpCode& c) {
    c.imm = static_cast<std::int16_t>(raw & 0xffff);
    while (!text.left_over().empty())
        text.take(text.left_over());
    return {};
}

Outcome branch_to(const Op& op, Wave& w, bool taken) {
    w.pc += op.size_bytes;
    if (!taken) return Outcome::kNotTaken;
    w.pc += static_cast<std::uint64_t>(op.code->imm * 4);
    return Outcome::kTaken;
}

template <auto Condition> StepInfo run_branch(const Op& op, Wave& w, Memory&) {
    StepInfo info;
    info.outcome = branch_to(op, w, Condition(w));
    return info;
}

template <Outcome What> StepInfo run_outcome(const Op& op, Wave& w, Memory&) {
    StepInfo info = next(op, w);
    info.outcome = What;
    info.user_data = static_cast<std::uint32_t>(op.code->imm & 0xffff);
    return info;
}

StepInfo run_nothing(const Op& op, Wave& w, Memory&) {
    return next(op, w);
}

StepInfo run_waitcnt(const Op& op, Wave& w, Memory&) {
    StepInfo info = next(op, w);
    const auto k = static_cast<std::uint32_t>(op.code->imm & 0xffff);
    info.outcome = Outcome::kWait;
    info.vmcnt = static_cast<std::uint8_t>((k & 15) | (k >> 14 & 3) << 4);
    info.expcnt = static_cast<std::uint8_t>(k >> 4 & 7);
    info.lgkmcnt = static_cast<std::uint8_t>(k >> 8 & 15);
    return info;
}

/// s_sleep N: about 64 * N clocks; s_nop N: N + 1 issue cycles of four clocks.
template <bool Sleep> StepInfo run_sleep(const Op& op, Wave& w, Memory&) {
    StepInfo info = next(op, w);
    const auto k = static_cast<std::uint32_t>(op.code->imm & 0xffff);
    info.outcome = Outcome::kSleep;
    info.sleep_quads = Sleep ? (k & 0x7f) * 16 : (k & 15) + 1;
    return info;
}

StepInfo run_user_data(const Op& op, Wave& w, Memory&) {
    StepInfo info = next(op, w);
    info.outcome = Outcome::kUserData;
    info.user_data = w.m0;
    return info;
}

StepInfo run_sethalt(const Op& op, Wave& w, Memory&) {
    StepInfo info = next(op, w);
    if ((op.code->imm & 1) != 0) info.outcome = Outcome::kTrap;
    return info;
}

StepInfo jump() {
    StepInfo info;
    info.outcome = Outcome::kJump;
    return info;
}

StepInfo run_getpc(const Op& op, Wave& w, Memory&) {
    w.pc += op.size_bytes;
    write_operand(*op.code, 0, w, w.pc);
    return jump();
}
StepInfo run_setpc(const Op& op, Wave& w, Memory&) {
    w.pc = read_operand<std::uint64_t>(*op.code, 0, w);
    return jump();
}
StepInfo run_swappc(const Op& op, Wave& w, Memory&) {
    const auto target = read_operand<std::uint64_t>(*op.code, 1, w);
    write_operand(*op.code, 0, w, w.pc + op.size_bytes);
    w.pc = target;
    return jump();
}
StepInfo run_call(const Op& op, Wave& w, Memory&) {
    w.pc += op.size_bytes;
    write_operand(*op.code, 0, w, w.pc);
    w.pc += static_cast<std::uint64_t>(op.code->imm * 4);
    return jump();
}
Result<void> bind_call(const Semantics&, ParsedText& text, std::uint64_t raw, Op&, OpCode& c) {
    if (text.operands.empty()) return unsupported_text(text, "no destination");
    c.imm = static_cast<std::int16_t>(raw & 0xffff);
    return bind_scalar_operand(text, c, 0, 2, false);
}

std::uint32_t hardware_register(const Wave& w, unsigned id) {
    switch (id) {
    case kRegMode:
        return w.mode;
    case kRegStatus:
        return static_cast<std::uint32_t>(w.scc) | static_cast<std::uint32_t>(w.exec == 0) << 9 |
               static_cast<std::uint32_t>(w.vcc == 0) << 10;
    case kRegHwId:
        return w.hw_id;
    case kRegGprAlloc:
        return static_cast<std::uint32_t>((w.vgpr.size() / 8) & 63) << 8;
    case kRegLdsAlloc:
        return static_cast<std::uint32_t>(w.lds.size() / 512 & 0x1ff) << 12;
    case kRegMemoryBases:
        return static_cast<std::uint32_t>(w.private_aperture >> 48) |
               static_cast<std::uint32_t>(w.shared_aperture >> 48) << 16;
    default: // TRAPSTS, IB_STS: no exception, nothing outstanding
        return 0;
    }
}

struct RegisterField {
    unsigned id, shift;
    std::uint32_t mask;
};
RegisterField field_of(const OpCode& c) {
    const auto k = static_cast<std::uint32_t>(c.imm & 0xffff);
    const unsigned size = (k >> 11) + 1;
    return {k & 63, k >> 6 & 31, size == 32 ? ~0U : (1U << size) - 1};
}

StepInfo run_getreg(const Op& op, Wave& w, Memory&) {
    const RegisterField f = field_of(*op.code);
    write_operand(*op.code, 0, w, hardware_register(w, f.id) >> f.shift & f.mask);
    return next(op, w);
}
StepInfo run_setreg(const Op& op, Wave& w, Memory&) {
    const OpCode& c = *op.code;
    const RegisterField f = field_of(c);
    const auto value = read_operand<std::uint32_t>(c, 1, w);
    if (f.id == kRegMode) w.mode = (w.mode & ~(f.mask << f.shift)) | (value & f.mask) << f.shift;
    return next(op, w);
}

Result<void> bind_getreg(const Semantics&, ParsedText& text, std::uint64_t raw, Op&, OpCode& c) {
    c.imm = static_cast<std::int16_t>(raw & 0xffff);
    const unsigned id = field_of(c).id;
    if ((id == 0 || id > kRegIbStatus) && id != kRegMemoryBases)
        return unsupported_text(text, "unknown hardware register");
    if (text.operands.size() != 2) return unsupported_text(text, "unexpected operands");
    return bind_scalar_operand(text, c, 0, 1, false);
}
/// "s_setreg_b32 hwreg(…), s4"; TRAPSTS is accepted without effect, MODE takes the value.
Result<void> bind_setreg(const Semantics&, ParsedText& text, std::uint64_t raw, Op&, OpCode& c) {
    c.imm = static_cast<std::int16_t>(raw & 0xffff);
    const unsigned id = field_of(c).id;
    if (id != kRegMode && id != kRegTrapStatus)
        return unsupported_text(text, "this hardware register cannot be written");
    if (text.operands.size() != 2) return unsupported_text(text, "unexpected operands");
    WAVETAP_CHECK_OK(bind_scalar_operand(text, c, 1, 1, false));
    if ((raw >> 23 & 31) == 20) { // s_setreg_imm32_b32: the value follows the instruction
        c.op[1].kind = Operand::Kind::kHex;
        c.constant[1] = raw >> 32;
    }
    return {};
}

StepInfo run_gpr_index_on(const Op& op, Wave& w, Memory&) {
    const OpCode& c = *op.code;
    w.mode |= kGprIndexEnable;
    w.m0 = (w.m0 & ~0xf0ffU) | (read_operand<std::uint32_t>(c, 0, w) & 0xff) |
           static_cast<std::uint32_t>(c.imm) << 12;
    return next(op, w);
}
StepInfo run_gpr_index_off(const Op& op, Wave& w, Memory&) {
    w.mode &= ~kGprIndexEnable;
    return next(op, w);
}
StepInfo run_gpr_index_mode(const Op& op, Wave& w, Memory&) {
    w.m0 = (w.m0 & ~0xf000U) | static_cast<std::uint32_t>(op.code->imm & 15) << 12;
    return next(op, w);
}
StepInfo run_gpr_index_index(const Op& op, Wave& w, Memory&) {
    w.m0 = (w.m0 & ~0xffU) | (read_operand<std::uint32_t>(*op.code, 0, w) & 0xff);
    return next(op, w);
}
/// SOPC form: the enables stand in the second source field.
Result<void> bind_gpr_index(const Semantics&, ParsedText& text, std::uint64_t raw, Op&, OpCode& c) {
    if (text.operands.empty()) return unsupported_text(text, "no operand");
    c.imm = static_cast<std::int64_t>(raw >> 8 & 15);
    return bind_scalar_operand(text, c, 0, 1, false);
}

constexpr Semantics flow(std::string_view name, RunFn run, Unit unit, std::uint8_t type,
                         BindFn bind = &bind_imm16) {
    Semantics row = scalar_row(name, bind, run);
    row.unit = unit;
    row.sqtt_type = type;
    return row;
}
template <auto Condition> constexpr Semantics branch(std::string_view name) {
    return flow(name, &run_branch<Condition>, Unit::kBranch, kInstJump);
}
constexpr Semantics immediate(std::string_view name, RunFn run) {
    return flow(name, run, Unit::kImmediate, kNoInstToken);
}
constexpr Semantics message(std::string_view name, RunFn run) {
    return flow(name, run, Unit::kMessage, kInstMessage);
}
/// Messages count like scalar memory until they are delivered.
constexpr Semantics sendmsg(std::string_view name) {
    Semantics row = message(name, &run_outcome<Outcome::kMessage>);
    row.counters = kLgkmCnt;
    return row;
}
constexpr Semantics jump_row(std::string_view name, RunFn run, BindFn bind) {
    return flow(name, run, Unit::kBranch, kInstPc, bind);
}

constexpr Semantics kRows[] = {
    branch<[](const Wave&) { return true; }>("s_branch"),
    branch<[](const Wave& w) { return !w.scc; }>("s_cbranch_scc0"),
    branch<[](const Wave& w) { return w.scc; }>("s_cbranch_scc1"),
    branch<[](const Wave& w) { return w.vcc == 0; }>("s_cbranch_vccz"),
    branch<[](const Wave& w) { return w.vcc != 0; }>("s_cbranch_vccnz"),
    branch<[](const Wave& w) { return w.exec == 0; }>("s_cbranch_execz"),
    branch<[](const Wave& w) { return w.exec != 0; }>("s_cbranch_execnz"),
    // No debugger is ever attached.
    branch<[](const Wave&) { return false; }>("s_cbranch_cdbgsys"),
    branch<[](const Wave&) { return false; }>("s_cbranch_cdbguser"),
    branch<[](const Wave&) { return false; }>("s_cbranch_cdbgsys_or_user"),
    branch<[](const Wave&) { return false; }>("s_cbranch_cdbgsys_and_user"),
    immediate("s_nop", &run_sleep<false>),
    immediate("s_sleep", &run_sleep<true>),
    immediate("s_waitcnt", &run_waitcnt),
    message("s_endpgm", &run_outcome<Outcome::kEnd>),
    message("s_endpgm_saved", &run_outcome<Outcome::kEnd>),
    message("s_barrier", &run_outcome<Outcome::kBarrier>),
    sendmsg("s_sendmsg"),
    sendmsg("s_sendmsghalt"),
    message("s_trap", &run_outcome<Outcome::kTrap>),
    immediate("s_ttracedata", &run_user_data),
    immediate("s_sethalt", &run_sethalt),
    // Accepted without effect on one wave's results.
    immediate("s_setprio", &run_nothing),
    immediate("s_wakeup", &run_nothing),
    immediate("s_icache_inv", &run_nothing),
    immediate("s_incperflevel", &run_nothing),
    immediate("s_decperflevel", &run_nothing),
    jump_row("s_getpc_b64", &run_getpc, &bind_scalar<2>),
    jump_row("s_setpc_b64", &run_setpc, &bind_scalar<2>),
    jump_row("s_swappc_b64", &run_swappc, &bind_scalar<2, 2>),
    jump_row("s_call_b64", &run_call, &bind_call),
    scalar_row("s_getreg_b32", &bind_getreg, &run_getreg),
    scalar_row("s_setreg_b32", &bind_setreg, &run_setreg),
    scalar_row("s_setreg_imm32_b32", &bind_setreg, &run_setreg),
    scalar_row("s_set_gpr_idx_on", &bind_gpr_index, &run_gpr_index_on),
    scalar_row("s_set_gpr_idx_idx", &bind_gpr_index, &run_gpr_index_index),
    flow("s_set_gpr_idx_off", &run_gpr_index_off, Unit::kSalu, kInstSalu),
    flow("s_set_gpr_idx_mode", &run_gpr_index_mode, Unit::kSalu, kInstSalu),
};

} // namespace

std::span<const Semantics> program_flow_rows() {
    return kRows;
}

} // namespace wavetap::softgpu::isa
