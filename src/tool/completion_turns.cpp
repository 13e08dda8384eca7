// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "tool/completion_turns.hpp"

#include "base/caught.hpp"

#include <algorithm>

namespace wavetap::tool {

CompletionTurns::CompletionTurns(const rocr::HsaFunctions& hsa, Recorder& recorder,
                                 const KernelTable& kernels, const ToolConfig& config,
                                 std::size_t agents, double deadline_scale)
    : recorder_(recorder), kernels_(kernels), window_(config.window),
      gate_(std::make_unique<rocr::CompletionGate>(hsa, deadline_scale)) {
    for (std::uint32_t i = 0; i < agents; ++i)
        agents_.push_back(std::make_unique<Agent>(
            this, i,
            Rotation(std::max<std::size_t>(recorder.contexts(i), 1), config.window, true)));
}

CompletionTurns::~CompletionTurns() = default;

void CompletionTurns::before_dispatch(std::uint32_t index, rocr::QueueNote& queue,
                                      std::uint64_t kernel_object, std::vector<rocr::Packet>&,
                                      std::vector<rocr::Packet>& back) {
    Agent& agent = *agents_[index];
    const KernelTable::Kernel kernel = kernels_.find(kernel_object);
    const std::uint64_t number = recorder_.dispatch(index, kernel.name);
    MutexLock lock(agent.mutex);
    if (agent.finished) return;
    if (kernel.matches) {
        if (const auto context = agent.rotation.next();
            context && recorder_.begin_run(index, *context, number)) {
            agent.running = true;
            agent.due = false;
        }
        agent.due = agent.due || agent.rotation.matching() % window_ == 0;
    }
    if (!agent.running || agent.gated) return;
    agent.last_dispatch = number;
    // Without room, or a gate, the next dispatch ends what runs.
    if (agent.due && queue.room) end_behind(agent, queue, back);
}

void CompletionTurns::end_behind(Agent& agent, rocr::QueueNote& queue,
                                 std::vector<rocr::Packet>& back) {
    rocr::Packet packets[rocr::CompletionGate::kMostPackets];
    const auto filled = gate_->packets(on_end, &agent, queue.completion, packets);
    if (!filled) {
        recorder_.error(filled.error());
        return;
    }
    agent.gated = true;
    back.insert(back.end(), packets, packets + *filled); // they have their place already
    queue.completion = {};
}

void CompletionTurns::on_end(void* data) {
    Agent& agent = *static_cast<Agent*>(data);
    CompletionTurns& turns = *agent.owner;
    if (auto* interceptor = turns.interceptor_.load()) interceptor->note_handler_thread();
    MutexLock lock(agent.mutex);
    turns.end_run(agent);
}

void CompletionTurns::end_run(Agent& agent) {
    const std::uint64_t last = agent.last_dispatch;
    (void)caught([&]() -> Result<void> {
        recorder_.end_run(agent.index, last);
        return {};
    });
    agent.running = agent.gated = agent.due = false;
}

void CompletionTurns::queue_not_watched(std::uint32_t) {
    recorder_.warning("a queue could not be watched; its dispatches begin no window");
}

void CompletionTurns::finish(TimePoint) {
    // Starts and stops have deadlines of their own.
    for (const auto& agent : agents_) {
        MutexLock lock(agent->mutex);
        agent->finished = true;
        end_run(*agent);
    }
    if (auto closed = rocr::CompletionGate::close(gate_); !closed) recorder_.error(closed.error());
}

} // namespace wavetap::tool
