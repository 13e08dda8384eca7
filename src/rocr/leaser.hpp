// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "capture/agent_hub.hpp"
#include "rocr/interceptor.hpp"
#include "rocr/runtime_gate.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace wavetap::rocr {

/// A dispatch that takes its turn: traced, or (`untraced` in its request) only kept from running beside
/// others. Made by the owner, kept until it has ended.
class LeasedDispatch {
  public:
    virtual ~LeasedDispatch() = default;
    /// What its trace needs, when the queue has come to it. In ROCr's handler thread, with locks held:
    /// must not wait.
    virtual Result<capture::RunRequest> request() = 0;
    /// On the hub's thread, before the GPU goes on: it is traced, or why not. Must not wait.
    virtual void began(const Result<void>& armed) = 0;
    /// The last call, without a lock: on the hub's thread, or if it never had its turn in the thread
    /// that found out.
    virtual void ended(const Result<capture::RunSummary>& summary) = 0;
};

/// A dispatch on its way into a queue.
struct DispatchNote {
    std::uint32_t agent = 0;
    std::uint64_t queue = 0; ///< QueueNote::queue_id
    std::uint64_t kernel_object = 0;
    bool watched = false; ///< it can be leased, if there is room
    bool room = false;    ///< for the packets around it
};

/// Whose dispatches they are.
class LeaseOwner {
  public:
    virtual ~LeaseOwner() = default;
    /// To be passed before the runtime is called on a hub's thread.
    virtual RuntimeGate& gate() = 0;
    /// The agent has another queue, in the application's thread, no lock held. False: it is not watched.
    virtual bool queue_created(std::uint32_t agent) = 0;
    /// What becomes of a dispatch; null: it passes as it is, as it must unless watched and room. With
    /// ROCr's lock of the queue held, none of the leaser's; must not wait.
    virtual std::unique_ptr<LeasedDispatch> decide(const DispatchNote& dispatch) = 0;
    /// No lock is held.
    virtual void error(const Error& error) = 0;
    virtual void warning(const std::string& text) = 0;
};

/// Dispatch mode: traces single dispatches from within the application's queues.
///
/// An admitted dispatch becomes six packets: a barrier that says "the queue has come here", one
/// that waits for the lease's gate, the start stream, the dispatch itself, a barrier for its end, the
/// stop stream. The hub grants one lease of the agent after the other, in the order in which queues
/// come to theirs, so a queue that waits for another one holds nobody up. Nobody waits on the host
/// side, except a queue's end. The streams of one that is not traced do nothing.
///
/// A queue needs six signals, however many leases are on their way in it: at most one of its leases
/// is past its first barrier. Two gates take turns; the one of the next lease is closed before that of
/// this one opens. Two signals tell the hub how far a lease has come; nobody waits for them.
///
/// Resource; thread safe. Leases of an agent may be opened and closed any number of times.
class Leaser final : public DispatchHooks {
  public:
    /// All references must outlive the process's last queue.
    Leaser(const HsaFunctions& hsa, LeaseOwner& owner, std::size_t agents, const Clock& clock);
    ~Leaser() override;
    /// ROCr's handler thread is made known to `*interceptor` once it is set.
    void set_interceptor(QueueInterceptor* interceptor) { interceptor_.store(interceptor); }

    /// Dispatches of the agent are admitted until close(). Errors: those of AgentHub::open_leases(),
    /// kWrongState after finish().
    Result<void> open(std::uint32_t agent, capture::AgentHub& hub, std::uint32_t owner_context);
    /// Admits nothing any more, waits for what was, gives the hub back. After an error but
    /// kWouldDeadlock leases were lost, the application goes on, and queues with leases in them are not
    /// watched any more. Not open: success. Errors: kWouldDeadlock (ROCr's handler thread, while leases
    /// are left; LeaseOwner::decide() of the agent), kTimeout, and what made the leases fail.
    Result<void> close(std::uint32_t agent, TimePoint deadline);
    /// The calling thread is inside LeaseOwner::decide().
    static bool deciding();
    /// close() of the agent would wait for ROCr's handler thread, which calls.
    bool needs_this_thread(std::uint32_t agent) const;

    void queue_created(std::uint32_t agent, QueueNote& queue) override;
    void queue_not_watched(std::uint32_t agent) override;
    void queue_ending(std::uint32_t agent, const QueueNote& queue) override;
    void queue_failed(std::uint32_t agent, const QueueNote& queue) override;
    void queue_destroyed(std::uint32_t agent, const QueueNote& queue) override;
    void before_dispatch(std::uint32_t agent, QueueNote& queue, std::uint64_t kernel_object,
                         std::vector<Packet>& front, std::vector<Packet>& back) override;

