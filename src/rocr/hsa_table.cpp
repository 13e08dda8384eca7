// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "rocr/hsa_table.hpp"

#include "base/units.hpp"

#include <algorithm>
#include <cstring>

namespace wavetap::rocr {

namespace {

/// Head of every table: major, minor (= size in bytes), step, reserved.
struct Version {
    std::uint32_t major, minor, step, reserved;
};
struct Root {
    Version version;
    Version* core;
    Version* amd;
    Version* finalizer;
    Version* image;
};
static_assert(sizeof(Root) == layout_5_2::kRootBytes);

std::string version_text(const Version& version) {
    return std::to_string(version.major) + "." + std::to_string(version.minor);
}

template <class Function> void take(Function& to, void** table, std::size_t entry) {
    std::memcpy(&to, table + entry, sizeof(void*));
}
template <class Function> void put(void** table, std::size_t entry, Function from) {
    std::memcpy(table + entry, &from, sizeof(void*));
}

void take_core(HsaFunctions& f, void** core) {
    using namespace layout_5_2;
    take(f.system_get_info, core, kSystemGetInfo);
    take(f.system_get_major_extension_table, core, kSystemGetMajorExtensionTable);
    take(f.iterate_agents, core, kIterateAgents);
    take(f.agent_get_info, core, kAgentGetInfo);
    take(f.queue_create, core, kQueueCreate);
    take(f.queue_destroy, core, kQueueDestroy);
    take(f.queue_load_read_index, core, kQueueLoadReadIndexScacquire);
    take(f.queue_load_write_index, core, kQueueLoadWriteIndexRelaxed);
    take(f.queue_add_write_index, core, kQueueAddWriteIndexRelaxed);
    take(f.signal_create, core, kSignalCreate);
    take(f.signal_destroy, core, kSignalDestroy);
    take(f.signal_load, core, kSignalLoadScacquire);
    take(f.signal_store, core, kSignalStoreScrelease);
    take(f.signal_add, core, kSignalAddScrelease);
    take(f.signal_wait, core, kSignalWaitScacquire);
    take(f.executable_freeze, core, kExecutableFreeze);
    take(f.executable_destroy, core, kExecutableDestroy);
    take(f.executable_symbol_get_info, core, kExecutableSymbolGetInfo);
    take(f.executable_iterate_agent_symbols, core, kExecutableIterateAgentSymbols);
    take(f.status_string, core, kStatusString);
}

void take_amd(HsaFunctions& f, void** amd) {
    using namespace layout_5_2;
    take(f.signal_async_handler, amd, kSignalAsyncHandler);
    take(f.memory_pool_get_info, amd, kMemoryPoolGetInfo);
    take(f.agent_iterate_memory_pools, amd, kAgentIterateMemoryPools);
    take(f.memory_pool_allocate, amd, kMemoryPoolAllocate);
    take(f.memory_pool_free, amd, kMemoryPoolFree);
    take(f.memory_async_copy, amd, kMemoryAsyncCopy);
    take(f.agents_allow_access, amd, kAgentsAllowAccess);
    take(f.queue_intercept_create, amd, kQueueInterceptCreate);
    take(f.queue_intercept_register, amd, kQueueInterceptRegister);
}

bool is_5_2(const Version& version, std::size_t bytes) {
    return version.major == 1 && version.minor == bytes;
}

} // namespace

Result<HsaTable> HsaTable::open(void* table) {
    using namespace layout_5_2;
    if (table == nullptr)
        return Error{ErrorCode::kUnsupported, "ROCr handed over no table", "", ""};
    const auto* root = static_cast<const Root*>(table);
    const bool root_known =
        is_5_2(root->version, kRootBytes) && root->core != nullptr && root->amd != nullptr;
    if (!root_known || !is_5_2(*root->core, kHeaderBytes + 8 * kCoreEntries) ||
        !is_5_2(*root->amd, kHeaderBytes + 8 * kAmdEntries)) {
        std::string found = "root " + version_text(root->version);
        if (root_known)
            found += ", core " + version_text(*root->core) + ", AMD " + version_text(*root->amd);
        return Error{ErrorCode::kUnsupported,
                     "this ROCr's API table is of a version that wavetap does not know (" + found +
                         ")",
                     "", "wavetap knows ROCr 5.2; the application runs untraced"};
    }
    HsaTable opened;
    opened.core_ = reinterpret_cast<void**>(root->core + 1);
    opened.amd_ = reinterpret_cast<void**>(root->amd + 1);
    take_core(opened.functions_, opened.core_);
    take_amd(opened.functions_, opened.amd_);
    return opened;
}

void HsaTable::replace_queue_create(decltype(&hsa_queue_create) function) {
    put(core_, layout_5_2::kQueueCreate, function);
}
void HsaTable::replace_queue_destroy(decltype(&hsa_queue_destroy) function) {
    put(core_, layout_5_2::kQueueDestroy, function);
}
void HsaTable::replace_executable_freeze(decltype(&hsa_executable_freeze) function) {
    put(core_, layout_5_2::kExecutableFreeze, function);
}
void HsaTable::replace_executable_destroy(decltype(&hsa_executable_destroy) function) {
    put(core_, layout_5_2::kExecutableDestroy, function);
}

Error hsa_error(const HsaFunctions& hsa, hsa_status_t status, const char* what) {
    const char* text = nullptr;
    if (hsa.status_string != nullptr) (void)hsa.status_string(status, &text);
    const bool limit = status == HSA_STATUS_ERROR_OUT_OF_RESOURCES ||
                       status == HSA_STATUS_ERROR_INVALID_ALLOCATION;
    // The runtime's text is "NAME: sentences"; the name says it.
    std::string name = text != nullptr ? text : "HSA error";
    name.resize(std::min(name.find(':'), name.size()));
    return Error{limit ? ErrorCode::kLimit : ErrorCode::kUnavailable,
                 std::string(what) + " gave " + name + " (" +
                     format_hex(static_cast<std::uint64_t>(status)) + ")",
                 "", ""};
}

} // namespace wavetap::rocr
