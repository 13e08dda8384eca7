// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/caught.hpp"
#include "base/mutex.hpp"
#include "capture/agent_hub.hpp"
#include "capture/process.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

// The inside of AgentHub, for its own source files (agent_hub.cpp, hub_leases.cpp) only.

namespace wavetap::capture {

/// A wish of a client, served on the hub's thread.
struct HubRequest {
    enum class Kind : std::uint8_t { kStart, kStop, kJob, kOpenLeases, kCloseLeases };
    Kind kind = Kind::kJob;
    RunRequest start;
    std::uint64_t run = 0;
    std::function<void()> job;
    Result<RunSummary> answer = RunSummary{};
    bool done = false;
    bool abandoned = false; ///< nobody waits any more: the hub's thread recycles it
    HubRequest* next = nullptr;
};

/// A dispatch that waits for its turn, has it, or has had it. It moves from list to list.
struct HubLease {
    void* id = nullptr;
    RunRequest request;
    bool lost = false;    ///< its packets will not run (again); told, not yet handled
    bool armed = false;   ///< the engine has data of it
    bool no_data = false; ///< it had, and there was no memory to keep them
};

inline Error closed_error() {
    return Error{ErrorCode::kWrongState, "the agent's trace hub is closed", "", ""};
}
inline Error deadlock_error(const char* call) {
    return Error{ErrorCode::kWouldDeadlock,
                 std::string(call) + " from a chunk handler would wait for itself", "",
                 "call it from another thread, or after the handler returned"};
}

struct HubCore {
    HubCore(std::unique_ptr<Backend> backend, AgentHub::Options hub_options, const Clock& hub_clock)
        : options(std::move(hub_options)), clock(hub_clock),
          engine(std::move(backend), options.engine, clock, log, silenced) {}

    // Constant after construction.
    const OwnProcess process;
    const AgentHub::Options options;
    const Clock& clock;

    MarkerLog log;
    /// Set by a stop that gave up waiting; read on the hub's thread before each callback.
    std::atomic<bool> silenced{false};
    /// The hub's thread, for the "am I on it" question; written once before the thread's first work.
    std::atomic<std::thread::id> thread_id{};
    // Hub thread only.
    HubEngine engine;
    bool in_handler = false;

    mutable Mutex mutex;
    CondVar work;     ///< the hub's thread waits here
    CondVar answered; ///< clients wait here
    HubState state WAVETAP_GUARDED_BY(mutex) = HubState::kIdle;
    std::uint32_t owner_context WAVETAP_GUARDED_BY(mutex) = 0;
    std::uint64_t owner_run WAVETAP_GUARDED_BY(mutex) = 0; ///< 0 = nobody
    std::uint64_t next_run WAVETAP_GUARDED_BY(mutex) = 1;
    std::uint64_t cancelled_run WAVETAP_GUARDED_BY(mutex) = 0;
    MarkerLog::Position marked WAVETAP_GUARDED_BY(mutex) = 0;
    MarkerLog::Position marks_wanted WAVETAP_GUARDED_BY(mutex) = 0;
    std::uint64_t marks_failed WAVETAP_GUARDED_BY(mutex) = 0;
    SlotPlan plan WAVETAP_GUARDED_BY(mutex);
    HubStatistics statistics WAVETAP_GUARDED_BY(mutex);
    bool closing WAVETAP_GUARDED_BY(mutex) = false;
    bool thread_running WAVETAP_GUARDED_BY(mutex) = false;
    Duration idle_release WAVETAP_GUARDED_BY(mutex) = Duration::zero(); ///< zero: never
    bool look_again WAVETAP_GUARDED_BY(mutex) = false; ///< idle_release has changed
    bool thread_ended WAVETAP_GUARDED_BY(mutex) = false;
    bool stream_changed WAVETAP_GUARDED_BY(mutex) = false; ///< a staging slot came back
    std::thread thread WAVETAP_GUARDED_BY(mutex);
    HubRequest* first WAVETAP_GUARDED_BY(mutex) = nullptr;
    HubRequest* last WAVETAP_GUARDED_BY(mutex) = nullptr;
    std::vector<HubRequest*> unused WAVETAP_GUARDED_BY(mutex);
    std::vector<std::unique_ptr<HubRequest>> requests WAVETAP_GUARDED_BY(mutex);
    /// Of kind kCloseLeases, so that the end of leases needs no memory.
    HubRequest close_request WAVETAP_GUARDED_BY(mutex);
    bool close_asked WAVETAP_GUARDED_BY(mutex) = false;
    LeaseClient* lease_client WAVETAP_GUARDED_BY(mutex) = nullptr;
    std::list<HubLease> leases WAVETAP_GUARDED_BY(mutex);       ///< in the order of their turns
    std::list<HubLease> active_lease WAVETAP_GUARDED_BY(mutex); ///< whose turn it is: one or none
    std::list<HubLease> retired WAVETAP_GUARDED_BY(mutex);      ///< not delivered, oldest first
    bool any_lost WAVETAP_GUARDED_BY(mutex) = false;            ///< of the first two lists
    bool lease_held WAVETAP_GUARDED_BY(mutex) = false; ///< the next one waits for a delivery
    bool lease_armed WAVETAP_GUARDED_BY(mutex) = false;
    bool lease_over WAVETAP_GUARDED_BY(mutex) = false; ///< the active one's stop has retired
    bool admitting WAVETAP_GUARDED_BY(mutex) = false;
    bool packets_left WAVETAP_GUARDED_BY(mutex) = true; ///< unless the owner says otherwise
    // Of the active lease: what it is to retire next, until when, and when to look again.
    LeaseProgress lease_progress WAVETAP_GUARDED_BY(mutex) = LeaseProgress::kBeforeStart;
    TimePoint lease_deadline WAVETAP_GUARDED_BY(mutex), lease_look WAVETAP_GUARDED_BY(mutex);
    LeaseStreams lease_streams WAVETAP_GUARDED_BY(mutex);

