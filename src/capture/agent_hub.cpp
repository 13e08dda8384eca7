// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/agent_hub.hpp"

#include "base/mutex.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <deque>
#include <exception>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace wavetap::capture {

namespace {

struct Request {
    enum class Kind : std::uint8_t { kStart, kStop, kJob, kOpenLeases, kCloseLeases };
    Kind kind = Kind::kJob;
    RunRequest start;
    std::uint64_t run = 0;
    std::function<void()> job;
    Result<RunSummary> answer = RunSummary{};
    bool done = false;
    bool abandoned = false; ///< nobody waits any more: the hub's thread recycles it
    Request* next = nullptr;
};

Error closed_error() {
    return Error{ErrorCode::kWrongState, "the agent's trace hub is closed", "", ""};
}
Error deadlock_error(const char* call) {
    return Error{ErrorCode::kWouldDeadlock,
                 std::string(call) + " from a chunk handler would wait for itself", "",
                 "call it from another thread, or after the handler returned"};
}
Error busy_error(HubState state, std::uint32_t owner) {
    return Error{ErrorCode::kBusy,
                 "context " + std::to_string(owner) + " holds the agent (" + hub_state_name(state) +
                     ")",
                 "", "stop it first"};
}

struct Lease {
    void* id = nullptr;
    RunRequest request;
};

void block_signals_and_name(const std::string& name) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
}

} // namespace

struct AgentHub::Core {
    Core(std::unique_ptr<Backend> backend, Options hub_options, const Clock& hub_clock)
        : options(std::move(hub_options)), clock(hub_clock),
          engine(std::move(backend), options.engine, clock, log, silenced) {}

    // Constant after construction.
    const Options options;
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
    bool thread_ended WAVETAP_GUARDED_BY(mutex) = false;
    std::thread thread WAVETAP_GUARDED_BY(mutex);
    Request* first WAVETAP_GUARDED_BY(mutex) = nullptr;
    Request* last WAVETAP_GUARDED_BY(mutex) = nullptr;
    std::vector<Request*> unused WAVETAP_GUARDED_BY(mutex);
    std::vector<std::unique_ptr<Request>> requests WAVETAP_GUARDED_BY(mutex);
    LeaseClient* lease_client WAVETAP_GUARDED_BY(mutex) = nullptr;
    std::deque<Lease> leases WAVETAP_GUARDED_BY(mutex);          ///< in the order of their turns
    std::vector<void*> lost_leases WAVETAP_GUARDED_BY(mutex);    ///< told, not yet handled
    std::optional<Lease> active_lease WAVETAP_GUARDED_BY(mutex); ///< whose turn it is
    bool lease_armed WAVETAP_GUARDED_BY(mutex) = false;
    bool lease_over WAVETAP_GUARDED_BY(mutex) = false; ///< the active one's stop has retired
    bool admitting WAVETAP_GUARDED_BY(mutex) = false;
    bool packets_left WAVETAP_GUARDED_BY(mutex) = true; ///< unless the owner says otherwise
    LeaseStreams lease_streams WAVETAP_GUARDED_BY(mutex);

    bool on_thread() const { return thread_id.load() == std::this_thread::get_id(); }

    Request* acquire() WAVETAP_REQUIRES(mutex) {
        if (unused.empty()) {
            unused.reserve(requests.size() + 1);
            requests.push_back(std::make_unique<Request>());
            return requests.back().get();
        }
        Request* request = unused.back();
        unused.pop_back();
        return request;
    }
    void recycle(Request* request) WAVETAP_REQUIRES(mutex) {
        request->job = nullptr;
        request->answer = RunSummary{};
        request->done = request->abandoned = false;
        request->next = nullptr;
        unused.push_back(request);
    }
    void push(Request* request) WAVETAP_REQUIRES(mutex) {
        (last != nullptr ? last->next : first) = request;
        last = request;
        work.notify_one();
    }
    Request* pop() WAVETAP_REQUIRES(mutex) {
        Request* request = first;
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
        fresh.threads = statistics.threads;
        fresh.starts = statistics.starts;
        fresh.stops = statistics.stops;
        fresh.refused = statistics.refused;
        fresh.deadline_misses += statistics_client_misses;
        statistics = fresh;
    }
    std::uint64_t statistics_client_misses WAVETAP_GUARDED_BY(mutex) = 0;

