// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// Starts and stops two contexts again and again through libwavetap.so on ROCr, and looks at what that
// costs once it is warm; then the same with resources that each context makes for itself and gives
// back. usage: warm_start TOOL.so ROUNDS
#include "softgpu/kfd/uapi.hpp"

#include <wavetap/wavetap.h>

#include <dlfcn.h>
#include <hsa/hsa.h>
#include <malloc.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

namespace {

int chunks = 0;
void on_chunk(const wavetap_chunk* chunk, void*) {
    if ((chunk->flags & WAVETAP_CHUNK_END) != 0) ++chunks;
}

/// What the process has asked the driver and the system for.
struct Counts {
    std::uint64_t ioctls = 0, queues = 0, device_bytes = 0, host_bytes = 0, mmaps = 0;
    Counts operator-(const Counts& o) const {
        return {ioctls - o.ioctls, queues - o.queues, device_bytes - o.device_bytes,
                host_bytes - o.host_bytes, mmaps - o.mmaps};
    }
};
std::atomic<std::uint64_t> ioctls, queues, device_bytes, host_bytes, mmaps;
Counts counts() {
    return {ioctls, queues, device_bytes, host_bytes, mmaps};
}

std::string maps() {
    std::ifstream file("/proc/self/maps");
    std::string line, all;
    while (std::getline(file, line))
        if (line.find("[heap]") == std::string::npos) all += line.substr(0, line.find(' ')) + "\n";
    return all;
}

#define MUST(call)                                                                                 \
    do {                                                                                           \
        if ((call) != 0) {                                                                         \
            std::printf("warm_start: %s failed: %s\n", #call, wavetap_last_error());               \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (false)

wavetap_context make_context(wavetap_session* session, int number) {
    wavetap_context context;
    wavetap_parameters parameters;
    MUST(wavetap_parameters_init(&parameters, sizeof parameters));
    parameters.se_mask = number == 0 ? 1 : 3;
    parameters.buffer_bytes = 4 << 20;
    MUST(wavetap_context_create(session, &context));
    MUST(wavetap_context_configure(session, context, 0, &parameters, on_chunk, nullptr));
    return context;
}

/// `switches` are one start and one stop each.
template <class Call> void measure(const char* name, int switches, Call call) {
    const Counts before = counts();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < switches; ++i)
        call(i % 2);
    const auto end = std::chrono::steady_clock::now();
    const Counts cost = counts() - before;
    std::printf("warm_start: %s: %d switches, ioctls %lu, queues %lu, device bytes %lu, host bytes "
                "%lu, mmaps %lu, us %ld\n",
                name, switches, cost.ioctls, cost.queues, cost.device_bytes, cost.host_bytes,
                cost.mmaps,
                static_cast<long>(
                    std::chrono::duration_cast<std::chrono::microseconds>(end - begin).count() /
                    (switches > 0 ? switches : 1)));
}

/// While one context owns the agent the other is told so at once; later it starts as ever.
void check_busy(wavetap_session* session, const wavetap_context (&contexts)[2]) {
    MUST(wavetap_context_start(session, contexts[0]));
    const wavetap_status second = wavetap_context_start(session, contexts[1]);
    if (second != WAVETAP_STATUS_BUSY) {
        std::printf("warm_start: a second context got status %d, not busy\n", second);
        std::exit(1);
    }
    MUST(wavetap_context_stop(session, contexts[0]));
    MUST(wavetap_context_start(session, contexts[1]));
    MUST(wavetap_context_stop(session, contexts[1]));
}

} // namespace

// Stand before those of the software GPU and of the C library, for everything in the process.

extern "C" __attribute__((visibility("default"))) int ioctl(int file, unsigned long request, ...) {
    using Ioctl = int (*)(int, unsigned long, void*);
    static const auto real = reinterpret_cast<Ioctl>(dlsym(RTLD_NEXT, "ioctl"));
    va_list list;
    va_start(list, request);
    void* argument = va_arg(list, void*);
    va_end(list);
    ++ioctls;
    namespace kfd = wavetap::softgpu::kfd;
    const auto kind = static_cast<kfd::Request>(request & 0xff);
    const bool driver = (request >> 8 & 0xff) == 'K';
    if (driver && kind == kfd::Request::kCreateQueue) ++queues;
    if (driver && kind == kfd::Request::kAllocMemory) {
        const auto* wanted = static_cast<const kfd::AllocMemoryArgs*>(argument);
        ((wanted->flags & kfd::kMemoryVram) != 0 ? device_bytes : host_bytes) += wanted->size;
    }
    return real(file, request, argument);
}
extern "C" __attribute__((visibility("default"))) void*
mmap(void* address, std::size_t bytes, int access, int flags, int file, off_t offset) noexcept {
    using Mmap = void* (*)(void*, std::size_t, int, int, int, off_t);
    static const auto real = reinterpret_cast<Mmap>(dlsym(RTLD_NEXT, "mmap"));
    ++mmaps;
    return real(address, bytes, access, flags, file, offset);
}

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    setenv("HSA_TOOLS_LIB", argv[1], 1);
    MUST(hsa_init());
    void* tool = dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD);
    if (tool == nullptr) {
        std::printf("warm_start: ROCr did not load the tool\n");
        return 1;
    }
    wavetap_session* session =
        reinterpret_cast<wavetap_session* (*)()>(dlsym(tool, "warm_session"))();
    void* table = reinterpret_cast<void* (*)()>(dlsym(tool, "warm_table"))();
    const wavetap_context contexts[2] = {make_context(session, 0), make_context(session, 1)};
    const auto warm = [&](int number) {
        MUST(wavetap_context_start(session, contexts[number]));
        MUST(wavetap_context_stop(session, contexts[number]));
    };
    for (int i = 0; i < 8; ++i)
        warm(i % 2);
    check_busy(session, contexts);
    const int rounds = std::atoi(argv[2]);
    const std::string maps_before = maps();
    const auto used_before = mallinfo2().uordblks;
    measure("shared", 2 * rounds, warm);
    const auto used_after = mallinfo2().uordblks;
    const bool same_maps = maps() == maps_before;
    wavetap_statistics statistics;
    statistics.size = sizeof statistics;
    MUST(wavetap_get_statistics(session, 0, &statistics));
    std::printf("warm_start: %d rounds, %d ends, mappings %s, heap %+ld, queues %lu\n", rounds,
                chunks, same_maps ? "same" : "changed",
                static_cast<long>(used_after) - static_cast<long>(used_before),
                static_cast<unsigned long>(statistics.queues_created));
    // A queue, slots and a thread of its own for each context, made for its turn.
    constexpr int kColdSwitches = 10;
    measure("apart", kColdSwitches, [&](int number) {
        wavetap_session* own = nullptr;
        MUST(wavetap_session_open_hsa(table, 30.0, &own));
        const wavetap_context context = make_context(own, number);
        MUST(wavetap_context_start(own, context));
        MUST(wavetap_context_stop(own, context));
        MUST(wavetap_session_close(own));
    });
    MUST(hsa_shut_down());
    return 0;
}
