// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

// The decisions of N-buffer streaming, without any effect: step(state, event) changes the state and
// says what to do next. StreamEngine carries the actions out and reports what became of them.
//
// The hardware of each engine fills a ring of output slots. It moves on by itself when one is full
// ("flip"); a swap then names the slot behind the next one, and only from there on may the slot that
// was left be copied. Copies go to staging slots, which the client's handler gives back when it is
// done. At most one action that waits for the GPU is out at any time.
//
// What holds in every reachable state (producer_test.cpp explores them all for small rings):
//   P1 every segment of an engine ends with exactly one END
//   P2 chunk indexes have no gaps
//   P3 nothing is copied from a slot that the hardware fills or has as its next one
//   P4 nothing is copied to, or published from, a staging slot that the client still has
//   P5 a stop comes to an end, whatever the GPU has written
//   P6 after a failure nothing more is sent to the trace unit
//   P7 bytes delivered and bytes declared lost are the bytes that the hardware wrote
// A value; any thread.

namespace wavetap::capture {

inline constexpr std::size_t kMaxStreamEngines = 32;
/// Output slots of a ring: one is filled, one is next, one is being copied.
inline constexpr std::uint32_t kRingSlots = 3;

/// What to do when the hardware had no room and dropped tokens.
enum class OverflowPolicy : std::uint8_t {
    kRestart, ///< stop, deliver, end the segment, start again
    kEndRun,  ///< touch the trace unit no more: the run is over, the next start rebuilds the queue
};

/// Why a segment ended.
enum class SegmentEnd : std::uint8_t {
    kOpen,
    kRequested, ///< the client stopped
    kCpuFull,   ///< no staging slot was free
    kGpuFull,   ///< the hardware had no room
    kHalted,    ///< the trace unit went off by itself
    kFailed,    ///< the GPU did not answer
};

struct ProducerConfig {
    std::uint32_t engines = 1;
    std::uint32_t staging_slots = 3;
    std::uint64_t capacity_bytes =
        0;              ///< of one engine in one output slot: the trace's, not the slot's
    bool header = true; ///< a header chunk opens each segment (gfx9)
    OverflowPolicy overflow = OverflowPolicy::kRestart;
};

/// What the GPU says of one engine, in a query, just before a swap, or after a stop.
struct EngineStatus {
    bool flipped = false;          ///< it went on to the next slot since the last swap
    bool running = true;           ///< queries only
    std::uint64_t bytes = 0;       ///< in the slot that it fills; capacity = no room left
    std::uint32_t read_offset = 0; ///< first whole token of the slot that it left
};

struct ProducerEvent {
    enum class Kind : std::uint8_t {
        kTick,    ///< time to look
        kQueried, ///< status[] of every engine
        kSwapped, ///< status[] as it was just before the swap
        kCopied,
        kStopped, ///< status[] of every engine; nothing is written any more
        kStarted,
        kSlotFreed, ///< `slot`
        kStopWanted,
        kFailed, ///< the action that is out was refused or not answered in time
    };
    Kind kind = Kind::kTick;
    std::uint32_t slot = 0;
    const EngineStatus* status = nullptr; ///< one for each engine, in order
};

struct ProducerAction {
    enum class Kind : std::uint8_t {
        kQuery,
        kSwap,    ///< engines of `mask`; each engine's own `swaps` is the number of its swap
        kCopy,    ///< `bytes` of output slot `output` of `engine` into staging slot `slot`
        kPublish, ///< hand staging slot `slot` to the client
        kStop,
        kStart,
        kBegin,    ///< a segment of `engine` begins; with a header, the header chunk is `index`
        kEnd,      ///< a zero-length END of `engine`
        kFinished, ///< no action follows, except those of slots that come back: none
    };
    Kind kind = Kind::kQuery;
    std::uint32_t engine = 0;
    std::uint32_t mask = 0;
    std::uint32_t output = 0, slot = 0;
    std::uint32_t index = 0;                 ///< chunk index: kPublish, kEnd, kBegin
    std::uint32_t read_offset = 0;           ///< kPublish
    std::uint64_t bytes = 0;                 ///< kCopy, kPublish
    bool last = false;                       ///< kPublish: END
    bool cpu_full = false, gpu_full = false; ///< kPublish, kEnd
    SegmentEnd cause = SegmentEnd::kOpen;    ///< kEnd, kPublish with `last`
};

/// The state of a run. A value.
struct ProducerState {
    enum class Phase : std::uint8_t {
        kPolling, ///< waits for a tick
        kQuerying,
        kSwapping,
        kMoving, ///< a copy is out, or (after a stop) a staging slot is awaited
        kStopping,
        kStarting,
        kEnded,
        kFailed,
    };
    /// An output slot that the hardware has left, not yet copied.
    struct Waiting {
        std::uint32_t output = 0;
        std::uint32_t read_offset = 0;
        std::uint64_t bytes = 0;
        bool cpu_full = false, last = false;
    };
    struct Engine {
        std::uint64_t swaps = 0; ///< in this segment
        std::uint32_t waiting = 0;
        std::array<Waiting, kRingSlots> queue{}; ///< oldest first
        bool open = false;                       ///< a segment began and has no END
    };

    ProducerConfig config;
    Phase phase = Phase::kPolling;
    bool copy_out = false;
    bool drained_by_stop = false; ///< what waits now was collected by a stop
    bool stop_wanted = false;
    SegmentEnd cause = SegmentEnd::kOpen;
    std::uint32_t free_slots = 0; ///< bit i = staging slot i
    std::uint32_t swap_mask = 0;  ///< of the swap that is out
    std::uint32_t copy_engine = 0, copy_slot = 0;
    std::uint32_t next_index = 0;
    std::array<Engine, kMaxStreamEngines> engines{};

    // Sums of the run.
    std::uint64_t flips = 0, segments = 0;
    std::uint64_t cpu_full = 0, gpu_full = 0, halted = 0; ///< segments that ended so
    std::uint64_t bytes_published = 0;
    std::uint64_t bytes_lost = 0; ///< known to be written, not delivered (a failure)

    bool over() const { return phase == Phase::kEnded || phase == Phase::kFailed; }
    bool awaits_slot() const { return phase == Phase::kMoving && !copy_out; }
};

/// The trace unit has just been started: every engine fills output slot 0 and has 1 as its next one.
/// Appends the first actions (a kBegin for each engine).
ProducerState producer_begin(const ProducerConfig& config, std::vector<ProducerAction>& actions);

/// Appends what to do. Events that do not fit the state (a tick while something is out) change
/// nothing.
void producer_step(ProducerState& state, const ProducerEvent& event,
                   std::vector<ProducerAction>& actions);

/// "polling".
const char* producer_phase_name(ProducerState::Phase phase) noexcept;

} // namespace wavetap::capture
