// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// For every kind of call that wavetap makes into ROCr, and for every n: the n-th call fails. Something
// gets a status with words, nothing crashes or hangs, a later start works, and when the session is
// closed everything that was made is gone again. usage: hsa_faults FAULT_TOOL.so
#include "fault_tool.hpp"

#include <wavetap/wavetap.h>

#include <dlfcn.h>
#include <hsa/hsa.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr const char* kNames[kFaultKinds] = {"queue_create",
                                             "signal_create",
                                             "memory_allocate",
                                             "allow_access",
                                             "memory_copy",
                                             "queue_destroy",
                                             "signal_destroy",
                                             "memory_free",
                                             "",
                                             "",
                                             "",
                                             "iterate_agents",
                                             "agent_get_info",
                                             "iterate_pools",
                                             "pool_get_info"};
constexpr unsigned kMostCalls = 500; ///< of one kind in a life of a session

int g_failed = 0;
#define EXPECT(condition, ...)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            ++g_failed;                                                                            \
            std::printf("hsa_faults: %s, call %u: " #condition " does not hold: ", name, n);       \
            std::printf(__VA_ARGS__);                                                              \
            std::printf("\n");                                                                     \
        }                                                                                          \
    } while (false)

struct Faults {
    void* (*table)();
    void (*at)(int, unsigned);
    unsigned (*calls)();
    long (*balance)(int);
};

struct Counts {
    int ends = 0, lost = 0;
};
/// Which second context a life has: one buffer and two engines, or three buffers and one engine.
enum class Second { kOneBuffer, kThreeBuffers };

void on_chunk(const wavetap_chunk* chunk, void* user) {
    auto* counts = static_cast<Counts*>(user);
    if ((chunk->flags & WAVETAP_CHUNK_END) != 0) ++counts->ends;
    if ((chunk->flags & WAVETAP_CHUNK_LOST) != 0) ++counts->lost;
}

/// Anything but success must have words.
bool fine(wavetap_status status, int& statuses) {
    if (status == WAVETAP_STATUS_SUCCESS) return true;
    ++statuses;
    return wavetap_last_error()[0] != '\0' && status != WAVETAP_STATUS_INTERNAL;
}

/// A life of a session with the n-th call of `kind` failing. Returns whether that call was made.
bool life(const Faults& faults, Second second, int kind, unsigned n) {
    const char* name = kNames[kind];
    long before[kFaultSessionKinds];
    for (int i = 0; i < kFaultSessionKinds; ++i)
        before[i] = faults.balance(i);
    int statuses = 0;
    Counts counts[2];
    faults.at(kind, n);
    wavetap_session* session = nullptr;
    wavetap_status status = wavetap_session_open_hsa(faults.table(), 30.0, &session);
    EXPECT(status == WAVETAP_STATUS_SUCCESS, "%s", wavetap_last_error());
    if (session == nullptr) return false;
    wavetap_context contexts[2];
    const bool streams = second == Second::kThreeBuffers;
    const int engines[2] = {1, streams ? 1 : 2};
    for (int i = 0; i < 2; ++i) {
        wavetap_parameters parameters;
        (void)wavetap_parameters_init(&parameters, sizeof parameters);
        parameters.se_mask = engines[i] == 1 ? 1 : 3;
        parameters.buffers = i == 1 && streams ? 3 : 1;
        parameters.buffer_bytes = i == 0 ? 1 << 20 : 2 << 20;
        EXPECT(wavetap_context_create(session, &contexts[i]) == 0, "%s", wavetap_last_error());
        EXPECT(wavetap_context_configure(session, contexts[i], 0, &parameters, on_chunk,
                                         &counts[i]) == 0,
               "%s", wavetap_last_error());
    }
    // A trace each, the second larger than the first; code objects before and while it runs.
    for (std::uint64_t i = 0; i < 2; ++i) {
        EXPECT(fine(wavetap_code_object_loaded(session, 0, 2 * i + 1, 0x10000, 0x1000), statuses),
               "%s", wavetap_last_error());
        status = wavetap_context_start(session, contexts[i]);
        EXPECT(fine(status, statuses), "start: %d %s", status, wavetap_last_error());
        EXPECT(fine(wavetap_code_object_loaded(session, 0, 2 * i + 2, 0x20000, 0x1000), statuses),
               "%s", wavetap_last_error());
        status = wavetap_context_stop(session, contexts[i]);
        EXPECT(fine(status, statuses), "stop: %d %s", status, wavetap_last_error());
    }
    const bool reached = faults.calls() >= n;
    const bool gives_back = kind >= kFaultQueueDestroy;
    // Somebody is told, or nothing is missing: memory that the plan for all contexts did not get is
    // tried again at the size of the one that starts.
    const bool whole = counts[0].ends == engines[0] && counts[1].ends == engines[1];
    EXPECT(!reached || gives_back || whole || statuses > 0 || counts[0].lost + counts[1].lost > 0,
           "nobody was told");
    // Without faults everything works again.
    faults.at(-1, 0);
    for (int i = 0; i < 2; ++i) {
        counts[i] = {};
        status = wavetap_context_start(session, contexts[i]);
        EXPECT(status == 0, "later start: %d %s", status, wavetap_last_error());
        status = wavetap_context_stop(session, contexts[i]);
        EXPECT(status == 0, "later stop: %d %s", status, wavetap_last_error());
        EXPECT(counts[i].ends == engines[i] && counts[i].lost == 0, "%d ends, %d lost",
               counts[i].ends, counts[i].lost);
    }
    // What gives back is called at the end at the latest.
    const bool late = gives_back && !reached;
    if (late) faults.at(kind, n);
    status = wavetap_session_close(session);
    EXPECT(fine(status, statuses), "close: %d %s", status, wavetap_last_error());
    const bool reached_late = late && faults.calls() >= n;
    faults.at(-1, 0);
    for (int i = 0; i < kFaultSessionKinds; ++i) {
        // A call that fails to give back keeps its own thing, and a queue that stays keeps what the
        // GPU could still use.
        if (gives_back && (reached || reached_late)) continue;
        EXPECT(faults.balance(i) == before[i], "%s: %ld left", kNames[i],
               faults.balance(i) - before[i]);
    }
    return reached || reached_late;
}

