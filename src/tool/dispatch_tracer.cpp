// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "tool/dispatch_tracer.hpp"

#include "base/caught.hpp"

#include <algorithm>
#include <string>

namespace wavetap::tool {

class DispatchTracer::Dispatch final : public rocr::LeasedDispatch {
  public:
    Dispatch(Recorder& recorder, std::uint32_t agent, std::size_t context, std::uint64_t number,
             bool traced)
        : recorder_(recorder), agent_(agent), context_(context), number_(number), traced_(traced) {}

    Result<capture::RunRequest> request() override {
        auto request = recorder_.lease_request(agent_, context_, run_);
        if (request) request->untraced = !traced_;
        return request;
    }
    void began(const Result<void>& armed) override {
        if (armed) {
            recorder_.begin_lease(run_, number_);
            return;
        }
        Error refused = armed.error();
        refused.message = "a dispatch runs untraced: " + refused.message;
        recorder_.error(refused);
    }
    void ended(const Result<capture::RunSummary>& summary) override {
        recorder_.end_lease(run_, summary);
    }

  private:
    Recorder& recorder_;
    const std::uint32_t agent_;
    const std::size_t context_;
    const std::uint64_t number_;
    const bool traced_;
    LeasedRun run_;
};

DispatchTracer::DispatchTracer(const rocr::HsaFunctions& hsa, Recorder& recorder,
                               const KernelTable& kernels, const ToolConfig& config,
                               std::size_t agents, const Clock& clock)
    : recorder_(recorder), kernels_(kernels), window_(config.window), rotate_(config.rotate),
      every_launch_(config.every_launch), leaser_(hsa, *this, agents, clock) {
    for (std::size_t i = 0; i < agents; ++i)
        agents_.push_back(std::make_unique<Agent>());
}

DispatchTracer::~DispatchTracer() = default;

bool DispatchTracer::queue_created(std::uint32_t index) {
    Agent& agent = *agents_[index];
    recorder_.queue_created();
    const capture::AgentHub& hub = recorder_.hub(index);
    {
        MutexLock lock(agent.mutex);
        // Another thread's queue may be the first one, and the leases not open yet.
        (void)agent.settled.wait_until(
            agent.mutex, hub.clock().deadline_after(hub.limits().request),
            [&agent]() WAVETAP_REQUIRES(agent.mutex) { return !agent.opening; });
        if (agent.opened) return agent.usable;
        agent.opened = agent.opening = true;
    }
    const auto opened = caught([&] { return open_leases(index); });
    {
        MutexLock lock(agent.mutex);
        agent.opening = false;
        agent.usable = opened.has_value();
        // The next queue tries again, unless that could take as long again.
        if (!opened) agent.opened = opened.error().code == ErrorCode::kTimeout;
        agent.settled.notify_all();
    }
    if (!opened) recorder_.error(opened.error());
    return opened.has_value();
}

Result<void> DispatchTracer::open_leases(std::uint32_t index) {
    LeasedRun unused;
    WAVETAP_TRY(const auto first, recorder_.lease_request(index, 0, unused));
    return leaser_.open(index, recorder_.hub(index), first.context);
}

std::size_t DispatchTracer::context_of(const Agent& agent, std::uint32_t index) const {
    const std::size_t contexts = std::max<std::size_t>(recorder_.contexts(index), 1);
    return rotate_ ? static_cast<std::size_t>(agent.matching / window_ % contexts) : 0;
}

bool DispatchTracer::admit(Agent& agent, std::size_t context, std::uint64_t kernel_object) {
    ++agent.matching;
    return every_launch_ || agent.traced.emplace(context, kernel_object).second;
}

std::unique_ptr<rocr::LeasedDispatch> DispatchTracer::decide(const rocr::DispatchNote& dispatch) {
    Agent& agent = *agents_[dispatch.agent];
    const KernelTable::Kernel kernel = kernels_.find(dispatch.kernel_object);
    const std::uint64_t number = recorder_.dispatch(dispatch.agent, kernel.name);
    if (!dispatch.watched) return nullptr;
    MutexLock lock(agent.mutex);
    const std::size_t context = context_of(agent, dispatch.agent);
    const bool traced =
        kernel.matches && dispatch.room && admit(agent, context, dispatch.kernel_object);
    const bool serialized = recorder_.serializes_all(dispatch.agent, context);
    if (!dispatch.room && kernel.matches) ++agent.crowded;
    if (!dispatch.room && serialized) ++agent.beside;
    if (!dispatch.room || (!traced && !serialized)) return nullptr;
    return std::make_unique<Dispatch>(recorder_, dispatch.agent, context, number, traced);
}

void DispatchTracer::finish(TimePoint deadline) {
    for (auto& agent : agents_) {
        MutexLock lock(agent->mutex);
        agent->opened = true; // nothing is opened any more
        const auto note = [this](std::uint64_t& count, const char* how) {
            if (count != 0)
                recorder_.warning(std::to_string(std::exchange(count, 0)) + " dispatches ran " +
                                  how + ": no room in their queue's ring");
        };
        note(agent->crowded, "untraced");
        note(agent->beside, "beside others");
    }
    leaser_.finish(deadline);
}

} // namespace wavetap::tool
