// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// Two streams that hand each other's results on by events, with kernels of two names; checks the end.
// usage: streams [ROUNDS]
#include "../../examples/check.hpp"

#include <cstdlib>
#include <vector>

__global__ void twice(unsigned* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] *= 2;
}

__global__ void plus(unsigned* out, int n, unsigned value) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] += value;
}

int main(int argc, char** argv) {
    constexpr int kCount = 512;
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 8;
    hipStream_t first{}, second{};
    hipEvent_t there{}, back{};
    unsigned* device = nullptr;
    HIP_CHECK(hipStreamCreate(&first));
    HIP_CHECK(hipStreamCreate(&second));
    HIP_CHECK(hipEventCreateWithFlags(&there, hipEventDisableTiming));
    HIP_CHECK(hipEventCreateWithFlags(&back, hipEventDisableTiming));
    HIP_CHECK(hipMalloc(&device, kCount * sizeof(unsigned)));
    std::vector<unsigned> host(kCount);
    for (int i = 0; i < kCount; ++i) host[i] = static_cast<unsigned>(i);
    HIP_CHECK(hipMemcpy(device, host.data(), kCount * sizeof(unsigned), hipMemcpyHostToDevice));
    for (int round = 0; round < rounds; ++round) {
        twice<<<kCount / 128, 128, 0, first>>>(device, kCount);
        HIP_CHECK(hipEventRecord(there, first));
        HIP_CHECK(hipStreamWaitEvent(second, there, 0));
        plus<<<kCount / 128, 128, 0, second>>>(device, kCount, static_cast<unsigned>(round));
        HIP_CHECK(hipEventRecord(back, second));
        HIP_CHECK(hipStreamWaitEvent(first, back, 0));
    }
    HIP_CHECK(hipStreamSynchronize(first));
    HIP_CHECK(hipMemcpy(host.data(), device, kCount * sizeof(unsigned), hipMemcpyDeviceToHost));
    for (int i = 0; i < kCount; ++i) {
        unsigned expected = static_cast<unsigned>(i);
        for (int round = 0; round < rounds; ++round)
            expected = expected * 2 + static_cast<unsigned>(round);
        if (host[i] != expected) {
            std::printf("streams: element %d is %u, not %u\n", i, host[i], expected);
            return 1;
        }
    }
    HIP_CHECK(hipFree(device));
    HIP_CHECK(hipStreamDestroy(first));
    HIP_CHECK(hipStreamDestroy(second));
    std::printf("streams: %d launches, all equal\n", 2 * rounds);
    return 0;
}