    /// Closes every agent, lets every waiting queue go and gives the signals back. Waits for the hubs
    /// until `deadline`; on ROCr's handler thread for nothing. Idempotent.
    void finish(TimePoint deadline);

  private:
    struct Agent;
    struct Lane;
    /// Its address is its name at the hub.
    struct Lease {
        Lane* lane = nullptr;
        hsa_signal_t gate{};
        bool traced = false;                      ///< as its request said
        bool granted = false, retired = false;    ///< by the hub; its stop stream
        std::unique_ptr<LeasedDispatch> dispatch; ///< null: was told to have ended
    };
    using Ended = std::vector<std::unique_ptr<LeasedDispatch>>;
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
        bool dead = false; ///< the queue failed, or ended with leases in it, or was not waited for
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
        capture::AgentHub* hub WAVETAP_GUARDED_BY(mutex) = nullptr; ///< while leases are open
        bool admitting WAVETAP_GUARDED_BY(mutex) = false;
        /// Every lease is let go, and the hub is told of none.
        bool gates_open WAVETAP_GUARDED_BY(mutex) = false;
        bool drained WAVETAP_GUARDED_BY(mutex) = false; ///< at the end: every lease ended well
        std::optional<Error> failure WAVETAP_GUARDED_BY(mutex);
        capture::LeaseStreams streams WAVETAP_GUARDED_BY(mutex);
        std::uint64_t deciding WAVETAP_GUARDED_BY(mutex) = 0; ///< threads inside of decide()
        std::vector<std::unique_ptr<Lane>> lanes WAVETAP_GUARDED_BY(mutex);
        std::size_t handlers WAVETAP_GUARDED_BY(mutex) = 0; ///< of lanes, that ROCr may call
    };

    void lease_ready(Lease& lease, const Result<void>& armed);
    void lease_ended(Lease& lease, const Result<capture::RunSummary>& summary);
    capture::LeaseProgress progress_of(const Lane& lane) const;
    void leases_failed(Agent& agent, const Error& reason);
    static bool on_ready(hsa_signal_value_t value, void* lane);
    static bool on_stopped(hsa_signal_value_t value, void* lane);
    void come_to(Lane& lane);
    std::unique_ptr<Lane> make_lane(Agent& agent);
    Lane* lane_of(Agent& agent, const QueueNote& queue) WAVETAP_REQUIRES(agent.mutex);
    /// What the GPU does next is for a dispatch that is traced, or has its turn.
    void enqueue(Agent& agent, Lane& lane, std::unique_ptr<LeasedDispatch> dispatch,
                 std::vector<Packet>& front, std::vector<Packet>& back)
        WAVETAP_REQUIRES(agent.mutex);
    bool waits_for_handlers(const Agent& agent) const WAVETAP_REQUIRES(agent.mutex);
    Result<void> close_now(Agent& agent, TimePoint deadline);
    /// Tells the hub that no packet of the lane's leases will run any more. Adds those that it does
    /// not know to `unknown`.
    static void lose(Agent& agent, Lane& lane, Ended& unknown) WAVETAP_REQUIRES(agent.mutex);
    /// From the `first` lease on, those that were not told to have ended.
    static void take_dispatches(Lane& lane, std::uint64_t first, Ended& taken);
    static void end(Ended ended, const Error& reason);
    /// No packet of its leases is left in the queue.
    static bool off_queue(const Lane& lane);
    static void remove(Lane& lane, const Lease& lease);
    static bool idle(const Agent& agent) WAVETAP_REQUIRES(agent.mutex);
    void close_gates(Agent& agent) WAVETAP_REQUIRES(agent.mutex);
    void open_gates(Agent& agent) WAVETAP_REQUIRES(agent.mutex);
    bool on_handler_thread() const;
    bool handler_ended(Lane& lane);
    void destroy_signals(Agent& agent, TimePoint deadline);
    void note_handler_thread();

    const HsaFunctions hsa_;
    LeaseOwner& owner_;
    const Clock& clock_;
    std::vector<std::unique_ptr<Agent>> agents_;
    std::atomic<QueueInterceptor*> interceptor_{nullptr}; ///< set once
    std::atomic<bool> ended_{false}; ///< handlers are to go; read in them without a lock
};

} // namespace wavetap::rocr