    bool lease_work() const WAVETAP_REQUIRES(mutex) {
        if (state != HubState::kLeasing) return false;
        return !lost_leases.empty() || lease_over || (!active_lease && !leases.empty());
    }
    Result<LeaseStreams> do_open_leases() WAVETAP_EXCLUDES(mutex);
    void do_close_leases() WAVETAP_EXCLUDES(mutex);
    void do_leases() WAVETAP_EXCLUDES(mutex);
    void begin_lease(const Lease& lease) WAVETAP_EXCLUDES(mutex);
    void end_lease(bool retired) WAVETAP_EXCLUDES(mutex);
    void drop_lost_leases() WAVETAP_EXCLUDES(mutex);

    Result<std::uint64_t> reserve(std::uint32_t context) WAVETAP_EXCLUDES(mutex);
    Result<RunSummary> do_start(const RunRequest& request, std::uint64_t run)
        WAVETAP_EXCLUDES(mutex);
    Result<RunSummary> do_stop(std::uint64_t run, bool deliver) WAVETAP_EXCLUDES(mutex);
    void do_marks() WAVETAP_EXCLUDES(mutex);
    Result<void> ensure_thread(const std::shared_ptr<Core>& self) WAVETAP_REQUIRES(mutex);
    Result<RunSummary> ask(Request* request) WAVETAP_REQUIRES(mutex);
    void serve(Request* request) WAVETAP_EXCLUDES(mutex);
    void thread_main() WAVETAP_EXCLUDES(mutex);
};

Result<std::uint64_t> AgentHub::Core::reserve(std::uint32_t context) {
    MutexLock lock(mutex);
    if (closing) return closed_error();
    if (owner_run != 0 || !next_state(state, HubEvent::kStart)) {
        ++statistics.refused;
        return busy_error(state, owner_context);
    }
    change(HubEvent::kStart);
    owner_run = next_run++;
    owner_context = context;
    return owner_run;
}

Result<RunSummary> AgentHub::Core::do_start(const RunRequest& request, std::uint64_t run) {
    SlotPlan wanted;
    {
        MutexLock lock(mutex);
        wanted = plan;
    }
    silenced.store(false);
    wanted.add(requirement_of(request));
    auto done = engine.start(request, wanted, run);
    MutexLock lock(mutex);
    take_statistics();
    if (done) {
        change(HubEvent::kStartRetired);
        ++statistics.starts;
        marked = engine.marked();
        marks_failed = 0;
        if (marks_wanted > marked) work.notify_one();
        RunSummary summary;
        summary.run = run;
        return summary;
    }
    change(engine.gpu_lost() ? HubEvent::kGpuLost : HubEvent::kStartRefused);
    owner_run = 0;
    ++statistics.refused;
    answered.notify_all();
    return std::move(done.error());
}

Result<RunSummary> AgentHub::Core::do_stop(std::uint64_t run, bool deliver) {
    {
        MutexLock lock(mutex);
        if (owner_run != run || state != HubState::kRunning)
            return Error{ErrorCode::kWrongState, "this run is over", "", ""};
        change(HubEvent::kStop);
    }
    in_handler = true;
    auto summary = engine.stop(deliver);
    in_handler = false;
    MutexLock lock(mutex);
    take_statistics();
    change(engine.gpu_lost() ? HubEvent::kGpuLost : HubEvent::kDrained);
    owner_run = 0;
    ++statistics.stops;
    answered.notify_all(); // those who wait for markers
    return summary;
}

void AgentHub::Core::do_marks() {
    MarkerLog::Position until = 0;
    {
        MutexLock lock(mutex);
        if (state != HubState::kRunning) return;
        until = marks_wanted;
    }
    const auto done = engine.mark(until);
    MutexLock lock(mutex);
    take_statistics();
    marked = engine.marked();
    if (!done) {
        ++marks_failed;
        marks_wanted = marked;
    }
    answered.notify_all();
}

