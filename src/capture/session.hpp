// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "base/result.hpp"
#include "capture/agent_hub.hpp"
#include "capture/dispatch_mode.hpp"
#include "capture/params.hpp"
#include "capture/process.hpp"

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <thread>
#include <vector>

namespace wavetap::capture {

/// Names a context; 0 is never one. Handles of destroyed contexts are refused.
struct ContextHandle {
    std::uint64_t value = 0;
    friend bool operator==(const ContextHandle&, const ContextHandle&) = default;
};

/// The contexts of a process and the hubs of its agents. A context is a record of plain values: any
/// number of them costs host memory only. Resource; thread safe. No lock is held while a hub is
/// waited for or a chunk handler runs. In a forked child the hubs have no thread: there only
/// check_process(), close() and the destructor may be called, which touch no lock, and what threads of
/// the parent use stays allocated.
class Session {
  public:
    Session() = default;
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    /// Errors: kWrongState (a forked child of the process that made it).
    Result<void> check_process() const { return process_.check(); }

    /// Adds an agent; its index counts from 0. Before the first context, or before attach().
    std::uint32_t add_agent(std::unique_ptr<AgentHub> hub);
    std::uint32_t agents() const;
    /// Precondition: index < agents().
    AgentHub& hub(std::uint32_t agent);

    /// Errors: kLimit.
    Result<ContextHandle> create();
    /// Once for each agent of the context: after the second call the context spans two agents, each
    /// with its own parameters and handler. A failed call leaves the context as it was. Errors:
    /// kInvalidArgument, kUnsupported (parameters), kNotFound (context, agent), kWrongState (already
    /// configured for this agent, or it runs), kLimit.
    Result<void> configure(ContextHandle context, std::uint32_t agent, const TraceParams& params,
                           ChunkHandler handler, void* user);
    /// The same for dispatch mode: `params.dispatch` is taken as 1, `handlers` stay where they are. All
    /// agents of a context have one mode (kWrongState).
    Result<void> configure_dispatches(ContextHandle context, std::uint32_t agent,
                                      const TraceParams& params, const DispatchHandlers& handlers,
                                      void* user);
    /// Who shows dispatches to contexts of dispatch mode. Before the first one starts; must stay until
    /// close() has called its unbind().
    void set_dispatch_driver(DispatchDriver* driver);
    /// Zeros where nobody shows dispatches.
    RingCounts ring_counts(std::uint32_t agent) const;
    /// Starts on all of its agents at the same time, or on none of them. Whether they are free is
    /// decided for all at once: of contexts that share an agent, one gets all of its agents. Success
    /// if it already runs. Errors: kNotFound, kWrongState (not configured), kBusy, and those of
    /// AgentHub::start; dispatch mode: kUnsupported (nobody shows dispatches).
    Result<void> start(ContextHandle context);
    /// What a lease of this context needs. Errors: kNotFound, kWrongState (not configured).
    Result<RunRequest> request(ContextHandle context) const;
    /// Several agents: all at the same time; the summary holds sums. A context that does not run:
    /// success with run 0. Dispatch mode: nothing is admitted any more, what was is delivered; run 0.
    /// Errors: kNotFound, kBusy (another thread
    /// starts or stops it), kWouldDeadlock, and those of RunningTrace::stop.
    Result<RunSummary> stop(ContextHandle context);
    /// As stop(), on the hub's thread, after the handler or job that runs there (dispatch mode: on a
    /// thread of its own); never waits. May be
    /// called from anywhere, chunk handlers too. After success `done` is called there once with what
    /// stop() returned (kBusy: another thread's stop is about to return); it must not throw. Errors: kNotFound, kWrongState (not configured, or the hub
    /// was closed), kLimit; then `done` is not called.
    Result<void> stop_async(ContextHandle context,
                            std::function<void(const Result<RunSummary>&)> done);
    Result<bool> running(ContextHandle context) const;

    /// A session may begin without agents, before the runtime is up. Until attach() configure() only
    /// notes its parameters, start() notes that the context is wanted running (success), and stop()
    /// takes that back. Errors: kNotFound.
    Result<bool> pending(ContextHandle context) const;
    struct Failure {
        ContextHandle context;
        Error error;
    };
    /// The agents are there: configures what was noted, checking it at last, and starts once, in the
    /// order of the wishes, what is still wanted. A context that is refused stays, not configured (or
    /// not running). Not from a hub's thread. Later calls do nothing.
    std::vector<Failure> attach();
    /// Stops it first if it runs. Errors: as stop().
    Result<void> destroy(ContextHandle context);

    std::uint64_t contexts() const;
    std::uint64_t contexts_of(std::uint32_t agent) const;
    /// Host memory that one context costs here, idle.
    std::uint64_t host_bytes_per_context() const;

    /// Closes every hub: running traces are delivered. Errors: kTimeout, kWouldDeadlock; kWrongState
    /// (a forked child: nothing is done).
    Result<void> close();

