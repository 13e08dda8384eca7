// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

// Names of the things that an SQ thread trace (ATT, SQTT) is made of. Byte formats: one table per
// generation in gfx9.hpp and rdna.hpp; docs/formats/ explains them.

namespace wavetap::sqtt {

enum class Generation : std::uint8_t { kGfx9, kGfx10, kGfx11, kGfx12, kGfx1250 };
inline constexpr std::size_t kGenerationCount = 5;

/// "gfx9", "gfx10", "gfx11", "gfx12", "gfx1250".
const char* generation_name(Generation generation) noexcept;

/// Every token of every generation. One meaning has one enumerator, also where layouts differ.
enum class TokenType : std::uint8_t {
    kUnknown, ///< no row of the table; RDNA readers step over four bits
    // Several generations.
    kMisc,
    kTimestamp,
    kReg,
    kWaveStart,
    kWaveAlloc,
    kWaveEnd,
    kEvent,
    kInst,
    kNewPc, ///< gfx9: INST_PC
    kShaderData,
    // gfx9 only.
    kRegCsPriv,
    kRegCs,
    kEventCs,
    kEventGfx1,
    kIssue,
    kPerf,
    // gfx10 and later.
    kNop,
    kTime,
    kMediumTime,
    kValu,
    kImm1,
    kImmediate,
    kWaveReady,
    kAluExec,
    kVmemExec,
    kWaveStartExt,
    kShaderDataShort,
    kPopcount1,
    kPopcount3,
    kUtil,
    kEventSync,
    kRegInit,
    kHeader,
    kLdsConfig,
    kExtension, ///< gfx12 and later: a byte that belongs to the WSTART_EXT before it
};
inline constexpr std::size_t kTokenTypeCount = static_cast<std::size_t>(TokenType::kExtension) + 1;

/// The name used in listings, e.g. "WSTART"; gfx9's own names differ ("TIME", "REGCSP", "USERDATA").
const char* token_name(Generation generation, TokenType type) noexcept;

enum class FieldId : std::uint8_t {
    kNone,
    kReserved, ///< bits without a known meaning; kept by reader and writer
    kPad,      ///< filler
    kSa,       ///< shader array (gfx9: "sh")
    kCu,       ///< gfx9: CU; later: WGP
    kSimd,
    kSlot, ///< wave slot of the SIMD
    kPipe,
    kMe,
    kType,
    kValue,
    kDropped, ///< earlier register writes were lost
    kPriv,
    kOp,
    kAddress,
    kData,
    kGrouped,
    kCount, ///< threads of the wave, or a context-switch code
    kThreadGroup,
    kStage,
    kEventId,
    kError,
    kPc,     ///< in units of four bytes
    kStates, ///< gfx9 ISSUE: ten two-bit states
    kBank,
    kCounter0,
    kCounter1,
    kCounter2,
    kCounter3,
    kWave64Half,
    kMask, ///< one bit for each wave slot
    kSaluExecuted,
    kVectorExecuted,
    kOtherSimd,
    kIsVmem,
    kQueue,
    kDispatcher,
    kExtended,
    kExtIsLds,
    kWorkgroup,
    kLast,
    kDynamicVgpr,
    kExec, ///< gfx10/11 SHDATA: an EXEC population report
    kKind,
    kLevels,
    kUnit,
    kBop,
    kEventType,
    kContext,
    kCsSpace,
    kVmid,
    kSyncId,
    kFlags,
    kRealtime,
    kPacketsLost,
    kLastSample,
    kWaveTime,
    kWgp0,
    kSplit0,
    kWgp1,
    kSplit1,
    kClusterFirst,
    kClusterLast,
    kCluster,
    kVersion,
    kTargetSimd,
    kTargetWgp,
    kTargetSa,
};
const char* field_name(FieldId id) noexcept;

} // namespace wavetap::sqtt
