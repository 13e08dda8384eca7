// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/gfx9_waves.hpp"

#include "sqtt/gfx9.hpp"

#include <algorithm>
#include <bit>

namespace wavetap::decode {
namespace {

using sqtt::Gfx9Inst;

constexpr std::size_t kMaxStalls = 4096;
constexpr std::uint8_t kNoCategory = 0xFE; ///< leaves no instruction

enum class Source : std::uint8_t {
    kReal,     ///< matched with the mnemonics of programs on a real gfx950
    kDecoder,  ///< as AMD's open decoder has it
    kInferred, ///< from the name alone
};

struct InstRow {
    Gfx9Inst type;
    std::uint8_t category; ///< Category, or kNoCategory
    std::uint8_t phase;    ///< added to the phase of the issue cycle
    bool replay;
    Source source;
};

constexpr std::uint8_t c(Category category) {
    return static_cast<std::uint8_t>(category);
}

constexpr std::array<InstRow, 32> kInstRows{{
    {Gfx9Inst::kSmemRead, c(Category::kSmem), 5, false, Source::kReal},
    {Gfx9Inst::kSalu, c(Category::kSalu), 5, false, Source::kReal},
    {Gfx9Inst::kVmemRead, c(Category::kVmem), 0, false, Source::kDecoder},
    {Gfx9Inst::kVmemWrite, c(Category::kVmem), 0, false, Source::kDecoder},
    {Gfx9Inst::kFlatWrite, c(Category::kFlat), 0, false, Source::kReal},
    {Gfx9Inst::kValu, c(Category::kValu), 2, false, Source::kReal},
    {Gfx9Inst::kLds, c(Category::kLds), 1, false, Source::kReal},
    {Gfx9Inst::kPc, c(Category::kSalu), 0, false, Source::kDecoder},
    {Gfx9Inst::kExportGds, kNoCategory, 0, false, Source::kDecoder},
    {Gfx9Inst::kExportGfx, kNoCategory, 0, false, Source::kDecoder},
    {Gfx9Inst::kExportGrant0, kNoCategory, 0, false, Source::kDecoder},
    {Gfx9Inst::kExportGrant1, kNoCategory, 0, false, Source::kDecoder},
    {Gfx9Inst::kJump, c(Category::kJump), 1, false, Source::kDecoder},
    {Gfx9Inst::kNext, c(Category::kNext), 1, false, Source::kReal},
    {Gfx9Inst::kFlatRead, c(Category::kFlat), 0, false, Source::kReal},
    {Gfx9Inst::kMessage, c(Category::kMsg), 1, false, Source::kReal},
    {Gfx9Inst::kSmemWrite, c(Category::kSmem), 5, false, Source::kDecoder},
    {Gfx9Inst::kSalu64, c(Category::kSalu), 5, false, Source::kDecoder},
    {Gfx9Inst::kValu64, c(Category::kValu), 2, false, Source::kReal},
    {Gfx9Inst::kSmemReadReplay, c(Category::kSmem), 5, true, Source::kDecoder},
    {Gfx9Inst::kSmemWriteReplay, c(Category::kSmem), 5, true, Source::kDecoder},
    {Gfx9Inst::kVmemReadReplay, c(Category::kVmem), 0, true, Source::kDecoder},
    {Gfx9Inst::kVmemWriteReplay, c(Category::kVmem), 0, true, Source::kDecoder},
    {Gfx9Inst::kFlatReplay0, c(Category::kFlat), 0, true, Source::kDecoder},
    {Gfx9Inst::kFlatReplay1, c(Category::kFlat), 0, true, Source::kDecoder},
    {Gfx9Inst::kFatalHalt, c(Category::kTrap), 1, false, Source::kInferred},
    {Gfx9Inst::kReserved26, kNoCategory, 0, false, Source::kInferred},
    {Gfx9Inst::kReserved27, kNoCategory, 0, false, Source::kInferred},
    {Gfx9Inst::kValuMatrix, c(Category::kValu), 2, false, Source::kDecoder},
    {Gfx9Inst::kTrap, c(Category::kTrap), 1, false, Source::kDecoder},
    {static_cast<Gfx9Inst>(30), kNoCategory, 0, false, Source::kInferred},
    {static_cast<Gfx9Inst>(31), kNoCategory, 0, false, Source::kInferred},
}};

consteval bool in_order() {
    for (std::size_t i = 0; i < kInstRows.size(); ++i) {
        if (static_cast<std::size_t>(kInstRows[i].type) != i) return false;
    }
    return true;
}
static_assert(in_order());

std::uint32_t to_u32(std::uint64_t value) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, 0xFFFFFFFF));
}
std::uint64_t above(std::uint64_t a, std::uint64_t b) {
    return a > b ? a - b : 0;
}

} // namespace

