// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "code/disassembler.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace wavetap::code {
namespace {

struct Expectation {
    LineClass line_class;
    std::vector<std::string_view> lines;
};

const std::vector<Expectation>& expectations() {
    static const std::vector<Expectation> rows = {
        {LineClass::kBranch,
         {"s_branch 12", "s_cbranch_scc0 65521", "s_cbranch_scc1", "s_cbranch_vccz",
          "s_cbranch_vccnz", "s_cbranch_execz 5", "s_cbranch_execnz", "s_cbranch_g_fork",
          "s_cbranch_i_fork", "s_cbranch_join", "s_cbranch_cdbgsys"}},
        {LineClass::kValu,
         {"v_add_u32_e32 v0, v1, v2", "v_mfma_f32_16x16x16_f16", "v_readlane_b32", "v_nop",
          "v_pk_fma_f32", "v_cmp_gt_u32_e32", "v_wmma_f32_16x16x16_f16", "v_dual_mov_b32",
          "v_accvgpr_read_b32", "v_mov_b32_dpp", "v_s_exp_f32"}},
        {LineClass::kSmem,
         {"s_load_dwordx4 s[0:3], s[4:5], 0x0", "s_load_b128", "s_buffer_load_dword",
          "s_buffer_store_dword", "s_buffer_atomic_add", "s_store_dwordx2", "s_atomic_add",
          "s_scratch_load_dword", "s_dcache_wb", "s_dcache_discard", "s_memtime s[0:1]",
          "s_memrealtime", "s_prefetch_inst", "s_prefetch_data"}},
        {LineClass::kVmem,
         {"buffer_load_dword", "buffer_gl0_inv", "buffer_wbl2", "tbuffer_load_format_x",
          "global_load_dwordx4 v[0:3], v4, s[0:1]", "global_atomic_add_f32", "global_wb",
          "scratch_store_dword", "image_sample", "image_load", "cluster_load_b32",
          "tensor_load_to_lds"}},
        {LineClass::kFlat, {"flat_load_dword v0, v[1:2]", "flat_atomic_add", "flat_store_b32"}},
        {LineClass::kLds,
         {"ds_read_b32 v0, v1", "ds_write2_b64", "ds_bpermute_b32", "ds_add_rtn_u32",
          "lds_direct_load", "lds_param_load"}},
        {LineClass::kBvh, {"image_bvh_intersect_ray", "image_bvh64_intersect_ray"}},
        {LineClass::kImmed,
         {"s_waitcnt vmcnt(0)",
          "s_waitcnt_vscnt",
          "s_waitcnt_lgkmcnt",
          "s_wait_idle",
          "s_wait_kmcnt 0x0",
          "s_wait_loadcnt",
          "s_wait_loadcnt_dscnt",
          "s_wait_storecnt",
          "s_wait_storecnt_dscnt",
          "s_wait_bvhcnt",
          "s_wait_expcnt",
          "s_wait_dscnt",
          "s_wait_samplecnt",
          "s_wait_event",
          "s_wait_xcnt",
          "s_wait_tensorcnt",
          "s_wait_asynccnt",
          "s_nop 0",
          "s_sleep 1",
          "s_sleep_var",
          "s_wakeup",
          "s_sendmsg",
          "s_sendmsghalt",
          "s_sendmsg_rtn_b32",
          "s_setprio 1",
          "s_set_inst_prefetch_distance",
          "s_inst_prefetch",
          "s_setkill",
          "s_version",
          "s_trap 2",
          "s_barrier",
          "s_barrier_wait",
          "s_barrier_signal",
          "s_endpgm",
          "s_endpgm_saved",
          "s_icache_inv",
          "s_dcache_inv",
          "s_sethalt 5",
          "s_incperflevel",
          "s_decperflevel",
          "s_ttracedata",
          "s_ttracedata_imm",
          "s_clause 0x1",
          "s_monitor_sleep",
          "s_setvskip"}},
        {LineClass::kSkip,
         {"s_wait_alu 0xfffd", "s_wait_depctr", "s_delay_alu instid0(VALU_DEP_1)", "s_set_vgpr_msb",
          "buffer_nop"}},
        {LineClass::kSalu,
         {"s_add_u32 s0, s1, s2", "s_mov_b64", "s_and_saveexec_b64", "s_setpc_b64", "s_swappc_b64",
          "s_call_b64", "s_getpc_b64", "s_cmp_lt_u32", "s_movk_i32", "s_getreg_b32",
          "s_setreg_imm32_b32", "s_set_gpr_idx_on", "s_rfe_b64", "s_bcnt1_i32_b64", "s_wqm_b64",
          "s_cselect_b32"}},
    };
    return rows;
}

TEST(LineClassTest, EveryClassByMnemonic) {
    for (const Expectation& row : expectations())
        for (const std::string_view line : row.lines)
            for (const bool is_gfx12 : {false, true})
                EXPECT_EQ(classify(line, is_gfx12), row.line_class) << line;
}

TEST(LineClassTest, DsBvhDependsOnTheGeneration) {
    EXPECT_EQ(classify("ds_bvh_stack_push4_pop1_rtn_b32 v0, v1", true), LineClass::kBvh);
    EXPECT_EQ(classify("ds_bvh_stack_rtn_b32 v0, v1", false), LineClass::kLds);
}

TEST(LineClassTest, OperandsDoNotCount) {
    EXPECT_EQ(classify("s_mov_b32 branch", false), LineClass::kSalu);
    EXPECT_EQ(classify("v_mov_b32\ts_load", false), LineClass::kValu);
}

TEST(LineClassTest, WhatHasNoClassLeavesNoToken) {
    EXPECT_EQ(classify("exp mrt0 v0, v1, v2, v3", false), LineClass::kSkip);
    EXPECT_EQ(classify("", false), LineClass::kSkip);
}

} // namespace
} // namespace wavetap::code
