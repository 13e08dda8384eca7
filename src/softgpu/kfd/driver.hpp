// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "softgpu/kfd/config.hpp"
#include "softgpu/kfd/counters.hpp"
#include "softgpu/kfd/events.hpp"
#include "softgpu/kfd/heap.hpp"
#include "softgpu/kfd/memory_manager.hpp"
#include "softgpu/kfd/output.hpp"
#include "softgpu/kfd/queue_engine.hpp"
#include "softgpu/kfd/topology.hpp"
#include "softgpu/kfd/uapi.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace wavetap::softgpu::kfd {

/// The driver of one process: everything behind an open KFD node. Resource, thread safe. The
/// front end leaks it, since exit handlers of the runtime still call in.
class Driver {
  public:
    /// `source` must outlive it. Errors: kUnavailable.
    static Result<std::unique_ptr<Driver>>
    create(const Config& config, const std::vector<AgentDescription>& agents, ChipSource& source);

    int fd() const { return file_->fd(); }
    bool is_file(std::uint64_t device, std::uint64_t inode) const {
        return device == file_->device() && inode == file_->inode();
    }
    /// `request` as of ioctl(). 0, or an errno; never EINTR or EAGAIN.
    int handle(unsigned long request, void* argument);
    /// Puts truth and counters on disk.
    void flush();

  private:
    struct Call; ///< a row of the table of requests
    friend struct DriverCalls;

    Driver(const Config& config, const std::vector<AgentDescription>& agents,
           std::unique_ptr<DeviceFile> file, ChipSource& source);

    int get_version(GetVersionArgs& args);
    int create_queue(CreateQueueArgs& args);
    int destroy_queue(QueueArgs& args);
    int update_queue(UpdateQueueArgs& args);
    int set_cu_mask(CuMaskArgs& args);
    int clock_counters(ClockCountersArgs& args);
    int create_event(CreateEventArgs& args);
    int destroy_event(QueueArgs& args);
    int set_event(QueueArgs& args);
    int reset_event(QueueArgs& args);
    int wait_events(WaitEventsArgs& args);
    int set_scratch(ScratchBackingArgs& args);
    int tile_config(TileConfigArgs& args);
    int set_trap_handler(TrapHandlerArgs& args);
    int apertures(AperturesNewArgs& args);
    int acquire_vm(AcquireVmArgs& args);
    int allocate_memory(AllocMemoryArgs& args);
    int free_memory(FreeMemoryArgs& args);
    int map_memory(MapMemoryArgs& args);
    int unmap_memory(MapMemoryArgs& args);
    int set_xnack(XnackArgs& args);
    int available_memory(AvailableMemoryArgs& args);
    int runtime_enable(RuntimeEnableArgs& args);

    int agent_of(std::uint32_t gpu_id) const; ///< index, or -1
    int for_devices(MapMemoryArgs& args, int (MemoryManager::*change)(std::uint64_t, unsigned));
    void save_counters();

    const Config config_;
    const std::vector<AgentDescription> agents_;
    const CallLog log_;
    std::unique_ptr<DeviceFile> file_;
    MemoryManager memory_; ///< under engine_.lock()
    Events events_;
    QueueEngine engine_;
    std::uint64_t event_page_handle_ WAVETAP_GUARDED_BY(engine_.lock()) = 0;
    std::atomic<std::uint64_t> ioctls_{0};     ///< only counted
    std::atomic<bool> counters_failed_{false}; ///< said once
    Mutex counters_mutex_; ///< one writer of the file, and no older counts later
};

} // namespace wavetap::softgpu::kfd