void Gfx9Waves::clear(Wave& wave) const {
    wave.live = false;
    wave.trap = Trap::kNormal;
    wave.state = WaveState::kIdle;
    wave.list.clear();
    wave.anchors.clear();
    wave.timeline.clear();
    wave.queue_size = 0;
    wave.last_named = {};
    wave.stalls.clear();
    wave.first_stall = 0;
}

void Gfx9Waves::add_time(Wave& wave, WaveState state, std::uint64_t clocks) const {
    if (!wave.timeline.empty() && wave.timeline.back().state == state)
        wave.timeline.back().clocks += clocks;
    else
        wave.timeline.push_back({state, clocks});
}

void Gfx9Waves::mend(Wave& wave, std::size_t i, std::uint64_t time) const {
    InstructionList& list = wave.list;
    if (time >= list.end(i)) return;
    list.durations[i] = std::max<std::uint32_t>(to_u32(above(time, list.times[i])), 4);
    list.stalls[i] = std::min(list.stalls[i], list.durations[i]);
}

void Gfx9Waves::start(StreamPoint at, const WaveHead& head) {
    Wave& wave = waves_[head.simd][head.slot];
    if (wave.live) {
        diagnostics_->add(Fault::kStartOfLiveWave, at.offset_bytes, at.time);
        deliver(wave, at, false);
    }
    clear(wave);
    wave.live = true;
    wave.held = true;
    wave.head = head;
    wave.state_start = at.time;
    wave.anchors.add_known(0, head.entry);
}

void Gfx9Waves::switch_context(StreamPoint at, unsigned simd, unsigned slot) {
    Wave& wave = waves_[simd][slot];
    if (!wave.live) return;
    if (wave.trap == Trap::kRequested) {
        wave.trap = Trap::kStandby;
        wave.list.push(at.time, c(Category::kTrap), 4, 0);
        ++wave.head.contexts;
    } else if (wave.trap == Trap::kStandby) {
        wave.trap = Trap::kWaitPc;
    }
}

void Gfx9Waves::save_context() {
    for (auto& simd : waves_) {
        for (Wave& wave : simd) {
            if (wave.live && wave.trap == Trap::kNormal) wave.trap = Trap::kRequested;
        }
    }
}

void Gfx9Waves::packets_lost(StreamPoint at) {
    for (auto& simd : waves_) {
        for (Wave& wave : simd) {
            if (!wave.live) {
                wave.held = false;
                continue;
            }
            while (wave.queue_size != 0)
                drop_oldest_issue(wave, at);
            wave.anchors.add_broken(wave.list.size());
        }
    }
}

void Gfx9Waves::erase(Wave& wave, std::size_t i) const {
    wave.list.erase(i);
    wave.anchors.erased(i);
    for (unsigned q = 0; q < wave.queue_size; ++q) {
        std::uint32_t& waiting = wave.queue[(wave.queue_head + q) % kMaxInFlight];
        if (waiting > i) --waiting;
    }
}

void Gfx9Waves::drop_oldest_issue(Wave& wave, StreamPoint at) {
    diagnostics_->add(Fault::kUnidentifiedIssue, at.offset_bytes, at.time);
    erase(wave, wave.take_oldest());
}

void Gfx9Waves::immediate(Wave& wave, StreamPoint at) {
    InstructionList& list = wave.list;
    std::uint64_t begin = at.time;
    if (!list.empty() && list.categories[list.size() - 1] != kPendingCategory) {
        mend(wave, list.size() - 1, at.time);
        begin = std::min(list.end(list.size() - 1), at.time);
    }
    const std::uint64_t cycles = 4 + above(at.time, begin);
    list.push(begin, c(Category::kImmed), to_u32(cycles), to_u32(cycles));
    if (wave.state_start < begin) add_time(wave, wave.state, begin - wave.state_start);
    wave.state = WaveState::kExec;
    wave.timeline.push_back({WaveState::kWait, cycles});
    wave.state_start = begin + cycles;
}