    bool on_thread() const { return thread_id.load() == std::this_thread::get_id(); }
    bool in_stream_handler() const { return engine.on_delivery_thread(); }
    /// The caller is inside a chunk handler of this hub, on whatever thread: waiting would be for itself.
    bool inside_handler() const { return (on_thread() && in_handler) || in_stream_handler(); }

    HubRequest* acquire() WAVETAP_REQUIRES(mutex) {
        if (unused.empty()) {
            unused.reserve(requests.size() + 1);
            requests.push_back(std::make_unique<HubRequest>());
            return requests.back().get();
        }
        HubRequest* request = unused.back();
        unused.pop_back();
        return request;
    }
    void recycle(HubRequest* request) WAVETAP_REQUIRES(mutex) {
        request->job = nullptr;
        request->answer = RunSummary{};
        request->done = request->abandoned = false;
        request->next = nullptr;
        if (request == &close_request)
            close_asked = false;
        else
            unused.push_back(request); // reserved by acquire()
    }
    void push(HubRequest* request) WAVETAP_REQUIRES(mutex) {
        (last != nullptr ? last->next : first) = request;
        last = request;
        work.notify_one();
    }
    HubRequest* pop() WAVETAP_REQUIRES(mutex) {
        HubRequest* request = first;
        if (request != nullptr) {
            first = request->next;
            if (first == nullptr) last = nullptr;
            request->next = nullptr;
        }
        return request;
    }

    void change(HubEvent event) WAVETAP_REQUIRES(mutex) {
        if (const auto next = next_state(state, event)) state = *next;
    }
    /// Copies the engine's counters; those that the hub keeps itself stay.
    void take_statistics() WAVETAP_REQUIRES(mutex) {
        HubStatistics fresh = engine.statistics();
        fresh.threads = (thread_running ? 1 : 0) + engine.delivery_threads();
        fresh.starts = statistics.starts;
        fresh.stops = statistics.stops;
        fresh.refused = statistics.refused;
        fresh.serialized = statistics.serialized;
        fresh.deadline_misses += statistics_client_misses;
        statistics = fresh;
    }
    std::uint64_t statistics_client_misses WAVETAP_GUARDED_BY(mutex) = 0;

