// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "capture/hub_memory.hpp"
#include "capture/packet_source.hpp"
#include "capture/run.hpp"

#include <array>
#include <cstdint>

namespace wavetap::capture {

inline constexpr std::size_t kMostEngines = 64; ///< bits of a mask

/// A run with one buffer that has stopped: values, and where its data lie.
struct FinishedRun {
    RunRequest request;
    std::uint64_t id = 0;
    DeviceMemory output;
    std::uint64_t capacity_bytes = 0; ///< of one engine
    std::uint64_t start_counter = 0, end_counter = 0;
    std::uint32_t engine_count = 0;
    std::array<EngineReadback, kMostEngines> engines{}; ///< the selected ones, ascending
    Result<void> outcome; ///< an error: it did not stop, there are no data
};

/// Takes the data of one finished run to its handler, engine after engine, through the landing area
/// in pieces. Each selected engine gets exactly one END. Resource of one run; hub thread only.
class RunDelivery {
  public:
    /// What it uses of the hub; all outlive it.
    struct Parts {
        Backend& backend;
        const Clock& clock;
        const pm4::TraceTopology& topology;
        const HubLimits& limits;
        GrowingHost& landing;
        HubStatistics& statistics;
    };
    /// The landing area that pieces of up to `largest` bytes need.
    static std::uint64_t landing_bytes(std::uint64_t largest);

    /// `handler` is called by step().
    RunDelivery(const Parts& parts, FinishedRun run, ChunkHandler handler, void* user);
    /// Copies the next piece and calls the handler once. The piece is in the landing area: the next
    /// call overwrites it. False: there is nothing left.
    bool step();
    /// Instead of step(): everything is counted as lost, and no handler is called.
    void discard();
    /// From now on bytes are counted as lost, and END | LOST ends each segment.
    void give_up(Error reason);
    const FinishedRun& run() const { return run_; }
    /// A copy was never answered.
    bool gpu_lost() const { return gpu_lost_; }
    /// What step() handed over.
    const ChunkSink::Counts& counts() const { return sink_.counts(); }
    /// The run is over; `handed`: what came to its handler. An error means that data are missing. Adds
    /// to the statistics.
    Result<RunSummary> finish(const ChunkSink::Counts& handed);

  private:
    void begin_engine(const EngineReadback& engine);
    void lose(std::uint64_t bytes, Error reason);
    Result<void> copy(std::uint64_t from_va, std::uint64_t bytes);

    const Parts& parts_;
    FinishedRun run_;
    ChunkSink sink_;
    RunSummary summary_;
    std::uint32_t next_ = 0; ///< engine
    bool begun_ = false;     ///< its segment
    std::uint64_t done_ = 0; ///< its bytes
    bool whole_;             ///< there are data, and they may be fetched
    bool gpu_lost_ = false;
};

} // namespace wavetap::capture
