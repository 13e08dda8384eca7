// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// The entry points that ROCr looks for in a library named by HSA_TOOLS_LIB, and the functions that
// stand in the runtime's table. They have no argument of ours: the one Tool is process state, and
// it is never destroyed.

#include "tool/tool.hpp"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace wavetap::tool {

namespace {

std::atomic<Tool*> g_tool{nullptr};

hsa_status_t queue_create(hsa_agent_t agent, std::uint32_t size, hsa_queue_type32_t type,
                          void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data,
                          std::uint32_t private_segment_size, std::uint32_t group_segment_size,
                          hsa_queue_t** queue) {
    Tool& tool = *g_tool.load();
    const auto plain = tool.table().functions().queue_create;
    if (!tool.in_own_process())
        return plain(agent, size, type, callback, data, private_segment_size, group_segment_size,
                     queue);
    return tool.interceptor().create(agent, size, type, callback, data, private_segment_size,
                                     group_segment_size, queue);
}

hsa_status_t queue_destroy(hsa_queue_t* queue) {
    Tool& tool = *g_tool.load();
    if (!tool.in_own_process()) return tool.table().functions().queue_destroy(queue);
    return tool.interceptor().destroy(queue);
}

hsa_status_t executable_freeze(hsa_executable_t executable, const char* options) {
    return g_tool.load()->freeze(executable, options);
}

hsa_status_t executable_destroy(hsa_executable_t executable) {
    return g_tool.load()->destroy(executable);
}

void finalize() {
    if (Tool* tool = g_tool.load()) tool->finalize();
}

void complain(const Error& error) {
    std::fprintf(stderr, "wavetap: error: %s\n", to_string(error).c_str());
    if (!error.hint.empty()) std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
}

Result<void> load(void* table) {
    const char* config = std::getenv("WAVETAP_TOOL_CONFIG");
    if (config == nullptr)
        return Error{ErrorCode::kNotFound, "WAVETAP_TOOL_CONFIG is not set", "",
                     "run the program through `wavetap record`"};
    WAVETAP_TRY(rocr::HsaTable known, rocr::HsaTable::open(table));
    WAVETAP_TRY(auto tool, Tool::create(std::move(known), config));
    g_tool.store(tool.release());
    rocr::HsaTable& ours = g_tool.load()->table();
    ours.replace_queue_create(queue_create);
    ours.replace_queue_destroy(queue_destroy);
    ours.replace_executable_freeze(executable_freeze);
    ours.replace_executable_destroy(executable_destroy);
    // HIP never shuts ROCr down, so OnUnload does not come there.
    std::atexit(finalize);
    return {};
}

} // namespace

} // namespace wavetap::tool

extern "C" __attribute__((visibility("default"))) bool OnLoad(void* table, std::uint64_t,
                                                              std::uint64_t, const char* const*) {
    using namespace wavetap::tool;
    if (g_tool.load() != nullptr) return true; // hsa_init after hsa_shut_down: traced once
    try {
        auto loaded = load(table);
        if (loaded) return true;
        complain(loaded.error());
    } catch (...) {
        std::fputs("wavetap: error: OnLoad broke off, nothing is traced\n", stderr);
    }
    return false;
}

extern "C" __attribute__((visibility("default"))) void OnUnload() {
    wavetap::tool::finalize();
}