    bool lease_work() const WAVETAP_REQUIRES(mutex) {
        if (state != HubState::kLeasing) return false;
        return any_lost || lease_over || (active_lease.empty() && !leases.empty() && !lease_held) ||
               (!active_lease.empty() && clock.now() >= lease_look);
    }
    /// When the hub's thread has to wake up although nobody calls.
    TimePoint next_look() const WAVETAP_REQUIRES(mutex) {
        const TimePoint idle = clock.now() + std::chrono::hours(1);
        return state == HubState::kLeasing && !active_lease.empty() ? std::min(idle, lease_look)
                                                                    : idle;
    }
    Result<LeaseStreams> do_open_leases() WAVETAP_EXCLUDES(mutex);
    void do_close_leases() WAVETAP_EXCLUDES(mutex);
    void do_leases() WAVETAP_EXCLUDES(mutex);
    /// Gives the turn to the next lease, if nobody has it and there is a slot for it.
    void next_lease() WAVETAP_EXCLUDES(mutex);
    void begin_lease(HubLease& lease, const SlotPlan& wanted) WAVETAP_EXCLUDES(mutex);
    /// The turn is over. `outcome`: the stop stream has retired, or why it will not.
    void retire_lease(Result<void> outcome) WAVETAP_EXCLUDES(mutex);
    /// One step of delivery; false if there is none before a handler returns.
    bool deliver_leases() WAVETAP_EXCLUDES(mutex);
    /// Waits, with a deadline, until every retired lease was delivered, and gives up on the rest.
    void deliver_all_leases() WAVETAP_EXCLUDES(mutex);
    void watch_lease(LeaseProgress progress) WAVETAP_REQUIRES(mutex);
    void look_at_lease() WAVETAP_EXCLUDES(mutex);
    void end_all_leases(const char* reason, bool packets_may_run) WAVETAP_EXCLUDES(mutex);
    void drop_lost_leases() WAVETAP_EXCLUDES(mutex);

    Result<std::uint64_t> reserve(std::uint32_t context) WAVETAP_EXCLUDES(mutex);
    Result<RunSummary> do_start(const RunRequest& request, std::uint64_t run)
        WAVETAP_EXCLUDES(mutex);
    Result<RunSummary> do_stop(std::uint64_t run, bool deliver) WAVETAP_EXCLUDES(mutex);
    void do_marks() WAVETAP_EXCLUDES(mutex);
    Result<void> ensure_thread(const std::shared_ptr<HubCore>& self) WAVETAP_REQUIRES(mutex);
    /// Behind reserve(): a request, and the thread that serves it; after an error, or when closing,
    /// nobody owns the agent. Never throws.
    Result<HubRequest*> request_or_refuse(const std::shared_ptr<HubCore>& self)
        WAVETAP_REQUIRES(mutex);
    Result<RunSummary> carry_out(HubRequest& request) WAVETAP_EXCLUDES(mutex);
    /// A step threw: nothing is half started or half stopped.
    void settle() noexcept WAVETAP_EXCLUDES(mutex);
    /// Waits for work and does it; false when the thread is to end.
    bool work_once(bool& released) WAVETAP_EXCLUDES(mutex);
    Result<std::uint64_t> start(const std::shared_ptr<HubCore>& self, RunRequest request)
        WAVETAP_EXCLUDES(mutex);
    Result<RunSummary> ask_stop(std::uint64_t run) WAVETAP_EXCLUDES(mutex);
    Result<RunSummary> ask(HubRequest* request) WAVETAP_REQUIRES(mutex);
    // For RunningTrace.
    Result<RunSummary> stop(std::uint64_t run) WAVETAP_EXCLUDES(mutex);
    void cancel(std::uint64_t run) WAVETAP_EXCLUDES(mutex);
    Result<void> wait_over(std::uint64_t run) WAVETAP_EXCLUDES(mutex);
    void serve(HubRequest* request) WAVETAP_EXCLUDES(mutex);
    void thread_main() WAVETAP_EXCLUDES(mutex);
    /// True if nothing came for `idle_release` while nobody held the agent.
    bool wait_for_work(bool released) WAVETAP_REQUIRES(mutex);
    void do_release() WAVETAP_EXCLUDES(mutex);
    void note_stream() WAVETAP_EXCLUDES(mutex) {
        MutexLock lock(mutex);
        stream_changed = true;
        work.notify_one();
    }
};

} // namespace wavetap::capture
