// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// Command streams that start, stop and mark a thread trace on gfx9 (docs/formats/
// pm4-thread-trace.md) and on gfx10.3, gfx11.0 and gfx12.0 (docs/formats/
// pm4-thread-trace-rdna.md). Everything here is a pure function: no state, any thread.

namespace wavetap::pm4 {

/// Whose streams to build: our own, or word for word those of AMD's aqlprofile of June or August
/// 2025, or those of its 2026 sources as re-created by reading them. What kWavetap does differently,
/// and why, is listed in docs/formats/pm4-thread-trace.md and pm4-thread-trace-rdna.md.
enum class Dialect : std::uint8_t { kWavetap, kJun25, kAug25, kRead26 };

/// Which family of registers and tokens a chip has.
enum class Generation : std::uint8_t { kUnknown, kGfx9, kGfx10, kGfx11, kGfx12 };

/// kUnknown for chips whose registers were not established (gfx10.1, gfx11.5, gfx12.5 among them).
Generation generation_of(const std::string& gfx);

/// What the builder must know of a chip.
struct TraceTopology {
    std::string gfx; ///< "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201", …
    std::uint32_t xccs = 1;
    std::uint32_t engines_per_xcc = 8;
    std::uint32_t cus_per_engine = 14; ///< only for the counter interval that a stream announces
};

/// An SQ counter whose samples go into the trace (gfx9).
struct TraceCounter {
    std::uint32_t id = 0;          ///< PERF_SEL, 0..511
    std::uint32_t simd_mask = 0xf; ///< bit i = SIMD i
    friend bool operator==(const TraceCounter&, const TraceCounter&) = default;
};
inline constexpr std::size_t kMaxTraceCounters = 8;

/// The counters of a trace, in order. A value that allocates nothing: what is added beyond
/// kMaxTraceCounters is counted, so that check_config() refuses it, and not kept.
class CounterList {
  public:
    void push_back(const TraceCounter& counter) {
        if (size_ < list_.size()) list_[size_] = counter;
        ++size_;
    }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    const TraceCounter& operator[](std::size_t i) const { return list_[i]; }
    const TraceCounter* begin() const { return list_.data(); }
    const TraceCounter* end() const {
        return list_.data() + (size_ < list_.size() ? size_ : list_.size());
    }
    friend bool operator==(const CounterList&, const CounterList&) = default;

