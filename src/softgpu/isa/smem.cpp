// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/atomic.hpp"
#include "softgpu/isa/scalar_util.hpp"

#include <cstring>

// Scalar memory. All addresses are dword aligned: the low two bits of base and offset are ignored.

namespace wavetap::softgpu::isa {
namespace {

StepInfo fault(std::uint64_t va, Access access) {
    StepInfo info;
    info.outcome = Outcome::kMemoryFault;
    info.fault_va = va;
    info.fault_access = access;
    return info;
}

/// "name sdata, sbase, offset [offset:N] [glc]"; the offset is a number or a register.
Result<void> bind_memory(const Semantics& row, ParsedText& text, std::uint64_t, Op& op, OpCode& c) {
    if (text.operands.size() != 3) return unsupported_text(text, "unexpected operands");
    const unsigned base_dwords = row.extra == 1 ? 4 : 2;
    const bool fits = text.operands[0].kind == Operand::Kind::kScalar &&
                      text.operands[0].dwords * 4 >= row.memory.bytes &&
                      text.operands[1].kind == Operand::Kind::kScalar &&
                      text.operands[1].dwords == base_dwords;
    if (!fits) return unsupported_text(text, "registers do not fit");
    c.op[0] = text.operands[0];
    c.op[1] = text.operands[1];
    WAVETAP_CHECK_OK(bind_scalar_operand(text, c, 2, 1, false));
    if (c.op[2].kind != Operand::Kind::kScalar)
        c.constant[2] = static_cast<std::uint64_t>(c.op[2].integer);
    c.imm = text.take_number("offset", 0);
    c.returns = text.take_flag("glc");
    text.take("nv");
    op.is_store = row.memory.kind == MemoryKind::kStore;
    return {};
}

std::uint64_t offset_of(const OpCode& c, const Wave& w) {
    std::uint64_t offset = c.constant[2];
    if (c.op[2].kind == Operand::Kind::kScalar) offset = read_scalar(w, c.op[2].index);
    return offset + static_cast<std::uint64_t>(c.imm);
}

struct Range {
    std::uint64_t va;
    std::uint64_t bytes; ///< accessible from va on
};

/// Buffer descriptors: base in bits 47:0, stride 61:48, number of records 95:64.
Range range_of(const OpCode& c, const Wave& w) {
    const std::uint64_t base = read_scalar_pair(w, c.op[1].index);
    const std::uint64_t offset = offset_of(c, w);
    if (c.row->extra == 0) return {((base & ~3ULL) + offset) & ~3ULL, ~std::uint64_t{0}};
    const std::uint64_t records = read_scalar(w, c.op[1].index + 2U);
    const std::uint64_t stride = base >> 48 & 0x3fff;
    const std::uint64_t size = stride == 0 ? records : records * stride;
    const std::uint64_t from = offset & ~3ULL;
    return {(base & 0xfffffffffffcULL) + from, from < size ? size - from : 0};
}

StepInfo run_load(const Op& op, Wave& w, Memory& memory) {
    const OpCode& c = *op.code;
    const Range range = range_of(c, w);
    std::uint32_t data[16] = {};
    const std::uint64_t bytes = std::min<std::uint64_t>(c.row->memory.bytes, range.bytes & ~3ULL);
    if (bytes != 0) {
        if (const std::byte* p = memory.at(range.va, bytes, Access::kRead)) {
            std::memcpy(data, p, bytes);
        } else {
            for (std::uint64_t i = 0; i < bytes; i += 4)
                if (!memory.read(range.va + i, data[i / 4]))
                    return fault(range.va + i, Access::kRead);
        }
    }
    for (unsigned i = 0; i < c.row->memory.bytes / 4U; ++i)
        write_scalar(w, c.op[0].index + i, data[i]);
    return next(op, w);
}

StepInfo run_store(const Op& op, Wave& w, Memory& memory) {
    const OpCode& c = *op.code;
    const Range range = range_of(c, w);
    for (unsigned i = 0; i < c.row->memory.bytes; i += 4U) {
        if (i + 4U > range.bytes) break;
        if (!memory.write(range.va + i, read_scalar(w, c.op[0].index + i / 4U)))
            return fault(range.va + i, Access::kWrite);
    }
    return next(op, w);
}

template <class T> StepInfo run_atomic(const Op& op, Wave& w, Memory& memory) {
    const OpCode& c = *op.code;
    const Range range = range_of(c, w);
    if (range.bytes < sizeof(T)) return next(op, w);
    const auto read = [&](unsigned index) {
        if constexpr (sizeof(T) == 8)
            return read_scalar_pair(w, index);
        else
            return read_scalar(w, index);
    };
    const T data = read(c.op[0].index);
    const T compare =
        c.row->memory.atomic == AtomicOp::kCmpSwap ? read(c.op[0].index + sizeof(T) / 4) : T{0};
    std::byte* p = memory.at(range.va, sizeof(T), Access::kWrite);
    if (p == nullptr || range.va % sizeof(T) != 0) return fault(range.va, Access::kWrite);
    T old = 0;
    auto* cell = reinterpret_cast<T*>(p);
    __atomic_load(cell, &old, __ATOMIC_RELAXED);
    T fresh = atomic_result(c.row->memory.atomic, old, data, compare);
    while (!__atomic_compare_exchange(cell, &old, &fresh, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        fresh = atomic_result(c.row->memory.atomic, old, data, compare);
    if (c.returns) {
        write_scalar(w, c.op[0].index, static_cast<std::uint32_t>(old));
        if constexpr (sizeof(T) == 8)
            write_scalar(w, c.op[0].index + 1U, static_cast<std::uint32_t>(old >> 32));
    }
    return next(op, w);
}

template <bool Real> StepInfo run_time(const Op& op, Wave& w, Memory&) {
    write_operand(*op.code, 0, w, Real ? w.realtime : w.clock);
    return next(op, w);
}
StepInfo run_nothing(const Op& op, Wave& w, Memory&) {
    return next(op, w);
}
Result<void> bind_nothing(const Semantics&, ParsedText& text, std::uint64_t, Op&, OpCode&) {
    while (!text.left_over().empty())
        text.take(text.left_over());
    return {};
}

constexpr Semantics smem(std::string_view name, BindFn bind, RunFn run) {
    Semantics row = scalar_row(name, bind, run);
    row.unit = Unit::kSmem;
    row.sqtt_type = kInstSmemRead;
    row.counters = kLgkmCnt;
    return row;
}
constexpr Semantics load(std::string_view name, unsigned dwords, bool buffer) {
    Semantics row = smem(name, &bind_memory, &run_load);
    row.memory.bytes = static_cast<std::uint8_t>(dwords * 4);
    row.extra = buffer ? 1 : 0;
    return row;
}
constexpr Semantics store(std::string_view name, unsigned dwords, bool buffer) {
    Semantics row = load(name, dwords, buffer);
    row.run = &run_store;
    row.memory.kind = MemoryKind::kStore;
    row.sqtt_type = kInstSmemWrite;
    return row;
}
constexpr Semantics atomic(std::string_view name, AtomicOp op, unsigned bytes) {
    Semantics row = smem(name, &bind_memory,
                         bytes == 8 ? &run_atomic<std::uint64_t> : &run_atomic<std::uint32_t>);
    row.memory.kind = MemoryKind::kAtomic;
    row.memory.atomic = op;
    row.memory.bytes = static_cast<std::uint8_t>(op == AtomicOp::kCmpSwap ? 2 * bytes : bytes);
    row.sqtt_type = kInstSmemWrite;
    row.extra = name.find("buffer") != std::string_view::npos ? 1 : 0;
    return row;
}
/// Accepted without effect: the model's scalar cache is always coherent.
constexpr Semantics cache(std::string_view name) {
    Semantics row = smem(name, &bind_nothing, &run_nothing);
    return row;
}
/// s_dcache_inv counts as an immediate in traces (format notes, section 8.5).
constexpr Semantics cache_immediate(std::string_view name) {
    Semantics row = cache(name);
    row.unit = Unit::kImmediate;
    row.sqtt_type = kNoInstToken;
    row.counters = kNoCounter;
    return row;
}

constexpr Semantics kRows[] = {
    load("s_load_dword", 1, false),
    load("s_load_dwordx2", 2, false),
    load("s_load_dwordx4", 4, false),
    load("s_load_dwordx8", 8, false),
    load("s_load_dwordx16", 16, false),
    load("s_buffer_load_dword", 1, true),
    load("s_buffer_load_dwordx2", 2, true),
    load("s_buffer_load_dwordx4", 4, true),
    load("s_buffer_load_dwordx8", 8, true),
    load("s_buffer_load_dwordx16", 16, true),
    store("s_store_dword", 1, false),
    store("s_store_dwordx2", 2, false),
    store("s_store_dwordx4", 4, false),
    store("s_buffer_store_dword", 1, true),
    store("s_buffer_store_dwordx2", 2, true),
    store("s_buffer_store_dwordx4", 4, true),
    smem("s_memtime", &bind_scalar<2>, &run_time<false>),
    smem("s_memrealtime", &bind_scalar<2>, &run_time<true>),
    cache_immediate("s_dcache_inv"),
    cache("s_dcache_inv_vol"),
    cache("s_dcache_wb"),
    cache("s_dcache_wb_vol"),
    cache("s_dcache_discard"),
    cache("s_dcache_discard_x2"),
#define WAVETAP_SMEM_ATOMIC(word, op)                                                              \
    atomic("s_atomic_" word, AtomicOp::op, 4), atomic("s_atomic_" word "_x2", AtomicOp::op, 8),    \
        atomic("s_buffer_atomic_" word, AtomicOp::op, 4),                                          \
        atomic("s_buffer_atomic_" word "_x2", AtomicOp::op, 8)
    WAVETAP_SMEM_ATOMIC("swap", kSwap),
    WAVETAP_SMEM_ATOMIC("cmpswap", kCmpSwap),
    WAVETAP_SMEM_ATOMIC("add", kAdd),
    WAVETAP_SMEM_ATOMIC("sub", kSub),
    WAVETAP_SMEM_ATOMIC("smin", kSmin),
    WAVETAP_SMEM_ATOMIC("umin", kUmin),
    WAVETAP_SMEM_ATOMIC("smax", kSmax),
    WAVETAP_SMEM_ATOMIC("umax", kUmax),
    WAVETAP_SMEM_ATOMIC("and", kAnd),
    WAVETAP_SMEM_ATOMIC("or", kOr),
    WAVETAP_SMEM_ATOMIC("xor", kXor),
    WAVETAP_SMEM_ATOMIC("inc", kInc),
    WAVETAP_SMEM_ATOMIC("dec", kDec),
#undef WAVETAP_SMEM_ATOMIC
};

} // namespace

std::span<const Semantics> smem_rows() {
    return kRows;
}

} // namespace wavetap::softgpu::isa
