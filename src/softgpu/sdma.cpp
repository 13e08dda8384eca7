// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/sdma.hpp"

#include "base/units.hpp"
#include "softgpu/compare.hpp"

#include <algorithm>
#include <atomic>
#include <bit>

namespace wavetap::softgpu {
namespace {

enum Opcode : std::uint32_t {
    kNop = 0,
    kCopy = 1,
    kWrite = 2,
    kFence = 5,
    kTrap = 6,
    kPollRegmem = 8,
    kAtomic = 10,
    kConstFill = 11,
    kTimestamp = 13,
    kGcr = 17,
};
enum CopySubOpcode : std::uint32_t { kLinear = 0, kLinearRect = 4 };

constexpr std::uint64_t kPage = 4096;
constexpr std::uint32_t kHdpFlushMarker = 0x80000000; // how ROCr writes the flush
constexpr std::uint32_t kCountMask = 0x3fffffff;

std::uint32_t bits(std::uint32_t word, unsigned low, unsigned count) {
    return (word >> low) & ((1u << count) - 1u);
}

// The 32-bit forms are numbered 7.., the 64-bit forms 32 higher; both return the old value, which
// the engine drops.
enum class AtomicOp : std::uint8_t {
    kSwap = 7,
    kCompareSwap = 8,
    kAdd = 15,
    kSubtract = 16,
    kSignedMin = 17,
    kMin = 18,
    kSignedMax = 19,
    kMax = 20,
    kAnd = 21,
    kOr = 22,
    kXor = 23,
};

template <class T> T combine(AtomicOp op, T old, T source, T compare) {
    using Signed = std::make_signed_t<T>;
    switch (op) {
    case AtomicOp::kSwap:
        return source;
    case AtomicOp::kCompareSwap:
        return old == compare ? source : old;
    case AtomicOp::kAdd:
        return old + source;
    case AtomicOp::kSubtract:
        return old - source;
    case AtomicOp::kSignedMin:
        return T(std::min(Signed(old), Signed(source)));
    case AtomicOp::kMin:
        return std::min(old, source);
    case AtomicOp::kSignedMax:
        return T(std::max(Signed(old), Signed(source)));
    case AtomicOp::kMax:
        return std::max(old, source);
    case AtomicOp::kAnd:
        return old & source;
    case AtomicOp::kOr:
        return old | source;
    case AtomicOp::kXor:
        return old ^ source;
    }
    return old;
}

bool known_atomic(std::uint32_t op) {
    return op == 7 || op == 8 || (op >= 15 && op <= 23);
}

template <class T> void apply(std::byte* host, AtomicOp op, T source, T compare) {
    std::atomic_ref<T> target(*reinterpret_cast<T*>(host));
    T old = target.load(std::memory_order_relaxed);
    while (!target.compare_exchange_weak(old, combine(op, old, source, compare),
                                         std::memory_order_acq_rel)) {
    }
}

template <class T> void store_release(std::byte* host, T value) {
    std::atomic_ref<T>(*reinterpret_cast<T*>(host)).store(value, std::memory_order_release);
}

std::uint64_t to_page_end(std::uint64_t va) {
    return kPage - va % kPage;
}

} // namespace

Result<SdmaQueue> SdmaQueue::create(const SdmaQueueInfo& info, Memory& memory, Host& host) {
    if (!std::has_single_bit(info.ring_bytes) || info.ring_bytes < kPage || info.ring_va % 4 != 0 ||
        info.write_index_va % 8 != 0 || info.read_index_va % 8 != 0)
        return Error{ErrorCode::kInvalidArgument,
                     "the SDMA ring must be a power of two of at least 4096 bytes, its pointers "
                     "8-byte aligned",
                     format_hex(info.ring_va), ""};
    for (const std::uint64_t va : {info.ring_va, info.ring_va + info.ring_bytes - 4,
                                   info.write_index_va, info.read_index_va})
        if (memory.at(va, 4, Access::kWrite) == nullptr)
            return Error{ErrorCode::kNotFound, "SDMA queue memory is not mapped to the agent",
                         format_hex(va), ""};
    return SdmaQueue(info, memory, host);
}

void SdmaQueue::doorbell(std::uint64_t write_pointer) {
    write_ = std::max(write_, write_pointer);
    if (state_ == State::kIdle && write_ != read_) state_ = State::kRunning;
}

SdmaQueue::State SdmaQueue::step(std::uint64_t budget_bytes) {
    if (state_ == State::kStopped) return state_;
    std::uint64_t budget = budget_bytes;
    while (true) {
        if (transfer_.active) {
            if (!transfer(budget)) return state_ = State::kStopped;
            if (transfer_.active) return state_ = State::kRunning;
            if (!retire()) return state_ = State::kStopped;
        }
        if (read_ == write_) return state_ = State::kIdle;
        if (budget == 0) return state_ = State::kRunning;
        budget -= std::min(budget, kSdmaPacketCost);
        std::uint32_t dwords = 0;
        switch (execute(dwords)) {
        case Outcome::kStop:
            return state_ = State::kStopped;
        case Outcome::kWait:
            return state_ = State::kPolling;
        case Outcome::kTransfer:
            packet_dwords_ = dwords;
            break;
        case Outcome::kDone:
            packet_dwords_ = dwords;
            if (!retire()) return state_ = State::kStopped;
            break;
        }
    }
}

bool SdmaQueue::fetch(std::uint32_t dwords) {
    if (write_ - read_ < 4ull * dwords) {
        bad_packet("packet " + format_hex(packet_[0]) + " ends behind the write pointer");
        return false;
    }
    for (std::uint32_t i = 0; i < dwords; ++i) {
        const std::uint64_t va = info_.ring_va + (read_ + 4ull * i) % info_.ring_bytes;
        if (!memory_->read(va, packet_[i])) {
            fault(va, Access::kRead, "ring");
            return false;
        }
    }
    return true;
}

std::uint64_t SdmaQueue::address(unsigned dword) const {
    return packet_[dword] | std::uint64_t{packet_[dword + 1]} << 32;
}

bool SdmaQueue::retire() {
    read_ += 4ull * packet_dwords_;
    std::byte* host = memory_->at(info_.read_index_va, 8, Access::kWrite);
    if (host == nullptr) {
        fault(info_.read_index_va, Access::kWrite, "read pointer");
        return false;
    }
    store_release(host, read_);
    return true;
}

SdmaQueue::Outcome SdmaQueue::fault(std::uint64_t va, Access access, const char* packet) {
    host_->memory_fault(va, access,
                        std::string("SDMA ") + packet + " at ring offset " + format_hex(read_));
    return Outcome::kStop;
}

SdmaQueue::Outcome SdmaQueue::bad_packet(const std::string& what) {
    host_->queue_error(info_.driver_id, "SDMA: " + what + " at ring offset " + format_hex(read_));
    return Outcome::kStop;
}

SdmaQueue::Outcome SdmaQueue::execute(std::uint32_t& dwords) {
    if (!fetch(1)) return Outcome::kStop;
    const std::uint32_t op = bits(packet_[0], 0, 8), sub = bits(packet_[0], 8, 8);
    const auto with = [&](std::uint32_t count, Outcome (SdmaQueue::*run)()) {
        dwords = count;
        return fetch(count) ? (this->*run)() : Outcome::kStop;
    };
    switch (op) {
    case kNop:
        dwords = 1 + bits(packet_[0], 16, 14);
        if (write_ - read_ < 4ull * dwords) return bad_packet("NOP runs over the write pointer");
        return Outcome::kDone;
    case kCopy:
        if (sub == kLinear) return with(7, &SdmaQueue::copy_linear);
        if (sub == kLinearRect) return with(13, &SdmaQueue::copy_rect);
        break;
    case kWrite:
        if (sub == 0) {
            dwords = 4;
            return fetch(4) ? write_linear(dwords) : Outcome::kStop;
        }
        break;
    case kFence:
        return with(4, &SdmaQueue::fence);
    case kTrap:
        dwords = 2;
        if (!fetch(2)) return Outcome::kStop;
        host_->interrupt(bits(packet_[1], 0, 28));
        return Outcome::kDone;
    case kPollRegmem:
        return with(6, &SdmaQueue::poll);
    case kAtomic:
        return with(8, &SdmaQueue::atomic);
    case kConstFill:
        return with(5, &SdmaQueue::const_fill);
    case kTimestamp:
        if (sub <= 2) return with(3, &SdmaQueue::timestamp);
        break;
    case kGcr:
        if (sub != 1) break;
        dwords = 5; // caches are always coherent here
        return fetch(5) ? Outcome::kDone : Outcome::kStop;
    default:
        break;
    }
    return bad_packet("unknown packet " + format_hex(packet_[0]));
}

SdmaQueue::Outcome SdmaQueue::copy_linear() {
    transfer_ = Transfer{.active = true,
                         .source = address(3),
                         .destination = address(5),
                         .row_bytes = (packet_[1] & kCountMask) + 1ull};
    return Outcome::kTransfer;
}

// Offsets, pitches and extents count elements of 1 << log2 bytes; pitches and extents are minus 1.
SdmaQueue::Outcome SdmaQueue::copy_rect() {
    const unsigned log2 = bits(packet_[0], 29, 3);
    if (log2 > 4) return bad_packet("COPY_LINEAR_RECT with element size " + std::to_string(log2));
    const auto scaled = [log2](std::uint64_t elements) { return elements << log2; };
    Transfer t{.active = true};
    t.source_pitch = scaled(bits(packet_[4], 13, 19) + 1ull);
    t.source_slice = scaled(bits(packet_[5], 0, 28) + 1ull);
    t.destination_pitch = scaled(bits(packet_[9], 13, 19) + 1ull);
    t.destination_slice = scaled(bits(packet_[10], 0, 28) + 1ull);
    t.source = address(1) + scaled(bits(packet_[3], 0, 14)) +
               bits(packet_[3], 16, 14) * t.source_pitch + bits(packet_[4], 0, 11) * t.source_slice;
    t.destination = address(6) + scaled(bits(packet_[8], 0, 14)) +
                    bits(packet_[8], 16, 14) * t.destination_pitch +
                    bits(packet_[9], 0, 11) * t.destination_slice;
    t.row_bytes = scaled(bits(packet_[11], 0, 14) + 1ull);
    t.rows = bits(packet_[11], 16, 14) + 1ull;
    t.slices = bits(packet_[12], 0, 11) + 1ull;
    transfer_ = t;
    return Outcome::kTransfer;
}

SdmaQueue::Outcome SdmaQueue::const_fill() {
    const std::uint32_t size = bits(packet_[0], 30, 2);
    if (size != 0 && size != 2)
        return bad_packet("CONST_FILL with fill size " + std::to_string(size));
    Transfer t{.active = true, .fill = true, .destination = address(1)};
    // Both conventions of writers, bytes - 1 and bytes - 4, give whole words here.
    const std::uint64_t count = packet_[4] & kCountMask;
    t.row_bytes = size == 0 ? count + 1 : (count & ~3ull) + 4;
    for (unsigned i = 0; i < 4; ++i)
        t.pattern[i] = std::byte(packet_[3] >> (size == 0 ? 0 : 8 * i));
    transfer_ = t;
    return Outcome::kTransfer;
}

SdmaQueue::Outcome SdmaQueue::write_linear(std::uint32_t& dwords) {
    const std::uint32_t count = bits(packet_[3], 0, 20) + 1;
    dwords = 4 + count;
    if (write_ - read_ < 4ull * dwords) return bad_packet("WRITE runs over the write pointer");
    const std::uint64_t destination = address(1);
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint64_t from = info_.ring_va + (read_ + 16 + 4ull * i) % info_.ring_bytes;
        std::uint32_t word = 0;
        if (!memory_->read(from, word)) return fault(from, Access::kRead, "ring");
        if (!memory_->write(destination + 4ull * i, word))
            return fault(destination + 4ull * i, Access::kWrite, "WRITE");
    }
    return Outcome::kDone;
}

