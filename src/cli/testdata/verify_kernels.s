// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT

// Two programs for verify_blob_test.cpp, which knows the offset of each instruction.
  .text
  .p2align 8
  .globl first
  .type first,@function
first:
  s_load_dword s0, s[4:5], 0x0       // 0
  s_waitcnt lgkmcnt(0)               // 8
  s_mov_b32 s1, 2                    // 12
loop:
  v_add_u32_e32 v0, v0, v0           // 16
  s_sub_u32 s1, s1, 1                // 20
  s_cmp_lg_u32 s1, 0                 // 24
  s_cbranch_scc1 loop                // 28
  s_barrier                          // 32
  global_store_dword v[2:3], v0, off // 36
  s_endpgm                           // 44
  .size first, .-first
  .p2align 8
  .globl second
  .type second,@function
second:
  s_nop 0                            // 0
  v_mov_b32_e32 v1, 0                // 4
  s_endpgm                           // 8
  .size second, .-second

// The rest runs on the chip model (verify_chip_test.cpp). Argument pointer in s[0:1], work-group in
// s2, work-item in v0; groups of 256.
  .p2align 8
  .globl work
  .type work,@function
work:
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_and_b32_e32 v0, 0x3ff, v0
  v_lshlrev_b32_e32 v1, 2, v0
  v_mul_lo_u32 v2, v0, 3
  ds_write_b32 v1, v2
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_read_b32 v4, v1
  s_mov_b32 s7, 3
  v_mov_b32_e32 v5, 0
work_loop:
  v_add_u32_e32 v5, v5, v2
  s_nop 1
  s_sub_u32 s7, s7, 1
  s_cmp_lg_u32 s7, 0
  s_cbranch_scc1 work_loop
  s_lshl_b32 s8, s2, 8
  s_waitcnt lgkmcnt(0)
  v_add_u32_e32 v6, s8, v0
  v_cmp_gt_u32_e32 vcc, 0x80, v0
  s_and_saveexec_b64 s[10:11], vcc
  s_cbranch_execz work_end
  v_lshlrev_b32_e32 v6, 2, v6
  global_store_dword v6, v4, s[4:5]
  global_load_dword v7, v6, s[4:5]
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v7, v7, v4
work_end:
  s_getpc_b64 s[12:13]
  s_add_u32 s12, s12, 12
  s_addc_u32 s13, s13, 0
  s_setpc_b64 s[12:13]
  s_barrier
  s_sleep 1
  s_endpgm
  .size work, .-work

// Runs for as many rounds as the low word of the argument pointer says.
  .p2align 8
  .globl spin
  .type spin,@function
spin:
  s_mov_b32 s4, s0
  v_mov_b32_e32 v1, 0
spin_loop:
  v_add_u32_e32 v1, v1, v0
  s_sub_u32 s4, s4, 1
  s_cmp_lg_u32 s4, 0
  s_cbranch_scc1 spin_loop
  s_nop 3
  s_endpgm
  .size spin, .-spin
