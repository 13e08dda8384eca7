// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// Code objects come and go while kernels of others run: each of THREADS threads has a queue, and in each
// of ROUNDS rounds loads the code object, launches one of its kernels, checks what it wrote and unloads
// the code object, so that the next one may get its place. usage: hsa_storm CODE.elf THREADS ROUNDS
#include "soak/hsa_program.hpp"

#include <functional>
#include <thread>
#include <vector>

using namespace hsa_program;

namespace {

constexpr std::uint32_t kItems = 2048; // a group for each engine and CU place, at the least

struct FillArguments {
    std::uint32_t* out;
    std::uint32_t count, value;
};

void work(const Machine& machine, const char* code_path, int thread, int rounds) {
    hsa_queue_t* queue = nullptr;
    CHECK(hsa_queue_create(machine.gpu, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX,
                           UINT32_MAX, &queue));
    hsa_signal_t done{};
    CHECK(hsa_signal_create(1, 0, nullptr, &done));
    auto* out = static_cast<std::uint32_t*>(
        allocate(machine, machine.host_pool, kItems * sizeof(std::uint32_t)));
    const auto value = static_cast<std::uint32_t>(1000 * thread);
    for (int round = 0; round < rounds; ++round) {
        const Code own = load_file(machine.gpu, code_path);
        const bool fill = (round + thread) % 2 == 0;
        const Kernel kernel = find_kernel(own, fill ? "fill.kd" : "tick.kd");
        void* kernarg = arguments(machine, kernel, FillArguments{out, kItems, value});
        const std::uint32_t before = out[kItems - 1];
        hsa_signal_store_relaxed(done, 1);
        ring_doorbell(queue, write_dispatch(queue, kernel, kernarg, kItems, done));
        const bool ended = wait_below_one(done);
        const std::uint32_t wanted = fill ? value + kItems - 1 : before + 1;
        if (!ended || out[kItems - 1] != wanted) {
            std::fprintf(stderr, "hsa_storm: thread %d, round %d: %u is not %u\n", thread, round,
                         out[kItems - 1], wanted);
            std::exit(1);
        }
        CHECK(hsa_amd_memory_pool_free(kernarg));
        unload(own);
    }
    CHECK(hsa_signal_destroy(done));
    CHECK(hsa_queue_destroy(queue));
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: hsa_storm CODE.elf THREADS ROUNDS\n");
        return 2;
    }
    const int count = std::atoi(argv[2]), rounds = std::atoi(argv[3]);
    const Machine machine = open_machine(argv[1]);
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i)
        threads.emplace_back(work, std::cref(machine), argv[1], i, rounds);
    for (std::thread& thread : threads)
        thread.join();
    close_machine(machine);
    std::printf("hsa_storm: %d threads, %d code objects, all equal\n", count, count * rounds);
    return 0;
}
