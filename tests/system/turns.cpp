// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// Many contexts take turns, one a kernel, by the completions of kernels: a start in the packet
// interceptor, a stop on ROCr's handler thread, both under the one mutex of the client. At each start
// ROCr's handler thread is kept waiting for that mutex; at each stop a thread that launches into another
// queue is, inside of its interceptor. So neither may need the other's thread. The completion gate
// makes the turns exact: the program goes on only when its context was stopped.
// With HSA_TOOLS_LIB="WARM_TOOL.so LOCK_TOOL.so". usage: turns CODE.elf CONTEXTS ROTATIONS
#include "soak/hsa_program.hpp"

#include <wavetap/wavetap.h>

#include <dlfcn.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

using namespace hsa_program;

namespace {

using Writer = void (*)(const void*, std::uint64_t);
constexpr std::uint32_t kItems = 64 * 256; // a wave for every CU
constexpr auto kLimit = std::chrono::seconds(60);

void fail(const std::string& what) {
    std::printf("turns: %s: %s\n", what.c_str(), wavetap_last_error());
    (void)std::fflush(stdout);
    std::_Exit(1); // other threads are in the middle of things
}
#define MUST(call)                                                                                 \
    do {                                                                                           \
        if ((call) != WAVETAP_STATUS_SUCCESS) fail(#call);                                         \
    } while (false)
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) fail("does not hold: " #condition);                                      \
    } while (false)

/// Comes to pass once, or the program fails.
class Event {
  public:
    void set() {
        const std::lock_guard lock(mutex_);
        set_ = true;
        changed_.notify_all();
    }
    void take() {
        std::unique_lock lock(mutex_);
        EXPECT(changed_.wait_for(lock, kLimit, [this] { return set_; }));
        set_ = false;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool set_ = false;
};

struct Context {
    wavetap_context handle{};
    int engines = 0;
    // Of all runs; written on wavetap's thread until the stop returns.
    int ends = 0;
    std::uint64_t bytes = 0;
    int runs = 0;
};

wavetap_session* session = nullptr;
wavetap_gate* gate = nullptr;
std::mutex client; ///< the client's only one, for what follows
std::vector<Context> contexts;
std::size_t current = 0;
std::thread::id handler_thread;

hsa_signal_t poke{};
Event handler_waits;  ///< ROCr's handler thread is about to lock `client`
Event launcher_waits; ///< so is the other launching thread, in its interceptor
Event launch_beside;
bool over = false; ///< read after launch_beside
thread_local bool beside = false;

void on_chunk(const wavetap_chunk* chunk, void* user) {
    auto& context = *static_cast<Context*>(user);
    if ((chunk->flags & WAVETAP_CHUNK_END) != 0) ++context.ends;
    context.bytes += chunk->data_bytes;
}

bool on_poke(hsa_signal_value_t, void*) {
    hsa_signal_store_relaxed(poke, 1);
    handler_waits.set();
    const std::lock_guard lock(client);
    return true;
}

/// The kernel has ended: on ROCr's handler thread.
void on_end(void* user) {
    const std::lock_guard lock(client);
    launch_beside.set();
    launcher_waits.take();
    EXPECT(user == &contexts[current]);
    EXPECT(std::this_thread::get_id() == handler_thread || handler_thread == std::thread::id());
    handler_thread = std::this_thread::get_id();
    MUST(wavetap_context_stop(session, contexts[current].handle));
    ++contexts[current].runs;
    current = (current + 1) % contexts.size();
}

void intercept(const void* packets, std::uint64_t count, Writer writer) {
    if (beside) {
        launcher_waits.set();
        const std::lock_guard lock(client);
        writer(packets, count);
        return;
    }
    EXPECT(count == 1);
    hsa_kernel_dispatch_packet_t out[1 + WAVETAP_GATE_PACKETS];
    std::memcpy(out, packets, sizeof *out);
    const std::lock_guard lock(client);
    hsa_signal_store_screlease(poke, 0);
    handler_waits.take();
    MUST(wavetap_context_start(session, contexts[current].handle));
    std::uint32_t added = 0;
    MUST(wavetap_gate_packets(gate, on_end, &contexts[current], out[0].completion_signal.handle,
                              &out[1], &added));
    EXPECT(added == 3);
    out[0].completion_signal.handle = 0;
    writer(out, 1 + added);
}

void* symbol(const std::string& tools, bool first, const char* name) {
    const auto space = tools.find(' ');
    const std::string path = first ? tools.substr(0, space) : tools.substr(space + 1);
    void* tool = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (tool == nullptr) fail("ROCr did not load " + path);
    return dlsym(tool, name);
}

void make_contexts(std::size_t count) {
    contexts.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        wavetap_parameters parameters;
        MUST(wavetap_parameters_init(&parameters, sizeof parameters));
        parameters.target_cu = i % 4;
        parameters.se_mask = i % 2 == 0 ? 1 : 3;
        parameters.buffer_bytes = (1 + i % 2) << 20;
        contexts[i].engines = i % 2 == 0 ? 1 : 2;
        MUST(wavetap_context_create(session, &contexts[i].handle));
        MUST(wavetap_context_configure(session, contexts[i].handle, 0, &parameters, on_chunk,
                                       &contexts[i]));
    }
}

struct Lane {
    hsa_queue_t* queue = nullptr;
    hsa_signal_t done{};
    explicit Lane(const Machine& machine) {
        CHECK(hsa_queue_create(machine.gpu, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX,
                               UINT32_MAX, &queue));
        CHECK(hsa_signal_create(1, 0, nullptr, &done));
    }
    void launch(const Kernel& kernel, void* kernarg) const {
        hsa_signal_store_relaxed(done, 1);
        ring_doorbell(queue, write_dispatch(queue, kernel, kernarg, kItems, done));
        EXPECT(wait_below_one(done));
    }
    void close() const {
        CHECK(hsa_queue_destroy(queue));
        CHECK(hsa_signal_destroy(done));
    }
};

/// More than a trace in which nothing happened.
void check(std::uint64_t empty_bytes, int rotations) {
    for (const Context& context : contexts) {
        EXPECT(context.runs == rotations);
        EXPECT(context.ends == rotations * context.engines);
        const auto engines = static_cast<std::uint64_t>(rotations * context.engines);
        EXPECT(context.bytes > engines * (empty_bytes + 100));
    }
    wavetap_statistics statistics{};
    statistics.size = sizeof statistics;
    MUST(wavetap_get_statistics(session, 0, &statistics));
    EXPECT(statistics.runs == 1 + static_cast<std::uint64_t>(rotations) * contexts.size());
    EXPECT(statistics.refused == 0 && statistics.deadline_misses == 0);
    EXPECT(statistics.queues_created == 1 && statistics.threads == 1);
}

} // namespace

