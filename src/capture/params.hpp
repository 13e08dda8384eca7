// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "pm4/thread_trace.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

// What a client may ask for, and the only form in which it is ever stored.

namespace wavetap::capture {

/// What capture must know of a GPU agent. Filled by the backend.
struct AgentTopology {
    std::string gfx; ///< "gfx90a"
    std::uint32_t xccs = 1;
    std::uint32_t engines_per_xcc = 8;
    std::uint32_t cus_per_engine = 14;
    std::uint32_t simds_per_cu = 4;
    std::uint32_t compute_units = 0;        ///< working ones of all engines; 0 = unknown
    std::uint64_t counter_hz = 100'000'000; ///< constant counter
};

inline std::uint32_t engine_count(const AgentTopology& agent) {
    return agent.xccs * agent.engines_per_xcc;
}
pm4::TraceTopology pm4_topology(const AgentTopology& agent);
/// gfx10 and later: the target is a WGP (two CUs) and its SIMD is named by a number, one at a time.
bool names_one_simd(const AgentTopology& agent);
/// Targets that an engine has: CUs on gfx9, WGPs later.
std::uint32_t targets_per_engine(const AgentTopology& agent);
/// Whether a trace with N buffers ends when the hardware had no room, unless the client says what to do.
/// By generation: AMD's tracer gave up touching a unit after an overflow, since hardware hung (which
/// chips is not told), so it ends; on gfx11 stopping, draining and arming again is reported to work.
bool ends_on_full(const AgentTopology& agent);
/// SIMDs of one target.
std::uint32_t simds_per_target(const AgentTopology& agent);

/// A performance counter of the SQ whose samples go into the trace (gfx9).
struct PerfCounterParam {
    std::uint64_t id = 0;          ///< PERF_SEL; the chip must have it (pm4/perf_counters.hpp)
    std::uint64_t simd_mask = 0xf; ///< bit i = SIMD i; not 0
};

/// One trace configuration as the client wrote it: every value 64 bits wide, nothing checked.
struct TraceParams {
    std::uint64_t se_mask = 1;   ///< bit i = shader engine i
    std::uint64_t target_cu = 1; ///< CU (gfx9) or WGP (gfx10+) with detail, 0..15
    /// Bit i = SIMD i, on every chip. Chips that take one SIMD: a single bit, or all of them (the
    /// default), which means SIMD 0 there.
    std::uint64_t simd_mask = 0xf;
    std::uint64_t buffer_bytes = 128ull << 20; ///< of all selected engines together
    std::uint64_t buffers = 1;                 ///< 1, or 3..16: so many staging slots
    /// 1: several engines may stream through N buffers at once (silicon has not confirmed it).
    std::uint64_t several_engines = 0;
    /// N buffers: most bytes a second that one engine writes; how often the hub looks follows.
    std::uint64_t stream_rate = 60'000'000'000;
    std::uint64_t as_ready = 0; ///< N buffers, 1: handlers may be called at once, out of order
    /// N buffers, when the hardware had no room: 0: the trace starts again, 1: the run ends, and the
    /// trace unit is touched no more; 2: as ends_on_full() says of the chip.
    std::uint64_t end_on_full = kFullAsChip;
    static constexpr std::uint64_t kFullRestarts = 0, kFullEnds = 1, kFullAsChip = 2;
    std::uint64_t detail = 1;        ///< 0: occupancy only
    std::uint64_t clock_markers = 1; ///< 1: constant-clock samples in the stream
    std::uint64_t dispatch = 0;      ///< 1: for traces of single dispatches, with one buffer
    std::uint64_t serialize_all =
        0; ///< dispatch, 1: dispatches that are not traced take turns, too
    /// gfx9: the first `perf_counter_count` of these are sampled on every CU, if there are any and
    /// `perf_period` is not 0. At most 8.
    std::array<PerfCounterParam, pm4::kMaxTraceCounters> perf_counters{};
    std::uint64_t perf_counter_count = 0;
    std::uint64_t perf_period = 0;       ///< 1..32: time between samples, relative; 0: off
    std::uint64_t perf_exclude_mask = 0; ///< 32 bits, bit i = CU i: its samples are left out
};

/// How a context with N buffers streams.
struct StreamParams {
    std::uint64_t rate = 60'000'000'000; ///< bytes a second
    bool as_ready = false, end_on_full = false;
};

/// Parameters that the packet builder is known to accept on one agent. A value.
class ValidatedParams {
  public:
    /// Checks the full 64-bit values before any of them is narrowed, then every rule of the packet
    /// builder. Errors: kInvalidArgument (names the parameter, its value and the range, or the
    /// smallest buffer that works), kUnsupported (chip, or a feature that this version lacks).
    static Result<ValidatedParams> create(const TraceParams& params, const AgentTopology& agent);

    const pm4::TraceConfig& config() const { return config_; }
    std::uint32_t buffers() const { return buffers_; }
    /// Output slots that its dispatches take in turn; 0: not for single dispatches.
    std::uint32_t lease_slots() const { return lease_slots_; }
    /// Dispatches of the agent run one at a time, traced or not.
    bool serialize_all() const { return serialize_all_; }
    const StreamParams& stream() const { return stream_; }

  private:
    ValidatedParams() = default;
    pm4::TraceConfig config_;
    std::uint32_t buffers_ = 1, lease_slots_ = 0;
    bool serialize_all_ = false;
    StreamParams stream_;
};

/// Sets one parameter by its command-line and C-ABI name ("se_mask", "target_cu", ...).
/// Errors: kInvalidArgument for an unknown name.
Result<void> set_param(TraceParams& params, std::string_view name, std::uint64_t value);

} // namespace wavetap::capture
