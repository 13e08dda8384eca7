// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/thread_trace_unit.hpp"

#include "base/units.hpp"
#include "pm4/packets.hpp"
#include "sqtt/gfx9.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace wavetap::softgpu {

namespace {

constexpr std::uint32_t kFirstRegister = pm4::gfx9::kSqThreadTraceBase;
constexpr std::uint64_t kLineBytes = 32;

// TOKEN_MASK bits are token ids; 16.. are register classes.
enum TokenBit : unsigned {
    kReg = 2,
    kWaveStart = 3,
    kRegCsPriv = 5,
    kWaveEnd = 6,
    kInst = 10,
    kInstPc = 11,
    kUserData = 12,
    kIssue = 13,
    kPerf = 14,
    kRegCs = 15,
    kFirstRegClass = 16,
};

constexpr std::uint32_t kCtrlReset = 1U << 31;
constexpr std::uint32_t kStatusFinishDone = 0x3FFU << 16;
constexpr std::uint32_t kStatusWriteError = 1U << 28;
constexpr std::uint32_t kStatusBusy = 1U << 30;
constexpr std::uint32_t kStatusFull = 1U << 31;

constexpr std::uint32_t kModeArmed = 3U << 21;
constexpr std::uint32_t kModeComputeStage = 7U << 18;
constexpr std::uint32_t kModeAutoflush = 1U << 25;
constexpr std::uint32_t kModeCapture = 3U << 23;
constexpr std::uint32_t kModeIssueMask = 3U << 27;
constexpr std::uint32_t kModeTest = 1U << 29;
constexpr std::uint32_t kModeInterrupt = 1U << 30;

} // namespace

bool ThreadTraceUnit::owns(std::uint32_t reg) {
    return reg >= kFirstRegister && reg < kFirstRegister + kRegisters;
}

std::uint64_t ThreadTraceUnit::register_base() const {
    return std::uint64_t{regs_[kBase]} << 12 | std::uint64_t{regs_[kBase2] & 0xF} << 44;
}

Result<void> ThreadTraceUnit::write_register(std::uint32_t reg, std::uint32_t value,
                                             std::uint64_t now) {
    drain(now);
    const unsigned index = reg - kFirstRegister;
    if (index == kMode) return write_mode(value, now);
    if (index == kStatus) {
        write_status();
        return {};
    }
    regs_[index] = value;
    switch (index) {
    case kMask:
    case kTokenMask:
    case kPerfMask:
        update_selection(now);
        break;
    case kBase2:
        if (armed_ && wraps()) {
            pending_base_ = register_base();
            full_ = false;
            if (stopped_ && !write_error_) {
                report_drops();
                stopped_ = !flip();
            }
        }
        break;
    case kCtrl:
        if ((value & kCtrlReset) != 0) {
            report_drops();
            offset_ = left_bytes_ = 0;
            token_rest_ = left_token_rest_ = 0;
            full_ = stopped_ = false;
            dropped_ = 0;
            if (armed_) note(writer_.begin(now), now);
        }
        break;
    case kWptr:
        offset_ = std::uint64_t{value & 0x3FFFFFFF} * kLineBytes;
        break;
    default:
        break;
    }
    return {};
}

Result<void> ThreadTraceUnit::write_mode(std::uint32_t value, std::uint64_t now) {
    const std::uint32_t other =
        value & (kModeCapture | kModeIssueMask | kModeTest | kModeInterrupt);
    if (other != 0) {
        return Error{ErrorCode::kUnsupported,
                     "SQ_THREAD_TRACE_MODE " + format_hex(value) + " sets " + format_hex(other) +
                         " (capture mode, issue mask, test or interrupt), which is not modelled",
                     "register " + format_hex(pm4::gfx9::kSqThreadTraceMode), ""};
    }
    const bool on = (value & kModeArmed) == 1U << 21;
    if (armed_ && !on) disarm(now);
    const bool was_on = (regs_[kMode] & kModeArmed) == 1U << 21;
    regs_[kMode] = value;
    if (on && !was_on && capacity() > 0) arm(now);
    update_selection(now);
    return {};
}

void ThreadTraceUnit::write_status() {
    write_error_ = finish_done_ = full_ = false;
}

void ThreadTraceUnit::finish() {
    finish_done_ = true;
}

std::uint32_t ThreadTraceUnit::read_register(std::uint32_t reg, std::uint64_t now) {
    const unsigned index = reg - kFirstRegister;
    if (armed_) drain(now);
    switch (index) {
    case kWptr:
        return (static_cast<std::uint32_t>(offset_ / kLineBytes) & 0x3FFFFFFF) |
               (full_ ? left_token_rest_ : token_rest_) / 2 << 30;
    case kStatus:
        return (finish_done_ ? kStatusFinishDone : 0) | (write_error_ ? kStatusWriteError : 0) |
               (armed_ || now < busy_until_ ? kStatusBusy : 0) | (full_ ? kStatusFull : 0);
    case kCntr:
        return static_cast<std::uint32_t>(dropped_);
    default:
        return regs_[index];
    }
}

