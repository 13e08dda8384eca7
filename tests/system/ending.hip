// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// A HIP program that ends in a way of your choice after its launches, for tests of finalisation.
// usage: ending HOW [LAUNCHES], HOW = return | exit | _exit | kill | segv | gpu-fault | fork (the child
// exits first) | none (no launch)
#include "../../examples/check.hpp"

#include <csignal>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

__global__ void fill(int* out, int n, int value) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = value + i;
}

int main(int argc, char** argv) {
    const std::string how = argc > 1 ? argv[1] : "return";
    const int launches = how == "none" ? 0 : argc > 2 ? std::atoi(argv[2]) : 6;
    constexpr int kCount = 4096;
    int* device = nullptr;
    static int host[kCount];
    HIP_CHECK(hipMalloc(&device, sizeof host));
    for (int launch = 0; launch < launches; ++launch) {
        fill<<<kCount / 256, 256>>>(device, kCount, launch);
        HIP_CHECK(hipGetLastError());
        HIP_CHECK(hipMemcpy(host, device, sizeof host, hipMemcpyDeviceToHost));
        for (int i = 0; i < kCount; ++i) {
            if (host[i] != launch + i) {
                std::printf("ending: element %d is %d\n", i, host[i]);
                return 1;
            }
        }
    }
    std::printf("ending: %d launches, all equal\n", launches);
    std::fflush(stdout);
    if (how == "exit") std::exit(3);
    if (how == "_exit") ::_exit(4);
    if (how == "kill") ::kill(::getpid(), SIGKILL);
    if (how == "segv") ::raise(SIGSEGV);
    if (how == "gpu-fault") {
        fill<<<1, 64>>>(reinterpret_cast<int*>(0x123456789000), 64, 0);
        static_cast<void>(hipDeviceSynchronize());
        std::printf("ending: the fault was not reported\n");
        return 1;
    }
    if (how == "fork") {
        const pid_t child = ::fork();
        if (child == 0) std::exit(0);
        int status = 0; // the runtime itself does not survive exit() in a forked child
        return child < 0 || ::waitpid(child, &status, 0) != child ? 1 : 0;
    }
    return how == "return" || how == "none" ? 0 : 2;
}
