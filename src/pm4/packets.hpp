// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wavetap::pm4 {

/// PM4 type-3 opcodes (spec pm4-sqtt.md section 2).
enum class Opcode : std::uint8_t {
    kNop = 0x10,
    kAtomicMem = 0x1E,
    kPredExec = 0x23,
    kWriteData = 0x37,
    kWaitRegMem = 0x3C,
    kIndirectBuffer = 0x3F,
    kCopyData = 0x40,
    kEventWrite = 0x46,
    kReleaseMem = 0x49,
    kDmaData = 0x50,
    kAcquireMem = 0x58,
    kSetShReg = 0x76,
    kSetUconfigReg = 0x79,
};

inline constexpr std::uint32_t kUconfigBase = 0xC000; ///< SET_UCONFIG_REG offsets count from here
inline constexpr std::uint32_t kShBase = 0x2C00;      ///< SET_SH_REG offsets count from here

/// gfx9 registers, absolute dword numbers (spec section 4.1; source: PAL's and Mesa's databases).
namespace gfx9 {
enum Register : std::uint32_t {
    kGrbmGfxIndex = 0xC200,
    kSqThreadTraceBase = 0xC330,
    kSqThreadTraceSize = 0xC331,
    kSqThreadTraceMask = 0xC332,
    kSqThreadTraceTokenMask = 0xC333,
    kSqThreadTracePerfMask = 0xC334,
    kSqThreadTraceCtrl = 0xC335,
    kSqThreadTraceMode = 0xC336,
    kSqThreadTraceBase2 = 0xC337,
    kSqThreadTraceTokenMask2 = 0xC338,
    kSqThreadTraceWptr = 0xC339,
    kSqThreadTraceStatus = 0xC33A,
    kSqThreadTraceHiwater = 0xC33B,
    kSqThreadTraceCntr = 0xC33C,
    kSqThreadTraceUserdata0 = 0xC340,
    kSqThreadTraceUserdata1 = 0xC341,
    kSqThreadTraceUserdata2 = 0xC342,
    kSqThreadTraceUserdata3 = 0xC343,
    kSpiConfigCntl = 0xC440,
    kSpiSqgEventCtl = 0xC448,
    kCpPerfmonCntl = 0xD808,
    kSqPerfcounter0Select = 0xD9C0, ///< 16 of them, one dword each
    kSqPerfcounterCtrl = 0xD9E0,
    kSqPerfcounterMask = 0xD9E1,
    kRlcPerfmonClkCntl = 0xDCBF,
    kComputePerfcountEnable = 0x2E0B,   ///< SH space
    kComputeThreadTraceEnable = 0x2E1E, ///< SH space; present on gfx9 but not used there
};
inline constexpr std::uint32_t kGrbmBroadcast = 0xE0000000; ///< every engine, array and instance
/// GRBM_GFX_INDEX of one engine of the XCC that runs the stream: SH 0, all instances.
constexpr std::uint32_t grbm_select(std::uint32_t engine) {
    return 0x40000000U | engine << 16;
}
} // namespace gfx9

/// One packet inside a command buffer; `body` borrows the stream.
struct Packet {
    std::uint32_t header = 0;
    Opcode opcode = Opcode::kNop;
    std::span<const std::uint32_t> body; ///< the dwords behind the header
    std::size_t offset_dwords = 0;
};

/// Walks a command buffer. Type-2 dwords and the one-dword NOP are skipped. A packet that is handed
/// out has at least the body of its opcode's fixed part (kMinimumBodyDwords of packets.cpp, spec
/// sections 2.1 to 2.9), so those dwords may be read without a check. After an error the parser
/// stays where it is.
class Parser {
  public:
    explicit Parser(std::span<const std::uint32_t> stream) : stream_(stream) {}
    /// The next packet, or nothing at the end. Errors: kCorrupt (cut packet, wrong type) and
    /// kUnsupported (unknown opcode), each with its dword offset.
    Result<std::optional<Packet>> next();
    std::size_t offset_dwords() const { return at_; }
    /// PRED_EXEC of another XCC: passes over `count` dwords. Errors: kCorrupt past the end.
    Result<void> skip(std::size_t count);

  private:
    std::span<const std::uint32_t> stream_;
    std::size_t at_ = 0;
};

/// First dword of a type-3 packet of `total_dwords` (>= 2) dwords.
constexpr std::uint32_t packet_header(Opcode opcode, std::uint32_t total_dwords) {
    return 3U << 30 | (total_dwords - 2) << 16 |
           std::uint32_t{static_cast<std::uint8_t>(opcode)} << 8;
}

/// WAIT_REG_MEM's comparison: (value & mask) FUNCTION reference.
enum class WaitFunction : std::uint8_t {
    kAlways,
    kLess,
    kLessEqual,
    kEqual,
    kNotEqual,
    kGreaterEqual,
    kGreater,
};

/// Appends the packets that our gfx9 streams are made of; control words as recorded (spec section
/// 2). Registers are absolute dword numbers. Not thread safe; the vector is borrowed.
class Gfx9Encoder {
  public:
    explicit Gfx9Encoder(std::vector<std::uint32_t>& stream) : stream_(stream) {}
    std::size_t size_dwords() const { return stream_.size(); }

    void set_uconfig(std::uint32_t reg, std::uint32_t value);
    void set_sh(std::uint32_t reg, std::uint32_t value);
    /// EVENT_WRITE CS_PARTIAL_FLUSH: the compute waves so far have ended.
    void wait_idle();
    void copy_immediate_to_register(std::uint32_t value, std::uint32_t reg);
    void copy_register_to_memory(std::uint32_t reg, std::uint64_t va); ///< 32 bit, confirmed
    void copy_register_to_memory_unconfirmed(std::uint32_t reg, std::uint64_t va);
    void copy_memory_to_register(std::uint64_t va, std::uint32_t reg); ///< 32 bit
    void copy_clock_to_memory(std::uint64_t va);                       ///< 64 bit, confirmed
    void copy_clock_low_to_register(std::uint32_t reg);
    /// Polls every 4 units until the register's masked value compares true.
    void wait_register(std::uint32_t reg, std::uint32_t mask, WaitFunction function,
                       std::uint32_t reference);
    /// Writes back and invalidates [va, va + bytes), in units of 256 bytes, rounded up.
    void acquire_mem(std::uint64_t va, std::uint64_t bytes);
    /// What is appended until end_predicate(token) runs only on XCCs in `xcc_mask`.
    std::size_t begin_predicate(std::uint32_t xcc_mask);
    void end_predicate(std::size_t token);

  private:
    std::vector<std::uint32_t>& stream_;
};

/// "SET_UCONFIG_REG"; "?" for unknown ones.
std::string_view opcode_name(std::uint8_t opcode);
/// "SQ_THREAD_TRACE_MASK" of a gfx9 absolute register number; "" for unknown ones.
std::string_view gfx9_register_name(std::uint32_t reg);

} // namespace wavetap::pm4
