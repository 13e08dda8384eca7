// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// A histogram with atomics in local and in global memory. usage: histogram [ELEMENTS [LAUNCHES]]
#include "check.hpp"

#include <vector>

constexpr int kBins = 64;

__global__ void histogram(const unsigned char* in, int n, unsigned* bins) {
    __shared__ unsigned local[kBins];
    for (int i = threadIdx.x; i < kBins; i += blockDim.x) local[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[in[i] % kBins], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < kBins; i += blockDim.x)
        if (local[i] != 0) atomicAdd(&bins[i], local[i]);
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? std::atoi(argv[1]) : 30000;
    const int launches = argc > 2 ? std::atoi(argv[2]) : 4;
    std::vector<unsigned char> in(n);
    std::vector<unsigned> want(kBins), got(kBins);
    unsigned state = 1;
    for (int i = 0; i < n; ++i) {
        state = state * 1664525u + 1013904223u;
        in[i] = static_cast<unsigned char>((state >> 24) & (state >> 16)); // skewed on purpose
        want[in[i] % kBins] += launches;
    }
    unsigned char* din = nullptr;
    unsigned* dbins = nullptr;
    HIP_CHECK(hipMalloc(&din, n));
    HIP_CHECK(hipMalloc(&dbins, kBins * sizeof(unsigned)));
    HIP_CHECK(hipMemcpy(din, in.data(), n, hipMemcpyHostToDevice));
    HIP_CHECK(hipMemset(dbins, 0, kBins * sizeof(unsigned)));
    for (int launch = 0; launch < launches; ++launch) histogram<<<12, 256>>>(din, n, dbins);
    HIP_CHECK(hipGetLastError());
    HIP_CHECK(hipMemcpy(got.data(), dbins, kBins * sizeof(unsigned), hipMemcpyDeviceToHost));
    HIP_CHECK(hipFree(din));
    HIP_CHECK(hipFree(dbins));
    for (int b = 0; b < kBins; ++b) {
        if (got[b] != want[b]) {
            std::printf("histogram: bin %d is %u, expected %u\n", b, got[b], want[b]);
            return 1;
        }
    }
    std::printf("histogram: %d launches of %d elements, all equal\n", launches, n);
    return 0;
}