SdmaQueue::Outcome SdmaQueue::fence() {
    const std::uint64_t va = address(1);
    std::byte* host = memory_->at(va, 4, Access::kWrite);
    if (host == nullptr) return fault(va, Access::kWrite, "FENCE");
    if (va % 4 != 0) return bad_packet("FENCE to misaligned address " + format_hex(va));
    store_release(host, packet_[3]);
    return Outcome::kDone;
}

SdmaQueue::Outcome SdmaQueue::poll() {
    const bool polls_memory = bits(packet_[0], 31, 1) != 0;
    if (!polls_memory) { // an HDP flush is a register poll; host memory needs none
        if (bits(packet_[0], 26, 1) != 0 || packet_[2] == kHdpFlushMarker) return Outcome::kDone;
        return bad_packet("POLL_REGMEM of register " + format_hex(packet_[1]));
    }
    const std::uint64_t va = address(1);
    if (va % 4 != 0) return bad_packet("POLL_REGMEM of misaligned address " + format_hex(va));
    std::byte* host = memory_->at(va, 4, Access::kRead);
    if (host == nullptr) return fault(va, Access::kRead, "POLL_REGMEM");
    const std::uint32_t value =
        std::atomic_ref<std::uint32_t>(*reinterpret_cast<std::uint32_t*>(host))
            .load(std::memory_order_acquire);
    return poll_holds(bits(packet_[0], 28, 3), value & packet_[4], packet_[3]) ? Outcome::kDone
                                                                               : Outcome::kWait;
}

