// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "pm4/thread_trace.hpp"

#include "base/units.hpp"
#include "pm4/gfx9_streams.hpp"
#include "pm4/packets.hpp"
#include "pm4/rdna_streams.hpp"

#include <bit>
#include <cstring>
#include <utility>

namespace wavetap::pm4 {

namespace {

constexpr std::uint64_t kControlAlignment = 256;
constexpr std::uint64_t kMinEngineBytes = 128 * kKiB;
constexpr std::uint64_t kEngineBytesLimit = 16 * kGiB; // exclusive
constexpr std::uint32_t kMaxEngines = 64;
constexpr std::uint32_t kMaxXccs = 8;
constexpr std::uint32_t kMaxTargetCu = 15;
constexpr std::uint32_t kSimds = 4;

// Register values of spec section 5.
constexpr std::uint32_t kStatusFull = 1U << 31;
constexpr std::uint32_t kStatusUtcError = 1U << 28;
constexpr std::uint32_t kWptrMask = 0x3FFFFFFF;
constexpr std::uint64_t kWptrUnit = 32;
constexpr std::uint64_t kHeaderRing = std::uint64_t{1} << 32;

// User-data words (spec section 10).
constexpr std::uint32_t kMarkerCodeObject = 4;
constexpr std::uint32_t kMaxMarkerData = 0xFFFFF;
constexpr std::uint64_t kFirstBigId = std::uint64_t{1} << 30;

Error invalid(std::string message, std::string where, std::string hint) {
    return Error{ErrorCode::kInvalidArgument, std::move(message), std::move(where),
                 std::move(hint)};
}

std::uint32_t selected_count(const TraceConfig& config) {
    return static_cast<std::uint32_t>(std::popcount(config.se_mask));
}

/// Bytes that aqlprofile takes off for engines that are not selected.
std::uint64_t unselected_bytes(const TraceTopology& topology, const TraceConfig& config) {
    const Generation generation = generation_of(topology.gfx);
    const bool paged = generation == Generation::kGfx10 || generation == Generation::kGfx11;
    if (!recorded(config) && !(config.dialect == Dialect::kRead26 && paged)) return 0;
    return (kMaxEngines - selected_count(config)) * kPage;
}

Result<void> check_topology(const TraceTopology& topology) {
    const Generation generation = generation_of(topology.gfx);
    if (generation == Generation::kUnknown) {
        return Error{ErrorCode::kUnsupported,
                     "no command streams are known for chip \"" + topology.gfx + "\"",
                     "thread trace", "gfx90a, gfx942, gfx950, gfx103x, gfx110x and gfx120x work"};
    }
    if (generation != Generation::kGfx9) {
        if (topology.xccs == 1 && topology.engines_per_xcc >= 1 &&
            topology.engines_per_xcc <= kMaxEngines)
            return {};
        return invalid("the chip has " + std::to_string(topology.xccs) + " x " +
                           std::to_string(topology.engines_per_xcc) +
                           " shader engines, expected one XCC with 1 to 64",
                       topology.gfx, "");
    }
    if (topology.xccs < 1 || topology.xccs > kMaxXccs)
        return invalid("the chip has " + std::to_string(topology.xccs) +
                           " XCCs, PRED_EXEC can name 1 to 8",
                       topology.gfx, "");
    if (topology.cus_per_engine < 1 || topology.cus_per_engine > 16)
        return invalid("the chip has " + std::to_string(topology.cus_per_engine) +
                           " CUs per shader engine, gfx9 has 1 to 16",
                       topology.gfx, "");
    if (topology.engines_per_xcc < 1 || topology.engines_per_xcc > kMaxEngines / topology.xccs)
        return invalid("the chip has " + std::to_string(topology.xccs) + " x " +
                           std::to_string(topology.engines_per_xcc) +
                           " shader engines, a mask can name 1 to 64",
                       topology.gfx, "");
    return {};
}

Result<void> check_counters(const TraceConfig& config) {
    if (config.counters.size() > kMaxTraceCounters)
        return invalid(std::to_string(config.counters.size()) +
                           " counters were asked for, at most 8 fit into a trace",
                       "counters", "");
    for (const TraceCounter& counter : config.counters) {
        if (counter.id > 0x1FF)
            return invalid("counter id " + std::to_string(counter.id) + " is over 511", "counters",
                           "");
        if (counter.simd_mask == 0 || counter.simd_mask > 0xF)
            return invalid("counter " + std::to_string(counter.id) + " has SIMD mask " +
                               format_hex(counter.simd_mask) + ", expected 0x1 to 0xf",
                           "counters", "");
    }
    if (config.counter_rate > 31)
        return invalid("counter rate " + std::to_string(config.counter_rate) + " is over 31",
                       "counters", "");
    return {};
}

Result<void> check_ring(const TraceConfig& config) {
    if (config.buffers < 1 || config.buffers > kMaxTraceBuffers)
        return invalid(std::to_string(config.buffers) + " buffers were asked for, 1 to 16 work",
                       "buffers", "");
    if (config.buffers == 1) return {};
    const bool several = config.several_engines && config.dialect == Dialect::kWavetap;
    if (selected_count(config) != 1 && !several)
        return invalid("a ring of " + std::to_string(config.buffers) + " buffers cannot serve " +
                           std::to_string(selected_count(config)) + " shader engines",
                       "buffers",
                       "select one shader engine, use one buffer, or allow several at once "
                       "(--stream-engines, several_engines)");
    if (recorded(config))
        return invalid("aqlprofile of 2025 has no ring of buffers", "buffers",
                       "use one buffer, or wavetap's own streams");
    return {};
}

/// Bytes an engine may have: gfx11's read-back keeps 29 bits of a difference.
std::uint64_t engine_bytes_limit(const TraceTopology& topology) {
    return generation_of(topology.gfx) == Generation::kGfx11 ? 512 * kMiB : kEngineBytesLimit;
}

constexpr std::uint64_t kAddressLimit = std::uint64_t{1} << 48;

Result<void> check_output(const TraceConfig& config, std::uint64_t va) {
    if (va == 0 || va % kPage != 0)
        return invalid("the output buffer at " + format_hex(va) + " is not aligned to 4 KiB",
                       "output buffer", "the BASE register holds address bits 47:12");
    if (va >= kAddressLimit || config.buffer_bytes > kAddressLimit - va)
        return invalid("the output buffer at " + format_hex(va) + " ends over 2^48",
                       "output buffer", "the BASE register holds address bits 47:12");
    return {};
}

Result<void> check_memory(const TraceTopology& topology, const TraceConfig& config,
                          const TraceMemory& memory) {
    if (memory.extra_output_va.size() + 1 != config.buffers)
        return invalid(std::to_string(memory.extra_output_va.size() + 1) +
                           " output buffers were given for a ring of " +
                           std::to_string(config.buffers),
                       "output buffer", "");
    WAVETAP_CHECK_OK(check_output(config, memory.output_va));
    for (const std::uint64_t va : memory.extra_output_va)
        WAVETAP_CHECK_OK(check_output(config, va));
    if (memory.control_va == 0 || memory.control_va % kControlAlignment != 0)
        return invalid("the control block at " + format_hex(memory.control_va) +
                           " is not aligned to 256 bytes",
                       "control block", "cache flushes cover units of 256 bytes");
    const std::uint64_t bytes = control_bytes(topology, config.dialect);
    if (memory.control_va > kAddressLimit - bytes)
        return invalid("the control block at " + format_hex(memory.control_va) + " ends over 2^48",
                       "control block", "");
    return {};
}

} // namespace

ControlLayout control_layout(Dialect dialect) {
    ControlLayout layout;
    if (dialect == Dialect::kJun25) layout.entry_bytes = 16;
    if (dialect == Dialect::kAug25) layout.entry_bytes = 32;
    if (dialect == Dialect::kRead26) {
        layout.entry_bytes = 40;
        layout.swap_clock = layout.end_clock;
    }
    return layout;
}

std::uint64_t control_bytes(const TraceTopology& topology, Dialect dialect) {
    const std::uint64_t used =
        std::uint64_t{engine_count(topology)} * control_layout(dialect).entry_bytes;
    if (dialect == Dialect::kWavetap)
        return (used + kControlAlignment - 1) / kControlAlignment * kControlAlignment;
    return used + 0x100;
}

std::uint64_t engine_entry_offset(Dialect dialect, std::uint32_t se) {
    return std::uint64_t{se} * control_layout(dialect).entry_bytes;
}

std::uint64_t clock_entry_offset(const TraceTopology& topology, Dialect dialect,
                                 std::uint32_t xcc) {
    const bool own = dialect == Dialect::kWavetap;
    return engine_entry_offset(dialect, own ? xcc * topology.engines_per_xcc : xcc);
}

Result<void> check_config(const TraceTopology& topology, const TraceConfig& config) {
    WAVETAP_CHECK_OK(check_topology(topology));
    const std::uint32_t engines = engine_count(topology);
    const std::uint64_t all = engines == kMaxEngines ? ~std::uint64_t{0} : (1ULL << engines) - 1;
    if (config.se_mask == 0)
        return invalid("no shader engine is selected", "SE mask", "SE mask 0x1 selects the first");
    if ((config.se_mask & ~all) != 0)
        return invalid("SE mask " + format_hex(config.se_mask) + " names an engine that " +
                           topology.gfx + " lacks",
                       "SE mask", "all of its engines are " + format_hex(all));
    if (config.target_cu > kMaxTargetCu)
        return invalid("target CU " + std::to_string(config.target_cu) + " is over 15", "target CU",
                       "");
    if (config.simd_mask == 0 || config.simd_mask >= 1U << kSimds)
        return invalid("SIMD mask " + format_hex(config.simd_mask) +
                           " is not one of 0x1 to 0xf (SIMD 0 to 3)",
                       "SIMD mask", "");
    if (config.clock_khz > kMaxMarkerData)
        return invalid("clock frequency " + std::to_string(config.clock_khz) +
                           " kHz is over 1048575",
                       "clock", "");
    WAVETAP_CHECK_OK(check_ring(config));
    if (generation_of(topology.gfx) != Generation::kGfx9)
        WAVETAP_CHECK_OK(rdna::check(topology, config));
    return check_counters(config);
}

Result<std::uint64_t> capacity_per_engine(const TraceTopology& topology,
                                          const TraceConfig& config) {
    WAVETAP_CHECK_OK(check_config(topology, config));
    const std::uint64_t count = selected_count(config);
    const std::uint64_t lost = unselected_bytes(topology, config);
    const std::uint64_t limit = engine_bytes_limit(topology);
    const std::uint64_t smallest = count * kMinEngineBytes + lost;
    const std::uint64_t largest = count * (limit - kPage) + lost;
    const std::uint64_t usable = config.buffer_bytes > lost ? config.buffer_bytes - lost : 0;
    const std::uint64_t capacity = usable / count / kPage * kPage;
    const std::string engines = std::to_string(count) + (count == 1 ? " engine" : " engines");
    if (capacity < kMinEngineBytes)
        return invalid("a buffer of " + format_size(config.buffer_bytes) + " is too small for " +
                           engines,
                       "buffer size", "the smallest buffer that works is " + format_size(smallest));
    if (capacity >= limit)
        return invalid("a buffer of " + format_size(config.buffer_bytes) + " is too large for " +
                           engines,
                       "buffer size", "the largest buffer that works is " + format_size(largest));
    return capacity;
}

Result<std::uint64_t> engine_offset(const TraceTopology& topology, const TraceConfig& config,
                                    std::uint32_t se) {
    WAVETAP_TRY(const std::uint64_t capacity, capacity_per_engine(topology, config));
    if (se >= engine_count(topology) || (config.se_mask >> se & 1) == 0)
        return invalid("shader engine " + std::to_string(se) + " is not selected by mask " +
                           format_hex(config.se_mask),
                       "shader engine", "");
    const std::uint64_t below = (std::uint64_t{1} << se) - 1;
    const auto selected = static_cast<std::uint64_t>(std::popcount(config.se_mask & below));
    const std::uint64_t gaps = unselected_bytes(topology, config) != 0 ? se - selected : 0;
    return selected * capacity + gaps * kPage;
}

Result<std::vector<std::uint32_t>>
build_start(const TraceTopology& topology, const TraceConfig& config, const TraceMemory& memory) {
    WAVETAP_TRY(const std::uint64_t capacity, capacity_per_engine(topology, config));
    WAVETAP_CHECK_OK(check_memory(topology, config, memory));
    if (generation_of(topology.gfx) != Generation::kGfx9)
        return rdna::start(topology, config, memory, capacity);
    return Gfx9StreamBuilder(topology, config, memory, capacity).start();
}

Result<std::vector<std::uint32_t>>
build_stop(const TraceTopology& topology, const TraceConfig& config, const TraceMemory& memory) {
    WAVETAP_TRY(const std::uint64_t capacity, capacity_per_engine(topology, config));
    WAVETAP_CHECK_OK(check_memory(topology, config, memory));
    if (generation_of(topology.gfx) != Generation::kGfx9)
        return rdna::stop(topology, config, memory, capacity);
    return Gfx9StreamBuilder(topology, config, memory, capacity).stop();
}

Result<std::vector<std::uint32_t>>
build_query(const TraceTopology& topology, const TraceConfig& config, const TraceMemory& memory) {
    WAVETAP_TRY(const std::uint64_t capacity, capacity_per_engine(topology, config));
    WAVETAP_CHECK_OK(check_memory(topology, config, memory));
    const bool gfx9 = generation_of(topology.gfx) == Generation::kGfx9;
    if (config.buffers < 2 && !(gfx9 && config.dialect == Dialect::kWavetap))
        return invalid("a query needs a ring of buffers", "buffers", "");
    if (!gfx9) return rdna::query(topology, config, memory, capacity);
    return Gfx9StreamBuilder(topology, config, memory, capacity).query();
}

Result<std::vector<std::uint32_t>> build_swap(const TraceTopology& topology,
                                              const TraceConfig& config, const TraceMemory& memory,
                                              std::uint32_t se, std::uint64_t swap) {
    WAVETAP_TRY(const std::uint64_t capacity, capacity_per_engine(topology, config));
    WAVETAP_CHECK_OK(check_memory(topology, config, memory));
    if (config.buffers < 2) return invalid("a swap needs a ring of buffers", "buffers", "");
    WAVETAP_CHECK_OK(engine_offset(topology, config, se));
    if (generation_of(topology.gfx) != Generation::kGfx9)
        return rdna::swap(topology, config, memory, capacity, se, swap);
    return Gfx9StreamBuilder(topology, config, memory, capacity).swap(se, swap);
}

std::uint64_t active_output(const TraceMemory& memory, std::uint64_t swaps) {
    const std::uint64_t index = swaps % (memory.extra_output_va.size() + 1);
    return index == 0 ? memory.output_va : memory.extra_output_va[index - 1];
}

std::vector<std::uint32_t> build_marker(const TraceTopology&, const CodeObjectMarker& marker) {
    enum Type : std::uint32_t {
        kTail,
        kSizeLow,
        kAddressLow,
        kAddressHigh,
        kSizeHigh,
        kIdLow,
        kIdHigh,
    };
    std::vector<std::uint32_t> stream;
    Gfx9Encoder encoder(stream);
    const auto word = [&](Type type, std::uint32_t payload) {
        encoder.set_uconfig(gfx9::kGrbmGfxIndex, gfx9::kGrbmBroadcast);
        encoder.set_uconfig(gfx9::kSqThreadTraceUserdata2, kMarkerCodeObject | type << 8);
        encoder.set_uconfig(gfx9::kSqThreadTraceUserdata2, payload);
    };
    if (!marker.unload) {
        word(kAddressLow, low(marker.address));
        word(kAddressHigh, high(marker.address));
        word(kSizeLow, low(marker.size));
        word(kSizeHigh, high(marker.size));
    }
    const bool big = marker.id >= kFirstBigId;
    if (big) {
        word(kIdLow, low(marker.id));
        word(kIdHigh, high(marker.id));
    }
    const std::uint32_t id = big ? 0 : low(marker.id) << 2;
    word(kTail, id | (marker.from_start ? 2U : 0U) | (marker.unload ? 1U : 0U));
    return stream;
}

std::uint64_t gfx9_header(const TraceTopology& topology, const TraceConfig& config,
                          std::uint32_t se) {
    std::uint64_t version = 4;
    std::uint64_t simd_mask = 0xF;
    if (!recorded(config)) {
        if (topology.gfx == "gfx942") version = 5;
        if (topology.gfx == "gfx950") version = 6;
        if (config.dialect == Dialect::kWavetap) simd_mask = config.simd_mask & 0xF;
    }
    const std::uint64_t ring = config.buffers > 1 ? kHeaderRing : 0;
    return 0x11 | version << 13 | simd_mask << 16 | std::uint64_t{config.target_cu & 0x1F} << 20 |
           std::uint64_t{se & 0x3F} << 26 | ring;
}

std::uint32_t command_cache_policy(const TraceTopology& topology) {
    return generation_of(topology.gfx) == Generation::kGfx12 ? 3 : 1;
}

void fill_vendor_packet(std::uint32_t (&packet)[16], std::uint64_t command_va, std::uint32_t dwords,
                        std::uint32_t cache_policy) {
    constexpr std::uint32_t kFormatIndirectBuffer = 1U << 16;
    constexpr std::uint32_t kIndirectBufferValid = 0x00800000;
    std::memset(packet, 0, sizeof packet);
    packet[0] = kFormatIndirectBuffer;
    packet[1] = packet_header(Opcode::kIndirectBuffer, 4);
    packet[2] = low(command_va);
    packet[3] = high(command_va);
    packet[4] = kIndirectBufferValid | (cache_policy & 3) << 28 | (dwords & 0xFFFFF);
    packet[5] = 10;
}

QueryResult interpret_query(const TraceTopology& topology, std::uint32_t status,
                            std::uint32_t wptr) {
    if (generation_of(topology.gfx) != Generation::kGfx9) return rdna::interpret(status, wptr);
    QueryResult result;
    result.needs_swap = (status & kStatusFull) != 0;
    result.running = (status & kStatusBusy) != 0;
    result.write_error = (status & kStatusUtcError) != 0;
    result.read_offset_bytes = (wptr >> 30) * 2;
    result.bytes = (wptr & kWptrMask) * kWptrUnit;
    return result;
}

EngineResult interpret_control(const TraceTopology& topology, const TraceConfig&,
                               const ControlWords& words, std::uint64_t capacity_bytes) {
    const Generation generation = generation_of(topology.gfx);
    if (generation != Generation::kGfx9) return rdna::interpret(generation, words, capacity_bytes);
    EngineResult result;
    result.bytes = (words.wptr & kWptrMask) * kWptrUnit;
    result.full = (words.status & kStatusFull) != 0 || result.bytes >= capacity_bytes;
    result.write_error = (words.status & kStatusUtcError) != 0;
    if (result.bytes > capacity_bytes) result.bytes = capacity_bytes;
    return result;
}

EngineResult interpret_control(const TraceTopology& topology, const TraceConfig& config,
                               std::uint32_t status, std::uint32_t wptr,
                               std::uint64_t capacity_bytes) {
    return interpret_control(topology, config, ControlWords{status, wptr, 0, 0}, capacity_bytes);
}

} // namespace wavetap::pm4
