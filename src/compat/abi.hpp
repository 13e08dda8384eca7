// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

// The C ABI of rocprof-trace-decoder 0.2 as its users load it: numbers and memory layouts, x86-64.
// Times are shader clocks since the first token of the buffer. docs/formats/decoder-abi.md says what
// each record means and which functions exist.

namespace wavetap::compat {

enum Status : std::int32_t {
    kSuccess = 0,
    kError = 1,
    kOutOfResources = 2,
    kInvalidArgument = 3,
    kInvalidShaderData = 4,
    kNotImplemented = 5,
};

enum RecordType : std::int32_t {
    kGfxip = 0, ///< the pointer itself is the number
    kOccupancy = 1,
    kPerf = 2,
    kWave = 3,
    kInfo = 4,
    kEvent = 5,
    kShaderData = 6,
    kRealtime = 7,
    kFrequency = 8, ///< u64, Hz
    kOtherSimd = 9,
    kDispatch = 10,
    /// Only after set_analysis. Another line of versions has shader markers here.
    kHiddenLatency = 11,
};
inline constexpr std::int32_t kRecordTypes = 12;

/// Flags of an event.
enum EventFlag : std::uint16_t {
    kEventOfPipe = 1,
    kEventAtBottom = 2,
};

enum RequestFlag : std::uint32_t {
    kImmediate = 1, ///< one by one, as soon as they are known
};

enum Analysis : std::uint64_t {
    kAnalyseHiddenLatency = 1,
};

enum Info : std::int32_t {
    kNothing = 0,
    kDataLost = 1,
    kStitchIncomplete = 2,
    kWaveIncomplete = 3,
};

/// `id` 0: `address` is absolute; else it is an ELF address of that code object.
struct Pc {
    std::uint64_t address = 0;
    std::uint64_t id = 0;
};

struct Occupancy {
    Pc pc;
    std::uint64_t time = 0;
    std::uint8_t reserved = 0;
    std::uint8_t cu = 0; ///< gfx10+: WGP, bit 7 = shader array
    std::uint8_t simd = 0;
    std::uint8_t slot = 0;
    /// start 0, ME 1-3, pipe 4-7, workgroup valid 8, workgroup 9-15, cluster 16-20
    std::uint32_t bits = 0;
};

struct Perf {
    std::int64_t time = 0;
    std::uint16_t counters[4] = {};
    std::uint8_t cu = 0;
    std::uint8_t bank = 0;
    std::uint8_t unused[6] = {};
};

struct WaveState {
    std::int32_t state = 0; ///< 0 empty, 1 idle, 2 exec, 3 wait, 4 stall
    std::int32_t clocks = 0;
};

struct Instruction {
    std::uint32_t bits = 0; ///< category 0-7, stall 8-31
    std::int32_t duration = 0;
    std::int64_t time = 0;
    Pc pc; ///< {0, 0}: not known
};

struct Wave {
    std::uint8_t cu = 0;
    std::uint8_t simd = 0;
    std::uint8_t slot = 0;
    std::uint8_t contexts = 0;
    std::uint8_t dispatcher = 0; ///< pipe 0-3, ME 4-6
    std::uint8_t workgroup = 0;
    std::uint8_t cluster = 0;
    std::uint8_t reserved = 0;
    std::uint64_t size = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::uint64_t timeline_count = 0;
    std::uint64_t instruction_count = 0;
    WaveState* timeline = nullptr;
    Instruction* instructions = nullptr;
};

struct Event {
    std::uint64_t size = 0;
    std::int64_t time = 0;
    std::int32_t type = 0;
    std::uint8_t me = 0;
    std::uint8_t pipe = 0;
    std::uint16_t flags = 0;
    std::uint64_t payload = 0;
    std::uint64_t byte_offset = 0;
};

struct ShaderData {
    std::int64_t time = 0;
    std::uint64_t value = 0;
    std::uint8_t cu = 0;
    std::uint8_t simd = 0;
    std::uint8_t slot = 0;
    std::uint8_t flags = 0; ///< 1 immediate form, 2 trap handler
    std::uint32_t reserved = 0;
};

struct Realtime {
    std::int64_t shader_clock = 0;
    std::uint64_t realtime = 0;
    std::uint64_t reserved = 0;
};

struct OtherSimd {
    std::uint64_t size = 0;
    std::int64_t time = 0;
    std::uint16_t cycles = 0;
    std::uint8_t wgp = 0;
    std::uint8_t category = 0;
    std::uint8_t unused[4] = {};
};

struct Dispatch {
    std::uint64_t size = 0;
    std::int64_t time = 0;
    std::uint8_t me = 0;
    std::uint8_t pipe = 0;
    std::uint16_t user_sgprs = 0;
    /// 1 scalar cache invalidated, 2 vector cache invalidated, 4 context restore, 8 scratch
    std::int32_t flags = 0;
    std::uint32_t vgprs = 0;
    std::uint32_t sgprs = 0;
    std::uint32_t lds_bytes = 0;
    std::uint32_t threads[3] = {};
    std::uint64_t packet = 0;
    std::uint64_t byte_offset = 0;
    Pc entry;
};

/// Cycles of waiting that other work of the SIMD covered, summed over what was executed at `pc`.
struct HiddenLatencyRecord {
    std::uint64_t size = 0;
    Pc pc;
    std::int64_t idle = 0;
    std::int64_t stall = 0;
    std::int64_t issue = 0;
    std::uint8_t simd = 0;
    std::uint8_t unused[7] = {};
};

struct RecordRequest {
    std::uint64_t size = 0; ///< of this structure
    std::int32_t type = 0;
    std::uint32_t flags = 0;
};

struct RecordFilter {
    std::uint64_t size = 0; ///< of this structure
    const RecordRequest* records = nullptr;
    std::uint64_t count = 0;
};

struct Version {
    std::uint64_t size = 0;
    std::uint32_t major = 0;
    std::uint32_t minor = 0;
    std::uint32_t patch = 0;
};

struct Handle {
    std::uint64_t handle = 0;
};

/// Gives the next buffer; returns the bytes that are left, 0 = no buffer. The memory stays the
/// caller's until the next call.
using SeDataCallback = std::uint64_t (*)(std::uint8_t** data, std::uint64_t* size, void* user);
/// Text of the instruction at `pc`. `size_bytes`: of the instruction. `text_size`: in, room; out,
/// length without a terminator, or what is needed with kOutOfResources.
using IsaCallback = Status (*)(char* text, std::uint64_t* size_bytes, std::uint64_t* text_size,
                               Pc pc, void* user);
/// Records are valid during the call only. Its answer does not end a full parse.
using RecordCallback = Status (*)(RecordType type, void* records, std::uint64_t count, void* user);

static_assert(sizeof(Status) == 4 && sizeof(RecordType) == 4 && sizeof(Info) == 4);
static_assert(sizeof(Pc) == 16 && offsetof(Pc, id) == 8);
static_assert(sizeof(Occupancy) == 32 && offsetof(Occupancy, time) == 16 &&
              offsetof(Occupancy, reserved) == 24 && offsetof(Occupancy, cu) == 25 &&
              offsetof(Occupancy, simd) == 26 && offsetof(Occupancy, slot) == 27 &&
              offsetof(Occupancy, bits) == 28);
static_assert(sizeof(Perf) == 24 && offsetof(Perf, counters) == 8 && offsetof(Perf, cu) == 16 &&
              offsetof(Perf, bank) == 17);
static_assert(sizeof(WaveState) == 8 && offsetof(WaveState, clocks) == 4);
static_assert(sizeof(Instruction) == 32 && offsetof(Instruction, duration) == 4 &&
              offsetof(Instruction, time) == 8 && offsetof(Instruction, pc) == 16);
static_assert(sizeof(Wave) == 64 && offsetof(Wave, simd) == 1 && offsetof(Wave, slot) == 2 &&
              offsetof(Wave, contexts) == 3 && offsetof(Wave, dispatcher) == 4 &&
              offsetof(Wave, workgroup) == 5 && offsetof(Wave, cluster) == 6 &&
              offsetof(Wave, size) == 8 && offsetof(Wave, begin) == 16 &&
              offsetof(Wave, end) == 24 && offsetof(Wave, timeline_count) == 32 &&
              offsetof(Wave, instruction_count) == 40 && offsetof(Wave, timeline) == 48 &&
              offsetof(Wave, instructions) == 56);
static_assert(sizeof(Event) == 40 && offsetof(Event, time) == 8 && offsetof(Event, type) == 16 &&
              offsetof(Event, me) == 20 && offsetof(Event, pipe) == 21 &&
              offsetof(Event, flags) == 22 && offsetof(Event, payload) == 24 &&
              offsetof(Event, byte_offset) == 32);
static_assert(sizeof(ShaderData) == 24 && offsetof(ShaderData, value) == 8 &&
              offsetof(ShaderData, cu) == 16 && offsetof(ShaderData, simd) == 17 &&
              offsetof(ShaderData, slot) == 18 && offsetof(ShaderData, flags) == 19 &&
              offsetof(ShaderData, reserved) == 20);
static_assert(sizeof(Realtime) == 24 && offsetof(Realtime, realtime) == 8 &&
              offsetof(Realtime, reserved) == 16);
static_assert(sizeof(OtherSimd) == 24 && offsetof(OtherSimd, time) == 8 &&
              offsetof(OtherSimd, cycles) == 16 && offsetof(OtherSimd, wgp) == 18 &&
              offsetof(OtherSimd, category) == 19);
static_assert(sizeof(Dispatch) == 80 && offsetof(Dispatch, time) == 8 &&
              offsetof(Dispatch, me) == 16 && offsetof(Dispatch, pipe) == 17 &&
              offsetof(Dispatch, user_sgprs) == 18 && offsetof(Dispatch, flags) == 20 &&
              offsetof(Dispatch, vgprs) == 24 && offsetof(Dispatch, sgprs) == 28 &&
              offsetof(Dispatch, lds_bytes) == 32 && offsetof(Dispatch, threads) == 36 &&
              offsetof(Dispatch, packet) == 48 && offsetof(Dispatch, byte_offset) == 56 &&
              offsetof(Dispatch, entry) == 64);
static_assert(sizeof(HiddenLatencyRecord) == 56 && offsetof(HiddenLatencyRecord, pc) == 8 &&
              offsetof(HiddenLatencyRecord, idle) == 24 &&
              offsetof(HiddenLatencyRecord, stall) == 32 &&
              offsetof(HiddenLatencyRecord, issue) == 40 &&
              offsetof(HiddenLatencyRecord, simd) == 48);
static_assert(sizeof(RecordRequest) == 16 && offsetof(RecordRequest, type) == 8 &&
              offsetof(RecordRequest, flags) == 12);
static_assert(sizeof(RecordFilter) == 24 && offsetof(RecordFilter, records) == 8 &&
              offsetof(RecordFilter, count) == 16);
static_assert(sizeof(Version) == 24 && offsetof(Version, major) == 8 &&
              offsetof(Version, minor) == 12 && offsetof(Version, patch) == 16);
static_assert(sizeof(Handle) == 8);

} // namespace wavetap::compat
