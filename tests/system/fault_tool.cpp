// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// A tool that keeps ROCr's API table, and a copy of it in which the n-th call of a kind fails. A
// session that is opened on the copy meets those failures; the application does not.
#include "fault_tool.hpp"

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <atomic>
#include <cstring>

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
enum : std::size_t { kAllocate = 13, kFree = 14, kCopy = 15, kAllowAccess = 17 };

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
    return status;
}
hsa_status_t queue_destroy(hsa_queue_t* queue) {
    if (fails(kFaultQueueDestroy)) return HSA_STATUS_ERROR;
    const hsa_status_t status = core<decltype(hsa_queue_destroy)>(kQueueDestroy)(queue);
    count(kFaultQueueCreate, status, -1);
    return status;
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

__attribute__((visibility("default"))) bool OnLoad(void* table, std::uint64_t, std::uint64_t,
                                                   const char* const*) {
    std::memcpy(&g_root, table, kRootBytes);
    std::memcpy(&g_core, g_root.core, kHeaderBytes + kCoreEntries * sizeof(void*));
    std::memcpy(&g_amd, g_root.amd, kHeaderBytes + kAmdEntries * sizeof(void*));
    g_own_core = g_core;
    g_own_amd = g_amd;
    g_own_core.functions[kQueueCreate] = entry(queue_create);
    g_own_core.functions[kQueueDestroy] = entry(queue_destroy);
    g_own_core.functions[kSignalCreate] = entry(signal_create);
    g_own_core.functions[kSignalDestroy] = entry(signal_destroy);
    g_own_amd.functions[kAllocate] = entry(allocate);
    g_own_amd.functions[kFree] = entry(release);
    g_own_amd.functions[kCopy] = entry(copy);
    g_own_amd.functions[kAllowAccess] = entry(allow_access);
    g_root.core = &g_own_core;
    g_root.amd = &g_own_amd;
    return true;
}
__attribute__((visibility("default"))) void OnUnload() {}

} // extern "C"
