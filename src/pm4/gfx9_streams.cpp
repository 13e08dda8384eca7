// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "pm4/gfx9_streams.hpp"

#include <utility>

namespace wavetap::pm4 {

namespace {

// Register values of spec section 5.
constexpr std::uint32_t kMaskStalls = 0xC080;
constexpr std::uint32_t kTokensDetail = 0x000FBC6F;
constexpr std::uint32_t kTokensOccupancy = 0x000F906F;
constexpr std::uint32_t kTokenEventCs = 1U << 8;
constexpr std::uint32_t kTokenPerf = 1U << 14;
constexpr std::uint32_t kModeOff = 0x02040000;
constexpr std::uint32_t kModeOn = 0x02240000;
constexpr std::uint32_t kModeWrap = 0x80000000;
constexpr std::uint32_t kHiwater = 6;
constexpr std::uint32_t kCtrlResetBuffer = 0x80000000;
constexpr std::uint32_t kPerfcounterCtrl = 0xFFFF007F;
/// aqlprofile's stop names STATUS wrongly and thereby polls this register, which reads as 0.
constexpr std::uint32_t kRecordedPollRegister = 0x338;

// User-data words (spec section 10).
constexpr std::uint32_t kMarkerMagic = 0x434F5200;
constexpr std::uint32_t kMarkerVersion = 0x00080201;
constexpr std::uint32_t kMarkerClock = 5;
constexpr std::uint32_t kMarkerAgentInfo = 6;
constexpr std::uint32_t kAgentInfoCounterInterval = 1U << 8;

bool stores_clocks(const TraceConfig& config) {
    if (!recorded(config)) return true;
    return config.dialect == Dialect::kAug25 && config.clock_markers;
}

} // namespace

void Gfx9StreamBuilder::counters_on() {
    if (config_.counters.empty()) return;
    encoder_.set_uconfig(gfx9::kRlcPerfmonClkCntl, 1);
    encoder_.set_sh(gfx9::kComputePerfcountEnable, 1);
    encoder_.set_uconfig(gfx9::kCpPerfmonCntl, 0);
    for (std::uint32_t i = 0; i < kMaxTraceCounters; ++i) {
        const bool used = i < config_.counters.size();
        const std::uint32_t select =
            used ? config_.counters[i].id | config_.counters[i].simd_mask << 24 : 0;
        encoder_.set_uconfig(gfx9::kSqPerfcounter0Select + i, select);
    }
    encoder_.set_uconfig(gfx9::kSqThreadTracePerfMask, config_.counter_cu_mask);
    encoder_.set_uconfig(gfx9::kSqPerfcounterMask, config_.counter_cu_mask);
    encoder_.set_uconfig(gfx9::kSqPerfcounterCtrl, config_.counter_rate << 8 | kPerfcounterCtrl);
    encoder_.set_uconfig(gfx9::kCpPerfmonCntl, 1);
    recorded_wait_idle();
}

void Gfx9StreamBuilder::counters_off() {
    if (config_.counters.empty()) return;
    encoder_.set_uconfig(gfx9::kCpPerfmonCntl, 2);
    encoder_.set_uconfig(gfx9::kCpPerfmonCntl, 0);
    encoder_.set_uconfig(gfx9::kRlcPerfmonClkCntl, 0);
    recorded_wait_idle();
}

void Gfx9StreamBuilder::base(std::uint64_t va) {
    encoder_.set_uconfig(gfx9::kSqThreadTraceBase, low(va >> 12));
    encoder_.set_uconfig(gfx9::kSqThreadTraceBase2, low(va >> 44));
}

void Gfx9StreamBuilder::select_engine(std::uint32_t se) {
    encoder_.set_uconfig(gfx9::kGrbmGfxIndex, gfx9::grbm_select(se % topology_.engines_per_xcc));
}

void Gfx9StreamBuilder::arm(std::uint32_t se, std::uint64_t va) {
    const bool ring = config_.buffers > 1;
    const std::size_t block = begin_xcc(se / topology_.engines_per_xcc);
    select_engine(se);
    encoder_.set_uconfig(gfx9::kSqThreadTraceTokenMask2, 0xFFFFFFFF);
    encoder_.copy_immediate_to_register(0, gfx9::kSqThreadTraceStatus);
    base(va);
    encoder_.set_uconfig(gfx9::kSqThreadTraceSize, low(capacity_ / kPage));
    encoder_.set_uconfig(gfx9::kSqThreadTraceCtrl, kCtrlResetBuffer);
    recorded_wait_idle();
    encoder_.set_uconfig(gfx9::kSqThreadTraceMode, ring ? kModeOn | kModeWrap : kModeOn);
    if (ring) base(active_output(memory_, 1) + part(se));
    end_xcc(block);
}

void Gfx9StreamBuilder::wait_not_busy() {
    if (recorded(config_))
        encoder_.wait_register(kRecordedPollRegister, kStatusBusy, WaitFunction::kNotEqual, 1);
    else if (read_2026())
        encoder_.wait_register(kRecordedPollRegister, kStatusBusy, WaitFunction::kEqual, 0);
    else
        encoder_.wait_register(gfx9::kSqThreadTraceStatus, kStatusBusy, WaitFunction::kEqual, 0);
}

void Gfx9StreamBuilder::save(std::uint32_t se) {
    const std::uint64_t entry = memory_.control_va + engine_entry_offset(config_.dialect, se);
    const std::size_t block = begin_xcc(se / topology_.engines_per_xcc);
    select_engine(se);
    wait_not_busy();
    encoder_.copy_register_to_memory(gfx9::kSqThreadTraceStatus, entry + layout_.status);
    encoder_.copy_register_to_memory(gfx9::kSqThreadTraceCntr, entry + layout_.counter);
    encoder_.copy_register_to_memory(gfx9::kSqThreadTraceWptr, entry + layout_.wptr);
    end_xcc(block);
}

void Gfx9StreamBuilder::preamble() {
    userdata2(kMarkerMagic);
    userdata2(kMarkerVersion);
    if (recorded(config_)) return;
    if (config_.clock_markers && config_.clock_khz != 0)
        userdata2(kMarkerAgentInfo | config_.clock_khz << 12);
    if (!config_.counters.empty()) {
        const auto count = static_cast<std::uint32_t>(config_.counters.size());
        const std::uint32_t interval =
            (1 + topology_.cus_per_engine) * ((count + 3) / 4 * 4) * (config_.counter_rate + 1);
        userdata2(kMarkerAgentInfo | kAgentInfoCounterInterval | interval << 12);
    }
}

void Gfx9StreamBuilder::clock_of_xcc(std::uint32_t xcc, std::uint32_t field) {
    const std::uint64_t va =
        memory_.control_va + clock_entry_offset(topology_, config_.dialect, xcc) + field;
    const std::size_t block = begin_xcc(xcc);
    if (config_.clock_markers) {
        broadcast();
        encoder_.set_uconfig(gfx9::kSqThreadTraceUserdata3, kMarkerClock);
        encoder_.copy_clock_to_memory(va);
        encoder_.copy_memory_to_register(va, gfx9::kSqThreadTraceUserdata3);
        encoder_.copy_memory_to_register(va + 4, gfx9::kSqThreadTraceUserdata3);
        encoder_.copy_clock_low_to_register(gfx9::kSqThreadTraceUserdata3);
    } else {
        encoder_.copy_clock_to_memory(va);
    }
    end_xcc(block);
}

void Gfx9StreamBuilder::clocks(std::uint32_t field) {
    if (!stores_clocks(config_)) return;
    const std::uint64_t engines = topology_.engines_per_xcc;
    const std::uint64_t one_xcc = engines == 64 ? ~std::uint64_t{0} : (1ULL << engines) - 1;
    for (std::uint32_t xcc = 0; xcc < topology_.xccs; ++xcc)
        if ((config_.se_mask >> (xcc * engines) & one_xcc) != 0) clock_of_xcc(xcc, field);
}

void Gfx9StreamBuilder::flush_control() {
    encoder_.acquire_mem(memory_.control_va, used_control_bytes());
}

void Gfx9StreamBuilder::flush_output() {
    // The June 2025 library gives the size as the address.
    const std::uint64_t va =
        config_.dialect == Dialect::kJun25 ? config_.buffer_bytes : memory_.output_va;
    encoder_.acquire_mem(va, config_.buffer_bytes);
    for (const std::uint64_t extra : memory_.extra_output_va)
        encoder_.acquire_mem(extra, config_.buffer_bytes);
    if (read_2026() && config_.buffers > 1) encoder_.acquire_mem(va, config_.buffer_bytes);
}

std::vector<std::uint32_t> Gfx9StreamBuilder::start() {
    broadcast();
    recorded_wait_idle();
    encoder_.set_uconfig(gfx9::kSqThreadTraceMask,
                         kMaskStalls | config_.simd_mask << 8 | config_.target_cu);
    counters_on();
    std::uint32_t tokens = config_.detail ? kTokensDetail : kTokensOccupancy;
    if (!recorded(config_)) tokens |= kTokenEventCs;
    if (!config_.counters.empty()) tokens |= kTokenPerf;
    encoder_.set_uconfig(gfx9::kSqThreadTraceTokenMask, tokens);
    encoder_.set_uconfig(gfx9::kSqThreadTraceMode, kModeOff);
    encoder_.set_uconfig(gfx9::kSqThreadTraceHiwater, kHiwater);
    std::uint64_t va = memory_.output_va;
    for (std::uint32_t se = 0; se < engine_count(topology_); ++se) {
        if (selected(se)) {
            arm(se, va);
            va += capacity_;
        } else if (recorded(config_)) {
            va += kPage;
        }
    }
    if (config_.dialect != Dialect::kAug25) broadcast();
    recorded_wait_idle();
    preamble();
    clocks(layout_.start_clock);
    if (!recorded(config_)) flush_control();
    return std::move(stream_);
}

std::vector<std::uint32_t> Gfx9StreamBuilder::stop() {
    broadcast();
    recorded_wait_idle();
    clocks(layout_.end_clock);
    if (stores_clocks(config_)) recorded_wait_idle();
    encoder_.set_uconfig(gfx9::kSqThreadTraceMode, kModeOff);
    recorded_wait_idle();
    counters_off();
    for (std::uint32_t se = 0; se < engine_count(topology_); ++se)
        if (selected(se)) save(se);
    broadcast();
    if (!recorded(config_)) {
        flush_output();
        flush_control();
        return std::move(stream_);
    }
    flush_control();
    flush_output();
    encoder_.set_uconfig(gfx9::kSqThreadTraceSize, 0);
    encoder_.set_uconfig(gfx9::kSqThreadTraceCtrl, kCtrlResetBuffer);
    encoder_.wait_idle();
    flush_control();
    encoder_.wait_idle();
    return std::move(stream_);
}

} // namespace wavetap::pm4
