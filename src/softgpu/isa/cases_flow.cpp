// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/mnemonic_cases.hpp"

#include <cstring>

namespace wavetap::softgpu::isa_test {
namespace {

std::uint32_t low(std::uint64_t v) {
    return static_cast<std::uint32_t>(v);
}
std::uint32_t high(std::uint64_t v) {
    return static_cast<std::uint32_t>(v >> 32);
}

void set_pair(Machine& m, unsigned i, std::uint64_t value) {
    m.wave.sgpr[i] = low(value);
    m.wave.sgpr[i + 1] = high(value);
}
std::uint64_t pair(const Machine& m, unsigned i) {
    return std::uint64_t{m.wave.sgpr[i + 1]} << 32 | m.wave.sgpr[i];
}

/// One instruction, with its outcome.
StepInfo step(Machine& m, const std::string& text) {
    const auto code = assemble(text);
    std::memcpy(m.space.bytes(kCode).data(), code.data(), code.size());
    m.program->invalidate();
    m.wave.pc = kCode;
    auto op = m.program->fetch(kCode);
    EXPECT_TRUE(op) << (op ? "" : op.error().message);
    if (!op) return {};
    return execute(**op, m.wave, m.memory);
}

void check_branch(Machine& m, const std::string& name, bool taken) {
    const StepInfo forward = step(m, name + " 5");
    EXPECT_EQ(forward.outcome, taken ? Outcome::kTaken : Outcome::kNotTaken) << name;
    EXPECT_EQ(m.wave.pc, kCode + 4 + (taken ? 20 : 0)) << name;
    step(m, name + " 0xfffe");
    EXPECT_EQ(m.wave.pc, kCode + 4 - (taken ? 8 : 0)) << name;
}

void check_branches(Machine& m) {
    check_branch(m, "s_branch", true);
    for (const bool bit : {false, true}) {
        m.wave.scc = bit;
        m.wave.vcc = bit ? 0x100 : 0;
        m.wave.exec = bit ? 0x100 : 0;
        check_branch(m, "s_cbranch_scc0", !bit);
        check_branch(m, "s_cbranch_scc1", bit);
        check_branch(m, "s_cbranch_vccz", !bit);
        check_branch(m, "s_cbranch_vccnz", bit);
        check_branch(m, "s_cbranch_execz", !bit);
        check_branch(m, "s_cbranch_execnz", bit);
    }
    for (const char* name : {"s_cbranch_cdbgsys", "s_cbranch_cdbguser", "s_cbranch_cdbgsys_or_user",
                             "s_cbranch_cdbgsys_and_user"})
        check_branch(m, name, false);
}

void check_jumps(Machine& m) {
    EXPECT_EQ(step(m, "s_getpc_b64 s[8:9]").outcome, Outcome::kJump);
    EXPECT_EQ(pair(m, 8), kCode + 4);
    EXPECT_EQ(m.wave.pc, kCode + 4);
    set_pair(m, 2, 0x123456789a0);
    EXPECT_EQ(step(m, "s_setpc_b64 s[2:3]").outcome, Outcome::kJump);
    EXPECT_EQ(m.wave.pc, 0x123456789a0U);
    EXPECT_EQ(step(m, "s_swappc_b64 s[2:3], s[2:3]").outcome, Outcome::kJump);
    EXPECT_EQ(m.wave.pc, 0x123456789a0U);
    EXPECT_EQ(pair(m, 2), kCode + 4);
    EXPECT_EQ(step(m, "s_call_b64 s[8:9], 3").outcome, Outcome::kJump);
    EXPECT_EQ(m.wave.pc, kCode + 16);
    EXPECT_EQ(pair(m, 8), kCode + 4);
}

void check_waits(Machine& m) {
    StepInfo info = step(m, "s_waitcnt vmcnt(20) expcnt(3) lgkmcnt(5)");
    EXPECT_EQ(info.outcome, Outcome::kWait);
    EXPECT_EQ(info.vmcnt, 20);
    EXPECT_EQ(info.expcnt, 3);
    EXPECT_EQ(info.lgkmcnt, 5);
    info = step(m, "s_waitcnt vmcnt(0)");
    EXPECT_EQ(info.vmcnt, 0);
    EXPECT_EQ(info.expcnt, 7);
    EXPECT_EQ(info.lgkmcnt, 15);
    info = step(m, "s_nop 3");
    EXPECT_EQ(info.outcome, Outcome::kSleep);
    EXPECT_EQ(info.sleep_quads, 4U);
    EXPECT_EQ(step(m, "s_sleep 2").sleep_quads, 32U);
}

void check_outcomes(Machine& m) {
    EXPECT_EQ(step(m, "s_endpgm").outcome, Outcome::kEnd);
    EXPECT_EQ(step(m, "s_endpgm_saved").outcome, Outcome::kEnd);
    EXPECT_EQ(step(m, "s_barrier").outcome, Outcome::kBarrier);
    EXPECT_EQ(m.wave.pc, kCode + 4);
    StepInfo info = step(m, "s_sendmsg sendmsg(MSG_INTERRUPT)");
    EXPECT_EQ(info.outcome, Outcome::kMessage);
    EXPECT_EQ(info.user_data, 1U);
    EXPECT_EQ(step(m, "s_sendmsghalt sendmsg(MSG_INTERRUPT)").outcome, Outcome::kMessage);
    info = step(m, "s_trap 2");
    EXPECT_EQ(info.outcome, Outcome::kTrap);
    EXPECT_EQ(info.user_data, 2U);
    m.wave.m0 = 0x1234;
    info = step(m, "s_ttracedata");
    EXPECT_EQ(info.outcome, Outcome::kUserData);
    EXPECT_EQ(info.user_data, 0x1234U);
    EXPECT_EQ(step(m, "s_sethalt 1").outcome, Outcome::kTrap);
    EXPECT_EQ(step(m, "s_sethalt 0").outcome, Outcome::kNext);
    for (const char* text :
         {"s_setprio 3", "s_wakeup", "s_icache_inv", "s_incperflevel 1", "s_decperflevel 1"}) {
        EXPECT_EQ(step(m, text).outcome, Outcome::kNext) << text;
        EXPECT_EQ(m.wave.pc, kCode + 4) << text;
    }
}

void check_hardware_registers(Machine& m) {
    m.wave.hw_id = 0xabcd1234;
    m.wave.shared_aperture = 0x1000000000000;
    m.wave.private_aperture = 0x2000000000000;
    m.run("s_getreg_b32 s8, hwreg(HW_REG_HW_ID, 8, 8)\n s_getreg_b32 s9, hwreg(15, 16, 16)\n"
          "s_getreg_b32 s10, hwreg(15, 0, 16)\n s_getreg_b32 s11, hwreg(HW_REG_MODE)");
    EXPECT_EQ(m.wave.sgpr[8], 0x12U);
    EXPECT_EQ(m.wave.sgpr[9], 1U);
    EXPECT_EQ(m.wave.sgpr[10], 2U);
    EXPECT_EQ(m.wave.sgpr[11], 0x3f0U);
    m.wave.sgpr[2] = 0xfffffffd;
    m.run("s_setreg_b32 hwreg(HW_REG_MODE, 0, 2), s2\n s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, "
          "4), 0xa5");
    EXPECT_EQ(m.wave.mode, 0x351U);
}

void check_scalar_relative(Machine& m) {
    for (unsigned i = 0; i < 40; ++i)
        m.wave.sgpr[i] = 100 + i;
    m.wave.m0 = 4;
    m.run("s_movrels_b32 s30, s2\n s_movrels_b64 s[32:33], s[2:3]\n s_movreld_b32 s40, s2\n "
          "s_movreld_b64 s[46:47], s[4:5]");
    EXPECT_EQ(m.wave.sgpr[30], 106U);
    EXPECT_EQ(m.wave.sgpr[33], 107U);
    EXPECT_EQ(m.wave.sgpr[44], 102U);
    EXPECT_EQ(m.wave.sgpr[51], 105U);
    m.wave.m0 = 101;
    EXPECT_EQ(m.run("s_movrels_b32 s30, s2").outcome, Outcome::kIllegal);
}

void check_vector_relative(Machine& m) {
    for (unsigned r = 0; r < 20; ++r)
        m.v(r).fill(r);
    m.wave.sgpr[2] = 5;
    m.wave.sgpr[3] = 7;
    m.run("s_set_gpr_idx_on s2, gpr_idx(SRC0)\n v_mov_b32_e32 v20, v4\n s_set_gpr_idx_idx s3\n"
          "v_mov_b32_e32 v21, v4\n s_set_gpr_idx_mode gpr_idx(DST)\n v_mov_b32_e32 v16, v4\n"
          "s_set_gpr_idx_off\n v_mov_b32_e32 v24, v4");
    EXPECT_EQ(m.v(20)[9], 9U);
    EXPECT_EQ(m.v(21)[9], 11U);
    EXPECT_EQ(m.v(23)[9], 4U);
    EXPECT_EQ(m.v(24)[9], 4U);
    m.wave.sgpr[2] = 200;
    EXPECT_EQ(m.run("s_set_gpr_idx_on s2, gpr_idx(SRC0)\n v_mov_b32_e32 v20, v4").outcome,
              Outcome::kIllegal);
}

// Scalar memory.

void check_smem_loads(Machine& m) {
    for (unsigned i = 0; i < 64; ++i)
        m.data<std::uint32_t>()[i] = 1000 + i;
    set_pair(m, 2, kData);
    m.wave.sgpr[4] = 16;
    m.run("s_load_dword s8, s[2:3], 0x4\n s_load_dwordx2 s[10:11], s[2:3], s4\n"
          "s_load_dwordx4 s[12:15], s[2:3], 0x20\n s_load_dwordx8 s[16:23], s[2:3], 0x0\n"
          "s_load_dwordx16 s[32:47], s[2:3], 0x40");
    EXPECT_EQ(m.wave.sgpr[8], 1001U);
    EXPECT_EQ(m.wave.sgpr[10], 1004U);
    EXPECT_EQ(m.wave.sgpr[15], 1011U);
    EXPECT_EQ(m.wave.sgpr[23], 1007U);
    EXPECT_EQ(m.wave.sgpr[47], 1031U);
    set_pair(m, 2, 0x123400000000);
    const StepInfo info = m.run("s_load_dword s8, s[2:3], 0x4");
    EXPECT_EQ(info.outcome, Outcome::kMemoryFault);
    EXPECT_EQ(info.fault_va, 0x123400000004U);
}

void check_smem_buffer(Machine& m) {
    for (unsigned i = 0; i < 64; ++i)
        m.data<std::uint32_t>()[i] = 1000 + i;
    set_pair(m, 4, kData);
    m.wave.sgpr[6] = 40;
    m.wave.sgpr[7] = 0;
    m.run("s_buffer_load_dword s8, s[4:7], 0x4\n s_buffer_load_dwordx2 s[10:11], s[4:7], 0x8\n"
          "s_buffer_load_dwordx4 s[12:15], s[4:7], 0x20\n s_buffer_load_dwordx8 s[16:23], s[4:7], "
          "0x0\n"
          "s_buffer_load_dwordx16 s[32:47], s[4:7], 0x0");
    EXPECT_EQ(m.wave.sgpr[8], 1001U);
    EXPECT_EQ(m.wave.sgpr[11], 1003U);
    EXPECT_EQ(m.wave.sgpr[13], 1009U);
    EXPECT_EQ(m.wave.sgpr[14], 0U); // outside
    EXPECT_EQ(m.wave.sgpr[23], 1007U);
    EXPECT_EQ(m.wave.sgpr[41], 1009U);
    EXPECT_EQ(m.wave.sgpr[42], 0U);
}

void check_smem_stores(Machine& m) {
    set_pair(m, 2, kData);
    set_pair(m, 4, kData + 128);
    m.wave.sgpr[6] = 20;
    m.wave.sgpr[7] = 0;
    for (unsigned i = 8; i < 16; ++i)
        m.wave.sgpr[i] = i;
    m.run("s_store_dword s8, s[2:3], 0x0\n s_store_dwordx2 s[8:9], s[2:3], 0x8\n s_store_dwordx4 "
          "s[8:11], s[2:3], 0x10\n"
          "s_buffer_store_dword s8, s[4:7], 0x0\n s_buffer_store_dwordx2 s[8:9], s[4:7], 0x4\n "
          "s_buffer_store_dwordx4 s[8:11], s[4:7], 0xc");
    const std::uint32_t expected[] = {8, 0, 8, 9, 8, 9, 10, 11};
    for (unsigned i = 0; i < 8; ++i)
        EXPECT_EQ(m.data<std::uint32_t>()[i], expected[i]) << i;
    const std::uint32_t in_buffer[] = {8, 8, 9, 8, 9, 0, 0};
    for (unsigned i = 0; i < 7; ++i)
        EXPECT_EQ(m.data<std::uint32_t>(128)[i], in_buffer[i]) << i;
}

void check_time(Machine& m) {
    m.wave.clock = 0x123456789;
    m.wave.realtime = 0xabcdef012;
    m.run("s_memtime s[8:9]\n s_memrealtime s[10:11]\n s_dcache_inv\n s_dcache_inv_vol\n "
          "s_dcache_wb\n s_dcache_wb_vol\n"
          "s_dcache_discard s[2:3], 0x0\n s_dcache_discard_x2 s[2:3], 0x0");
    EXPECT_EQ(pair(m, 8), 0x123456789U);
    EXPECT_EQ(pair(m, 10), 0xabcdef012U);
}

struct SmemAtomic {
    const char* name;
    std::uint64_t old, data, result;
};

void check_smem_atomic(Machine& m, const SmemAtomic& k, bool buffer, bool wide) {
    std::memcpy(m.data<std::byte>(), &k.old, 8);
    set_pair(m, 4, kData);
    m.wave.sgpr[6] = 64;
    m.wave.sgpr[7] = 0;
    m.wave.sgpr[8] = low(k.data);
    m.wave.sgpr[9] = wide ? 0 : low(k.old); // cmpswap: data, then the comparison
    m.wave.sgpr[10] = low(k.old);
    m.wave.sgpr[11] = 0;
    const bool swaps = std::string(k.name) == "cmpswap";
    const unsigned dwords = (wide ? 2 : 1) * (swaps ? 2 : 1);
    const std::string data = dwords == 1 ? "s8" : "s[8:" + std::to_string(7 + dwords) + "]";
    const std::string text = std::string(buffer ? "s_buffer_atomic_" : "s_atomic_") + k.name +
                             (wide ? "_x2 " : " ") + data + (buffer ? ", s[4:7]" : ", s[4:5]") +
                             ", 0x0 glc";
    ASSERT_EQ(m.run(text).outcome, Outcome::kEnd) << text;
    EXPECT_EQ(m.data<std::uint32_t>()[0], low(k.result)) << text;
    EXPECT_EQ(m.wave.sgpr[8], low(k.old)) << text;
}

} // namespace

std::vector<MachineCase> smem_cases() {
    std::vector<MachineCase> out = {
        {{"s_load_dword", "s_load_dwordx2", "s_load_dwordx4", "s_load_dwordx8", "s_load_dwordx16"},
         check_smem_loads},
        {{"s_buffer_load_dword", "s_buffer_load_dwordx2", "s_buffer_load_dwordx4",
          "s_buffer_load_dwordx8", "s_buffer_load_dwordx16"},
         check_smem_buffer},
        {{"s_store_dword", "s_store_dwordx2", "s_store_dwordx4", "s_buffer_store_dword",
          "s_buffer_store_dwordx2", "s_buffer_store_dwordx4"},
         check_smem_stores},
        {{"s_memtime", "s_memrealtime", "s_dcache_inv", "s_dcache_inv_vol", "s_dcache_wb",
          "s_dcache_wb_vol", "s_dcache_discard", "s_dcache_discard_x2"},
         check_time}};
    for (const SmemAtomic& k : std::initializer_list<SmemAtomic>{{"swap", 5, 9, 9},
                                                                 {"cmpswap", 5, 9, 9},
                                                                 {"add", 5, 9, 14},
                                                                 {"sub", 9, 5, 4},
                                                                 {"smin", 5, 9, 5},
                                                                 {"umin", 5, 9, 5},
                                                                 {"smax", 5, 9, 9},
                                                                 {"umax", 5, 9, 9},
                                                                 {"and", 6, 3, 2},
                                                                 {"or", 6, 3, 7},
                                                                 {"xor", 6, 3, 5},
                                                                 {"inc", 5, 9, 6},
                                                                 {"dec", 5, 9, 4}})
        for (const bool buffer : {false, true})
            for (const bool wide : {false, true})
                out.push_back({{std::string(buffer ? "s_buffer_atomic_" : "s_atomic_") + k.name +
                                (wide ? "_x2" : "")},
                               [=](Machine& m) { check_smem_atomic(m, k, buffer, wide); }});
    return out;
}

std::vector<MachineCase> flow_cases() {
    return {{{"s_branch", "s_cbranch_scc0", "s_cbranch_scc1", "s_cbranch_vccz", "s_cbranch_vccnz",
              "s_cbranch_execz", "s_cbranch_execnz", "s_cbranch_cdbgsys", "s_cbranch_cdbguser",
              "s_cbranch_cdbgsys_or_user", "s_cbranch_cdbgsys_and_user"},
             check_branches},
            {{"s_getpc_b64", "s_setpc_b64", "s_swappc_b64", "s_call_b64"}, check_jumps},
            {{"s_waitcnt", "s_nop", "s_sleep"}, check_waits},
            {{"s_endpgm", "s_endpgm_saved", "s_barrier", "s_sendmsg", "s_sendmsghalt", "s_trap",
              "s_ttracedata", "s_sethalt", "s_setprio", "s_wakeup", "s_icache_inv",
              "s_incperflevel", "s_decperflevel"},
             check_outcomes},
            {{"s_getreg_b32", "s_setreg_b32", "s_setreg_imm32_b32"}, check_hardware_registers},
            {{"s_movrels_b32", "s_movrels_b64", "s_movreld_b32", "s_movreld_b64"},
             check_scalar_relative},
            {{"s_set_gpr_idx_on", "s_set_gpr_idx_idx", "s_set_gpr_idx_off", "s_set_gpr_idx_mode"},
             check_vector_relative}};
}

std::vector<MachineCase> cross_lane_cases() {
    return {{{"v_readfirstlane_b32", "v_readlane_b32", "v_writelane_b32"},
             [](Machine& m) {
                 for (unsigned lane = 0; lane < kLanes; ++lane)
                     m.v(2)[lane] = 100 + lane;
                 m.wave.exec = 0xf0;
                 m.wave.sgpr[4] = 70; // modulo 64
                 m.run("v_readfirstlane_b32 s8, v2\n v_readlane_b32 s9, v2, 9\n v_readlane_b32 "
                       "s10, v2, s4\n"
                       "v_writelane_b32 v3, s4, 2\n v_writelane_b32 v3, 7, s4");
                 EXPECT_EQ(m.wave.sgpr[8], 104U);
                 EXPECT_EQ(m.wave.sgpr[9], 109U);
                 EXPECT_EQ(m.wave.sgpr[10], 106U);
                 EXPECT_EQ(m.v(3)[2], 70U);
                 EXPECT_EQ(m.v(3)[6], 7U);
                 EXPECT_EQ(m.v(3)[3], 0U);
                 m.wave.exec = 0;
                 m.run("v_readfirstlane_b32 s8, v2");
                 EXPECT_EQ(m.wave.sgpr[8], 100U);
             }},
            {{"v_mbcnt_lo_u32_b32", "v_mbcnt_hi_u32_b32"},
             [](Machine& m) {
                 m.run("v_mbcnt_lo_u32_b32 v2, -1, 0\n v_mbcnt_hi_u32_b32 v2, -1, v2");
                 for (unsigned lane = 0; lane < kLanes; ++lane)
                     EXPECT_EQ(m.v(2)[lane], lane);
                 m.wave.sgpr[2] = 0x5;
                 m.run("v_mbcnt_lo_u32_b32 v3, s2, 10");
                 EXPECT_EQ(m.v(3)[0], 10U);
                 EXPECT_EQ(m.v(3)[2], 11U);
                 EXPECT_EQ(m.v(3)[40], 12U);
             }},
            {{"v_swap_b32", "v_nop"}, [](Machine& m) {
                 m.v(2).fill(1);
                 m.v(3).fill(2);
                 m.wave.exec = 1;
                 m.run("v_swap_b32 v2, v3\n v_nop");
                 EXPECT_EQ(m.v(2)[0], 2U);
                 EXPECT_EQ(m.v(3)[0], 1U);
                 EXPECT_EQ(m.v(2)[1], 1U);
             }}};
}

} // namespace wavetap::softgpu::isa_test
