// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/float_util.hpp"
#include "softgpu/isa/opcode.hpp"

#include <algorithm>
#include <bit>

namespace wavetap::softgpu::isa {
namespace {

std::uint32_t word_of(std::uint64_t pair, unsigned which) {
    return static_cast<std::uint32_t>(pair >> (32 * (which & 1)));
}

void set_word(std::uint64_t& pair, unsigned which, std::uint32_t value) {
    const unsigned shift = 32 * (which & 1);
    pair = (pair & ~(std::uint64_t{0xffffffff} << shift)) | std::uint64_t{value} << shift;
}

} // namespace

std::uint32_t read_scalar(const Wave& w, unsigned index) {
    if (index < kFlatScratchLo) return w.sgpr[index];
    if (index >= kTtmp0 && index < kTtmp0 + 16) return w.ttmp[index - kTtmp0];
    switch (index) {
    case kFlatScratchLo:
    case kFlatScratchLo + 1:
        return word_of(w.flat_scratch, index);
    case kVccLo:
    case kVccLo + 1:
        return word_of(w.vcc, index);
    case kExecLo:
    case kExecLo + 1:
        return word_of(w.exec, index);
    case kM0:
        return w.m0;
    case kVccz:
        return w.vcc == 0;
    case kExecz:
        return w.exec == 0;
    case kScc:
        return w.scc;
    case kSharedBase:
    case kSharedLimit:
    case kPrivateBase:
    case kPrivateLimit:
        return static_cast<std::uint32_t>(read_scalar_pair(w, index));
    default: // XNACK_MASK: reads as zero, since replays do not happen
        return 0;
    }
}

std::uint64_t read_scalar_pair(const Wave& w, unsigned index) {
    switch (index) {
    case kVccLo:
        return w.vcc;
    case kExecLo:
        return w.exec;
    case kFlatScratchLo:
        return w.flat_scratch;
    case kSharedBase:
        return w.shared_aperture;
    case kSharedLimit:
        return w.shared_aperture | 0xffffffff;
    case kPrivateBase:
        return w.private_aperture;
    case kPrivateLimit:
        return w.private_aperture | 0xffffffff;
    default:
        return std::uint64_t{read_scalar(w, index + 1)} << 32 | read_scalar(w, index);
    }
}

void write_scalar(Wave& w, unsigned index, std::uint32_t value) {
    if (index < kFlatScratchLo) {
        w.sgpr[index] = value;
        return;
    }
    if (index >= kTtmp0 && index < kTtmp0 + 16) {
        w.ttmp[index - kTtmp0] = value;
        return;
    }
    switch (index) {
    case kFlatScratchLo:
    case kFlatScratchLo + 1:
        set_word(w.flat_scratch, index, value);
        break;
    case kVccLo:
    case kVccLo + 1:
        set_word(w.vcc, index, value);
        break;
    case kExecLo:
    case kExecLo + 1:
        set_word(w.exec, index, value);
        break;
    case kM0:
        w.m0 = value;
        break;
    default:
        break;
    }
}

void write_scalar_pair(Wave& w, unsigned index, std::uint64_t value) {
    write_scalar(w, index, static_cast<std::uint32_t>(value));
    write_scalar(w, index + 1, static_cast<std::uint32_t>(value >> 32));
}

void note_registers(OpCode& code, const Operand& operand) {
    const auto end = static_cast<std::uint16_t>(operand.index + operand.dwords);
    if (operand.kind == Operand::Kind::kVgpr) code.vgprs = std::max(code.vgprs, end);
    if (operand.kind == Operand::Kind::kAgpr) code.agprs = std::max(code.agprs, end);
}

namespace {

std::uint64_t real_bits(double value, Elem elem) {
    switch (elem) {
    case Elem::kF64:
    case Elem::kB64:
        return std::bit_cast<std::uint64_t>(value);
    case Elem::kF16:
    case Elem::kB16:
    case Elem::kPacked16:
        return double_to_half(value).bits;
    default:
        return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    }
}

} // namespace

Result<std::uint64_t> constant_bits(const Operand& operand, Elem elem) {
    std::uint64_t bits = 0;
    switch (operand.kind) {
    case Operand::Kind::kReal:
        bits = real_bits(operand.real, elem);
        break;
    case Operand::Kind::kInteger:
        bits = static_cast<std::uint64_t>(operand.integer);
        break;
    case Operand::Kind::kHex:
        bits = static_cast<std::uint64_t>(operand.integer);
        if (elem == Elem::kF64) bits <<= 32;
        break;
    default:
        return Error{ErrorCode::kUnsupported,
                     "operand '" + std::string(operand.word) + "' is no constant",
                     {},
                     {}};
    }
    if (elem != Elem::kF64 && elem != Elem::kB64) bits &= 0xffffffff;
    return bits;
}

} // namespace wavetap::softgpu::isa
