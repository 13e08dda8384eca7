// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// A tool that makes every queue of the application an intercept queue, as wavetap's does, and calls the
// program back where wavetap decides about dispatches.
#include <hsa/hsa.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

// Of ROCr 5.2.3, as wavetap::rocr::layout_5_2 has it (its test compares with the installed header).
namespace {

enum : std::size_t { kQueueCreate = 7, kInterceptCreate = 35, kInterceptRegister = 36 };
struct Table {
    std::byte header[16];
    void* functions[125];
};
struct Root {
    std::byte header[16];
    Table* core;
    Table* amd;
};

Table* g_amd = nullptr;
std::atomic<void (*)()> g_callback{nullptr};

using Writer = void (*)(const void*, std::uint64_t);
using Interceptor = void (*)(const void*, std::uint64_t, Writer);
std::atomic<Interceptor> g_interceptor{nullptr};

void on_packets(const void* packets, std::uint64_t count, std::uint64_t, void*, Writer writer) {
    if (auto* callback = g_callback.exchange(nullptr)) callback();
    if (const Interceptor interceptor = g_interceptor.load())
        interceptor(packets, count, writer);
    else
        writer(packets, count);
}

hsa_status_t queue_create(hsa_agent_t agent, std::uint32_t size, hsa_queue_type32_t type,
                          void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data,
                          std::uint32_t private_bytes, std::uint32_t group_bytes,
                          hsa_queue_t** queue) {
    const auto create =
        reinterpret_cast<decltype(&hsa_queue_create)>(g_amd->functions[kInterceptCreate]);
    using Register = hsa_status_t (*)(hsa_queue_t*, decltype(&on_packets), void*);
    const auto watch = reinterpret_cast<Register>(g_amd->functions[kInterceptRegister]);
    const hsa_status_t status =
        create(agent, size, type, callback, data, private_bytes, group_bytes, queue);
    return status == HSA_STATUS_SUCCESS ? watch(*queue, on_packets, nullptr) : status;
}

} // namespace

extern "C" {

/// The next packets of any queue call `callback` once, in the place of a dispatch callback.
__attribute__((visibility("default"))) void lock_tool_arm(void (*callback)()) {
    g_callback = callback;
}
/// From now on `interceptor` gets the packets of every queue and writes what is to become of them.
__attribute__((visibility("default"))) void lock_tool_intercept(Interceptor interceptor) {
    g_interceptor = interceptor;
}

__attribute__((visibility("default"))) bool OnLoad(void* table, std::uint64_t, std::uint64_t,
                                                   const char* const*) {
    auto* root = static_cast<Root*>(table);
    g_amd = root->amd;
    root->core->functions[kQueueCreate] = reinterpret_cast<void*>(queue_create);
    return true;
}
__attribute__((visibility("default"))) void OnUnload() {}

} // extern "C"
