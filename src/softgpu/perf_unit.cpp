// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/perf_unit.hpp"

#include "base/units.hpp"
#include "pm4/packets.hpp"
#include "pm4/perf_counters.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <string>

namespace wavetap::softgpu {

namespace {

namespace gfx9 = pm4::gfx9;

// The numbers are those of the one chip that is modelled.
constexpr std::string_view kChip = "gfx90a";

constexpr std::uint32_t kSelectMask = 0x1FF, kSimdShift = 24, kSimdMask = 0xF;
constexpr std::uint32_t kControlComputeStage = 1U << 6;
constexpr std::uint32_t kControlStages = 0x7F, kControlVmids = 0xFFFF0000;
constexpr std::uint32_t kControlRate = 0x1F, kRateShift = 8;
constexpr std::uint32_t kStart = 1;
constexpr std::uint32_t kAnyThreads = 64;
constexpr std::uint64_t kQuad = 4;

} // namespace

const PerfUnit::Rule* PerfUnit::rule_of(std::string_view name) {
    using enum Source;
    static constexpr Rule kRules[] = {
        {"SQ_WAVES", kWaves, kAnyThreads},
        {"SQ_WAVES_EQ_64", kFullWaves, 0},
        {"SQ_WAVES_LT_64", kWaves, 63},
        {"SQ_WAVES_LT_48", kWaves, 47},
        {"SQ_WAVES_LT_32", kWaves, 31},
        {"SQ_WAVES_LT_16", kWaves, 15},
        {"SQ_ITEMS", kItems, 0},
        {"SQ_BUSY_CYCLES", kBusyClocks, 0},
        {"SQ_BUSY_CU_CYCLES", kBusyQuads, 0},
        {"SQ_WAVE_CYCLES", kWaveQuads, 0},
        {"SQ_INSTS", kIssued, ~0U},
        {"SQ_INSTS_VALU", kIssued, kPerfValu},
        {"SQ_INSTS_MFMA", kIssued, kPerfMfma},
        {"SQ_INSTS_VMEM_WR", kIssued, kPerfWrite},
        {"SQ_INSTS_VMEM_RD", kIssued, kPerfRead},
        {"SQ_INSTS_VMEM", kIssued, kPerfVmem | kPerfFlat},
        {"SQ_INSTS_SALU", kIssued, kPerfSalu},
        {"SQ_INSTS_SMEM", kIssued, kPerfSmem},
        {"SQ_INSTS_FLAT", kIssued, kPerfFlat},
        {"SQ_INSTS_LDS", kIssued, kPerfLds},
        {"SQ_INSTS_BRANCH", kIssued, kPerfBranch},
        {"SQ_VALU_MFMA_BUSY_CYCLES", kClocks, kPerfMfma},
        {"SQ_ACTIVE_INST_ANY", kQuads, ~0U},
        {"SQ_ACTIVE_INST_VMEM", kQuads, kPerfVmem},
        {"SQ_ACTIVE_INST_LDS", kQuads, kPerfLds},
        {"SQ_ACTIVE_INST_VALU", kQuads, kPerfValu},
        {"SQ_ACTIVE_INST_SCA", kQuads, kPerfSalu | kPerfSmem},
        {"SQ_ACTIVE_INST_MISC", kQuads, kPerfBranch | kPerfMessage},
        {"SQ_ACTIVE_INST_FLAT", kQuads, kPerfFlat},
    };
    const auto* found = std::ranges::find(kRules, name, &Rule::name);
    return found == std::end(kRules) ? nullptr : found;
}

bool models_counter(std::string_view name) {
    return PerfUnit::rule_of(name) != nullptr;
}

bool PerfUnit::owns(std::uint32_t reg) {
    return reg == gfx9::kCpPerfmonCntl || reg == gfx9::kRlcPerfmonClkCntl ||
           reg == gfx9::kSqPerfcounterCtrl || reg == gfx9::kSqPerfcounterMask ||
           (reg >= gfx9::kSqPerfcounter0Select && reg < gfx9::kSqPerfcounter0Select + kCounters);
}

Result<void> PerfUnit::write_register(std::uint32_t reg, std::uint32_t value, std::uint64_t now) {
    latch(now);
    switch (reg) {
    case gfx9::kCpPerfmonCntl:
        control(value, now);
        break;
    case gfx9::kRlcPerfmonClkCntl:
        clock_on_ = (value & 1) != 0;
        break;
    case gfx9::kSqPerfcounterMask:
        cu_mask_ = value & 0xFFFF;
        break;
    case gfx9::kSqPerfcounterCtrl:
        if ((value & ~(kControlStages | kControlVmids | kControlRate << kRateShift)) != 0)
            return Error{ErrorCode::kUnsupported,
                         "SQ_PERFCOUNTER_CTRL " + format_hex(value) + " is not modelled",
                         "register " + format_hex(reg), ""};
        control_ = value;
        break;
    default:
        WAVETAP_CHECK_OK(select(reg - gfx9::kSqPerfcounter0Select, value));
        break;
    }
    counting_ = false; // what is set up anew begins anew
    update(now);
    return {};
}

Result<void> PerfUnit::select(unsigned index, std::uint32_t value) {
    Counter counter;
    counter.select = value;
    counter.simd_mask = value >> kSimdShift & kSimdMask;
    if (const std::uint32_t id = value & kSelectMask; id != 0) {
        const std::string_view name = pm4::counter_name(kChip, id);
        const Rule* rule = rule_of(name);
        if (rule == nullptr)
            return Error{ErrorCode::kUnsupported,
                         "SQ counter " + std::to_string(id) +
                             (name.empty() ? "" : " (" + std::string(name) + ")") +
                             " is not modelled",
                         "register " + format_hex(gfx9::kSqPerfcounter0Select + index), ""};
        counter.rule = *rule;
    }
    counters_[index] = counter;
    return {};
}

void PerfUnit::control(std::uint32_t value, std::uint64_t now) {
    const std::uint32_t state = value & 0xF;
    if (state == kStart && state_ != kStart) origin_ = now;
    state_ = state;
}

void PerfUnit::set_sink(bool on, std::uint32_t cu_mask, std::uint64_t now) {
    latch(now);
    sink_on_ = on;
    sink_mask_ = cu_mask & 0xFFFF;
    update(now);
}

// Nobody sees what is counted while no trace takes it.
void PerfUnit::update(std::uint64_t now) {
    const bool any = std::ranges::any_of(counters_, [](const Counter& counter) {
        return counter.rule.source != Source::kNothing && counter.simd_mask != 0;
    });
    const bool on = any && sink_on_ && clock_on_ && state_ == kStart &&
                    (control_ & kControlComputeStage) != 0 && (cu_mask_ & sink_mask_) != 0;
    if (on && !counting_) restart(now);
    if (!on) samples_.clear();
    counting_ = on;
}

void PerfUnit::restart(std::uint64_t now) {
    samples_.clear();
    begun_.emplace();
    begun_->period = (control_ >> kRateShift & kControlRate) + 1;
    begun_->cu_mask = cu_mask_ & sink_mask_;
    for (unsigned c = 0; c < kCounters; ++c)
        begun_->selects[c] = counters_[c].select;
    for (Cu& cu : units_) {
        cu.counts.fill(0);
        cu.since = now;
    }
    next_latch_ = origin_ + ((now - origin_) / step() + 1) * step();
}

std::uint64_t PerfUnit::step() const {
    const std::uint64_t rate = control_ >> kRateShift & kControlRate;
    return (1 + cus_) * kQuad * (rate + 1);
}

unsigned PerfUnit::banks() const {
    const auto second = std::span(counters_).subspan(kBankSize);
    return std::ranges::any_of(second, [](const Counter& c) { return c.select != 0; }) ? 2 : 1;
}

bool PerfUnit::idle() const {
    return std::all_of(units_.begin(), units_.end(), [](const Cu& cu) {
        return std::ranges::all_of(cu.resident, [](std::uint16_t waves) { return waves == 0; }) &&
               std::ranges::all_of(cu.counts, [](std::uint64_t count) { return count == 0; });
    });
}

void PerfUnit::latch(std::uint64_t now) {
    if (!due(now)) return;
    const std::uint64_t every = step();
    for (; next_latch_ <= now; next_latch_ += every) {
        if (idle()) {
            next_latch_ += (now - next_latch_) / every * every;
            continue;
        }
        sample(next_latch_, static_cast<unsigned>((next_latch_ - origin_) / every % banks()));
    }
}

// A sample of nothing but zeros leaves no token.
void PerfUnit::sample(std::uint64_t clock, unsigned bank) {
    for (unsigned i = 0; i < cus_; ++i) {
        Cu& cu = units_[i];
        settle(cu, clock);
        PerfSample sample{clock, static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(bank), {}};
        bool any = false;
        for (unsigned c = 0; c < kBankSize; ++c) {
            std::uint64_t& count = cu.counts[bank * kBankSize + c];
            sample.counters[c] =
                static_cast<std::uint16_t>(std::min<std::uint64_t>(count, PerfSample::kLargest));
            any = any || count != 0;
            count = 0;
        }
        if (any && (cu_mask_ & sink_mask_) >> i & 1) samples_.push_back(sample);
    }
}

void PerfUnit::settle(Cu& cu, std::uint64_t now) {
    const std::uint64_t clocks = now - cu.since;
    cu.since = now;
    if (clocks == 0) return;
    for (unsigned c = 0; c < kCounters; ++c) {
        const Counter& counter = counters_[c];
        if (counter.rule.source < Source::kBusyClocks) continue;
        std::uint64_t waves = 0;
        for (unsigned simd = 0; simd < kSimds; ++simd)
            if ((counter.simd_mask >> simd & 1) != 0) waves += cu.resident[simd];
        if (waves == 0) continue;
        if (counter.rule.source == Source::kBusyClocks) cu.counts[c] += clocks;
        if (counter.rule.source == Source::kBusyQuads) cu.counts[c] += clocks / kQuad;
        if (counter.rule.source == Source::kWaveQuads) cu.counts[c] += waves * clocks / kQuad;
    }
}

void PerfUnit::wave_started(unsigned cu, unsigned simd, unsigned threads, std::uint64_t now) {
    Cu& unit = units_[cu];
    if (counting_) {
        settle(unit, now);
        for (unsigned c = 0; c < kCounters; ++c) {
            const Counter& counter = counters_[c];
            if ((counter.simd_mask >> simd & 1) == 0) continue;
            const Rule& rule = counter.rule;
            if (rule.source == Source::kWaves) unit.counts[c] += threads <= rule.detail ? 1 : 0;
            if (rule.source == Source::kFullWaves) unit.counts[c] += threads == 64 ? 1 : 0;
            if (rule.source == Source::kItems) unit.counts[c] += threads;
        }
    }
    ++unit.resident[simd];
}

void PerfUnit::wave_ended(unsigned cu, unsigned simd, std::uint64_t now) {
    Cu& unit = units_[cu];
    if (counting_) settle(unit, now);
    --unit.resident[simd];
}

void PerfUnit::issued(unsigned cu, unsigned simd, std::uint32_t classes, std::uint32_t quads) {
    if (!counting_) return;
    for (unsigned c = 0; c < kCounters; ++c) {
        const Counter& counter = counters_[c];
        if ((counter.simd_mask >> simd & 1) == 0 || (counter.rule.detail & classes) == 0) continue;
        if (counter.rule.source == Source::kIssued) ++units_[cu].counts[c];
        if (counter.rule.source == Source::kQuads) units_[cu].counts[c] += quads;
        if (counter.rule.source == Source::kClocks) units_[cu].counts[c] += quads * kQuad;
    }
}

} // namespace wavetap::softgpu
