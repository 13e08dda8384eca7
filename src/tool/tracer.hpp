// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/clock.hpp"
#include "rocr/interceptor.hpp"

namespace wavetap::tool {

/// What decides about tracing at each dispatch: one for each mode.
class Tracer {
  public:
    virtual ~Tracer() = default;
    virtual rocr::DispatchHooks& hooks() = 0;
    /// ROCr's handler thread is made known to `*interceptor` once it is set.
    virtual void set_interceptor(rocr::QueueInterceptor* interceptor) = 0;
    /// Admits nothing any more, ends and delivers what runs, and lets every waiting queue go. Waits
    /// for the hubs until `deadline`. Idempotent.
    virtual void finish(TimePoint deadline) = 0;
};

} // namespace wavetap::tool
