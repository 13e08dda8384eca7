// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "capture/backend.hpp"
#include "capture/hub_memory.hpp"
#include "capture/marker_log.hpp"
#include "capture/packet_source.hpp"
#include "capture/params.hpp"
#include "capture/run.hpp"
#include "capture/run_delivery.hpp"
#include "capture/stream_engine.hpp"

#include <atomic>
#include <deque>
#include <memory>
#include <optional>

namespace wavetap::capture {

/// The mechanics of one agent without threads: queue, memory, start, stop, markers, delivery.
/// AgentHub gives it a thread and decides who may run. Resource; hub thread only.
class HubEngine {
  public:
    struct Options {
        AgentTopology topology;
        PacketSourceMaker packets; ///< empty: our own builder
        HubLimits limits;
        std::uint64_t landing_limit = 32ull << 20; ///< largest chunk (one buffer)
        std::string delivery_name = "wavetap-out"; ///< of delivery threads, at most 12 bytes
    };
    /// `clock`, `log` and `silenced` must outlive the engine. While `silenced` is true no client
    /// callback is made (a stop whose client gave up waiting).
    HubEngine(std::unique_ptr<Backend> backend, Options options, const Clock& clock, MarkerLog& log,
              const std::atomic<bool>& silenced);
    ~HubEngine();
    HubEngine(const HubEngine&) = delete;
    HubEngine& operator=(const HubEngine&) = delete;

    /// Arms the trace unit; complete on return, and confirmed by its status where the packet source can
    /// ask for that. Never throws. After an error nothing runs; gpu_lost() tells
    /// whether packets may have reached a GPU that did not answer. Errors: kLimit, kUnavailable,
    /// kTimeout, kInvalidArgument, kUnsupported.
    Result<void> start(const RunRequest& request, const SlotPlan& plan, std::uint64_t run);
    /// Disarms, and with `deliver` hands every selected engine's bytes to the request's handler.
    /// Each selected engine gets exactly one END. Never throws. An error means that the run ended but
    /// data are missing (kLimit, without host memory: END chunks, too). Precondition: start() succeeded.
    Result<RunSummary> stop(bool deliver);
    /// The fixed streams of leases, doing nothing, and a thread for their chunks. May throw, holding
    /// nothing. Errors: kLimit,
    /// kUnavailable, kBusy (a handler of an earlier run has not returned).
    Result<LeaseStreams> open_leases();
    /// A slot is free for it, and no memory must grow while data of an earlier lease are on their way.
    bool may_begin_lease(const RunRequest& request, const SlotPlan& plan) const;
    /// Puts a run into the streams of leases, with markers for all that is loaded. The client then
    /// lets the GPU execute start and stop; nothing is waited for. After an error the streams do
    /// nothing. Never throws. Errors: those of start(). Preconditions: open_leases() succeeded, no run,
    /// may_begin_lease().
    Result<void> begin_lease(const RunRequest& request, const SlotPlan& plan, std::uint64_t run);
    /// The stop stream has retired: the data wait in their slot for deliver_lease(), and another lease
    /// may begin. With an error in `outcome` it will not retire; then the trace unit is disarmed
    /// through the hub's own queue. Never throws; false: there was no memory to keep its data, and
    /// deliver_lease() will not speak of it. Precondition: begin_lease() succeeded.
    bool retire_lease(Result<void> outcome);
    /// Hands over the next piece of the oldest retired lease, on a delivery thread; never waits for a
    /// handler. `ended`: set when that lease is over, as stop() would have returned it. False: nothing
    /// is to be done before a handler returns. Never throws.
    bool deliver_lease(std::optional<Result<RunSummary>>& ended);
    /// Until deliver_lease() has something to do. False at the deadline.
    bool wait_for_lease_handler(TimePoint deadline);
    /// The handler in progress is left alone with what it reads. The data of all retired leases are
    /// lost; deliver_lease() says so of each.
    void give_up_leases();
    /// The streams do nothing from now on. With `abandoned` the GPU may still read them: their
    /// memory is never freed. Precondition: no run.
    void close_leases(bool abandoned);

