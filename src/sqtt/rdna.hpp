// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "sqtt/table.hpp"

// The token formats of gfx10, gfx11, gfx12 (nibbles, low nibble of a byte first) and gfx1250
// (bytes). The low eight bits at a token's position choose its row. Evidence: kSilicon rows occur
// in traces of a real gfx1100 or gfx1201. docs/formats/sqtt-rdna.md.

namespace wavetap::sqtt {

namespace rdna_rows {
using enum FieldId;
using enum TokenType;
// clang-format off

// Rows that are the same in several generations. The evidence is that of the generation.
consteval TokenRow nop(std::uint8_t bits, Evidence evidence) {
    TokenRow row{kNop, "NOP", 0x0, 4, bits, {}, 0, evidence, {}};
    if (bits == 8) row.fields[0] = {kReserved, {4, 7}};
    return row;
}
consteval TokenRow time_row(std::uint8_t pattern, std::uint8_t bias, Evidence evidence) {
    return {kTime, "TIME", pattern, 4, 8, {4, 7}, bias, evidence, {}};
}
consteval TokenRow valu(Evidence evidence) {
    return {kValu, "VALU", 0x3, 3, 12, {3, 5}, 0, evidence,
            {{{kWave64Half, {6, 6}}, {kSlot, {7, 11}}}}};
}
consteval TokenRow imm1(Evidence evidence) {
    return {kImm1, "IMM1", 0xD, 4, 12, {4, 6}, 0, evidence, {{{kSlot, {7, 11}}}}};
}
consteval TokenRow immediate(Evidence evidence) {
    return {kImmediate, "IMMEDIATE", 0x04, 5, 24, {5, 7}, 0, evidence, {{{kMask, {8, 23}}}}};
}
consteval TokenRow wave_ready(Evidence evidence) {
    return {kWaveReady, "WAVERDY", 0x14, 5, 24, {5, 7}, 0, evidence, {{{kMask, {8, 23}}}}};
}
consteval TokenRow alu_exec(Evidence evidence) {
    return {kAluExec, "ALUEXEC", 0xE, 4, 8, {4, 5}, 0, evidence,
            {{{kSaluExecuted, {6, 6}}, {kVectorExecuted, {7, 7}}}}};
}
consteval TokenRow vmem_exec(Evidence evidence) {
    return {kVmemExec, "VMEMEXEC", 0xF, 4, 8, {4, 5}, 0, evidence,
            {{{kOtherSimd, {6, 6}}, {kIsVmem, {7, 7}}}}};
}
consteval TokenRow misc(Evidence evidence) {
    return {kMisc, "MISC", 0x51, 7, 24, {7, 15}, 0, evidence, {{{kFlags, {16, 23}}}}};
}
consteval TokenRow event(Evidence evidence) {
    return {kEvent, "EVENT", 0x61, 8, 24, {8, 10}, 0, evidence,
            {{{kBop, {11, 11}}, {kEventType, {12, 13}}, {kPipe, {14, 15}}, {kMe, {16, 17}},
              {kEventId, {18, 23}}}}};
}
consteval TokenRow event_sync() {
    return {kEventSync, "EVENT_SYNC", 0xE1, 8, 32, {8, 10}, 0, Evidence::kSource,
            {{{kBop, {11, 11}}, {kEventType, {12, 13}}, {kPipe, {14, 15}}, {kMe, {16, 17}},
              {kEventId, {18, 23}}, {kReserved, {24, 31}}}}};
}
consteval TokenRow reg(Evidence evidence) {
    return {kReg, "REG", 0x9, 4, 64, {4, 6}, 0, evidence,
            {{{kPipe, {7, 8}}, {kMe, {9, 10}}, {kDropped, {11, 11}}, {kContext, {12, 14}},
              {kCsSpace, {15, 15}}, {kAddress, {16, 31}}, {kData, {32, 63}}}}};
}
consteval TokenRow reg_init(Evidence evidence) {
    return {kRegInit, "REGINIT", 0x71, 7, 64, {7, 9}, 0, evidence,
            {{{kVmid, {10, 13}}, {kPipe, {14, 15}}, {kMe, {16, 17}}, {FieldId::kType, {18, 19}},
              {kData, {20, 51}}, {kSyncId, {52, 61}}, {kReserved, {62, 63}}}}};
}
consteval TokenRow header(Evidence evidence, bool wide_wgp) {
    return {kHeader, "HEADER", 0x11, 7, 64, {}, 0, evidence,
            {{{kVersion, {7, 12}}, {kTargetSimd, {13, 14}},
              {kTargetWgp, {15, static_cast<std::uint8_t>(wide_wgp ? 18 : 17)}},
              {kPad, {static_cast<std::uint8_t>(wide_wgp ? 1 : 18),
                      static_cast<std::uint8_t>(wide_wgp ? 0 : 18)}},
              {kTargetSa, {19, 19}}, {kReserved, {20, 63}}}}};
}
consteval TokenRow util48(Evidence evidence) {
    return {kUtil, "UTIL", 0x31, 7, 48, {7, 8}, 0, evidence,
            {{{kUnit, {9, 10}}, {kLevels, {11, 46}}, {kSa, {47, 47}}}}};
}
// gfx10 and gfx11.
consteval TokenRow inst11(Evidence evidence) {
    return {kInst, "INST", 0x2, 3, 20, {4, 6}, 0, evidence,
            {{{kReserved, {3, 3}}, {kWave64Half, {7, 7}}, {kSlot, {8, 12}}, {kOp, {13, 19}}}}};
}
consteval TokenRow new_pc11() {
    return {kNewPc, "NEWPC", 0x21, 7, 64, {8, 10}, 0, Evidence::kDecoder,
            {{{kReserved, {7, 7}}, {kSlot, {11, 15}}, {kPc, {16, 61}}, {kError, {62, 62}},
              {kPad, {63, 63}}}}};
}
consteval TokenRow wave_start11(Evidence evidence) {
    return {kWaveStart, "WSTART", 0x0C, 5, 32, {5, 6}, 0, evidence,
            {{{kSa, {7, 7}}, {kSimd, {8, 9}}, {kCu, {10, 12}}, {kSlot, {13, 17}},
              {kQueue, {18, 20}}, {kPipe, {21, 22}}, {kMe, {23, 23}}, {kDispatcher, {24, 24}},
              {kCount, {25, 31}}}}};
}
consteval TokenRow wave_start_ext11() {
    TokenRow row = wave_start11(Evidence::kSource);
    row.type = kWaveStartExt; row.name = "WSTART_EXT"; row.pattern = 0x1C; row.bits = 48;
    row.fields[9] = {kReserved, {32, 47}};
    return row;
}
consteval TokenRow wave_alloc(std::uint8_t bits) {
    return {kWaveAlloc, "WALLOC", 0x05, 5, bits, {5, 7}, 0, Evidence::kSource,
            {{{kReserved, {8, static_cast<std::uint8_t>(bits - 1)}}}}};
}
consteval TokenRow wave_end11(Evidence evidence) {
    return {kWaveEnd, "WEND", 0x15, 5, 20, {5, 7}, 0, evidence,
            {{{kSa, {8, 8}}, {kSimd, {9, 10}}, {kCu, {11, 13}}, {kReserved, {14, 14}},
              {kSlot, {15, 19}}}}};
}
consteval TokenRow shader_data11() {
    return {kShaderData, "SHDATA", 0x06, 5, 52, {5, 7}, 0, Evidence::kDecoder,
            {{{kSa, {8, 8}}, {kSimd, {9, 10}}, {kCu, {11, 13}}, {kExec, {14, 14}},
              {kSlot, {15, 19}}, {kData, {20, 51}}}}};
}
consteval TokenRow shader_data_short11(Evidence evidence) {
    return {kShaderDataShort, "SHDATA_S", 0x16, 5, 28, {5, 7}, 0, evidence,
            {{{kSa, {8, 8}}, {kSimd, {9, 10}}, {kCu, {11, 13}}, {kExec, {14, 14}},
              {kSlot, {15, 19}}, {kData, {20, 27}}}}};
}
// gfx12 and gfx1250.
consteval TokenRow new_pc12() {
    return {kNewPc, "NEWPC", 0x21, 7, 72, {8, 10}, 0, Evidence::kDecoder,
            {{{kReserved, {7, 7}}, {kSlot, {11, 15}}, {kPc, {16, 70}}, {kError, {71, 71}}}}};
}
consteval TokenRow wave_start12(Evidence evidence) {
    return {kWaveStart, "WSTART", 0x0C, 5, 32, {5, 6}, 0, evidence,
            {{{kSa, {7, 7}}, {kSimd, {8, 9}}, {kCu, {10, 13}}, {kPad, {14, 14}},
              {kSlot, {15, 19}}, {kPipe, {20, 21}}, {kMe, {22, 22}}, {kReserved, {23, 24}},
              {kCount, {25, 31}}}}};
}
consteval TokenRow wave_start_ext12() {
    TokenRow row = wave_start12(Evidence::kDecoder);
    row.type = kWaveStartExt; row.name = "WSTART_EXT"; row.pattern = 0x1C; row.bits = 40;
    row.fields[9] = {kExtIsLds, {32, 32}};
    row.fields[10] = {kWorkgroup, {33, 37}};
    row.fields[11] = {kLast, {38, 38}};
    row.fields[12] = {kDynamicVgpr, {39, 39}};
    return row;
}
consteval TokenRow shader_data12() {
    return {kShaderData, "SHDATA", 0x06, 7, 56, {7, 9}, 0, Evidence::kDecoder,
            {{{kSa, {10, 10}}, {kSimd, {11, 12}}, {kCu, {13, 16}}, {kSlot, {17, 21}},
              {kData, {22, 53}}, {kKind, {54, 55}}}}};
}
consteval TokenRow shader_data_short12() {
    return {kShaderDataShort, "SHDATA_S", 0x46, 7, 32, {7, 9}, 0, Evidence::kDecoder,
            {{{kSa, {10, 10}}, {kSimd, {11, 12}}, {kCu, {13, 16}}, {kSlot, {17, 21}},
              {kData, {22, 29}}, {kKind, {30, 31}}}}};
}
consteval TokenRow popcount1() {
    return {kPopcount1, "POPC1", 0x66, 7, 24, {7, 9}, 0, Evidence::kDecoder,
            {{{kReserved, {10, 23}}}}};
}
consteval TokenRow popcount3() {
    return {kPopcount3, "POPC3", 0x16, 6, 48, {6, 8}, 0, Evidence::kDecoder,
            {{{kReserved, {9, 47}}}}};
}
consteval TokenRow timestamp12(Evidence evidence) {
    return {kTimestamp, "TIMESTAMP", 0x01, 7, 64, {}, 0, evidence,
            {{{kRealtime, {7, 7}}, {kPacketsLost, {8, 8}}, {kLastSample, {9, 9}},
              {kReserved, {10, 11}}, {kValue, {12, 63}}}}};
}

inline constexpr auto kD = Evidence::kDecoder;
inline constexpr auto kR = Evidence::kSilicon;

inline constexpr std::array<TokenRow, 23> kRows10{{
    nop(4, kD), time_row(0x8, 4, kD), inst11(kD), valu(kD), imm1(kD), immediate(kD),
    wave_ready(kD), alu_exec(Evidence::kSource), vmem_exec(Evidence::kSource), new_pc11(),
    wave_start11(kD), wave_start_ext11(), wave_alloc(20), wave_end11(kD), shader_data11(),
    shader_data_short11(kD), 
    {kUtil, "UTIL", 0x31, 7, 64, {7, 8}, 0, Evidence::kSource,
     {{{kLevels, {9, 56}}, {kUnit, {57, 62}}, {kSa, {63, 63}}}}},
    misc(kD), event(kD), event_sync(), reg(kD), reg_init(kD),
    {kTimestamp, "TIMESTAMP", 0x01, 7, 64, {}, 0, kD,
     {{{kReserved, {7, 13}}, {FieldId::kType, {14, 15}}, {kValue, {16, 63}}}}},
}};
inline constexpr std::array<TokenRow, 23> kRows11{{
    nop(4, kR), time_row(0x8, 4, kR), inst11(kR), valu(kR), imm1(kR), immediate(kR),
    wave_ready(kR), alu_exec(kR), vmem_exec(kR), new_pc11(), wave_start11(kR), wave_start_ext11(),
    wave_alloc(20), wave_end11(kR), shader_data11(), shader_data_short11(kR), util48(kR), misc(kR),
    event(kR), event_sync(), reg(kR), reg_init(kR),
    {kTimestamp, "TIMESTAMP", 0x01, 7, 48, {}, 0, kR,
     {{{kPad, {7, 7}}, {kPacketsLost, {8, 8}}, {kRealtime, {9, 9}}, {kReserved, {10, 11}},
       {kValue, {12, 47}}}}},
}};
inline constexpr std::array<TokenRow, 25> kRows12{{
    nop(4, kR), time_row(0x8, 4, kR),
    {kInst, "INST", 0x2, 3, 20, {3, 5}, 0, kR,
     {{{kWave64Half, {6, 6}}, {kSlot, {7, 11}}, {kOp, {12, 19}}}}},
    valu(kR), imm1(kR), immediate(kR), wave_ready(kR), alu_exec(kR), vmem_exec(kR), new_pc12(),
    wave_start12(kR), wave_start_ext12(), wave_alloc(24),
    {kWaveEnd, "WEND", 0x15, 5, 20, {5, 7}, 0, kR,
     {{{kSa, {8, 8}}, {kSimd, {9, 10}}, {kCu, {11, 14}}, {kSlot, {15, 19}}}}},
    shader_data12(), shader_data_short12(), popcount1(), popcount3(), util48(kR), misc(kR),
    event(kD), event_sync(), reg(kR), reg_init(kR), timestamp12(kR),
}};
inline constexpr std::array<TokenRow, 25> kRows1250{{
    nop(8, kD), time_row(0xE, 1, kD),
    {kMediumTime, "MEDIUM_TIME", 0xA6, 8, 16, {8, 15}, 0, kD, {}},
    {kInst, "INST", 0x2, 4, 24, {4, 5}, 0, kD,
     {{{kReserved, {6, 6}}, {kSlot, {7, 11}}, {kOp, {12, 20}}, {kPad, {21, 23}}}}},
    {kValu, "VALU", 0x3, 3, 8, {}, 0, kD, {{{kReserved, {3, 3}}, {kWaveTime, {4, 7}}}}},
    {kImm1, "IMM1", 0xD, 4, 16, {7, 9}, 0, kD,
     {{{kReserved, {4, 6}}, {kSlot, {10, 14}}, {kPad, {15, 15}}}}},
    immediate(kD), wave_ready(kD), new_pc12(), wave_start12(kD), wave_start_ext12(),
    wave_alloc(24),
    {kWaveEnd, "WEND", 0x41, 7, 24, {7, 9}, 0, kD,
     {{{kSa, {10, 10}}, {kSimd, {11, 12}}, {kCu, {13, 16}}, {kSlot, {17, 21}},
       {kReserved, {22, 23}}}}},
    shader_data12(), shader_data_short12(), popcount1(), popcount3(), util48(Evidence::kSource),
    {kMisc, "MISC", 0x51, 7, 24, {7, 9}, 0, kD,
     {{{kFlags, {10, 16}}, {kClusterFirst, {17, 17}}, {kClusterLast, {18, 18}},
       {kCluster, {19, 22}}, {kReserved, {23, 23}}}}},
    event(kD), event_sync(), reg(kD), reg_init(kD), timestamp12(kD),
    {kLdsConfig, "LDS_CONFIG", 0x26, 8, 24, {8, 9}, 0, kD,
     {{{kWgp0, {10, 13}}, {kSplit0, {14, 16}}, {kWgp1, {17, 20}}, {kSplit1, {21, 23}}}}},
}};
// clang-format on

template <std::size_t N>
consteval std::array<TokenRow, N + 1> with_header(const std::array<TokenRow, N>& rows,
                                                  Evidence evidence, bool wide_wgp) {
    std::array<TokenRow, N + 1> out{};
    for (std::size_t i = 0; i < N; ++i)
        out[i] = rows[i];
    out[N] = header(evidence, wide_wgp);
    return out;
}
} // namespace rdna_rows

inline constexpr auto kGfx10Rows =
    rdna_rows::with_header(rdna_rows::kRows10, Evidence::kDecoder, false);
inline constexpr auto kGfx11Rows =
    rdna_rows::with_header(rdna_rows::kRows11, Evidence::kSilicon, false);
inline constexpr auto kGfx12Rows =
    rdna_rows::with_header(rdna_rows::kRows12, Evidence::kSilicon, true);
inline constexpr auto kGfx1250Rows =
    rdna_rows::with_header(rdna_rows::kRows1250, Evidence::kDecoder, true);
static_assert(is_sound(kGfx10Rows));
static_assert(is_sound(kGfx11Rows));
static_assert(is_sound(kGfx12Rows));
static_assert(is_sound(kGfx1250Rows));

// MISC flags, bit numbers inside the field.
inline constexpr unsigned kMiscLostOrSample = 0; ///< gfx10: packets lost; later: counter sample
inline constexpr unsigned kMiscRinse = 1;
inline constexpr unsigned kMiscSaveContext = 3; ///< gfx1250's field lacks bit 2: 2, 3/4, 5/6
inline constexpr unsigned kMiscStallBegin = 4;
inline constexpr unsigned kMiscStallEnd = 5;
inline constexpr unsigned kMiscThrottleBegin = 6;
inline constexpr unsigned kMiscThrottleEnd = 7;

/// gfx1250: what VALU's `wavetm` says. Clocks since the token before, and the place of the wave's
/// slot in the list of the five used last.
inline constexpr std::array<std::uint8_t, 16> kValuClocks{1, 2, 3, 4, 1, 2, 3, 4,
                                                          1, 2, 3, 4, 1, 2, 1, 2};
inline constexpr std::array<std::uint8_t, 16> kValuPlaces{0, 0, 0, 0, 1, 1, 1, 1,
                                                          2, 2, 2, 2, 3, 3, 4, 4};
/// gfx1250: INST codes that move their slot to the front of that list.
inline constexpr unsigned kFirstListedOp = 10;
inline constexpr unsigned kLastListedOp = 14;

} // namespace wavetap::sqtt