SdmaQueue::Outcome SdmaQueue::atomic() {
    const std::uint32_t op = bits(packet_[0], 25, 7);
    const bool wide = op >= 32;
    const std::uint32_t base = wide ? op - 32 : op;
    if (!known_atomic(base) || bits(packet_[0], 16, 1) != 0)
        return bad_packet("ATOMIC operation " + std::to_string(op) + " is not implemented");
    const std::uint64_t va = address(1);
    const std::uint64_t size = wide ? 8 : 4;
    std::byte* host = memory_->at(va, size, Access::kWrite);
    if (host == nullptr) return fault(va, Access::kWrite, "ATOMIC");
    if (va % size != 0) return bad_packet("ATOMIC on misaligned address " + format_hex(va));
    if (wide)
        apply<std::uint64_t>(host, AtomicOp(base), address(3), address(5));
    else
        apply<std::uint32_t>(host, AtomicOp(base), packet_[3], packet_[5]);
    return Outcome::kDone;
}

SdmaQueue::Outcome SdmaQueue::timestamp() {
    if (bits(packet_[0], 8, 8) == 0) return Outcome::kDone; // "set" has no counter to set here
    const std::uint64_t va = address(1);
    std::byte* host = memory_->at(va, 8, Access::kWrite);
    if (host == nullptr) return fault(va, Access::kWrite, "TIMESTAMP");
    if (va % 8 != 0) return bad_packet("TIMESTAMP to misaligned address " + format_hex(va));
    store_release(host, host_->host_counter());
    return Outcome::kDone;
}

