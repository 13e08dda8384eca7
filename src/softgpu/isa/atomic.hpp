// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "softgpu/isa/float_util.hpp"
#include "softgpu/isa/opcode.hpp"

#include <algorithm>

namespace wavetap::softgpu::isa {

inline std::uint32_t packed_add_half(std::uint32_t a, std::uint32_t b) {
    const auto half = [](std::uint32_t x, unsigned shift) {
        return half_to_double(Half{static_cast<std::uint16_t>(x >> shift)});
    };
    const std::uint32_t lo = double_to_half(half(a, 0) + half(b, 0)).bits;
    const std::uint32_t hi = double_to_half(half(a, 16) + half(b, 16)).bits;
    return lo | hi << 16;
}

/// What memory holds after atomic `op`. T is uint32_t or uint64_t; `compare` serves the two-operand
/// forms. Float adds keep subnormals.
template <class T> T atomic_result(AtomicOp op, T old, T data, T compare) {
    using S = std::make_signed_t<T>;
    using F = std::conditional_t<sizeof(T) == 4, float, double>;
    const auto as_float = [](T bits) { return std::bit_cast<F>(bits); };
    const auto bits_of = [](F value) { return std::bit_cast<T>(value); };
    switch (op) {
    case AtomicOp::kSwap:
        return data;
    case AtomicOp::kCmpSwap:
        return old == compare ? data : old;
    case AtomicOp::kCmpSwapF32:
    case AtomicOp::kCmpSwapF64:
        return as_float(old) == as_float(compare) ? data : old;
    case AtomicOp::kAdd:
        return old + data;
    case AtomicOp::kSub:
        return old - data;
    case AtomicOp::kReverseSub:
        return data - old;
    case AtomicOp::kSmin:
        return static_cast<S>(old) < static_cast<S>(data) ? old : data;
    case AtomicOp::kUmin:
        return std::min(old, data);
    case AtomicOp::kSmax:
        return static_cast<S>(old) > static_cast<S>(data) ? old : data;
    case AtomicOp::kUmax:
        return std::max(old, data);
    case AtomicOp::kAnd:
        return old & data;
    case AtomicOp::kOr:
        return old | data;
    case AtomicOp::kXor:
        return old ^ data;
    case AtomicOp::kInc:
        return old >= data ? 0 : old + 1;
    case AtomicOp::kDec:
        return old == 0 || old > data ? data : old - 1;
    case AtomicOp::kMaskedOr:
        return (old & ~data) | compare;
    case AtomicOp::kWrap:
        return old >= data ? old - data : old + compare;
    case AtomicOp::kAddF32:
    case AtomicOp::kAddF64:
        return bits_of(add(as_float(old), as_float(data)));
    case AtomicOp::kMinF32:
    case AtomicOp::kMinF64:
        return bits_of(min_num(as_float(old), as_float(data), true));
    case AtomicOp::kMaxF32:
    case AtomicOp::kMaxF64:
        return bits_of(max_num(as_float(old), as_float(data), true));
    case AtomicOp::kPackedAddF16:
        return static_cast<T>(
            packed_add_half(static_cast<std::uint32_t>(old), static_cast<std::uint32_t>(data)));
    }
    return old;
}

} // namespace wavetap::softgpu::isa