void Gfx9Waves::push_stall(Wave& wave, std::uint64_t time) const {
    if (wave.first_stall > kMaxStalls / 2) {
        wave.stalls.erase(wave.stalls.begin(),
                          wave.stalls.begin() + static_cast<std::ptrdiff_t>(wave.first_stall));
        wave.first_stall = 0;
    }
    if (wave.stalls.size() < kMaxStalls)
        wave.stalls.push_back(time);
    else
        wave.stalls.back() = time;
}

void Gfx9Waves::issue_one(Wave& wave, StreamPoint at, unsigned state) {
    const WaveState before = wave.state;
    switch (static_cast<sqtt::Gfx9Issue>(state)) {
    case sqtt::Gfx9Issue::kInstruction:
        wave.state = WaveState::kExec;
        if (wave.queue_size == kMaxInFlight) {
            diagnostics_->add(Fault::kQueueOverflow, at.offset_bytes, at.time);
            drop_oldest_issue(wave, at);
            wave.anchors.add_broken(wave.list.size());
        }
        wave.queue[(wave.queue_head + wave.queue_size++) % kMaxInFlight] =
            static_cast<std::uint32_t>(wave.list.size());
        wave.list.push(at.time, kPendingCategory, 0, 0);
        break;
    case sqtt::Gfx9Issue::kStall:
        wave.state = WaveState::kStall;
        push_stall(wave, at.time);
        break;
    case sqtt::Gfx9Issue::kImmediate:
        immediate(wave, at);
        break;
    case sqtt::Gfx9Issue::kNone:
        return;
    }
    if (at.time > wave.state_start) add_time(wave, before, at.time - wave.state_start);
    wave.state_start = std::max(at.time, wave.state_start);
}

void Gfx9Waves::issue(StreamPoint at, unsigned simd, std::uint32_t states) {
    while (states != 0) {
        const unsigned slot = static_cast<unsigned>(std::countr_zero(states)) / 2;
        const unsigned state = states >> 2 * slot & 3;
        states &= ~(3U << 2 * slot);
        Wave& wave = waves_[simd][slot];
        if (!wave.live) {
            ++totals_.tokens_without_wave;
            diagnostics_->add(Fault::kTokenWithoutWave, at.offset_bytes, at.time);
            continue;
        }
        if (wave.trap == Trap::kNormal) issue_one(wave, at, state);
    }
}

void Gfx9Waves::resume(Wave& wave, StreamPoint at, unsigned type) const {
    if (wave.trap != Trap::kWaitPc || static_cast<Gfx9Inst>(type) != Gfx9Inst::kPc) return;
    wave.trap = Trap::kNormal;
    wave.anchors.add_waiting(wave.list.size());
    for (std::size_t i = wave.list.size(); i-- > 0;) {
        if (!wave.list.is(i, Category::kTrap)) continue;
        wave.list.durations[i] = to_u32(above(at.time + 4, wave.list.times[i]));
        break;
    }
}

void Gfx9Waves::inst_without_wave(StreamPoint at, const WaveHead& head) {
    Wave& wave = waves_[head.simd][head.slot];
    ++totals_.instruction_tokens;
    ++totals_.tokens_without_wave;
    diagnostics_->add(Fault::kTokenWithoutWave, at.offset_bytes, at.time);
    if (wave.held) return;
    clear(wave);
    wave.live = true;
    wave.held = true;
    wave.head = head;
    wave.state_start = at.time;
}

void Gfx9Waves::inst(StreamPoint at, unsigned simd, unsigned slot, unsigned type) {
    Wave& wave = waves_[simd][slot];
    ++totals_.instruction_tokens;
    if (wave.trap != Trap::kNormal) {
        resume(wave, at, type);
        return;
    }
    if (wave.queue_size == 0) return;
    const std::uint32_t i = wave.take_oldest();
    name(wave, at, simd, i, type);
}

