// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "capture/backend.hpp"
#include "capture/dispatch_mode.hpp"
#include "rocr/agents.hpp"
#include "rocr/hsa_table.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

namespace wavetap::rocr {

/// One AQL packet.
struct Packet {
    std::uint32_t words[16] = {};
};
static_assert(sizeof(Packet) == 64);

/// A barrier-AND packet with the barrier bit: completes after all earlier packets of its queue and
/// once `dependency` (may be none) is 0; then decrements `completion` (may be none). Later packets
/// wait for it.
Packet barrier_packet(hsa_signal_t dependency, hsa_signal_t completion);

/// A vendor packet that runs `buffer` (which names its cache policy) behind all earlier packets of its
/// queue; then decrements
/// `completion` (may be none). Later packets with the barrier bit wait for it.
Packet vendor_packet(const capture::CommandBuffer& buffer, hsa_signal_t completion);

/// What hooks keep for a queue between dispatches.
struct QueueNote {
    std::uint64_t queue_id = 0; ///< counts from 1, never reused
    std::uint64_t value = 0;    ///< the hooks' own
    bool room = false;          ///< for packets around the dispatch that is on its way
    bool counting = false;      ///< the hooks' own: it has run make_counter_enable()'s stream
    /// That of the dispatch that is on its way, may be none. Who hands it to a packet behind the
    /// dispatch takes it away here.
    hsa_signal_t completion{};
};

/// Decides what goes around kernel dispatches. Called in the application's thread or ROCr's
/// single handler thread, with the queue's lock of ROCr held: must not wait for what is in the
/// application's queues, nor for a client.
class DispatchHooks {
  public:
    virtual ~DispatchHooks() = default;
    /// A queue was made, and nothing was written to it. In the application's thread, no lock held.
    virtual void queue_created(std::uint32_t, QueueNote&) {}
    /// ROCr refused to make a queue that can be watched, or its handler: none of its dispatches will be
    /// shown. In the application's thread, no lock held.
    virtual void queue_not_watched(std::uint32_t) {}
    /// The queue is about to be destroyed: may wait, with a deadline, for packets of the hooks. In the
    /// application's thread, no lock held.
    virtual void queue_ending(std::uint32_t, const QueueNote&) {}
    /// The queue is in error: none of its packets will run any more. In ROCr's thread.
    virtual void queue_failed(std::uint32_t, const QueueNote&) {}
    /// Where `queue.room`, appends at most kFrontPackets that must come before this dispatch and at most
    /// kBackPackets behind it, and no more than kMostPackets; if there are some behind it the dispatch gets the barrier bit. Both have room for that. Without
    /// room the dispatch is written as it is, and nothing may be appended. What it throws is counted, and
    /// the dispatch goes on with what was appended before.
    virtual void before_dispatch(std::uint32_t agent, QueueNote& queue, std::uint64_t kernel_object,
                                 std::vector<Packet>& front, std::vector<Packet>& back) = 0;
    static constexpr std::size_t kFrontPackets = 4, kBackPackets = 3, kMostPackets = 6;
    /// After the queue is gone: packets of it that had not run never will.
    virtual void queue_destroyed(std::uint32_t agent, const QueueNote& queue) = 0;
};

/// Makes the application's queues of the watched agents ROCr intercept queues. Resource; thread
/// safe. Its queue records outlive the queues, since ROCr may still be inside of a handler.
class QueueInterceptor {
  public:
    /// `hooks` and `clock` must outlive the process's last queue. `agents[i]` is watched if
    /// `watched[i]`.
    QueueInterceptor(const HsaFunctions& hsa, std::vector<GpuAgent> agents,
                     std::vector<bool> watched, DispatchHooks& hooks, const Clock& clock);

