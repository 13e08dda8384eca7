// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/float_util.hpp"
#include "softgpu/isa/opcode.hpp"

#include <cfenv>
#include <cstring>

namespace wavetap::softgpu::isa {
namespace {

constexpr std::uint64_t kAllLanes = ~std::uint64_t{0};

struct alignas(64) LaneBuffer {
    std::uint32_t lane[kLanes];
};

void broadcast(LaneBuffer& out, std::uint32_t value) {
    for (unsigned i = 0; i < kLanes; ++i)
        out.lane[i] = value;
}

[[gnu::always_inline]] inline void expand_mask_body(LaneBuffer& out, std::uint64_t mask) {
    for (unsigned half = 0; half < 2; ++half) {
        const auto bits = static_cast<std::uint32_t>(mask >> (32 * half));
        for (unsigned i = 0; i < 32; ++i)
            out.lane[32 * half + i] = bits >> i & 1;
    }
}

WAVETAP_WIDE void expand_mask_wide(LaneBuffer& out, std::uint64_t mask) {
    expand_mask_body(out, mask);
}
void expand_mask(const OpCode& c, LaneBuffer& out, std::uint64_t mask) {
    if (c.wide)
        expand_mask_wide(out, mask);
    else
        expand_mask_body(out, mask);
}

/// Bytes 0 or 1 to one bit each.
std::uint64_t pack_mask(const std::uint8_t* bytes) {
    std::uint64_t mask = 0;
    for (unsigned i = 0; i < 8; ++i) {
        std::uint64_t chunk;
        std::memcpy(&chunk, bytes + 8 * i, 8);
        mask |= (chunk * 0x0102040810204080ULL >> 56) << (8 * i);
    }
    return mask;
}

/// The lane that `lane` reads with DPP, or -1 where there is none.
int dpp_source(const OpCode& c, int lane) {
    const int row = lane & ~15;
    const int in_row = lane & 15;
    const int n = c.dpp_amount;
    switch (c.dpp) {
    case DppKind::kQuadPerm:
        return (lane & ~3) | (n >> (2 * (lane & 3)) & 3);
    case DppKind::kRowShl:
        return in_row + n < 16 ? lane + n : -1;
    case DppKind::kRowShr:
        return in_row - n >= 0 ? lane - n : -1;
    case DppKind::kRowRor:
        return row | ((in_row - n) & 15);
    case DppKind::kWaveShl:
        return lane + 1 < 64 ? lane + 1 : -1;
    case DppKind::kWaveRol:
        return (lane + 1) & 63;
    case DppKind::kWaveShr:
        return lane - 1;
    case DppKind::kWaveRor:
        return (lane - 1) & 63;
    case DppKind::kRowMirror:
        return row | (15 - in_row);
    case DppKind::kRowHalfMirror:
        return row | (in_row & 8) | (7 - (in_row & 7));
    case DppKind::kRowBcast15:
        return lane >= 16 ? row - 1 : -1;
    case DppKind::kRowBcast31:
        return lane >= 32 ? 31 : -1;
    case DppKind::kRowNewBcast:
        return row | n;
    }
    return -1;
}

/// Lanes that a DPP instruction may write.
std::uint64_t dpp_write_mask(const OpCode& c, std::uint64_t exec) {
    std::uint64_t mask = 0;
    for (int lane = 0; lane < 64; ++lane) {
        if ((c.row_mask >> (lane / 16) & 1) == 0) continue;
        if ((c.bank_mask >> (lane / 4 % 4) & 1) == 0) continue;
        const int from = dpp_source(c, lane);
        const bool valid = from >= 0 && (exec >> from & 1) != 0;
        if (!valid && !c.bound_ctrl) continue;
        mask |= std::uint64_t{1} << lane;
    }
    return mask;
}

void apply_dpp(const OpCode& c, std::uint64_t exec, const std::uint32_t* in, LaneBuffer& out) {
    for (int lane = 0; lane < 64; ++lane) {
        const int from = dpp_source(c, lane);
        const bool valid = from >= 0 && (exec >> from & 1) != 0;
        out.lane[lane] = valid ? in[from] : 0;
    }
}

std::uint32_t sdwa_select(std::uint32_t value, unsigned sel, bool sext) {
    if (sel < 4) {
        const std::uint32_t byte = value >> (8 * sel) & 0xff;
        return sext ? static_cast<std::uint32_t>(static_cast<std::int8_t>(byte)) : byte;
    }
    if (sel < 6) {
        const std::uint32_t word = value >> (16 * (sel - 4)) & 0xffff;
        return sext ? static_cast<std::uint32_t>(static_cast<std::int16_t>(word)) : word;
    }
    return value;
}

std::uint32_t packed_select(std::uint32_t value, const LaneSource& s) {
    std::uint32_t lo = s.op_sel ? value >> 16 : value & 0xffff;
    std::uint32_t hi = s.op_sel_hi ? value >> 16 : value & 0xffff;
    if (s.neg) lo ^= 0x8000;
    if (s.neg_hi) hi ^= 0x8000;
    return hi << 16 | lo;
}

std::uint32_t mix_select(std::uint32_t value, const LaneSource& s) {
    if (s.op_sel_hi)
        value = std::bit_cast<std::uint32_t>(
            half_to_float(Half{static_cast<std::uint16_t>(s.op_sel ? value >> 16 : value)}));
    if (s.abs) value &= 0x7fffffff;
    if (s.neg) value ^= 0x80000000;
    return value;
}

void apply_sign(const LaneSource& s, std::uint32_t sign, LaneBuffer& out) {
    const std::uint32_t keep = s.abs ? ~sign : ~0U;
    const std::uint32_t flip = s.neg ? sign : 0;
    for (unsigned i = 0; i < kLanes; ++i)
        out.lane[i] = (out.lane[i] & keep) ^ flip;
}

/// Modifiers other than DPP, on copies.
void apply_modifiers(const LaneSource& s, LaneBuffer& lo, LaneBuffer& hi) {
    if (s.sdwa_sel != 6 || s.sext)
        for (unsigned i = 0; i < kLanes; ++i)
            lo.lane[i] = sdwa_select(lo.lane[i], s.sdwa_sel, s.sext);
    switch (s.elem) {
    case Elem::kPacked16:
        for (unsigned i = 0; i < kLanes; ++i)
            lo.lane[i] = packed_select(lo.lane[i], s);
        return;
    case Elem::kPackedB32:
        for (unsigned i = 0; i < kLanes; ++i) {
            const std::uint32_t first = s.op_sel ? hi.lane[i] : lo.lane[i];
            const std::uint32_t second = s.op_sel_hi ? hi.lane[i] : lo.lane[i];
            lo.lane[i] = first ^ (s.neg ? 0x80000000U : 0);
            hi.lane[i] = second ^ (s.neg_hi ? 0x80000000U : 0);
        }
        return;
    case Elem::kMix:
        for (unsigned i = 0; i < kLanes; ++i)
            lo.lane[i] = mix_select(lo.lane[i], s);
        return;
    case Elem::kF16:
    case Elem::kB16:
        if (s.op_sel)
            for (unsigned i = 0; i < kLanes; ++i)
                lo.lane[i] >>= 16;
        if (s.neg || s.abs) apply_sign(s, 0x8000, lo);
        return;
    case Elem::kF64:
        if (s.neg || s.abs) apply_sign(s, 0x80000000, hi);
        return;
    default:
        if (s.neg || s.abs) apply_sign(s, 0x80000000, lo);
        return;
    }
}

/// Subnormal inputs become zero.
void flush_inputs(Elem elem, std::uint32_t* lo, std::uint32_t* hi) {
    for (unsigned i = 0; i < kLanes; ++i) {
        if ((elem == Elem::kF32 || elem == Elem::kPackedB32) && (lo[i] & 0x7f800000) == 0)
            lo[i] &= 0x80000000;
        if (elem == Elem::kPackedB32 && (hi[i] & 0x7f800000) == 0) hi[i] &= 0x80000000;
        if (elem == Elem::kF64 && (hi[i] & 0x7ff00000) == 0) {
            hi[i] &= 0x80000000;
            lo[i] = 0;
        }
        if ((elem == Elem::kF16 || elem == Elem::kPacked16) && (lo[i] & 0x7c00) == 0)
            lo[i] &= ~0x3ffU;
        if (elem == Elem::kPacked16 && (lo[i] & 0x7c000000) == 0) lo[i] &= ~0x03ff0000U;
    }
}

/// MODE bits: 4 f32 in, 5 f32 out, 6 f64/f16 in, 7 f64/f16 out.
bool flushes(Elem elem, std::uint32_t mode, bool output) {
    const unsigned bit =
        (elem == Elem::kF32 || elem == Elem::kPackedB32 ? 4U : 6U) + (output ? 1 : 0);
    return (is_float(elem) || elem == Elem::kPacked16) && (mode >> bit & 1) == 0;
}

/// Indexing mode (MODE bit 27): M0 7:0 is added to the vector registers that M0 15:12 names.
/// `which`: 0..2 sources, 3 destination.
unsigned register_shift(const Wave& w, unsigned which) {
    if ((w.mode >> 27 & 1) == 0 || (w.m0 >> (12 + which) & 1) == 0) return 0;
    return w.m0 & 0xff;
}
bool shifted_registers_fit(const OpCode& c, const Wave& w) {
    const auto fits = [&](unsigned index, unsigned dwords, unsigned which) {
        return index + dwords + register_shift(w, which) <= w.vgpr.size();
    };
    for (unsigned i = 0; i < c.sources && i < 3; ++i)
        if (c.src[i].kind == LaneSource::Kind::kVgpr && !fits(c.src[i].index, c.src[i].dwords, i))
            return false;
    return c.dst.kind != Operand::Kind::kVgpr || fits(c.dst.index, c.dst.dwords, 3);
}

void fetch(const OpCode& c, unsigned number, Wave& w, LaneBuffer (&temp)[2],
           const std::uint32_t* (&out)[2]) {
    const LaneSource& s = c.src[number];
    const bool flush = (w.mode & 0xf0) != 0xf0 && (c.row->flags & kNoDenormFlush) == 0 &&
                       flushes(s.elem, w.mode, false);
    switch (s.kind) {
    case LaneSource::Kind::kVgpr:
        out[0] = w.vgpr[s.index + register_shift(w, number)].data();
        if (s.dwords > 1) out[1] = w.vgpr[s.index + 1U + register_shift(w, number)].data();
        break;
    case LaneSource::Kind::kAgpr:
        out[0] = w.agpr[s.index].data();
        if (s.dwords > 1) out[1] = w.agpr[s.index + 1U].data();
        break;
    case LaneSource::Kind::kConstant:
        out[0] = (*s.lanes)[0].data();
        out[1] = (*s.lanes)[1].data();
        break;
    case LaneSource::Kind::kScalar: {
        const std::uint64_t value =
            s.dwords > 1 ? read_scalar_pair(w, s.index) : read_scalar(w, s.index);
        broadcast(temp[0], static_cast<std::uint32_t>(value));
        out[0] = temp[0].lane;
        if (s.dwords > 1) {
            broadcast(temp[1], static_cast<std::uint32_t>(value >> 32));
            out[1] = temp[1].lane;
        }
        break;
    }
    case LaneSource::Kind::kMask:
        expand_mask(c, temp[0], read_scalar_pair(w, s.index));
        out[0] = temp[0].lane;
        return;
    }
    if (s.plain && !flush) return;
    for (unsigned i = 0; i < s.dwords; ++i) {
        if (s.dpp) {
            LaneBuffer moved;
            apply_dpp(c, w.exec, out[i], moved);
            temp[i] = moved;
        } else if (out[i] != temp[i].lane) {
            std::memcpy(temp[i].lane, out[i], sizeof(temp[i].lane));
        }
        out[i] = temp[i].lane;
    }
    if (flush && s.elem != Elem::kMix) flush_inputs(s.elem, temp[0].lane, temp[1].lane);
    apply_modifiers(s, temp[0], temp[1]);
}

template <class T> T scale(T value, unsigned omod) {
    if (omod == 1) return value * T{2};
    if (omod == 2) return value * T{4};
    if (omod == 3) return value * T{0.5};
    return value;
}

/// Clamp to 0..1; NaN becomes 0 if MODE's DX10_CLAMP says so.
template <class T> T saturate(T value, bool nan_to_zero) {
    if (value != value) return nan_to_zero ? T{0} : value;
    if (!(value > T{0})) return T{0};
    return value < T{1} ? value : T{1};
}

template <class T> T finish(T value, const OpCode& c, std::uint32_t mode) {
    value = scale(value, c.omod);
    return c.clamp ? saturate(value, (mode >> 8 & 1) != 0) : value;
}

std::uint16_t finish_half(std::uint32_t bits, const OpCode& c, std::uint32_t mode) {
    const double value = half_to_double(Half{static_cast<std::uint16_t>(bits)});
    return double_to_half(finish(value, c, mode)).bits;
}

void finish_floats(const OpCode& c, std::uint32_t mode, LaneBuffer (&out)[2]) {
    for (unsigned i = 0; i < kLanes; ++i) {
        std::uint32_t& lo = out[0].lane[i];
        std::uint32_t& hi = out[1].lane[i];
        switch (c.row->kernel.dst) {
        case Elem::kF32:
            lo = std::bit_cast<std::uint32_t>(finish(std::bit_cast<float>(lo), c, mode));
            break;
        case Elem::kPackedB32:
            lo = std::bit_cast<std::uint32_t>(finish(std::bit_cast<float>(lo), c, mode));
            hi = std::bit_cast<std::uint32_t>(finish(std::bit_cast<float>(hi), c, mode));
            break;
        case Elem::kF64: {
            const double value =
                finish(std::bit_cast<double>(static_cast<std::uint64_t>(hi) << 32 | lo), c, mode);
            const auto bits = std::bit_cast<std::uint64_t>(value);
            lo = static_cast<std::uint32_t>(bits);
            hi = static_cast<std::uint32_t>(bits >> 32);
            break;
        }
        case Elem::kF16:
            lo = finish_half(lo, c, mode);
            break;
        case Elem::kPacked16:
            lo = finish_half(lo & 0xffff, c, mode) |
                 static_cast<std::uint32_t>(finish_half(lo >> 16, c, mode)) << 16;
            break;
        default:
            break;
        }
    }
}

std::uint32_t sdwa_merge(const OpCode& c, std::uint32_t value, std::uint32_t old) {
    const unsigned width = c.sdwa_dst < 4 ? 8 : 16;
    const unsigned shift = c.sdwa_dst < 4 ? 8U * c.sdwa_dst : 16U * (c.sdwa_dst - 4U);
    const std::uint32_t field = (1U << width) - 1;
    const std::uint32_t placed = (value & field) << shift;
    if (c.sdwa_unused == 2) return (old & ~(field << shift)) | placed;
    if (c.sdwa_unused == 1 && (value >> (width - 1) & 1) != 0 && shift + width < 32)
        return placed | ~0U << (shift + width);
    return placed;
}

/// Placement of a result smaller than a register.
void merge_small(const OpCode& c, const LaneWords& old, LaneBuffer& out) {
    for (unsigned i = 0; i < kLanes; ++i) {
        std::uint32_t& value = out.lane[i];
        if (c.sdwa_dst != 6)
            value = sdwa_merge(c, value, old[i]);
        else if (c.high_half)
            value = (old[i] & 0xffff) | value << 16;
        else if (c.keep_half)
            value = (old[i] & 0xffff0000) | (value & 0xffff);
    }
}

[[gnu::always_inline]] inline void write_some_lanes_body(std::uint32_t* __restrict to,
                                                         const std::uint32_t* __restrict from,
                                                         std::uint64_t mask) {
    for (unsigned half = 0; half < 2; ++half) {
        const auto bits = static_cast<std::uint32_t>(mask >> (32 * half));
        for (unsigned i = 0; i < 32; ++i) {
            const std::uint32_t keep = (bits >> i & 1) - 1;
            const unsigned lane = 32 * half + i;
            to[lane] = (to[lane] & keep) | (from[lane] & ~keep);
        }
    }
}
WAVETAP_WIDE void write_some_lanes_wide(std::uint32_t* to, const std::uint32_t* from,
                                        std::uint64_t mask) {
    write_some_lanes_body(to, from, mask);
}
void write_lanes(const OpCode& c, LaneWords& to, const LaneBuffer& from, std::uint64_t mask) {
    if (mask == kAllLanes)
        std::memcpy(to.data(), from.lane, sizeof(from.lane));
    else if (c.wide)
        write_some_lanes_wide(to.data(), from.lane, mask);
    else
        write_some_lanes_body(to.data(), from.lane, mask);
}

/// Host rounding mode for the time of one instruction.
class RoundingScope {
  public:
    explicit RoundingScope(unsigned gpu_mode) {
        constexpr int kModes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
        std::fesetround(kModes[gpu_mode & 3]);
    }
    ~RoundingScope() { std::fesetround(FE_TONEAREST); }
    RoundingScope(const RoundingScope&) = delete;
    RoundingScope& operator=(const RoundingScope&) = delete;
};

/// A packed 32-bit instruction is its scalar form on both registers of each pair.
void call_lanes(const OpCode& c, const LaneArgs& args) {
    c.lanes(args);
    if ((c.row->flags & kTwice) == 0) return;
    LaneArgs second = args;
    for (unsigned i = 0; i < c.sources; ++i)
        second.s[i][0] = args.s[i][1];
    second.d[0] = args.d[1];
    c.lanes(second);
}

void run_lanes(const OpCode& c, const LaneArgs& args, std::uint32_t mode) {
    if ((mode & 0xf) == 0) {
        call_lanes(c, args);
        return;
    }
    const Elem elem = c.row->kernel.dst;
    const bool single = elem == Elem::kF32 || elem == Elem::kPackedB32 || elem == Elem::kNone;
    const RoundingScope scope(single ? mode & 3 : mode >> 2 & 3);
    call_lanes(c, args);
}

void write_mask_result(const OpCode& c, Wave& w, const std::uint8_t* bytes, std::uint64_t exec) {
    const std::uint64_t mask = pack_mask(bytes) & exec;
    write_scalar_pair(w, c.mask_dst.index, mask);
    if ((c.row->flags & kWritesExec) != 0) w.exec = mask;
}

} // namespace

StepInfo run_valu(const Op& op, Wave& w, Memory&) {
    const OpCode& c = *op.code;
    if (!registers_fit(c, w)) return illegal_register();
    if ((w.mode >> 27 & 1) != 0 && !shifted_registers_fit(c, w)) return illegal_register();
    LaneBuffer temp[4][2];
    LaneBuffer out[2];
    std::uint8_t mask[kLanes];
    LaneArgs args;
    for (unsigned i = 0; i < c.sources; ++i)
        fetch(c, i, w, temp[i], args.s[i]);
    args.d[0] = out[0].lane;
    args.d[1] = out[1].lane;
    args.mask = mask;
    args.mode = w.mode;
    run_lanes(c, args, w.mode);

    const std::uint64_t write = c.has_dpp ? w.exec & dpp_write_mask(c, w.exec) : w.exec;
    const Kernel& kernel = c.row->kernel;
    if (kernel.dst != Elem::kNone) {
        auto& file = c.dst.kind == Operand::Kind::kAgpr ? w.agpr : w.vgpr;
        LaneWords* to = file.data() + c.dst.index;
        if (c.dst.kind == Operand::Kind::kVgpr) to += register_shift(w, 3);
        if ((w.mode & 0xf0) != 0xf0 && (c.row->flags & kNoDenormFlush) == 0 &&
            flushes(kernel.dst, w.mode, true))
            flush_inputs(kernel.dst, out[0].lane, out[1].lane);
        if (c.omod != 0 || (c.clamp && c.row->saturating.plain == nullptr))
            finish_floats(c, w.mode, out);
        if (c.post) merge_small(c, *to, out[0]);
        write_lanes(c, *to, out[0], write);
        if (c.dst.dwords > 1) write_lanes(c, to[1], out[1], write);
    }
    if (kernel.writes_mask) write_mask_result(c, w, mask, write);
    return next(op, w);
}

} // namespace wavetap::softgpu::isa
