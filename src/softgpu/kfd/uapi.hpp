// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

// The Linux KFD user interface, described in our own words: names, field order and sizes are those
// of the kernel's public ABI (linux/kfd_ioctl.h), which grows at the end of its structures. So the
// driver looks at the ioctl number alone and copies only what the caller's size covers.

namespace wavetap::softgpu::kfd {

enum class Request : std::uint8_t {
    kGetVersion = 0x01,
    kCreateQueue = 0x02,
    kDestroyQueue = 0x03,
    kSetMemoryPolicy = 0x04,
    kGetClockCounters = 0x05,
    kUpdateQueue = 0x07,
    kCreateEvent = 0x08,
    kDestroyEvent = 0x09,
    kSetEvent = 0x0a,
    kResetEvent = 0x0b,
    kWaitEvents = 0x0c,
    kSetScratchBackingVa = 0x11,
    kGetTileConfig = 0x12,
    kSetTrapHandler = 0x13,
    kGetProcessAperturesNew = 0x14,
    kAcquireVm = 0x15,
    kAllocMemory = 0x16,
    kFreeMemory = 0x17,
    kMapMemory = 0x18,
    kUnmapMemory = 0x19,
    kSetCuMask = 0x1a,
    kSetXnackMode = 0x21,
    kAvailableMemory = 0x23,
    kRuntimeEnable = 0x25,
};

enum QueueType : std::uint32_t {
    kQueueCompute = 0,
    kQueueSdma = 1,
    kQueueComputeAql = 2,
    kQueueSdmaXgmi = 3,
};

enum EventType : std::uint32_t {
    kEventSignal = 0,
    kEventHwException = 3,
    kEventDebug = 5,
    kEventMemory = 8,
};

enum WaitResult : std::uint32_t { kWaitComplete = 0, kWaitTimeout = 1, kWaitFail = 2 };

enum MemoryFlags : std::uint32_t {
    kMemoryVram = 1u << 0,
    kMemoryGtt = 1u << 1,
    kMemoryUserptr = 1u << 2,
    kMemoryDoorbell = 1u << 3,
    kMemoryMmioRemap = 1u << 4,
    kMemoryWritable = 1u << 31,
};

struct GetVersionArgs {
    std::uint32_t major = 0;
    std::uint32_t minor = 0;
};

struct CreateQueueArgs {
    std::uint64_t ring_base = 0;
    std::uint64_t write_pointer = 0;
    std::uint64_t read_pointer = 0;
    std::uint64_t doorbell_offset = 0; ///< out
    std::uint32_t ring_bytes = 0;
    std::uint32_t gpu_id = 0;
    std::uint32_t type = 0;
    std::uint32_t percentage = 0;
    std::uint32_t priority = 0;
    std::uint32_t queue_id = 0; ///< out
    std::uint64_t eop_address = 0;
    std::uint64_t eop_bytes = 0;
    std::uint64_t save_address = 0;
    std::uint32_t save_bytes = 0;
    std::uint32_t control_stack_bytes = 0;
};

struct QueueArgs { ///< also DESTROY/SET/RESET_EVENT
    std::uint32_t id = 0;
    std::uint32_t pad = 0;
};

struct UpdateQueueArgs {
    std::uint64_t ring_base = 0;
    std::uint32_t queue_id = 0;
    std::uint32_t ring_bytes = 0;
    std::uint32_t percentage = 0;
    std::uint32_t priority = 0;
};

struct ClockCountersArgs {
    std::uint64_t gpu = 0;
    std::uint64_t cpu = 0;
    std::uint64_t system = 0;
    std::uint64_t system_hz = 0;
    std::uint32_t gpu_id = 0;
    std::uint32_t pad = 0;
};

struct CreateEventArgs {
    std::uint64_t page_offset = 0; ///< in: handle of the event page; out: never 0
    std::uint32_t trigger_data = 0;
    std::uint32_t type = 0;
    std::uint32_t auto_reset = 0;
    std::uint32_t node_id = 0;
    std::uint32_t event_id = 0;
    std::uint32_t slot = 0;
};

struct MemoryFaultData {
    std::uint32_t not_present = 0;
    std::uint32_t read_only = 0;
    std::uint32_t no_execute = 0;
    std::uint32_t imprecise = 0;
    std::uint64_t va = 0;
    std::uint32_t gpu_id = 0;
    std::uint32_t error_type = 0;
};

struct EventData {
    union {
        MemoryFaultData memory_fault;
        std::uint64_t last_event_age; ///< signal events, interface 1.14 and later
    };
    std::uint64_t extension = 0;
    std::uint32_t event_id = 0;
    std::uint32_t pad = 0;
};

struct WaitEventsArgs {
    std::uint64_t events = 0; ///< EventData[count]
    std::uint32_t count = 0;
    std::uint32_t wait_for_all = 0;
    std::uint32_t timeout_ms = 0;
    std::uint32_t result = 0;
};

struct ScratchBackingArgs {
    std::uint64_t va = 0; ///< address >> 16
    std::uint32_t gpu_id = 0;
    std::uint32_t pad = 0;
};

struct TileConfigArgs {
    std::uint64_t tile_config = 0;
    std::uint64_t macro_tile_config = 0;
    std::uint32_t tile_configs = 0;
    std::uint32_t macro_tile_configs = 0;
    std::uint32_t gpu_id = 0;
    std::uint32_t gb_addr_config = 0;
    std::uint32_t banks = 0;
    std::uint32_t ranks = 0;
};

struct TrapHandlerArgs {
    std::uint64_t tba = 0;
    std::uint64_t tma = 0;
    std::uint32_t gpu_id = 0;
    std::uint32_t pad = 0;
};

struct ApertureEntry {
    std::uint64_t lds_base = 0, lds_limit = 0;
    std::uint64_t scratch_base = 0, scratch_limit = 0;
    std::uint64_t gpuvm_base = 0, gpuvm_limit = 0;
    std::uint32_t gpu_id = 0;
    std::uint32_t pad = 0;
};

struct AperturesNewArgs {
    std::uint64_t entries = 0; ///< ApertureEntry[count], or 0 to ask for the number
    std::uint32_t count = 0;   ///< in, out
    std::uint32_t pad = 0;
};

struct AcquireVmArgs {
    std::uint32_t drm_fd = 0;
    std::uint32_t gpu_id = 0;
};

struct AllocMemoryArgs {
    std::uint64_t va = 0;
    std::uint64_t size = 0;
    std::uint64_t handle = 0;      ///< out
    std::uint64_t mmap_offset = 0; ///< out; USERPTR in: the host address
    std::uint32_t gpu_id = 0;
    std::uint32_t flags = 0;
};

struct FreeMemoryArgs {
    std::uint64_t handle = 0;
};

struct MapMemoryArgs { ///< also UNMAP
    std::uint64_t handle = 0;
    std::uint64_t devices = 0; ///< uint32_t[device_count] of gpu_id
    std::uint32_t device_count = 0;
    std::uint32_t success = 0; ///< in, out
};

struct CuMaskArgs {
    std::uint32_t queue_id = 0;
    std::uint32_t bits = 0;
    std::uint64_t mask = 0;
};

struct XnackArgs {
    std::int32_t enabled = 0;
};

struct AvailableMemoryArgs {
    std::uint64_t available = 0;
    std::uint32_t gpu_id = 0;
    std::uint32_t pad = 0;
};

struct RuntimeEnableArgs {
    std::uint64_t r_debug = 0;
    std::uint32_t mode_mask = 0;
    std::uint32_t capabilities_mask = 0;
};

static_assert(sizeof(CreateQueueArgs) == 88);
static_assert(sizeof(CreateEventArgs) == 32);
static_assert(sizeof(EventData) == 48);
static_assert(sizeof(AllocMemoryArgs) == 40);
static_assert(sizeof(ApertureEntry) == 56);

} // namespace wavetap::softgpu::kfd
