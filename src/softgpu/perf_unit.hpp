// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <utility>

// The SQ performance counters of one shader engine (gfx9) as far as they go into the thread trace:
// up to eight, each on every compute unit. Registers: format notes pm4-sqtt section 4; the PERF token:
// sqtt-format section 4. How sampling works is not documented: docs/hardware.md says what is assumed.

namespace wavetap::softgpu {

/// What an instruction counts as, for PerfUnit.
enum PerfClass : std::uint32_t {
    kPerfValu = 1,
    kPerfMfma = 2, ///< beside kPerfValu
    kPerfSalu = 4,
    kPerfSmem = 8,
    kPerfVmem = 16, ///< vector memory other than flat
    kPerfFlat = 32,
    kPerfRead = 64, ///< of vector memory
    kPerfWrite = 128,
    kPerfLds = 256,
    kPerfBranch = 512,
    kPerfMessage = 1024,
};

/// One sample of one compute unit: what a bank of four counters counted since the sample before.
struct PerfSample {
    std::uint64_t latched = 0; ///< events before this clock are in it
    std::uint8_t cu = 0, bank = 0;
    std::array<std::uint16_t, 4> counters{}; ///< at most kLargest each
    static constexpr std::uint32_t kLargest = 0x1FFF;
    /// Clock of its PERF token: units are read out one after the other.
    std::uint64_t token_clock() const { return latched + 4ULL * cu; }
};

/// How counters are sampled.
struct PerfSetup {
    std::uint32_t period = 0;  ///< 1..32
    std::uint32_t cu_mask = 0; ///< bit i: CU i is sampled
    std::array<std::uint32_t, 8> selects{};
};

/// Whether the model counts what AMD calls `name` ("SQ_WAVES").
bool models_counter(std::string_view name);

/// A value of the trace unit; not thread safe. Clocks are shader clocks, multiples of 4, and never run
/// backwards. Waves are reported by whoever runs them, only those whose queue has its performance
/// counters enabled.
class PerfUnit {
  public:
    static constexpr unsigned kCounters = 8, kBankSize = 4;
    static constexpr std::uint64_t kNoSample = ~std::uint64_t{0};

    explicit PerfUnit(unsigned cus = 14) : cus_(cus < kMostCus ? cus : kMostCus) {}

    /// CP_PERFMON_CNTL, RLC_PERFMON_CLK_CNTL and the SQ_PERFCOUNTER registers.
    static bool owns(std::uint32_t reg);
    /// Errors: kUnsupported for a counter or control bits that are not modelled, naming them.
    Result<void> write_register(std::uint32_t reg, std::uint32_t value, std::uint64_t now);
    /// Where samples go: nowhere, or those of the CUs in `cu_mask` into the trace.
    void set_sink(bool on, std::uint32_t cu_mask, std::uint64_t now);

    /// Events are counted now.
    bool counting() const { return counting_; }
    /// What counting that has begun since the last call counts.
    std::optional<PerfSetup> take_begin() { return std::exchange(begun_, std::nullopt); }
    /// latch() would do something.
    bool due(std::uint64_t now) const { return counting_ && now >= next_latch_; }
    /// Takes every sample that is due at or before `now`. Before any event at `now`.
    void latch(std::uint64_t now);
    /// Clock of the oldest sample's token; kNoSample if there is none.
    std::uint64_t oldest() const {
        return samples_.empty() ? kNoSample : samples_.front().token_clock();
    }
    PerfSample take() {
        const PerfSample sample = samples_.front();
        samples_.pop_front();
        return sample;
    }

    void wave_started(unsigned cu, unsigned simd, unsigned threads, std::uint64_t now);
    void wave_ended(unsigned cu, unsigned simd, std::uint64_t now);
    /// An instruction took an issue slot, and its unit for so many quads.
    void issued(unsigned cu, unsigned simd, std::uint32_t classes, std::uint32_t quads);

  private:
    static constexpr unsigned kMostCus = 16, kSimds = 4;
    /// What a counter counts.
    enum class Source : std::uint8_t {
        kNothing,
        kWaves,      ///< waves that start with at most so many threads
        kFullWaves,  ///< waves that start with 64
        kItems,      ///< threads of waves that start
        kIssued,     ///< instructions of some classes
        kQuads,      ///< quads for which their units are busy
        kClocks,     ///< clocks of those
        kBusyClocks, ///< clocks in which a wave is there
        kBusyQuads,
        kWaveQuads, ///< quads of each wave
    };
    struct Rule {
        std::string_view name;
        Source source = Source::kNothing;
        std::uint32_t detail = 0; ///< PerfClass bits, or threads
    };
    struct Counter {
        Rule rule;
        std::uint32_t simd_mask = 0;
        std::uint32_t select = 0; ///< register
    };
    struct Cu {
        std::array<std::uint64_t, kCounters> counts{};
        std::array<std::uint16_t, kSimds> resident{};
        std::uint64_t since = 0; ///< levels are in `counts` up to here
    };

    static const Rule* rule_of(std::string_view name);
    friend bool models_counter(std::string_view name);
    Result<void> select(unsigned index, std::uint32_t value);
    void control(std::uint32_t value, std::uint64_t now);
    void update(std::uint64_t now);
    void restart(std::uint64_t now);
    void settle(Cu& cu, std::uint64_t now);
    void sample(std::uint64_t clock, unsigned bank);
    std::uint64_t step() const;
    unsigned banks() const;
    bool idle() const;

    unsigned cus_;
    std::array<Counter, kCounters> counters_{};
    std::array<Cu, kMostCus> units_{};
    std::uint32_t control_ = 0, cu_mask_ = 0, sink_mask_ = 0, state_ = 0;
    bool clock_on_ = false, sink_on_ = false;
    bool counting_ = false;
    std::uint64_t origin_ = 0; ///< of the samples: when counting was switched on
    std::uint64_t next_latch_ = 0;
    std::deque<PerfSample> samples_;
    std::optional<PerfSetup> begun_;
};

} // namespace wavetap::softgpu
