// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "capture/backend.hpp"
#include "capture/slot_plan.hpp"
#include "pm4/thread_trace.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace wavetap::capture {

/// The output slots that a trace writes, in the order of its ring; one without a ring.
struct OutputSlots {
    std::array<DeviceMemory, kMaxOutputSlots> slots{};
    std::uint32_t count = 1;
    std::uint64_t va(std::size_t slot) const { return slots[slot].va; }
};

/// Command streams of one configuration in GPU-visible memory.
struct TraceStreams {
    CommandBuffer start, stop;
    /// Behind `start` it stores what read_ring(kQueried) reads: whether the units are armed. No dwords:
    /// this source or chip has no such question.
    CommandBuffer confirm;
    std::uint64_t capacity_bytes = 0; ///< of one engine in one output slot
    std::uint64_t id = 0;             ///< the source's own
};

/// What a trace with a ring needs besides.
struct RingStreams {
    CommandBuffer query;
    /// swaps_per_engine of the first selected engine, then those of the next; swap n of an engine
    /// is its number n % swaps_per_engine.
    std::vector<CommandBuffer> swaps;
    std::uint32_t swaps_per_engine = 0;
    std::vector<std::uint64_t> headers; ///< of each selected engine; gfx9
    std::vector<std::uint64_t> offsets; ///< where each one's part of an output slot begins
};

/// What the trace unit left behind of one engine. Registers and counters: 0 where the source does
/// not tell.
struct EngineReadback {
    std::uint32_t engine = 0; ///< global shader engine
    std::uint32_t status = 0, dropped = 0, wptr = 0;
    std::uint64_t start_counter = 0, end_counter = 0;
    pm4::EngineResult result;
    std::uint64_t va = 0;     ///< of its first byte; not for rings
    std::uint64_t header = 0; ///< gfx9: the 8 bytes in front of the data; not for rings
    // Rings, and behind a start (TraceStreams::confirm): as pm4::QueryResult says it.
    bool flipped = false, running = true;
    std::uint32_t read_offset = 0;
};

/// Since when a ring's state is asked for.
enum class RingMoment : std::uint8_t { kQueried, kSwapped, kStopped };

/// Where command streams of traces come from, and what their control blocks say: our own builder
/// (own_packets.hpp) or a library of others. Resource; hub thread only. release() must be called
/// before the backend goes. At most one trace is between begin() and its read-back, but the next one
/// may begin while the data of the last one are still in its output slot.
class PacketSource {
  public:
    virtual ~PacketSource() = default;

    /// A word for it: "own", "aqlprofile". At most 15 bytes, static storage; any thread.
    virtual const char* name() const = 0;
    /// Makes what every trace needs. Errors: kLimit, kUnavailable, kNotFound, kUnsupported.
    virtual Result<void> ensure() = 0;
    /// Streams of a configuration on these slots, made or kept from an earlier call. They stay as
    /// they are until other ones are asked for. Precondition: ensure() succeeded; no trace runs.
    /// Errors: kInvalidArgument, kUnsupported, kLimit, kUnavailable.
    virtual Result<TraceStreams> streams(const pm4::TraceConfig& config,
                                         const OutputSlots& slots) = 0;
    /// The rest that a ring needs; borrowed until other streams are asked for. Precondition:
    /// `streams` is the last answer of streams(config, slots). Errors: as streams().
    virtual Result<const RingStreams*>
    ring(const pm4::TraceConfig& config, const OutputSlots& slots, const TraceStreams& streams) = 0;
    /// Right before the start stream is handed to the GPU. Errors: kUnavailable.
    virtual Result<void> begin(const TraceStreams& streams) = 0;
    /// The stop stream has retired: what each selected engine (ascending) wrote into `output`.
    /// Precondition: `engines` has as many elements as the mask has bits. Errors: kUnavailable,
    /// kUnsupported: nothing is known of the data.
    virtual Result<void> read_back(const TraceStreams& streams, const pm4::TraceConfig& config,
                                   const DeviceMemory& output,
                                   std::span<EngineReadback> engines) = 0;
    /// A query, a swap (of the engines in `swapped`: bit i = the i-th selected one) or the stop of a
    /// ring has retired. Elements keep what this moment does not tell. Errors: as read_back().
    virtual Result<void> read_ring(const TraceStreams& streams, const pm4::TraceConfig& config,
                                   RingMoment moment, std::uint32_t swapped,
                                   std::span<EngineReadback> engines) = 0;
    /// The words of a start, stop or confirm stream. They hold no address of themselves, and may be executed
    /// from elsewhere.
    virtual const std::byte* words(const CommandBuffer& buffer) const = 0;

    /// Appends a code object's marker. Errors: kUnavailable, kUnsupported.
    virtual Result<void> append_marker(const pm4::CodeObjectMarker& marker,
                                       std::vector<std::uint32_t>& words) = 0;
    static constexpr std::uint32_t kLiveDwords = 4096; ///< room for live markers
    /// Copies into the live-marker area. Precondition: the last one retired; size <= kLiveDwords.
    virtual CommandBuffer write_live(std::span<const std::uint32_t> words) = 0;

    virtual std::uint64_t bytes() const = 0; ///< of memory held
    virtual void release() = 0;
};

/// The backend outlives the source.
using PacketSourceMaker = std::function<std::unique_ptr<PacketSource>(
    Backend& backend, const pm4::TraceTopology& topology)>;

} // namespace wavetap::capture
