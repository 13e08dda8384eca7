// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/mnemonic_cases.hpp"

#include <functional>

// Operand and output modifiers, DPP, SDWA, MODE.

namespace wavetap::softgpu::isa_test {
namespace {

std::uint32_t f(float x) {
    return std::bit_cast<std::uint32_t>(x);
}
constexpr std::uint32_t kSmallest = 1;

/// Executes with v2 = a, v3 = b in every lane; v8 starts as `old`.
std::uint32_t one(Machine& m, const std::string& text, std::uint32_t a, std::uint32_t b,
                  std::uint32_t old = 0) {
    m.v(2).fill(a);
    m.v(3).fill(b);
    m.v(8).fill(old);
    EXPECT_EQ(m.run(text).outcome, Outcome::kEnd) << text;
    for (unsigned lane = 1; lane < kLanes; ++lane)
        EXPECT_EQ(m.v(8)[lane], m.v(8)[0]) << text;
    return m.v(8)[0];
}

TEST(IsaModifierTest, NegAndAbs_ChangeSigns) {
    Machine m;
    EXPECT_EQ(one(m, "v_add_f32_e64 v8, -v2, v3", f(1), f(5)), f(4));
    EXPECT_EQ(one(m, "v_add_f32_e64 v8, |v2|, v3", f(-1), f(5)), f(6));
    EXPECT_EQ(one(m, "v_add_f32_e64 v8, -|v2|, -v3", f(-1), f(5)), f(-6));
    m.wave.sgpr[4] = f(-3);
    EXPECT_EQ(one(m, "v_mul_f32_e64 v8, |s4|, v3", 0, f(5)), f(15));
    EXPECT_EQ(one(m, "v_add_f16_e64 v8, -v2, v3", 0x3c00, 0x4500), 0x4400U);
}

TEST(IsaModifierTest, OutputModifiersAndClamp_ScaleAndLimit) {
    Machine m;
    EXPECT_EQ(one(m, "v_add_f32_e64 v8, v2, v3 mul:2", f(1), f(2)), f(6));
    EXPECT_EQ(one(m, "v_add_f32_e64 v8, v2, v3 mul:4", f(1), f(2)), f(12));
    EXPECT_EQ(one(m, "v_add_f32_e64 v8, v2, v3 div:2", f(1), f(2)), f(1.5F));
    EXPECT_EQ(one(m, "v_add_f32_e64 v8, v2, v3 clamp", f(1), f(2)), f(1));
    EXPECT_EQ(one(m, "v_add_f32_e64 v8, v2, v3 clamp", f(-1), f(0.25F)), 0U);
    EXPECT_EQ(one(m, "v_add_f32_e64 v8, v2, v3 clamp div:2", f(1), f(0.5F)), f(0.75F));
    EXPECT_EQ(one(m, "v_add_f32_e64 v8, v2, v3 clamp", 0x7fc00000, f(2)), 0U);
    m.wave.mode &= ~0x100U; // without DX10_CLAMP a NaN stays
    EXPECT_EQ(one(m, "v_add_f32_e64 v8, v2, v3 clamp", 0x7fc00000, f(2)), 0x7fc00000U);
    EXPECT_EQ(one(m, "v_add_f16_e64 v8, v2, v3 clamp", 0x3c00, 0x4000), 0x3c00U);
}

TEST(IsaModifierTest, OperandSelect_TakesAndWritesHalves) {
    Machine m;
    EXPECT_EQ(one(m, "v_mad_u16 v8, v2, v3, v3 op_sel:[1,0,0,0]", 0x00050001, 3, 0xabcd0000),
              0xabcd0012U);
    EXPECT_EQ(one(m, "v_mad_u16 v8, v2, v3, v3 op_sel:[0,0,0,1]", 2, 3, 0x0000abcd), 0x0009abcdU);
    EXPECT_EQ(one(m, "v_fma_f16 v8, v2, v3, v3 op_sel:[1,0,0,1]", 0x40000000, 0x3c00, 0x1234),
              0x42001234U);
}

TEST(IsaModifierTest, Constants_HaveTheInstructionsType) {
    Machine m;
    EXPECT_EQ(one(m, "v_mul_f32_e32 v8, 0.5, v3", 0, f(3)), f(1.5F));
    EXPECT_EQ(one(m, "v_mul_f32_e32 v8, 0x40490fdb, v3", 0, f(1)), 0x40490fdbU);
    EXPECT_EQ(one(m, "v_mul_f32_e32 v8, 0.15915494, v3", 0, f(1)), 0x3e22f983U);
    EXPECT_EQ(one(m, "v_add_u32_e32 v8, 1.0, v3", 0, 1), 0x3f800001U);
    EXPECT_EQ(one(m, "v_add_u32_e32 v8, -16, v3", 0, 1), 0xfffffff1U);
    EXPECT_EQ(one(m, "v_mul_f16_e32 v8, 4.0, v3", 0, 0x3c00), 0x4400U);
    m.v(4).fill(0);
    m.v(5).fill(0x3ff00000);
    m.run("v_add_f64 v[8:9], v[4:5], 1.0\n v_trunc_f64_e32 v[10:11], 0x40240000");
    EXPECT_EQ(m.v(9)[0], 0x40000000U);
    EXPECT_EQ(m.v(11)[0], 0x40240000U);
    m.run("v_lshlrev_b64 v[8:9], 4, -2");
    EXPECT_EQ(m.v(8)[0], 0xffffffe0U);
    EXPECT_EQ(m.v(9)[0], 0xffffffffU);
}

TEST(IsaModifierTest, Sdwa_SelectsAndMerges) {
    Machine m;
    const std::uint32_t a = 0x80123456, b = 0x00000001;
    const auto sdwa = [&](const std::string& rest) {
        return one(m, "v_add_u32_sdwa v8, v2, v3 " + rest, a, b, 0xaabbccdd);
    };
    EXPECT_EQ(sdwa("dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:DWORD"), 0x57U);
    EXPECT_EQ(sdwa("dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_3 src1_sel:DWORD"), 0x81U);
    EXPECT_EQ(sdwa("dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:DWORD"), 0x8013U);
    EXPECT_EQ(sdwa("dst_sel:BYTE_1 dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:DWORD"), 0x5700U);
    EXPECT_EQ(sdwa("dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_0 src1_sel:DWORD"),
              0xaabb57ddU);
    EXPECT_EQ(sdwa("dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0 src1_sel:DWORD"),
              0x3457ccddU);
    EXPECT_EQ(sdwa("dst_sel:BYTE_0 dst_unused:UNUSED_SEXT src0_sel:BYTE_3 src1_sel:DWORD"),
              0xffffff81U);
    EXPECT_EQ(one(m,
                  "v_add_u32_sdwa v8, sext(v2), v3 dst_sel:DWORD dst_unused:UNUSED_PAD "
                  "src0_sel:BYTE_3 src1_sel:DWORD",
                  a, b),
              0xffffff81U);
    EXPECT_EQ(one(m,
                  "v_add_f16_sdwa v8, -v2, v3 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 "
                  "src1_sel:WORD_0",
                  0x3c000000, 0x4500),
              0x4400U);
    m.v(2).fill(0x00050000);
    m.v(3).fill(5);
    m.run("v_cmp_eq_u32_sdwa vcc, v2, v3 src0_sel:WORD_1 src1_sel:DWORD");
    EXPECT_EQ(m.wave.vcc, ~std::uint64_t{0});
}

/// What lane i gets with a DPP control: a lane number, -1 for zero, -2 for the old value.
void check_dpp(const std::string& control, const std::function<int(int)>& source,
               std::uint64_t exec = ~std::uint64_t{0}) {
    Machine m;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        m.v(2)[lane] = 100 + lane;
        m.v(8)[lane] = 7;
    }
    m.wave.exec = exec;
    ASSERT_EQ(m.run("v_mov_b32_dpp v8, v2 " + control).outcome, Outcome::kEnd) << control;
    for (int lane = 0; lane < 64; ++lane) {
        const int from = (exec >> lane & 1) != 0 ? source(lane) : -2;
        const std::uint32_t expected = from == -2   ? 7
                                       : from == -1 ? 0
                                                    : 100 + static_cast<std::uint32_t>(from);
        EXPECT_EQ(m.v(8)[static_cast<unsigned>(lane)], expected) << control << " lane " << lane;
    }
}

TEST(IsaModifierTest, Dpp_MovesLanes) {
    const std::string all = " row_mask:0xf bank_mask:0xf";
    check_dpp("quad_perm:[1,0,3,2]" + all, [](int i) { return i ^ 1; });
    check_dpp("quad_perm:[3,3,0,2]" + all, [](int i) {
        const int q[] = {3, 3, 0, 2};
        return (i & ~3) | q[i & 3];
    });
    check_dpp("row_shl:1" + all, [](int i) { return i % 16 < 15 ? i + 1 : -2; });
    check_dpp("row_shl:1" + all + " bound_ctrl:0", [](int i) { return i % 16 < 15 ? i + 1 : -1; });
    check_dpp("row_shr:3" + all, [](int i) { return i % 16 >= 3 ? i - 3 : -2; });
    check_dpp("row_ror:4" + all, [](int i) { return (i & ~15) | ((i - 4) & 15); });
    check_dpp("wave_shl:1" + all, [](int i) { return i < 63 ? i + 1 : -2; });
    check_dpp("wave_rol:1" + all, [](int i) { return (i + 1) % 64; });
    check_dpp("wave_shr:1" + all, [](int i) { return i > 0 ? i - 1 : -2; });
    check_dpp("wave_ror:1" + all, [](int i) { return (i + 63) % 64; });
    check_dpp("row_mirror" + all, [](int i) { return (i & ~15) | (15 - (i & 15)); });
    check_dpp("row_half_mirror" + all, [](int i) { return (i & ~7) | (7 - (i & 7)); });
    check_dpp("row_bcast:15" + all, [](int i) { return i >= 16 ? (i & ~15) - 1 : -2; });
    check_dpp("row_bcast:31" + all, [](int i) { return i >= 32 ? 31 : -2; });
    check_dpp("row_newbcast:5" + all, [](int i) { return (i & ~15) | 5; });
    check_dpp("row_mirror row_mask:0xa bank_mask:0xf",
              [](int i) { return (i / 16) % 2 == 1 ? (i & ~15) | (15 - (i & 15)) : -2; });
    check_dpp("row_mirror row_mask:0xf bank_mask:0x1",
              [](int i) { return i % 16 < 4 ? (i & ~15) | (15 - (i & 15)) : -2; });
    // An inactive source lane counts as none.
    check_dpp(
        "quad_perm:[1,0,3,2]" + all, [](int i) { return (i ^ 1) == 5 ? -2 : i ^ 1; },
        ~std::uint64_t{0x20});
}

TEST(IsaModifierTest, Dpp_WithModifiersAndSums) {
    Machine m;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        m.v(2)[lane] = f(-static_cast<float>(lane));
        m.v(3)[lane] = f(1000);
    }
    m.run("v_add_f32_dpp v8, |v2|, v3 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf");
    for (unsigned lane = 0; lane < kLanes; ++lane)
        EXPECT_EQ(m.v(8)[lane], f(1000 + static_cast<float>(lane ^ 1)));
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        m.v(4)[lane] = 0;
        m.v(5)[lane] = static_cast<std::uint32_t>(D(lane) >> 32);
    }
    m.run("v_ceil_f64_dpp v[8:9], v[4:5] row_newbcast:3 row_mask:0xf bank_mask:0xf");
    for (unsigned lane = 0; lane < kLanes; ++lane)
        EXPECT_EQ(m.v(9)[lane], static_cast<std::uint32_t>(D((lane & ~15U) + 3) >> 32));
}

