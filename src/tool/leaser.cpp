// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "tool/leaser.hpp"

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
    for (std::uint32_t i = 0; i < agents; ++i) {
        agents_.push_back(std::make_unique<Agent>());
        agents_.back()->owner = this;
        agents_.back()->index = i;
    }
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
    const auto first = recorder_.lease_request(agent.index, 0);
    auto streams = first ? recorder_.hub(agent.index).open_leases(first->context, *this)
                         : Result<capture::LeaseStreams>(first.error());
    if (!streams) {
        recorder_.error(streams.error());
        return false;
    }
    MutexLock lock(agent.mutex);
    agent.streams = *streams;
    agent.usable = true;
    return true;
}

std::unique_ptr<Leaser::Lane> Leaser::make_lane(Agent& agent) {
    auto lane = std::make_unique<Lane>();
    lane->agent = &agent;
    bool good = true;
    std::size_t handlers = 0;
    for (hsa_signal_t* signal : {&lane->ready, &lane->stopped, &lane->gates[0], &lane->gates[1]})
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

Leaser::Lane* Leaser::lane_of(Agent& agent, const rocr::QueueNote& queue) {
    return queue.value == 0 ? nullptr : agent.lanes[queue.value - 1].get();
}

bool Leaser::admit(Agent& agent, std::uint64_t kernel_object, std::size_t& context) {
    const std::uint64_t number = agent.matching++;
    const std::size_t contexts = std::max<std::size_t>(recorder_.contexts(agent.index), 1);
    context = rotate_ ? static_cast<std::size_t>(number / window_ % contexts) : 0;
    return every_launch_ || agent.traced.emplace(context, kernel_object).second;
}

void Leaser::before_dispatch(std::uint32_t index, rocr::QueueNote& queue,
                             std::uint64_t kernel_object, std::vector<rocr::Packet>& front,
                             std::vector<rocr::Packet>& back) {
    Agent& agent = *agents_[index];
    const KernelTable::Kernel kernel = kernels_.find(kernel_object);
    const std::uint64_t number = recorder_.dispatch(index, kernel.name);
    if (!kernel.matches) return;
    MutexLock lock(agent.mutex);
    Lane* lane = lane_of(agent, queue);
    if (agent.finished || lane == nullptr || lane->dead) return;
    if (!queue.room) {
        ++agent.crowded;
        return;
    }
    std::size_t context = 0;
    if (!admit(agent, kernel_object, context)) return;
    const hsa_signal_t gate = lane->gates[lane->enqueued++ % 2];
    lane->leases.push_back({context, number});
    ++agent.admitted;
    front.push_back(rocr::barrier_packet({}, lane->ready));
    front.push_back(rocr::barrier_packet(gate, {}));
    front.push_back(rocr::vendor_packet(agent.streams.start, {}));
    back.push_back(rocr::barrier_packet({}, {}));
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
    Lease lease;
    hsa_signal_t gate{};
    {
        MutexLock lock(agent.mutex);
        const std::uint64_t number = lane.arrived - lane.ended;
        if (number >= lane.leases.size()) return;
        lease = lane.leases[number];
        gate = lane.gates[lane.arrived % 2];
        // The lease before this one used it, and the one behind this one has not come to it.
        if (!ended_.load()) hsa_.signal_store(lane.gates[(lane.arrived + 1) % 2], 1);
        ++lane.arrived;
    }
    const auto request = recorder_.lease_request(agent.index, lease.context);
    const auto asked =
        request ? recorder_.hub(agent.index).lease(&lane, *request) : Result<void>(request.error());
    // The hub is closing: the streams do nothing.
    if (!asked) hsa_.signal_store(gate, 0);
}

bool Leaser::on_stopped(hsa_signal_value_t, void* data) {
    auto& lane = *static_cast<Lane*>(data);
    Leaser& leaser = *lane.agent->owner;
    if (leaser.ended_.load()) return leaser.handler_ended(lane);
    leaser.hsa_.signal_store(lane.stopped, 1);
    leaser.recorder_.hub(lane.agent->index).lease_retired(&lane);
    return true;
}

void Leaser::lease_ready(void* data, const Result<void>& armed) {
    auto& lane = *static_cast<Lane*>(data);
    Agent& agent = *lane.agent;
    Lease lease;
    hsa_signal_t gate{};
    {
        MutexLock lock(agent.mutex);
        lease = lane.leases.front();
        gate = lane.gates[lane.ended % 2];
    }
    if (armed) {
        recorder_.begin_lease(agent.index, lease.context, lease.dispatch);
    } else {
        Error refused = armed.error();
        refused.message = "a dispatch runs untraced: " + refused.message;
        recorder_.error(refused);
    }
    hsa_.signal_store(gate, 0);
}

void Leaser::lease_ended(void* data, const Result<capture::RunSummary>& summary) {
    auto& lane = *static_cast<Lane*>(data);
    Agent& agent = *lane.agent;
    recorder_.end_lease(agent.index, summary);
    MutexLock lock(agent.mutex);
    if (!lane.leases.empty()) lane.leases.pop_front();
    ++lane.ended;
    agent.changed.notify_all();
}

void Leaser::queue_ending(std::uint32_t index, const rocr::QueueNote& queue) {
    Agent& agent = *agents_[index];
    if (recorder_.hub(index).on_hub_thread()) return;
    MutexLock lock(agent.mutex);
    const Lane* lane = lane_of(agent, queue);
    if (lane == nullptr || lane->dead) return;
    const bool ended = agent.changed.wait_until(agent.mutex, clock_.deadline_after(kQueueEndLimit),
                                                [&] { return lane->leases.empty(); });
    (void)ended; // queue_destroyed() deals with what is left
}

void Leaser::queue_failed(std::uint32_t index, const rocr::QueueNote& queue) {
    Agent& agent = *agents_[index];
    Lane* lane = nullptr;
    {
        MutexLock lock(agent.mutex);
        lane = lane_of(agent, queue);
        if (lane == nullptr || std::exchange(lane->dead, true)) return;
        if (lane->leases.empty()) return;
    }
    recorder_.hub(index).lease_lost(lane);
}

void Leaser::queue_destroyed(std::uint32_t index, const rocr::QueueNote& queue) {
    Agent& agent = *agents_[index];
    Lane* lane = nullptr;
    {
        MutexLock lock(agent.mutex);
        lane = lane_of(agent, queue);
        if (lane == nullptr) return;
        lane->gone = true;
        if (lane->leases.empty() && !lane->dead) {
            lane->in_use = false;
            return;
        }
        // Never used again: the hub may still speak of it.
        if (std::exchange(lane->dead, true)) return;
    }
    recorder_.error({ErrorCode::kUnavailable, "a queue ended with traced dispatches in it",
                     "dispatch mode", "wait for the kernels before the queue is destroyed"});
    recorder_.hub(index).lease_lost(lane);
}

bool Leaser::idle(const Agent& agent) {
    return std::all_of(agent.lanes.begin(), agent.lanes.end(),
                       [](const auto& lane) { return lane->dead || lane->leases.empty(); });
}

void Leaser::let_all_go(Agent& agent) {
    MutexLock lock(agent.mutex);
    for (const auto& lane : agent.lanes) {
        for (const hsa_signal_t signal :
             {lane->gates[0], lane->gates[1], lane->ready, lane->stopped})
            if (signal.handle != 0) hsa_.signal_store(signal, 0);
    }
}

bool Leaser::handler_ended(Lane& lane) {
    MutexLock lock(lane.agent->mutex);
    --lane.agent->handlers;
    lane.agent->changed.notify_all();
    return false;
}

void Leaser::destroy_signals(Agent& agent, TimePoint deadline) {
    MutexLock lock(agent.mutex);
    const auto* interceptor = interceptor_.load();
    const bool in_handler = interceptor != nullptr && interceptor->on_handler_thread();
    const bool ended =
        !in_handler &&
        agent.changed.wait_until(agent.mutex, deadline, [&agent]() WAVETAP_REQUIRES(agent.mutex) {
            return agent.handlers == 0;
        });
    if (!ended) return; // ROCr may still look at them
    for (const auto& lane : agent.lanes) {
        if (!lane->leases.empty() && !lane->gone) continue;
        for (hsa_signal_t* signal :
             {&lane->ready, &lane->stopped, &lane->gates[0], &lane->gates[1]}) {
            if (signal->handle != 0) (void)hsa_.signal_destroy(*signal);
            *signal = {};
        }
    }
}

void Leaser::finish(TimePoint deadline) {
    for (auto& owned : agents_) {
        Agent& agent = *owned;
        std::uint64_t owner = 0;
        bool drained = false;
        {
            MutexLock lock(agent.mutex);
            agent.finished = true;
            if (!agent.usable) continue;
            owner = agent.streams.owner;
            drained = agent.changed.wait_until(
                agent.mutex, deadline,
                [&agent]() WAVETAP_REQUIRES(agent.mutex) { return idle(agent); });
            if (!drained) recorder_.warning("the program ended before its traced dispatches did");
            if (agent.crowded != 0)
                recorder_.warning(std::to_string(agent.crowded) +
                                  " dispatches ran untraced: too many packets at once");
        }
        if (auto closed = recorder_.hub(agent.index).close_leases(owner, !drained);
            !closed && closed.error().code != ErrorCode::kWrongState)
            recorder_.error(closed.error());
    }
    if (ended_.exchange(true)) return;
    for (auto& agent : agents_)
        let_all_go(*agent);
    for (auto& agent : agents_)
        destroy_signals(*agent, deadline);
}

} // namespace wavetap::tool
