// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/agent_hub.hpp"

#include "capture/hub_core.hpp"

#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace wavetap::capture {

namespace {

Error busy_error(HubState state, std::uint32_t owner) {
    return Error{ErrorCode::kBusy,
                 "context " + std::to_string(owner) + " holds the agent (" + hub_state_name(state) +
                     ")",
                 "", "stop it first"};
}

void block_signals_and_name(const std::string& name) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
}

} // namespace

Result<std::uint64_t> HubCore::reserve(std::uint32_t context) {
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

Result<RunSummary> HubCore::do_start(const RunRequest& request, std::uint64_t run) {
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

Result<RunSummary> HubCore::do_stop(std::uint64_t run, bool deliver) {
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

void HubCore::do_marks() {
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

Result<void> HubCore::ensure_thread(const std::shared_ptr<HubCore>& self) {
    if (thread.joinable()) return {};
    try {
        engine.on_delivery([self] { self->note_stream(); });
        thread = std::thread([self] { self->thread_main(); });
    } catch (...) {
        engine.on_delivery([] {});
        return brief_error(ErrorCode::kLimit, "no thread for the agent's trace hub");
    }
    thread_running = true;
    statistics.threads = 1;
    return {};
}

Result<HubRequest*> HubCore::request_or_refuse(const std::shared_ptr<HubCore>& self) {
    Result<HubRequest*> request = nullptr;
    try {
        auto there = closing ? Result<void>(closed_error()) : ensure_thread(self);
        if (there) return acquire();
        request = std::move(there.error());
    } catch (...) {
        request = caught_error();
    }
    change(HubEvent::kStartRefused);
    owner_run = 0;
    ++statistics.refused;
    return request;
}

Result<RunSummary> HubCore::ask(HubRequest* request) {
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

Result<RunSummary> HubCore::carry_out(HubRequest& request) {
    switch (request.kind) {
    case HubRequest::Kind::kStart:
        return do_start(request.start, request.run);
    case HubRequest::Kind::kStop:
        return do_stop(request.run, true);
    case HubRequest::Kind::kOpenLeases:
        if (auto opened = do_open_leases(); !opened) return std::move(opened.error());
        break;
    case HubRequest::Kind::kCloseLeases:
        do_close_leases();
        break;
    case HubRequest::Kind::kJob:
        request.job();
        break;
    }
    return RunSummary{};
}

void HubCore::settle() noexcept {
    MutexLock lock(mutex);
    if (state != HubState::kStarting && state != HubState::kDraining) return;
    if (engine.gpu_lost()) change(HubEvent::kGpuLost);
    change(HubEvent::kStartRefused);
    change(HubEvent::kDrained);
    owner_run = 0;
    answered.notify_all();
}

void HubCore::serve(HubRequest* request) {
    bool threw = true;
    auto answer = caught([&]() -> Result<RunSummary> {
        auto done = carry_out(*request);
        threw = false;
        return done;
    });
    if (threw && request->kind != HubRequest::Kind::kJob) settle();
    bool orphan = false; // a start whose client left: nobody holds the token
    {
        MutexLock lock(mutex);
        orphan = request->abandoned && answer.has_value() &&
                 (request->kind == HubRequest::Kind::kStart ||
                  request->kind == HubRequest::Kind::kOpenLeases);
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
    if (request->kind == HubRequest::Kind::kStart)
        (void)do_stop(request->run, false);
    else
        do_close_leases();
    MutexLock lock(mutex);
    recycle(request);
}

bool HubCore::wait_for_work(bool released) {
    const auto pending = [this]() WAVETAP_REQUIRES(mutex) {
        return first != nullptr || cancelled_run != 0 || closing || look_again || lease_work() ||
               stream_changed || (state == HubState::kRunning && marks_wanted > marked);
    };
    const bool idle = state == HubState::kIdle || state == HubState::kFailed;
    const bool may_release = idle && !released && idle_release > Duration::zero();
    TimePoint wake = engine.streaming() ? engine.next_poll() : next_look();
    if (may_release) wake = clock.deadline_after(idle_release);
    const bool woken = work.wait_until(mutex, wake, pending);
    stream_changed = look_again = false;
    return may_release && !woken;
}

void HubCore::do_release() {
    engine.release_idle();
    MutexLock lock(mutex);
    take_statistics();
}

bool HubCore::work_once(bool& released) {
    HubRequest* request = nullptr;
    std::uint64_t cancel = 0;
    bool marks = false, lease_step = false, quit = false, release = false;
    {
        MutexLock lock(mutex);
        release = wait_for_work(released);
        cancel = std::exchange(cancelled_run, 0);
        marks = state == HubState::kRunning && marks_wanted > marked;
        lease_step = lease_work() || (state == HubState::kLeasing && !retired.empty());
        if (cancel == 0 && !marks) request = pop();
        quit = closing && cancel == 0 && !marks && request == nullptr;
    }
    released = release || (released && request == nullptr);
    // Each of these keeps its own house; what one throws all the same stays in it.
    const auto step = [](auto&& todo) {
        (void)caught([&]() -> Result<void> {
            todo();
            return {};
        });
    };
    if (release) step([&] { do_release(); });
    if (cancel != 0) step([&] { (void)do_stop(cancel, false); });
    if (marks) step([&] { do_marks(); });
    if (lease_step) step([&] { do_leases(); });
    if (request != nullptr) serve(request);
    if (engine.streaming()) engine.poll();
    return !quit;
}

void HubCore::thread_main() {
    bool released = true; // nothing is held yet
    thread_id.store(std::this_thread::get_id());
    block_signals_and_name(options.thread_name);
    while (work_once(released)) {
    }
    std::uint64_t run = 0;
    bool leasing = false;
    {
        MutexLock lock(mutex);
        run = state == HubState::kRunning ? owner_run : 0;
        leasing = state == HubState::kLeasing;
    }
    if (run != 0) (void)caught([&] { return do_stop(run, true); });
    if (leasing) do_close_leases();
    engine.shut_down();
    MutexLock lock(mutex);
    take_statistics();
    thread_id.store(std::thread::id{});
    thread_running = false;
    statistics.threads = 0;
    thread_ended = true;
    answered.notify_all();
}

Result<RunSummary> HubCore::stop(std::uint64_t run) {
    WAVETAP_CHECK_OK(process.check());
    auto answer = caught([&] { return ask_stop(run); });
    if (answer || answer.error().code == ErrorCode::kWouldDeadlock) return answer;
    // Nobody waits for the run any more; where nobody was asked to end it, it ends now.
    const bool asked = answer.error().code == ErrorCode::kTimeout;
    MutexLock lock(mutex);
    if (owner_run != run) return answer;
    silenced.store(true);
    if (!asked) cancelled_run = run;
    work.notify_one();
    return answer;
}

Result<RunSummary> HubCore::ask_stop(std::uint64_t run) {
    if (inside_handler()) return deadlock_error("stop");
    if (on_thread()) return do_stop(run, true);
    MutexLock lock(mutex);
    // A hub that closes stops and delivers the run itself: also then no callback comes after this.
    if (owner_run == run && closing)
        answered.wait_until(
            mutex, clock.deadline_after(options.engine.limits.request),
            [&]() WAVETAP_REQUIRES(mutex) { return owner_run != run || thread_ended; });
    if (owner_run != run || closing)
        return Error{ErrorCode::kWrongState, "this run is over", "", ""};
    HubRequest* asked = acquire();
    asked->kind = HubRequest::Kind::kStop;
    asked->run = run;
    return ask(asked);
}

void HubCore::cancel(std::uint64_t run) {
    if (!process.here()) return;
    if (on_thread() && !in_handler) {
        (void)do_stop(run, false);
        return;
    }
    MutexLock lock(mutex);
    if (owner_run != run) return;
    cancelled_run = run;
    silenced.store(true); // also where the hub closes, or stops it already
    work.notify_one();
}

Result<void> HubCore::wait_over(std::uint64_t run) {
    WAVETAP_CHECK_OK(process.check());
    MutexLock lock(mutex);
    const bool over = answered.wait_until(
        mutex, clock.deadline_after(options.engine.limits.request),
        [&]() WAVETAP_REQUIRES(mutex) { return owner_run != run || thread_ended; });
    if (over) return {};
    return Error{ErrorCode::kTimeout, "a chunk handler of a discarded run does not return", "", ""};
}

AgentHub::AgentHub(std::unique_ptr<Backend> backend, Options options, const Clock& clock)
    : core_(std::make_shared<HubCore>(std::move(backend), std::move(options), clock)) {}

AgentHub::~AgentHub() {
    if (!core_->process.here()) {
        (void)new std::shared_ptr<HubCore>(core_); // it has a thread of the parent's
        return;
    }
    if (close()) return;
    MutexLock lock(core_->mutex);
    if (core_->thread.joinable()) core_->thread.detach();
}

void AgentHub::set_plan(const SlotPlan& plan) {
    MutexLock lock(core_->mutex);
    core_->plan = plan;
}

Result<RunningTrace> AgentHub::start(const RunRequest& request) {
    return caught([&]() -> Result<RunningTrace> {
        WAVETAP_CHECK_OK(core_->process.check());
        RunRequest copy = request;
        WAVETAP_TRY(const std::uint64_t run, core_->start(core_, std::move(copy)));
        return RunningTrace(core_, run);
    });
}

Result<std::uint64_t> HubCore::start(const std::shared_ptr<HubCore>& self, RunRequest request) {
    const bool inside = on_thread();
    if (inside_handler()) return deadlock_error("start");
    WAVETAP_TRY(const std::uint64_t run, reserve(request.context));
    if (inside) {
        if (auto done = do_start(request, run); !done) return std::move(done.error());
        return run;
    }
    MutexLock lock(mutex);
    WAVETAP_TRY(HubRequest * asked, request_or_refuse(self));
    asked->kind = HubRequest::Kind::kStart;
    asked->start = std::move(request);
    asked->run = run;
    if (auto answer = ask(asked); !answer) return std::move(answer.error());
    return run;
}

Result<void> AgentHub::post(std::function<void()> job) {
    return caught([&]() -> Result<void> {
        HubCore& core = *core_;
        WAVETAP_CHECK_OK(core.process.check());
        MutexLock lock(core.mutex);
        if (core.closing) return closed_error();
        WAVETAP_CHECK_OK(core.ensure_thread(core_));
        HubRequest* request = core.acquire();
        request->kind = HubRequest::Kind::kJob;
        request->job = std::move(job);
        request->abandoned = true;
        core.push(request);
        return {};
    });
}

Result<void> AgentHub::wait_marked(MarkerLog::Position until) {
    HubCore& core = *core_;
    const bool inside = core.on_thread() || core.in_stream_handler();
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
    return caught([&] { return wait_marked(core_->log.load(object)); });
}

Result<void> AgentHub::code_object_unloaded(std::uint64_t id) {
    return caught([&] { return wait_marked(core_->log.unload(id)); });
}

HubState AgentHub::state() const {
    MutexLock lock(core_->mutex);
    return core_->state;
}

bool AgentHub::on_hub_thread() const {
    return core_->on_thread() || core_->in_stream_handler();
}

bool AgentHub::in_handler() const {
    return core_->inside_handler();
}

HubStatistics AgentHub::statistics() const {
    MutexLock lock(core_->mutex);
    return core_->statistics;
}

const AgentTopology& AgentHub::topology() const {
    return core_->options.engine.topology;
}

const char* AgentHub::backend_name() const {
    return core_->engine.backend_name();
}

const char* AgentHub::packets_name() const {
    return core_->engine.packets_name();
}

void AgentHub::set_idle_release(Duration after) {
    MutexLock lock(core_->mutex);
    core_->idle_release = after;
    core_->look_again = true;
    core_->work.notify_one();
}

const Clock& AgentHub::clock() const {
    return core_->clock;
}

const HubLimits& AgentHub::limits() const {
    return core_->options.engine.limits;
}

void AgentHub::count_refused() {
    MutexLock lock(core_->mutex);
    ++core_->statistics.refused;
}

void AgentHub::count_deadline_miss() {
    MutexLock lock(core_->mutex);
    ++core_->statistics_client_misses;
    ++core_->statistics.deadline_misses;
}

void AgentHub::silence(std::uint64_t run) {
    MutexLock lock(core_->mutex);
    if (core_->owner_run == run) core_->silenced.store(true);
}

Result<void> AgentHub::close() {
    HubCore& core = *core_;
    WAVETAP_CHECK_OK(core.process.check());
    if (core.on_thread() || core.in_stream_handler()) return deadlock_error("close");
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
    : core_(std::move(other.core_)), run_(other.run_) {}

RunningTrace& RunningTrace::operator=(RunningTrace&& other) noexcept {
    if (this == &other) return *this;
    if (core_ != nullptr) core_->cancel(run_);
    core_ = std::move(other.core_);
    run_ = other.run_;
    return *this;
}

RunningTrace::~RunningTrace() {
    if (core_ != nullptr) core_->cancel(run_);
}

Result<void> RunningTrace::discard() {
    const std::shared_ptr<HubCore> core = std::move(core_);
    if (core == nullptr) return {};
    core->cancel(run_);
    return core->wait_over(run_);
}

Result<RunSummary> RunningTrace::stop() {
    if (core_ == nullptr) return Error{ErrorCode::kWrongState, "no trace runs", "", ""};
    auto summary = core_->stop(run_);
    if (summary.has_value() || summary.error().code != ErrorCode::kWouldDeadlock) core_.reset();
    return summary;
}

} // namespace wavetap::capture
