// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// y = a * x + y, the smallest useful kernel. usage: saxpy [ELEMENTS [LAUNCHES]]
#include "check.hpp"

#include <vector>

__global__ void saxpy(int n, float a, const float* x, float* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? std::atoi(argv[1]) : 10000;
    const int launches = argc > 2 ? std::atoi(argv[2]) : 4;
    std::vector<float> x(n), y(n), want(n);
    for (int i = 0; i < n; ++i) {
        x[i] = static_cast<float>(i % 97);
        y[i] = want[i] = static_cast<float>(i % 13);
    }
    float *dx = nullptr, *dy = nullptr;
    HIP_CHECK(hipMalloc(&dx, n * sizeof(float)));
    HIP_CHECK(hipMalloc(&dy, n * sizeof(float)));
    HIP_CHECK(hipMemcpy(dx, x.data(), n * sizeof(float), hipMemcpyHostToDevice));
    HIP_CHECK(hipMemcpy(dy, y.data(), n * sizeof(float), hipMemcpyHostToDevice));
    for (int launch = 0; launch < launches; ++launch) {
        saxpy<<<(n + 255) / 256, 256>>>(n, 2.0f, dx, dy);
        for (int i = 0; i < n; ++i) want[i] = 2.0f * x[i] + want[i];
    }
    HIP_CHECK(hipGetLastError());
    HIP_CHECK(hipMemcpy(y.data(), dy, n * sizeof(float), hipMemcpyDeviceToHost));
    HIP_CHECK(hipFree(dx));
    HIP_CHECK(hipFree(dy));
    for (int i = 0; i < n; ++i) {
        if (y[i] != want[i]) {
            std::printf("saxpy: element %d is %g, expected %g\n", i, y[i], want[i]);
            return 1;
        }
    }
    std::printf("saxpy: %d launches of %d elements, all equal\n", launches, n);
    return 0;
}
