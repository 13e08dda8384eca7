// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/clock.hpp"
#include "base/mutex.hpp"

#include <cstdint>
#include <utility>

namespace wavetap::rocr {

/// Keeps a thread that did not end in time out of a runtime that is about to go away. Thread safe; no
/// lock is held while a call of the runtime runs.
class RuntimeGate {
  public:
    /// Held during a call of the runtime. False: the gate is closed, the call must not be made.
    class Pass {
      public:
        explicit Pass(RuntimeGate* gate) : gate_(gate) {}
        Pass(Pass&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
        Pass& operator=(Pass&&) = delete;
        ~Pass() {
            if (gate_ != nullptr) gate_->leave();
        }
        explicit operator bool() const { return gate_ != nullptr; }

      private:
        RuntimeGate* gate_;
    };

    /// May be nested.
    Pass enter() {
        MutexLock lock(mutex_);
        if (closed_) return Pass(nullptr);
        ++inside_;
        return Pass(this);
    }
    /// Nobody passes any more; waits for those inside until `deadline`. False: some still are.
    bool close(TimePoint deadline) {
        MutexLock lock(mutex_);
        closed_ = true;
        return left_.wait_until(mutex_, deadline,
                                [this]() WAVETAP_REQUIRES(mutex_) { return inside_ == 0; });
    }

  private:
    void leave() {
        MutexLock lock(mutex_);
        if (--inside_ == 0) left_.notify_all();
    }

    Mutex mutex_;
    CondVar left_;
    bool closed_ WAVETAP_GUARDED_BY(mutex_) = false;
    std::uint64_t inside_ WAVETAP_GUARDED_BY(mutex_) = 0;
};

} // namespace wavetap::rocr
