// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "softgpu/isa/isa_test_util.hpp"

#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// Tables of single instructions with inputs and expected results. The expected values were worked
// out from the instruction set documents, not by running the model.

namespace wavetap::softgpu::isa_test {

constexpr std::uint64_t F(float x) {
    return std::bit_cast<std::uint32_t>(x);
}
constexpr std::uint64_t D(double x) {
    return std::bit_cast<std::uint64_t>(x);
}

/// Sources of one lane (v[2:3], v[4:5], v[6:7]) and what v[8:9] holds afterwards.
struct Row {
    std::uint64_t a = 0, b = 0, c = 0;
    std::uint64_t result = 0;
    int mask = -1; ///< expected bit of VCC; -1: not looked at
};

/// A vector instruction that writes v8 (or v[8:9], or VCC). Lane i takes row i modulo their number.
struct VectorCase {
    std::string text;
    std::vector<Row> rows;
    bool wide = false;            ///< the result has 64 bits
    std::uint64_t vcc = 0;        ///< before
    std::uint64_t old_result = 0; ///< of v[8:9]
};

/// A scalar instruction: s[2:3], s[4:5] are sources, s[8:9] and SCC results.
struct ScalarCase {
    std::string text;
    std::uint64_t a = 0, b = 0;
    std::uint64_t result = 0;
    int scc = -1; ///< expected
    bool scc_in = false;
    std::uint64_t exec = ~std::uint64_t{0};
    std::uint64_t exec_out = ~std::uint64_t{0};
    std::uint64_t old_result = 0;
};

std::vector<VectorCase> float_cases();
std::vector<VectorCase> double_cases();
std::vector<VectorCase> half_cases();
std::vector<VectorCase> int_cases();
std::vector<VectorCase> convert_cases();
std::vector<VectorCase> compare_cases();
std::vector<VectorCase> packed_cases();
std::vector<ScalarCase> scalar_cases();

/// A test of its own, by the mnemonics it looks at.
struct MachineCase {
    std::vector<std::string> mnemonics;
    std::function<void(Machine&)> check;
};
std::vector<MachineCase> memory_cases();
std::vector<MachineCase> lds_cases();
std::vector<MachineCase> smem_cases();
std::vector<MachineCase> flow_cases();
std::vector<MachineCase> cross_lane_cases();
std::vector<MachineCase> matrix_cases();

} // namespace wavetap::softgpu::isa_test
