// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/mnemonic_cases.hpp"

#include <cmath>

namespace wavetap::softgpu::isa_test {
namespace {

/// Small integers in matrices: every product and sum is exact, so only places can be wrong.
struct Matrix {
    const char* name;
    unsigned edge, blocks, k;
    char input; ///< f float, h half, b bfloat, i byte, d double
    unsigned dwords, accumulators;
};

const Matrix kMatrices[] = {
    {"f32_32x32x1f32", 32, 2, 1, 'f', 1, 32},     {"f32_16x16x1f32", 16, 4, 1, 'f', 1, 16},
    {"f32_4x4x1f32", 4, 16, 1, 'f', 1, 4},        {"f32_32x32x2f32", 32, 1, 2, 'f', 1, 16},
    {"f32_16x16x4f32", 16, 1, 4, 'f', 1, 4},      {"f32_32x32x4f16", 32, 2, 4, 'h', 2, 32},
    {"f32_16x16x4f16", 16, 4, 4, 'h', 2, 16},     {"f32_4x4x4f16", 4, 16, 4, 'h', 2, 4},
    {"f32_32x32x8f16", 32, 1, 8, 'h', 2, 16},     {"f32_16x16x16f16", 16, 1, 16, 'h', 2, 4},
    {"i32_32x32x4i8", 32, 2, 4, 'i', 1, 32},      {"i32_16x16x4i8", 16, 4, 4, 'i', 1, 16},
    {"i32_4x4x4i8", 4, 16, 4, 'i', 1, 4},         {"i32_32x32x8i8", 32, 1, 8, 'i', 1, 16},
    {"i32_16x16x16i8", 16, 1, 16, 'i', 1, 4},     {"f32_32x32x4bf16_1k", 32, 2, 4, 'b', 2, 32},
    {"f32_16x16x4bf16_1k", 16, 4, 4, 'b', 2, 16}, {"f32_4x4x4bf16_1k", 4, 16, 4, 'b', 2, 4},
    {"f32_32x32x8bf16_1k", 32, 1, 8, 'b', 2, 16}, {"f32_16x16x16bf16_1k", 16, 1, 16, 'b', 2, 4},
    {"f32_32x32x2bf16", 32, 2, 2, 'b', 1, 32},    {"f32_16x16x2bf16", 16, 4, 2, 'b', 1, 16},
    {"f32_4x4x2bf16", 4, 16, 2, 'b', 1, 4},       {"f32_32x32x4bf16", 32, 1, 4, 'b', 1, 16},
    {"f32_16x16x8bf16", 16, 1, 8, 'b', 1, 4},     {"f64_16x16x4f64", 16, 1, 4, 'd', 2, 8},
    {"f64_4x4x4f64", 4, 4, 4, 'd', 2, 2},
};

int element(unsigned which, unsigned block, unsigned row, unsigned column) {
    return static_cast<int>((row * 5 + column * 3 + block * 7 + which * 11) % 13) - 6;
}

std::uint32_t half_bits(int v) {
    if (v == 0) return 0;
    const int e = std::ilogb(static_cast<double>(std::abs(v)));
    const auto fraction = static_cast<std::uint32_t>((std::abs(v) << (10 - e)) & 0x3ff);
    return (v < 0 ? 0x8000U : 0U) | static_cast<std::uint32_t>(e + 15) << 10 | fraction;
}

/// Puts value `v` as number `i` of a lane's inputs.
void put_input(Machine& m, const Matrix& x, unsigned reg, unsigned lane, unsigned i, int v) {
    const std::uint32_t f = static_cast<std::uint32_t>(F(static_cast<float>(v)));
    switch (x.input) {
    case 'f':
        m.v(reg)[lane] = f;
        break;
    case 'h':
        m.v(reg + i / 2)[lane] |= half_bits(v) << (16 * (i % 2));
        break;
    case 'b':
        m.v(reg + i / 2)[lane] |= (f >> 16) << (16 * (i % 2));
        break;
    case 'i':
        m.v(reg)[lane] |= (static_cast<std::uint32_t>(v) & 0xff) << (8 * i);
        break;
    default:
        m.v(reg)[lane] = static_cast<std::uint32_t>(D(v));
        m.v(reg + 1)[lane] = static_cast<std::uint32_t>(D(v) >> 32);
    }
}

std::string regs(char bank, unsigned first, unsigned dwords) {
    if (dwords == 1) return bank + std::to_string(first);
    return bank + std::string("[") + std::to_string(first) + ":" +
           std::to_string(first + dwords - 1) + "]";
}

void check_matrix(Machine& m, const Matrix& x) {
    m.wave.vgpr.assign(64, LaneWords{});
    m.wave.agpr.assign(64, LaneWords{});
    const unsigned per_lane = x.k * x.edge * x.blocks / kLanes;
    for (unsigned block = 0; block < x.blocks; ++block)
        for (unsigned row = 0; row < x.edge; ++row)
            for (unsigned k = 0; k < x.k; ++k) {
                const unsigned lane = row + x.edge * (block + x.blocks * (k / per_lane));
                put_input(m, x, 2, lane, k % per_lane, element(1, block, row, k));
                put_input(m, x, 4, lane, k % per_lane, element(2, block, k, row));
            }
    // Accumulators of both kinds; twice: C = 0, then C = the first result.
    const char bank = x.k % 4 == 0 ? 'a' : 'v';
    const std::string d = regs(bank, 8, x.accumulators);
    const std::string name = std::string("v_mfma_") + x.name + " ";
    const std::string inputs = regs('v', 2, x.dwords) + ", " + regs('v', 4, x.dwords);
    m.wave.exec = 1; // does not matter
    ASSERT_EQ(
        m.run(name + d + ", " + inputs + ", 0\n" + name + d + ", " + inputs + ", " + d).outcome,
        Outcome::kEnd)
        << name;
    const auto& result = bank == 'a' ? m.wave.agpr : m.wave.vgpr;
    const bool wide = x.input == 'd';
    for (unsigned lane = 0; lane < kLanes; ++lane)
        for (unsigned r = 0; r < x.accumulators / (wide ? 2 : 1); ++r) {
            unsigned block = 0, row = 0, column = lane % x.edge;
            if (wide && x.edge == 4) {
                block = lane / 4 % 4;
                row = lane / 16;
            } else if (wide) {
                row = 4 * r + lane / 16;
            } else if (x.edge == 4) {
                block = lane / 4;
                row = r;
            } else if (x.edge == 16) {
                block = r / 4;
                row = 4 * (lane / 16) + r % 4;
            } else {
                block = r / 16;
                row = 8 * (r % 16 / 4) + 4 * (lane / 32) + r % 4;
            }
            int sum = 0;
            for (unsigned k = 0; k < x.k; ++k)
                sum += element(1, block, row, k) * element(2, block, k, column);
            std::uint64_t got = result[8 + r * (wide ? 2 : 1)][lane];
            if (wide) got |= std::uint64_t{result[9 + r * 2][lane]} << 32;
            std::uint64_t expected = static_cast<std::uint32_t>(2 * sum);
            if (x.name[0] == 'f') expected = wide ? D(2 * sum) : F(static_cast<float>(2 * sum));
            ASSERT_EQ(got, expected) << name << " lane " << lane << " result " << r;
        }
}

} // namespace

std::vector<MachineCase> matrix_cases() {
    std::vector<MachineCase> out;
    for (const Matrix& x : kMatrices)
        out.push_back(
            {{std::string("v_mfma_") + x.name}, [&x](Machine& m) { check_matrix(m, x); }});
    return out;
}

} // namespace wavetap::softgpu::isa_test
