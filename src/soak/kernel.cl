// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT

// Each item mixes its own number with its neighbour's through LDS, `rounds` times.
// soak_program.cpp computes the same on the host.
__attribute__((reqd_work_group_size(256, 1, 1)))
kernel void soak_mix(global uint* out, uint rounds, uint seed) {
    local uint row[256];
    const uint item = __builtin_amdgcn_workitem_id_x();
    const uint index = __builtin_amdgcn_workgroup_id_x() * 256 + item;
    uint value = index ^ seed;
    for (uint round = 0; round < rounds; ++round) {
        row[item] = value;
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
        __builtin_amdgcn_s_barrier();
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
        value = value * 1664525u + row[(item + 1) & 255];
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
        __builtin_amdgcn_s_barrier();
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    }
    out[index] = value;
}

// Writes many trace tokens: each wave on one of the first two shader engines puts 512 words into the
// trace, slowly enough that hundreds of waves do not write more than a copy engine can take away. What
// it writes to memory does not depend on that.
__attribute__((reqd_work_group_size(256, 1, 1)))
kernel void soak_stream(global uint* out, uint unused, uint seed) {
    const uint index =
        __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();
    // HW_ID bits 15:13: shader engine.
    if (__builtin_amdgcn_s_getreg(4 | 13 << 6 | 2 << 11) < 2) {
        __asm__ volatile("s_mov_b32 m0, %0" ::"s"(seed));
        for (uint round = 0; round < 128; ++round) {
            __asm__ volatile("s_ttracedata\n s_ttracedata\n s_ttracedata\n s_ttracedata\n"
                             "s_sleep 15" ::);
        }
    } else {
        // As long, so that work-groups do not crowd onto the engines that are done sooner.
        for (uint round = 0; round < 16; ++round)
            __asm__ volatile("s_sleep 127" ::);
    }
    out[index] = (index ^ seed) * 1664525u;
}