void Gfx9Waves::apply_stalls(Wave& wave, std::size_t i) const {
    InstructionList& list = wave.list;
    const std::uint64_t time = list.times[i];
    if (wave.first_stall >= wave.stalls.size() || time <= wave.stalls[wave.first_stall]) return;
    std::uint64_t begin = i > 0 ? list.end(i - 1) : 0;
    std::uint64_t last = 0;
    while (wave.first_stall < wave.stalls.size() && wave.stalls[wave.first_stall] < time)
        last = wave.stalls[wave.first_stall++];
    if (wave.first_stall == wave.stalls.size()) {
        wave.stalls.clear();
        wave.first_stall = 0;
    }
    begin = std::max(begin, last);
    const std::uint64_t end = time + list.durations[i];
    list.stalls[i] = to_u32(above(time, begin));
    list.durations[i] = std::max<std::uint32_t>(to_u32(above(end, begin)), 4);
    list.times[i] = begin;
}

// Lengthens the instruction that is replayed: the last one of its kind.
void Gfx9Waves::replay(Wave& wave, StreamPoint at, std::size_t i, std::uint8_t category) const {
    InstructionList& list = wave.list;
    const std::uint32_t last = wave.last_named[category];
    if (last == 0 || last + 1 > i)
        return; // last is an index plus one: two entries before i at least
    const std::size_t j = last - 1;
    const std::uint32_t longer = to_u32(above(at.time + 4, list.times[j]));
    if (longer <= list.durations[j]) return;
    list.stalls[j] += longer - list.durations[j];
    list.durations[j] = longer;
}

void Gfx9Waves::name(Wave& wave, StreamPoint at, unsigned simd, std::size_t i, unsigned type) {
    InstructionList& list = wave.list;
    const InstRow& row = kInstRows[type & 31];
    if (list.size() >= 2 && list.times[i] < list.end(list.size() - 2)) ++phase_;
    if (i > 0) mend(wave, i - 1, list.times[i]);
    const unsigned phase = (phase_ + simd) % 4 + row.phase;
    list.categories[i] = row.category;
    list.durations[i] = to_u32(4 + above(above(at.time, list.times[i]), 4 * (phase / 4)));
    apply_stalls(wave, i);
    if (row.replay) replay(wave, at, i, row.category);
    if (row.replay || row.category == kNoCategory) {
        if (row.source == Source::kInferred)
            diagnostics_->add(Fault::kUnknownInstructionCode, at.offset_bytes, at.time);
        erase(wave, i);
        return;
    }
    wave.last_named[row.category] = static_cast<std::uint32_t>(i) + 1;
    if (row.type == Gfx9Inst::kPc) {
        wave.anchors.add_waiting(i + 1);
    } else if (row.type == Gfx9Inst::kTrap) {
        wave.trap = Trap::kWaitPc;
        wave.anchors.push_up(list.size() - 1);
    }
}

void Gfx9Waves::inst_pc(unsigned simd, unsigned slot, PcRef pc) {
    Wave& wave = waves_[simd][slot];
    if (wave.live) wave.anchors.arrived(wave.list.size(), pc);
}

bool Gfx9Waves::end(StreamPoint at, unsigned simd, unsigned slot) {
    Wave& wave = waves_[simd][slot];
    if (!wave.live || wave.trap != Trap::kNormal) return false;
    wave.head.end = at.time;
    wave.head.record_end = at.time + 4;
    if (!wave.list.empty() && wave.head.record_end > wave.state_start)
        wave.timeline.push_back({wave.state, wave.head.record_end - wave.state_start});
    deliver(wave, at, true);
    return true;
}

void Gfx9Waves::deliver(Wave& wave, StreamPoint at, bool complete) {
    while (wave.queue_size != 0)
        drop_oldest_issue(wave, at);
    wave.head.complete = complete;
    if (!complete) {
        diagnostics_->add(Fault::kUnfinishedWave, at.offset_bytes, wave.head.start);
        const std::size_t size = wave.list.size();
        wave.head.end = size == 0 ? wave.head.start : wave.list.end(size - 1) + 4;
        wave.head.record_end = wave.head.end;
    }
    if (wave.list.empty()) wave.timeline.clear();
    finisher_->deliver(wave.head, wave.list, wave.anchors, wave.timeline, at.offset_bytes);
    wave.live = false;
}

void Gfx9Waves::finish(StreamPoint at) {
    for (auto& simd : waves_) {
        for (Wave& wave : simd) {
            if (wave.live) deliver(wave, at, false);
        }
    }
}

} // namespace wavetap::decode
