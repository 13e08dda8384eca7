// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/session.hpp"

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
    (void)close();
    MutexLock lock(mutex_);
    for (Agent& agent : agents_)
        agent.running = {};
}

std::uint32_t Session::add_agent(std::unique_ptr<AgentHub> hub) {
    MutexLock lock(mutex_);
    agents_.push_back(Agent{std::move(hub), {}, {}, false});
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
    const bool match = record.state != State::kUnused && record.generation == context.value >> 32;
    return match ? &record : nullptr;
}

const Session::Record* Session::find(ContextHandle context) const {
    const std::uint32_t index = index_of(context);
    if (index >= records_.size()) return nullptr;
    const Record& record = records_[index];
    const bool match = record.state != State::kUnused && record.generation == context.value >> 32;
    return match ? &record : nullptr;
}

Result<ContextHandle> Session::create() {
    MutexLock lock(mutex_);
    try {
        std::uint32_t index = 0;
        if (free_.empty()) {
            // So that destroy() never allocates.
            if (free_.capacity() <= records_.size()) free_.reserve(2 * records_.size() + 16);
            index = static_cast<std::uint32_t>(records_.size());
            records_.emplace_back();
        } else {
            index = free_.back();
            free_.pop_back();
        }
        Record& record = records_[index];
        record.state = State::kNew;
        return ContextHandle{std::uint64_t{record.generation} << 32 | (index + 1)};
    } catch (const std::bad_alloc&) {
        return Error{ErrorCode::kLimit, "no memory for another context", "", ""};
    }
}

Result<void> Session::configure(ContextHandle context, std::uint32_t agent,
                                const TraceParams& params, ChunkHandler handler, void* user) {
    MutexLock lock(mutex_);
    Record* record = find(context);
    if (record == nullptr) return no_context();
    if (record->state != State::kNew)
        return Error{ErrorCode::kWrongState, "the context is already configured", "", ""};
    if (agent >= agents_.size())
        return Error{ErrorCode::kNotFound,
                     "there is no agent " + std::to_string(agent) + " (" +
                         std::to_string(agents_.size()) + " known)",
                     "", ""};
    WAVETAP_TRY(const auto valid, ValidatedParams::create(params, agents_[agent].hub->topology()));
    record->state = State::kIdle;
    record->agent = agent;
    record->config = valid.config();
    record->buffers = valid.buffers();
    record->handler = handler;
    record->user = user;
    agents_[agent].plan.add({record->config.buffer_bytes, record->buffers});
    agents_[agent].hub->set_plan(agents_[agent].plan);
    return {};
}

void Session::refresh_plan(std::uint32_t agent) {
    if (!agents_[agent].plan_stale) return;
    SlotPlan plan;
    for (const Record& record : records_)
        if (record.state > State::kNew && record.agent == agent)
            plan.add({record.config.buffer_bytes, record.buffers});
    agents_[agent].plan = plan;
    agents_[agent].plan_stale = false;
    agents_[agent].hub->set_plan(plan);
}

Result<void> Session::start(ContextHandle context) {
    AgentHub* hub = nullptr;
    RunRequest request;
    {
        MutexLock lock(mutex_);
        Record* record = find(context);
        if (record == nullptr) return no_context();
        if (record->state == State::kRunning) return {};
        if (record->state == State::kNew)
            return Error{ErrorCode::kWrongState, "the context is not configured", "", ""};
        if (record->state != State::kIdle) return changing();
        refresh_plan(record->agent);
        hub = agents_[record->agent].hub.get();
        request = RunRequest{index_of(context), record->config, record->buffers, record->handler,
                             record->user};
        record->state = State::kStarting;
    }
    auto running = hub->start(request);
    MutexLock lock(mutex_);
    Record& record = records_[index_of(context)];
    record.state = running ? State::kRunning : State::kIdle;
    if (!running) return std::move(running.error());
    agents_[record.agent].running = std::move(*running);
    return {};
}

Result<RunRequest> Session::request(ContextHandle context) const {
    MutexLock lock(mutex_);
    const Record* record = find(context);
    if (record == nullptr) return no_context();
    if (record->state == State::kNew)
        return Error{ErrorCode::kWrongState, "the context is not configured", "", ""};
    return RunRequest{index_of(context), record->config, record->buffers, record->handler,
                      record->user};
}

Result<RunSummary> Session::stop(ContextHandle context) {
    RunningTrace running;
    {
        MutexLock lock(mutex_);
        Record* record = find(context);
        if (record == nullptr) return no_context();
        if (record->state <= State::kIdle) return RunSummary{};
        AgentHub& hub = *agents_[record->agent].hub;
        if (record->state != State::kRunning) {
            if (hub.on_hub_thread())
                return Error{ErrorCode::kWouldDeadlock,
                             "stop from a chunk handler would wait for itself", "", ""};
            return changing();
        }
        running = std::move(agents_[record->agent].running);
        record->state = State::kStopping;
    }
    auto summary = running.stop();
    MutexLock lock(mutex_);
    Record& record = records_[index_of(context)];
    record.state = State::kIdle;
    if (running.active()) { // it would have deadlocked: the run goes on
        record.state = State::kRunning;
        agents_[record.agent].running = std::move(running);
    }
    return summary;
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
    if (record->state == State::kIdle) agents_[record->agent].plan_stale = true;
    const std::uint32_t generation = record->generation + 1;
    *record = Record{};
    record->generation = generation;
    free_.push_back(index_of(context)); // reserved by create()
    return {};
}

std::uint64_t Session::contexts() const {
    MutexLock lock(mutex_);
    return records_.size() - free_.size();
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
    std::vector<AgentHub*> hubs;
    {
        MutexLock lock(mutex_);
        for (const Agent& agent : agents_)
            hubs.push_back(agent.hub.get());
    }
    Result<void> outcome;
    for (AgentHub* hub : hubs)
        if (auto closed = hub->close(); !closed && outcome) outcome = std::move(closed);
    return outcome;
}

} // namespace wavetap::capture