/// The n-th call that looks for agents and pools fails: there is no session, or it has no agents yet.
bool discovery(const Faults& faults, int kind, unsigned n) {
    const char* name = kNames[kind];
    faults.at(kind, n);
    wavetap_session* session = nullptr;
    const wavetap_status opened = wavetap_session_open_hsa(faults.table(), 30.0, &session);
    const bool reached = faults.calls() >= n;
    int statuses = 0;
    EXPECT(fine(opened, statuses) && statuses == (reached ? 1 : 0), "open: %d %s", opened,
           wavetap_last_error());
    EXPECT((session == nullptr) == reached, "a session of half an agent");
    if (session != nullptr) {
        EXPECT(wavetap_session_close(session) == 0, "%s", wavetap_last_error());
        return reached;
    }
    EXPECT(wavetap_session_open(30.0, &session) == 0, "%s", wavetap_last_error());
    faults.at(kind, n);
    const wavetap_status attached = wavetap_session_attach_hsa(session, faults.table());
    EXPECT(fine(attached, statuses) && statuses == 2, "attach: %d %s", attached,
           wavetap_last_error());
    std::uint32_t agents = 1;
    EXPECT(wavetap_agent_count(session, &agents) == 0 && agents == 0, "%u agents", agents);
    faults.at(-1, 0);
    EXPECT(wavetap_session_attach_hsa(session, faults.table()) == 0, "later attach: %s",
           wavetap_last_error());
    wavetap_agent_info info{};
    info.size = sizeof info;
    EXPECT(wavetap_agent_get_info(session, 0, &info) == 0 && info.shader_engines == 8 &&
               std::strcmp(info.name, "gfx90a") == 0,
           "%s with %u engines", info.name, info.shader_engines);
    EXPECT(wavetap_session_close(session) == 0, "%s", wavetap_last_error());
    return reached;
}

