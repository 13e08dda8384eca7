// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "rocr/hsa_table.hpp"

// The installed trace header includes its neighbours from "inc/" unless told that it is ROCr's own.
#define AMD_INTERNAL_BUILD
#include <gtest/gtest.h>
#include <hsa/hsa_api_trace.h>

#include <array>
#include <cstddef>

namespace wavetap::rocr {
namespace {

template <class Table> constexpr std::size_t entry(std::size_t offset) {
    return (offset - sizeof(ApiTableVersion)) / sizeof(void*);
}
#define CORE(name) entry<CoreApiTable>(offsetof(CoreApiTable, name##_fn))
#define AMD(name) entry<AmdExtTable>(offsetof(AmdExtTable, name##_fn))

TEST(HsaTableTest, OurDescriptionIsThatOfTheInstalledHeader) {
    using namespace layout_5_2;
    EXPECT_EQ(sizeof(HsaApiTable), kRootBytes);
    EXPECT_EQ(sizeof(CoreApiTable), kHeaderBytes + 8 * kCoreEntries);
    EXPECT_EQ(sizeof(AmdExtTable), kHeaderBytes + 8 * kAmdEntries);
    EXPECT_EQ(CORE(hsa_system_get_info), kSystemGetInfo);
    EXPECT_EQ(CORE(hsa_system_get_major_extension_table), kSystemGetMajorExtensionTable);
    EXPECT_EQ(CORE(hsa_iterate_agents), kIterateAgents);
    EXPECT_EQ(CORE(hsa_agent_get_info), kAgentGetInfo);
    EXPECT_EQ(CORE(hsa_queue_create), kQueueCreate);
    EXPECT_EQ(CORE(hsa_queue_destroy), kQueueDestroy);
    EXPECT_EQ(CORE(hsa_queue_load_read_index_scacquire), kQueueLoadReadIndexScacquire);
    EXPECT_EQ(CORE(hsa_queue_load_write_index_relaxed), kQueueLoadWriteIndexRelaxed);
    EXPECT_EQ(CORE(hsa_queue_add_write_index_relaxed), kQueueAddWriteIndexRelaxed);
    EXPECT_EQ(CORE(hsa_signal_create), kSignalCreate);
    EXPECT_EQ(CORE(hsa_signal_destroy), kSignalDestroy);
    EXPECT_EQ(CORE(hsa_signal_load_scacquire), kSignalLoadScacquire);
    EXPECT_EQ(CORE(hsa_signal_store_screlease), kSignalStoreScrelease);
    EXPECT_EQ(CORE(hsa_signal_add_screlease), kSignalAddScrelease);
    EXPECT_EQ(CORE(hsa_signal_wait_scacquire), kSignalWaitScacquire);
    EXPECT_EQ(CORE(hsa_executable_freeze), kExecutableFreeze);
    EXPECT_EQ(CORE(hsa_executable_destroy), kExecutableDestroy);
    EXPECT_EQ(CORE(hsa_executable_symbol_get_info), kExecutableSymbolGetInfo);
    EXPECT_EQ(CORE(hsa_executable_iterate_agent_symbols), kExecutableIterateAgentSymbols);
    EXPECT_EQ(CORE(hsa_status_string), kStatusString);
    EXPECT_EQ(AMD(hsa_amd_signal_async_handler), kSignalAsyncHandler);
    EXPECT_EQ(AMD(hsa_amd_memory_pool_get_info), kMemoryPoolGetInfo);
    EXPECT_EQ(AMD(hsa_amd_agent_iterate_memory_pools), kAgentIterateMemoryPools);
    EXPECT_EQ(AMD(hsa_amd_memory_pool_allocate), kMemoryPoolAllocate);
    EXPECT_EQ(AMD(hsa_amd_memory_pool_free), kMemoryPoolFree);
    EXPECT_EQ(AMD(hsa_amd_memory_async_copy), kMemoryAsyncCopy);
    EXPECT_EQ(AMD(hsa_amd_agents_allow_access), kAgentsAllowAccess);
    EXPECT_EQ(AMD(hsa_amd_queue_intercept_create), kQueueInterceptCreate);
    EXPECT_EQ(AMD(hsa_amd_queue_intercept_register), kQueueInterceptRegister);
}

/// A table as ROCr 5.2 makes it; every function pointer is its own marker value.
struct Tables {
    HsaApiTable root{};
    CoreApiTable core{};
    AmdExtTable amd{};
    Tables() {
        root.version = {1, sizeof(HsaApiTable), 0, 0};
        core.version = {1, sizeof(CoreApiTable), 0, 0};
        amd.version = {1, sizeof(AmdExtTable), 0, 0};
        root.core_ = &core;
        root.amd_ext_ = &amd;
    }
};

hsa_status_t destroy_queue(hsa_queue_t*) {
    return HSA_STATUS_SUCCESS;
}
hsa_status_t other_destroy_queue(hsa_queue_t*) {
    return HSA_STATUS_ERROR;
}

TEST(HsaTableTest, FunctionsAreTakenBeforeTheyAreReplaced) {
    Tables tables;
    tables.core.hsa_queue_destroy_fn = destroy_queue;
    auto table = HsaTable::open(&tables.root);
    ASSERT_TRUE(table) << to_string(table.error());
    table->replace_queue_destroy(other_destroy_queue);
    EXPECT_EQ(table->functions().queue_destroy, &destroy_queue);
    EXPECT_EQ(tables.core.hsa_queue_destroy_fn, &other_destroy_queue);
}

TEST(HsaTableTest, UnknownVersionsAreRefusedWithWords) {
    for (int which = 0; which < 6; ++which) {
        Tables tables;
        if (which == 0) tables.root.version.major_id = 3;
        if (which == 1) tables.root.version.minor_id = 64;
        if (which == 2) tables.core.version.minor_id += 8;
        if (which == 3) tables.amd.version.minor_id += 8;
        if (which == 4) tables.amd.version.major_id = 2;
        if (which == 5) tables.root.amd_ext_ = nullptr;
        const auto table = HsaTable::open(&tables.root);
        ASSERT_FALSE(table) << which;
        EXPECT_EQ(table.error().code, ErrorCode::kUnsupported);
        EXPECT_FALSE(table.error().hint.empty());
    }
    EXPECT_FALSE(HsaTable::open(nullptr));
}

} // namespace
} // namespace wavetap::rocr
