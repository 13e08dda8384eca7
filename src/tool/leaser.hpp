// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "capture/agent_hub.hpp"
#include "tool/kernels.hpp"
#include "tool/recorder.hpp"
#include "tool/tracer.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace wavetap::tool {

/// Dispatch mode: traces single dispatches from within the application's queues.
///
/// An admitted dispatch becomes six packets: a barrier that says "the queue has come here", one
/// that waits for the lease's gate, the start stream, the dispatch itself, a barrier for its end, the
/// stop stream. The hub grants one lease of the agent after the other, in the order in which queues
/// come to theirs, so a queue that waits for another one holds nobody up. Nobody waits on the host
/// side, except a queue's end. Where a context serializes all, a dispatch that is not traced becomes a
/// lease, too, whose streams do nothing.
///
/// A queue needs six signals, however many leases are on their way in it: at most one of its leases
/// is past its first barrier. Two gates take turns; the one of the next lease is closed before that of
/// this one opens. Two signals tell the hub how far a lease has come; nobody waits for them.
class Leaser final : public Tracer {
  public:
    /// All references must outlive the process's last queue.
    Leaser(const rocr::HsaFunctions& hsa, Recorder& recorder, const KernelTable& kernels,
           const ToolConfig& config, std::size_t agents, const Clock& clock);
    ~Leaser() override;
    void set_interceptor(rocr::QueueInterceptor* interceptor) override {
        interceptor_.store(interceptor);
    }

    void queue_created(std::uint32_t agent, rocr::QueueNote& queue) override;
    void queue_not_watched(std::uint32_t agent) override;
    void queue_ending(std::uint32_t agent, const rocr::QueueNote& queue) override;
    void queue_failed(std::uint32_t agent, const rocr::QueueNote& queue) override;
    void queue_destroyed(std::uint32_t agent, const rocr::QueueNote& queue) override;
    void before_dispatch(std::uint32_t agent, rocr::QueueNote& queue, std::uint64_t kernel_object,
                         std::vector<rocr::Packet>& front,
                         std::vector<rocr::Packet>& back) override;
    void finish(TimePoint deadline) override;

  private:
    struct Agent;
    struct Lane;
    /// Its address is its name at the hub.
    struct Lease {
        Lane* lane = nullptr;
        std::size_t context = 0;
        std::uint64_t dispatch = 0;
        hsa_signal_t gate{};
        bool traced = true;                    ///< false: it only runs alone
        bool granted = false, retired = false; ///< by the hub; its stop stream
        LeasedRun run;
    };
    /// Of one queue; kept for a later one when it ends.
    struct Lane {
        Agent* agent = nullptr;
        hsa_signal_t ready{};   ///< 0: the queue has come to its oldest lease
        hsa_signal_t started{}; ///< 0: its start stream has retired
        hsa_signal_t done{};    ///< 0: the dispatch is done
        hsa_signal_t stopped{}; ///< 0: its stop stream has retired
        hsa_signal_t gates[2]{};
        std::array<hsa_signal_t*, 6> signals() {
            return {&ready, &started, &done, &stopped, &gates[0], &gates[1]};
        }
        // Guarded by the agent's mutex.
        /// Leases. The queue may come to the next one before the last one is delivered.
        std::uint64_t enqueued = 0, arrived = 0, ended = 0;
        std::deque<std::unique_ptr<Lease>> leases; ///< not ended, oldest first
        bool dead = false; ///< the queue failed, or was destroyed with leases in it
        bool gone = false; ///< no queue has packets with its signals
        bool in_use = false;
    };
    struct Agent final : capture::LeaseClient {
        Agent(Leaser* leaser, std::uint32_t agent_index) : owner(leaser), index(agent_index) {}
        void lease_ready(void* lease, const Result<void>& armed) override {
            owner->lease_ready(*static_cast<Lease*>(lease), armed);
        }
        void lease_ended(void* lease, const Result<capture::RunSummary>& summary) override {
            owner->lease_ended(*static_cast<Lease*>(lease), summary);
        }
        capture::LeaseProgress lease_progress(void* lease) override {
            return owner->progress_of(*static_cast<Lease*>(lease)->lane);
        }
        void leases_failed(const Error& reason) override { owner->leases_failed(*this, reason); }