TEST(IsaModeTest, Subnormals_FollowTheDenormBits) {
    Machine m;
    EXPECT_EQ(one(m, "v_add_f32_e32 v8, v2, v3", kSmallest, kSmallest), 2U);
    m.wave.mode = 0x3c0; // f32 flushed, f64 and f16 kept
    EXPECT_EQ(one(m, "v_add_f32_e32 v8, v2, v3", kSmallest, kSmallest), 0U);
    EXPECT_EQ(one(m, "v_mul_f32_e32 v8, v2, v3", f(0x1p-100F), f(-0x1p-49F)), 0x80000000U);
    EXPECT_EQ(one(m, "v_mov_b32_e32 v8, v2", kSmallest, 0), kSmallest);
    EXPECT_EQ(one(m, "v_add_f16_e32 v8, v2, v3", 1, 1), 2U);
    m.wave.mode = 0x330; // f64 and f16 flushed
    EXPECT_EQ(one(m, "v_add_f32_e32 v8, v2, v3", kSmallest, kSmallest), 2U);
    EXPECT_EQ(one(m, "v_add_f16_e32 v8, v2, v3", 1, 1), 0U);
    m.wave.mode = 0x3d0; // f32: subnormal inputs kept, results flushed
    EXPECT_EQ(one(m, "v_mul_f32_e32 v8, v2, v3", kSmallest, f(0x1p30F)), f(0x1p-119F));
    EXPECT_EQ(one(m, "v_add_f32_e32 v8, v2, v3", kSmallest, kSmallest), 0U);
}

