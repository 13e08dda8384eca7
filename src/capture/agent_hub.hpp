// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "capture/backend.hpp"
#include "capture/hub_engine.hpp"
#include "capture/hub_state.hpp"
#include "capture/run.hpp"
#include "capture/slot_plan.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace wavetap::capture {

struct HubCore; ///< the inside of an AgentHub

/// A run in progress. Move-only; whoever holds it owns the agent. Dropping it without stop()
/// disarms the trace unit and discards the data, without a callback and without waiting. May outlive
/// its hub, which ends the run; not the hub's clock. Not thread safe.
class RunningTrace {
  public:
    RunningTrace() = default;
    RunningTrace(RunningTrace&& other) noexcept;
    RunningTrace& operator=(RunningTrace&& other) noexcept;
    ~RunningTrace();

    bool active() const { return core_ != nullptr; }
    std::uint64_t run() const { return run_; }
    /// Stops and delivers. On return the stop packet has retired, every chunk was handed to the
    /// request's handler, and no further callback comes. An error other than kWouldDeadlock means
    /// that the run is over and data may be missing.
    /// Errors: kWouldDeadlock (called from a chunk handler; the run goes on), kTimeout, kUnavailable,
    /// kWrongState (not active, or the hub was closed).
    Result<RunSummary> stop();
    /// Ends the run without its data. On return no callback is in progress and none comes any more.
    /// Not from a chunk handler of this run. Errors: kTimeout (a handler of it is still inside).
    Result<void> discard();

  private:
    friend class AgentHub;
    RunningTrace(std::shared_ptr<HubCore> core, std::uint64_t run)
        : core_(std::move(core)), run_(run) {}
    std::shared_ptr<HubCore> core_;
    std::uint64_t run_ = 0;
};

/// How far the GPU has come with a lease whose turn it is.
enum class LeaseProgress : std::uint8_t {
    kBeforeStart, ///< the start stream has not retired
    kDispatch,    ///< the dispatch is executed, as long as it takes
    kBeforeStop,  ///< the dispatch is done, the stop stream has not retired
};

/// Who traces single dispatches. Called on the hub's thread, without a lock; must not wait. `lease`
/// is what lease() was given; chunk handlers of leases are called on a delivery thread.
class LeaseClient {
  public:
    virtual ~LeaseClient() = default;
    /// It is this lease's turn: let the GPU execute start stream, dispatch and stop stream. After an
    /// error both streams do nothing, and the dispatch runs untraced between them. An earlier lease
    /// may not have ended.
    virtual void lease_ready(void* lease, const Result<void>& armed) = 0;
    /// The lease is over; of an armed one every chunk was delivered. The last word about a lease.
    /// Those that had their turn end in that order.
    virtual void lease_ended(void* lease, const Result<RunSummary>& summary) = 0;
    /// Asked now and then between the two.
    virtual LeaseProgress lease_progress(void* lease) = 0;
    /// A start or stop stream did not retire in time: the leases are closed, each was told to have
    /// ended, and none is taken any more. Let every dispatch go that waits for its turn; all streams
    /// do nothing.
    virtual void leases_failed(const Error& reason) = 0;
};

/// Owner of everything heavy of one agent: one queue, the output and staging slots, landing and
/// command memory, the code-object log, and one thread (made at the first start), which alone talks
/// to the backend. It calls the chunk handlers of contexts with one buffer; those of N-buffer
/// contexts are called on a pool of 1 to N more threads (made at the first start of such a context),
/// those of leases on one of that pool.
/// Nothing that throws on these threads leaves them, and start(), stop(), post() and the hooks of code
/// objects never throw: without host memory they return kLimit, and a later start works.
/// Resource; every method is thread safe. A forked child has no such thread: start(), post(), close() and
/// stops of running traces return kWrongState there, the destructor leaves all as it is, and nothing
/// else may be called.
class AgentHub {
  public:
    struct Options {
        HubEngine::Options engine;
        std::string thread_name = "wavetap-hub"; ///< at most 15 bytes
    };
    /// Owns nothing heavy yet. `clock` must outlive the hub.
    AgentHub(std::unique_ptr<Backend> backend, Options options, const Clock& clock);
    /// close(); a thread that does not end within the limit is left alone, with all that it uses.
    ~AgentHub();
    AgentHub(const AgentHub&) = delete;
    AgentHub& operator=(const AgentHub&) = delete;