        Leaser* const owner;
        const std::uint32_t index;
        Mutex mutex;
        CondVar changed;
        bool opened WAVETAP_GUARDED_BY(mutex) = false; ///< asked the hub
        bool usable WAVETAP_GUARDED_BY(mutex) = false;
        bool finished WAVETAP_GUARDED_BY(mutex) = false;   ///< nothing is admitted any more
        bool gates_open WAVETAP_GUARDED_BY(mutex) = false; ///< for good: every lease is let go
        bool drained WAVETAP_GUARDED_BY(mutex) = false;    ///< every lease has ended well
        capture::LeaseStreams streams WAVETAP_GUARDED_BY(mutex);
        std::uint64_t matching WAVETAP_GUARDED_BY(mutex) = 0;
        std::set<std::pair<std::size_t, std::uint64_t>> traced WAVETAP_GUARDED_BY(mutex);
        std::vector<std::unique_ptr<Lane>> lanes WAVETAP_GUARDED_BY(mutex);
        std::size_t handlers WAVETAP_GUARDED_BY(mutex) = 0; ///< of lanes, that ROCr may call
        std::uint64_t admitted WAVETAP_GUARDED_BY(mutex) = 0;
        std::uint64_t crowded WAVETAP_GUARDED_BY(mutex) = 0; ///< declined: no room in the ring
        std::uint64_t beside WAVETAP_GUARDED_BY(mutex) = 0;  ///< not held back: the same
    };

    void lease_ready(Lease& lease, const Result<void>& armed);
    void lease_ended(Lease& lease, const Result<capture::RunSummary>& summary);
    capture::LeaseProgress progress_of(const Lane& lane) const;
    void leases_failed(Agent& agent, const Error& reason);
    static bool on_ready(hsa_signal_value_t value, void* lane);
    static bool on_stopped(hsa_signal_value_t value, void* lane);
    void come_to(Lane& lane);
    bool open_agent(Agent& agent);
    std::unique_ptr<Lane> make_lane(Agent& agent);
    /// The context that has its turn.
    std::size_t context_of(const Agent& agent) const WAVETAP_REQUIRES(agent.mutex);
    bool admit(Agent& agent, std::uint64_t kernel_object) WAVETAP_REQUIRES(agent.mutex);
    void note_crowded(Agent& agent) WAVETAP_REQUIRES(agent.mutex);
    /// Tells the hub that no packet of the lane's leases will run any more.
    void lose(Agent& agent, Lane& lane) WAVETAP_REQUIRES(agent.mutex);
    /// No packet of its leases is left in the queue.
    static bool off_queue(const Lane& lane);
    static void remove(Lane& lane, const Lease& lease);
    static bool idle(const Agent& agent) WAVETAP_REQUIRES(agent.mutex);
    bool on_handler_thread() const;
    void drain(Agent& agent, TimePoint deadline);
    Lane* lane_of(Agent& agent, const rocr::QueueNote& queue) WAVETAP_REQUIRES(agent.mutex);
    void open_gates(Agent& agent) WAVETAP_REQUIRES(agent.mutex);
    bool handler_ended(Lane& lane);
    void destroy_signals(Agent& agent, TimePoint deadline);
    void note_handler_thread();

    const rocr::HsaFunctions hsa_;
    Recorder& recorder_;
    const KernelTable& kernels_;
    const Clock& clock_;
    const std::uint64_t window_;
    const bool rotate_, every_launch_;
    std::vector<std::unique_ptr<Agent>> agents_;
    std::atomic<rocr::QueueInterceptor*> interceptor_{nullptr}; ///< set once
    std::atomic<bool> ended_{false}; ///< handlers are to go; read in them without a lock
};

} // namespace wavetap::tool