  private:
    /// kPart: the second or a later agent of a context; its first record has the state.
    enum class State : std::uint8_t { kUnused, kNew, kPart, kIdle, kStarting, kRunning, kStopping };
    struct Record {
        State state = State::kUnused;
        std::uint32_t next_part = 0; ///< index + 1 of the record of the next agent; 0 = the last
        std::uint32_t generation = 0;
        std::uint32_t agent = 0;
        std::uint32_t buffers = 1;
        std::uint32_t lease_slots = 0;
        bool serialize_all = false;
        StreamParams stream;
        pm4::TraceConfig config;
        ChunkHandler handler = nullptr;
        const DispatchHandlers* dispatches = nullptr; ///< dispatch mode
        void* user = nullptr;
        bool wanted = false; ///< was started before attach()
    };
    /// A configure() before attach().
    struct Noted {
        ContextHandle context;
        std::uint32_t agent = 0;
        TraceParams params;
        ChunkHandler handler = nullptr;
        const DispatchHandlers* dispatches = nullptr;
        void* user = nullptr;
    };
    /// An asynchronous stop of dispatch mode.
    struct Stopper {
        std::thread thread;
        bool over = false;
    };
    struct Agent {
        std::unique_ptr<AgentHub> hub;
        RunningTrace running; ///< of the one context that runs
        SlotPlan plan;
        bool plan_stale = false;  ///< a context went away
        std::uint32_t holder = 0; ///< index + 1 of the context that starts, runs or stops
    };

    Record* find(ContextHandle context) WAVETAP_REQUIRES(mutex_);
    const Record* find(ContextHandle context) const WAVETAP_REQUIRES(mutex_);
    bool detached() const WAVETAP_REQUIRES(mutex_) { return agents_.empty() && !attached_; }
    Result<void> configure(const Noted& noted) WAVETAP_EXCLUDES(mutex_);
    Result<void> note(const Noted& noted) WAVETAP_REQUIRES(mutex_);
    bool is_noted(ContextHandle context) const WAVETAP_REQUIRES(mutex_);
    Result<void> wish(ContextHandle context, Record& record) WAVETAP_REQUIRES(mutex_);
    void forget(ContextHandle context) WAVETAP_REQUIRES(mutex_);
    Result<std::uint32_t> take_record() WAVETAP_REQUIRES(mutex_);
    void release_record(std::uint32_t index) WAVETAP_REQUIRES(mutex_);
    void refresh_plan(std::uint32_t agent) WAVETAP_REQUIRES(mutex_);
    /// Takes every agent of the context at `index`, or none. Errors: kBusy.
    Result<void> claim(std::uint32_t index) WAVETAP_REQUIRES(mutex_);
    void set_free(std::uint32_t index) WAVETAP_REQUIRES(mutex_);
    RunRequest request_of(std::uint32_t index, const Record& part) const WAVETAP_REQUIRES(mutex_);
    /// The two parts of start_on_all() and stop_on_all() that may throw for want of memory. Then
    /// nothing was started; what runs is in `tokens`, or where it was.
    std::vector<AgentHub*> hubs_of(std::uint32_t index) const WAVETAP_REQUIRES(mutex_);
    Result<std::vector<RunningTrace>> start_all(std::uint32_t index) WAVETAP_EXCLUDES(mutex_);
    Result<RunSummary> stop_all(std::uint32_t index, std::vector<RunningTrace>& tokens)
        WAVETAP_EXCLUDES(mutex_);
    RunningTrace take_running(std::uint32_t part) WAVETAP_EXCLUDES(mutex_);
    Result<void> start_on_all(std::uint32_t index) WAVETAP_EXCLUDES(mutex_);
    Result<RunSummary> stop_on_all(std::uint32_t index) WAVETAP_EXCLUDES(mutex_);
    /// Errors: those of DispatchDriver::open(), also for what it throws; `opened` counts.
    Result<void> open_all(std::uint32_t index, std::size_t& opened) WAVETAP_EXCLUDES(mutex_);
    /// Of the first `count` agents of the context. Never throws.
    Result<void> close_some(std::uint32_t index, std::size_t count) WAVETAP_EXCLUDES(mutex_);
    Result<void> start_dispatches(std::uint32_t index) WAVETAP_EXCLUDES(mutex_);
    Result<RunSummary> stop_dispatches(std::uint32_t index) WAVETAP_EXCLUDES(mutex_);
    /// kWouldDeadlock if the context's dispatches cannot be waited for by the calling thread.
    Result<void> may_wait(ContextHandle context) WAVETAP_EXCLUDES(mutex_);
    Result<void> stop_on_a_thread(ContextHandle context,
                                  std::function<void(const Result<RunSummary>&)> done)
        WAVETAP_EXCLUDES(mutex_);
    /// Stops what is traced, waits for asynchronous stops.
    Result<void> close_dispatches() WAVETAP_EXCLUDES(mutex_);
    std::vector<std::uint32_t> agents_of(std::uint32_t index) const WAVETAP_REQUIRES(mutex_);

    const OwnProcess process_;
    mutable Mutex mutex_;
    std::vector<Agent> agents_ WAVETAP_GUARDED_BY(mutex_);
    std::vector<Record> records_ WAVETAP_GUARDED_BY(mutex_);
    std::vector<std::uint32_t> free_ WAVETAP_GUARDED_BY(mutex_);
    std::vector<Noted> noted_ WAVETAP_GUARDED_BY(mutex_);
    std::vector<ContextHandle> wishes_ WAVETAP_GUARDED_BY(mutex_); ///< in order
    bool attached_ WAVETAP_GUARDED_BY(mutex_) = false;
    DispatchDriver* driver_ WAVETAP_GUARDED_BY(mutex_) = nullptr;
    std::list<Stopper> stoppers_ WAVETAP_GUARDED_BY(mutex_);
    CondVar stopped_; ///< a stopper is over
};

} // namespace wavetap::capture
