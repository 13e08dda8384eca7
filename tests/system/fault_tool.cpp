// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// A tool that keeps ROCr's API table, and a copy of it in which the n-th call of a kind fails, or a
// queue stops to see what is submitted. A session that is opened on the copy meets those failures; the
// application does not. With WAVETAP_FAULT_INNER=TOOL.so that tool is loaded on the copy, the
// WAVETAP_FAULT_CALL-th call of kind WAVETAP_FAULT_KIND fails, and the end says what was counted.
#include "fault_tool.hpp"

#include <dlfcn.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

// Of ROCr 5.2.3, as wavetap::rocr::layout_5_2 has it (its test compares with the installed header).
namespace {

constexpr std::size_t kRootBytes = 48, kHeaderBytes = 16, kCoreEntries = 125, kAmdEntries = 48;

struct Table {
    std::byte header[kHeaderBytes];
    void* functions[kCoreEntries];
};
struct Root {
    std::byte header[kHeaderBytes];
    Table* core;
    Table* amd;
    void* rest[2];
};
static_assert(sizeof(Root) == kRootBytes);

Table g_core, g_amd, g_own_core, g_own_amd;
Root g_root;
std::atomic<int> g_kind{-1};
std::atomic<unsigned> g_fail_at{0}, g_calls{0};
std::atomic<long> g_balance[kFaultKinds];

bool fails(FaultKind kind) {
    if (g_kind.load() != kind) return false;
    return ++g_calls == g_fail_at.load();
}

template <class Function> Function* core(std::size_t index) {
    return reinterpret_cast<Function*>(g_core.functions[index]);
}
template <class Function> Function* amd(std::size_t index) {
    return reinterpret_cast<Function*>(g_amd.functions[index]);
}

enum : std::size_t { kQueueCreate = 7, kQueueDestroy = 9, kSignalCreate = 37, kSignalDestroy = 38 };
enum : std::size_t { kSignalStore = 42, kIterateAgents = 5, kAgentInfo = 6 };
enum : std::size_t { kPoolInfo = 11, kIteratePools = 12 };
enum : std::size_t { kAsyncHandler = 7, kAllocate = 13, kFree = 14, kCopy = 15, kAllowAccess = 17 };
enum : std::size_t { kInterceptCreate = 35, kInterceptRegister = 36 };

/// Queues made through the copy.
struct Queue {
    hsa_queue_t* queue = nullptr;
    std::uint64_t agent = 0;
    bool hung = false; ///< its doorbell is not rung any more
};
std::mutex g_queues_mutex;
std::vector<Queue> g_queues;
std::vector<unsigned> g_sizes; ///< dwords of the last command buffer of each submission
std::uint64_t g_hang_agent = 0;
unsigned g_hang_dwords = 0; ///< 0: none hangs
std::atomic<unsigned> g_hung{0};
bool (*g_inner_load)(void*, std::uint64_t, std::uint64_t, const char* const*) = nullptr;
void (*g_inner_unload)() = nullptr;

void count(FaultKind kind, hsa_status_t status, long step) {
    if (status == HSA_STATUS_SUCCESS) g_balance[kind] += step;
}

hsa_status_t queue_create(hsa_agent_t agent, std::uint32_t size, hsa_queue_type32_t type,
                          void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data,
                          std::uint32_t private_bytes, std::uint32_t group_bytes,
                          hsa_queue_t** queue) {
    if (fails(kFaultQueueCreate)) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    const hsa_status_t status = core<decltype(hsa_queue_create)>(kQueueCreate)(
        agent, size, type, callback, data, private_bytes, group_bytes, queue);
    count(kFaultQueueCreate, status, 1);
    const std::lock_guard lock(g_queues_mutex);
    if (status == HSA_STATUS_SUCCESS) g_queues.push_back({*queue, agent.handle, false});
    return status;
}
hsa_status_t queue_destroy(hsa_queue_t* queue) {
    // Of those that wavetap made; the application's pass.
    std::unique_lock lock(g_queues_mutex);
    const auto is_it = [queue](const Queue& one) { return one.queue == queue; };
    if (std::any_of(g_queues.begin(), g_queues.end(), is_it) && fails(kFaultQueueDestroy))
        return HSA_STATUS_ERROR;
    std::erase_if(g_queues, is_it);
    lock.unlock();
    const hsa_status_t status = core<decltype(hsa_queue_destroy)>(kQueueDestroy)(queue);
    count(kFaultQueueCreate, status, -1);
    return status;
}
/// Whether the GPU is not to see this submission.
bool withheld(hsa_signal_t signal, hsa_signal_value_t value) {
    const std::lock_guard lock(g_queues_mutex);
    for (Queue& queue : g_queues) {
        if (queue.queue->doorbell_signal.handle != signal.handle) continue;
        const auto* ring = static_cast<const std::uint32_t(*)[16]>(queue.queue->base_address);
        const unsigned dwords =
            ring[static_cast<std::uint64_t>(value) % queue.queue->size][4] & 0xfffff;
        g_sizes.push_back(dwords);
        if (queue.agent == g_hang_agent && dwords == g_hang_dwords) {
            g_hang_dwords = 0;
            queue.hung = true;
            ++g_hung;
        }
        return queue.hung;
    }
    return false;
}
void signal_store(hsa_signal_t signal, hsa_signal_value_t value) {
    if (!withheld(signal, value))
        core<decltype(hsa_signal_store_screlease)>(kSignalStore)(signal, value);
}
hsa_status_t intercept_create(hsa_agent_t agent, std::uint32_t size, hsa_queue_type32_t type,
                              void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data,
                              std::uint32_t private_bytes, std::uint32_t group_bytes,
                              hsa_queue_t** queue) {
    if (fails(kFaultInterceptCreate)) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    const hsa_status_t status = amd<decltype(hsa_queue_create)>(kInterceptCreate)(
        agent, size, type, callback, data, private_bytes, group_bytes, queue);
    count(kFaultQueueCreate, status, 1);
    return status;
}
hsa_status_t intercept_register(hsa_queue_t* queue, void* handler, void* data) {
    if (fails(kFaultInterceptRegister)) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    return amd<hsa_status_t(hsa_queue_t*, void*, void*)>(kInterceptRegister)(queue, handler, data);
}
hsa_status_t async_handler(hsa_signal_t signal, hsa_signal_condition_t condition,
                           hsa_signal_value_t value, hsa_amd_signal_handler handler, void* data) {
    if (fails(kFaultAsyncHandler)) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    return amd<decltype(hsa_amd_signal_async_handler)>(kAsyncHandler)(signal, condition, value,
                                                                      handler, data);
}
hsa_status_t signal_create(hsa_signal_value_t value, std::uint32_t consumers,
                           const hsa_agent_t* agents, hsa_signal_t* signal) {
    if (fails(kFaultSignalCreate)) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    const hsa_status_t status =
        core<decltype(hsa_signal_create)>(kSignalCreate)(value, consumers, agents, signal);
    count(kFaultSignalCreate, status, 1);
    return status;
}
hsa_status_t signal_destroy(hsa_signal_t signal) {
    if (fails(kFaultSignalDestroy)) return HSA_STATUS_ERROR;
    const hsa_status_t status = core<decltype(hsa_signal_destroy)>(kSignalDestroy)(signal);
    count(kFaultSignalCreate, status, -1);
    return status;
}
hsa_status_t allocate(hsa_amd_memory_pool_t pool, std::size_t bytes, std::uint32_t flags,
                      void** memory) {
    if (fails(kFaultAllocate)) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    const hsa_status_t status =
        amd<decltype(hsa_amd_memory_pool_allocate)>(kAllocate)(pool, bytes, flags, memory);
    count(kFaultAllocate, status, 1);
    return status;
}
hsa_status_t release(void* memory) {
    if (fails(kFaultFree)) return HSA_STATUS_ERROR;
    const hsa_status_t status = amd<decltype(hsa_amd_memory_pool_free)>(kFree)(memory);
    count(kFaultAllocate, status, -1);
    return status;
}
hsa_status_t copy(void* to, hsa_agent_t to_agent, const void* from, hsa_agent_t from_agent,
                  std::size_t bytes, std::uint32_t count_of_signals, const hsa_signal_t* signals,
                  hsa_signal_t done) {
    if (fails(kFaultCopy)) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    return amd<decltype(hsa_amd_memory_async_copy)>(kCopy)(to, to_agent, from, from_agent, bytes,
                                                           count_of_signals, signals, done);
}
hsa_status_t allow_access(std::uint32_t count_of_agents, const hsa_agent_t* agents,
                          const std::uint32_t* flags, const void* memory) {
    if (fails(kFaultAllowAccess)) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    return amd<decltype(hsa_amd_agents_allow_access)>(kAllowAccess)(count_of_agents, agents, flags,
                                                                    memory);
}
hsa_status_t iterate_agents(hsa_status_t (*callback)(hsa_agent_t, void*), void* data) {
    if (fails(kFaultIterateAgents)) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    return core<decltype(hsa_iterate_agents)>(kIterateAgents)(callback, data);
}
hsa_status_t agent_info(hsa_agent_t agent, hsa_agent_info_t attribute, void* value) {
    if (fails(kFaultAgentInfo)) return HSA_STATUS_ERROR;
    return core<decltype(hsa_agent_get_info)>(kAgentInfo)(agent, attribute, value);
}
hsa_status_t iterate_pools(hsa_agent_t agent,
                           hsa_status_t (*callback)(hsa_amd_memory_pool_t, void*), void* data) {
    if (fails(kFaultIteratePools)) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    return amd<decltype(hsa_amd_agent_iterate_memory_pools)>(kIteratePools)(agent, callback, data);
}
hsa_status_t pool_info(hsa_amd_memory_pool_t pool, hsa_amd_memory_pool_info_t attribute,
                       void* value) {
    if (fails(kFaultPoolInfo)) return HSA_STATUS_ERROR;
    return amd<decltype(hsa_amd_memory_pool_get_info)>(kPoolInfo)(pool, attribute, value);
}

template <class Function> void* entry(Function* function) {
    return reinterpret_cast<void*>(function);
}

} // namespace

