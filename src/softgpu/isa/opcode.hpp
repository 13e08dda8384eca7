// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "softgpu/isa.hpp"
#include "softgpu/isa/lanes.hpp"
#include "softgpu/isa/parse.hpp"

#include <array>
#include <memory>
#include <span>

namespace wavetap::softgpu {
namespace isa {

using RunFn = StepInfo (*)(const Op&, Wave&, Memory&);
struct Semantics;
/// Fills `code` (and, where the operands decide, `op`) from the text. `raw` holds the instruction's
/// bytes. Errors: kUnsupported.
using BindFn = Result<void> (*)(const Semantics&, ParsedText&, std::uint64_t raw, Op&, OpCode&);

/// Properties of a row that its function's signature cannot say.
enum RowFlags : std::uint32_t {
    kAccumulates = 1,       ///< the destination is also the last source (v_fmac)
    kReadsVcc = 2,          ///< VCC is the last source and not in the text (v_div_fmas)
    kKeepsHighHalf = 4,     ///< a 16-bit result leaves the upper half alone
    kWritesHighHalf = 8,    ///< the result goes to the upper half (v_fma_mixhi)
    kNoDenormFlush = 16,    ///< bits are moved, not computed
    kWritesExec = 32,       ///< v_cmpx
    kTwice = 128,           ///< the function runs on first and second registers separately
    kSecondSourceFirst = 64 ///< op_sel of v_pk_mov_b32: each half from its own source
};

enum class MemoryKind : std::uint8_t { kLoad, kStore, kAtomic };
enum class AtomicOp : std::uint8_t {
    kSwap,
    kCmpSwap,
    kAdd,
    kSub,
    kReverseSub,
    kSmin,
    kUmin,
    kSmax,
    kUmax,
    kAnd,
    kOr,
    kXor,
    kInc,
    kDec,
    kAddF32,
    kPackedAddF16,
    kAddF64,
    kMinF64,
    kMaxF64,
    kMinF32,
    kMaxF32,
    kMaskedOr,
    kWrap,
    kCmpSwapF32,
    kCmpSwapF64,
};

/// Shape of a memory instruction.
struct MemorySpec {
    MemoryKind kind = MemoryKind::kLoad;
    std::uint8_t bytes = 4; ///< a lane and access
    bool sign_extend = false;
    bool d16 = false;
    bool high = false; ///< d16_hi
    AtomicOp atomic = AtomicOp::kSwap;
    bool returns = false;     ///< DS: _rtn
    std::uint8_t pair = 0;    ///< DS read2/write2: unit of the offsets (1 or 64 elements), else 0
    std::uint8_t segment = 0; ///< Segment
    std::uint8_t components = 0; ///< formatted access
};
enum Segment : std::uint8_t { kFlat, kGlobal, kScratch, kBuffer, kTypedBuffer };

/// One row of the table: what a mnemonic means.
struct Semantics {
    std::string_view name;
    BindFn bind = nullptr;
    RunFn run = nullptr;
    Kernel kernel;     ///< vector ALU
    Kernel saturating; ///< vector ALU integer with clamp
    std::uint32_t flags = 0;
    MemorySpec memory;
    Unit unit = Unit::kSalu;
    std::uint8_t sqtt_type = 1;
    std::uint8_t counters = kNoCounter;
    std::uint8_t issue_quads = 1;
    std::uint32_t extra = 0; ///< a number for `run`
};

} // namespace isa

/// One source of a vector ALU instruction.
struct LaneSource {
    enum class Kind : std::uint8_t { kVgpr, kAgpr, kScalar, kConstant, kMask };
    Kind kind = Kind::kConstant;
    isa::Elem elem = isa::Elem::kNone;
    std::uint8_t dwords = 1;
    std::uint16_t index = 0;
    bool plain = true; ///< no modifier: lanes are read as they are
    bool neg = false, abs = false, sext = false;
    bool op_sel = false, op_sel_hi = false, neg_hi = false;
    std::uint8_t sdwa_sel = 6; ///< 0..3 byte, 4..5 word, 6 dword
    bool dpp = false;
    /// Constants: 64 copies of each dword.
    std::unique_ptr<std::array<LaneWords, 2>> lanes;
};

enum class DppKind : std::uint8_t {
    kQuadPerm,
    kRowShl,
    kRowShr,
    kRowRor,
    kWaveShl,
    kWaveRol,
    kWaveShr,
    kWaveRor,
    kRowMirror,
    kRowHalfMirror,
    kRowBcast15,
    kRowBcast31,
    kRowNewBcast
};

/// Operands and modifiers of one decoded instruction.
struct OpCode {
    isa::RunFn run = nullptr;
    const isa::Semantics* row = nullptr;
    isa::LaneFn lanes = nullptr;

