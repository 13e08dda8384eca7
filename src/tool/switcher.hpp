// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "rocr/interceptor.hpp"
#include "tool/kernels.hpp"
#include "tool/recorder.hpp"
#include "tool/rotation.hpp"
#include "tool/tracer.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace wavetap::tool {

/// Hands an agent from context to context between dispatches.
///
/// Before the first dispatch of a window the application's queue gets two barriers: one whose
/// completion says that everything before it is done, and one that waits for a signal which the
/// hub's thread releases once the next context's start has retired (or was refused). Queues that
/// dispatch meanwhile get the second barrier, too. Nobody waits on the host side.
class Switcher final : public Tracer, private rocr::DispatchHooks {
  public:
    rocr::DispatchHooks& hooks() override { return *this; }
    /// All references must outlive the process's last queue. ROCr's handler thread is made known to
    /// `*interceptor` once it is set.
    Switcher(const rocr::HsaFunctions& hsa, Recorder& recorder, const KernelTable& kernels,
             const ToolConfig& config, std::size_t agents);
    ~Switcher() override;
    /// Every queue of the agent runs `enable` before its first dispatch. Before any queue is made.
    void set_counter_enable(std::uint32_t agent, const capture::CommandBuffer& enable) {
        agents_[agent]->counter_enable = enable;
    }
    void set_interceptor(rocr::QueueInterceptor* interceptor) override {
        interceptor_.store(interceptor);
    }

    void before_dispatch(std::uint32_t agent, rocr::QueueNote& queue, std::uint64_t kernel_object,
                         std::vector<rocr::Packet>& front,
                         std::vector<rocr::Packet>& back) override;
    void queue_created(std::uint32_t, rocr::QueueNote&) override { recorder_.queue_created(); }
    void queue_not_watched(std::uint32_t agent) override;
    void queue_destroyed(std::uint32_t agent, const rocr::QueueNote& queue) override;

    /// Ends the run in progress of every agent and lets every waiting queue go. Waits for the hubs
    /// until `deadline`. Idempotent.
    void finish(TimePoint deadline) override;

  private:
    struct Switch {
        std::uint64_t id = 0; ///< counts from 1
        std::size_t context = 0;
        std::uint64_t first_dispatch = 0;
        std::uint64_t queue_id = 0;
        hsa_signal_t done{};    ///< 0: all before the window is done
        hsa_signal_t release{}; ///< 0: the context has started
        hsa_signal_t waiters{}; ///< barriers on `release` that have not retired
        bool watched = false;   ///< ROCr may still hold a handler on `done`
    };
    struct Agent {
        Agent(Switcher* switcher, std::uint32_t agent_index, Rotation agent_rotation)
            : owner(switcher), index(agent_index), rotation(agent_rotation) {}
        Switcher* const owner;
        const std::uint32_t index;
        std::optional<capture::CommandBuffer> counter_enable; ///< set once, at first
        Mutex mutex;
        Rotation rotation WAVETAP_GUARDED_BY(mutex);
        std::deque<std::unique_ptr<Switch>> pending WAVETAP_GUARDED_BY(mutex); ///< oldest first
        std::vector<std::unique_ptr<Switch>> used WAVETAP_GUARDED_BY(mutex);   ///< signals to reuse
        std::uint64_t next_id WAVETAP_GUARDED_BY(mutex) = 1;
        std::uint64_t crowded WAVETAP_GUARDED_BY(mutex) = 0; ///< in no window: no room in the ring
        bool finished WAVETAP_GUARDED_BY(mutex) = false;
        bool done WAVETAP_GUARDED_BY(mutex) = false; ///< the last job has run
        CondVar changed;
        bool armed = false; ///< hub thread only: a handler waits for the oldest switch
    };

    static bool on_done(hsa_signal_value_t value, void* agent);
    std::unique_ptr<Switch> take_switch(Agent& agent) WAVETAP_REQUIRES(agent.mutex);
    rocr::Packet wait_packet(Switch& target);
    void post(Agent& agent, void (Switcher::*job)(Agent&));
    void arm(Agent& agent);
    void serve(Agent& agent);
    void last(Agent& agent);
    void release_all(Agent& agent);
    void destroy_signals(Agent& agent);

    const rocr::HsaFunctions hsa_;
    Recorder& recorder_;
    const KernelTable& kernels_;
    std::vector<std::unique_ptr<Agent>> agents_;
    std::atomic<rocr::QueueInterceptor*> interceptor_{nullptr}; ///< set once
};

} // namespace wavetap::tool
