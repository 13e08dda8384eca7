// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/scalar_util.hpp"
#include "softgpu/isa/vmem.hpp"

// MUBUF: memory through a buffer descriptor. gfx9 descriptor, four dwords: base 47:0, stride 61:48,
// swizzle enable 63; records 95:64; in dword 3: index stride 22:21 (8 << n lanes), add lane id 23.

namespace wavetap::softgpu::isa {
namespace {

struct Descriptor {
    std::uint64_t base;
    std::uint32_t stride, records, index_lanes;
    bool swizzle, add_lane;
};

Descriptor descriptor_of(const Wave& w, unsigned index) {
    const std::uint64_t low = read_scalar_pair(w, index);
    const std::uint32_t word3 = read_scalar(w, index + 3);
    Descriptor d;
    d.base = low & 0xffffffffffffULL;
    d.stride = static_cast<std::uint32_t>(low >> 48 & 0x3fff);
    d.swizzle = low >> 63 != 0;
    d.records = read_scalar(w, index + 2);
    d.index_lanes = 8U << (word3 >> 21 & 3);
    d.add_lane = (word3 >> 23 & 1) != 0;
    // With lane ids the data format field extends the stride.
    if (d.add_lane) d.stride |= (word3 >> 15 & 15) << 14;
    return d;
}

/// flag_a = offen, flag_b = idxen; op[1] vector address, op[2] descriptor, op[3] scalar offset.
Place buffer_place(const OpCode& c, const Wave& w, const Descriptor& d, unsigned lane,
                   std::uint64_t scalar_offset) {
    std::uint64_t index = d.add_lane ? lane : 0;
    std::uint64_t offset = static_cast<std::uint64_t>(c.imm);
    unsigned reg = c.op[1].index;
    if (c.flag_b) index += w.vgpr[reg++][lane];
    if (c.flag_a) offset += w.vgpr[reg][lane];
    Place p;
    const bool structured = d.stride != 0;
    const bool outside =
        structured ? index >= d.records || (d.swizzle && offset >= d.stride)
                   : !d.swizzle && offset + scalar_offset + c.row->memory.bytes > d.records;
    if (outside) {
        p.kind = Place::Kind::kOutOfRange;
        return p;
    }
    p.va = d.base + scalar_offset;
    if (!d.swizzle) {
        p.va += index * d.stride + offset;
        return p;
    }
    p.va += index / d.index_lanes * d.stride * d.index_lanes + index % d.index_lanes * 4;
    p.swizzle_lanes = d.index_lanes;
    p.offset = offset;
    return p;
}

StepInfo run_buffer(const Op& op, Wave& w, Memory& memory) {
    const OpCode& c = *op.code;
    if (!registers_fit(c, w)) return illegal_register();
    const Descriptor d = descriptor_of(w, c.op[2].index);
    const std::uint64_t scalar_offset = read_operand<std::uint32_t>(c, 3, w);
    Addresses a;
    a.linear = false;
    for (unsigned i = 0; i < kLanes; ++i)
        a.places[i] = buffer_place(c, w, d, i, scalar_offset);
    return access_memory(op, w, memory, a);
}

StepInfo run_nothing(const Op& op, Wave& w, Memory&) {
    return next(op, w);
}
Result<void> bind_nothing(const Semantics&, ParsedText& text, std::uint64_t, Op&, OpCode&) {
    while (!text.left_over().empty())
        text.take(text.left_over());
    return {};
}

bool is_vector(const Operand& o) {
    return o.kind == Operand::Kind::kVgpr || o.kind == Operand::Kind::kAgpr;
}

/// "name data, vaddr|off, srsrc, soffset [offen] [idxen] [offset:N] [glc] …"
Result<void> bind_buffer(const Semantics& row, ParsedText& text, std::uint64_t, Op& op, OpCode& c) {
    const MemorySpec& spec = row.memory;
    const bool atomic = spec.kind == MemoryKind::kAtomic;
    if (text.operands.size() != 4) return unsupported_text(text, "unexpected operands");
    c.dst = text.operands[0];
    c.op[1] = text.operands[1];
    c.op[2] = text.operands[2];
    c.flag_a = text.take_flag("offen");
    c.flag_b = text.take_flag("idxen");
    c.imm = text.take_number("offset", 0);
    c.returns = text.take_flag("glc") && atomic;
    for (const std::string_view accepted : {"slc", "scc"})
        text.take(accepted);
    op.is_store = spec.kind == MemoryKind::kStore || (atomic && !c.returns);
    WAVETAP_CHECK_OK(bind_scalar_operand(text, c, 3, 1, false));

    unsigned data_dwords = std::max(1U, spec.bytes / 4U);
    if (atomic && spec.atomic == AtomicOp::kCmpSwap) data_dwords *= 2;
    const unsigned address_dwords = (c.flag_a ? 1U : 0U) + (c.flag_b ? 1U : 0U);
    const bool address_fits = address_dwords == 0 || (c.op[1].kind == Operand::Kind::kVgpr &&
                                                      c.op[1].dwords >= address_dwords);
    if (!is_vector(c.dst) || c.dst.dwords != data_dwords || !address_fits ||
        c.op[2].kind != Operand::Kind::kScalar || c.op[2].dwords != 4)
        return unsupported_text(text, "registers do not fit");
    if (atomic) c.op[0] = c.dst;
    for (const Operand* o : {&c.dst, &c.op[1]})
        note_registers(c, *o);
    return {};
}

constexpr Semantics row_of(std::string_view name, MemorySpec spec) {
    Semantics row;
    row.name = name;
    row.bind = &bind_buffer;
    row.run = &run_buffer;
    spec.segment = kBuffer;
    row.memory = spec;
    row.unit = Unit::kVmem;
    row.counters = kVmCnt;
    row.sqtt_type = spec.kind == MemoryKind::kLoad ? kInstVmemRead : kInstVmemWrite;
    row.issue_quads = static_cast<std::uint8_t>(std::max(1, spec.bytes / 4));
    return row;
}
constexpr Semantics load(std::string_view name, std::uint8_t bytes, bool sign = false,
                         bool d16 = false, bool high = false) {
    MemorySpec spec;
    spec.bytes = bytes;
    spec.sign_extend = sign;
    spec.d16 = d16;
    spec.high = high;
    return row_of(name, spec);
}
constexpr Semantics store(std::string_view name, std::uint8_t bytes, bool high = false) {
    MemorySpec spec;
    spec.kind = MemoryKind::kStore;
    spec.bytes = bytes;
    spec.high = high;
    return row_of(name, spec);
}
constexpr Semantics atomic(std::string_view name, AtomicOp op, std::uint8_t bytes) {
    MemorySpec spec;
    spec.kind = MemoryKind::kAtomic;
    spec.atomic = op;
    spec.bytes = bytes;
    return row_of(name, spec);
}
/// Cache control: accepted without effect, the model's memory is always coherent.
constexpr Semantics cache(std::string_view name) {
    Semantics row = row_of(name, MemorySpec{});
    row.bind = &bind_nothing;
    row.run = &run_nothing;
    row.issue_quads = 1;
    return row;
}

#define WAVETAP_BUFFER_ATOMIC(word, op)                                                            \
    atomic("buffer_atomic_" word, AtomicOp::op, 4),                                                \
        atomic("buffer_atomic_" word "_x2", AtomicOp::op, 8)

constexpr Semantics kRows[] = {
    load("buffer_load_ubyte", 1),
    load("buffer_load_sbyte", 1, true),
    load("buffer_load_ushort", 2),
    load("buffer_load_sshort", 2, true),
    load("buffer_load_dword", 4),
    load("buffer_load_dwordx2", 8),
    load("buffer_load_dwordx3", 12),
    load("buffer_load_dwordx4", 16),
    load("buffer_load_ubyte_d16", 1, false, true, false),
    load("buffer_load_ubyte_d16_hi", 1, false, true, true),
    load("buffer_load_sbyte_d16", 1, true, true, false),
    load("buffer_load_sbyte_d16_hi", 1, true, true, true),
    load("buffer_load_short_d16", 2, false, true, false),
    load("buffer_load_short_d16_hi", 2, false, true, true),
    store("buffer_store_byte", 1),
    store("buffer_store_short", 2),
    store("buffer_store_byte_d16_hi", 1, true),
    store("buffer_store_short_d16_hi", 2, true),
    store("buffer_store_dword", 4),
    store("buffer_store_dwordx2", 8),
    store("buffer_store_dwordx3", 12),
    store("buffer_store_dwordx4", 16),
    WAVETAP_BUFFER_ATOMIC("swap", kSwap),
    WAVETAP_BUFFER_ATOMIC("cmpswap", kCmpSwap),
    WAVETAP_BUFFER_ATOMIC("add", kAdd),
    WAVETAP_BUFFER_ATOMIC("sub", kSub),
    WAVETAP_BUFFER_ATOMIC("smin", kSmin),
    WAVETAP_BUFFER_ATOMIC("umin", kUmin),
    WAVETAP_BUFFER_ATOMIC("smax", kSmax),
    WAVETAP_BUFFER_ATOMIC("umax", kUmax),
    WAVETAP_BUFFER_ATOMIC("and", kAnd),
    WAVETAP_BUFFER_ATOMIC("or", kOr),
    WAVETAP_BUFFER_ATOMIC("xor", kXor),
    WAVETAP_BUFFER_ATOMIC("inc", kInc),
    WAVETAP_BUFFER_ATOMIC("dec", kDec),
    atomic("buffer_atomic_add_f32", AtomicOp::kAddF32, 4),
    atomic("buffer_atomic_pk_add_f16", AtomicOp::kPackedAddF16, 4),
    atomic("buffer_atomic_add_f64", AtomicOp::kAddF64, 8),
    atomic("buffer_atomic_min_f64", AtomicOp::kMinF64, 8),
    atomic("buffer_atomic_max_f64", AtomicOp::kMaxF64, 8),
    cache("buffer_wbl2"),
    cache("buffer_invl2"),
    cache("buffer_wbinvl1"),
    cache("buffer_wbinvl1_vol"),
};

#undef WAVETAP_BUFFER_ATOMIC

} // namespace

std::span<const Semantics> buffer_rows() {
    return kRows;
}

} // namespace wavetap::softgpu::isa
