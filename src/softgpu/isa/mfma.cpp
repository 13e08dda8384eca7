// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/float_util.hpp"
#include "softgpu/isa/scalar_util.hpp"

// Matrix instructions: D = A * B + C for one or more square blocks. EXEC does not matter. Lanes hold
// rows of A and columns of B, registers of D hold groups of four rows. Not established: neither the
// layouts (f64 above all) nor the order of the sums were checked against silicon or a public reference
// (docs/hardware.md).

namespace wavetap::softgpu::isa {
namespace {

enum class Input : std::uint8_t { kF32, kF16, kBf16, kI8, kF64 };

/// Kept in Semantics::extra: edge length, blocks, k values a lane, kind of input.
constexpr std::uint32_t shape(unsigned edge, unsigned blocks, unsigned per_lane, Input input) {
    return edge | blocks << 8 | per_lane << 16 | static_cast<std::uint32_t>(input) << 24;
}

struct Shape {
    unsigned edge, blocks, per_lane;
    Input input;
    unsigned groups() const { return kLanes / (edge * blocks); } ///< of lanes along k
    unsigned results() const { return edge * edge * blocks / kLanes; }
};
Shape shape_of(std::uint32_t extra) {
    return {extra & 0xff, extra >> 8 & 0xff, extra >> 16 & 0xff, static_cast<Input>(extra >> 24)};
}

/// Values a register holds.
unsigned values_per_register(Input input) {
    if (input == Input::kI8) return 4;
    return input == Input::kF16 || input == Input::kBf16 ? 2 : 1;
}
unsigned input_registers(const Shape& s) {
    if (s.input == Input::kF64) return 2;
    return std::max(1U, s.per_lane / values_per_register(s.input));
}

const LaneWords* registers(const Wave& w, const Operand& o) {
    return (o.kind == Operand::Kind::kAgpr ? w.agpr : w.vgpr).data() + o.index;
}

double input_value(const Shape& s, const LaneWords* data, unsigned lane, unsigned i) {
    const unsigned per_register = values_per_register(s.input);
    const std::uint32_t word = data[i / per_register][lane];
    const auto half = static_cast<std::uint16_t>(word >> (16 * (i & 1)));
    switch (s.input) {
    case Input::kF32:
        return static_cast<double>(std::bit_cast<float>(word));
    case Input::kF16:
        return half_to_double(Half{half});
    case Input::kBf16:
        return static_cast<double>(std::bit_cast<float>(std::uint32_t{half} << 16));
    case Input::kI8:
        return static_cast<std::int8_t>(word >> (8 * (i % per_register)));
    case Input::kF64:
        return std::bit_cast<double>(static_cast<std::uint64_t>(data[1][lane]) << 32 | word);
    }
    return 0;
}

/// Row of D that register `result` of `lane` holds, and its block.
struct Position {
    unsigned block, row, column;
};
Position position_of(const Shape& s, unsigned lane, unsigned result) {
    if (s.input == Input::kF64) {
        if (s.edge == 4) return {lane / 4 % 4, lane / 16, lane % 4};
        return {0, 4 * result + lane / 16, lane % 16};
    }
    if (s.edge == 4) return {lane / 4, result, lane % 4};
    const unsigned per_block = s.results() / s.blocks;
    const unsigned in_block = result % per_block;
    const unsigned step = 4 * (kLanes / s.edge); // rows between groups of four registers
    return {result / per_block, step * (in_block / 4) + 4 * (lane / s.edge) + in_block % 4,
            lane % s.edge};
}

/// The lane with row or column `index` of `block` in group `group`.
unsigned source_lane(const Shape& s, unsigned index, unsigned block, unsigned group) {
    return index + s.edge * (block + s.blocks * group);
}

template <class T, class Combine>
T dot(const Shape& s, const LaneWords* a, const LaneWords* b, const Position& p, T sum,
      Combine combine) {
    for (unsigned group = 0; group < s.groups(); ++group) {
        const unsigned row = source_lane(s, p.row, p.block, group);
        const unsigned column = source_lane(s, p.column, p.block, group);
        for (unsigned i = 0; i < s.per_lane; ++i)
            sum = combine(input_value(s, a, row, i), input_value(s, b, column, i), sum);
    }
    return sum;
}

/// Accumulator word `i` of C, or the constant in its place.
struct Accumulator {
    const LaneWords* data;
    std::uint32_t constant_lo, constant_hi;
    std::uint32_t word(unsigned i, unsigned lane, bool high) const {
        if (data != nullptr) return data[i][lane];
        return high ? constant_hi : constant_lo;
    }
};

StepInfo run_matrix(const Op& op, Wave& w, Memory&) {
    const OpCode& c = *op.code;
    if (!registers_fit(c, w)) return illegal_register();
    const Shape s = shape_of(c.row->extra);
    const LaneWords* a = registers(w, c.op[1]);
    const LaneWords* b = registers(w, c.op[2]);
    const bool from_registers = !c.op[3].is_constant();
    const Accumulator acc{from_registers ? registers(w, c.op[3]) : nullptr,
                          static_cast<std::uint32_t>(c.constant[3]),
                          static_cast<std::uint32_t>(c.constant[3] >> 32)};
    const unsigned words = s.input == Input::kF64 ? 2 : 1;
    std::vector<LaneWords> result(std::size_t{s.results()} * words);
    for (unsigned r = 0; r < s.results(); ++r) {
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            const Position p = position_of(s, lane, r);
            const std::uint32_t old = acc.word(r * words, lane, false);
            if (s.input == Input::kF64) {
                const std::uint64_t high = acc.word(r * 2 + 1, lane, true);
                const double sum = dot(s, a, b, p, std::bit_cast<double>(high << 32 | old),
                                       [](double x, double y, double z) { return fma(x, y, z); });
                const auto bits = std::bit_cast<std::uint64_t>(sum);
                result[r * 2][lane] = static_cast<std::uint32_t>(bits);
                result[r * 2 + 1][lane] = static_cast<std::uint32_t>(bits >> 32);
            } else if (s.input == Input::kI8) {
                result[r][lane] = dot(s, a, b, p, old, [](double x, double y, std::uint32_t z) {
                    return z + static_cast<std::uint32_t>(static_cast<std::int32_t>(x * y));
                });
            } else {
                const float sum =
                    dot(s, a, b, p, std::bit_cast<float>(old), [](double x, double y, float z) {
                        return fma(static_cast<float>(x), static_cast<float>(y), z);
                    });
                result[r][lane] = std::bit_cast<std::uint32_t>(sum);
            }
        }
    }
    auto& file = c.dst.kind == Operand::Kind::kAgpr ? w.agpr : w.vgpr;
    std::copy(result.begin(), result.end(), file.begin() + c.dst.index);
    return next(op, w);
}

/// cbsz, abid and blgp are not modelled: an instruction with them is reported as unsupported.
Result<void> bind_matrix(const Semantics& row, ParsedText& text, std::uint64_t, Op&, OpCode& c) {
    const Shape s = shape_of(row.extra);
    if (text.operands.size() != 4) return unsupported_text(text, "unexpected operands");
    const auto fits = [&](const Operand& o, unsigned dwords) {
        return (o.kind == Operand::Kind::kVgpr || o.kind == Operand::Kind::kAgpr) &&
               o.dwords == dwords;
    };
    const bool f64 = s.input == Input::kF64;
    const unsigned accumulators = s.results() * (f64 ? 2 : 1);
    for (unsigned i = 0; i < 4; ++i)
        c.op[i] = text.operands[i];
    c.dst = c.op[0];
    if (c.op[3].is_constant()) {
        WAVETAP_TRY(c.constant[3], constant_bits(c.op[3], f64 ? Elem::kF64 : Elem::kF32));
    } else if (!fits(c.op[3], accumulators)) {
        return unsupported_text(text, "accumulator does not fit");
    }
    if (!fits(c.dst, accumulators) || !fits(c.op[1], input_registers(s)) ||
        !fits(c.op[2], input_registers(s)))
        return unsupported_text(text, "registers do not fit");
    for (const Operand& o : c.op)
        note_registers(c, o);
    return {};
}

constexpr Semantics matrix(std::string_view name, std::uint32_t extra, std::uint8_t quads) {
    Semantics row;
    row.name = name;
    row.bind = &bind_matrix;
    row.run = &run_matrix;
    row.unit = Unit::kValu;
    row.sqtt_type = kInstMatrix;
    row.issue_quads = quads;
    row.extra = extra;
    return row;
}

// Passes (issue quads) as in LLVM's public scheduling model of gfx90a.
constexpr Semantics kRows[] = {
    matrix("v_mfma_f32_32x32x1f32", shape(32, 2, 1, Input::kF32), 16),
    matrix("v_mfma_f32_16x16x1f32", shape(16, 4, 1, Input::kF32), 8),
    matrix("v_mfma_f32_4x4x1f32", shape(4, 16, 1, Input::kF32), 2),
    matrix("v_mfma_f32_32x32x2f32", shape(32, 1, 1, Input::kF32), 16),
    matrix("v_mfma_f32_16x16x4f32", shape(16, 1, 1, Input::kF32), 8),
    matrix("v_mfma_f32_32x32x4f16", shape(32, 2, 4, Input::kF16), 16),
    matrix("v_mfma_f32_16x16x4f16", shape(16, 4, 4, Input::kF16), 8),
    matrix("v_mfma_f32_4x4x4f16", shape(4, 16, 4, Input::kF16), 2),
    matrix("v_mfma_f32_32x32x8f16", shape(32, 1, 4, Input::kF16), 16),
    matrix("v_mfma_f32_16x16x16f16", shape(16, 1, 4, Input::kF16), 8),
    matrix("v_mfma_i32_32x32x4i8", shape(32, 2, 4, Input::kI8), 16),
    matrix("v_mfma_i32_16x16x4i8", shape(16, 4, 4, Input::kI8), 8),
    matrix("v_mfma_i32_4x4x4i8", shape(4, 16, 4, Input::kI8), 2),
    matrix("v_mfma_i32_32x32x8i8", shape(32, 1, 4, Input::kI8), 16),
    matrix("v_mfma_i32_16x16x16i8", shape(16, 1, 4, Input::kI8), 8),
    matrix("v_mfma_f32_32x32x4bf16_1k", shape(32, 2, 4, Input::kBf16), 16),
    matrix("v_mfma_f32_16x16x4bf16_1k", shape(16, 4, 4, Input::kBf16), 8),
    matrix("v_mfma_f32_4x4x4bf16_1k", shape(4, 16, 4, Input::kBf16), 2),
    matrix("v_mfma_f32_32x32x8bf16_1k", shape(32, 1, 4, Input::kBf16), 16),
    matrix("v_mfma_f32_16x16x16bf16_1k", shape(16, 1, 4, Input::kBf16), 8),
    matrix("v_mfma_f32_32x32x2bf16", shape(32, 2, 2, Input::kBf16), 16),
    matrix("v_mfma_f32_16x16x2bf16", shape(16, 4, 2, Input::kBf16), 8),
    matrix("v_mfma_f32_4x4x2bf16", shape(4, 16, 2, Input::kBf16), 2),
    matrix("v_mfma_f32_32x32x4bf16", shape(32, 1, 2, Input::kBf16), 16),
    matrix("v_mfma_f32_16x16x8bf16", shape(16, 1, 2, Input::kBf16), 8),
    matrix("v_mfma_f64_16x16x4f64", shape(16, 1, 1, Input::kF64), 8),
    matrix("v_mfma_f64_4x4x4f64", shape(4, 4, 1, Input::kF64), 4),
};

} // namespace

std::span<const Semantics> mfma_rows() {
    return kRows;
}

} // namespace wavetap::softgpu::isa