Result<LeaseStreams> AgentHub::Core::do_open_leases() {
    auto streams = engine.open_leases();
    MutexLock lock(mutex);
    take_statistics();
    if (!streams) {
        change(HubEvent::kStartRefused);
        owner_run = 0;
        ++statistics.refused;
        return streams;
    }
    change(HubEvent::kLeasesOpened);
    streams->owner = owner_run;
    lease_streams = *streams;
    admitting = true;
    return streams;
}

void AgentHub::Core::do_leases() {
    drop_lost_leases();
    bool over = false;
    {
        MutexLock lock(mutex);
        over = active_lease && lease_over;
        lease_over = false;
    }
    if (over) end_lease(true);
    std::optional<Lease> next;
    {
        MutexLock lock(mutex);
        if (!active_lease && !leases.empty()) {
            next = std::move(leases.front());
            leases.pop_front();
            active_lease = next;
        }
    }
    if (next) begin_lease(*next);
}

void AgentHub::Core::begin_lease(const Lease& lease) {
    SlotPlan wanted;
    std::uint64_t run = 0;
    {
        MutexLock lock(mutex);
        wanted = plan;
        run = next_run++;
    }
    silenced.store(false);
    wanted.add(requirement_of(lease.request));
    const auto armed = engine.begin_lease(lease.request, wanted, run);
    LeaseClient* client = nullptr;
    {
        MutexLock lock(mutex);
        take_statistics();
        lease_armed = armed.has_value();
        ++(lease_armed ? statistics.starts : statistics.refused);
        client = lease_client;
    }
    client->lease_ready(lease.id, armed);
}

void AgentHub::Core::end_lease(bool retired) {
    bool armed = false;
    {
        MutexLock lock(mutex);
        armed = std::exchange(lease_armed, false);
    }
    Result<RunSummary> summary = RunSummary{};
    if (armed) {
        in_handler = true;
        summary = engine.end_lease(retired);
        in_handler = false;
    }
    LeaseClient* client = nullptr;
    void* id = nullptr;
    {
        MutexLock lock(mutex);
        take_statistics();
        if (armed) ++statistics.stops;
        client = lease_client;
        id = active_lease->id;
    }
    client->lease_ended(id, summary);
    MutexLock lock(mutex);
    active_lease.reset();
    answered.notify_all();
}

void AgentHub::Core::drop_lost_leases() {
    bool active_lost = false;
    std::vector<void*> dropped;
    LeaseClient* client = nullptr;
    {
        MutexLock lock(mutex);
        client = lease_client;
        for (void* lost : std::exchange(lost_leases, {})) {
            if (active_lease && active_lease->id == lost) active_lost = true;
            const auto queued = std::find_if(leases.begin(), leases.end(),
                                             [&](const Lease& lease) { return lease.id == lost; });
            if (queued == leases.end()) continue;
            dropped.push_back(lost);
            leases.erase(queued);
        }
        if (active_lost) lease_over = false;
    }
    if (active_lost) end_lease(false);
    for (void* lost : dropped)
        client->lease_ended(lost,
                            Error{ErrorCode::kUnavailable,
                                  "the dispatch's queue ended before its trace began", "", ""});
    MutexLock lock(mutex);
    answered.notify_all();
}

void AgentHub::Core::do_close_leases() {
    bool active = false, abandoned = false;
    std::deque<Lease> left;
    LeaseClient* client = nullptr;
    {
        MutexLock lock(mutex);
        if (state != HubState::kLeasing) return;
        admitting = false;
        active = active_lease.has_value();
        lease_over = false;
        lost_leases.clear();
        left = std::exchange(leases, {});
        abandoned = std::exchange(packets_left, true) || active || !left.empty();
        client = lease_client;
        change(HubEvent::kStop);
    }
    if (active) end_lease(false);
    // What was not told to be over may still be executed.
    engine.close_leases(abandoned);
    for (const Lease& lease : left)
        client->lease_ended(lease.id, Error{ErrorCode::kTimeout,
                                            "the trace ended before the dispatch's turn", "", ""});
    MutexLock lock(mutex);
    take_statistics();
    change(engine.gpu_lost() ? HubEvent::kGpuLost : HubEvent::kDrained);
    owner_run = 0;
    lease_client = nullptr;
    answered.notify_all();
}

