// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/records.hpp"
#include "sqtt/header.hpp"

#include <array>
#include <cstdint>

namespace wavetap::decode {

/// What an INST operation code does.
enum class OpKind : std::uint8_t {
    kUnknown, ///< not in the table of the generation
    kIgnored, ///< known, leaves no record
    kNormal,
    kNewPc,   ///< as kNormal; a NEWPC token follows
    kBarrier, ///< an immediate
    kTrap,    ///< the wave enters the trap handler
    kFatal,
    kReturn, ///< from the trap handler
    kOther,  ///< issued by another SIMD of the target WGP
    kReplay, ///< gfx1250: XNACK replay
    kScale,  ///< gfx1250: prefix of the next instruction
};

enum class OpSource : std::uint8_t {
    kReal,    ///< matched with the mnemonics of programs on a real gfx1100 or gfx1201
    kDecoder, ///< as AMD's open decoder has it
    kInferred,
};

struct OpRow {
    OpKind kind = OpKind::kUnknown;
    Category category = Category::kSalu;
    OpSource source = OpSource::kInferred;
    std::uint32_t cycles = 1; ///< issue cycles
};

/// The operations of a stream: the generation's table with the header's factors applied.
using OpTable = std::array<OpRow, 512>;
OpTable make_op_table(const sqtt::Header& header);

} // namespace wavetap::decode
