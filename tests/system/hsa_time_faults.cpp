// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// Streaming through several buffers on a GPU that stops to answer: at the start, at a query, at a flip
// and at the stop. The deadline holds, a status with words comes back, the other agent notices nothing,
// a later start works on a new queue, and what was made is gone at the end.
// usage: hsa_time_faults FAULT_TOOL.so CODE.elf
#include "fault_tool.hpp"
#include "soak/hsa_program.hpp"

#include <wavetap/wavetap.h>

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <vector>

using namespace hsa_program;

namespace {

constexpr std::uint32_t kItems = 64 * 8 * 1200; ///< 1200 waves an engine: more than a buffer
constexpr double kScale = 0.4;                  ///< a query has 0.8 s
constexpr auto kLimit = std::chrono::seconds(40);

int g_failed = 0;
#define EXPECT(condition, ...)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            ++g_failed;                                                                            \
            std::printf("hsa_time_faults: %s: " #condition " does not hold: ", name);              \
            std::printf(__VA_ARGS__);                                                              \
            std::printf("\n");                                                                     \
        }                                                                                          \
    } while (false)

struct Tool {
    void* (*table)() = nullptr;
    long (*balance)(int) = nullptr;
    void (*hang_on)(std::uint64_t, unsigned) = nullptr;
    unsigned (*hung)() = nullptr;
    unsigned (*take_sizes)(unsigned*, unsigned) = nullptr;
};

template <class Function> void find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function == nullptr) std::exit(1);
}

struct Counts {
    std::uint64_t chunks = 0, ends = 0, lost = 0;
};
void on_chunk(const wavetap_chunk* chunk, void* user) {
    auto* counts = static_cast<Counts*>(user);
    ++counts->chunks;
    if ((chunk->flags & WAVETAP_CHUNK_END) != 0) ++counts->ends;
    if ((chunk->flags & WAVETAP_CHUNK_LOST) != 0) ++counts->lost;
}

hsa_status_t list_gpu(hsa_agent_t agent, void* data) {
    hsa_device_type_t type{};
    CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
    if (type == HSA_DEVICE_TYPE_GPU) static_cast<std::vector<hsa_agent_t>*>(data)->push_back(agent);
    return HSA_STATUS_SUCCESS;
}

/// A session with a streaming context on the first agent and one with one buffer on the second.
struct Session {
    wavetap_session* session = nullptr;
    wavetap_context contexts[2]{};
    Counts counts[2];

    Session(const Tool& tool, const char* name, double scale) {
        EXPECT(wavetap_session_open_hsa(tool.table(), scale, &session) == 0, "%s",
               wavetap_last_error());
        for (std::uint32_t i = 0; i < 2; ++i) {
            wavetap_parameters parameters;
            (void)wavetap_parameters_init(&parameters, sizeof parameters);
            parameters.buffer_bytes = 1 << 20;
            parameters.buffers = i == 0 ? 4 : 1;
            EXPECT(wavetap_context_create(session, &contexts[i]) == 0, "%s", wavetap_last_error());
            EXPECT(wavetap_context_configure(session, contexts[i], i, &parameters, on_chunk,
                                             &counts[i]) == 0,
                   "%s", wavetap_last_error());
        }
    }
    wavetap_statistics statistics(std::uint32_t agent) const {
        wavetap_statistics answer{};
        answer.size = sizeof answer;
        (void)wavetap_get_statistics(session, agent, &answer);
        return answer;
    }
};

struct Program {
    Machine machine;
    Kernel kernel;
    void* kernarg = nullptr;
    hsa_queue_t* queue = nullptr;
    hsa_signal_t done{};

    explicit Program(const char* code) : machine(open_machine(code)) {
        kernel = find_kernel(machine, "pour.kd");
        kernarg = arguments(machine, kernel, allocate(machine, machine.host_pool, 4096));
        CHECK(hsa_queue_create(machine.gpu, 256, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr,
                               UINT32_MAX, UINT32_MAX, &queue));
        CHECK(hsa_signal_create(1, 0, nullptr, &done));
    }
    void launch(const char* name) {
        hsa_signal_store_relaxed(done, 1);
        ring_doorbell(queue, write_dispatch(queue, kernel, kernarg, kItems, done));
        EXPECT(wait_below_one(done), "the kernel did not end");
    }
    void close() {
        CHECK(hsa_signal_destroy(done));
        CHECK(hsa_queue_destroy(queue));
        close_machine(machine);
    }
};

/// What the submissions of a streaming run look like.
struct Sizes {
    unsigned start = 0, query = 0, flip = 0, stop = 0;
};

