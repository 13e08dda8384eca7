// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/units.hpp"
#include "softgpu/command_processor.hpp"
#include "softgpu/timing.hpp"

#include <algorithm>
#include <atomic>

namespace wavetap::softgpu {

namespace {

// Cache operation numbers of the public gfx9 enumerations; 64-bit ones are 0x20 higher, those
// without a returned value 0x40.
enum AtomicOp : std::uint32_t {
    kSwap = 0x07,
    kCompareSwap = 0x08,
    kAdd = 0x0F,
    kSub = 0x10,
    kSmin = 0x11,
    kUmin = 0x12,
    kSmax = 0x13,
    kUmax = 0x14,
    kAnd = 0x15,
    kOr = 0x16,
    kXor = 0x17,
    kInc = 0x18,
    kDec = 0x19,
};

template <class T> bool combine(std::uint32_t op, T old_value, T source, T compare, T& new_value) {
    using Signed = std::make_signed_t<T>;
    switch (op) {
    case kSwap:
        new_value = source;
        return true;
    case kCompareSwap:
        new_value = old_value == compare ? source : old_value;
        return true;
    case kAdd:
        new_value = old_value + source;
        return true;
    case kSub:
        new_value = old_value - source;
        return true;
    case kSmin:
        new_value =
            static_cast<Signed>(source) < static_cast<Signed>(old_value) ? source : old_value;
        return true;
    case kUmin:
        new_value = std::min(old_value, source);
        return true;
    case kSmax:
        new_value =
            static_cast<Signed>(source) > static_cast<Signed>(old_value) ? source : old_value;
        return true;
    case kUmax:
        new_value = std::max(old_value, source);
        return true;
    case kAnd:
        new_value = old_value & source;
        return true;
    case kOr:
        new_value = old_value | source;
        return true;
    case kXor:
        new_value = old_value ^ source;
        return true;
    case kInc:
        new_value = old_value >= source ? 0 : old_value + 1;
        return true;
    case kDec:
        new_value = old_value == 0 || old_value > source ? source : old_value - 1;
        return true;
    default:
        return false;
    }
}

enum class Swapped : std::uint8_t { kDone, kMismatch, kUnknown };

template <class T>
Swapped apply(std::byte* host, std::uint32_t op, std::uint64_t source, std::uint64_t compare) {
    std::atomic_ref<T> cell(*reinterpret_cast<T*>(host));
    T old_value = cell.load();
    T new_value{};
    do {
        if (!combine<T>(op, old_value, static_cast<T>(source), static_cast<T>(compare), new_value))
            return Swapped::kUnknown;
    } while (!cell.compare_exchange_weak(old_value, new_value));
    const bool matched = op != kCompareSwap || old_value == static_cast<T>(compare);
    return matched ? Swapped::kDone : Swapped::kMismatch;
}

} // namespace

Result<CommandRun::Step> CommandRun::atomic_mem(const pm4::Packet& packet, std::uint64_t now) {
    const std::uint32_t op = packet.body[0] & 0x7F & ~0x40U;
    const std::uint32_t command = packet.body[0] >> 8 & 0xF;
    const bool wide = (op & 0x20) != 0;
    const std::uint64_t va = std::uint64_t{packet.body[2]} << 32 | packet.body[1];
    const std::uint64_t source = std::uint64_t{packet.body[4]} << 32 | packet.body[3];
    const std::uint64_t compare = std::uint64_t{packet.body[6]} << 32 | packet.body[5];
    const std::uint64_t size = wide ? 8 : 4;
    std::byte* host = va % size == 0 ? memory_->at(va, size, Access::kWrite) : nullptr;
    if (host == nullptr) return fault(va, Access::kWrite, "ATOMIC_MEM");
    const Swapped done = wide ? apply<std::uint64_t>(host, op & ~0x20U, source, compare)
                              : apply<std::uint32_t>(host, op, source, compare);
    if (done == Swapped::kUnknown || command > 1) {
        return Error{ErrorCode::kUnsupported,
                     "ATOMIC_MEM control word " + format_hex(packet.body[0]), "", ""};
    }
    if (command == 1 && done == Swapped::kMismatch) {
        if (waiting_since_ && now - *waiting_since_ >= timing::kWaitMemoryLimit) {
            return Error{ErrorCode::kTimeout,
                         "ATOMIC_MEM loop never matched " + format_hex(compare) + " at " +
                             format_hex(va),
                         "", ""};
        }
        return wait(now, timing::kPm4Poll, true);
    }
    return Step{State::kRunning, timing::kPm4Confirmed, false};
}

} // namespace wavetap::softgpu
