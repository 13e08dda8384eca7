// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/kfd/events.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <vector>

namespace wavetap::softgpu::kfd {
namespace {

constexpr std::uint32_t kForever = 0xfffffffe;
constexpr auto kLongest = std::chrono::hours(24);

bool is_signal(std::uint32_t type) {
    return type == kEventSignal || type == kEventDebug;
}

} // namespace

struct Call {
    CondVar changed;
};

int Events::create(std::uint32_t type, bool auto_reset, std::uint32_t& id) {
    const MutexLock lock(mutex_);
    if (is_signal(type)) {
        std::uint32_t tries = 1;
        while (events_.contains(next_signal_) && tries++ < kSignalLimit)
            next_signal_ = next_signal_ % (kSignalLimit - 1) + 1;
        if (events_.contains(next_signal_)) return ENOSPC;
        id = next_signal_;
        next_signal_ = next_signal_ % (kSignalLimit - 1) + 1;
    } else {
        while (events_.contains(next_other_))
            ++next_other_;
        id = next_other_++;
        if (next_other_ < kFirstOtherId) next_other_ = kFirstOtherId;
    }
    auto event = std::make_unique<Event>();
    event->id = id;
    event->type = type;
    event->auto_reset = auto_reset;
    events_.emplace(id, std::move(event));
    return 0;
}

Events::Event* Events::find(std::uint32_t id) {
    const auto it = events_.find(id);
    return it == events_.end() ? nullptr : it->second.get();
}

int Events::destroy(std::uint32_t id) {
    const MutexLock lock(mutex_);
    Event* event = find(id);
    if (event == nullptr) return EINVAL;
    for (Wait* wait : event->waiters) {
        wait->event = nullptr;
        wait->call->changed.notify_all();
    }
    events_.erase(id);
    return 0;
}

/// For the calling thread.
bool Events::is_set(const Event& event) {
    if (!event.auto_reset) return event.signalled;
    const auto it = event.seen.find(std::this_thread::get_id());
    const std::uint64_t seen = it == event.seen.end() ? 0 : it->second;
    return std::max(seen, event.reset_age) < event.age;
}

void Events::set_locked(Event& event) {
    event.signalled = true;
    ++event.age;
    for (Wait* wait : event.waiters) {
        wait->activated = true;
        wait->call->changed.notify_all();
    }
}

int Events::set(std::uint32_t id) {
    const MutexLock lock(mutex_);
    Event* event = find(id);
    if (event == nullptr || !is_signal(event->type)) return EINVAL;
    set_locked(*event);
    return 0;
}

int Events::reset(std::uint32_t id) {
    const MutexLock lock(mutex_);
    Event* event = find(id);
    if (event == nullptr || !is_signal(event->type)) return EINVAL;
    event->signalled = false;
    event->reset_age = event->age;
    return 0;
}

void Events::interrupt(std::uint32_t id) {
    const MutexLock lock(mutex_);
    Event* event = find(id);
    if (event == nullptr || !is_signal(event->type)) return;
    if (page_ != nullptr && id < kSignalLimit)
        std::atomic_ref<std::uint64_t>(page_[id]).store(kUnsignalled, std::memory_order_relaxed);
    set_locked(*event);
}

unsigned Events::memory_fault(const MemoryFaultData& fault) {
    const MutexLock lock(mutex_);
    unsigned count = 0;
    for (auto& [id, event] : events_) {
        if (event->type != kEventMemory) continue;
        event->fault = fault;
        set_locked(*event);
        ++count;
    }
    return count;
}

void Events::set_page(std::uint64_t* page) {
    const MutexLock lock(mutex_);
    page_ = page;
    if (page != nullptr) std::fill_n(page, kSignalLimit, kUnsignalled);
}

bool Events::has_page() const {
    const MutexLock lock(mutex_);
    return page_ != nullptr;
}

std::size_t Events::waiters_for_test(std::uint32_t id) {
    const MutexLock lock(mutex_);
    const Event* event = find(id);
    return event == nullptr ? 0 : event->waiters.size();
}

std::uint32_t Events::verdict(std::span<const Wait> waits, bool all) {
    std::size_t activated = 0;
    for (const Wait& wait : waits) {
        if (wait.event == nullptr) return kWaitFail;
        if (wait.activated) {
            if (!all) return kWaitComplete;
            ++activated;
        }
    }
    return activated == waits.size() ? kWaitComplete : kWaitTimeout;
}

void Events::finish(std::span<Wait> waits, std::span<EventData> data) {
    for (std::size_t i = 0; i < waits.size(); ++i) {
        const Wait& wait = waits[i];
        if (wait.event == nullptr || !wait.activated) continue;
        if (wait.event->type == kEventMemory)
            data[i].memory_fault = wait.event->fault;
        else if (is_signal(wait.event->type) && wait.entry_age != 0)
            data[i].last_event_age = wait.event->age;
    }
}

int Events::wait(std::span<EventData> data, bool all, std::uint32_t timeout_ms,
                 std::uint32_t& result) {
    using std::chrono::milliseconds;
    const auto limit = timeout_ms >= kForever ? std::chrono::duration_cast<milliseconds>(kLongest)
                                              : milliseconds(timeout_ms);
    auto deadline = std::chrono::steady_clock::now() + limit;
    Call call;
    std::vector<Wait> waits(data.size());

    const MutexLock lock(mutex_);
    for (std::size_t i = 0; i < data.size(); ++i)
        if (find(data[i].event_id) == nullptr) {
            result = kWaitFail;
            return EINVAL;
        }
    for (std::size_t i = 0; i < data.size(); ++i) {
        Wait& wait = waits[i];
        Event& event = *find(data[i].event_id);
        wait.event = &event;
        wait.call = &call;
        wait.activated = is_set(event);
        if (ages_ && is_signal(event.type) && data[i].last_event_age != 0) {
            wait.entry_age = data[i].last_event_age;
            if (wait.entry_age != event.age) wait.activated = true;
        }
        event.waiters.push_back(&wait);
    }
    const auto settled = [&] { return verdict(waits, all) != kWaitTimeout; };
    while (!call.changed.wait_until(mutex_, deadline, settled) && timeout_ms >= kForever)
        deadline = std::chrono::steady_clock::now() + kLongest;
    result = data.empty() ? std::uint32_t{kWaitComplete} : verdict(waits, all);
    if (result == kWaitComplete) finish(waits, data);

    for (Wait& wait : waits) {
        if (wait.event == nullptr) continue;
        wait.event->waiters.remove(&wait);
        // What did not end the wait is there for the next one.
        if (result == kWaitComplete) wait.event->seen[std::this_thread::get_id()] = wait.event->age;
    }
    return result == kWaitFail ? EIO : 0;
}

} // namespace wavetap::softgpu::kfd