Result<void> AgentHub::Core::ensure_thread(const std::shared_ptr<Core>& self) {
    if (thread.joinable()) return {};
    try {
        thread = std::thread([self] { self->thread_main(); });
    } catch (const std::system_error&) {
        return Error{ErrorCode::kLimit, "no thread for the agent's trace hub", "", ""};
    }
    statistics.threads = 1;
    return {};
}

Result<RunSummary> AgentHub::Core::ask(Request* request) {
    push(request);
    const TimePoint deadline = clock.deadline_after(options.engine.limits.request);
    const bool done = answered.wait_until(mutex, deadline, [&] { return request->done; });
    if (!done) {
        request->abandoned = true;
        ++statistics_client_misses;
        ++statistics.deadline_misses;
        return Error{ErrorCode::kTimeout, "the agent's trace hub did not answer in time", "",
                     "a chunk handler may be blocked"};
    }
    auto answer = std::move(request->answer);
    recycle(request);
    return answer;
}

void AgentHub::Core::serve(Request* request) {
    Result<RunSummary> answer = RunSummary{};
    switch (request->kind) {
    case Request::Kind::kStart:
        answer = do_start(request->start, request->run);
        break;
    case Request::Kind::kStop:
        answer = do_stop(request->run, true);
        break;
    case Request::Kind::kOpenLeases:
        if (auto opened = do_open_leases(); !opened) answer = std::move(opened.error());
        break;
    case Request::Kind::kCloseLeases:
        do_close_leases();
        break;
    case Request::Kind::kJob:
        try {
            request->job();
        } catch (...) {
            answer = Error{ErrorCode::kInternal, "a hub job threw", "", ""};
        }
        break;
    }
    bool orphan = false; // a start whose client left: nobody holds the token
    {
        MutexLock lock(mutex);
        orphan = request->abandoned && request->kind == Request::Kind::kStart && answer.has_value();
        if (!orphan) {
            if (request->abandoned) {
                recycle(request);
            } else {
                request->answer = std::move(answer);
                request->done = true;
                answered.notify_all();
            }
        }
    }
    if (!orphan) return;
    (void)do_stop(request->run, false);
    MutexLock lock(mutex);
    recycle(request);
}

void AgentHub::Core::thread_main() {
    thread_id.store(std::this_thread::get_id());
    block_signals_and_name(options.thread_name);
    for (;;) {
        Request* request = nullptr;
        std::uint64_t cancel = 0;
        bool marks = false, lease_step = false, quit = false;
        {
            MutexLock lock(mutex);
            const auto pending = [this]() WAVETAP_REQUIRES(mutex) {
                return first != nullptr || cancelled_run != 0 || closing || lease_work() ||
                       (state == HubState::kRunning && marks_wanted > marked);
            };
            work.wait_until(mutex, clock.now() + std::chrono::hours(1), pending);
            cancel = std::exchange(cancelled_run, 0);
            marks = state == HubState::kRunning && marks_wanted > marked;
            lease_step = lease_work();
            if (cancel == 0 && !marks) request = pop();
            quit = closing && cancel == 0 && !marks && request == nullptr;
        }
        if (cancel != 0) (void)do_stop(cancel, false);
        if (marks) do_marks();
        if (lease_step) do_leases();
        if (request != nullptr) serve(request);
        if (quit) break;
    }
    std::uint64_t run = 0;
    bool leasing = false;
    {
        MutexLock lock(mutex);
        run = state == HubState::kRunning ? owner_run : 0;
        leasing = state == HubState::kLeasing;
    }
    if (run != 0) (void)do_stop(run, true);
    if (leasing) do_close_leases();
    engine.shut_down();
    MutexLock lock(mutex);
    take_statistics();
    thread_id.store(std::thread::id{});
    statistics.threads = 0;
    thread_ended = true;
    answered.notify_all();
}

AgentHub::AgentHub(std::unique_ptr<Backend> backend, Options options, const Clock& clock)
    : core_(std::make_shared<Core>(std::move(backend), std::move(options), clock)) {}

AgentHub::~AgentHub() {
    if (close()) return;
    MutexLock lock(core_->mutex);
    if (core_->thread.joinable()) core_->thread.detach();
}

void AgentHub::set_plan(const SlotPlan& plan) {
    MutexLock lock(core_->mutex);
    core_->plan = plan;
}