TEST(IsaModeTest, Rounding_FollowsTheRoundBits) {
    Machine m;
    const auto sum = [&](std::uint32_t round) {
        m.wave.mode = 0x3f0 | round;
        return one(m, "v_add_f32_e32 v8, v2, v3", f(1), f(0x1p-30F));
    };
    EXPECT_EQ(sum(0), 0x3f800000U);
    EXPECT_EQ(sum(1), 0x3f800001U); // towards plus infinity
    EXPECT_EQ(sum(2), 0x3f800000U);
    EXPECT_EQ(sum(3), 0x3f800000U);
    m.wave.mode = 0x3f0 | 3;
    EXPECT_EQ(one(m, "v_sub_f32_e32 v8, v2, v3", f(1), f(0x1p-30F)), 0x3f7fffffU);
    m.wave.mode = 0x3f0 | 3 << 2;
    EXPECT_EQ(one(m, "v_sub_f32_e32 v8, v2, v3", f(1), f(0x1p-30F)), 0x3f800000U);
    EXPECT_EQ(one(m, "v_sub_f16_e32 v8, v2, v3", 0x3c00, 0x0001), 0x3bffU);
    EXPECT_EQ(one(m, "v_add_f16_e32 v8, v2, v3", 0x7bff, 0x7bff), 0x7bffU);
    m.wave.mode = 0x3f0;
    EXPECT_EQ(one(m, "v_sub_f32_e32 v8, v2, v3", f(1), f(0x1p-30F)), 0x3f800000U);
}

TEST(IsaModeTest, IeeeBit_QuietsSignalingNan) {
    Machine m;
    EXPECT_EQ(one(m, "v_max_f32_e32 v8, v2, v3", 0x7f800001, f(1)), 0x7fc00001U);
    m.wave.mode &= ~0x200U;
    EXPECT_EQ(one(m, "v_max_f32_e32 v8, v2, v3", 0x7f800001, f(1)), f(1));
}

} // namespace
} // namespace wavetap::softgpu::isa_test