bool SdmaQueue::move(std::uint64_t source, std::uint64_t destination, std::uint64_t bytes) {
    const char* const packet = transfer_.fill ? "CONST_FILL" : "COPY_LINEAR";
    std::byte* to = memory_->at(destination, bytes, Access::kWrite);
    if (to == nullptr) {
        fault(destination, Access::kWrite, packet);
        return false;
    }
    if (transfer_.fill) {
        for (std::uint64_t i = 0; i < bytes; ++i)
            to[i] = transfer_.pattern[(transfer_.byte + i) % 4];
        return true;
    }
    const std::byte* from = memory_->at(source, bytes, Access::kRead);
    if (from == nullptr) {
        fault(source, Access::kRead, packet);
        return false;
    }
    std::memmove(to, from, bytes);
    return true;
}

// Pieces end at page ends of either side: a page lies in one window.
bool SdmaQueue::transfer(std::uint64_t& budget) {
    Transfer& t = transfer_;
    while (budget > 0) {
        const std::uint64_t source =
            t.source + t.slice * t.source_slice + t.row * t.source_pitch + t.byte;
        const std::uint64_t destination =
            t.destination + t.slice * t.destination_slice + t.row * t.destination_pitch + t.byte;
        std::uint64_t piece = std::min({t.row_bytes - t.byte, to_page_end(destination), budget});
        if (!t.fill) piece = std::min(piece, to_page_end(source));
        if (!move(source, destination, piece)) return false;
        budget -= piece;
        t.byte += piece;
        if (t.byte < t.row_bytes) continue;
        t.byte = 0;
        if (++t.row < t.rows) continue;
        t.row = 0;
        if (++t.slice < t.slices) continue;
        t.active = false;
        return true;
    }
    return true;
}

} // namespace wavetap::softgpu
