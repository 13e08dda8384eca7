// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/task_pool.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <system_error>

namespace wavetap {
namespace {

// Nothing is lost when a wait ends early: the condition is looked at again.
std::chrono::steady_clock::time_point soon() {
    return std::chrono::steady_clock::now() + std::chrono::seconds(1);
}

} // namespace

TaskPool::TaskPool(unsigned threads) {
    const unsigned count = std::clamp(threads, 1U, kMaxThreads);
    workers_.reserve(count - 1);
    try {
        for (unsigned i = 1; i < count; ++i)
            workers_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
        // The system gives no more threads: fewer do the same work.
    }
}

TaskPool::~TaskPool() {
    {
        const MutexLock lock(mutex_);
        stop_ = true;
        changed_.notify_all();
    }
    for (std::thread& worker : workers_)
        worker.join();
}

void TaskPool::start(Group& group, std::size_t count, std::function<void(std::size_t)> run) {
    const MutexLock lock(mutex_);
    group.run_ = std::move(run);
    group.count_ = count;
    group.next_ = 0;
    group.done_ = 0;
    if (count == 0) return;
    waiting_.push_back(&group);
    changed_.notify_all();
}

// Takes and runs the group's next task; the mutex is free while it runs.
bool TaskPool::run_one(Group& group) {
    std::size_t index = 0;
    {
        const MutexLock lock(mutex_);
        if (group.next_ >= group.count_) return false;
        index = group.next_++;
        if (group.next_ == group.count_) waiting_.remove(&group);
    }
    group.run_(index);
    const MutexLock lock(mutex_);
    if (++group.done_ == group.count_) changed_.notify_all();
    return true;
}

void TaskPool::finish(Group& group) {
    while (run_one(group)) {
    }
    const MutexLock lock(mutex_);
    while (!changed_.wait_until(mutex_, soon(), [&group] { return group.done_ == group.count_; })) {
    }
}

void TaskPool::work() {
    for (;;) {
        Group* group = nullptr;
        std::size_t index = 0;
        {
            const MutexLock lock(mutex_);
            changed_.wait_until(mutex_, soon(), [this]() WAVETAP_NO_THREAD_SAFETY_ANALYSIS {
                return stop_ || !waiting_.empty();
            });
            if (stop_) return;
            if (waiting_.empty()) continue;
            group = waiting_.front();
            index = group->next_++;
            if (group->next_ == group->count_) waiting_.pop_front();
        }
        group->run_(index);
        const MutexLock lock(mutex_);
        if (++group->done_ == group->count_) changed_.notify_all();
    }
}

unsigned thread_count(unsigned wanted) {
    if (wanted != 0) return std::min(wanted, TaskPool::kMaxThreads);
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    return std::clamp(static_cast<unsigned>(CPU_COUNT(&set)), 1U, TaskPool::kMaxThreads);
}

} // namespace wavetap