    /// Sends live markers for log entries before `until`. Never throws. Errors: kTimeout, kUnavailable,
    /// kLimit.
    Result<void> mark(MarkerLog::Position until);
    MarkerLog::Position marked() const { return marked_; }
    bool running() const { return run_.has_value(); }
    bool gpu_lost() const { return lost_; }
    /// A streaming run wants poll() at next_poll().
    bool streaming() const { return stream_.active(); }
    TimePoint next_poll() const { return stream_.next_poll(); }
    void poll() { stream_.poll(); } ///< never throws
    /// `changed` is called on delivery threads when poll() has something to do, and is kept until
    /// they have ended.
    void on_delivery(std::function<void()> changed) {
        stream_.pool().set_changed(std::move(changed));
    }
    bool on_delivery_thread() const { return stream_.on_delivery_thread(); }
    std::size_t delivery_threads() const { return stream_.delivery_threads(); }
    /// Gives everything back. Never throws. Precondition: not running.
    void shut_down();
    /// Gives queue and memory back until the next start; delivery threads stay, parked.
    /// Precondition: not running.
    void release_idle();

    const HubStatistics& statistics() const { return statistics_; }
    // Any thread.
    const char* backend_name() const { return backend_->name(); }
    const char* packets_name() const { return packets_->name(); }

  private:
    struct Run {
        RunRequest request;
        std::uint64_t id = 0;
        TraceStreams streams;
        DeviceMemory output;
        std::uint64_t start_counter = 0;
        bool markers_broken = false;
    };
    /// `delivered`: no handler uses a staging slot any more.
    void give_back(bool delivered);
    /// A step threw: a run is over, its data are lost, and where packets may have reached the GPU the
    /// queue is rebuilt before the next start.
    void interrupted() noexcept;
    Result<void> start_run(const RunRequest& request, const SlotPlan& plan, std::uint64_t run);
    Result<void> send_markers(MarkerLog::Position until, bool& sent);
    Result<void> write_lease(const RunRequest& request, const SlotPlan& plan, std::uint64_t run);
    bool step_delivery(std::optional<Result<RunSummary>>& ended);
    Result<void> ensure_queue();
    Result<void> rebuild_queue();
    Result<void> ensure_memory(const RunRequest& request, const SlotPlan& plan);
    /// Appends the markers of all that is loaded; `joints` gets the dword offset behind each.
    Result<void> append_replay(MarkerLog::Position until, std::vector<std::uint32_t>& words,
                               std::vector<std::uint32_t>& joints);
    Result<void> build_replay(MarkerLog::Position until);
    OutputSlots output_slots(const RunRequest& request) const;
    Result<TraceStreams> build_streams(const RunRequest& request);
    /// Start stream, markers, and the question whether the units are armed.
    Result<void> submit_start(const TraceStreams& streams);
    /// What that question said; nothing where it is not asked. Errors: kUnavailable.
    Result<void> check_armed(const TraceStreams& streams, const pm4::TraceConfig& config);
    void begin_stream(const RunRequest& request);
    Result<RunSummary> stop_stream(bool deliver);
    Result<void> submit_and_wait(std::span<const CommandBuffer> buffers, Duration limit);
    /// Ends the run; its data are still in their slot.
    FinishedRun take_run(Result<void> outcome);
    Result<RunSummary> finish_run(Result<void> outcome, bool deliver);
    void clear_lease_streams();
    std::uint64_t landing_bytes(std::uint64_t slot_bytes) const;
    std::optional<std::size_t> free_slot(const RunRequest& request) const;
    void begin_delivery();
    static void hand_over(const Chunk& chunk, void* engine);
    void note_memory();

    std::unique_ptr<Backend> backend_;
    Options options_;
    pm4::TraceTopology topology_;
    const Clock& clock_;
    MarkerLog& log_;
    const std::atomic<bool>& silenced_;
    SlotBank bank_;
    std::unique_ptr<PacketSource> packets_;
    GrowingHost landing_;
    GrowingHost replay_;
    GrowingHost leases_;
    std::uint32_t lease_start_dwords_ = 0, lease_stop_dwords_ = 0;
    std::vector<CommandBuffer> replay_buffers_;
    std::size_t replay_markers_ = 0;
    std::optional<MarkerLog::Position> replay_until_;
    bool queue_ = false;
    bool lost_ = false;
    std::optional<CommandBuffer> disarm_; ///< stop stream of a run whose end (or start) is unknown
    std::optional<Run> run_;
    MarkerLog::Position marked_ = 0;
    HubStatistics statistics_;
    StreamEngine stream_;
    RunDelivery::Parts delivery_parts_;
    std::deque<FinishedRun> retired_;     ///< leases, oldest first
    std::optional<RunDelivery> delivery_; ///< of one that is older
    bool handler_gone_ = false;           ///< its handler was given up
    bool chunk_dropped_ = false;          ///< of it: no memory to hand it over
};

} // namespace wavetap::capture