    /// Slot sizes for all contexts of the agent; applied at the next start.
    void set_plan(const SlotPlan& plan);
    /// Once nobody has held the agent for so long (before the clock's scale), queue and memory are
    /// given back; the next start makes them again. Zero, the default: they are kept.
    void set_idle_release(Duration after);
    /// Takes the agent and arms it. On success every instruction issued after the return is traced.
    /// Errors: kBusy at once when a context owns the agent; kWouldDeadlock (from a chunk handler);
    /// kLimit, kUnavailable, kTimeout, kInvalidArgument, kUnsupported; kWrongState after close().
    Result<RunningTrace> start(const RunRequest& request);

    /// Takes the agent for dispatch mode until close_leases(). `client` must outlive that. Where the
    /// streams of all leases lie is told once; leases run one after the other, so they share them.
    /// While the data of one leave its output slot, the next may run into another slot, if its request
    /// has several (`lease_slots`); if none is free, it waits.
    /// Errors: kBusy at once when a context runs or another owner has leases, or a handler of an
    /// earlier run has not returned; those of start().
    Result<LeaseStreams> open_leases(std::uint32_t owner_context, LeaseClient& client);
    /// Puts a lease behind all others. Never waits. Call it when the GPU has come to the dispatch, so
    /// that no lease waits for one behind it. From its turn on, the start stream must retire within
    /// HubLimits::start, and the stop stream within HubLimits::stop after the dispatch is done; else
    /// the hub fails. With `untraced` nothing is armed: the dispatch only runs beside no other lease's.
    /// Errors: kWrongState (no leases are open, or closing).
    Result<void> lease(void* lease, const RunRequest& request);
    /// The stop stream of the lease whose turn it is has retired: the turn is over. Never waits.
    void lease_retired(void* lease);
    /// The packets of this lease will never run (again): if it is its turn, the trace unit is
    /// disarmed through the hub's own queue; if that is over, nothing happens. Never waits.
    void lease_lost(void* lease);
    /// No more leases; waits for those that are left, ends the rest with an error, gives the agent
    /// back. A chunk handler that does not return is left alone, with the memory it reads. With `packets_left` nothing is waited for: the GPU may still execute the streams, so
    /// their memory is never freed. Errors: kTimeout (some were left: what the GPU may still execute
    /// does nothing); kWrongState (not the owner, or the leases failed); kWouldDeadlock (from the
    /// hub's thread or a chunk handler).
    Result<void> close_leases(std::uint64_t owner, bool packets_left);

    /// Runs `job` on the hub's thread, after what was asked for earlier; start() and
    /// RunningTrace::stop() may be called inside. Never waits. Errors: kWrongState after close(),
    /// kLimit (no thread, no memory).
    Result<void> post(std::function<void()> job);

    /// Notes a load or an unload; while a trace runs, waits (with a deadline) until the GPU has
    /// executed the marker. Call unload before the memory is freed. An error means that the running
    /// trace lacks the marker. Errors: kTimeout, kUnavailable.
    Result<void> code_object_loaded(const CodeObject& object);
    Result<void> code_object_unloaded(std::uint64_t id);

    HubState state() const;
    /// The caller is inside a chunk handler or a job of the hub.
    bool on_hub_thread() const;
    /// True inside a chunk handler of this hub: a stop would wait for itself.
    bool in_handler() const;
    HubStatistics statistics() const;
    const AgentTopology& topology() const;
    /// Backend::name() and PacketSource::name() of what it was made with, for good.
    const char* backend_name() const;
    const char* packets_name() const;
    const Clock& clock() const;
    const HubLimits& limits() const;

    // For those who wait for several hubs at once (together.hpp, Session).
    /// Counts a start that was refused before it came to the hub / an answer that came too late.
    void count_refused();
    void count_deadline_miss();
    /// No callback for `run` begins any more, if it still goes on.
    void silence(std::uint64_t run);

    /// Stops what runs (its data are delivered), gives every resource back, ends the thread.
    /// Idempotent. Errors: kWouldDeadlock (from the hub's thread), kTimeout, kWrongState (forked child).
    Result<void> close();

  private:
    Result<void> wait_marked(MarkerLog::Position until);

    /// Shared with the hub's thread and with running traces: a thread which never came back, and a
    /// token that is kept for too long, touch no freed memory.
    std::shared_ptr<HubCore> core_;
};

} // namespace wavetap::capture