void ThreadTraceUnit::arm(std::uint64_t now) {
    armed_ = true;
    active_base_ = pending_base_ = register_base();
    pending_.clear();
    busy_until_ = 0;
    record(TruthTraceEvent::Kind::kArm, now, 0);
    note(writer_.begin(now), now);
}

void ThreadTraceUnit::disarm(std::uint64_t now) {
    drain(now);
    busy_until_ = now;
    for (const Pending& pending : pending_) {
        busy_until_ = pending.due;
        put(pending);
    }
    pending_.clear();
    if ((regs_[kMode] & kModeAutoflush) != 0) pad();
    armed_ = false;
    report_drops();
    record(TruthTraceEvent::Kind::kDisarm, now, written() / kLineBytes * kLineBytes);
    if (truth_ != nullptr) truth_->flush();
}

void ThreadTraceUnit::close(std::uint64_t now) {
    if (!armed_) return;
    drain(now);
    report_drops();
}

void ThreadTraceUnit::update_selection(std::uint64_t now) {
    const std::uint32_t mask = regs_[kMask];
    compute_on_ = (regs_[kMode] & kModeComputeStage) != 0;
    target_cu_ = mask & 0x1F;
    const bool sh0 = (mask >> 5 & 1) == 0;
    simd_mask_ = mask >> 8 & 0xF;
    detail_on_ = sh0 && (compute_token_on(kIssue) || compute_token_on(kInst));
    perf_.set_sink(compute_token_on(kPerf), regs_[kPerfMask], now);
    note_sampling(now);
}

// A sample's token comes behind all others of its clock.
void ThreadTraceUnit::drain(std::uint64_t now) {
    if (perf_.due(now)) perf_.latch(now);
    std::size_t done = 0;
    for (;;) {
        const bool instruction = done < pending_.size() && pending_[done].due <= now;
        const bool sample = perf_.oldest() < now;
        if (sample && !(instruction && pending_[done].due <= perf_.oldest()))
            put(perf_.take());
        else if (instruction)
            put(pending_[done++]);
        else
            break;
    }
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(done));
}

void ThreadTraceUnit::put(const Pending& p) {
    if (compute_token_on(kInst))
        note(writer_.inst(p.due, p.simd, p.slot, static_cast<sqtt::Gfx9Inst>(p.type)), p.due);
    if (p.next_pc && compute_token_on(kInstPc))
        note(writer_.inst_pc(p.due, p.simd, p.slot, *p.next_pc), p.due);
}

void ThreadTraceUnit::put(const PerfSample& sample) {
    note(writer_.perf(sample.token_clock(), sample.cu, sample.bank, sample.counters),
         sample.token_clock());
    if (truth_ != nullptr)
        truth_->sample({agent_, se_, sample.cu, sample.bank, sample.latched, sample.counters});
}

Result<void> ThreadTraceUnit::write_counter_register(std::uint32_t reg, std::uint32_t value,
                                                     std::uint64_t now) {
    drain(now);
    WAVETAP_CHECK_OK(perf_.write_register(reg, value, now));
    note_sampling(now);
    return {};
}

void ThreadTraceUnit::note_sampling(std::uint64_t now) {
    const auto begun = perf_.take_begin();
    if (begun && truth_ != nullptr)
        truth_->sampling({agent_, se_, now, begun->period, begun->cu_mask, begun->selects});
}

void ThreadTraceUnit::count_start(std::uint64_t now, const WavePlace& place, unsigned threads) {
    if (perf_.due(now)) drain(now);
    perf_.wave_started(place.cu, place.simd, threads, now);
}

void ThreadTraceUnit::count_end(std::uint64_t now, const WavePlace& place) {
    if (perf_.due(now)) drain(now);
    perf_.wave_ended(place.cu, place.simd, now);
}

void ThreadTraceUnit::count_issue(std::uint64_t now, const WavePlace& place, std::uint32_t classes,
                                  std::uint32_t quads) {
    if (perf_.due(now)) drain(now);
    perf_.issued(place.cu, place.simd, classes, quads);
}

void ThreadTraceUnit::wave_start(std::uint64_t now, const sqtt::Gfx9WaveStart& start) {
    if (!compute_token_on(kWaveStart)) return;
    drain(now);
    note(writer_.wave_start(now, start), now);
}

void ThreadTraceUnit::wave_end(std::uint64_t now, const WavePlace& place) {
    if (!compute_token_on(kWaveEnd)) return;
    drain(now);
    note(writer_.wave_end(now, {place.cu, place.simd, place.slot, 0}), now);
}

void ThreadTraceUnit::issue(std::uint64_t now, unsigned simd, const IssueStates& states) {
    if (!compute_token_on(kIssue)) return;
    drain(now);
    note(writer_.issue(now, static_cast<std::uint8_t>(simd), states), now);
}

