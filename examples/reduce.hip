// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// A branchy reduction in local memory: sums the positive elements of each block, counts the rest.
// usage: reduce [ELEMENTS [LAUNCHES]]
#include "check.hpp"

#include <vector>

constexpr int kBlock = 256;

__global__ void reduce(const int* in, int n, int* sums, int* negatives) {
    __shared__ int sum[kBlock];
    __shared__ int negative[kBlock];
    const int t = threadIdx.x;
    int mine = 0, skipped = 0;
    for (int i = blockIdx.x * kBlock + t; i < n; i += gridDim.x * kBlock) {
        const int v = in[i];
        if (v > 0) {
            mine += v;
        } else if (v < 0) {
            ++skipped;
        }
    }
    sum[t] = mine;
    negative[t] = skipped;
    __syncthreads();
    for (int half = kBlock / 2; half > 0; half /= 2) {
        if (t < half) {
            sum[t] += sum[t + half];
            negative[t] += negative[t + half];
        }
        __syncthreads();
    }
    if (t == 0) {
        sums[blockIdx.x] = sum[0];
        negatives[blockIdx.x] = negative[0];
    }
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? std::atoi(argv[1]) : 20000;
    const int launches = argc > 2 ? std::atoi(argv[2]) : 4;
    constexpr int kBlocks = 16;
    std::vector<int> in(n);
    long long want_sum = 0, want_negative = 0;
    unsigned state = 12345;
    for (int i = 0; i < n; ++i) {
        state = state * 1664525u + 1013904223u;
        in[i] = static_cast<int>(state >> 20) - 2048;
        if (in[i] > 0) want_sum += in[i];
        if (in[i] < 0) ++want_negative;
    }
    int *din = nullptr, *dsums = nullptr, *dnegatives = nullptr;
    HIP_CHECK(hipMalloc(&din, n * sizeof(int)));
    HIP_CHECK(hipMalloc(&dsums, kBlocks * sizeof(int)));
    HIP_CHECK(hipMalloc(&dnegatives, kBlocks * sizeof(int)));
    HIP_CHECK(hipMemcpy(din, in.data(), n * sizeof(int), hipMemcpyHostToDevice));
    for (int launch = 0; launch < launches; ++launch) {
        HIP_CHECK(hipMemset(dsums, 0, kBlocks * sizeof(int)));
        reduce<<<kBlocks, kBlock>>>(din, n, dsums, dnegatives);
        HIP_CHECK(hipGetLastError());
        int sums[kBlocks], negatives[kBlocks];
        HIP_CHECK(hipMemcpy(sums, dsums, sizeof sums, hipMemcpyDeviceToHost));
        HIP_CHECK(hipMemcpy(negatives, dnegatives, sizeof negatives, hipMemcpyDeviceToHost));
        long long sum = 0, negative = 0;
        for (int b = 0; b < kBlocks; ++b) {
            sum += sums[b];
            negative += negatives[b];
        }
        if (sum != want_sum || negative != want_negative) {
            std::printf("reduce: launch %d gave %lld and %lld, expected %lld and %lld\n", launch, sum,
                        negative, want_sum, want_negative);
            return 1;
        }
    }
    HIP_CHECK(hipFree(din));
    HIP_CHECK(hipFree(dsums));
    HIP_CHECK(hipFree(dnegatives));
    std::printf("reduce: %d launches of %d elements, all equal\n", launches, n);
    return 0;
}
