// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/mnemonic_cases.hpp"
#include "softgpu/isa/parse.hpp"
#include "softgpu/isa/table.hpp"

#include <set>

namespace wavetap::softgpu::isa_test {
namespace {

std::vector<VectorCase> vector_cases() {
    std::vector<VectorCase> out;
    for (auto&& list : {float_cases(), double_cases(), half_cases(), int_cases(), convert_cases(),
                        compare_cases(), packed_cases()})
        out.insert(out.end(), list.begin(), list.end());
    return out;
}

std::vector<MachineCase> machine_cases() {
    std::vector<MachineCase> out;
    for (auto&& list : {memory_cases(), lds_cases(), smem_cases(), flow_cases(), cross_lane_cases(),
                        matrix_cases()})
        out.insert(out.end(), list.begin(), list.end());
    return out;
}

void set_pair(Machine& m, unsigned reg, unsigned lane, std::uint64_t value) {
    m.v(reg)[lane] = static_cast<std::uint32_t>(value);
    m.v(reg + 1)[lane] = static_cast<std::uint32_t>(value >> 32);
}

std::string mnemonic_of(const std::string& text) {
    return std::string(isa::ParsedText::parse(text)->mnemonic);
}

void check_vector(const VectorCase& c, std::uint64_t exec) {
    Machine m;
    m.wave.vcc = c.vcc;
    m.wave.exec = exec;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        const Row& row = c.rows[lane % c.rows.size()];
        set_pair(m, 2, lane, row.a);
        set_pair(m, 4, lane, row.b);
        set_pair(m, 6, lane, row.c);
        set_pair(m, 8, lane, c.old_result);
    }
    const Wave before = m.wave;
    ASSERT_EQ(m.run(c.text).outcome, Outcome::kEnd) << c.text;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        const bool active = (exec >> lane & 1) != 0;
        const Row& row = c.rows[lane % c.rows.size()];
        std::uint64_t got = m.v(8)[lane];
        if (c.wide) got |= std::uint64_t{m.v(9)[lane]} << 32;
        std::uint64_t expected = active ? row.result : c.old_result;
        if (!c.wide) expected &= 0xffffffff;
        EXPECT_EQ(got, expected) << c.text << " row " << lane % c.rows.size() << std::hex
                                 << " a=" << row.a << " b=" << row.b << " c=" << row.c
                                 << " got=" << got << " expected=" << expected;
        if (row.mask >= 0) {
            EXPECT_EQ(m.wave.vcc >> lane & 1, active ? static_cast<unsigned>(row.mask) : 0U)
                << c.text << " row " << lane % c.rows.size();
        }
        if (::testing::Test::HasFailure()) return;
    }
    for (unsigned reg = 10; reg < m.wave.vgpr.size(); ++reg)
        EXPECT_EQ(m.wave.vgpr[reg], before.vgpr[reg]) << c.text << " changed v" << reg;
}

TEST(IsaMnemonicTest, VectorCases_GiveExpectedResults) {
    for (const VectorCase& c : vector_cases()) {
        check_vector(c, ~std::uint64_t{0});
        if (HasFailure()) FAIL() << c.text;
    }
}

TEST(IsaMnemonicTest, VectorCases_LeaveInactiveLanesAlone) {
    for (const VectorCase& c : vector_cases()) {
        check_vector(c, 0x8000'0001'a5a5'3c0fULL);
        if (HasFailure()) FAIL() << c.text;
    }
}

TEST(IsaMnemonicTest, ScalarCases_GiveExpectedResults) {
    for (const ScalarCase& c : scalar_cases()) {
        Machine m;
        const auto set = [&](unsigned i, std::uint64_t value) {
            m.wave.sgpr[i] = static_cast<std::uint32_t>(value);
            m.wave.sgpr[i + 1] = static_cast<std::uint32_t>(value >> 32);
        };
        set(2, c.a);
        set(4, c.b);
        set(8, c.old_result);
        m.wave.scc = c.scc_in;
        m.wave.exec = c.exec;
        ASSERT_EQ(m.run(c.text).outcome, Outcome::kEnd) << c.text;
        const std::uint64_t got = std::uint64_t{m.wave.sgpr[9]} << 32 | m.wave.sgpr[8];
        EXPECT_EQ(got, c.result) << c.text << std::hex << " got=" << got
                                 << " expected=" << c.result;
        if (c.scc >= 0) {
            EXPECT_EQ(m.wave.scc, c.scc != 0) << c.text;
        }
        EXPECT_EQ(m.wave.exec, c.exec_out) << c.text;
    }
}

TEST(IsaMnemonicTest, MachineCases_GiveExpectedResults) {
    for (const MachineCase& c : machine_cases()) {
        Machine m;
        c.check(m);
        if (HasFailure()) FAIL() << c.mnemonics.front();
    }
}

TEST(IsaMnemonicTest, EveryRowOfTheTable_HasACase) {
    std::set<std::string> covered;
    for (const VectorCase& c : vector_cases())
        covered.insert(mnemonic_of(c.text));
    for (const ScalarCase& c : scalar_cases())
        covered.insert(mnemonic_of(c.text));
    for (const MachineCase& c : machine_cases())
        covered.insert(c.mnemonics.begin(), c.mnemonics.end());
    std::set<std::string> rows;
    for (const isa::Semantics& row : isa::all_rows())
        EXPECT_TRUE(rows.insert(std::string(row.name)).second) << row.name << " stands twice";
    std::string missing;
    for (const std::string& name : rows)
        if (!covered.contains(name)) missing += name + "\n";
    EXPECT_EQ(missing, "") << "rows of the table without a case";
    for (const std::string& name : covered)
        EXPECT_TRUE(rows.contains(name)) << "case for " << name << ", which has no row";
}

} // namespace
} // namespace wavetap::softgpu::isa_test