void ThreadTraceUnit::inst(std::uint64_t due, unsigned simd, unsigned slot, std::uint8_t type,
                           std::optional<std::uint64_t> next_pc) {
    if (!compute_token_on(kInst)) return;
    const Pending pending{due, static_cast<std::uint8_t>(simd), static_cast<std::uint8_t>(slot),
                          type, next_pc};
    auto at = pending_.end();
    while (at != pending_.begin() && std::prev(at)->due > due)
        --at;
    pending_.insert(at, pending);
}

void ThreadTraceUnit::user_data(std::uint64_t now, const WavePlace& place, std::uint32_t data) {
    if (!compute_token_on(kUserData)) return;
    drain(now);
    note(writer_.userdata(now, {place.cu, place.simd, place.slot, 0}, data), now);
}

void ThreadTraceUnit::register_write(std::uint64_t now, std::uint32_t reg, std::uint32_t data,
                                     sqtt::Gfx9RegType type) {
    if (!token_on(kReg) || !token_on(kFirstRegClass + static_cast<unsigned>(type))) return;
    drain(now);
    note(writer_.reg_write(now, static_cast<std::uint16_t>(reg), data, 0, 0, type), now);
}

void ThreadTraceUnit::compute_register(std::uint64_t now, std::uint8_t address, std::uint32_t data,
                                       std::uint8_t me, std::uint8_t pipe) {
    if (!compute_token_on(kRegCs)) return;
    drain(now);
    note(writer_.reg_cs(now, address, data, me, pipe), now);
}

void ThreadTraceUnit::compute_event(std::uint64_t now, std::uint32_t event) {
    constexpr std::uint8_t kNowhere = 0x7F;
    if (!compute_token_on(kRegCsPriv)) return;
    drain(now);
    note(writer_.reg_cs_event(now, kNowhere, event), now);
}

bool ThreadTraceUnit::write(std::span<const std::byte> bytes) {
    if (stopped_) return false;
    if (wraps()) return write_ring(bytes);
    if (offset_ + bytes.size() > capacity() - kLineBytes) {
        pad();
        full_ = stopped_ = true;
        return false;
    }
    return store(bytes);
}

// The tokens run on from slot to slot; one that does not fit is cut, unless there is no slot for the
// rest: then it is dropped whole, so that the bytes in memory always are whole tokens.
bool ThreadTraceUnit::write_ring(std::span<const std::byte> bytes) {
    const std::uint64_t room = capacity() - offset_;
    if (bytes.size() <= room) return store(bytes);
    if (full_) {
        pad();
        stopped_ = true;
        return false;
    }
    const auto first = bytes.first(static_cast<std::size_t>(room));
    if (!first.empty() && !store(first)) return false;
    flip();
    std::uint64_t end = 0;
    while (end < room)
        end += sqtt::kGfx9Rows[std::to_integer<unsigned>(bytes[end]) & 0xF].bits / 8;
    token_rest_ = static_cast<std::uint32_t>(end - room);
    return store(bytes.subspan(first.size()));
}

// The active slot is full: go on in the pending one, unless that is itself still full.
bool ThreadTraceUnit::flip() {
    if (full_) {
        stopped_ = true;
        return false;
    }
    full_ = true;
    left_bytes_ += offset_;
    left_token_rest_ = std::exchange(token_rest_, 0);
    active_base_ = pending_base_;
    offset_ = 0;
    return true;
}

bool ThreadTraceUnit::store(std::span<const std::byte> bytes) {
    const std::uint64_t va = active_base_ + offset_;
    std::byte* host = memory_.at(va, bytes.size(), Access::kWrite);
    if (host == nullptr) {
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            if (!memory_.write(va + i, bytes[i])) {
                write_error_ = stopped_ = true;
                return false;
            }
        }
    } else {
        std::memcpy(host, bytes.data(), bytes.size());
    }
    offset_ += bytes.size();
    return true;
}

void ThreadTraceUnit::pad() {
    constexpr std::array<std::byte, kLineBytes> kZeros{};
    const std::uint64_t limit = wraps() ? capacity() : capacity() - kLineBytes;
    const std::uint64_t target = (offset_ + kLineBytes - 1) / kLineBytes * kLineBytes;
    if (target > offset_ && target <= limit && !write_error_)
        store(std::span(kZeros).first(static_cast<std::size_t>(target - offset_)));
}

void ThreadTraceUnit::note(bool taken, std::uint64_t now) {
    if (taken) return;
    if (drops_open_++ == 0) first_drop_at_ = now;
    ++dropped_;
}

void ThreadTraceUnit::report_drops() {
    if (drops_open_ == 0) return;
    record(TruthTraceEvent::Kind::kDrop, first_drop_at_, drops_open_);
    drops_open_ = 0;
}

void ThreadTraceUnit::record(TruthTraceEvent::Kind kind, std::uint64_t time, std::uint64_t count) {
    if (truth_ == nullptr) return;
    TruthTraceEvent event{agent_, se_, kind, time, 0, 0, count};
    if (kind == TruthTraceEvent::Kind::kArm) {
        event.buffer_va = active_base_;
        event.buffer_bytes = capacity();
    }
    truth_->trace_event(event);
}

} // namespace wavetap::softgpu
