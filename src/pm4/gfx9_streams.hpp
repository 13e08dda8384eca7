// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "pm4/packets.hpp"
#include "pm4/thread_trace.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

// The command streams of gfx9, the inside of thread_trace.hpp's builders. Pure functions, any thread.

namespace wavetap::pm4 {

inline constexpr std::uint64_t kPage = 4096;
inline constexpr std::uint32_t kStatusBusy = 1U << 30; ///< of STATUS

inline std::uint32_t low(std::uint64_t value) {
    return static_cast<std::uint32_t>(value);
}
inline std::uint32_t high(std::uint64_t value) {
    return static_cast<std::uint32_t>(value >> 32);
}

inline std::uint32_t engine_count(const TraceTopology& topology) {
    return topology.xccs * topology.engines_per_xcc;
}

/// The library as it was run in 2025.
inline bool recorded(const TraceConfig& config) {
    return config.dialect == Dialect::kJun25 || config.dialect == Dialect::kAug25;
}

/// Builds one stream of gfx9; a value for one call. start() and stop() are in gfx9_streams.cpp, what rings
/// of buffers need besides in gfx9_ring.cpp. Preconditions: thread_trace.cpp's checks passed; `capacity`
/// is capacity_per_engine(). The arguments outlive it.
class Gfx9StreamBuilder {
  public:
    Gfx9StreamBuilder(const TraceTopology& topology, const TraceConfig& config,
                      const TraceMemory& memory, std::uint64_t capacity)
        : topology_(topology), config_(config), memory_(memory), capacity_(capacity),
          layout_(control_layout(config.dialect)), encoder_(stream_) {}

    std::vector<std::uint32_t> start();
    std::vector<std::uint32_t> stop();
    std::vector<std::uint32_t> query();
    std::vector<std::uint32_t> swap(std::uint32_t se, std::uint64_t index);

  private:
    void broadcast() { encoder_.set_uconfig(gfx9::kGrbmGfxIndex, gfx9::kGrbmBroadcast); }
    /// aqlprofile waits for its own queue's waves at every step. Ours never does: it would wait for
    /// kernels of others that run while a trace starts or stops.
    void recorded_wait_idle() {
        if (recorded(config_)) encoder_.wait_idle();
    }
    void userdata2(std::uint32_t word) {
        encoder_.set_uconfig(gfx9::kSqThreadTraceUserdata2, word);
    }

    bool selected(std::uint32_t se) const { return (config_.se_mask >> se & 1) != 0; }
    std::size_t begin_xcc(std::uint32_t xcc) {
        return topology_.xccs > 1 ? encoder_.begin_predicate(1U << xcc) : 0;
    }
    void end_xcc(std::size_t token) {
        if (topology_.xccs > 1) encoder_.end_predicate(token);
    }

    void counters_on();
    void counters_off();
    void arm(std::uint32_t se, std::uint64_t va);
    void save(std::uint32_t se);
    void preamble();
    void clocks(std::uint32_t field);
    void clock_of_xcc(std::uint32_t xcc, std::uint32_t field);
    void base(std::uint64_t va);
    void select_engine(std::uint32_t se);
    bool read_2026() const { return config_.dialect == Dialect::kRead26; }
    void wait_not_busy();
    std::vector<std::uint32_t> read_2026_query();
    std::vector<std::uint32_t> read_2026_swap(std::uint32_t se, std::uint64_t index);
    void flush_control();
    void flush_output();
    /// Where the engine's part of every buffer of a ring begins.
    std::uint64_t part(std::uint32_t se) const {
        const std::uint64_t below = config_.se_mask & ((std::uint64_t{1} << se) - 1);
        return static_cast<std::uint64_t>(std::popcount(below)) * capacity_;
    }
    void store_query(std::uint32_t se);
    std::uint64_t used_control_bytes() const {
        return std::uint64_t{engine_count(topology_)} * layout_.entry_bytes;
    }

    const TraceTopology& topology_;
    const TraceConfig& config_;
    const TraceMemory& memory_;
    std::uint64_t capacity_;
    ControlLayout layout_;
    std::vector<std::uint32_t> stream_;
    Gfx9Encoder encoder_;
};

} // namespace wavetap::pm4
