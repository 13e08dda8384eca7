// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "tool/switcher.hpp"

#include "base/caught.hpp"

#include <utility>

namespace wavetap::tool {

Switcher::Switcher(const rocr::HsaFunctions& hsa, Recorder& recorder, const KernelTable& kernels,
                   const ToolConfig& config, std::size_t agents)
    : hsa_(hsa), recorder_(recorder), kernels_(kernels) {
    for (std::uint32_t i = 0; i < agents; ++i)
        agents_.push_back(
            std::make_unique<Agent>(this, i,
                                    Rotation(std::max<std::size_t>(recorder.contexts(i), 1),
                                             config.window, config.rotate)));
}

Switcher::~Switcher() = default;

std::unique_ptr<Switcher::Switch> Switcher::take_switch(Agent& agent) {
    for (auto it = agent.used.begin(); it != agent.used.end(); ++it) {
        if (hsa_.signal_load((*it)->waiters) != 0) continue;
        std::unique_ptr<Switch> reused = std::move(*it);
        agent.used.erase(it);
        hsa_.signal_store(reused->done, 1);
        hsa_.signal_store(reused->release, 1);
        return reused;
    }
    auto made = std::make_unique<Switch>();
    if (hsa_.signal_create(1, 0, nullptr, &made->done) != HSA_STATUS_SUCCESS) return nullptr;
    if (hsa_.signal_create(1, 0, nullptr, &made->release) != HSA_STATUS_SUCCESS ||
        hsa_.signal_create(0, 0, nullptr, &made->waiters) != HSA_STATUS_SUCCESS) {
        (void)hsa_.signal_destroy(made->done);
        if (made->release.handle != 0) (void)hsa_.signal_destroy(made->release);
        return nullptr;
    }
    return made;
}

rocr::Packet Switcher::wait_packet(Switch& target) {
    hsa_.signal_add(target.waiters, 1);
    return rocr::barrier_packet(target.release, target.waiters);
}

void Switcher::before_dispatch(std::uint32_t index, rocr::QueueNote& queue,
                               std::uint64_t kernel_object, std::vector<rocr::Packet>& front,
                               std::vector<rocr::Packet>&) {
    Agent& agent = *agents_[index];
    const KernelTable::Kernel kernel = kernels_.find(kernel_object);
    const std::uint64_t number = recorder_.dispatch(index, kernel.name);
    if (!queue.room) {
        MutexLock lock(agent.mutex);
        if (kernel.matches) ++agent.crowded;
        return;
    }
    if (agent.counter_enable && !std::exchange(queue.counting, true))
        front.push_back(rocr::vendor_packet(*agent.counter_enable, {}));
    bool lost_signal = false;
    {
        MutexLock lock(agent.mutex);
        if (agent.finished) return;
        // A switch on its way that this queue has not waited for yet.
        if (!agent.pending.empty() && queue.value < agent.pending.back()->id) {
            front.push_back(wait_packet(*agent.pending.back()));
            queue.value = agent.pending.back()->id;
        }
        const auto context = kernel.matches ? agent.rotation.next() : std::nullopt;
        if (!context) return;
        auto next = take_switch(agent);
        lost_signal = next == nullptr;
        if (next) {
            next->id = agent.next_id++;
            next->context = *context;
            next->first_dispatch = number;
            next->queue_id = queue.queue_id;
            agent.used.reserve(agent.used.size() + agent.pending.size() + 1); // its last place
            agent.pending.push_back(std::move(next)); // nothing behind it throws
            Switch& last = *agent.pending.back();
            front.push_back(rocr::barrier_packet({}, last.done));
            front.push_back(wait_packet(last));
            queue.value = last.id;
        }
    }
    if (lost_signal) {
        recorder_.error({ErrorCode::kLimit, "no signal for a change of contexts",
                         "dispatch " + std::to_string(number), ""});
        return;
    }
    post(agent, &Switcher::arm);
}

void Switcher::queue_not_watched(std::uint32_t) {
    recorder_.warning("a queue could not be watched; its dispatches begin no window");
}

void Switcher::queue_destroyed(std::uint32_t index, const rocr::QueueNote& queue) {
    Agent& agent = *agents_[index];
    MutexLock lock(agent.mutex);
    // Their barriers will never run: the switch itself goes on, or later ones would never come.
    for (auto& pending : agent.pending)
        if (pending->queue_id == queue.queue_id) hsa_.signal_store(pending->done, 0);
}

void Switcher::post(Agent& agent, void (Switcher::*job)(Agent&)) {
    const auto posted = caught([&] {
        return recorder_.hub(agent.index).post([this, &agent, job] { (this->*job)(agent); });
    });
    // The hub is closing, or there is no thread for it: nothing will start any more.
    if (!posted) release_all(agent);
}

bool Switcher::on_done(hsa_signal_value_t, void* data) {
    auto* agent = static_cast<Agent*>(data);
    if (auto* interceptor = agent->owner->interceptor_.load()) interceptor->note_handler_thread();
    agent->owner->post(*agent, &Switcher::serve);
    return false;
}

void Switcher::arm(Agent& agent) {
    if (agent.armed) return;
    hsa_signal_t done{};
    {
        MutexLock lock(agent.mutex);
        if (agent.pending.empty()) return;
        done = agent.pending.front()->done;
        agent.pending.front()->watched = true;
    }
    const auto pass = recorder_.gate().enter();
    if (!pass) return;
    agent.armed = hsa_.signal_async_handler(done, HSA_SIGNAL_CONDITION_LT, 1, on_done, &agent) ==
                  HSA_STATUS_SUCCESS;
    if (agent.armed) return;
    release_all(agent);
    recorder_.error({ErrorCode::kUnavailable, "ROCr takes no signal handler", "change of contexts",
                     "the application goes on untraced"});
}

void Switcher::serve(Agent& agent) {
    agent.armed = false;
    std::size_t context = 0;
    std::uint64_t first_dispatch = 0;
    hsa_signal_t release{};
    {
        MutexLock lock(agent.mutex);
        if (agent.finished || agent.pending.empty()) return;
        const Switch& next = *agent.pending.front();
        context = next.context;
        first_dispatch = next.first_dispatch;
        release = next.release;
    }
    // Whatever becomes of the runs, the queues go on.
    (void)caught([&]() -> Result<void> {
        recorder_.end_run(agent.index, first_dispatch - 1);
        (void)recorder_.begin_run(agent.index, context, first_dispatch);
        return {};
    });
    {
        MutexLock lock(agent.mutex);
        if (agent.pending.empty()) return; // released meanwhile
        const auto pass = recorder_.gate().enter();
        if (!pass) return;
        hsa_.signal_store(release, 0);
        agent.pending.front()->watched = false;
        agent.used.push_back(std::move(agent.pending.front()));
        agent.pending.pop_front();
    }
    arm(agent);
}

void Switcher::release_all(Agent& agent) {
    MutexLock lock(agent.mutex);
    agent.finished = true;
    for (auto& pending : agent.pending) {
        hsa_.signal_store(pending->release, 0);
        agent.used.push_back(std::move(pending));
    }
    agent.pending.clear();
}

void Switcher::destroy_signals(Agent& agent) {
    MutexLock lock(agent.mutex);
    for (const auto& used : agent.used) {
        // What a queue or ROCr's handler thread may still look at stays.
        if (used->watched || hsa_.signal_load(used->waiters) != 0) continue;
        (void)hsa_.signal_destroy(used->done);
        (void)hsa_.signal_destroy(used->release);
        (void)hsa_.signal_destroy(used->waiters);
    }
    agent.used.clear();
}

void Switcher::last(Agent& agent) {
    (void)caught([&]() -> Result<void> {
        recorder_.end_run(agent.index, recorder_.dispatches());
        return {};
    });
    MutexLock lock(agent.mutex);
    agent.done = true;
    agent.changed.notify_all();
}

void Switcher::finish(TimePoint deadline) {
    for (auto& agent : agents_) {
        std::uint64_t crowded = 0;
        {
            MutexLock lock(agent->mutex);
            crowded = std::exchange(agent->crowded, 0);
        }
        if (crowded != 0)
            recorder_.warning(std::to_string(crowded) +
                              " dispatches began no window: no room in their queue's ring");
        release_all(*agent);
        if (recorder_.contexts(agent->index) != 0) post(*agent, &Switcher::last);
    }
    for (auto& agent : agents_) {
        if (recorder_.contexts(agent->index) == 0) continue;
        MutexLock lock(agent->mutex);
        Agent& waited = *agent;
        agent->changed.wait_until(agent->mutex, deadline,
                                  [&waited]()
                                      WAVETAP_REQUIRES(waited.mutex) { return waited.done; });
    }
    for (auto& agent : agents_)
        destroy_signals(*agent);
}

} // namespace wavetap::tool