Result<RunningTrace> AgentHub::start(const RunRequest& request) {
    Core& core = *core_;
    const bool inside = core.on_thread();
    if (inside && core.in_handler) return deadlock_error("start");
    WAVETAP_TRY(const std::uint64_t run, core.reserve(request.context));
    if (inside) {
        if (auto done = core.do_start(request, run); !done) return std::move(done.error());
        return RunningTrace(this, run);
    }
    MutexLock lock(core.mutex);
    auto thread = core.closing ? Result<void>(closed_error()) : core.ensure_thread(core_);
    if (!thread) {
        core.change(HubEvent::kStartRefused);
        core.owner_run = 0;
        ++core.statistics.refused;
        return std::move(thread.error());
    }
    Request* asked = core.acquire();
    asked->kind = Request::Kind::kStart;
    asked->start = request;
    asked->run = run;
    if (auto answer = core.ask(asked); !answer) return std::move(answer.error());
    return RunningTrace(this, run);
}

Result<LeaseStreams> AgentHub::open_leases(std::uint32_t owner_context, LeaseClient& client) {
    Core& core = *core_;
    const bool inside = core.on_thread();
    if (inside && core.in_handler) return deadlock_error("open_leases");
    WAVETAP_CHECK_OK(core.reserve(owner_context));
    {
        MutexLock lock(core.mutex);
        core.lease_client = &client;
        auto thread = core.closing ? Result<void>(closed_error()) : core.ensure_thread(core_);
        if (!thread) {
            core.change(HubEvent::kStartRefused);
            core.owner_run = 0;
            ++core.statistics.refused;
            return std::move(thread.error());
        }
        if (!inside) {
            Request* asked = core.acquire();
            asked->kind = Request::Kind::kOpenLeases;
            auto answer = core.ask(asked);
            if (!answer) return std::move(answer.error());
            return core.lease_streams;
        }
    }
    return core.do_open_leases();
}

Result<void> AgentHub::lease(void* lease, const RunRequest& request) {
    MutexLock lock(core_->mutex);
    if (core_->closing || !core_->admitting || core_->state != HubState::kLeasing)
        return Error{ErrorCode::kWrongState, "no dispatch can be traced now", "", ""};
    core_->leases.push_back({lease, request});
    core_->work.notify_one();
    return {};
}

void AgentHub::lease_retired(void* lease) {
    MutexLock lock(core_->mutex);
    if (!core_->active_lease || core_->active_lease->id != lease) return;
    core_->lease_over = true;
    core_->work.notify_one();
}

void AgentHub::lease_lost(void* lease) {
    MutexLock lock(core_->mutex);
    core_->lost_leases.push_back(lease);
    core_->work.notify_one();
}

Result<void> AgentHub::close_leases(std::uint64_t owner, bool packets_left) {
    Core& core = *core_;
    if (core.on_thread()) return deadlock_error("close_leases");
    MutexLock lock(core.mutex);
    if (core.owner_run != owner || core.state != HubState::kLeasing || core.closing)
        return Error{ErrorCode::kWrongState, "these leases are closed", "", ""};
    core.admitting = false;
    core.packets_left = packets_left;
    const bool drained = core.answered.wait_until(
        core.mutex, core.clock.deadline_after(core.options.engine.limits.drain),
        [&]() WAVETAP_REQUIRES(core.mutex) {
            return core.leases.empty() && !core.active_lease && core.lost_leases.empty();
        });
    Request* asked = core.acquire();
    asked->kind = Request::Kind::kCloseLeases;
    if (auto closed = core.ask(asked); !closed) return std::move(closed.error());
    if (!drained)
        return Error{ErrorCode::kTimeout, "dispatches did not end in time; their traces are lost",
                     "", ""};
    return {};
}

Result<RunSummary> AgentHub::stop(std::uint64_t run) {
    Core& core = *core_;
    if (core.on_thread()) {
        if (core.in_handler) return deadlock_error("stop");
        return core.do_stop(run, true);
    }
    MutexLock lock(core.mutex);
    if (core.owner_run != run || core.closing)
        return Error{ErrorCode::kWrongState, "this run is over", "", ""};
    Request* asked = core.acquire();
    asked->kind = Request::Kind::kStop;
    asked->run = run;
    auto answer = core.ask(asked);
    if (!answer && answer.error().code == ErrorCode::kTimeout && core.owner_run == run)
        core.silenced.store(true);
    return answer;
}

