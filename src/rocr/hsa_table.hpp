// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ven_amd_loader.h>

#include <cstddef>
#include <cstdint>

// Our own description of the function tables that ROCr hands to a tool's OnLoad. Table layouts
// change between runtime generations (one shifts after its 17th entry), so each known version is
// described here, its sizes are checked, and an unknown one is refused.

namespace wavetap::rocr {

// Types of the table that no installed public header declares without the trace header.
using PacketWriter = void (*)(const void* packets, std::uint64_t count);
using InterceptHandler = void (*)(const void* packets, std::uint64_t count,
                                  std::uint64_t user_index, void* data, PacketWriter writer);
using QueueErrorHandler = void (*)(hsa_status_t status, hsa_queue_t* source, void* data);

/// The functions that we use, taken from the table before anything is replaced in it. A value.
struct HsaFunctions {
    decltype(&hsa_system_get_info) system_get_info = nullptr;
    decltype(&hsa_system_get_major_extension_table) system_get_major_extension_table = nullptr;
    decltype(&hsa_iterate_agents) iterate_agents = nullptr;
    decltype(&hsa_agent_get_info) agent_get_info = nullptr;
    decltype(&hsa_queue_create) queue_create = nullptr;
    decltype(&hsa_queue_destroy) queue_destroy = nullptr;
    decltype(&hsa_queue_load_read_index_scacquire) queue_load_read_index = nullptr;
    decltype(&hsa_queue_load_write_index_relaxed) queue_load_write_index = nullptr;
    decltype(&hsa_queue_add_write_index_relaxed) queue_add_write_index = nullptr;
    decltype(&hsa_signal_create) signal_create = nullptr;
    decltype(&hsa_signal_destroy) signal_destroy = nullptr;
    decltype(&hsa_signal_load_scacquire) signal_load = nullptr;
    decltype(&hsa_signal_store_screlease) signal_store = nullptr;
    decltype(&hsa_signal_add_screlease) signal_add = nullptr;
    decltype(&hsa_signal_wait_scacquire) signal_wait = nullptr;
    decltype(&hsa_executable_freeze) executable_freeze = nullptr;
    decltype(&hsa_executable_destroy) executable_destroy = nullptr;
    decltype(&hsa_executable_symbol_get_info) executable_symbol_get_info = nullptr;
    decltype(&hsa_executable_iterate_agent_symbols) executable_iterate_agent_symbols = nullptr;
    decltype(&hsa_status_string) status_string = nullptr;

    decltype(&hsa_amd_signal_async_handler) signal_async_handler = nullptr;
    decltype(&hsa_amd_memory_pool_get_info) memory_pool_get_info = nullptr;
    decltype(&hsa_amd_agent_iterate_memory_pools) agent_iterate_memory_pools = nullptr;
    decltype(&hsa_amd_memory_pool_allocate) memory_pool_allocate = nullptr;
    decltype(&hsa_amd_memory_pool_free) memory_pool_free = nullptr;
    decltype(&hsa_amd_memory_async_copy) memory_async_copy = nullptr;
    decltype(&hsa_amd_agents_allow_access) agents_allow_access = nullptr;
    hsa_status_t (*queue_intercept_create)(hsa_agent_t agent, std::uint32_t size,
                                           hsa_queue_type32_t type, QueueErrorHandler callback,
                                           void* data, std::uint32_t private_segment_size,
                                           std::uint32_t group_segment_size,
                                           hsa_queue_t** queue) = nullptr;
    hsa_status_t (*queue_intercept_register)(hsa_queue_t* queue, InterceptHandler handler,
                                             void* data) = nullptr;
};

/// The table itself, for replacing entries. Borrowed from ROCr, valid until OnUnload.
class HsaTable {
  public:
    /// `table` is OnLoad's first argument. Errors: kUnsupported, naming the versions and sizes.
    static Result<HsaTable> open(void* table);

    const HsaFunctions& functions() const { return functions_; }

    void replace_queue_create(decltype(&hsa_queue_create) function);
    void replace_queue_destroy(decltype(&hsa_queue_destroy) function);
    void replace_executable_freeze(decltype(&hsa_executable_freeze) function);
    void replace_executable_destroy(decltype(&hsa_executable_destroy) function);

  private:
    HsaTable() = default;
    void** core_ = nullptr; ///< first function of the core table
    void** amd_ = nullptr;  ///< first function of the AMD extension table
    HsaFunctions functions_;
};

/// Words for a failed HSA call: "WHAT: TEXT (0x1008)"; out-of-resources becomes kLimit.
Error hsa_error(const HsaFunctions& hsa, hsa_status_t status, const char* what);

/// Position of each entry that we use in the tables of ROCr 5.2 (table major 1). For the test that
/// compares them with the installed header.
namespace layout_5_2 {
inline constexpr std::size_t kHeaderBytes = 16;
inline constexpr std::size_t kRootBytes = 48;
inline constexpr std::size_t kCoreEntries = 125;
inline constexpr std::size_t kAmdEntries = 48;
enum Core : std::size_t {
    kSystemGetInfo = 2,
    kIterateAgents = 5,
    kAgentGetInfo = 6,
    kQueueCreate = 7,
    kQueueDestroy = 9,
    kQueueLoadReadIndexScacquire = 11,
    kQueueLoadWriteIndexRelaxed = 14,
    kQueueAddWriteIndexRelaxed = 23,
    kSignalCreate = 37,
    kSignalDestroy = 38,
    kSignalLoadScacquire = 40,
    kSignalStoreScrelease = 42,
    kSignalWaitScacquire = 44,
    kSignalAddScrelease = 63,
    kExecutableDestroy = 84,
    kExecutableFreeze = 86,
    kExecutableSymbolGetInfo = 93,
    kStatusString = 95,
    kSystemGetMajorExtensionTable = 98,
    kExecutableIterateAgentSymbols = 123,
};
enum Amd : std::size_t {
    kSignalAsyncHandler = 7,
    kMemoryPoolGetInfo = 11,
    kAgentIterateMemoryPools = 12,
    kMemoryPoolAllocate = 13,
    kMemoryPoolFree = 14,
    kMemoryAsyncCopy = 15,
    kAgentsAllowAccess = 17,
    kQueueInterceptCreate = 35,
    kQueueInterceptRegister = 36,
};
} // namespace layout_5_2

} // namespace wavetap::rocr
