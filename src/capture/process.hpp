// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <unistd.h>

namespace wavetap::capture {

/// The process that made it. A forked child has a copy of everything but the threads, and of locks as
/// they were, held or not; so it asks here before it touches either. Immutable; thread safe.
class OwnProcess {
  public:
    OwnProcess() : pid_(::getpid()) {}
    bool here() const { return ::getpid() == pid_; }
    /// Errors: kWrongState (a forked child).
    Result<void> check() const {
        if (here()) return {};
        return Error{ErrorCode::kWrongState, "this session belongs to the process that opened it",
                     "forked child", "open one in the child"};
    }

  private:
    const pid_t pid_;
};

} // namespace wavetap::capture
