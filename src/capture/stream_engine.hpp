// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "capture/backend.hpp"
#include "capture/chunk_pool.hpp"
#include "capture/hub_memory.hpp"
#include "capture/packet_source.hpp"
#include "capture/producer.hpp"
#include "capture/run.hpp"

#include <array>
#include <functional>
#include <optional>
#include <vector>

namespace wavetap::capture {

/// Carries out what the producer decides for a streaming run: queries, swaps, copies from output to
/// staging slots, delivery through the pool. Resource; hub thread only. One run at a time.
class StreamEngine {
  public:
    /// What it uses of the hub; all outlive it.
    struct Parts {
        Backend& backend;
        const Clock& clock;
        const pm4::TraceTopology& topology;
        const HubLimits& limits;
        SlotBank& bank;
        PacketSource& packets;
        HubStatistics& statistics;
    };
    struct Context {
        RunRequest request;
        std::uint64_t run = 0;
        TraceStreams streams;
        std::uint64_t start_counter = 0;
        /// Submits the start again, with markers for what is loaded now, and waits for it.
        std::function<Result<void>()> restart;
    };

    StreamEngine(Parts parts, const std::atomic<bool>& silenced, const std::string& thread_name);
    StreamEngine(const StreamEngine&) = delete;
    StreamEngine& operator=(const StreamEngine&) = delete;

    ChunkPool& pool() { return pool_; }
    bool on_delivery_thread() const { return pool_.on_pool_thread(); }
    std::size_t delivery_threads() const { return pool_.threads(); }
    /// Before the start is submitted: query and swap streams, threads. `streams`: those of the request
    /// on `slots`. Errors: those of PacketSource::ring(), kLimit, kBusy (a handler of an earlier run
    /// has not returned).
    Result<void> prepare(const RunRequest& request, const OutputSlots& slots,
                         const TraceStreams& streams);
    /// The start has retired.
    void begin(Context context);
    bool active() const { return context_.has_value(); }
    /// Of the run, or the last one: the GPU did not answer, or its buffers were full under
    /// OverflowPolicy::kEndRun. The trace unit may still be armed.
    bool gpu_lost() const { return state_.phase == ProducerState::Phase::kFailed; }
    /// Looks at the trace unit if it is time, and takes back staging slots.
    void poll();
    TimePoint next_poll() const { return next_poll_; }
    /// Ends the run; with `deliver` every chunk was handed over on return. Errors: as
    /// HubEngine::stop(), and kTimeout when a handler did not return.
    Result<RunSummary> stop(bool deliver);
    /// Something threw in the middle of a step: the run is over, its data are lost, and the trace unit
    /// may still be armed. Staging slots that a handler reads are left alone.
    void drop() noexcept;

  private:
    using Event = ProducerEvent;
    static constexpr std::size_t kHeaderChunk = 32;

    std::uint32_t engine(std::uint32_t ordinal) const { return engines_[ordinal]; }
    std::uint64_t capacity() const { return context_->streams.capacity_bytes; }
    void run(Event event);
    void perform(const ProducerAction& action);
    Event command(const ProducerAction& action);
    Result<void> submit(std::span<const CommandBuffer> buffers, Duration limit);
    Result<void> swap(std::uint32_t mask);
    Result<void> copy(const ProducerAction& action);
    Result<void> read_status(RingMoment moment, std::uint32_t swapped);
    Chunk prototype(const ProducerAction& action) const;
    void take_back();
    /// A step threw: as a GPU that does not answer.
    void break_off(Error reason) noexcept;
    void finish(RunSummary& summary);

    Parts parts_;
    ChunkPool pool_;
    const RingStreams* ring_ = nullptr; ///< of the run, or the last one
    std::vector<std::uint32_t> engines_;

    std::optional<Context> context_;
    ProducerState state_;
    std::vector<ProducerAction> actions_;
    std::array<EngineReadback, kMaxStreamEngines> back_{};
    std::array<EngineStatus, kMaxStreamEngines> status_{};
    std::array<std::array<std::byte, kHeaderChunk>, kMaxStreamEngines> headers_{};
    std::array<std::uint64_t, kMaxStreamEngines> start_counters_{};
    bool write_error_ = false;
    Result<void> outcome_;
    TimePoint next_poll_{};
    Duration interval_{};
};

} // namespace wavetap::capture
