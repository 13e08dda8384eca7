// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

// What a decoded blob (the bytes of one shader engine) contains. Times are shader clocks since the
// blob's first token unless a name says otherwise.

namespace wavetap::decode {

enum class Category : std::uint8_t {
    kSmem,
    kSalu,
    kVmem,
    kFlat,
    kLds,
    kValu,
    kJump,
    kNext,
    kImmed,
    kTrap,
    kMsg,
    kBvh,
};
const char* category_name(Category category) noexcept; ///< "SMEM", …

enum class WaveState : std::uint8_t { kEmpty, kIdle, kExec, kWait, kStall };
const char* wave_state_name(WaveState state) noexcept;

/// A program counter: code object and offset where one covers it.
struct Pc {
    std::uint64_t absolute = 0;    ///< 0 = not stitched
    std::uint64_t elf_address = 0; ///< valid when code_object != 0
    std::uint64_t code_object = 0; ///< id of the marker or of the caller's object; 0 = none
};

struct InstructionRecord {
    Category category = Category::kSalu;
    std::uint64_t time = 0;     ///< first attempt to issue
    std::uint32_t duration = 0; ///< stall + issue cycles
    std::uint32_t stall = 0;    ///< time + stall = the clock of issue
    Pc pc;
};

struct WaveRecord {
    std::uint8_t sa = 0;
    std::uint8_t cu = 0; ///< gfx9: CU; gfx10+: WGP
    std::uint8_t simd = 0;
    std::uint8_t slot = 0;
    std::uint8_t me = 0;
    std::uint8_t pipe = 0;
    std::uint8_t count = 0; ///< raw 7-bit thread count field
    bool complete = true;   ///< an end token was seen
    bool on_target = false; ///< instruction detail is recorded for it
    bool start_seen = true; ///< false: it ran before the trace began; `start` is its first token
    std::uint64_t start = 0;
    std::uint64_t end = 0; ///< clock of the end token
    Pc entry;
    std::uint64_t record_end = 0; ///< gfx9 target waves: end + 4 (golden key wave_record_end)
    std::vector<InstructionRecord> instructions;
    std::vector<std::pair<WaveState, std::uint64_t>> timeline;
    struct ExcludedBarrierWait {
        std::uint32_t index = 0;
        std::uint64_t pc = 0;
    };
    std::vector<ExcludedBarrierWait> excluded_barrier_waits; ///< gfx12
    /// Every instruction has a program counter and none is a guess: no line of code was stepped over,
    /// and no token was given to a line of another kind.
    bool stitched = false;
    std::uint32_t lines_without_token = 0; ///< lines of code that stitching had to step over
    std::uint64_t with_pc = 0;             ///< instructions that have their program counter
    std::uint64_t without_pc = 0;          ///< that lack it; traps, which have none, are neither
    std::uint8_t contexts = 0;             ///< context saves and restores
    std::uint8_t workgroup = 0; ///< gfx9: low bits of the work-group's slot; gfx12: its id
    std::uint8_t cluster = 0;   ///< gfx1250
};

struct DispatchRecord {
    std::uint64_t time = 0;
    std::uint8_t me = 0, pipe = 0;
    std::uint32_t initiator = 0;
    Pc entry;
    std::uint32_t threads[3] = {};
    std::uint32_t rsrc1 = 0, rsrc2 = 0;
    std::uint64_t packet_va = 0;
    std::uint64_t offset_bytes = 0; ///< of the token that started it
};

/// Something that happened to the engine or the trace rather than to a wave.
enum class EventKind : std::uint8_t {
    kPartialFlush, ///< CS_PARTIAL_FLUSH
    kCacheFlush,   ///< payload: event number
    kBottomOfPipe, ///< BOTTOM_OF_PIPE_TS
    kTraceStart,   ///< THREAD_TRACE_START event
    kTraceStop,    ///< THREAD_TRACE_STOP
    kTraceMarker,  ///< THREAD_TRACE_MARKER
    kTraceFlush,   ///< THREAD_TRACE_FLUSH
    kTraceFinish,  ///< THREAD_TRACE_FINISH
    kOtherEvent,   ///< payload: event number
    kSaveContext,  ///< waves are saved to memory from here on
    kPacketsLost,  ///< tokens before this point were dropped, or did not come
    kStallBegin,   ///< the trace unit stalls the engine to keep up
    kStallEnd,
    kThrottleBegin, ///< DIDT stall
    kThrottleEnd,
    kSurfaceSync,
    kShootDown,
    kCacheRinse,     ///< GC_RINSE
    kCounterSample,  ///< SPM sample taken
    kCodeObjectLoad, ///< payload: id
    kCodeObjectUnload,
};
const char* event_kind_name(EventKind kind) noexcept;

struct EventRecord {
    std::uint64_t time = 0;
    EventKind kind = EventKind::kOtherEvent;
    std::uint8_t me = 0, pipe = 0;
    bool from_start = false; ///< code object: it was loaded before the trace began
    std::uint64_t payload = 0;
    std::uint64_t offset_bytes = 0; ///< of the token
    bool of_pipe = false;           ///< from an EVENT token (gfx10 and later), which names a pipe
    bool at_bottom = false;         ///< that token says: at the bottom of the pipe
    bool by_write = false; ///< a register write says so; an EVENT token may say it once more
};

/// s_ttracedata of a wave.
struct ShaderDataRecord {
    std::uint64_t time = 0;
    std::uint32_t value = 0;
    std::uint8_t sa = 0, cu = 0, simd = 0, slot = 0;
    bool immediate = false;  ///< the one-byte form
    bool privileged = false; ///< written by the trap handler
};

/// gfx9 performance counters.
struct PerfRecord {
    std::uint64_t time = 0;
    std::uint8_t cu = 0, bank = 0;
    std::uint16_t counters[4] = {};
};

struct RealtimeRecord {
    std::uint64_t time = 0;    ///< shader clock of the blob
    std::uint64_t counter = 0; ///< constant counter
};

struct RegisterWrite {
    std::uint64_t time = 0;
    std::uint32_t reg = 0; ///< absolute dword number
    std::uint32_t data = 0;
};

struct CodeObjectEvent {
    std::uint64_t time = 0;
    std::uint64_t id = 0;
    std::uint64_t address = 0, size = 0; ///< load only
    bool unload = false, from_start = false;
};

/// One kind of fault in a stream; counted, never fatal.
struct Diagnostic {
    const char* kind = "";     ///< stable word, e.g. "packets-lost"
    const char* severity = ""; ///< "info", "data-loss", "error"
    const char* advice = "";   ///< what the user can do, or what not to trust
    std::uint64_t count = 0;
    std::uint64_t first_offset_bytes = 0; ///< of the first token concerned, in the stream
    std::uint64_t first_time = 0;         ///< its clock
    const char* sentence = "";            ///< what happened

    /// Sentence and advice.
    std::string text() const {
        const std::string first = sentence;
        return first.empty() ? advice : first + " " + advice;
    }
};

} // namespace wavetap::decode
