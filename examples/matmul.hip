// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// c = a * b with tiles in local memory. usage: matmul [SIZE [LAUNCHES]], SIZE a multiple of 16
#include "check.hpp"

#include <vector>

constexpr int kTile = 16;

__global__ void matmul(const float* a, const float* b, float* c, int n) {
    __shared__ float tile_a[kTile][kTile];
    __shared__ float tile_b[kTile][kTile];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * kTile + y;
    const int column = blockIdx.x * kTile + x;
    float sum = 0.0f;
    for (int k = 0; k < n; k += kTile) {
        tile_a[y][x] = a[row * n + k + x];
        tile_b[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int i = 0; i < kTile; ++i) sum += tile_a[y][i] * tile_b[i][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? std::atoi(argv[1]) : 128;
    const int launches = argc > 2 ? std::atoi(argv[2]) : 16;
    if (n <= 0 || n % kTile != 0) {
        std::fprintf(stderr, "matmul: SIZE must be a multiple of %d\n", kTile);
        return 2;
    }
    const std::size_t bytes = sizeof(float) * n * n;
    std::vector<float> a(n * n), b(n * n), c(n * n);
    for (int i = 0; i < n * n; ++i) {
        // Small whole numbers: every sum is exact in float, in any order.
        a[i] = static_cast<float>(i % 7 - 3);
        b[i] = static_cast<float>(i % 5 - 2);
    }
    float *da = nullptr, *db = nullptr, *dc = nullptr;
    HIP_CHECK(hipMalloc(&da, bytes));
    HIP_CHECK(hipMalloc(&db, bytes));
    HIP_CHECK(hipMalloc(&dc, bytes));
    HIP_CHECK(hipMemcpy(da, a.data(), bytes, hipMemcpyHostToDevice));
    HIP_CHECK(hipMemcpy(db, b.data(), bytes, hipMemcpyHostToDevice));
    const dim3 grid(n / kTile, n / kTile), block(kTile, kTile);
    for (int launch = 0; launch < launches; ++launch) matmul<<<grid, block>>>(da, db, dc, n);
    HIP_CHECK(hipGetLastError());
    HIP_CHECK(hipMemcpy(c.data(), dc, bytes, hipMemcpyDeviceToHost));
    HIP_CHECK(hipFree(da));
    HIP_CHECK(hipFree(db));
    HIP_CHECK(hipFree(dc));
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            float want = 0.0f;
            for (int k = 0; k < n; ++k) want += a[i * n + k] * b[k * n + j];
            if (c[i * n + j] != want) {
                std::printf("matmul: element (%d, %d) is %g, expected %g\n", i, j, c[i * n + j], want);
                return 1;
            }
        }
    }
    std::printf("matmul: %d launches of %dx%d, all equal\n", launches, n, n);
    return 0;
}
