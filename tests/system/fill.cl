// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
kernel void fill(global uint* out, uint count, uint value) {
    const uint i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
    if (i < count) out[i] = value + i;
}

// In-order launches count up.
kernel void tick(global uint* out) {
    const uint i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
    out[i] += 1;
}

// No instruction of any chip.
kernel void broken(global uint* out) {
    out[0] = 1;
    __asm__ volatile(".long 0xffffffff");
}
