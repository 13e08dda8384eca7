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
