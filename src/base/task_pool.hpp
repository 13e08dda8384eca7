// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"

#include <cstddef>
#include <functional>
#include <list>
#include <thread>
#include <vector>

namespace wavetap {

/// A bounded number of threads that work through groups of tasks. The thread that waits for a group
/// works too, so a pool of N threads starts N - 1. Tasks must not throw, and must not wait for
/// another group. Any thread may start and finish groups.
class TaskPool {
  public:
    /// Tasks 0 to count - 1, handed out in order. Not movable while started.
    class Group {
      public:
        Group() = default;
        Group(const Group&) = delete;
        Group& operator=(const Group&) = delete;

      private:
        friend class TaskPool;
        std::function<void(std::size_t)> run_;
        std::size_t count_ = 0, next_ = 0, done_ = 0; ///< under the pool's mutex
    };

    static constexpr unsigned kMaxThreads = 256;

    /// `threads`: 1 to kMaxThreads, others are brought into that range. Where the system has no
    /// more threads to give, there are fewer.
    explicit TaskPool(unsigned threads);
    /// Every started group must be finished.
    ~TaskPool();
    TaskPool(const TaskPool&) = delete;
    TaskPool& operator=(const TaskPool&) = delete;

    unsigned threads() const { return static_cast<unsigned>(workers_.size()) + 1; }

    /// Begins to work on `group`, which must be new or finished and must live until finish().
    void start(Group& group, std::size_t count, std::function<void(std::size_t)> run);
    /// Helps until every task of the group is done.
    void finish(Group& group);
    void for_each(std::size_t count, std::function<void(std::size_t)> run) {
        Group group;
        start(group, count, std::move(run));
        finish(group);
    }

  private:
    void work();
    bool run_one(Group& group);

    Mutex mutex_;
    CondVar changed_;
    std::list<Group*> waiting_ WAVETAP_GUARDED_BY(mutex_); ///< with tasks not yet handed out
    bool stop_ WAVETAP_GUARDED_BY(mutex_) = false;
    std::vector<std::thread> workers_;
};

/// The number of threads meant by `wanted`: 0 = one for each processor that this process may use.
unsigned thread_count(unsigned wanted);

} // namespace wavetap
