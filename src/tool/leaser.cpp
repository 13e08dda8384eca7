// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "tool/leaser.hpp"

#include "base/caught.hpp"

#include <algorithm>

namespace wavetap::tool {

namespace {

/// For the packets of leases in a queue that the application destroys.
constexpr auto kQueueEndLimit = std::chrono::seconds(10);

} // namespace

Leaser::Leaser(const rocr::HsaFunctions& hsa, Recorder& recorder, const KernelTable& kernels,
               const ToolConfig& config, std::size_t agents, const Clock& clock)
    : hsa_(hsa), recorder_(recorder), kernels_(kernels), clock_(clock), window_(config.window),
      rotate_(config.rotate), every_launch_(config.every_launch) {
    for (std::uint32_t i = 0; i < agents; ++i)
        agents_.push_back(std::make_unique<Agent>(this, i));
}

Leaser::~Leaser() = default;

void Leaser::note_handler_thread() {
    if (auto* interceptor = interceptor_.load()) interceptor->note_handler_thread();
}

bool Leaser::open_agent(Agent& agent) {
    {
        MutexLock lock(agent.mutex);
        if (agent.opened) return agent.usable;
        agent.opened = true;
    }
    LeasedRun unused;
    const auto first = recorder_.lease_request(agent.index, 0, unused);
    auto streams = first ? recorder_.hub(agent.index).open_leases(first->context, agent)
                         : Result<capture::LeaseStreams>(first.error());
    if (!streams) recorder_.error(streams.error());
    MutexLock lock(agent.mutex);
    if (!streams) {
        // The next queue tries again, unless that could take as long again.
        agent.opened = streams.error().code == ErrorCode::kTimeout;
        return false;
    }
    agent.streams = *streams;
    agent.usable = true;
    return true;
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
        recorder_.error({ErrorCode::kLimit, "no signal for a queue", "dispatch mode",
                         "its dispatches run untraced"});
    MutexLock lock(agent.mutex);
    agent.handlers += handlers;
    if (good) return lane;
    // A handler may hold it already: it is kept, unused.
    lane->in_use = true;
    agent.lanes.push_back(std::move(lane));
    return nullptr;
}

void Leaser::queue_created(std::uint32_t index, rocr::QueueNote& queue) {
    Agent& agent = *agents_[index];
    if (!open_agent(agent)) return;
    {
        MutexLock lock(agent.mutex);
        if (agent.finished) return;
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
    recorder_.warning("a queue could not be watched; its dispatches run untraced");
}

Leaser::Lane* Leaser::lane_of(Agent& agent, const rocr::QueueNote& queue) {
    return queue.value == 0 ? nullptr : agent.lanes[queue.value - 1].get();
}

std::size_t Leaser::context_of(const Agent& agent) const {
    const std::size_t contexts = std::max<std::size_t>(recorder_.contexts(agent.index), 1);
    return rotate_ ? static_cast<std::size_t>(agent.matching / window_ % contexts) : 0;
}

bool Leaser::admit(Agent& agent, std::uint64_t kernel_object) {
    const std::size_t context = context_of(agent);
    ++agent.matching;
    return every_launch_ || agent.traced.emplace(context, kernel_object).second;
}

void Leaser::before_dispatch(std::uint32_t index, rocr::QueueNote& queue,
                             std::uint64_t kernel_object, std::vector<rocr::Packet>& front,
                             std::vector<rocr::Packet>& back) {
    Agent& agent = *agents_[index];
    const KernelTable::Kernel kernel = kernels_.find(kernel_object);
    const std::uint64_t number = recorder_.dispatch(index, kernel.name);
    MutexLock lock(agent.mutex);
    Lane* lane = lane_of(agent, queue);
    if (agent.finished || lane == nullptr || lane->dead) return;
    const std::size_t context = context_of(agent);
    const bool traced = kernel.matches && queue.room && admit(agent, kernel_object);
    const bool serialized = recorder_.serializes_all(index, context);
    if (!queue.room && kernel.matches) ++agent.crowded;
    if (!queue.room && serialized) ++agent.beside;
    if (!queue.room || (!traced && !serialized)) return;
    const hsa_signal_t gate = lane->gates[lane->enqueued % 2];
    auto lease = std::make_unique<Lease>();
    lease->lane = lane;
    lease->context = context;
    lease->dispatch = number;
    lease->gate = gate;
    lease->traced = traced;
    lane->leases.push_back(std::move(lease)); // nothing behind it throws
    ++lane->enqueued;
    ++agent.admitted;
    front.push_back(rocr::barrier_packet({}, lane->ready));
    front.push_back(rocr::barrier_packet(gate, {}));
    front.push_back(rocr::vendor_packet(agent.streams.start, lane->started));
    back.push_back(rocr::barrier_packet({}, lane->done));
    back.push_back(rocr::vendor_packet(agent.streams.stop, lane->stopped));
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
    auto request =
        caught([&] { return recorder_.lease_request(agent.index, lease.context, lease.run); });
    if (request) request->untraced = !lease.traced;
    Result<void> asked;
    if (lane.dead || agent.gates_open)
        asked = brief_error(ErrorCode::kWrongState, "nothing is traced any more");
    else if (!request)
        asked = std::move(request.error());
    else
        asked = recorder_.hub(agent.index).lease(&lease, *request);
    if (asked) return;
    // The streams do nothing.
    hsa_.signal_store(lease.gate, 0);
    remove(lane, lease);
    agent.changed.notify_all();
}

bool Leaser::on_stopped(hsa_signal_value_t, void* data) {
    auto& lane = *static_cast<Lane*>(data);
    Leaser& leaser = *lane.agent->owner;
    if (leaser.ended_.load()) return leaser.handler_ended(lane);
    leaser.hsa_.signal_store(lane.stopped, 1);
    MutexLock lock(lane.agent->mutex);
    const auto lease = std::ranges::find_if(
        lane.leases, [](const auto& one) { return one->granted && !one->retired; });
    if (lease == lane.leases.end()) return true;
    (*lease)->retired = true;
    lane.agent->changed.notify_all();
    leaser.recorder_.hub(lane.agent->index).lease_retired(lease->get());
    return true;
}

void Leaser::lease_ready(Lease& lease, const Result<void>& armed) {
    {
        MutexLock lock(lease.lane->agent->mutex);
        lease.granted = true;
    }
    // Whatever becomes of the words, the gate opens.
    (void)caught([&]() -> Result<void> {
        if (armed && lease.traced) {
            recorder_.begin_lease(lease.run, lease.dispatch);
        } else if (!armed) {
            Error refused = armed.error();
            refused.message = "a dispatch runs untraced: " + refused.message;
            recorder_.error(refused);
        }
        return {};
    });
    if (const auto pass = recorder_.gate().enter()) hsa_.signal_store(lease.gate, 0);
}

void Leaser::lease_ended(Lease& lease, const Result<capture::RunSummary>& summary) {
    Lane& lane = *lease.lane;
    (void)caught([&]() -> Result<void> {
        recorder_.end_lease(lease.run, summary);
        return {};
    });
    MutexLock lock(lane.agent->mutex);
    remove(lane, lease);
    lane.agent->changed.notify_all();
}

void Leaser::remove(Lane& lane, const Lease& lease) {
    std::erase_if(lane.leases, [&lease](const auto& one) { return one.get() == &lease; });
    ++lane.ended;
}

capture::LeaseProgress Leaser::progress_of(const Lane& lane) const {
    const auto pass = recorder_.gate().enter();
    if (!pass) return capture::LeaseProgress::kDispatch;
    if (hsa_.signal_load(lane.started) > 0) return capture::LeaseProgress::kBeforeStart;
    if (hsa_.signal_load(lane.done) > 0) return capture::LeaseProgress::kDispatch;
    return capture::LeaseProgress::kBeforeStop;
}

void Leaser::leases_failed(Agent& agent, const Error& reason) {
    {
        MutexLock lock(agent.mutex);
        agent.finished = true;
        open_gates(agent);
        agent.changed.notify_all();
    }
    (void)caught([&]() -> Result<void> {
        recorder_.error(reason);
        return {};
    });
}

void Leaser::open_gates(Agent& agent) {
    agent.gates_open = true;
    const auto pass = recorder_.gate().enter();
    if (!pass) return;
    for (const auto& lane : agent.lanes)
        for (const hsa_signal_t gate : lane->gates)
            if (gate.handle != 0) hsa_.signal_store(gate, 0);
}

void Leaser::queue_ending(std::uint32_t index, const rocr::QueueNote& queue) {
    Agent& agent = *agents_[index];
    if (recorder_.hub(index).on_hub_thread()) return;
    MutexLock lock(agent.mutex);
    const Lane* lane = lane_of(agent, queue);
    if (lane == nullptr) return;
    const bool ended = agent.changed.wait_until(agent.mutex, clock_.deadline_after(kQueueEndLimit),
                                                [&] { return lane->dead || off_queue(*lane); });
    (void)ended; // queue_destroyed() deals with what is left
}

void Leaser::queue_failed(std::uint32_t index, const rocr::QueueNote& queue) {
    Agent& agent = *agents_[index];
    MutexLock lock(agent.mutex);
    Lane* lane = lane_of(agent, queue);
    if (lane == nullptr || std::exchange(lane->dead, true)) return;
    lose(agent, *lane);
    agent.changed.notify_all();
}

void Leaser::queue_destroyed(std::uint32_t index, const rocr::QueueNote& queue) {
    Agent& agent = *agents_[index];
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
        lose(agent, *lane);
    }
    recorder_.error({ErrorCode::kUnavailable, "a queue ended with traced dispatches in it",
                     "dispatch mode", "wait for the kernels before the queue is destroyed"});
}

bool Leaser::off_queue(const Lane& lane) {
    return std::ranges::all_of(lane.leases, [](const auto& lease) { return lease->retired; });
}

void Leaser::lose(Agent& agent, Lane& lane) {
    for (std::uint64_t i = 0; i < lane.arrived - lane.ended; ++i)
        recorder_.hub(agent.index).lease_lost(lane.leases[i].get());
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

bool Leaser::on_handler_thread() const {
    const auto* interceptor = interceptor_.load();
    return interceptor != nullptr && interceptor->on_handler_thread();
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

void Leaser::note_crowded(Agent& agent) {
    const auto note = [this](std::uint64_t count, const char* how) {
        if (count != 0)
            recorder_.warning(std::to_string(count) + " dispatches ran " + how +
                              ": too many packets at once");
    };
    note(agent.crowded, "untraced");
    note(agent.beside, "beside others");
}

void Leaser::drain(Agent& agent, TimePoint deadline) {
    std::uint64_t owner = 0;
    bool drained = false;
    {
        MutexLock lock(agent.mutex);
        agent.finished = true;
        if (!agent.usable) return;
        owner = agent.streams.owner;
        // Without the handler thread no lease ends.
        if (on_handler_thread()) deadline = clock_.now();
        (void)agent.changed.wait_until(
            agent.mutex, deadline,
            [&agent]() WAVETAP_REQUIRES(agent.mutex) { return agent.gates_open || idle(agent); });
        drained = agent.drained = idle(agent) && !agent.gates_open;
        if (!drained && !agent.gates_open)
            recorder_.warning("the program ended before its traced dispatches did");
        note_crowded(agent);
    }
    if (auto closed = recorder_.hub(agent.index).close_leases(owner, !drained);
        !closed && closed.error().code != ErrorCode::kWrongState)
        recorder_.error(closed.error());
}

void Leaser::finish(TimePoint deadline) {
    for (auto& agent : agents_)
        drain(*agent, deadline);
    if (ended_.exchange(true)) return;
    for (auto& agent : agents_) {
        MutexLock lock(agent->mutex);
        open_gates(*agent);
        for (const auto& lane : agent->lanes)
            for (const hsa_signal_t watched : {lane->ready, lane->stopped})
                if (watched.handle != 0) hsa_.signal_store(watched, 0);
    }
    for (auto& agent : agents_)
        destroy_signals(*agent, deadline);
}

} // namespace wavetap::tool