    std::uint8_t sources = 0;
    std::array<LaneSource, 4> src;
    isa::Operand dst;        ///< vector or scalar destination
    isa::Operand mask_dst;   ///< mask result (vcc, s[0:1])
    std::uint16_t vgprs = 0; ///< registers that must exist
    std::uint16_t agprs = 0;

    bool post = false; ///< omod, clamp or a 16-bit destination half
    bool clamp = false;
    std::uint8_t omod = 0; ///< 0 none, 1 times 2, 2 times 4, 3 half
    bool high_half = false, keep_half = false;
    std::uint8_t sdwa_dst = 6;
    std::uint8_t sdwa_unused = 0; ///< 0 pad, 1 sext, 2 preserve
    bool wide = false;            ///< cpu_is_wide()
    bool has_dpp = false;
    DppKind dpp = DppKind::kQuadPerm;
    std::uint8_t dpp_amount = 0; ///< shift, or quad_perm as four 2-bit fields
    std::uint8_t row_mask = 15, bank_mask = 15;
    bool bound_ctrl = false;

    /// Scalar and memory instructions.
    std::array<isa::Operand, 4> op;
    std::array<std::uint64_t, 4> constant{}; ///< value of op[i] if it is a constant
    std::int64_t imm = 0;                    ///< offset, simm16
    std::int64_t imm2 = 0;
    bool flag_a = false, flag_b = false, flag_c = false; ///< meaning is the run function's
    bool returns = false;
};

namespace isa {

/// Bits of constant `operand` where `elem` is expected.
/// Errors: kUnsupported.
Result<std::uint64_t> constant_bits(const Operand& operand, Elem elem);

// Tables, one a source file.
std::span<const Semantics> valu_float_rows();
std::span<const Semantics> valu_double_rows();
std::span<const Semantics> valu_half_rows();
std::span<const Semantics> valu_int_rows();
std::span<const Semantics> valu_convert_rows();
std::span<const Semantics> valu_compare_rows();
std::span<const Semantics> valu_packed_rows();
std::span<const Semantics> valu_cross_lane_rows();
std::span<const Semantics> mfma_rows();
std::span<const Semantics> salu_rows();
std::span<const Semantics> program_flow_rows();
std::span<const Semantics> smem_rows();
std::span<const Semantics> ds_rows();
std::span<const Semantics> flat_rows();
std::span<const Semantics> buffer_rows();

/// Scalar registers by encoding; unknown numbers cannot be bound.
std::uint32_t read_scalar(const Wave& wave, unsigned index);
std::uint64_t read_scalar_pair(const Wave& wave, unsigned index);
void write_scalar(Wave& wave, unsigned index, std::uint32_t value);
void write_scalar_pair(Wave& wave, unsigned index, std::uint64_t value);

/// Registers that `operand` needs are added to code.vgprs / code.agprs.
void note_registers(OpCode& code, const Operand& operand);
/// False: the wave was not granted a register that the instruction names.
inline bool registers_fit(const OpCode& code, const Wave& wave) {
    return code.vgprs <= wave.vgpr.size() && code.agprs <= wave.agpr.size();
}
inline StepInfo illegal_register() {
    StepInfo info;
    info.outcome = Outcome::kIllegal;
    return info;
}
inline StepInfo next(const Op& op, Wave& wave) {
    wave.pc += op.size_bytes;
    return {};
}

Result<void> bind_valu(const Semantics&, ParsedText&, std::uint64_t raw, Op&, OpCode&);
StepInfo run_valu(const Op&, Wave&, Memory&);

/// A vector ALU row for lambda F.
template <auto F> constexpr Semantics valu(std::string_view name, std::uint32_t flags = 0) {
    Semantics row;
    row.name = name;
    row.bind = &bind_valu;
    row.run = &run_valu;
    row.kernel = kernel<F>();
    row.flags = flags;
    row.unit = Unit::kValu;
    row.sqtt_type = 5;
    return row;
}

// INST token types of gfx9 (format notes, section 4) and where each choice comes from: T = seen in real
// traces of gfx950, N = the type's public name says so, I = inferred.
//
//   scalar ALU, also 64-bit and saveexec, s_getreg, s_setreg      1   T
//   s_load, s_buffer_load, s_memtime, s_dcache_wb                  0   T (the last two: I)
//   s_store, s_atomic                                             16   N
//   vector ALU, 32 bits, two operands; v_fma_f32, v_readlane       5   T (v_fma_f32, v_readlane: I)
//   vector ALU, 64 bits, three integer operands, packed           18   T
//   MFMA                                                          28   N
//   ds_*                                                           6   T
//   flat and global loads 14, stores 4                                 T
//   scratch loads 14, stores 4 (they share the FLAT encoding)          I
//   flat and global atomics, with and without a result             4   I
//   buffer loads 2, stores and atomics 3                               N (atomics: I)
//   s_branch, s_cbranch                            12 taken, 13 not   T
//   s_getpc, s_setpc, s_swappc, s_call                             7   N
//   s_endpgm, s_barrier, s_sendmsg, s_trap                        15   T (s_trap: I)
//   s_nop, s_waitcnt                                            none   T
//   s_sleep, s_setprio, s_icache_inv, s_dcache_inv, s_ttracedata none   I
inline constexpr std::uint8_t kInstSalu = 1, kInstVmemRead = 2, kInstVmemWrite = 3,
                              kInstFlatWrite = 4, kInstValu32 = 5, kInstLds = 6, kInstPc = 7,
                              kInstJump = 12, kInstFlatRead = 14, kInstMessage = 15,
                              kInstSmemRead = 0, kInstSmemWrite = 16, kInstValu64 = 18,
                              kInstMatrix = 28;

// Issue quads (units of four clocks that the unit is busy), after LLVM's public scheduling model of
// gfx90a: 1 for vector ALU of 16, 32 and 64 bits; 4 for transcendental functions, 32-bit multiplies
// with high or full results and v_mad_u64_u32; 2 to 16 for matrix instructions; one a dword and
// lane group for memory.

/// Packed 32-bit: scalar lambda F on both registers of every pair.
template <auto F> constexpr Semantics valu_pair(std::string_view name, std::uint32_t flags = 0) {
    Semantics row = valu<F>(name, flags | kTwice);
    row.sqtt_type = 18;
    row.kernel.dst = Elem::kPackedB32;
    for (unsigned i = 0; i < row.kernel.sources; ++i)
        row.kernel.src[i] = Elem::kPackedB32;
    return row;
}

/// 64-bit and three-operand vector ALU instructions show as INST type 18.
constexpr Semantics wide(Semantics row) {
    row.sqtt_type = kInstValu64;
    return row;
}
/// Issues in four quads (quarter rate).
constexpr Semantics quarter_rate(Semantics row) {
    row.issue_quads = 4;
    return row;
}
template <auto F> constexpr Semantics with_clamp(Semantics row) {
    row.saturating = kernel<F>();
    return row;
}

} // namespace isa
} // namespace wavetap::softgpu
