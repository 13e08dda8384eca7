// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "softgpu/kfd/uapi.hpp"

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <thread>

namespace wavetap::softgpu::kfd {

/// The driver's events. A set wakes every waiter that is there, as in the kernel. In one thing they
/// are kinder: in the kernel a set of an auto-reset event without waiters is consumed by whichever
/// thread waits next; here it ends the next wait of every thread. ROCr 5.2 needs that: all its queues
/// share one error event, and the thread in hsa_queue_destroy, between its look at the signal and its
/// wait, may lose a set to the thread of the asynchronous handlers and sleep for ever. A wait that
/// ends without cause is nothing new to clients, they look at their signals again. Resource, thread
/// safe (its own leaf lock). Functions return 0 or an errno.
class Events {
  public:
    static constexpr std::uint32_t kSignalLimit = 4096; ///< ids of signal events are 1..4095
    static constexpr std::uint32_t kFirstOtherId = 4097;
    static constexpr std::uint64_t kUnsignalled = ~std::uint64_t{0};

    /// `ages`: waits look at EventData::last_event_age (interface 1.14 and later).
    explicit Events(bool ages = false) : ages_(ages) {}

    /// ENOSPC when all signal events are taken.
    int create(std::uint32_t type, bool auto_reset, std::uint32_t& id) WAVETAP_EXCLUDES(mutex_);
    int destroy(std::uint32_t id) WAVETAP_EXCLUDES(mutex_);
    int set(std::uint32_t id) WAVETAP_EXCLUDES(mutex_);
    int reset(std::uint32_t id) WAVETAP_EXCLUDES(mutex_);

    /// Interrupt of the chip: sets signal event `id`; an id that does not exist is ignored, as the
    /// kernel does.
    void interrupt(std::uint32_t id) WAVETAP_EXCLUDES(mutex_);
    /// Fills and sets every memory event; returns how many there are.
    unsigned memory_fault(const MemoryFaultData& fault) WAVETAP_EXCLUDES(mutex_);

    /// The page of kSignalLimit slots that the chip writes mailboxes in; its slots become
    /// kUnsignalled. It must stay mapped until replaced (nullptr).
    void set_page(std::uint64_t* page) WAVETAP_EXCLUDES(mutex_);
    bool has_page() const WAVETAP_EXCLUDES(mutex_);

    /// `timeout_ms` 0xfffffffe and above = no limit. `data` is filled for events that fired.
    /// EINVAL: an id does not exist (nothing was waited for); EIO: one was destroyed meanwhile.
    int wait(std::span<EventData> data, bool all, std::uint32_t timeout_ms, std::uint32_t& result)
        WAVETAP_EXCLUDES(mutex_);
    std::size_t waiters_for_test(std::uint32_t id) WAVETAP_EXCLUDES(mutex_);

  private:
    struct Event;
    /// One event of one waiting call.
    struct Wait {
        Event* event = nullptr; ///< nullptr once destroyed
        bool activated = false;
        std::uint64_t entry_age = 0;
        struct Call* call = nullptr;
    };
    struct Event {
        std::uint32_t id = 0;
        std::uint32_t type = 0;
        bool auto_reset = false;
        bool signalled = false;                        ///< of those without auto-reset
        std::uint64_t age = 1;                         ///< sets so far, and one
        std::uint64_t reset_age = 1;                   ///< what was set up to here is void
        std::map<std::thread::id, std::uint64_t> seen; ///< age that a thread's last wait knew
        MemoryFaultData fault{};
        std::list<Wait*> waiters;
    };

    static bool is_set(const Event& event);
    void set_locked(Event& event) WAVETAP_REQUIRES(mutex_);
    Event* find(std::uint32_t id) WAVETAP_REQUIRES(mutex_);
    static void finish(std::span<Wait> waits, std::span<EventData> data);
    static std::uint32_t verdict(std::span<const Wait> waits, bool all);

    const bool ages_;
    mutable Mutex mutex_;
    std::map<std::uint32_t, std::unique_ptr<Event>> events_ WAVETAP_GUARDED_BY(mutex_);
    std::uint32_t next_signal_ WAVETAP_GUARDED_BY(mutex_) = 1;
    std::uint32_t next_other_ WAVETAP_GUARDED_BY(mutex_) = kFirstOtherId;
    std::uint64_t* page_ WAVETAP_GUARDED_BY(mutex_) = nullptr;
};

} // namespace wavetap::softgpu::kfd
