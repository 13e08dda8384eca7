// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/session.hpp"

#include "base/caught.hpp"
#include "capture/together.hpp"

#include <algorithm>
#include <new>

namespace wavetap::capture {

namespace {

Error no_context() {
    return Error{ErrorCode::kNotFound, "no such context", "", "it may have been destroyed"};
}
Error changing() {
    return Error{ErrorCode::kBusy, "the context is being started or stopped", "", ""};
}

std::uint32_t index_of(ContextHandle context) {
    return static_cast<std::uint32_t>(context.value & 0xffffffff) - 1;
}

} // namespace

Session::~Session() {
    if (!process_.here()) {
        (void)new std::list<Stopper>(std::move(stoppers_)); // their threads are the parent's
        return;
    }
    (void)close();
    MutexLock lock(mutex_);
    for (Agent& agent : agents_)
        agent.running = {};
}

std::uint32_t Session::add_agent(std::unique_ptr<AgentHub> hub) {
    MutexLock lock(mutex_);
    agents_.push_back(Agent{std::move(hub), {}, {}, false, 0});
    return static_cast<std::uint32_t>(agents_.size() - 1);
}

std::uint32_t Session::agents() const {
    MutexLock lock(mutex_);
    return static_cast<std::uint32_t>(agents_.size());
}

AgentHub& Session::hub(std::uint32_t agent) {
    MutexLock lock(mutex_);
    return *agents_[agent].hub;
}

Session::Record* Session::find(ContextHandle context) {
    const std::uint32_t index = index_of(context);
    if (index >= records_.size()) return nullptr;
    Record& record = records_[index];
    const bool match = record.state != State::kUnused && record.state != State::kPart &&
                       record.generation == context.value >> 32;
    return match ? &record : nullptr;
}

const Session::Record* Session::find(ContextHandle context) const {
    const std::uint32_t index = index_of(context);
    if (index >= records_.size()) return nullptr;
    const Record& record = records_[index];
    const bool match = record.state != State::kUnused && record.state != State::kPart &&
                       record.generation == context.value >> 32;
    return match ? &record : nullptr;
}

Result<std::uint32_t> Session::take_record() {
    try {
        if (free_.empty()) {
            // So that destroy() never allocates.
            if (free_.capacity() <= records_.size()) free_.reserve(2 * records_.size() + 16);
            records_.emplace_back();
            return static_cast<std::uint32_t>(records_.size() - 1);
        }
        const std::uint32_t index = free_.back();
        free_.pop_back();
        return index;
    } catch (const std::bad_alloc&) {
        return Error{ErrorCode::kLimit, "no memory for another context", "", ""};
    }
}

void Session::release_record(std::uint32_t index) {
    Record& record = records_[index];
    if (record.state > State::kNew) agents_[record.agent].plan_stale = true;
    const std::uint32_t generation = record.generation + 1;
    record = Record{};
    record.generation = generation;
    free_.push_back(index); // reserved by take_record()
}

Result<ContextHandle> Session::create() {
    MutexLock lock(mutex_);
    WAVETAP_TRY(const std::uint32_t index, take_record());
    Record& record = records_[index];
    record.state = State::kNew;
    return ContextHandle{std::uint64_t{record.generation} << 32 | (index + 1)};
}

std::vector<std::uint32_t> Session::agents_of(std::uint32_t index) const {
    std::vector<std::uint32_t> agents;
    for (std::uint32_t part = index + 1; part != 0; part = records_[part - 1].next_part)
        agents.push_back(records_[part - 1].agent);
    return agents;
}

Result<void> Session::configure(ContextHandle context, std::uint32_t agent,
                                const TraceParams& params, ChunkHandler handler, void* user) {
    return configure({context, agent, params, handler, nullptr, user});
}

Result<void> Session::configure(const Noted& wanted) {
    const auto [context, agent, params, handler, dispatches, user] = wanted;
    MutexLock lock(mutex_);
    Record* record = find(context);
    if (record == nullptr) return no_context();
    if (record->state > State::kIdle)
        return Error{ErrorCode::kWrongState, "the context runs", "",
                     "configure it before its start"};
    if (detached()) return note(wanted);
    if (agent >= agents_.size())
        return Error{ErrorCode::kNotFound,
                     "there is no agent " + std::to_string(agent) + " (" +
                         std::to_string(agents_.size()) + " known)",
                     "", ""};
    const std::uint32_t head = index_of(context);
    std::uint32_t last = head;
    if (record->state == State::kIdle && (record->dispatches != nullptr) != (dispatches != nullptr))
        return Error{ErrorCode::kWrongState, "a context has one mode on all of its agents", "", ""};
    if (record->state == State::kIdle) {
        for (std::uint32_t part = head + 1; part != 0; part = records_[part - 1].next_part) {
            last = part - 1;
            if (records_[last].agent == agent)
                return Error{ErrorCode::kWrongState,
                             "the context is already configured for agent " + std::to_string(agent),
                             "", ""};
        }
    }
    WAVETAP_TRY(const auto valid, ValidatedParams::create(params, agents_[agent].hub->topology()));
    std::uint32_t index = head;
    if (record->state == State::kIdle) {
        WAVETAP_TRY(index, take_record());
        records_[last].next_part = index + 1;
    }
    Record& part = records_[index];
    part.state = index == head ? State::kIdle : State::kPart;
    part.agent = agent;
    part.config = valid.config();
    part.buffers = valid.buffers();
    part.lease_slots = valid.lease_slots();
    part.serialize_all = valid.serialize_all();
    part.stream = valid.stream();
    part.handler = handler;
    part.dispatches = dispatches;
    part.user = user;
    agents_[agent].plan.add(Requirement{part.config.buffer_bytes, part.buffers, part.lease_slots});
    agents_[agent].hub->set_plan(agents_[agent].plan);
    return {};
}

RunRequest Session::request_of(std::uint32_t index, const Record& part) const {
    RunRequest request;
    request.context = index;
    request.config = part.config;
    request.buffers = part.buffers;
    request.lease_slots = part.lease_slots;
    request.serialize_all = part.serialize_all;
    request.handler = part.handler;
    request.user = part.user;
    request.delivery = part.stream.as_ready ? Delivery::kAsReady : Delivery::kInOrder;
    request.overflow = part.stream.end_on_full ? OverflowPolicy::kEndRun : OverflowPolicy::kRestart;
    request.stream_rate = part.stream.rate;
    return request;
}

Result<void> Session::claim(std::uint32_t index) {
    for (std::uint32_t part = index + 1; part != 0; part = records_[part - 1].next_part) {
        Agent& agent = agents_[records_[part - 1].agent];
        if (agent.holder == 0) continue;
        agent.hub->count_refused();
        return Error{ErrorCode::kBusy,
                     "context " + std::to_string(agent.holder - 1) + " holds the agent",
                     "agent " + std::to_string(records_[part - 1].agent), "stop it first"};
    }
    for (std::uint32_t part = index + 1; part != 0; part = records_[part - 1].next_part)
        agents_[records_[part - 1].agent].holder = index + 1;
    return {};
}

void Session::set_free(std::uint32_t index) {
    for (std::uint32_t part = index + 1; part != 0; part = records_[part - 1].next_part)
        agents_[records_[part - 1].agent].holder = 0;
}

void Session::refresh_plan(std::uint32_t agent) {
    if (!agents_[agent].plan_stale) return;
    SlotPlan plan;
    for (const Record& record : records_)
        if (record.state > State::kNew && record.agent == agent)
            plan.add(Requirement{record.config.buffer_bytes, record.buffers, record.lease_slots});
    agents_[agent].plan = plan;
    agents_[agent].plan_stale = false;
    agents_[agent].hub->set_plan(plan);
}

Result<void> Session::start(ContextHandle context) {
    AgentHub* hub = nullptr;
    RunRequest request;
    bool dispatches = false;
    const std::uint32_t index = index_of(context);
    {
        MutexLock lock(mutex_);
        Record* record = find(context);
        if (record == nullptr) return no_context();
        if (driver_ != nullptr && driver_->deciding())
            return Error{ErrorCode::kWouldDeadlock, "start from a dispatch handler would wait", "",
                         "start it from another thread"};
        if (record->state == State::kRunning) return {};
        if (detached()) return wish(context, *record);
        if (record->state == State::kNew)
            return Error{ErrorCode::kWrongState, "the context is not configured", "", ""};
        if (record->state != State::kIdle) return changing();
        if (record->dispatches != nullptr && driver_ == nullptr)
            return Error{ErrorCode::kUnsupported,
                         "the session does not see the program's dispatches", "dispatch mode",
                         "intercept before ROCr is up (wavetap_session_intercept)"};
        WAVETAP_CHECK_OK(claim(index));
        record->state = State::kStarting;
        dispatches = record->dispatches != nullptr;
        if (record->next_part == 0 && !dispatches) {
            refresh_plan(record->agent);
            hub = agents_[record->agent].hub.get();
            request = request_of(index, *record);
        }
    }
    if (dispatches) return start_dispatches(index);
    if (hub == nullptr) return start_on_all(index);
    auto running = hub->start(request);
    MutexLock lock(mutex_);
    Record& record = records_[index];
    record.state = running ? State::kRunning : State::kIdle;
    if (!running) {
        set_free(index);
        return std::move(running.error());
    }
    agents_[record.agent].running = std::move(*running);
    return {};
}

std::vector<AgentHub*> Session::hubs_of(std::uint32_t index) const {
    std::vector<AgentHub*> hubs;
    for (const std::uint32_t agent : agents_of(index))
        hubs.push_back(agents_[agent].hub.get());
    return hubs;
}

Result<std::vector<RunningTrace>> Session::start_all(std::uint32_t index) {
    std::vector<AgentHub*> hubs;
    std::vector<RunRequest> requests;
    {
        MutexLock lock(mutex_);
        hubs = hubs_of(index);
        for (std::uint32_t part = index + 1; part != 0; part = records_[part - 1].next_part) {
            refresh_plan(records_[part - 1].agent);
            requests.push_back(request_of(index, records_[part - 1]));
        }
    }
    return start_together(hubs, requests);
}

Result<void> Session::start_on_all(std::uint32_t index) {
    auto running = caught([&] { return start_all(index); });
    MutexLock lock(mutex_);
    records_[index].state = running ? State::kRunning : State::kIdle;
    if (!running) {
        set_free(index);
        return std::move(running.error());
    }
    auto token = running->begin();
    for (std::uint32_t part = index + 1; part != 0; part = records_[part - 1].next_part)
        agents_[records_[part - 1].agent].running = std::move(*token++);
    return {};
}

Result<RunRequest> Session::request(ContextHandle context) const {
    MutexLock lock(mutex_);
    const Record* record = find(context);
    if (record == nullptr) return no_context();
    if (record->state == State::kNew)
        return Error{ErrorCode::kWrongState, "the context is not configured", "", ""};
    return request_of(index_of(context), *record);
}

Result<RunSummary> Session::stop(ContextHandle context) {
    WAVETAP_CHECK_OK(may_wait(context));
    RunningTrace running;
    const std::uint32_t index = index_of(context);
    bool several = false, dispatches = false;
    {
        MutexLock lock(mutex_);
        Record* record = find(context);
        if (record == nullptr) return no_context();
        if (record->state > State::kIdle)
            for (std::uint32_t part = index + 1; part != 0; part = records_[part - 1].next_part) {
                const AgentHub& hub = *agents_[records_[part - 1].agent].hub;
                // Known before anything changes: others must not see a stop that is none.
                if (hub.in_handler() || (record->state != State::kRunning && hub.on_hub_thread()))
                    return Error{ErrorCode::kWouldDeadlock,
                                 "stop from a chunk handler would wait for itself", "", ""};
            }
        record->wanted = false;
        if (record->state <= State::kIdle) return RunSummary{};
        if (record->state != State::kRunning) return changing();
        record->state = State::kStopping;
        several = record->next_part != 0;
        dispatches = record->dispatches != nullptr;
        if (!several && !dispatches) running = std::move(agents_[record->agent].running);
    }
    if (dispatches) return stop_dispatches(index);
    if (several) return stop_on_all(index);
    auto summary = running.stop();
    MutexLock lock(mutex_);
    records_[index].state = State::kIdle;
    set_free(index);
    return summary;
}

Result<RunSummary> Session::stop_all(std::uint32_t index, std::vector<RunningTrace>& tokens) {
    std::vector<AgentHub*> hubs;
    {
        MutexLock lock(mutex_);
        hubs = hubs_of(index);
        tokens.reserve(hubs.size());
        for (std::uint32_t part = index + 1; part != 0; part = records_[part - 1].next_part)
            tokens.push_back(std::move(agents_[records_[part - 1].agent].running));
    }
    TogetherSummary answer = stop_together(hubs, tokens);
    if (!answer.outcome) return std::move(answer.outcome.error());
    return answer.total;
}

RunningTrace Session::take_running(std::uint32_t part) {
    MutexLock lock(mutex_);
    return std::move(agents_[records_[part - 1].agent].running);
}

Result<RunSummary> Session::stop_on_all(std::uint32_t index) {
    std::vector<RunningTrace> tokens;
    auto answer = caught([&] { return stop_all(index, tokens); });
    // Whatever runs still, for want of memory: the run is over, without its data.
    for (RunningTrace& left : tokens)
        (void)left.discard();
    for (std::uint32_t part = index + 1; part != 0;) {
        (void)take_running(part).discard();
        MutexLock lock(mutex_);
        part = records_[part - 1].next_part;
    }
    MutexLock lock(mutex_);
    records_[index].state = State::kIdle;
    set_free(index);
    return answer;
}

Result<void> Session::stop_async(ContextHandle context,
                                 std::function<void(const Result<RunSummary>&)> done) {
    AgentHub* hub = nullptr;
    {
        MutexLock lock(mutex_);
        const Record* record = find(context);
        if (record == nullptr) return no_context();
        if (record->state == State::kNew)
            return Error{ErrorCode::kWrongState, "the context is not configured", "", ""};
        if (record->dispatches == nullptr) hub = agents_[record->agent].hub.get();
    }
    if (hub == nullptr) return stop_on_a_thread(context, std::move(done));
    return hub->post([this, context, done = std::move(done)] {
        auto stopped = stop(context);
        // A job is in no handler: another thread's stop has not returned yet.
        if (!stopped && stopped.error().code == ErrorCode::kWouldDeadlock) stopped = changing();
        done(stopped);
    });
}

Result<bool> Session::running(ContextHandle context) const {
    MutexLock lock(mutex_);
    const Record* record = find(context);
    if (record == nullptr) return no_context();
    return record->state == State::kRunning;
}

Result<void> Session::destroy(ContextHandle context) {
    if (auto stopped = stop(context); !stopped) {
        const ErrorCode code = stopped.error().code;
        // After any other failure the run is over all the same.
        if (code == ErrorCode::kNotFound || code == ErrorCode::kBusy ||
            code == ErrorCode::kWouldDeadlock)
            return std::move(stopped.error());
    }
    MutexLock lock(mutex_);
    Record* record = find(context);
    if (record == nullptr) return no_context();
    if (record->state > State::kIdle) return changing();
    forget(context);
    for (std::uint32_t part = index_of(context) + 1; part != 0;) {
        const std::uint32_t next = records_[part - 1].next_part;
        release_record(part - 1);
        part = next;
    }
    return {};
}

std::uint64_t Session::contexts() const {
    MutexLock lock(mutex_);
    return static_cast<std::uint64_t>(
        std::count_if(records_.begin(), records_.end(), [](const Record& record) {
            return record.state != State::kUnused && record.state != State::kPart;
        }));
}

std::uint64_t Session::contexts_of(std::uint32_t agent) const {
    MutexLock lock(mutex_);
    return static_cast<std::uint64_t>(
        std::count_if(records_.begin(), records_.end(), [agent](const Record& record) {
            return record.state > State::kNew && record.agent == agent;
        }));
}

std::uint64_t Session::host_bytes_per_context() const {
    MutexLock lock(mutex_);
    const std::uint64_t count = std::max<std::uint64_t>(records_.size(), 1);
    const std::uint64_t bytes =
        records_.capacity() * sizeof(Record) + free_.capacity() * sizeof(std::uint32_t);
    return (bytes + count - 1) / count;
}

Result<void> Session::close() {
    WAVETAP_CHECK_OK(check_process());
    auto outcome = close_dispatches();
    if (!outcome && outcome.error().code == ErrorCode::kWouldDeadlock) return outcome;
    std::vector<AgentHub*> hubs;
    {
        MutexLock lock(mutex_);
        for (const Agent& agent : agents_)
            hubs.push_back(agent.hub.get());
    }
    for (AgentHub* hub : hubs)
        if (auto closed = hub->close(); !closed && outcome) outcome = std::move(closed);
    return outcome;
}

} // namespace wavetap::capture
