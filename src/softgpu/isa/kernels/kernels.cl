// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT

// Kernels for end-to-end tests: compiled by clang for gfx90a without any device library.

#define GROUP 256
#define ID ((int)(__builtin_amdgcn_workgroup_id_x() * GROUP + __builtin_amdgcn_workitem_id_x()))
#define LOCAL ((int)__builtin_amdgcn_workitem_id_x())
#define KERNEL __attribute__((amdgpu_flat_work_group_size(GROUP, GROUP))) kernel void
#define BARRIER()                                                                                  \
    do {                                                                                           \
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");                                     \
        __builtin_amdgcn_s_barrier();                                                              \
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");                                     \
    } while (0)

KERNEL saxpy(int n, float a, global const float* x, global float* y) {
    const int i = ID;
    if (i < n) y[i] = a * x[i] + y[i];
}
