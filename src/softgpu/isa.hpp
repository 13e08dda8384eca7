// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "softgpu/memory.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The instruction set of the software GPU (gfx90a, wave64): what one instruction does to one wave.
// When it issues, where, and what the trace unit writes about it is the chip's business (chip.hpp).

namespace wavetap::softgpu {

inline constexpr unsigned kLanes = 64;
using LaneWords = std::array<std::uint32_t, kLanes>; ///< one vector register

/// Architectural state of one wave. Public on purpose: the dispatcher fills it, instructions change
/// it, tests look at it. A value.
struct Wave {
    std::uint64_t pc = 0; ///< byte address of the next instruction
    std::uint64_t exec = 0;
    std::uint64_t vcc = 0;
    std::uint64_t flat_scratch = 0; ///< FLAT_SCRATCH register pair
    std::uint32_t m0 = 0;
    bool scc = false;
    std::uint32_t mode = 0; ///< MODE register (rounding and denormal bits)
    std::array<std::uint32_t, 104> sgpr{};
    std::array<std::uint32_t, 16> ttmp{};
    std::vector<LaneWords> vgpr;    ///< as many as the kernel descriptor grants
    std::vector<LaneWords> agpr;    ///< accumulation registers (gfx90a unified file)
    std::span<std::byte> lds;       ///< the work-group's local memory
    std::uint64_t scratch_base = 0; ///< VA of this wave's private memory, swizzled by lane
    std::uint32_t scratch_bytes_per_lane = 0;
    std::uint64_t shared_aperture = 0;  ///< flat addresses from here (4 GiB) mean LDS
    std::uint64_t private_aperture = 0; ///< flat addresses from here (4 GiB) mean scratch
    std::uint32_t hw_id = 0;            ///< HW_ID register, for s_getreg
    std::uint64_t clock = 0;            ///< set by the chip before s_memtime / s_memrealtime
    std::uint64_t realtime = 0;
};

/// Execution unit, which decides issue slots and latency.
enum class Unit : std::uint8_t {
    kSalu,
    kValu,
    kSmem,
    kVmem,
    kFlat,
    kLds,
    kBranch,
    kMessage,
    kImmediate
};

/// Which s_waitcnt counters an instruction raises at issue (and lowers when its data return).
enum CounterBits : std::uint8_t { kNoCounter = 0, kVmCnt = 1, kLgkmCnt = 2, kExpCnt = 4 };

/// One decoded instruction; owned by Program, immutable, lives as long as the Program.
struct Op {
    std::uint64_t pc = 0;
    std::uint32_t size_bytes = 0;
    Unit unit = Unit::kSalu;
    /// gfx9 INST token type 0..29 (spec section 4 of the token format, "INST types"); kNoInstToken
    /// for those that only show as ISSUE state 3 (s_nop, s_waitcnt, …).
    std::uint8_t sqtt_type = 0;
    std::uint8_t counters = kNoCounter;
    std::uint8_t issue_quads = 1; ///< units of 4 clocks that the unit is occupied
    bool is_store = false;
    const struct OpCode* code = nullptr; ///< semantics and operands, private to isa/
    std::string text;                    ///< LLVM's text, for faults and dumps
};
inline constexpr std::uint8_t kNoInstToken = 0xff;

enum class Outcome : std::uint8_t {
    kNext,     ///< pc was advanced by size_bytes
    kTaken,    ///< branch taken; pc is the target
    kNotTaken, ///< branch not taken; pc is the next instruction
    kJump,     ///< s_setpc/s_swappc/s_getpc/s_call: pc is set, an INST_PC token follows
    kWait,     ///< s_waitcnt: go on once the counters are at most StepInfo's limits
    kBarrier,  ///< s_barrier
    kSleep,    ///< s_sleep / s_nop: StepInfo::sleep_quads
    kUserData, ///< s_ttracedata: StepInfo::user_data
    kMessage,  ///< s_sendmsg: StepInfo::user_data
    kEnd,      ///< s_endpgm
    kTrap,     ///< s_trap, s_sethalt: StepInfo::user_data = id
    kMemoryFault,
    kIllegal, ///< a register that the wave was not granted, or a mode the model lacks; pc is unchanged
};

struct StepInfo {
    Outcome outcome = Outcome::kNext;
    std::uint8_t vmcnt = 63; ///< kWait: largest allowed values
    std::uint8_t lgkmcnt = 15;
    std::uint8_t expcnt = 7;
    std::uint32_t sleep_quads = 0;
    std::uint32_t user_data = 0;
    std::uint64_t fault_va = 0;
    Access fault_access = Access::kRead;
};

/// Decoded instructions by address. LLVM's disassembler prints each instruction once; the text is
/// bound to a semantics table keyed by mnemonic. Owned by one chip; not thread safe.
class Program {
  public:
    /// `cpu` is an LLVM name ("gfx90a"). Errors: kUnsupported.
    static Result<std::unique_ptr<Program>> create(std::string_view cpu, AddressSpace& space);
    ~Program();
    /// The instruction at `pc`. Errors: kNotFound (not mapped), kUnsupported (illegal or without
    /// semantics; the message holds PC, bytes and LLVM's text).
    Result<const Op*> fetch(std::uint64_t pc);
    /// Code memory may have changed (instruction cache invalidation): entries are compared with
    /// memory before they are used again.
    void invalidate();

  private:
    Program();
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Executes `op` on `wave`: registers, memory, pc. Memory effects are complete on return (the chip
/// models when they become visible to s_waitcnt). On kMemoryFault nothing but the lanes before the
/// fault was changed.
StepInfo execute(const Op& op, Wave& wave, Memory& memory);

} // namespace wavetap::softgpu