  private:
    std::array<TraceCounter, kMaxTraceCounters> list_{};
    std::size_t size_ = 0;
};
inline constexpr std::uint32_t kMaxTraceBuffers = 16;

struct TraceConfig {
    std::uint64_t se_mask = 1;   ///< global engines (XCC * engines_per_xcc + engine)
    std::uint32_t target_cu = 1; ///< CU (gfx9) or WGP (gfx10+), 0..15
    /// Bit i = SIMD i. The gfx9 register takes the mask; later ones take a number, so there exactly
    /// one bit must be set.
    std::uint32_t simd_mask = 0xf;
    std::uint64_t buffer_bytes = 0; ///< all selected engines together; each buffer of a ring
    /// > 1: the hardware goes on in the next of this many buffers when one is full (gfx9 and gfx12;
    /// not in the dialects of 2025). At most kMaxTraceBuffers.
    std::uint32_t buffers = 1;
    /// A ring may serve several engines: each has its part of every buffer and moves on by itself.
    /// Not confirmed on silicon; AMD's own streams allow one engine.
    bool several_engines = false;
    bool detail = true;        ///< false: occupancy only
    bool clock_markers = true; ///< constant-clock samples through USERDATA_3
    Dialect dialect = Dialect::kWavetap;
    /// Frequency of the constant clock, announced in the stream (kWavetap with clock markers);
    /// 0 = not announced. At most 0xFFFFF.
    std::uint32_t clock_khz = 100'000;
    CounterList counters;                       ///< at most kMaxTraceCounters
    std::uint32_t counter_rate = 0;             ///< field CNTR_RATE, 0..31: period - 1
    std::uint32_t counter_cu_mask = 0xFFFFFFFF; ///< SH0 15:0, SH1 31:16; 1 = sampled
};

/// GPU addresses that are baked into the streams.
struct TraceMemory {
    std::uint64_t output_va = 0;  ///< buffer_bytes long, 4 KiB aligned
    std::uint64_t control_va = 0; ///< control_bytes() long, 256-byte aligned, host visible
    std::vector<std::uint64_t> extra_output_va; ///< the other buffers of a ring, as output_va
};

/// One engine's entry of the control block; where each field lies. The clocks are those of an XCC:
/// see clock_entry_offset(). Every dialect stores status, counter and wptr at the same place.
struct ControlLayout {
    std::uint32_t entry_bytes = 64;
    std::uint32_t status = 0, counter = 4, wptr = 8;
    std::uint32_t start_clock = 16, end_clock = 24;   ///< 64 bit; kJun25 reads no clock
    std::uint32_t query_status = 32, query_wptr = 36; ///< build_query(); gfx12: STATUS2
    std::uint32_t swap_clock = 40;                    ///< 64 bit, build_swap()
    std::uint32_t status2 = 12;                       ///< gfx12; the dialects of 2025 store none
};
ControlLayout control_layout(Dialect dialect);
std::uint64_t control_bytes(const TraceTopology& topology, Dialect dialect);
/// Byte offset in the control block of global engine `se`'s entry.
std::uint64_t engine_entry_offset(Dialect dialect, std::uint32_t se);
/// Byte offset of the entry whose start_clock and end_clock are those of `xcc`: the entry of the
/// XCC's first engine (kWavetap), or entry number `xcc` (aqlprofile).
std::uint64_t clock_entry_offset(const TraceTopology& topology, Dialect dialect, std::uint32_t xcc);

/// Everything that can be wrong with a configuration, apart from addresses. Errors:
/// kUnsupported (chip), kInvalidArgument (naming the value and the limit).
Result<void> check_config(const TraceTopology& topology, const TraceConfig& config);

/// Capacity of each selected engine's part of the buffer (4 KiB multiple).
/// Errors: kInvalidArgument, naming the smallest or largest buffer that works; check_config()'s.
Result<std::uint64_t> capacity_per_engine(const TraceTopology& topology, const TraceConfig& config);
/// Byte offset in the output buffer at which engine `se`'s part starts.
/// Errors: kInvalidArgument if `se` is not selected; capacity_per_engine()'s.
Result<std::uint64_t> engine_offset(const TraceTopology& topology, const TraceConfig& config,
                                    std::uint32_t se);

/// Errors: kInvalidArgument (every rule of check_config(), the buffer size, misaligned or too high
/// addresses), kUnsupported (chip).
Result<std::vector<std::uint32_t>> build_start(const TraceTopology&, const TraceConfig&,
                                               const TraceMemory&);
/// When its packet has completed, the bytes and the control block are in memory.
Result<std::vector<std::uint32_t>> build_stop(const TraceTopology&, const TraceConfig&,
                                              const TraceMemory&);

/// Stores STATUS and WPTR of every selected engine while the trace runs (query_status and
/// query_wptr). Errors: as build_start(), and kInvalidArgument without a ring, unless it is kWavetap's
/// of gfx9.
Result<std::vector<std::uint32_t>> build_query(const TraceTopology&, const TraceConfig&,
                                               const TraceMemory&);
/// Rings only: after engine `se` moved on for the `swap`th time (from 0), stores its STATUS and WPTR
/// as a query does, names the buffer behind the one it fills now and flushes its part of the one
/// that it left, active_output(memory, swap). Errors: as build_query(), and if `se` is not selected.
Result<std::vector<std::uint32_t>> build_swap(const TraceTopology&, const TraceConfig&,
                                              const TraceMemory&, std::uint32_t se,
                                              std::uint64_t swap);
/// The buffer that is being filled after `swaps` swaps: output_va, then the extra ones, and again.
std::uint64_t active_output(const TraceMemory& memory, std::uint64_t swaps);

struct CodeObjectMarker {
    std::uint64_t id = 0;
    std::uint64_t address = 0, size = 0;
    bool unload = false;
    bool from_start = false; ///< loaded before the trace began
};
/// Reaches every armed engine; the same words in every dialect. Ordered against kernels only by the
/// queue's barrier bits.
std::vector<std::uint32_t> build_marker(const TraceTopology&, const CodeObjectMarker&);

/// The 8 bytes that go in front of a gfx9 blob. kWavetap: the true SIMD mask and the chip's version
/// (4 gfx90a, 5 gfx942, 6 gfx950), bit 32 with a ring; aqlprofile: mask 0xF, and in 2025 version 4,
/// always. Later generations have no header.
std::uint64_t gfx9_header(const TraceTopology&, const TraceConfig&, std::uint32_t se);

/// Dwords 0..15 of the AQL vendor packet that runs a command buffer (header and completion signal
/// left to the caller: header bits are 0). `cache_policy` as command_cache_policy().
void fill_vendor_packet(std::uint32_t (&packet)[16], std::uint64_t command_va, std::uint32_t dwords,
                        std::uint32_t cache_policy = 1);
/// How the command buffer is read: 1 (stream) up to gfx11, 3 on gfx12.
std::uint32_t command_cache_policy(const TraceTopology& topology);

/// What STATUS (gfx12: STATUS2) and WPTR of an engine with a ring say: those of a query, of a swap, or
/// of a stop.
struct QueryResult {
    bool needs_swap = false; ///< the hardware has moved on
    bool running =
        false; ///< gfx9: BUSY, armed or still writing; gfx12: room is left or a buffer waits
    bool write_error = false;
    /// Where the first whole token begins in the buffer that it left (without needs_swap: in the one
    /// that it fills): 0, 2, 4, 6. The bytes before it end a token of the buffer before.
    std::uint32_t read_offset_bytes = 0;
    std::uint64_t bytes = 0; ///< in the buffer that it fills; its size = no room is left
};
QueryResult interpret_query(const TraceTopology&, std::uint32_t status, std::uint32_t wptr);

/// What a read-back of one engine's control entry says.
struct EngineResult {
    std::uint64_t bytes = 0; ///< valid bytes at the start of the engine's part
    bool full = false, write_error = false;
};
/// The words of one engine's control entry, and the address of its part of the buffer.
struct ControlWords {
    std::uint32_t status = 0, wptr = 0;
    std::uint32_t status2 = 0;   ///< gfx12
    std::uint64_t engine_va = 0; ///< needed on gfx11, whose WPTR is an address
};
/// WPTR counts 32 bytes, flag bits above it are ignored; bytes are clamped to the capacity, which
/// counts as full.
EngineResult interpret_control(const TraceTopology&, const TraceConfig&, const ControlWords&,
                               std::uint64_t capacity_bytes);
EngineResult interpret_control(const TraceTopology&, const TraceConfig&, std::uint32_t status,
                               std::uint32_t wptr, std::uint64_t capacity_bytes);

} // namespace wavetap::pm4
