// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

// clang checks these with -Wthread-safety; gcc ignores them.
#if defined(__clang__)
#define WAVETAP_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define WAVETAP_THREAD_ATTRIBUTE(x)
#endif
#define WAVETAP_CAPABILITY(x) WAVETAP_THREAD_ATTRIBUTE(capability(x))
#define WAVETAP_SCOPED_CAPABILITY WAVETAP_THREAD_ATTRIBUTE(scoped_lockable)
#define WAVETAP_GUARDED_BY(x) WAVETAP_THREAD_ATTRIBUTE(guarded_by(x))
#define WAVETAP_REQUIRES(...) WAVETAP_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define WAVETAP_EXCLUDES(...) WAVETAP_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define WAVETAP_ACQUIRE(...) WAVETAP_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define WAVETAP_RELEASE(...) WAVETAP_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define WAVETAP_NO_THREAD_SAFETY_ANALYSIS WAVETAP_THREAD_ATTRIBUTE(no_thread_safety_analysis)

namespace wavetap {

class CondVar;

/// std::mutex that clang's thread-safety analysis understands.
class WAVETAP_CAPABILITY("mutex") Mutex {
  public:
    Mutex() = default;
    Mutex(const Mutex&) = delete;
    Mutex& operator=(const Mutex&) = delete;
    void lock() WAVETAP_ACQUIRE() { mutex_.lock(); }
    void unlock() WAVETAP_RELEASE() { mutex_.unlock(); }

  private:
    friend class CondVar;
    std::mutex mutex_;
};

/// Holds a Mutex for a scope.
class WAVETAP_SCOPED_CAPABILITY MutexLock {
  public:
    explicit MutexLock(Mutex& mutex) WAVETAP_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
    ~MutexLock() WAVETAP_RELEASE() { mutex_.unlock(); }
    MutexLock(const MutexLock&) = delete;
    MutexLock& operator=(const MutexLock&) = delete;

  private:
    Mutex& mutex_;
};

/// Condition variable for Mutex. There is no wait without a deadline, on purpose.
/// The flag that a waiter tests is always set under the same Mutex.
class CondVar {
  public:
    void notify_one() noexcept { condition_.notify_one(); }
    void notify_all() noexcept { condition_.notify_all(); }

    /// Waits until `ready()` or the steady-clock `deadline`; returns ready()'s last answer.
    template <class Predicate>
    bool wait_until(Mutex& mutex, std::chrono::steady_clock::time_point deadline, Predicate ready)
        WAVETAP_REQUIRES(mutex) WAVETAP_NO_THREAD_SAFETY_ANALYSIS {
        std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
        const bool answer = condition_.wait_until(lock, deadline, ready);
        lock.release();
        return answer;
    }

  private:
    std::condition_variable condition_;
};

} // namespace wavetap
