// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "softgpu/isa.hpp"

#include <cstdint>

// Every duration of the model, in shader clocks. All of it is modelled: rough public figures for
// CDNA2, not measurements (docs/hardware.md). The chip has no other numbers of this kind.

namespace wavetap::softgpu::timing {

inline constexpr std::uint64_t kQuad = 4; ///< one issue turn of a SIMD; the grain of the clock

// Front end.
inline constexpr std::uint64_t kAqlFetch = 200;      ///< read and check one AQL packet
inline constexpr std::uint64_t kAqlRetire = 100;     ///< last step to the completion signal
inline constexpr std::uint64_t kAqlPoll = 400;       ///< between looks at memory that is polled
inline constexpr std::uint64_t kDispatchSetup = 800; ///< packet to first work-group
/// Most that one step() moves the clock while everything left is polled: the host's time decides
/// then, and limits in clocks must not run out at once.
inline constexpr std::uint64_t kIdleStep = 100'000;
inline constexpr std::uint64_t kScratchRetry = 2000; ///< between looks at the inactive signal
inline constexpr std::uint64_t kSdmaSlice = 512;     ///< clocks that one SDMA step covers
inline constexpr std::uint64_t kSdmaPoll = 400;

// PM4.
inline constexpr std::uint64_t kPm4Packet = 24;
inline constexpr std::uint64_t kPm4Register = 4;    ///< each further register or data dword
inline constexpr std::uint64_t kPm4Confirmed = 120; ///< write with confirmation
inline constexpr std::uint64_t kPm4Event = 60;
inline constexpr std::uint64_t kPm4Acquire = 200;
inline constexpr std::uint64_t kPm4Fetch = 120; ///< an indirect buffer
inline constexpr std::uint64_t kPm4Poll = 64;
inline constexpr std::uint64_t kDmaStep = 64;
inline constexpr std::uint64_t kDmaBytesPerStep = 2048;
/// A register can only be changed by the chip itself, memory by anyone.
inline constexpr std::uint64_t kWaitRegisterLimit = 50'000'000;
inline constexpr std::uint64_t kWaitMemoryLimit = 20'000'000'000;

// Work-groups and waves.
inline constexpr std::uint64_t kWaveInit = 64;       ///< wave start to the first issue
inline constexpr std::uint64_t kWaveEnd = 8;         ///< s_endpgm to the end token, at least
inline constexpr std::uint64_t kDispatchDrain = 200; ///< last wave end to the end of the dispatch

// Issue.
inline constexpr std::uint64_t kBranchTaken = 16; ///< until the wave's next instruction is there
inline constexpr std::uint64_t kBranchNotTaken = 8;
inline constexpr std::uint64_t kBarrierRelease = 8; ///< last arrival to the release

struct UnitTimes {
    std::uint32_t busy;    ///< the unit takes no other instruction for so long
    std::uint32_t latency; ///< issue to data, for instructions that raise a counter
};

/// SMEM, VMEM and LDS units are one for the CU, the others one for each SIMD. Latency is to the
/// first return; each further access in flight adds its share of bandwidth.
constexpr UnitTimes unit_times(Unit unit) {
    switch (unit) {
    case Unit::kSmem:
        return {4, 200};
    case Unit::kVmem:
    case Unit::kFlat:
        return {16, 500};
    case Unit::kLds:
        return {8, 64};
    case Unit::kSalu:
    case Unit::kValu: // times the instruction's issue quads
    case Unit::kBranch:
    case Unit::kMessage:
        return {4, 4};
    case Unit::kImmediate:
        return {0, 0};
    }
    return {4, 4};
}

/// Quads from an ISSUE token to the INST token of the same instruction (type = INST type). A reader
/// takes an instruction's duration from this distance, less a part that depends on kind and SIMD
/// (format notes, section 8.4: the phase); so the distance is that part and the quads that it
/// occupies the unit beyond the first. Traces of a real gfx950 show 0 to 2.
constexpr std::uint64_t inst_token_quads(std::uint8_t type, unsigned simd, std::uint64_t quads) {
    unsigned kind = 0; // vector memory, flat, PC
    switch (type) {
    case 0:
    case 1:
    case 16:
    case 17: // scalar memory and ALU
        kind = 5;
        break;
    case 5:
    case 18:
    case 28: // vector ALU
        kind = 2;
        break;
    case 6:
    case 12:
    case 13:
    case 15: // LDS, branches, messages
        kind = 1;
        break;
    default:
        break;
    }
    constexpr unsigned kFirstPhase = 15;
    constexpr std::uint64_t kMost = 5;
    const std::uint64_t distance =
        ((kFirstPhase + simd) % 4 + kind) / 4 + (quads > 0 ? quads - 1 : 0);
    return distance < kMost ? distance : kMost;
}

/// Chip-wide memory bandwidth: a wave's access takes this share (in 1/16 clocks) of it.
inline constexpr std::uint64_t kMemoryShare16 = 4;
/// Store data are read from the registers soon after issue (export counter).
inline constexpr std::uint64_t kExportLatency = 40;

} // namespace wavetap::softgpu::timing
