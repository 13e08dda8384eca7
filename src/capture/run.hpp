// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/clock.hpp"
#include "capture/backend.hpp"
#include "capture/chunk.hpp"
#include "capture/chunk_pool.hpp"
#include "capture/producer.hpp"
#include "capture/slot_plan.hpp"
#include "pm4/thread_trace.hpp"

#include <chrono>
#include <cstdint>

namespace wavetap::capture {

inline constexpr std::uint64_t kDefaultStreamRate = 60'000'000'000;

/// All that a start needs of a context; values only.
struct RunRequest {
    std::uint32_t context = 0;
    pm4::TraceConfig config; ///< from ValidatedParams
    std::uint32_t buffers = 1;
    ChunkHandler handler = nullptr; ///< null: data are fetched and dropped
    void* user = nullptr;
    std::uint32_t lease_slots = 0; ///< leases: output slots that they may lie in; 0 = 1
    bool untraced = false;         ///< a lease that takes its turn and is not traced
    bool serialize_all = false;    ///< of its context: what is not traced takes turns, too
    // N-buffer streaming only.
    Delivery delivery = Delivery::kInOrder;
    OverflowPolicy overflow = OverflowPolicy::kRestart;
    /// Bytes a second that one engine writes at most: how often the hub looks.
    std::uint64_t stream_rate = kDefaultStreamRate;
};

inline Requirement requirement_of(const RunRequest& request) {
    return Requirement{request.config.buffer_bytes, request.buffers, request.lease_slots};
}

/// Where the streams of every lease of an agent lie: fixed while leases are open. What they do is
/// written by the hub's thread just before a lease's gate opens; otherwise they do nothing.
struct LeaseStreams {
    std::uint64_t owner = 0; ///< for AgentHub::close_leases
    CommandBuffer start, stop;
};

/// What a finished run delivered.
struct RunSummary {
    std::uint64_t run = 0;
    std::uint64_t chunks = 0;
    std::uint64_t bytes_delivered = 0; ///< with software headers
    std::uint64_t bytes_lost = 0;      ///< written by the hardware, not delivered
    bool gpu_full = false;
    std::uint64_t flips = 0;
    std::uint64_t gaps = 0; ///< segments that ended before the stop, for whatever reason
    std::uint64_t start_counter = 0, end_counter = 0; ///< constant counter, 0 = unknown
};

/// How long each step may take, before the clock's scale.
struct HubLimits {
    Duration start = std::chrono::seconds(5);
    Duration stop = std::chrono::seconds(10);
    Duration copy = std::chrono::seconds(30); ///< of one chunk
    Duration marker = std::chrono::seconds(2);
    Duration query = std::chrono::seconds(2);     ///< or swap, of N-buffer streaming
    Duration request = std::chrono::seconds(120); ///< a client's wait for the hub's thread
    Duration close = std::chrono::seconds(30);
    Duration drain = std::chrono::seconds(10); ///< of leases, when their owner closes
};

/// Counters of one agent; "agents" of the JSON contract.
struct HubStatistics {
    std::uint64_t runs = 0; ///< finished
    std::uint64_t queues_created = 0;
    std::uint64_t output_slots = 0, output_bytes = 0; ///< held now
    std::uint64_t staging_bytes = 0, control_bytes = 0;
    std::uint64_t threads = 0;
    std::uint64_t starts = 0, stops = 0;
    std::uint64_t refused = 0;    ///< starts that got a status other than success
    std::uint64_t serialized = 0; ///< dispatches that had their turn, not traced
    std::uint64_t flips = 0;
    std::uint64_t chunks = 0;
    std::uint64_t bytes_delivered = 0, bytes_lost = 0;
    std::uint64_t gaps = 0;
    // Why segments ended before their run did (N-buffer streaming), or buffers were full (one buffer).
    std::uint64_t cpu_full = 0, gpu_full = 0, halted = 0;
    std::uint64_t markers = 0; ///< code-object markers sent to the GPU
    std::uint64_t deadline_misses = 0;
    std::uint64_t handler_exceptions = 0;
};

} // namespace wavetap::capture
