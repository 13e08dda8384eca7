// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/opcode.hpp"

#include <algorithm>

// Operands and modifiers of vector ALU instructions, from the text.

namespace wavetap::softgpu::isa {
namespace {

Error unsupported(const ParsedText& text, const std::string& what) {
    return Error{ErrorCode::kUnsupported, std::string(text.full_mnemonic) + ": " + what, {}, {}};
}

unsigned dwords_of(Elem elem) {
    return elem == Elem::kF64 || elem == Elem::kB64 || elem == Elem::kPackedB32 ? 2 : 1;
}

void make_constant(LaneSource& s, std::uint64_t bits) {
    s.kind = LaneSource::Kind::kConstant;
    s.lanes = std::make_unique<std::array<LaneWords, 2>>();
    (*s.lanes)[0].fill(static_cast<std::uint32_t>(bits));
    (*s.lanes)[1].fill(static_cast<std::uint32_t>(bits >> 32));
}

Result<void> bind_source(const ParsedText& text, const Operand& operand, Elem elem, OpCode& c,
                         LaneSource& s) {
    s.elem = elem;
    s.dwords = static_cast<std::uint8_t>(dwords_of(elem));
    s.index = operand.index;
    s.neg = operand.neg;
    s.abs = operand.abs;
    s.sext = operand.sext;
    switch (operand.kind) {
    case Operand::Kind::kVgpr:
        s.kind = LaneSource::Kind::kVgpr;
        break;
    case Operand::Kind::kAgpr:
        s.kind = LaneSource::Kind::kAgpr;
        break;
    case Operand::Kind::kScalar:
        s.kind = elem == Elem::kMask ? LaneSource::Kind::kMask : LaneSource::Kind::kScalar;
        if (s.dwords > operand.dwords)
            return unsupported(text, "scalar operand is too small for a 64-bit source");
        return {};
    case Operand::Kind::kInteger:
    case Operand::Kind::kHex:
    case Operand::Kind::kReal: {
        WAVETAP_TRY(const std::uint64_t bits, constant_bits(operand, elem));
        make_constant(s, bits);
        return {};
    }
    default:
        return unsupported(text, "operand '" + std::string(operand.word) + "' is no source");
    }
    if (elem == Elem::kMask) return unsupported(text, "vector register as a mask");
    if (operand.dwords < s.dwords) return unsupported(text, "source register is too small");
    note_registers(c, operand);
    return {};
}

struct DppName {
    std::string_view key;
    DppKind kind;
    int amount; ///< -1: the modifier's value
};
constexpr DppName kDppNames[] = {
    {"row_shl", DppKind::kRowShl, -1},
    {"row_shr", DppKind::kRowShr, -1},
    {"row_ror", DppKind::kRowRor, -1},
    {"wave_shl", DppKind::kWaveShl, 1},
    {"wave_rol", DppKind::kWaveRol, 1},
    {"wave_shr", DppKind::kWaveShr, 1},
    {"wave_ror", DppKind::kWaveRor, 1},
    {"row_mirror", DppKind::kRowMirror, 0},
    {"row_half_mirror", DppKind::kRowHalfMirror, 0},
    {"row_newbcast", DppKind::kRowNewBcast, -1},
};

Result<void> bind_dpp(ParsedText& text, OpCode& c) {
    c.has_dpp = true;
    bool found = false;
    if (const auto value = text.take("quad_perm")) {
        c.dpp = DppKind::kQuadPerm;
        unsigned shift = 0;
        for (const char ch : *value) {
            if (ch < '0' || ch > '3' || shift > 6) continue;
            c.dpp_amount = static_cast<std::uint8_t>(c.dpp_amount | (ch - '0') << shift);
            shift += 2;
        }
        found = shift == 8;
    }
    for (const DppName& name : kDppNames) {
        const auto value = text.take(name.key);
        if (!value) continue;
        const auto number = name.amount >= 0 ? name.amount : parse_number(*value).value_or(-1);
        if (number < 0 || number > 15) return unsupported(text, "DPP amount");
        c.dpp = name.kind;
        c.dpp_amount = static_cast<std::uint8_t>(number);
        found = true;
    }
    if (const auto value = text.take("row_bcast")) {
        if (*value != "15" && *value != "31") return unsupported(text, "row_bcast");
        c.dpp = *value == "15" ? DppKind::kRowBcast15 : DppKind::kRowBcast31;
        found = true;
    }
    if (!found) return unsupported(text, "no known DPP control");
    c.row_mask = static_cast<std::uint8_t>(text.take_number("row_mask", 15));
    c.bank_mask = static_cast<std::uint8_t>(text.take_number("bank_mask", 15));
    c.bound_ctrl = text.take_flag("bound_ctrl");
    return {};
}

std::optional<std::uint8_t> sdwa_number(std::optional<std::string_view> value) {
    constexpr std::string_view kNames[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                           "WORD_0", "WORD_1", "DWORD"};
    if (!value) return 6;
    for (std::uint8_t i = 0; i < 7; ++i)
        if (kNames[i] == *value) return i;
    return std::nullopt;
}

Result<void> bind_sdwa(ParsedText& text, OpCode& c) {
    const auto dst = sdwa_number(text.take("dst_sel"));
    const auto src0 = sdwa_number(text.take("src0_sel"));
    const auto src1 = sdwa_number(text.take("src1_sel"));
    if (!dst || !src0 || !src1) return unsupported(text, "SDWA select");
    c.sdwa_dst = *dst;
    c.src[0].sdwa_sel = *src0;
    if (c.sources > 1) c.src[1].sdwa_sel = *src1;
    const std::string_view unused = text.take("dst_unused").value_or("UNUSED_PAD");
    constexpr std::string_view kNames[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};
    const auto* found = std::find(std::begin(kNames), std::end(kNames), unused);
    if (found == std::end(kNames)) return unsupported(text, "SDWA dst_unused");
    c.sdwa_unused = static_cast<std::uint8_t>(found - std::begin(kNames));
    return {};
}

void bind_op_sel(const Semantics& row, ParsedText& text, OpCode& c) {
    const bool packed = std::any_of(c.src.begin(), c.src.begin() + c.sources, [](const auto& s) {
        return s.elem == Elem::kPacked16 || s.elem == Elem::kPackedB32;
    });
    const std::uint32_t op_sel = text.take_bits("op_sel", 0);
    const std::uint32_t op_sel_hi = text.take_bits("op_sel_hi", packed ? 7 : 0);
    const std::uint32_t neg_lo = text.take_bits("neg_lo", 0);
    const std::uint32_t neg_hi = text.take_bits("neg_hi", 0);
    for (unsigned i = 0; i < c.sources; ++i) {
        LaneSource& s = c.src[i];
        s.op_sel = (op_sel >> i & 1) != 0;
        s.op_sel_hi = (op_sel_hi >> i & 1) != 0;
        if ((row.flags & kSecondSourceFirst) != 0) s.op_sel_hi = s.op_sel;
        if ((neg_lo >> i & 1) != 0) s.neg = !s.neg;
        s.neg_hi = (neg_hi >> i & 1) != 0;
    }
    const bool half_dst = row.kernel.dst == Elem::kF16 || row.kernel.dst == Elem::kB16;
    c.keep_half = half_dst && (row.flags & kKeepsHighHalf) != 0;
    c.high_half = (row.flags & kWritesHighHalf) != 0 ||
                  (half_dst && !packed && (op_sel >> c.sources & 1) != 0);
}

bool source_is_plain(const LaneSource& s) {
    const bool swapped = s.elem == Elem::kPacked16 || s.elem == Elem::kPackedB32
                             ? s.op_sel || !s.op_sel_hi
                             : s.op_sel || s.op_sel_hi;
    return !(s.neg || s.abs || s.sext || s.neg_hi || swapped || s.dpp || s.sdwa_sel != 6);
}

Result<void> bind_output_modifiers(const Semantics& row, ParsedText& text, OpCode& c) {
    c.clamp = text.take_flag("clamp");
    const bool float_result = is_float(row.kernel.dst) || row.kernel.dst == Elem::kPacked16;
    if (const auto value = text.take("mul")) c.omod = *value == "2" ? 1 : 2;
    if (text.take("div")) c.omod = 3;
    if (c.omod != 0 && !float_result) return unsupported(text, "output modifier on integers");
    if (c.clamp && row.saturating.plain == nullptr && !float_result && !row.kernel.writes_mask)
        return unsupported(text, "clamp has no meaning here");
    return {};
}

void choose_lanes(const Semantics& row, OpCode& c) {
    const Kernel& k = c.clamp && row.saturating.plain != nullptr ? row.saturating : row.kernel;
    c.wide = cpu_is_wide();
    c.lanes = c.wide ? k.wide : k.plain;
}

} // namespace

Result<void> bind_valu(const Semantics& row, ParsedText& text, std::uint64_t, Op&, OpCode& c) {
    const Kernel& k = row.kernel;
    std::size_t at = 0;
    const auto take = [&]() -> const Operand* {
        return at < text.operands.size() ? &text.operands[at++] : nullptr;
    };
    if (k.dst != Elem::kNone) {
        const Operand* dst = take();
        const bool vector = dst != nullptr && (dst->kind == Operand::Kind::kVgpr ||
                                               dst->kind == Operand::Kind::kAgpr);
        if (!vector || dst->dwords != dwords_of(k.dst))
            return unsupported(text, "destination does not fit");
        c.dst = *dst;
        note_registers(c, *dst);
    }
    if (k.writes_mask) {
        const Operand* mask = take();
        if (mask == nullptr || mask->kind != Operand::Kind::kScalar || mask->dwords != 2)
            return unsupported(text, "mask destination does not fit");
        c.mask_dst = *mask;
    }
    c.sources = k.sources;
    Operand vcc;
    vcc.kind = Operand::Kind::kScalar;
    vcc.index = kVccLo;
    vcc.dwords = 2;
    for (unsigned i = 0; i < k.sources; ++i) {
        const bool last = i + 1U == k.sources;
        const Operand* source = nullptr;
        if (last && (row.flags & kAccumulates) != 0)
            source = &c.dst;
        else if (last && (row.flags & kReadsVcc) != 0)
            source = &vcc;
        else
            source = take();
        if (source == nullptr) return unsupported(text, "too few operands");
        WAVETAP_CHECK_OK(bind_source(text, *source, k.src[i], c, c.src[i]));
    }
    if (at != text.operands.size()) return unsupported(text, "too many operands");
    if (text.is_sdwa) WAVETAP_CHECK_OK(bind_sdwa(text, c));
    if (text.is_dpp) {
        WAVETAP_CHECK_OK(bind_dpp(text, c));
        c.src[0].dpp = true;
    }
    bind_op_sel(row, text, c);
    WAVETAP_CHECK_OK(bind_output_modifiers(row, text, c));
    for (unsigned i = 0; i < c.sources; ++i)
        c.src[i].plain = source_is_plain(c.src[i]);
    c.post = c.sdwa_dst != 6 || c.high_half || c.keep_half;
    choose_lanes(row, c);
    return {};
}

} // namespace wavetap::softgpu::isa
