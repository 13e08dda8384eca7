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

// Each wave on the first shader engine writes 512 words into the trace (HW_ID bits 15:13: its engine).
kernel void pour(global uint* out) {
    const uint i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
    if (__builtin_amdgcn_s_getreg(4 | 13 << 6 | 2 << 11) == 0)
        for (uint round = 0; round < 128; ++round)
            __asm__ volatile("s_ttracedata\n s_ttracedata\n s_ttracedata\n s_ttracedata\n"
                             "s_sleep 15" ::);
    else // as long, so that the others do not take all the work
        for (uint round = 0; round < 16; ++round)
            __asm__ volatile("s_sleep 127" ::);
    out[i & 1023] = i;
}
