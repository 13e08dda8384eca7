// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "rocr/leaser.hpp"

#include "base/caught.hpp"

#include <algorithm>
#include <chrono>
#include <exception>

namespace wavetap::rocr {

namespace {

/// For the packets of leases in a queue that the application destroys.
constexpr auto kQueueEndLimit = std::chrono::seconds(10);

thread_local bool t_deciding = false;

Error not_traced(ErrorCode code, const char* why) {
    return brief_error(code, why);
}

void tell_end(LeasedDispatch& dispatch, const Result<capture::RunSummary>& summary) {
    (void)caught([&]() -> Result<void> {
        dispatch.ended(summary);
        return {};
    });
}

} // namespace

Leaser::Leaser(const HsaFunctions& hsa, LeaseOwner& owner, std::size_t agents, const Clock& clock)
    : hsa_(hsa), owner_(owner), clock_(clock) {
    for (std::uint32_t i = 0; i < agents; ++i)
        agents_.push_back(std::make_unique<Agent>(this, i));
}

Leaser::~Leaser() = default;

bool Leaser::deciding() {
    return t_deciding;
}

void Leaser::note_handler_thread() {
    if (auto* interceptor = interceptor_.load()) interceptor->note_handler_thread();
}

bool Leaser::on_handler_thread() const {
    const auto* interceptor = interceptor_.load();
    return interceptor != nullptr && interceptor->on_handler_thread();
}

Result<void> Leaser::open(std::uint32_t index, capture::AgentHub& hub,
                          std::uint32_t owner_context) {
    Agent& agent = *agents_[index];
    if (ended_.load())
        return Error{ErrorCode::kWrongState, "dispatches are not traced any more", "", ""};
    WAVETAP_TRY(const capture::LeaseStreams streams, hub.open_leases(owner_context, agent));
    MutexLock lock(agent.mutex);
    if (agent.gates_open) close_gates(agent);
    agent.streams = streams;
    agent.hub = &hub;
    agent.failure.reset();
    agent.admitting = true;
    return {};
}

Result<void> Leaser::close(std::uint32_t index, TimePoint deadline) {
    Agent& agent = *agents_[index];
    {
        MutexLock lock(agent.mutex);
        if (agent.hub == nullptr) return {};
        if (deciding() || agent.hub->on_hub_thread() || waits_for_handlers(agent))
            return Error{ErrorCode::kWouldDeadlock,
                         "a stop from here would wait for what this thread must do",
                         "dispatch mode", "stop asynchronously, or from another thread"};
    }
    return close_now(agent, deadline);
}

bool Leaser::waits_for_handlers(const Agent& agent) const {
    const bool busy = agent.deciding != 0 || !idle(agent);
    return busy && !agent.gates_open && on_handler_thread();
}

bool Leaser::needs_this_thread(std::uint32_t index) const {
    Agent& agent = *agents_[index];
    MutexLock lock(agent.mutex);
    return waits_for_handlers(agent);
}

Result<void> Leaser::close_now(Agent& agent, TimePoint deadline) {
    capture::AgentHub* hub = nullptr;
    std::uint64_t owner = 0;
    bool drained = false;
    {
        MutexLock lock(agent.mutex);
        agent.admitting = false;
        hub = agent.hub;
        if (hub == nullptr) return {};
        owner = agent.streams.owner;
        const auto over = [&agent]() WAVETAP_REQUIRES(agent.mutex) {
            return agent.deciding == 0 && idle(agent);
        };
        // Without the handler thread no lease ends.
        if (on_handler_thread()) deadline = clock_.now();
        (void)agent.changed.wait_until(agent.mutex, deadline, [&]() WAVETAP_REQUIRES(agent.mutex) {
            return agent.gates_open || over();
        });
        drained = over() && !agent.gates_open;
    }
    auto closed = hub->close_leases(owner, !drained);
    Ended left;
    Result<void> outcome;
    {
        MutexLock lock(agent.mutex);
        agent.hub = nullptr;
        if (agent.failure)
            outcome = *agent.failure;
        else if (!drained)
            outcome = not_traced(ErrorCode::kTimeout, "traced dispatches did not end in time");
        else if (!closed && closed.error().code != ErrorCode::kWrongState)
            outcome = std::move(closed);
        if (!drained) {
            open_gates(agent);
            for (const auto& lane : agent.lanes)
                take_dispatches(*lane, 0, left);
        }
    }
    end(std::move(left),
        not_traced(ErrorCode::kTimeout, "the trace ended before the dispatch did"));
    return outcome;
}

std::unique_ptr<Leaser::Lane> Leaser::make_lane(Agent& agent) {
    auto lane = std::make_unique<Lane>();
    lane->agent = &agent;
    bool good = true;
    std::size_t handlers = 0;
    for (hsa_signal_t* signal : lane->signals())
        good = good && hsa_.signal_create(1, 0, nullptr, signal) == HSA_STATUS_SUCCESS;
    const auto handle = [&](hsa_signal_t signal, hsa_amd_signal_handler handler) {
        good = good && hsa_.signal_async_handler(signal, HSA_SIGNAL_CONDITION_LT, 1, handler,
                                                 lane.get()) == HSA_STATUS_SUCCESS;
        if (good) ++handlers;
    };
    handle(lane->ready, on_ready);
    handle(lane->stopped, on_stopped);
    if (!good)
        owner_.error({ErrorCode::kLimit, "no signal for a queue", "dispatch mode",
                      "its dispatches run untraced"});
    MutexLock lock(agent.mutex);
    agent.handlers += handlers;
    if (good) return lane;
    // A handler may hold it already: it is kept, unused.
    lane->in_use = true;
    agent.lanes.push_back(std::move(lane));
    return nullptr;
}

void Leaser::queue_created(std::uint32_t index, QueueNote& queue) {
    Agent& agent = *agents_[index];
    if (ended_.load() || !owner_.queue_created(index)) return;
    {
        MutexLock lock(agent.mutex);
        for (std::size_t i = 0; i < agent.lanes.size(); ++i) {
            if (agent.lanes[i]->in_use) continue;
            agent.lanes[i]->in_use = true;
            agent.lanes[i]->gone = false;
            queue.value = i + 1;
            return;
        }
    }
    auto lane = make_lane(agent);
    if (!lane) return;
    MutexLock lock(agent.mutex);
    lane->in_use = true;
    agent.lanes.push_back(std::move(lane));
    queue.value = agent.lanes.size();
}

void Leaser::queue_not_watched(std::uint32_t) {
    owner_.warning("a queue could not be watched; its dispatches run untraced");
}

Leaser::Lane* Leaser::lane_of(Agent& agent, const QueueNote& queue) {
    return queue.value == 0 ? nullptr : agent.lanes[queue.value - 1].get();
}

void Leaser::before_dispatch(std::uint32_t index, QueueNote& queue, std::uint64_t kernel_object,
                             std::vector<Packet>& front, std::vector<Packet>& back) {
    Agent& agent = *agents_[index];
    DispatchNote note{index, queue.queue_id, kernel_object, false, queue.room};
    {
        MutexLock lock(agent.mutex);
        const Lane* lane = lane_of(agent, queue);
        note.watched = agent.admitting && lane != nullptr && !lane->dead;
        // From here on a close() waits.
        if (note.watched) ++agent.deciding;
    }
    t_deciding = note.watched;
    std::unique_ptr<LeasedDispatch> dispatch;
    try {
        dispatch = owner_.decide(note);
    } catch (const std::exception&) { // no memory: it passes
        dispatch = nullptr;
    }
    t_deciding = false;
    if (!note.watched) return;
    {
        MutexLock lock(agent.mutex);
        --agent.deciding;
        agent.changed.notify_all();
        Lane& lane = *lane_of(agent, queue);
        if (dispatch && agent.hub != nullptr && !agent.gates_open && !lane.dead)
            enqueue(agent, lane, std::move(dispatch), front, back);
    }
    if (dispatch)
        dispatch->ended(
            not_traced(ErrorCode::kUnavailable, "the queue failed, or the trace ended"));
}

void Leaser::enqueue(Agent& agent, Lane& lane, std::unique_ptr<LeasedDispatch> dispatch,
                     std::vector<Packet>& front, std::vector<Packet>& back) {
    auto lease = std::make_unique<Lease>();
    lease->lane = &lane;
    const hsa_signal_t gate = lane.gates[lane.enqueued % 2];
    lease->gate = gate;
    lease->dispatch = std::move(dispatch);
    lane.leases.push_back(std::move(lease)); // nothing behind it throws
    ++lane.enqueued;
    front.push_back(barrier_packet({}, lane.ready));
    front.push_back(barrier_packet(gate, {}));
    front.push_back(vendor_packet(agent.streams.start, lane.started));
    back.push_back(barrier_packet({}, lane.done));
    back.push_back(vendor_packet(agent.streams.stop, lane.stopped));
}

bool Leaser::on_ready(hsa_signal_value_t, void* data) {
    auto& lane = *static_cast<Lane*>(data);
    Leaser& leaser = *lane.agent->owner;
    leaser.note_handler_thread();
    if (leaser.ended_.load()) return leaser.handler_ended(lane);
    leaser.hsa_.signal_store(lane.ready, 1);
    leaser.come_to(lane);
    return true;
}

void Leaser::come_to(Lane& lane) {
    Agent& agent = *lane.agent;
    Lease* refused = nullptr;
    std::unique_ptr<LeasedDispatch> over;
    Result<void> asked;
    {
        // Under the lock, so that the hub hears of a lease before it hears of its queue's end.
        MutexLock lock(agent.mutex);
        const std::uint64_t number = lane.arrived - lane.ended;
        if (number >= lane.leases.size()) return;
        Lease& lease = *lane.leases[number];
        // The lease before this one used it, and the one behind this one has not come to it.
        if (!agent.gates_open) hsa_.signal_store(lane.gates[(lane.arrived + 1) % 2], 1);
        hsa_.signal_store(lane.started, 1);
        hsa_.signal_store(lane.done, 1);
        ++lane.arrived;
        asked = not_traced(ErrorCode::kWrongState, "nothing is traced any more");
        if (!lane.dead && !agent.gates_open && agent.hub != nullptr && lease.dispatch) {
            const auto request = caught([&] { return lease.dispatch->request(); });
            lease.traced = request && !request->untraced;
            asked = request ? agent.hub->lease(&lease, *request) : Result<void>(request.error());
        }
        if (asked) return;
        // The streams do nothing.
        hsa_.signal_store(lease.gate, 0);
        over = std::move(lease.dispatch);
        refused = &lease;
    }
    if (over) tell_end(*over, asked.error());
    MutexLock lock(agent.mutex);
    remove(lane, *refused);
    agent.changed.notify_all();
}

bool Leaser::on_stopped(hsa_signal_value_t, void* data) {
    auto& lane = *static_cast<Lane*>(data);
    Leaser& leaser = *lane.agent->owner;
    if (leaser.ended_.load()) return leaser.handler_ended(lane);
    leaser.hsa_.signal_store(lane.stopped, 1);
    Agent& agent = *lane.agent;
    MutexLock lock(agent.mutex);
    const auto lease = std::ranges::find_if(
        lane.leases, [](const auto& one) { return one->granted && !one->retired; });
    if (lease == lane.leases.end()) return true;
    (*lease)->retired = true;
    agent.changed.notify_all();
    if (agent.hub != nullptr && !agent.gates_open) agent.hub->lease_retired(lease->get());
    return true;
}

void Leaser::lease_ready(Lease& lease, const Result<void>& armed) {
    bool traced = false;
    {
        MutexLock lock(lease.lane->agent->mutex);
        lease.granted = true;
        traced = lease.traced;
    }
    // Whatever becomes of the words, the gate opens.
    if (traced)
        (void)caught([&]() -> Result<void> {
            lease.dispatch->began(armed);
            return {};
        });
    if (const auto pass = owner_.gate().enter()) hsa_.signal_store(lease.gate, 0);
}

void Leaser::lease_ended(Lease& lease, const Result<capture::RunSummary>& summary) {
    Lane& lane = *lease.lane;
    Agent& agent = *lane.agent;
    std::unique_ptr<LeasedDispatch> dispatch;
    {
        MutexLock lock(agent.mutex);
        dispatch = std::move(lease.dispatch);
    }
    if (dispatch) tell_end(*dispatch, summary);
    dispatch.reset();
    MutexLock lock(agent.mutex);
    remove(lane, lease);
    agent.changed.notify_all();
}

void Leaser::remove(Lane& lane, const Lease& lease) {
    std::erase_if(lane.leases, [&lease](const auto& one) { return one.get() == &lease; });
    ++lane.ended;
}

capture::LeaseProgress Leaser::progress_of(const Lane& lane) const {
    const auto pass = owner_.gate().enter();
    if (!pass) return capture::LeaseProgress::kDispatch;
    if (hsa_.signal_load(lane.started) > 0) return capture::LeaseProgress::kBeforeStart;
    if (hsa_.signal_load(lane.done) > 0) return capture::LeaseProgress::kDispatch;
    return capture::LeaseProgress::kBeforeStop;
}

void Leaser::leases_failed(Agent& agent, const Error& reason) {
    {
        MutexLock lock(agent.mutex);
        agent.admitting = false;
        open_gates(agent);
        agent.changed.notify_all();
    }
    (void)caught([&]() -> Result<void> {
        Error kept = reason;
        {
            MutexLock lock(agent.mutex);
            agent.failure = std::move(kept);
        }
        owner_.error(reason);
        return {};
    });
}

void Leaser::open_gates(Agent& agent) {
    agent.gates_open = true;
    const auto pass = owner_.gate().enter();
    if (!pass) return;
    for (const auto& lane : agent.lanes)
        for (const hsa_signal_t gate : lane->gates)
            if (gate.handle != 0) hsa_.signal_store(gate, 0);
}

// What a queue may still wait for stays open, so that queue is not watched any more.
void Leaser::close_gates(Agent& agent) {
    agent.gates_open = false;
    for (const auto& lane : agent.lanes) {
        if (!lane->leases.empty()) lane->dead = true;
        if (lane->dead) continue;
        for (const hsa_signal_t gate : lane->gates)
            if (gate.handle != 0) hsa_.signal_store(gate, 1);
    }
}

void Leaser::queue_ending(std::uint32_t index, const QueueNote& queue) {
    Agent& agent = *agents_[index];
    MutexLock lock(agent.mutex);
    const Lane* lane = lane_of(agent, queue);
    if (lane == nullptr || (agent.hub != nullptr && agent.hub->on_hub_thread())) return;
    const bool ended = agent.changed.wait_until(agent.mutex, clock_.deadline_after(kQueueEndLimit),
                                                [&] { return lane->dead || off_queue(*lane); });
    (void)ended; // queue_destroyed() deals with what is left
}

void Leaser::queue_failed(std::uint32_t index, const QueueNote& queue) {
    Agent& agent = *agents_[index];
    Ended lost;
    {
        MutexLock lock(agent.mutex);
        Lane* lane = lane_of(agent, queue);
        if (lane == nullptr || std::exchange(lane->dead, true)) return;
        lose(agent, *lane, lost);
        agent.changed.notify_all();
    }
    end(std::move(lost), not_traced(ErrorCode::kUnavailable, "the dispatch's queue failed"));
}

void Leaser::queue_destroyed(std::uint32_t index, const QueueNote& queue) {
    Agent& agent = *agents_[index];
    Ended lost;
    {
        MutexLock lock(agent.mutex);
        Lane* lane = lane_of(agent, queue);
        if (lane == nullptr) return;
        lane->gone = true;
        if (off_queue(*lane) && !lane->dead) {
            lane->in_use = false;
            return;
        }
        // Never used again: the hub may still speak of it.
        if (std::exchange(lane->dead, true)) return;
        lose(agent, *lane, lost);
    }
    end(std::move(lost), not_traced(ErrorCode::kUnavailable, "the dispatch's queue was destroyed"));
    owner_.error({ErrorCode::kUnavailable, "a queue ended with traced dispatches in it",
                  "dispatch mode", "wait for the kernels before the queue is destroyed"});
}

bool Leaser::off_queue(const Lane& lane) {
    return std::ranges::all_of(lane.leases, [](const auto& lease) { return lease->retired; });
}

void Leaser::lose(Agent& agent, Lane& lane, Ended& unknown) {
    const std::uint64_t known = lane.arrived - lane.ended;
    for (std::uint64_t i = 0; i < known; ++i)
        if (agent.hub != nullptr && !agent.gates_open) agent.hub->lease_lost(lane.leases[i].get());
    take_dispatches(lane, known, unknown);
}

void Leaser::take_dispatches(Lane& lane, std::uint64_t first, Ended& taken) {
    for (std::uint64_t i = first; i < lane.leases.size(); ++i)
        if (lane.leases[i]->dispatch) taken.push_back(std::move(lane.leases[i]->dispatch));
}

void Leaser::end(Ended ended, const Error& reason) {
    for (const auto& dispatch : ended)
        tell_end(*dispatch, reason);
}

bool Leaser::idle(const Agent& agent) {
    return std::all_of(agent.lanes.begin(), agent.lanes.end(),
                       [](const auto& lane) { return lane->dead || lane->leases.empty(); });
}

bool Leaser::handler_ended(Lane& lane) {
    MutexLock lock(lane.agent->mutex);
    --lane.agent->handlers;
    lane.agent->changed.notify_all();
    return false;
}

void Leaser::destroy_signals(Agent& agent, TimePoint deadline) {
    MutexLock lock(agent.mutex);
    // What a queue or ROCr's handler thread may still look at stays.
    if (!agent.drained || on_handler_thread()) return;
    const bool ended =
        agent.changed.wait_until(agent.mutex, deadline, [&agent]() WAVETAP_REQUIRES(agent.mutex) {
            return agent.handlers == 0;
        });
    if (!ended) return;
    for (const auto& lane : agent.lanes) {
        if (!lane->leases.empty() && !lane->gone) continue;
        for (hsa_signal_t* signal : lane->signals()) {
            if (signal->handle != 0) (void)hsa_.signal_destroy(*signal);
            *signal = {};
        }
    }
}

void Leaser::finish(TimePoint deadline) {
    for (auto& agent : agents_)
        if (auto closed = close_now(*agent, deadline); !closed) owner_.error(closed.error());
    if (ended_.exchange(true)) return;
    for (auto& agent : agents_) {
        MutexLock lock(agent->mutex);
        agent->drained = !agent->gates_open;
        open_gates(*agent);
        for (const auto& lane : agent->lanes)
            for (const hsa_signal_t watched : {lane->ready, lane->stopped})
                if (watched.handle != 0) hsa_.signal_store(watched, 0);
    }
    for (auto& agent : agents_)
        destroy_signals(*agent, deadline);
}

} // namespace wavetap::rocr