/// Started before hsa_init(): one context that stays wanted, one that is stopped again.
wavetap_session* start_early(wavetap_context (&contexts)[2], Counts (&counts)[2]) {
    const char* name = "before hsa_init";
    const unsigned n = 0;
    wavetap_session* session = nullptr;
    EXPECT(wavetap_session_open(30.0, &session) == 0, "%s", wavetap_last_error());
    for (int i = 0; i < 2; ++i) {
        wavetap_parameters parameters;
        (void)wavetap_parameters_init(&parameters, sizeof parameters);
        parameters.buffer_bytes = 1 << 20;
        EXPECT(wavetap_context_create(session, &contexts[i]) == 0, "%s", wavetap_last_error());
        EXPECT(wavetap_context_configure(session, contexts[i], 0, &parameters, on_chunk,
                                         &counts[i]) == 0,
               "%s", wavetap_last_error());
        EXPECT(wavetap_context_start(session, contexts[i]) == 0, "%s", wavetap_last_error());
        int pending = 0, running = 1;
        EXPECT(wavetap_context_is_pending(session, contexts[i], &pending) == 0 && pending == 1,
               "not pending");
        EXPECT(wavetap_context_is_running(session, contexts[i], &running) == 0 && running == 0,
               "running without a GPU");
    }
    EXPECT(wavetap_context_stop(session, contexts[0]) == 0, "%s", wavetap_last_error());
    EXPECT(wavetap_session_attach_hsa(session, nullptr) == WAVETAP_STATUS_INVALID_ARGUMENT,
           "a null table was taken");
    return session;
}

void attach_early(wavetap_session* session, void* table, const wavetap_context (&contexts)[2],
                  const Counts (&counts)[2]) {
    const char* name = "before hsa_init";
    const unsigned n = 0;
    EXPECT(wavetap_session_attach_hsa(session, table) == 0, "%s", wavetap_last_error());
    for (int i = 0; i < 2; ++i) {
        int running = -1;
        EXPECT(wavetap_context_is_running(session, contexts[i], &running) == 0 && running == i,
               "context %d: %d", i, running);
    }
    EXPECT(wavetap_session_attach_hsa(session, table) == WAVETAP_STATUS_WRONG_STATE,
           "attached twice");
    EXPECT(wavetap_context_stop(session, contexts[1]) == 0, "%s", wavetap_last_error());
    EXPECT(counts[0].ends == 0 && counts[1].ends == 1, "%d and %d ends", counts[0].ends,
           counts[1].ends);
    EXPECT(wavetap_session_close(session) == 0, "%s", wavetap_last_error());
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    wavetap_context early[2];
    Counts early_counts[2];
    wavetap_session* early_session = start_early(early, early_counts);
    setenv("HSA_TOOLS_LIB", argv[1], 1);
    if (hsa_init() != HSA_STATUS_SUCCESS) return 1;
    void* tool = dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD);
    if (tool == nullptr) {
        std::printf("hsa_faults: ROCr did not load the tool\n");
        return 1;
    }
    Faults faults{};
    faults.table = reinterpret_cast<void* (*)()>(dlsym(tool, "fault_table"));
    faults.at = reinterpret_cast<void (*)(int, unsigned)>(dlsym(tool, "fault_at"));
    faults.calls = reinterpret_cast<unsigned (*)()>(dlsym(tool, "fault_calls"));
    faults.balance = reinterpret_cast<long (*)(int)>(dlsym(tool, "fault_balance"));
    attach_early(early_session, faults.table(), early, early_counts);
    const auto every_call = [](int kind, const char* words, auto one_life) {
        unsigned n = 1;
        while (n < kMostCalls && one_life(n))
            ++n;
        std::printf("hsa_faults: %s: %u calls failed, one in each life of a session%s\n",
                    kNames[kind], n - 1, words);
        if (n == 1 || n == kMostCalls) ++g_failed;
        (void)std::fflush(stdout);
    };
    for (int kind = 0; kind < kFaultSessionKinds; ++kind) {
        every_call(kind, "", [&](unsigned n) { return life(faults, Second::kOneBuffer, kind, n); });
        every_call(kind, " with three buffers",
                   [&](unsigned n) { return life(faults, Second::kThreeBuffers, kind, n); });
    }
    for (int kind = kFaultDiscovery; kind < kFaultKinds; ++kind)
        every_call(kind, "", [&](unsigned n) { return discovery(faults, kind, n); });
    if (hsa_shut_down() != HSA_STATUS_SUCCESS) ++g_failed;
    std::printf("hsa_faults: %d failed\n", g_failed);
    return g_failed == 0 ? 0 : 1;
}
