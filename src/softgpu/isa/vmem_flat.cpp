// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/scalar_util.hpp"
#include "softgpu/isa/vmem.hpp"

// FLAT, GLOBAL and SCRATCH instructions.

namespace wavetap::softgpu::isa {
namespace {

constexpr std::uint64_t kApertureBytes = std::uint64_t{1} << 32;
constexpr std::uint32_t kScratchLanes = kLanes; ///< private dwords are interleaved over the wave

Place private_place(const Wave& w, unsigned lane, std::uint64_t offset) {
    Place p;
    if (w.scratch_bytes_per_lane != 0 && offset >= w.scratch_bytes_per_lane) {
        p.va = w.private_aperture + offset; // not backed: faults and names the flat address
        if (w.private_aperture == 0) p.kind = Place::Kind::kOutOfRange;
        return p;
    }
    p.swizzle_lanes = kScratchLanes;
    p.va = w.flat_scratch + std::uint64_t{lane} * 4;
    p.offset = offset;
    return p;
}

Place flat_place(const Wave& w, unsigned lane, std::uint64_t va) {
    Place p;
    if (w.shared_aperture != 0 && va - w.shared_aperture < kApertureBytes) {
        p.kind = Place::Kind::kLds;
        p.va = va - w.shared_aperture;
        return p;
    }
    if (w.private_aperture != 0 && va - w.private_aperture < kApertureBytes)
        return private_place(w, lane, va - w.private_aperture);
    p.va = va;
    return p;
}

/// op[1] = vector address, op[2] = scalar address.
[[gnu::always_inline]] inline void linear_addresses_body(const OpCode& c, const Wave& w,
                                                         Addresses& out) {
    const auto offset = static_cast<std::uint64_t>(c.imm);
    if (c.op[2].kind == Operand::Kind::kScalar) {
        const std::uint64_t base = read_scalar_pair(w, c.op[2].index) + offset;
        const LaneWords& v = w.vgpr[c.op[1].index];
        for (unsigned i = 0; i < kLanes; ++i)
            out.va[i] = base + v[i];
        return;
    }
    const LaneWords& lo = w.vgpr[c.op[1].index];
    const LaneWords& hi = w.vgpr[c.op[1].index + 1U];
    for (unsigned i = 0; i < kLanes; ++i)
        out.va[i] = (static_cast<std::uint64_t>(hi[i]) << 32 | lo[i]) + offset;
}

WAVETAP_WIDE void linear_addresses_wide(const OpCode& c, const Wave& w, Addresses& out) {
    linear_addresses_body(c, w, out);
}
void linear_addresses(const OpCode& c, const Wave& w, Addresses& out) {
    out.wide = c.wide;
    if (c.wide)
        linear_addresses_wide(c, w, out);
    else
        linear_addresses_body(c, w, out);
}

StepInfo run_global(const Op& op, Wave& w, Memory& memory) {
    if (!registers_fit(*op.code, w)) return illegal_register();
    Addresses a;
    linear_addresses(*op.code, w, a);
    return access_memory(op, w, memory, a);
}

StepInfo run_flat(const Op& op, Wave& w, Memory& memory) {
    if (!registers_fit(*op.code, w)) return illegal_register();
    Addresses a;
    linear_addresses(*op.code, w, a);
    for (unsigned i = 0; i < kLanes; ++i) {
        if ((w.exec >> i & 1) == 0) continue;
        const bool shared = w.shared_aperture != 0 && a.va[i] - w.shared_aperture < kApertureBytes;
        const bool priv = w.private_aperture != 0 && a.va[i] - w.private_aperture < kApertureBytes;
        if (shared || priv) a.linear = false;
    }
    if (!a.linear)
        for (unsigned i = 0; i < kLanes; ++i)
            a.places[i] = flat_place(w, i, a.va[i]);
    return access_memory(op, w, memory, a);
}

StepInfo run_scratch(const Op& op, Wave& w, Memory& memory) {
    const OpCode& c = *op.code;
    if (!registers_fit(c, w)) return illegal_register();
    Addresses a;
    a.linear = false;
    std::uint32_t base = static_cast<std::uint32_t>(c.imm);
    if (c.op[2].kind == Operand::Kind::kScalar) base += read_scalar(w, c.op[2].index);
    const bool vector = c.op[1].kind == Operand::Kind::kVgpr;
    for (unsigned i = 0; i < kLanes; ++i)
        a.places[i] = private_place(w, i, base + (vector ? w.vgpr[c.op[1].index][i] : 0U));
    return access_memory(op, w, memory, a);
}

bool is_vector(const Operand& o) {
    return o.kind == Operand::Kind::kVgpr || o.kind == Operand::Kind::kAgpr;
}

/// Operand order in the text: [result] address [data] [scalar address or off].
Result<void> bind_flat(const Semantics& row, ParsedText& text, std::uint64_t, Op& op, OpCode& c) {
    const MemorySpec& spec = row.memory;
    const bool atomic = spec.kind == MemoryKind::kAtomic;
    const bool has_scalar = spec.segment != kFlat;
    c.returns = text.take_flag("glc") && atomic;
    const bool has_result = spec.kind == MemoryKind::kLoad || c.returns;
    const bool has_data = spec.kind != MemoryKind::kLoad;
    std::size_t count = 1U + (has_result ? 1 : 0) + (has_data ? 1 : 0) + (has_scalar ? 1 : 0);
    if (text.operands.size() != count) return unsupported_text(text, "unexpected operands");
    std::size_t at = 0;
    if (has_result) c.dst = text.operands[at++];
    c.op[1] = text.operands[at++];
    if (has_data) (atomic ? c.op[0] : c.dst) = text.operands[at++];
    if (has_scalar) c.op[2] = text.operands[at++];
    c.imm = text.take_number("offset", 0);
    c.wide = cpu_is_wide();
    for (const std::string_view accepted : {"glc", "slc", "scc", "nv"})
        text.take(accepted);
    op.is_store = spec.kind == MemoryKind::kStore || (atomic && !c.returns);

    const unsigned value_dwords = std::max(1U, spec.bytes / 4U);
    const unsigned data_dwords =
        spec.atomic == AtomicOp::kCmpSwap && atomic ? 2 * value_dwords : value_dwords;
    const Operand& data = atomic ? c.op[0] : c.dst;
    const bool data_fits = is_vector(data) && data.dwords == data_dwords;
    const bool result_fits = !c.returns || (is_vector(c.dst) && c.dst.dwords == value_dwords);
    const bool saddr = c.op[2].kind == Operand::Kind::kScalar;
    unsigned address_dwords = spec.segment == kScratch || saddr ? 1 : 2;
    bool address_fits = c.op[1].kind == Operand::Kind::kVgpr && c.op[1].dwords == address_dwords;
    if (spec.segment == kScratch && c.op[1].word == "off") address_fits = true;
    const bool saddr_fits = !saddr || c.op[2].dwords == (spec.segment == kScratch ? 1 : 2);
    if (!data_fits || !result_fits || !address_fits || !saddr_fits)
        return unsupported_text(text, "registers do not fit");
    for (const Operand* o : {&c.dst, &c.op[0], &c.op[1]})
        note_registers(c, *o);
    return {};
}

constexpr Semantics row_of(std::string_view name, MemorySpec spec) {
    Semantics row;
    row.name = name;
    row.bind = &bind_flat;
    row.memory = spec;
    const bool reads = spec.kind == MemoryKind::kLoad;
    row.sqtt_type = reads ? kInstFlatRead : kInstFlatWrite;
    row.counters = kVmCnt;
    row.unit = Unit::kVmem;
    row.run = &run_global;
    if (spec.segment == kScratch) row.run = &run_scratch;
    if (spec.segment == kFlat) {
        row.run = &run_flat;
        row.unit = Unit::kFlat;
        row.counters = kVmCnt | kLgkmCnt;
    }
    row.issue_quads = static_cast<std::uint8_t>(std::max(1, spec.bytes / 4));
    return row;
}
constexpr Semantics load(std::string_view name, std::uint8_t segment, std::uint8_t bytes,
                         bool sign = false) {
    MemorySpec spec;
    spec.bytes = bytes;
    spec.sign_extend = sign;
    spec.segment = segment;
    return row_of(name, spec);
}
constexpr Semantics load_d16(std::string_view name, std::uint8_t segment, std::uint8_t bytes,
                             bool sign, bool high) {
    MemorySpec spec;
    spec.bytes = bytes;
    spec.sign_extend = sign;
    spec.segment = segment;
    spec.d16 = true;
    spec.high = high;
    return row_of(name, spec);
}
constexpr Semantics store(std::string_view name, std::uint8_t segment, std::uint8_t bytes,
                          bool high = false) {
    MemorySpec spec;
    spec.kind = MemoryKind::kStore;
    spec.bytes = bytes;
    spec.segment = segment;
    spec.high = high;
    return row_of(name, spec);
}
constexpr Semantics atomic(std::string_view name, std::uint8_t segment, AtomicOp op,
                           std::uint8_t bytes) {
    MemorySpec spec;
    spec.kind = MemoryKind::kAtomic;
    spec.atomic = op;
    spec.bytes = bytes;
    spec.segment = segment;
    return row_of(name, spec);
}

#define WAVETAP_FLAT_LOADS(prefix, segment)                                                        \
    load(prefix "_load_ubyte", segment, 1), load(prefix "_load_sbyte", segment, 1, true),          \
        load(prefix "_load_ushort", segment, 2), load(prefix "_load_sshort", segment, 2, true),    \
        load(prefix "_load_dword", segment, 4), load(prefix "_load_dwordx2", segment, 8),          \
        load(prefix "_load_dwordx3", segment, 12), load(prefix "_load_dwordx4", segment, 16),      \
        load_d16(prefix "_load_ubyte_d16", segment, 1, false, false),                              \
        load_d16(prefix "_load_ubyte_d16_hi", segment, 1, false, true),                            \
        load_d16(prefix "_load_sbyte_d16", segment, 1, true, false),                               \
        load_d16(prefix "_load_sbyte_d16_hi", segment, 1, true, true),                             \
        load_d16(prefix "_load_short_d16", segment, 2, false, false),                              \
        load_d16(prefix "_load_short_d16_hi", segment, 2, false, true),                            \
        store(prefix "_store_byte", segment, 1), store(prefix "_store_short", segment, 2),         \
        store(prefix "_store_byte_d16_hi", segment, 1, true),                                      \
        store(prefix "_store_short_d16_hi", segment, 2, true),                                     \
        store(prefix "_store_dword", segment, 4), store(prefix "_store_dwordx2", segment, 8),      \
        store(prefix "_store_dwordx3", segment, 12), store(prefix "_store_dwordx4", segment, 16)
#define WAVETAP_FLAT_ATOMIC(prefix, segment, word, op)                                             \
    atomic(prefix "_atomic_" word, segment, op, 4),                                                \
        atomic(prefix "_atomic_" word "_x2", segment, op, 8)
#define WAVETAP_FLAT_ATOMICS(prefix, segment)                                                      \
    WAVETAP_FLAT_ATOMIC(prefix, segment, "swap", AtomicOp::kSwap),                                 \
        WAVETAP_FLAT_ATOMIC(prefix, segment, "cmpswap", AtomicOp::kCmpSwap),                       \
        WAVETAP_FLAT_ATOMIC(prefix, segment, "add", AtomicOp::kAdd),                               \
        WAVETAP_FLAT_ATOMIC(prefix, segment, "sub", AtomicOp::kSub),                               \
        WAVETAP_FLAT_ATOMIC(prefix, segment, "smin", AtomicOp::kSmin),                             \
        WAVETAP_FLAT_ATOMIC(prefix, segment, "umin", AtomicOp::kUmin),                             \
        WAVETAP_FLAT_ATOMIC(prefix, segment, "smax", AtomicOp::kSmax),                             \
        WAVETAP_FLAT_ATOMIC(prefix, segment, "umax", AtomicOp::kUmax),                             \
        WAVETAP_FLAT_ATOMIC(prefix, segment, "and", AtomicOp::kAnd),                               \
        WAVETAP_FLAT_ATOMIC(prefix, segment, "or", AtomicOp::kOr),                                 \
        WAVETAP_FLAT_ATOMIC(prefix, segment, "xor", AtomicOp::kXor),                               \
        WAVETAP_FLAT_ATOMIC(prefix, segment, "inc", AtomicOp::kInc),                               \
        WAVETAP_FLAT_ATOMIC(prefix, segment, "dec", AtomicOp::kDec),                               \
        atomic(prefix "_atomic_add_f64", segment, AtomicOp::kAddF64, 8),                           \
        atomic(prefix "_atomic_min_f64", segment, AtomicOp::kMinF64, 8),                           \
        atomic(prefix "_atomic_max_f64", segment, AtomicOp::kMaxF64, 8)

constexpr Semantics kRows[] = {
    WAVETAP_FLAT_LOADS("flat", kFlat),
    WAVETAP_FLAT_LOADS("global", kGlobal),
    WAVETAP_FLAT_LOADS("scratch", kScratch),
    WAVETAP_FLAT_ATOMICS("flat", kFlat),
    WAVETAP_FLAT_ATOMICS("global", kGlobal),
    atomic("global_atomic_add_f32", kGlobal, AtomicOp::kAddF32, 4),
    atomic("global_atomic_pk_add_f16", kGlobal, AtomicOp::kPackedAddF16, 4),
};

#undef WAVETAP_FLAT_LOADS
#undef WAVETAP_FLAT_ATOMIC
#undef WAVETAP_FLAT_ATOMICS

} // namespace

std::span<const Semantics> flat_rows() {
    return kRows;
}

} // namespace wavetap::softgpu::isa
