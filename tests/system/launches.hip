// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// A HIP program that launches without waiting, from several threads with a stream each, and checks the
// sums at the end. usage: launches [LAUNCHES] [THREADS]
#include "../../examples/check.hpp"

#include <cstdlib>
#include <thread>
#include <vector>

__global__ void add(unsigned* out, int n, unsigned value) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] += value + i;
}

namespace {

constexpr int kCount = 256;

int worker(int launches, unsigned seed) {
    hipStream_t stream{};
    unsigned* device = nullptr;
    HIP_CHECK(hipStreamCreate(&stream));
    HIP_CHECK(hipMalloc(&device, kCount * sizeof(unsigned)));
    HIP_CHECK(hipMemsetAsync(device, 0, kCount * sizeof(unsigned), stream));
    unsigned sum = 0;
    for (int launch = 0; launch < launches; ++launch) {
        const unsigned value = seed + static_cast<unsigned>(launch);
        add<<<kCount / 128, 128, 0, stream>>>(device, kCount, value);
        HIP_CHECK(hipGetLastError());
        sum += value;
    }
    std::vector<unsigned> host(kCount);
    HIP_CHECK(hipMemcpyAsync(host.data(), device, kCount * sizeof(unsigned), hipMemcpyDeviceToHost,
                             stream));
    HIP_CHECK(hipStreamSynchronize(stream));
    for (unsigned i = 0; i < kCount; ++i) {
        const unsigned expected = sum + static_cast<unsigned>(launches) * i;
        if (host[i] != expected) {
            std::printf("launches: element %u is %u, not %u\n", i, host[i], expected);
            return 1;
        }
    }
    HIP_CHECK(hipFree(device));
    HIP_CHECK(hipStreamDestroy(stream));
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    const int launches = argc > 1 ? std::atoi(argv[1]) : 100;
    const int threads = argc > 2 ? std::atoi(argv[2]) : 1;
    std::vector<std::thread> running;
    std::vector<int> failed(static_cast<std::size_t>(threads), 1);
    for (int t = 0; t < threads; ++t)
        running.emplace_back([&, t] {
            failed[static_cast<std::size_t>(t)] = worker(launches, static_cast<unsigned>(t) * 1000);
        });
    for (auto& thread : running) thread.join();
    for (const int status : failed)
        if (status != 0) return 1;
    std::printf("launches: %d x %d, all equal\n", threads, launches);
    return 0;
}