Sizes learn(const Tool& tool, Program& program) {
    const char* name = "without faults";
    Session session(tool, name, 10.0);
    EXPECT(wavetap_context_start(session.session, session.contexts[0]) == 0, "%s",
           wavetap_last_error());
    program.launch(name);
    EXPECT(wavetap_context_stop(session.session, session.contexts[0]) == 0, "%s",
           wavetap_last_error());
    EXPECT(session.statistics(0).flips > 0, "no flip in %llu bytes",
           static_cast<unsigned long long>(session.statistics(0).bytes_delivered));
    std::vector<unsigned> sizes(100'000);
    sizes.resize(std::min(tool.take_sizes(sizes.data(), 100'000), 100'000U));
    EXPECT(wavetap_session_close(session.session) == 0, "%s", wavetap_last_error());
    Sizes learnt;
    if (sizes.size() < 4) return learnt;
    learnt = {sizes.front(), sizes[1], 0, sizes.back()};
    for (const unsigned size : sizes)
        if (size != learnt.start && size != learnt.query && size != learnt.stop) learnt.flip = size;
    return learnt;
}

void life(const Tool& tool, Program& program, hsa_agent_t agent, const char* name, unsigned dwords,
          bool at_start) {
    long before[kFaultSessionKinds];
    for (int i = 0; i < kFaultSessionKinds; ++i)
        before[i] = tool.balance(i);
    Session session(tool, name, kScale);
    const auto [streaming, other] = session.contexts;
    wavetap_status status = wavetap_context_start(session.session, other);
    EXPECT(status == 0, "other agent: %d %s", status, wavetap_last_error());

    // A start asks as a query does.
    if (at_start) tool.hang_on(agent.handle, dwords);
    const auto begin = std::chrono::steady_clock::now();
    status = wavetap_context_start(session.session, streaming);
    EXPECT((status == WAVETAP_STATUS_TIMEOUT) == at_start, "start: %d %s", status,
           wavetap_last_error());
    if (!at_start) {
        EXPECT(status == 0, "start: %d %s", status, wavetap_last_error());
        tool.hang_on(agent.handle, dwords);
        program.launch(name);
        status = wavetap_context_stop(session.session, streaming);
        EXPECT(status != 0 && wavetap_last_error()[0] != '\0', "nobody was told");
        EXPECT(status == WAVETAP_STATUS_TIMEOUT, "stop: %d %s", status, wavetap_last_error());
        EXPECT(session.counts[0].ends > 0, "no chunk ends the run");
    }
    EXPECT(std::chrono::steady_clock::now() - begin < kLimit, "the deadline did not hold");
    EXPECT(tool.hung() == 1, "%u submissions hung", tool.hung());
    EXPECT(session.statistics(0).deadline_misses > 0, "no deadline was missed");
    tool.hang_on(0, 0);

    // The other agent.
    status = wavetap_context_stop(session.session, other);
    EXPECT(status == 0, "other agent's stop: %d %s", status, wavetap_last_error());
    status = wavetap_context_start(session.session, other);
    EXPECT(status == 0, "other agent's later start: %d %s", status, wavetap_last_error());
    status = wavetap_context_stop(session.session, other);
    EXPECT(status == 0, "other agent's later stop: %d %s", status, wavetap_last_error());
    EXPECT(session.counts[1].ends == 2 && session.counts[1].lost == 0, "other agent's chunks");
    EXPECT(session.statistics(1).deadline_misses == 0, "the other agent was late");
    EXPECT(session.statistics(1).queues_created == 1, "the other agent's queue");

    // A later start.
    session.counts[0] = {};
    status = wavetap_context_start(session.session, streaming);
    EXPECT(status == 0, "later start: %d %s", status, wavetap_last_error());
    program.launch(name);
    status = wavetap_context_stop(session.session, streaming);
    EXPECT(status == 0, "later stop: %d %s", status, wavetap_last_error());
    EXPECT(session.counts[0].ends > 0 && session.counts[0].lost == 0, "later chunks");
    EXPECT(session.statistics(0).queues_created == 2, "the queue was not made again");
    status = wavetap_session_close(session.session);
    EXPECT(status == 0, "close: %d %s", status, wavetap_last_error());
    for (int i = 0; i < kFaultSessionKinds; ++i)
        EXPECT(tool.balance(i) == before[i], "kind %d: %ld left", i, tool.balance(i) - before[i]);
    std::printf("hsa_time_faults: %s (%u dwords) was never answered\n", name, dwords);
    (void)std::fflush(stdout);
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    setenv("HSA_TOOLS_LIB", argv[1], 1);
    Program program(argv[2]);
    void* library = dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) return 1;
    Tool tool;
    find(library, "fault_table", tool.table);
    find(library, "fault_balance", tool.balance);
    find(library, "fault_hang_on", tool.hang_on);
    find(library, "fault_hung", tool.hung);
    find(library, "fault_take_sizes", tool.take_sizes);
    std::vector<hsa_agent_t> agents;
    CHECK(hsa_iterate_agents(list_gpu, &agents));
    const Sizes sizes = learn(tool, program);
    if (agents.size() < 2 || sizes.flip == 0 || g_failed != 0) {
        std::printf("hsa_time_faults: not two agents, or no flip\n");
        return 1;
    }
    life(tool, program, agents[0], "start", sizes.start, true);
    life(tool, program, agents[0], "query", sizes.query, false);
    life(tool, program, agents[0], "flip", sizes.flip, false);
    life(tool, program, agents[0], "stop", sizes.stop, false);
    program.close();
    std::printf("hsa_time_faults: %d failed\n", g_failed);
    return g_failed == 0 ? 0 : 1;
}
