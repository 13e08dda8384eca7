// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// A plain HSA program: loads a code object, launches its kernel, shuts the runtime down, so that a
// tool's OnUnload runs. usage: hsa_launch CODE.elf [LAUNCHES]
#include "soak/hsa_program.hpp"

using namespace hsa_program;

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fprintf(stderr, "usage: hsa_launch CODE.elf [LAUNCHES]\n");
        return 2;
    }
    const int launches = argc > 2 ? std::atoi(argv[2]) : 6;
    constexpr std::uint32_t kCount = 1024;
    Machine machine = open_machine(argv[1]);
    const Kernel kernel = find_kernel(machine, "fill.kd");
    auto* out = static_cast<std::uint32_t*>(
        allocate(machine, machine.host_pool, kCount * sizeof(std::uint32_t)));
    struct Arguments {
        std::uint32_t* out;
        std::uint32_t count, value;
    };
    void* kernarg = arguments(machine, kernel, Arguments{out, kCount, 0});
    hsa_queue_t* queue = nullptr;
    CHECK(hsa_queue_create(machine.gpu, 256, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX,
                           UINT32_MAX, &queue));
    hsa_signal_t done{};
    CHECK(hsa_signal_create(1, 0, nullptr, &done));

    for (int launch = 0; launch < launches; ++launch) {
        const Arguments values{out, kCount, static_cast<std::uint32_t>(launch)};
        std::memcpy(kernarg, &values, sizeof values);
        hsa_signal_store_relaxed(done, 1);
        ring_doorbell(queue, write_dispatch(queue, kernel, kernarg, kCount, done));
        if (!wait_below_one(done)) {
            std::fprintf(stderr, "hsa_launch: launch %d did not complete\n", launch);
            return 1;
        }
        for (std::uint32_t i = 0; i < kCount; ++i) {
            if (out[i] != i + static_cast<std::uint32_t>(launch)) {
                std::fprintf(stderr, "hsa_launch: element %u is %u\n", i, out[i]);
                return 1;
            }
        }
    }
    CHECK(hsa_signal_destroy(done));
    CHECK(hsa_queue_destroy(queue));
    close_machine(machine);
    std::printf("hsa_launch: %d launches, all equal\n", launches);
    return 0;
}