void AgentHub::cancel(std::uint64_t run) {
    MutexLock lock(core_->mutex);
    if (core_->owner_run != run) return;
    core_->cancelled_run = run;
    core_->work.notify_one();
}

Result<void> AgentHub::post(std::function<void()> job) {
    Core& core = *core_;
    MutexLock lock(core.mutex);
    if (core.closing) return closed_error();
    WAVETAP_CHECK_OK(core.ensure_thread(core_));
    Request* request = core.acquire();
    request->kind = Request::Kind::kJob;
    request->job = std::move(job);
    request->abandoned = true;
    core.push(request);
    return {};
}

Result<void> AgentHub::wait_marked(MarkerLog::Position until) {
    Core& core = *core_;
    const bool inside = core.on_thread();
    {
        MutexLock lock(core.mutex);
        core.marks_wanted = std::max(core.marks_wanted, until);
        // Idle: the next start replays the log. Starting: the hub's thread sees the wish when it
        // is done. On the hub's own thread (a handler that loads code) there is nobody to wait for.
        if (core.state != HubState::kRunning && core.state != HubState::kStarting) return {};
        if (inside) return {};
        const std::uint64_t failed = core.marks_failed;
        core.work.notify_one();
        const TimePoint deadline = core.clock.deadline_after(core.options.engine.limits.start +
                                                             core.options.engine.limits.marker);
        const bool done =
            core.answered.wait_until(core.mutex, deadline, [&]() WAVETAP_REQUIRES(core.mutex) {
                return core.marked >= until || core.marks_failed != failed ||
                       (core.state != HubState::kRunning && core.state != HubState::kStarting);
            });
        if (done && core.marks_failed == failed) return {};
    }
    return Error{ErrorCode::kTimeout, "the GPU did not execute a code-object marker in time", "",
                 "instructions of that code object may stay unresolved in this run"};
}

Result<void> AgentHub::code_object_loaded(const CodeObject& object) {
    return wait_marked(core_->log.load(object));
}

Result<void> AgentHub::code_object_unloaded(std::uint64_t id) {
    return wait_marked(core_->log.unload(id));
}

HubState AgentHub::state() const {
    MutexLock lock(core_->mutex);
    return core_->state;
}

bool AgentHub::on_hub_thread() const {
    return core_->on_thread();
}

HubStatistics AgentHub::statistics() const {
    MutexLock lock(core_->mutex);
    return core_->statistics;
}

const AgentTopology& AgentHub::topology() const {
    return core_->options.engine.topology;
}

Result<void> AgentHub::close() {
    Core& core = *core_;
    if (core.on_thread()) return deadlock_error("close");
    MutexLock lock(core.mutex);
    core.closing = true;
    if (!core.thread.joinable()) return {};
    core.work.notify_one();
    const bool ended = core.answered.wait_until(
        core.mutex, core.clock.deadline_after(core.options.engine.limits.close),
        [&]() WAVETAP_REQUIRES(core.mutex) { return core.thread_ended; });
    if (!ended) {
        core.silenced.store(true);
        return Error{ErrorCode::kTimeout, "the agent's trace hub did not close in time", "", ""};
    }
    core.thread.join();
    return {};
}

RunningTrace::RunningTrace(RunningTrace&& other) noexcept
    : hub_(std::exchange(other.hub_, nullptr)), run_(other.run_) {}

RunningTrace& RunningTrace::operator=(RunningTrace&& other) noexcept {
    if (this == &other) return *this;
    if (hub_ != nullptr) hub_->cancel(run_);
    hub_ = std::exchange(other.hub_, nullptr);
    run_ = other.run_;
    return *this;
}

RunningTrace::~RunningTrace() {
    if (hub_ != nullptr) hub_->cancel(run_);
}

Result<RunSummary> RunningTrace::stop() {
    if (hub_ == nullptr) return Error{ErrorCode::kWrongState, "no trace runs", "", ""};
    auto summary = hub_->stop(run_);
    if (summary.has_value() || summary.error().code != ErrorCode::kWouldDeadlock) hub_ = nullptr;
    return summary;
}

} // namespace wavetap::capture
