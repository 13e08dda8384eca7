// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/atomic.hpp"
#include "softgpu/isa/scalar_util.hpp"

#include <bit>
#include <cstring>

// LDS. Reads beyond the work-group's allocation give zero, writes there are dropped.

namespace wavetap::softgpu::isa {
namespace {

LaneWords* registers(Wave& w, const Operand& operand) {
    return (operand.kind == Operand::Kind::kAgpr ? w.agpr : w.vgpr).data() + operand.index;
}

template <class F> void for_active_lanes(std::uint64_t exec, F&& f) {
    for (; exec != 0; exec &= exec - 1)
        f(static_cast<unsigned>(std::countr_zero(exec)));
}

void lds_read(const Wave& w, std::uint64_t at, void* out, unsigned bytes) {
    if (at + bytes <= w.lds.size())
        std::memcpy(out, w.lds.data() + at, bytes);
    else
        std::memset(out, 0, bytes);
}
void lds_write(Wave& w, std::uint64_t at, const void* in, unsigned bytes) {
    if (at + bytes <= w.lds.size()) std::memcpy(w.lds.data() + at, in, bytes);
}

/// Byte address of `lane`: 32-bit address register plus 16-bit offset. dst = result,
/// op[0] = address, op[1] and op[2] = data.
std::uint64_t address_of(const OpCode& c, const Wave& w, unsigned lane) {
    return std::uint64_t{w.vgpr[c.op[0].index][lane]} + static_cast<std::uint64_t>(c.imm);
}

/// Largest address of the active lanes plus `bytes`.
std::uint64_t end_of_access(const OpCode& c, const Wave& w, std::uint64_t bytes) {
    std::uint32_t most = 0;
    const LaneWords& address = w.vgpr[c.op[0].index];
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        const std::uint32_t at = (w.exec >> lane & 1) != 0 ? address[lane] : 0;
        most = at > most ? at : most;
    }
    return most + bytes;
}

/// Dwords of every active lane, all inside LDS.
template <unsigned Dwords>
void read_dwords(const OpCode& c, const Wave& w, std::uint64_t offset, LaneWords* out) {
    const LaneWords address = w.vgpr[c.op[0].index];
    const std::byte* base = w.lds.data() + offset;
    for_active_lanes(w.exec, [&](unsigned lane) {
        std::uint32_t value[Dwords];
        std::memcpy(value, base + address[lane], sizeof value);
        for (unsigned i = 0; i < Dwords; ++i)
            out[i][lane] = value[i];
    });
}
bool read_fast(const OpCode& c, const Wave& w, std::uint64_t offset, LaneWords* out,
               unsigned bytes) {
    if (bytes < 4 || end_of_access(c, w, offset + bytes) > w.lds.size()) return false;
    if (bytes == 4) read_dwords<1>(c, w, offset, out);
    if (bytes == 8) read_dwords<2>(c, w, offset, out);
    if (bytes == 12) read_dwords<3>(c, w, offset, out);
    if (bytes == 16) read_dwords<4>(c, w, offset, out);
    return true;
}

StepInfo run_read(const Op& op, Wave& w, Memory&) {
    const OpCode& c = *op.code;
    if (!registers_fit(c, w)) return illegal_register();
    const MemorySpec& spec = c.row->memory;
    LaneWords* out = registers(w, c.dst);
    if (read_fast(c, w, static_cast<std::uint64_t>(c.imm), out, spec.bytes)) return next(op, w);
    for_active_lanes(w.exec, [&](unsigned lane) {
        std::uint32_t value[4] = {};
        lds_read(w, address_of(c, w, lane), value, spec.bytes);
        if (spec.bytes < 4) {
            if (spec.sign_extend)
                value[0] = static_cast<std::uint32_t>(
                    spec.bytes == 1
                        ? static_cast<std::int32_t>(static_cast<std::int8_t>(value[0]))
                        : static_cast<std::int32_t>(static_cast<std::int16_t>(value[0])));
            if (spec.d16)
                value[0] = spec.high ? (out[0][lane] & 0xffff) | value[0] << 16
                                     : (out[0][lane] & 0xffff0000) | (value[0] & 0xffff);
            out[0][lane] = value[0];
            return;
        }
        for (unsigned i = 0; i < spec.bytes / 4U; ++i)
            out[i][lane] = value[i];
    });
    return next(op, w);
}

StepInfo run_write(const Op& op, Wave& w, Memory&) {
    const OpCode& c = *op.code;
    if (!registers_fit(c, w)) return illegal_register();
    const MemorySpec& spec = c.row->memory;
    const LaneWords* in = registers(w, c.op[1]);
    for_active_lanes(w.exec, [&](unsigned lane) {
        std::uint32_t value[4] = {};
        for (unsigned i = 0; i < std::max(1U, spec.bytes / 4U); ++i)
            value[i] = in[i][lane];
        if (spec.high) value[0] >>= 16;
        lds_write(w, address_of(c, w, lane), value, spec.bytes);
    });
    return next(op, w);
}

/// imm, imm2 = byte offsets of the two elements.
StepInfo run_read2(const Op& op, Wave& w, Memory&) {
    const OpCode& c = *op.code;
    if (!registers_fit(c, w)) return illegal_register();
    const unsigned bytes = c.row->memory.bytes;
    LaneWords* out = registers(w, c.dst);
    const LaneWords address = w.vgpr[c.op[0].index];
    for_active_lanes(w.exec, [&](unsigned lane) {
        const std::uint64_t base = address[lane];
        std::uint32_t value[4] = {};
        lds_read(w, base + static_cast<std::uint64_t>(c.imm), value, bytes);
        lds_read(w, base + static_cast<std::uint64_t>(c.imm2), value + bytes / 4, bytes);
        for (unsigned i = 0; i < bytes / 2; ++i)
            out[i][lane] = value[i];
    });
    return next(op, w);
}

StepInfo run_write2(const Op& op, Wave& w, Memory&) {
    const OpCode& c = *op.code;
    if (!registers_fit(c, w)) return illegal_register();
    const unsigned bytes = c.row->memory.bytes;
    const LaneWords* first = registers(w, c.op[1]);
    const LaneWords* second = registers(w, c.op[2]);
    LaneWords* out = c.row->memory.returns ? registers(w, c.dst) : nullptr;
    for_active_lanes(w.exec, [&](unsigned lane) {
        const std::uint64_t base = w.vgpr[c.op[0].index][lane];
        const std::uint64_t at[2] = {base + static_cast<std::uint64_t>(c.imm),
                                     base + static_cast<std::uint64_t>(c.imm2)};
        std::uint32_t old[4] = {};
        std::uint32_t value[4] = {};
        for (unsigned i = 0; i < bytes / 4; ++i) {
            value[i] = first[i][lane];
            value[bytes / 4 + i] = second[i][lane];
        }
        for (unsigned k = 0; k < 2; ++k) {
            if (out != nullptr) lds_read(w, at[k], old + k * bytes / 4, bytes);
            lds_write(w, at[k], value + k * bytes / 4, bytes);
        }
        if (out != nullptr)
            for (unsigned i = 0; i < bytes / 2; ++i)
                out[i][lane] = old[i];
    });
    return next(op, w);
}

template <class T> StepInfo run_atomic(const Op& op, Wave& w, Memory&) {
    const OpCode& c = *op.code;
    if (!registers_fit(c, w)) return illegal_register();
    const MemorySpec& spec = c.row->memory;
    const LaneWords* first = registers(w, c.op[1]);
    const LaneWords* second =
        c.op[2].kind == Operand::Kind::kNone ? nullptr : registers(w, c.op[2]);
    LaneWords* out = spec.returns ? registers(w, c.dst) : nullptr;
    const auto value_of = [](const LaneWords* data, unsigned lane) {
        if constexpr (sizeof(T) == 8)
            return static_cast<T>(data[1][lane]) << 32 | data[0][lane];
        else
            return data[0][lane];
    };
    const bool swaps = spec.atomic == AtomicOp::kCmpSwap || spec.atomic == AtomicOp::kCmpSwapF32 ||
                       spec.atomic == AtomicOp::kCmpSwapF64;
    for_active_lanes(w.exec, [&](unsigned lane) {
        T data = value_of(first, lane);
        T other = second != nullptr ? value_of(second, lane) : T{0};
        if (swaps) std::swap(data, other); // DS order: compare, then data
        T old = 0;
        lds_read(w, address_of(c, w, lane), &old, sizeof(T));
        const T fresh = atomic_result(spec.atomic, old, data, other);
        lds_write(w, address_of(c, w, lane), &fresh, sizeof(T));
        if (out == nullptr) return;
        out[0][lane] = static_cast<std::uint32_t>(old);
        if constexpr (sizeof(T) == 8) out[1][lane] = static_cast<std::uint32_t>(old >> 32);
    });
    return next(op, w);
}

StepInfo run_bpermute(const Op& op, Wave& w, Memory&) {
    const OpCode& c = *op.code;
    if (!registers_fit(c, w)) return illegal_register();
    const LaneWords address = w.vgpr[c.op[0].index];
    const LaneWords data = *registers(w, c.op[1]);
    LaneWords& out = *registers(w, c.dst);
    for_active_lanes(w.exec, [&](unsigned lane) {
        const unsigned from = (address[lane] + static_cast<std::uint32_t>(c.imm)) / 4 % kLanes;
        out[lane] = (w.exec >> from & 1) != 0 ? data[from] : 0;
    });
    return next(op, w);
}

StepInfo run_permute(const Op& op, Wave& w, Memory&) {
    const OpCode& c = *op.code;
    if (!registers_fit(c, w)) return illegal_register();
    const LaneWords& address = w.vgpr[c.op[0].index];
    const LaneWords& data = *registers(w, c.op[1]);
    LaneWords moved{};
    for_active_lanes(w.exec, [&](unsigned lane) {
        moved[(address[lane] + static_cast<std::uint32_t>(c.imm)) / 4 % kLanes] = data[lane];
    });
    LaneWords& out = *registers(w, c.dst);
    for_active_lanes(w.exec, [&](unsigned lane) { out[lane] = moved[lane]; });
    return next(op, w);
}

/// Offset bit 15: quad permutation in 7:0; else and 4:0, or 9:5, xor 14:10 in each 32 lanes.
StepInfo run_swizzle(const Op& op, Wave& w, Memory&) {
    const OpCode& c = *op.code;
    if (!registers_fit(c, w)) return illegal_register();
    const auto k = static_cast<unsigned>(c.imm);
    const LaneWords data = *registers(w, c.op[0]);
    LaneWords& out = *registers(w, c.dst);
    for_active_lanes(w.exec, [&](unsigned lane) {
        unsigned from;
        if ((k & 0x8000) != 0)
            from = (lane & ~3U) | (k >> (2 * (lane & 3)) & 3);
        else
            from = (lane & 32) | ((((lane & 31) & (k & 31)) | (k >> 5 & 31)) ^ (k >> 10 & 31));
        out[lane] = (w.exec >> from & 1) != 0 ? data[from] : 0;
    });
    return next(op, w);
}

/// M0 plus offset plus four bytes a lane.
template <bool Write> StepInfo run_addtid(const Op& op, Wave& w, Memory&) {
    const OpCode& c = *op.code;
    if (!registers_fit(c, w)) return illegal_register();
    LaneWords& data = *registers(w, c.dst);
    for_active_lanes(w.exec, [&](unsigned lane) {
        const std::uint64_t at = (w.m0 & 0xffff) + static_cast<std::uint64_t>(c.imm) + 4U * lane;
        if (Write)
            lds_write(w, at, &data[lane], 4);
        else
            lds_read(w, at, &data[lane], 4);
    });
    return next(op, w);
}

/// ds_append, ds_consume: one counter for the wave, moved by the number of active lanes.
template <bool Append> StepInfo run_counter(const Op& op, Wave& w, Memory&) {
    const OpCode& c = *op.code;
    if (!registers_fit(c, w)) return illegal_register();
    const std::uint64_t at = (w.m0 >> 16) + static_cast<std::uint64_t>(c.imm);
    std::uint32_t old = 0;
    lds_read(w, at, &old, 4);
    const auto lanes = static_cast<std::uint32_t>(std::popcount(w.exec));
    const std::uint32_t fresh = Append ? old + lanes : old - lanes;
    lds_write(w, at, &fresh, 4);
    LaneWords& out = *registers(w, c.dst);
    for_active_lanes(w.exec, [&](unsigned lane) { out[lane] = old; });
    return next(op, w);
}

StepInfo run_nothing(const Op& op, Wave& w, Memory&) {
    return next(op, w);
}

bool is_vector(const Operand& o) {
    return o.kind == Operand::Kind::kVgpr || o.kind == Operand::Kind::kAgpr;
}

/// How the text is laid out; kept in Semantics::extra as flags.
enum Layout : std::uint32_t { kHasResult = 1, kHasAddress = 2, kHasData = 4, kHasData2 = 8 };

/// Dwords of result and data; read2 gives two elements.
Result<void> bind_ds(const Semantics& row, ParsedText& text, std::uint64_t raw, Op& op, OpCode& c) {
    const MemorySpec& spec = row.memory;
    const unsigned element = std::max(1U, spec.bytes / 4U);
    std::size_t at = 0;
    const auto take = [&](bool wanted, Operand& to, unsigned dwords) {
        if (!wanted) return true;
        if (at >= text.operands.size()) return false;
        to = text.operands[at++];
        note_registers(c, to);
        return is_vector(to) && to.dwords == dwords;
    };
    const unsigned result = spec.pair != 0 ? 2 * element : element;
    bool good = take((row.extra & kHasResult) != 0, c.dst, result);
    good = good && take((row.extra & kHasAddress) != 0, c.op[0], 1);
    good = good && take((row.extra & kHasData) != 0, c.op[1], element);
    good = good && take((row.extra & kHasData2) != 0, c.op[2], element);
    if (!good || at != text.operands.size()) return unsupported_text(text, "operands do not fit");
    c.imm = static_cast<std::int64_t>(raw & 0xffff);
    text.take("offset");
    if (spec.pair != 0) {
        const std::int64_t unit = std::int64_t{spec.pair} * spec.bytes;
        c.imm = text.take_number("offset0", 0) * unit;
        c.imm2 = text.take_number("offset1", 0) * unit;
    }
    op.is_store = spec.kind == MemoryKind::kStore;
    return {};
}

constexpr Semantics ds(std::string_view name, RunFn run, std::uint32_t layout, MemorySpec spec) {
    Semantics row;
    row.name = name;
    row.bind = &bind_ds;
    row.run = run;
    row.memory = spec;
    row.unit = Unit::kLds;
    row.sqtt_type = kInstLds;
    row.counters = kLgkmCnt;
    row.extra = layout;
    const int dwords = std::max(1, spec.bytes / 4) * (spec.pair != 0 ? 2 : 1);
    row.issue_quads = static_cast<std::uint8_t>(dwords);
    return row;
}
constexpr Semantics read(std::string_view name, std::uint8_t bytes, bool sign = false,
                         bool d16 = false, bool high = false) {
    MemorySpec spec;
    spec.bytes = bytes;
    spec.sign_extend = sign;
    spec.d16 = d16;
    spec.high = high;
    return ds(name, &run_read, kHasResult | kHasAddress, spec);
}
constexpr Semantics write(std::string_view name, std::uint8_t bytes, bool high = false) {
    MemorySpec spec;
    spec.kind = MemoryKind::kStore;
    spec.bytes = bytes;
    spec.high = high;
    return ds(name, &run_write, kHasAddress | kHasData, spec);
}
constexpr Semantics read2(std::string_view name, std::uint8_t bytes, std::uint8_t unit) {
    MemorySpec spec;
    spec.bytes = bytes;
    spec.pair = unit;
    return ds(name, &run_read2, kHasResult | kHasAddress, spec);
}
constexpr Semantics write2(std::string_view name, std::uint8_t bytes, std::uint8_t unit,
                           bool returns = false) {
    MemorySpec spec;
    spec.kind = returns ? MemoryKind::kAtomic : MemoryKind::kStore;
    spec.bytes = bytes;
    spec.pair = unit;
    spec.returns = returns;
    return ds(name, &run_write2,
              kHasAddress | kHasData | kHasData2 | (returns ? std::uint32_t{kHasResult} : 0U),
              spec);
}
constexpr bool two_operands(AtomicOp op) {
    return op == AtomicOp::kCmpSwap || op == AtomicOp::kCmpSwapF32 || op == AtomicOp::kCmpSwapF64 ||
           op == AtomicOp::kMaskedOr || op == AtomicOp::kWrap;
}
constexpr Semantics atomic(std::string_view name, AtomicOp op, std::uint8_t bytes, bool returns) {
    MemorySpec spec;
    spec.kind = MemoryKind::kAtomic;
    spec.bytes = bytes;
    spec.atomic = op;
    spec.returns = returns;
    const std::uint32_t layout = kHasAddress | kHasData |
                                 (two_operands(op) ? std::uint32_t{kHasData2} : 0U) |
                                 (returns ? std::uint32_t{kHasResult} : 0U);
    return ds(name, bytes == 8 ? &run_atomic<std::uint64_t> : &run_atomic<std::uint32_t>, layout,
              spec);
}

#define WAVETAP_DS_ATOMIC(word, type, op, bytes)                                                   \
    atomic("ds_" word "_" type, AtomicOp::op, bytes, false),                                       \
        atomic("ds_" word "_rtn_" type, AtomicOp::op, bytes, true)

constexpr Semantics kRows[] = {
    read("ds_read_b32", 4),
    read("ds_read_b64", 8),
    read("ds_read_b96", 12),
    read("ds_read_b128", 16),
    read("ds_read_u8", 1),
    read("ds_read_i8", 1, true),
    read("ds_read_u16", 2),
    read("ds_read_i16", 2, true),
    read("ds_read_u8_d16", 1, false, true),
    read("ds_read_u8_d16_hi", 1, false, true, true),
    read("ds_read_i8_d16", 1, true, true),
    read("ds_read_i8_d16_hi", 1, true, true, true),
    read("ds_read_u16_d16", 2, false, true),
    read("ds_read_u16_d16_hi", 2, false, true, true),
    write("ds_write_b8", 1),
    write("ds_write_b16", 2),
    write("ds_write_b8_d16_hi", 1, true),
    write("ds_write_b16_d16_hi", 2, true),
    write("ds_write_b32", 4),
    write("ds_write_b64", 8),
    write("ds_write_b96", 12),
    write("ds_write_b128", 16),
    read2("ds_read2_b32", 4, 1),
    read2("ds_read2_b64", 8, 1),
    read2("ds_read2st64_b32", 4, 64),
    read2("ds_read2st64_b64", 8, 64),
    write2("ds_write2_b32", 4, 1),
    write2("ds_write2_b64", 8, 1),
    write2("ds_write2st64_b32", 4, 64),
    write2("ds_write2st64_b64", 8, 64),
    write2("ds_wrxchg2_rtn_b32", 4, 1, true),
    write2("ds_wrxchg2_rtn_b64", 8, 1, true),
    write2("ds_wrxchg2st64_rtn_b32", 4, 64, true),
    write2("ds_wrxchg2st64_rtn_b64", 8, 64, true),
    atomic("ds_wrxchg_rtn_b32", AtomicOp::kSwap, 4, true),
    atomic("ds_wrxchg_rtn_b64", AtomicOp::kSwap, 8, true),
    atomic("ds_wrap_rtn_b32", AtomicOp::kWrap, 4, true),
    WAVETAP_DS_ATOMIC("add", "u32", kAdd, 4),
    WAVETAP_DS_ATOMIC("add", "u64", kAdd, 8),
    WAVETAP_DS_ATOMIC("sub", "u32", kSub, 4),
    WAVETAP_DS_ATOMIC("sub", "u64", kSub, 8),
    WAVETAP_DS_ATOMIC("rsub", "u32", kReverseSub, 4),
    WAVETAP_DS_ATOMIC("rsub", "u64", kReverseSub, 8),
    WAVETAP_DS_ATOMIC("inc", "u32", kInc, 4),
    WAVETAP_DS_ATOMIC("inc", "u64", kInc, 8),
    WAVETAP_DS_ATOMIC("dec", "u32", kDec, 4),
    WAVETAP_DS_ATOMIC("dec", "u64", kDec, 8),
    WAVETAP_DS_ATOMIC("min", "i32", kSmin, 4),
    WAVETAP_DS_ATOMIC("min", "i64", kSmin, 8),
    WAVETAP_DS_ATOMIC("max", "i32", kSmax, 4),
    WAVETAP_DS_ATOMIC("max", "i64", kSmax, 8),
    WAVETAP_DS_ATOMIC("min", "u32", kUmin, 4),
    WAVETAP_DS_ATOMIC("min", "u64", kUmin, 8),
    WAVETAP_DS_ATOMIC("max", "u32", kUmax, 4),
    WAVETAP_DS_ATOMIC("max", "u64", kUmax, 8),
    WAVETAP_DS_ATOMIC("and", "b32", kAnd, 4),
    WAVETAP_DS_ATOMIC("and", "b64", kAnd, 8),
    WAVETAP_DS_ATOMIC("or", "b32", kOr, 4),
    WAVETAP_DS_ATOMIC("or", "b64", kOr, 8),
    WAVETAP_DS_ATOMIC("xor", "b32", kXor, 4),
    WAVETAP_DS_ATOMIC("xor", "b64", kXor, 8),
    WAVETAP_DS_ATOMIC("mskor", "b32", kMaskedOr, 4),
    WAVETAP_DS_ATOMIC("mskor", "b64", kMaskedOr, 8),
    WAVETAP_DS_ATOMIC("cmpst", "b32", kCmpSwap, 4),
    WAVETAP_DS_ATOMIC("cmpst", "b64", kCmpSwap, 8),
    WAVETAP_DS_ATOMIC("cmpst", "f32", kCmpSwapF32, 4),
    WAVETAP_DS_ATOMIC("cmpst", "f64", kCmpSwapF64, 8),
    WAVETAP_DS_ATOMIC("add", "f32", kAddF32, 4),
    WAVETAP_DS_ATOMIC("add", "f64", kAddF64, 8),
    WAVETAP_DS_ATOMIC("min", "f32", kMinF32, 4),
    WAVETAP_DS_ATOMIC("min", "f64", kMinF64, 8),
    WAVETAP_DS_ATOMIC("max", "f32", kMaxF32, 4),
    WAVETAP_DS_ATOMIC("max", "f64", kMaxF64, 8),
    ds("ds_bpermute_b32", &run_bpermute, kHasResult | kHasAddress | kHasData, MemorySpec{}),
    ds("ds_permute_b32", &run_permute, kHasResult | kHasAddress | kHasData, MemorySpec{}),
    ds("ds_swizzle_b32", &run_swizzle, kHasResult | kHasAddress, MemorySpec{}),
    ds("ds_read_addtid_b32", &run_addtid<false>, kHasResult, MemorySpec{}),
    ds("ds_write_addtid_b32", &run_addtid<true>, kHasResult, MemorySpec{}),
    ds("ds_append", &run_counter<true>, kHasResult, MemorySpec{}),
    ds("ds_consume", &run_counter<false>, kHasResult, MemorySpec{}),
    ds("ds_nop", &run_nothing, 0, MemorySpec{}),
};

#undef WAVETAP_DS_ATOMIC

} // namespace

std::span<const Semantics> ds_rows() {
    return kRows;
}

} // namespace wavetap::softgpu::isa