int main(int argc, char** argv) {
    const char* tools = std::getenv("HSA_TOOLS_LIB");
    if (argc != 4 || tools == nullptr) return 2;
    const int rotations = std::atoi(argv[3]);
    Machine machine = open_machine(argv[1]);
    session = reinterpret_cast<wavetap_session* (*)()>(symbol(tools, true, "warm_session"))();
    gate = reinterpret_cast<wavetap_gate* (*)()>(symbol(tools, true, "warm_gate"))();
    const auto lock_tool_intercept = reinterpret_cast<void (*)(decltype(&intercept))>(
        symbol(tools, false, "lock_tool_intercept"));
    make_contexts(static_cast<std::size_t>(std::atoi(argv[2])));
    const Kernel kernel = find_kernel(machine, "tick.kd");
    void* kernarg =
        arguments(machine, kernel, allocate(machine, machine.host_pool, kItems * sizeof(int)));
    const Lane turns(machine), other(machine);
    CHECK(hsa_signal_create(1, 0, nullptr, &poke));
    CHECK(hsa_amd_signal_async_handler(poke, HSA_SIGNAL_CONDITION_LT, 1, on_poke, nullptr));
    MUST(wavetap_context_start(session, contexts[0].handle));
    MUST(wavetap_context_stop(session, contexts[0].handle));
    const std::uint64_t empty_bytes = contexts[0].bytes;
    contexts[0].bytes = 0;
    contexts[0].ends = 0;

    lock_tool_intercept(intercept);
    Event launched;
    std::thread launcher([&] {
        beside = true;
        for (launch_beside.take(); !over; launch_beside.take()) {
            other.launch(kernel, kernarg);
            launched.set();
        }
    });
    const std::size_t launches = contexts.size() * static_cast<std::size_t>(rotations);
    for (std::size_t i = 0; i < launches; ++i) {
        turns.launch(kernel, kernarg);
        {
            const std::lock_guard lock(client);
            EXPECT(current == (i + 1) % contexts.size());
        }
        launched.take();
    }
    over = true;
    launch_beside.set();
    launcher.join();
    lock_tool_intercept(nullptr);
    check(empty_bytes, rotations);
    turns.close();
    other.close();
    CHECK(hsa_signal_destroy(poke));
    std::printf("turns: %zu turns of %zu contexts, each in its order\n", launches, contexts.size());
    close_machine(machine);
    return 0;
}