extern "C" {

__attribute__((visibility("default"))) void* fault_table() {
    return &g_root;
}
__attribute__((visibility("default"))) void fault_at(int kind, unsigned n) {
    g_kind = kind;
    g_calls = 0;
    g_fail_at = n;
}
__attribute__((visibility("default"))) unsigned fault_calls() {
    return g_calls;
}
__attribute__((visibility("default"))) long fault_balance(int kind) {
    return g_balance[kind];
}

/// The next submission of that agent whose last command buffer has so many dwords never reaches the
/// GPU, nor does any later one of the same queue.
__attribute__((visibility("default"))) void fault_hang_on(std::uint64_t agent, unsigned dwords) {
    const std::lock_guard lock(g_queues_mutex);
    g_hang_agent = agent;
    g_hang_dwords = dwords;
    g_hung = 0;
}
__attribute__((visibility("default"))) unsigned fault_hung() {
    return g_hung;
}
/// Sizes of the submissions since the last call; returns how many there were.
__attribute__((visibility("default"))) unsigned fault_take_sizes(unsigned* sizes, unsigned most) {
    const std::lock_guard lock(g_queues_mutex);
    const auto all = static_cast<unsigned>(g_sizes.size());
    for (unsigned i = 0; i < all && i < most; ++i)
        sizes[i] = g_sizes[i];
    g_sizes.clear();
    return all;
}

__attribute__((visibility("default"))) bool OnLoad(void* table, std::uint64_t version,
                                                   std::uint64_t failed, const char* const* names) {
    std::memcpy(&g_root, table, kRootBytes);
    std::memcpy(&g_core, g_root.core, kHeaderBytes + kCoreEntries * sizeof(void*));
    std::memcpy(&g_amd, g_root.amd, kHeaderBytes + kAmdEntries * sizeof(void*));
    g_own_core = g_core;
    g_own_amd = g_amd;
    g_own_core.functions[kQueueCreate] = entry(queue_create);
    g_own_core.functions[kQueueDestroy] = entry(queue_destroy);
    g_own_core.functions[kSignalCreate] = entry(signal_create);
    g_own_core.functions[kSignalDestroy] = entry(signal_destroy);
    g_own_core.functions[kSignalStore] = entry(signal_store);
    g_own_core.functions[kIterateAgents] = entry(iterate_agents);
    g_own_core.functions[kAgentInfo] = entry(agent_info);
    g_own_amd.functions[kPoolInfo] = entry(pool_info);
    g_own_amd.functions[kIteratePools] = entry(iterate_pools);
    g_own_amd.functions[kInterceptCreate] = entry(intercept_create);
    g_own_amd.functions[kInterceptRegister] = entry(intercept_register);
    g_own_amd.functions[kAsyncHandler] = entry(async_handler);
    g_own_amd.functions[kAllocate] = entry(allocate);
    g_own_amd.functions[kFree] = entry(release);
    g_own_amd.functions[kCopy] = entry(copy);
    g_own_amd.functions[kAllowAccess] = entry(allow_access);
    Table* const application = g_root.core;
    g_root.core = &g_own_core;
    g_root.amd = &g_own_amd;
    const char* inner = std::getenv("WAVETAP_FAULT_INNER");
    if (inner == nullptr) return true;
    void* library = dlopen(inner, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return false;
    g_inner_load = reinterpret_cast<decltype(g_inner_load)>(dlsym(library, "OnLoad"));
    g_inner_unload = reinterpret_cast<decltype(g_inner_unload)>(dlsym(library, "OnUnload"));
    const Table before = g_own_core;
    if (!g_inner_load(&g_root, version, failed, names)) return false;
    // What the tool replaced is for the application.
    for (std::size_t i = 0; i < kCoreEntries; ++i)
        if (g_own_core.functions[i] != before.functions[i])
            application->functions[i] = g_own_core.functions[i];
    const char* kind = std::getenv("WAVETAP_FAULT_KIND");
    const char* call = std::getenv("WAVETAP_FAULT_CALL");
    if (kind != nullptr && call != nullptr)
        fault_at(std::atoi(kind), static_cast<unsigned>(std::atoi(call)));
    return true;
}
__attribute__((visibility("default"))) void OnUnload() {
    if (g_inner_unload == nullptr) return;
    g_inner_unload();
    std::printf("fault_tool: calls %u, left: %ld queues, %ld signals, %ld blocks\n", g_calls.load(),
                g_balance[kFaultQueueCreate].load(), g_balance[kFaultSignalCreate].load(),
                g_balance[kFaultAllocate].load());
    (void)std::fflush(stdout);
}

} // extern "C"
