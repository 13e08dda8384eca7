// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "softgpu/chip.hpp"
#include "softgpu/kfd/counters.hpp"
#include "softgpu/kfd/engine_lock.hpp"
#include "softgpu/kfd/events.hpp"
#include "softgpu/kfd/heap.hpp"
#include "softgpu/kfd/memory_manager.hpp"
#include "softgpu/kfd/topology.hpp"
#include "softgpu/kfd/uapi.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace wavetap::softgpu::kfd {

/// Where chips come from: the real ones, or a test's.
class ChipSource {
  public:
    virtual ~ChipSource() = default;
    virtual Result<std::unique_ptr<Chip>> make(const ChipSpec& spec, unsigned agent,
                                               AddressSpace& space, Host& host) = 0;
    /// Puts what the chips have written about themselves on disk. Owner lock.
    virtual void flush() = 0;
};

/// The hardware queues of all agents, their doorbells, and the thread that drives the chips.
/// Resource. Chips and thread are made with the first queue. Functions return 0 or an errno.
class QueueEngine {
  public:
    /// What it borrows must outlive it.
    QueueEngine(const std::vector<AgentDescription>& agents, std::uint32_t queues_per_agent,
                DeviceFile& file, MemoryManager& memory, Events& events, ChipSource& source);
    ~QueueEngine();

    EngineLock& lock() WAVETAP_THREAD_ATTRIBUTE(lock_returned(lock_)) { return lock_; }

    /// ENOMEM at the queue limit, EFAULT if ring or pointers are not mapped, EINVAL for a bad ring
    /// or kind, ENODEV if there is no chip.
    int create_queue(unsigned agent, CreateQueueArgs& args, Owner owner) WAVETAP_EXCLUDES(lock_);
    /// After return nothing of the queue's memory is touched.
    int destroy_queue(std::uint32_t id) WAVETAP_EXCLUDES(lock_);
    int update_queue(const UpdateQueueArgs& args) WAVETAP_EXCLUDES(lock_);
    bool has_queue(std::uint32_t id) WAVETAP_EXCLUDES(lock_);

    /// Adds queues and chips to `counters`.
    void count(Counters& counters) WAVETAP_REQUIRES(lock_);
    void flush() WAVETAP_EXCLUDES(lock_);

  private:
    class AgentHost;
    struct Queue {
        unsigned agent = 0;
        QueueId chip_queue{};
        bool is_aql = false;
        unsigned slot = 0;
        std::uint64_t* doorbell = nullptr;
        std::uint64_t last_doorbell = 0;
        std::uint64_t write_index_va = 0;
    };
    struct Agent {
        AgentDescription description;
        std::unique_ptr<AgentHost> host;
        std::unique_ptr<Chip> chip;
        std::vector<bool> slots; ///< doorbell slots in use
        std::uint32_t queues = 0;
        bool had_aql_queue = false;
    };
    struct Round {
        bool has_queues = false;
        Chip::Progress progress = Chip::Progress::kIdle;
    };

    int check_memory(unsigned agent, const CreateQueueArgs& args) WAVETAP_REQUIRES(lock_);
    int ensure_chip(unsigned agent) WAVETAP_REQUIRES(lock_);
    void start_thread() WAVETAP_REQUIRES(lock_);
    void poll_doorbells() WAVETAP_REQUIRES(lock_);
    std::uint64_t written_packets(const Queue& queue) WAVETAP_REQUIRES(lock_);
    Round run_round(std::uint64_t clocks) WAVETAP_EXCLUDES(lock_);
    void run(const std::stop_token& stop);
    void wait_for_queues(const std::stop_token& stop) WAVETAP_EXCLUDES(wake_);
    void wake() WAVETAP_EXCLUDES(wake_);

    const std::uint32_t queues_per_agent_;
    DeviceFile& file_;
    MemoryManager& memory_;
    Events& events_;
    ChipSource& source_;

    /// The runtime's list of loaded code objects, looked up by create_queue() outside the lock: the
    /// loader's lock may be held by a thread that waits for ours.
    std::atomic<const void*> loaded_code_{nullptr};

    EngineLock lock_;
    std::vector<Agent> agents_ WAVETAP_GUARDED_BY(lock_);
    std::map<std::uint32_t, Queue> queues_ WAVETAP_GUARDED_BY(lock_);
    std::uint32_t next_id_ WAVETAP_GUARDED_BY(lock_) = 1;
    Counters counters_ WAVETAP_GUARDED_BY(lock_);
    bool unflushed_ WAVETAP_GUARDED_BY(lock_) = false;

    Mutex wake_;
    CondVar woken_;
    bool work_ WAVETAP_GUARDED_BY(wake_) = false;
    std::optional<std::jthread> thread_; ///< made by the first queue, under lock_; then constant
};

} // namespace wavetap::softgpu::kfd