    /// Stands in for hsa_queue_create. The ring is eight times as large as asked, up to the agent's
    /// limit, so that as many dispatches as asked fit with what is added to each of them; where that
    /// is refused, the queue is made as asked and not watched.
    hsa_status_t create(hsa_agent_t agent, std::uint32_t size, hsa_queue_type32_t type,
                        QueueErrorHandler callback, void* data, std::uint32_t private_segment_size,
                        std::uint32_t group_segment_size, hsa_queue_t** queue);
    /// Stands in for hsa_queue_destroy.
    hsa_status_t destroy(hsa_queue_t* queue);

    /// From now on packets pass unchanged.
    void stop() { active_.store(false); }
    /// The calling thread is ROCr's handler thread, on which a full ring is not waited for.
    void note_handler_thread() { handler_thread_.store(std::this_thread::get_id()); }
    bool on_handler_thread() const { return handler_thread_.load() == std::this_thread::get_id(); }
    /// Exceptions of hooks, and dispatches that passed unchanged for want of memory.
    std::uint64_t failures() const { return failures_.load(); }
    /// Precondition: the agent exists.
    capture::RingCounts ring_counts(std::uint32_t agent) const;

  private:
    static constexpr std::size_t kProgressSignals = 16;
    struct Progress {
        hsa_signal_t signal{};
        std::uint64_t count = 0; ///< packets written up to it; 0 = not in flight
    };
    struct Queue {
        QueueInterceptor* owner = nullptr;
        std::uint32_t agent = 0;
        QueueErrorHandler callback = nullptr; ///< the application's
        void* callback_data = nullptr;
        std::uint64_t ring_packets = 0;
        // The rest is used under ROCr's lock of the queue only.
        QueueNote note;
        std::vector<Packet> out, back;
        std::array<Progress, kProgressSignals> progress{};
        std::size_t oldest = 0, in_flight = 0; ///< of the progress ring
        std::uint64_t written = 0, retired = 0, last_progress = 0;
    };

    static void on_packets(const void* packets, std::uint64_t count, std::uint64_t user_index,
                           void* data, PacketWriter writer);
    static void on_error(hsa_status_t status, hsa_queue_t* source, void* data);
    void handle(Queue& queue, const Packet* packets, std::uint64_t count, PacketWriter writer);
    /// ROCr's handler thread will tell its name, if it has not.
    bool ask_handler_thread(hsa_signal_t zero);
    void collect_progress(Queue& queue);
    /// Until when this call of the interceptor waits, once it has begun to.
    using RoomDeadline = std::optional<TimePoint>;
    /// Whether `count` packets fit, so that at most `limit` are in the ring; waits for that if it may.
    bool wait_for_room(Queue& queue, std::uint64_t count, std::uint64_t limit,
                       RoomDeadline& deadline);
    /// For what may be put around a dispatch with `left` packets from it on in this call.
    bool room_for_dispatch(Queue& queue, std::uint64_t left, RoomDeadline& deadline);
    void add_progress_packet(Queue& queue);
    /// What a hook throws stays here.
    template <class Call> bool hook(Call call) noexcept {
        try {
            call();
            return true;
        } catch (...) {
            ++failures_;
            return false;
        }
    }

    const HsaFunctions hsa_;
    const std::vector<GpuAgent> agents_;
    const std::vector<bool> watched_;
    DispatchHooks& hooks_;
    const Clock& clock_;
    std::atomic<bool> active_{true};                ///< read in handlers without a lock
    std::atomic<std::thread::id> handler_thread_{}; ///< always the same one; compared only
    struct Counts {                                 ///< statistics
        std::atomic<std::uint64_t> waits{0}, crowded{0}, full{0};
    };
    std::vector<Counts> counts_;             ///< of each agent
    std::atomic<std::uint64_t> failures_{0}; ///< statistics
    Mutex mutex_;
    std::uint64_t next_queue_ WAVETAP_GUARDED_BY(mutex_) = 1;
    std::unordered_map<hsa_queue_t*, Queue*> live_ WAVETAP_GUARDED_BY(mutex_);
    std::vector<std::unique_ptr<Queue>> all_ WAVETAP_GUARDED_BY(mutex_);
};

} // namespace wavetap::rocr
