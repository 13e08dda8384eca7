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
};
} // namespace gfx9

/// One packet inside a command buffer; `body` borrows the stream.
struct Packet {
    std::uint32_t header = 0;
    Opcode opcode = Opcode::kNop;
    std::span<const std::uint32_t> body; ///< the dwords behind the header
    std::size_t offset_dwords = 0;
};

/// Walks a command buffer. Type-2 dwords and the one-dword NOP are skipped.
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

/// "SET_UCONFIG_REG"; "?" for unknown ones.
std::string_view opcode_name(std::uint8_t opcode);
/// "SQ_THREAD_TRACE_MASK" of a gfx9 absolute register number; "" for unknown ones.
std::string_view gfx9_register_name(std::uint32_t reg);

} // namespace wavetap::pm4
