// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"

namespace wavetap::softgpu::kfd {

/// The owner lock of the chips. The engine thread takes it again and again for a batch of model
/// time; a system call that waits gets it at the end of the running batch, before the next one.
///
/// Both sides pass the gate to reach the lock. A caller keeps the gate while it waits, so the engine
/// cannot overtake it.
class WAVETAP_CAPABILITY("mutex") EngineLock {
  public:
    void lock() WAVETAP_ACQUIRE() WAVETAP_NO_THREAD_SAFETY_ANALYSIS {
        gate_.lock();
        data_.lock();
        gate_.unlock();
    }
    void unlock() WAVETAP_RELEASE() WAVETAP_NO_THREAD_SAFETY_ANALYSIS { data_.unlock(); }

  private:
    Mutex gate_;
    Mutex data_;
};

class WAVETAP_SCOPED_CAPABILITY EngineHold {
  public:
    explicit EngineHold(EngineLock& lock) WAVETAP_ACQUIRE(lock) : lock_(lock) { lock_.lock(); }
    ~EngineHold() WAVETAP_RELEASE() { lock_.unlock(); }
    EngineHold(const EngineHold&) = delete;
    EngineHold& operator=(const EngineHold&) = delete;

  private:
    EngineLock& lock_;
};

} // namespace wavetap::softgpu::kfd
