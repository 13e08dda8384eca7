// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// Line numbers count: code_object_test.cpp asks for them.
float add(float a, float b) {
    return a + b;
}

float scale(float x, float factor) {
    return add(x * factor, 1.0f);
}

__attribute__((noinline)) void store(__global float* y, int i, float value) {
    y[i] = value;
}

__kernel void saxpy(__global float* y, __global const float* x, float a, int n) {
    int i = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();
    if (i < n)
        store(y, i, scale(x[i], a));
}

__kernel void twice(__global float* y) {
    int i = __builtin_amdgcn_workitem_id_x();
    for (int k = 0; k < 100; ++k)
        y[i + k * 64] = scale(y[i + k], 2.0f);
}
