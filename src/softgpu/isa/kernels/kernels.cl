// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT

// Kernels for end-to-end tests: compiled by clang for gfx90a without any device library.

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

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

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

KERNEL reduce_float(global const float* in, global float* out, int n) {
    local float part[GROUP];
    const int t = LOCAL;
    float sum = 0;
    for (int i = t; i < n; i += GROUP) {
        if (in[i] > 0.5f)
            sum += in[i];
        else if (in[i] < -0.5f)
            sum -= 2.0f * in[i];
        else
            sum += 1.0f;
    }
    part[t] = sum;
    BARRIER();
    for (int k = GROUP / 2; k > 0; k >>= 1) {
        if (t < k) part[t] += part[t + k];
        BARRIER();
    }
    if (t == 0) out[0] = part[0];
}

KERNEL reduce_int(global const int* in, global int* out, int n) {
    local int part[GROUP];
    const int t = LOCAL;
    int best = 0x80000000;
    for (int i = t; i < n; i += GROUP) {
        const int v = in[i] % 1000 + in[i] / 7;
        best = v > best ? v : best;
    }
    part[t] = best;
    BARRIER();
    for (int k = GROUP / 2; k > 0; k >>= 1) {
        if (t < k) part[t] = part[t] > part[t + k] ? part[t] : part[t + k];
        BARRIER();
    }
    if (t == 0) out[0] = part[0];
}

#define TILE 16
KERNEL matmul(global const float* a, global const float* b, global float* c, int n) {
    local float ta[TILE][TILE], tb[TILE][TILE];
    const int x = LOCAL % TILE, y = LOCAL / TILE;
    const int column = __builtin_amdgcn_workgroup_id_x() * TILE + x;
    const int row = __builtin_amdgcn_workgroup_id_y() * TILE + y;
    float sum = 0;
    for (int k = 0; k < n; k += TILE) {
        ta[y][x] = a[row * n + k + x];
        tb[y][x] = b[(k + y) * n + column];
        BARRIER();
        for (int i = 0; i < TILE; ++i) sum += ta[y][i] * tb[i][x];
        BARRIER();
    }
    c[row * n + column] = sum;
}

KERNEL histogram(global const uchar* in, global int* bins, global float* total, int n) {
    local int counts[256];
    local float sum;
    counts[LOCAL] = 0;
    if (LOCAL == 0) sum = 0;
    BARRIER();
    for (int i = ID; i < n; i += GROUP * 2) {
        __atomic_fetch_add(&counts[in[i]], 1, __ATOMIC_RELAXED);
        __builtin_amdgcn_ds_faddf((local float*)&sum, (float)in[i], 0, 0, 0);
    }
    BARRIER();
    __atomic_fetch_add(&bins[LOCAL], counts[LOCAL], __ATOMIC_RELAXED);
    if (LOCAL == 0) __builtin_amdgcn_global_atomic_fadd_f32(total, sum);
}

KERNEL divide(global const float* a, global const float* b, global float* q, global const double* c,
              global const double* d, global double* r) {
    const int i = ID;
    q[i] = a[i] / b[i];
    r[i] = c[i] / d[i];
}

KERNEL integers(global const long* a, global const long* b, global long* out, global uint* small) {
    const int i = ID;
    const long x = a[i], y = b[i];
    out[i] = x / y * 3 + x % y + (x >> (y & 31)) + (long)((ulong)x * (ulong)y >> 7);
    const uint u = (uint)x, v = (uint)y;
    small[i] = u / v + u % v + __builtin_popcount(u) * __builtin_clz(v | 1) + (u << 7 | u >> 25) +
               __builtin_bswap32(u) + (u > v ? u - v : v - u) + (uint)((ushort)u * (ushort)v);
}

KERNEL halves(global const half* a, global const half* b, global half* out, global float* wide) {
    const int i = ID;
    const half x = a[i], y = b[i];
    out[i] = x * y + x - y * (half)0.25f;
    wide[i] = (float)x * (float)y + (float)out[i];
}

KERNEL conversions(global const double* a, global float* f, global int* i, global uint* u,
                   global double* back) {
    const int id = ID;
    f[id] = (float)a[id];
    i[id] = (int)a[id];
    u[id] = (uint)__builtin_fabs(a[id]);
    back[id] = (double)(long)a[id] + __builtin_floor(a[id]) * __builtin_rint(a[id]);
}

// A private array with run-time indices lives in scratch memory.
KERNEL private_array(global const int* in, global int* out) {
    int stack[64];
    const int id = ID;
    for (int i = 0; i < 64; ++i) stack[i] = in[(id + i) & 1023] * (i + 1);
    int at = id & 63;
    int sum = 0;
    for (int i = 0; i < 64; ++i) {
        sum += stack[at] * i;
        at = (at * 5 + stack[(at + 1) & 63]) & 63;
    }
    out[id] = sum;
}

__attribute__((noinline)) static int collatz(int n) {
    int steps = 0;
    while (n != 1 && steps < 500) {
        n = (n & 1) ? 3 * n + 1 : n / 2;
        ++steps;
    }
    return steps;
}
KERNEL calls(global int* out) {
    const int id = ID;
    int r;
    switch (id % 5) {
    case 0: r = collatz(id + 1); break;
    case 1: r = -collatz(id + 2); break;
    case 2: r = id * id; break;
    case 3: r = collatz(id) + collatz(id + 7); break;
    default: r = 42;
    }
    out[id] = r;
}

// Generic pointers that may be local, private or global.
KERNEL generic_pointers(global int* data) {
    local int shared[GROUP];
    int mine[4];
    const int id = LOCAL;
    shared[id] = id * 3;
    for (int i = 0; i < 4; ++i) mine[i] = id + i;
    BARRIER();
    int* p = id % 3 == 0 ? (int*)&shared[(id + 1) % GROUP] : id % 3 == 1 ? (int*)&mine[id & 3] : (int*)&data[id];
    *p += 1000;
    BARRIER();
    data[GROUP + id] = *p + mine[id & 3];
}

// Sum over the wave with lane exchanges.
KERNEL wave_sum(global const int* in, global int* out) {
    int v = in[ID];
    v += __builtin_amdgcn_update_dpp(0, v, 0x111, 0xf, 0xf, true);
    v += __builtin_amdgcn_update_dpp(0, v, 0x112, 0xf, 0xf, true);
    v += __builtin_amdgcn_update_dpp(0, v, 0x114, 0xf, 0xf, true);
    v += __builtin_amdgcn_update_dpp(0, v, 0x118, 0xf, 0xf, true);
    v += __builtin_amdgcn_update_dpp(0, v, 0x142, 0xa, 0xf, false);
    v += __builtin_amdgcn_update_dpp(0, v, 0x143, 0xc, 0xf, false);
    const int total = __builtin_amdgcn_readlane(v, 63);
    const int neighbour = __builtin_amdgcn_ds_bpermute((LOCAL ^ 1) * 4, in[ID]);
    out[ID] = total * 3 + neighbour;
}
