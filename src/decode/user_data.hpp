// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

// Register numbers of dispatches, and the packets that ROCm writes into the user-data registers of
// the trace unit (docs/formats/sqtt-rdna.md).

namespace wavetap::decode {

// Offsets from COMPUTE_DISPATCH_INITIATOR.
inline constexpr std::uint32_t kInitiator = 0x00;
inline constexpr std::uint32_t kNumThreadX = 0x07;
inline constexpr std::uint32_t kNumThreadZ = 0x09;
inline constexpr std::uint32_t kPgmLo = 0x0C;
inline constexpr std::uint32_t kPgmHi = 0x0D;
inline constexpr std::uint32_t kPacketLo = 0x0E;
inline constexpr std::uint32_t kPacketHi = 0x0F;
inline constexpr std::uint32_t kRsrc1 = 0x12;
inline constexpr std::uint32_t kRsrc2 = 0x13;
inline constexpr std::uint32_t kRsrc3Gfx9 = 0x2D;
inline constexpr std::uint32_t kRsrc3 = 0x28; ///< gfx11 and later
inline constexpr std::uint32_t kNowhereGfx9 = 0x7F;
inline constexpr std::uint32_t kNowhere = 0xFF;

inline constexpr std::uint32_t kUconfigFirst = 0xC000;
inline constexpr std::uint32_t kUserdata2 = 0xC342;
inline constexpr std::uint32_t kUserdata3 = 0xC343;

inline constexpr std::uint32_t kUserDataMagic = 0x434F5200; ///< 00 'R' 'O' 'C'

/// Opcode of a header word: opcode [7:0], type [11:8], data [31:12].
enum UserDataOpcode : std::uint32_t {
    kCodeObject = 4,   ///< one payload word
    kTimestamp = 5,    ///< low, high and sync word; data other than 0 is another count of words
    kAgentInfo = 6,    ///< no payload; type 0: counter frequency in kHz, 1: counter interval
    kTimestampLow = 7, ///< one word
};

/// Type of a kCodeObject header.
enum CodeWord : std::uint32_t {
    kTail, ///< unload [0], loaded before the start [1], id [31:2] or 0
    kSizeLo,
    kAddressLo,
    kAddressHi,
    kSizeHi,
    kIdLo,
    kIdHi,
};

} // namespace wavetap::decode
