// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "sqtt/table.hpp"

// The token format of gfx9 (gfx908, gfx90a, gfx942, gfx950): 16-bit units, the low nibble is the
// token id. Evidence: kSilicon rows occur in traces of a real gfx950. docs/formats/sqtt-gfx9.md.

namespace wavetap::sqtt {

inline constexpr unsigned kGfx9ClocksPerUnit = 4; ///< of the delta fields
inline constexpr unsigned kGfx9MaxDelta = 255;    ///< of MISC; reaching it forces a time reset
inline constexpr unsigned kGfx9SlotsPerIssue = 10;

namespace gfx9_rows {
using enum FieldId;
using enum TokenType;
// clang-format off
inline constexpr std::array<TokenRow, 16> kRows{{
    {kMisc, "MISC", 0, 4, 16, {4, 11}, 0, Evidence::kSilicon,
     {{{kSa, {12, 12}}, {FieldId::kType, {13, 15}}}}},
    {kTimestamp, "TIME", 1, 4, 64, {4, 4}, 0, Evidence::kSilicon,
     {{{kReserved, {5, 15}}, {kValue, {16, 63}}}}},
    {kReg, "REG", 2, 4, 64, {4, 4}, 0, Evidence::kSilicon,
     {{{kPipe, {5, 6}}, {kMe, {7, 8}}, {kDropped, {9, 9}}, {FieldId::kType, {10, 12}},
       {kReserved, {13, 13}}, {kPriv, {14, 14}}, {kOp, {15, 15}}, {kAddress, {16, 31}},
       {kData, {32, 63}}}}},
    {kWaveStart, "WSTART", 3, 4, 32, {4, 4}, 0, Evidence::kSilicon,
     {{{kSa, {5, 5}}, {kCu, {6, 9}}, {kSlot, {10, 13}}, {kSimd, {14, 15}}, {kPipe, {16, 17}},
       {kMe, {18, 19}}, {kReserved, {20, 20}}, {kGrouped, {21, 21}}, {kCount, {22, 28}},
       {kThreadGroup, {29, 31}}}}},
    {kWaveAlloc, "WALLOC", 4, 4, 16, {4, 4}, 0, Evidence::kSource,
     {{{kSa, {5, 5}}, {kCu, {6, 9}}, {kSlot, {10, 13}}, {kSimd, {14, 15}}}}},
    {kRegCsPriv, "REGCS", 5, 4, 48, {4, 4}, 0, Evidence::kSilicon,
     {{{kPipe, {5, 6}}, {kMe, {7, 8}}, {kAddress, {9, 15}}, {kData, {16, 47}}}}},
    {kWaveEnd, "WEND", 6, 4, 16, {4, 4}, 0, Evidence::kSilicon,
     {{{kSa, {5, 5}}, {kCu, {6, 9}}, {kSlot, {10, 13}}, {kSimd, {14, 15}}}}},
    {kEvent, "EVENT", 7, 4, 16, {4, 4}, 0, Evidence::kSource,
     {{{kSa, {5, 5}}, {kStage, {6, 8}}, {kReserved, {9, 9}}, {kEventId, {10, 15}}}}},
    {kEventCs, "EVENTCS", 8, 4, 16, {4, 4}, 0, Evidence::kSource,
     {{{kSa, {5, 5}}, {kStage, {6, 8}}, {kReserved, {9, 9}}, {kEventId, {10, 15}}}}},
    {kEventGfx1, "EVENTGFX1", 9, 4, 16, {4, 4}, 0, Evidence::kSource,
     {{{kSa, {5, 5}}, {kStage, {6, 8}}, {kReserved, {9, 9}}, {kEventId, {10, 15}}}}},
    {kInst, "INST", 10, 4, 16, {4, 4}, 0, Evidence::kSilicon,
     {{{kSlot, {5, 8}}, {kSimd, {9, 10}}, {FieldId::kType, {11, 15}}}}},
    {kNewPc, "INSTPC", 11, 4, 64, {4, 4}, 0, Evidence::kDecoder,
     {{{kSlot, {5, 8}}, {kSimd, {9, 10}}, {kReserved, {11, 14}}, {kError, {15, 15}},
       {kPc, {16, 63}}}}},
    {kShaderData, "USERDATA", 12, 4, 48, {4, 4}, 0, Evidence::kDecoder,
     {{{kSa, {5, 5}}, {kCu, {6, 9}}, {kSlot, {10, 13}}, {kSimd, {14, 15}}, {kData, {16, 47}}}}},
    {kIssue, "ISSUE", 13, 4, 32, {4, 4}, 0, Evidence::kSilicon,
     {{{kSimd, {5, 6}}, {kReserved, {7, 7}}, {kStates, {8, 27}}, {kPad, {28, 31}}}}},
    {kPerf, "PERF", 14, 4, 64, {4, 4}, 0, Evidence::kDecoder,
     {{{kSa, {5, 5}}, {kCu, {6, 9}}, {kBank, {10, 11}}, {kCounter0, {12, 24}},
       {kCounter1, {25, 37}}, {kCounter2, {38, 50}}, {kCounter3, {51, 63}}}}},
    {kRegCs, "REGCSP", 15, 4, 48, {4, 4}, 0, Evidence::kSilicon,
     {{{kPipe, {5, 6}}, {kMe, {7, 8}}, {kAddress, {9, 15}}, {kData, {16, 47}}}}},
}};
// clang-format on
} // namespace gfx9_rows
inline constexpr const auto& kGfx9Rows = gfx9_rows::kRows;
static_assert(is_sound(kGfx9Rows));

/// MISC type.
enum class Gfx9Misc : std::uint8_t {
    kTime = 0, ///< only carries time; sixteen zero bits are padding
    kTimeReset = 1,
    kPacketLost = 2,
    kSurfaceSync = 3,
    kStallBegin = 4,
    kStallEnd = 5,
    kSaveContext = 6,
    kShootDown = 7,
};

/// What a wave did in an ISSUE token.
enum class Gfx9Issue : std::uint8_t { kNone = 0, kStall = 1, kInstruction = 2, kImmediate = 3 };

/// REG register type.
enum class Gfx9RegType : std::uint8_t {
    kEvent = 0,
    kDraw = 1,
    kDispatch = 2,
    kUserData = 3,
    kMarker = 4,
    kGfxDec = 5,
    kShDec = 6,
    kOther = 7,
};

/// INST type. Values marked "real" were matched with the mnemonics of programs on a real gfx950;
/// the others are named by public headers and AMD's open decoder.
enum class Gfx9Inst : std::uint8_t {
    kSmemRead = 0,  ///< s_load (real)
    kSalu = 1,      ///< every s_* ALU, also 64-bit and saveexec (real)
    kVmemRead = 2,  ///< buffer_load
    kVmemWrite = 3, ///< buffer_store
    kFlatWrite = 4, ///< global_store (real), flat_store
    kValu = 5,      ///< 32-bit VALU (real)
    kLds = 6,       ///< ds_* (real)
    kPc = 7,        ///< s_getpc, s_setpc, s_swappc, s_call; an INST_PC token follows
    kExportGds = 8,
    kExportGfx = 9,
    kExportGrant0 = 10,
    kExportGrant1 = 11,
    kJump = 12,     ///< branch taken
    kNext = 13,     ///< branch not taken (real)
    kFlatRead = 14, ///< global_load (real), flat_load
    kMessage = 15,  ///< s_endpgm (real), s_barrier, s_sendmsg
    kSmemWrite = 16,
    kSalu64 = 17,
    kValu64 = 18, ///< v_lshl_add_u32, v_lshl_add_u64, v_pk_mul (real)
    kSmemReadReplay = 19,
    kSmemWriteReplay = 20,
    kVmemReadReplay = 21,
    kVmemWriteReplay = 22,
    kFlatReplay0 = 23,
    kFlatReplay1 = 24,
    kFatalHalt = 25,
    kReserved26 = 26,
    kReserved27 = 27,
    kValuMatrix = 28, ///< MFMA
    kTrap = 29,       ///< the wave goes to the trap handler
};

/// The eight bytes that the capture software puts in front of a gfx9 buffer.
struct Gfx9Header {
    std::uint8_t version2 = 4; ///< 4 = MI200 and older, 5 = MI300, 6 = MI350
    std::uint8_t simd_mask = 0xF;
    std::uint8_t target_cu = 0; ///< 0..31
    std::uint8_t engine = 0;    ///< 0..63
    bool double_buffer = false; ///< the blob is a sequence of chunks

    constexpr std::uint64_t encode() const {
        return 0x11U | std::uint64_t{version2 & 7U} << 13 | std::uint64_t{simd_mask & 0xFU} << 16 |
               std::uint64_t{target_cu & 0x1FU} << 20 | std::uint64_t{engine & 0x3FU} << 26 |
               std::uint64_t{double_buffer ? 1U : 0U} << 32;
    }
};

} // namespace wavetap::sqtt
