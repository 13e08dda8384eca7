// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "rocr/completion_gate.hpp"
#include "rocr/interceptor.hpp"
#include "tool/kernels.hpp"
#include "tool/recorder.hpp"
#include "tool/rotation.hpp"
#include "tool/tracer.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace wavetap::tool {

/// Hands an agent from context to context by the completions of kernels, as a client of the capture
/// engine with a packet interceptor of its own does.
///
/// A context is started in the interceptor when the first dispatch of its window comes, and stopped on
/// ROCr's handler thread when the last one has completed, both under one mutex. A completion gate
/// behind the last one holds back its queue and the completion that the program waits for until
/// the context has stopped. So the turns are exact for a program that waits for each launch. Where it
/// goes on in another queue meanwhile, a window that comes too early is refused and counted, and its
/// dispatches run untraced, or in the trace that goes on.
class CompletionTurns final : public Tracer, private rocr::DispatchHooks {
  public:
    /// All references must outlive the process's last queue. ROCr's handler thread is made known to
    /// `*interceptor` once it is set.
    CompletionTurns(const rocr::HsaFunctions& hsa, Recorder& recorder, const KernelTable& kernels,
                    const ToolConfig& config, std::size_t agents, double deadline_scale);
    ~CompletionTurns() override;
    rocr::DispatchHooks& hooks() override { return *this; }
    void set_interceptor(rocr::QueueInterceptor* interceptor) override {
        interceptor_.store(interceptor);
    }
    void finish(TimePoint deadline) override;

  private:
    struct Agent {
        Agent(CompletionTurns* turns, std::uint32_t agent_index, Rotation agent_rotation)
            : owner(turns), index(agent_index), rotation(agent_rotation) {}
        CompletionTurns* const owner;
        const std::uint32_t index;
        Mutex mutex; ///< the client's: held during starts and stops
        Rotation rotation WAVETAP_GUARDED_BY(mutex);
        bool running WAVETAP_GUARDED_BY(mutex) = false;
        bool gated WAVETAP_GUARDED_BY(mutex) = false; ///< the handler that ends it will come
        bool due WAVETAP_GUARDED_BY(mutex) = false;   ///< no dispatch is left in its window
        std::uint64_t last_dispatch WAVETAP_GUARDED_BY(mutex) = 0; ///< of what runs
        bool finished WAVETAP_GUARDED_BY(mutex) = false;
    };

    void before_dispatch(std::uint32_t agent, rocr::QueueNote& queue, std::uint64_t kernel_object,
                         std::vector<rocr::Packet>& front,
                         std::vector<rocr::Packet>& back) override;
    void queue_not_watched(std::uint32_t agent) override;
    void queue_created(std::uint32_t, rocr::QueueNote&) override { recorder_.queue_created(); }
    void queue_destroyed(std::uint32_t, const rocr::QueueNote&) override {}

    void end_behind(Agent& agent, rocr::QueueNote& queue, std::vector<rocr::Packet>& back)
        WAVETAP_REQUIRES(agent.mutex);
    void end_run(Agent& agent) WAVETAP_REQUIRES(agent.mutex);
    static void on_end(void* agent);

    Recorder& recorder_;
    const KernelTable& kernels_;
    const std::uint64_t window_;
    std::vector<std::unique_ptr<Agent>> agents_;
    std::atomic<rocr::QueueInterceptor*> interceptor_{nullptr}; ///< set once
    std::unique_ptr<rocr::CompletionGate> gate_;                ///< until every agent has finished
};

} // namespace wavetap::tool
