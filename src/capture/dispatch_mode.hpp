// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "capture/agent_hub.hpp"
#include "capture/chunk.hpp"
#include "capture/run.hpp"

#include <cstdint>

// Between a session's contexts of dispatch mode and the runtime's queues.

namespace wavetap::capture {

/// A kernel dispatch of the application, on its way into a queue.
struct Dispatch {
    std::uint32_t agent = 0;
    std::uint64_t number = 0;               ///< counts from 1 in the process, over all agents
    std::uint64_t queue = 0;                ///< counts from 1 in the process; never reused
    std::uint64_t correlation = 0;          ///< of the launch; never 0
    std::uint64_t external_correlation = 0; ///< of the launching thread (correlation.hpp)
    std::uint64_t kernel_object = 0;
    const char* kernel = ""; ///< mangled name, "" if unknown; borrowed for the call
    bool traceable = true;   ///< false: its queue has no room for the packets of a trace
};

/// What a context does with the dispatches of its agent. Functions of a static table; called without
/// a lock of ours.
struct DispatchHandlers {
    /// True: trace it. In the launching thread, or ROCr's handler thread, with locks of the runtime
    /// held: must not wait. `*dispatch_user` is what the other two get.
    bool (*decide)(const Dispatch& dispatch, void* user, void** dispatch_user);
    void (*chunk)(const Chunk& chunk, const Dispatch& dispatch, void* user, void* dispatch_user);
    /// Once for each that decide() wanted traced, after its last chunk, on any thread.
    void (*ended)(const Dispatch& dispatch, const Result<RunSummary>& summary, void* user,
                  void* dispatch_user);
};

/// A context of dispatch mode on one agent. A value.
struct DispatchClient {
    RunRequest request; ///< without a handler
    const DispatchHandlers* handlers = nullptr;
    void* user = nullptr;
};

/// What a watched queue's ring had room for; counters of one agent since its queues are watched.
struct RingCounts {
    std::uint64_t waits = 0; ///< launches that waited until the GPU had come on
    std::uint64_t crowded =
        0; ///< dispatches that could have no packets around them: too many came at once
    std::uint64_t full =
        0; ///< the same: the ring was full, and stayed so or was not to be waited for
};

/// Who sees the dispatches of the process (rocr/interception.hpp). Thread safe.
class DispatchDriver {
  public:
    virtual ~DispatchDriver() = default;
    /// From now on the agent's dispatches are shown to `client`, until close(). Errors: those of
    /// AgentHub::open_leases(), kWrongState.
    virtual Result<void> open(std::uint32_t agent, AgentHub& hub, const DispatchClient& client) = 0;
    /// Shows no more, waits (with a deadline) until what is traced was delivered. After any error but
    /// kWouldDeadlock data may be missing. Errors: kTimeout, kWouldDeadlock.
    virtual Result<void> close(std::uint32_t agent) = 0;
    /// The calling thread is inside of a decide().
    virtual bool deciding() const = 0;
    /// kWouldDeadlock if close() of the agent would wait for the calling thread.
    virtual Result<void> may_wait(std::uint32_t agent, AgentHub& hub) const = 0;
    virtual RingCounts ring_counts(std::uint32_t agent) const = 0;
    /// The session is about to go: nothing of it is touched any more. Every agent is closed.
    virtual void unbind() = 0;
};

} // namespace wavetap::capture
