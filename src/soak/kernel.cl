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
