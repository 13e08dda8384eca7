// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// Starts and stops two contexts again and again through libwavetap.so on ROCr, and looks at what that
// costs once it is warm. usage: warm_start TOOL.so ROUNDS
#include <wavetap/wavetap.h>

#include <dlfcn.h>
#include <hsa/hsa.h>
#include <malloc.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

namespace {

int chunks = 0;
void on_chunk(const wavetap_chunk* chunk, void*) {
    if ((chunk->flags & WAVETAP_CHUNK_END) != 0) ++chunks;
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

} // namespace

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    setenv("HSA_TOOLS_LIB", argv[1], 1);
    MUST(hsa_init());
    void* tool = dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD);
    if (tool == nullptr) {
        std::printf("warm_start: ROCr did not load the tool\n");
        return 1;
    }
    auto get = reinterpret_cast<wavetap_session* (*)()>(dlsym(tool, "warm_session"));
    wavetap_session* session = get();
    wavetap_context contexts[2];
    for (int i = 0; i < 2; ++i) {
        wavetap_parameters parameters;
        MUST(wavetap_parameters_init(&parameters, sizeof parameters));
        parameters.se_mask = i == 0 ? 1 : 3;
        parameters.buffer_bytes = 4 << 20;
        MUST(wavetap_context_create(session, &contexts[i]));
        MUST(wavetap_context_configure(session, contexts[i], 0, &parameters, on_chunk, nullptr));
    }
    const auto round = [&] {
        for (const wavetap_context context : contexts) {
            MUST(wavetap_context_start(session, context));
            MUST(wavetap_context_stop(session, context));
        }
    };
    for (int i = 0; i < 4; ++i)
        round();
    // While one context owns the agent the other is told so at once; later it starts as ever.
    MUST(wavetap_context_start(session, contexts[0]));
    const wavetap_status second = wavetap_context_start(session, contexts[1]);
    if (second != WAVETAP_STATUS_BUSY) {
        std::printf("warm_start: a second context got status %d, not busy\n", second);
        return 1;
    }
    MUST(wavetap_context_stop(session, contexts[0]));
    MUST(wavetap_context_start(session, contexts[1]));
    MUST(wavetap_context_stop(session, contexts[1]));
    const int rounds = std::atoi(argv[2]);
    const std::string maps_before = maps();
    const auto used_before = mallinfo2().uordblks;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < rounds; ++i)
        round();
    const auto end = std::chrono::steady_clock::now();
    const auto used_after = mallinfo2().uordblks;
    const bool same_maps = maps() == maps_before;
    wavetap_statistics statistics;
    statistics.size = sizeof statistics;
    MUST(wavetap_get_statistics(session, 0, &statistics));
    std::printf("warm_start: %d rounds, %d ends, mappings %s, heap %+ld, queues %lu, us %ld\n",
                rounds, chunks, same_maps ? "same" : "changed",
                static_cast<long>(used_after) - static_cast<long>(used_before),
                static_cast<unsigned long>(statistics.queues_created),
                static_cast<long>(
                    std::chrono::duration_cast<std::chrono::microseconds>(end - begin).count() /
                    (rounds > 0 ? rounds * 2 : 1)));
    MUST(hsa_shut_down());
    return 0;
}
