// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/gfx9_wave.hpp"

#include "sqtt/gfx9.hpp"

#include <algorithm>
#include <bit>

namespace wavetap::decode {
namespace {

using sqtt::Gfx9Inst;

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

void Gfx9Wave::clear() {
    live = false;
    trap = Trap::kNormal;
    state = WaveState::kIdle;
    list.clear();
    anchors.clear();
    timeline.clear();
    queue_size = 0;
    last_named = {};
    entries_before = 0;
    stalls.clear();
    first_stall = 0;
}

inline void Gfx9Wave::add_time(WaveState what, std::uint64_t clocks) {
    if (!timeline.empty() && timeline.back().state == what)
        timeline.back().clocks += clocks;
    else
        timeline.push_back({what, clocks});
}

// Where an entry began may be known too late, or too early if it is an entry of the part, but then
// it began before the part.
std::uint64_t Gfx9Wave::least_end(std::size_t i) const {
    return 4 + (i < entries_before ? list.times[i] : std::max(list.times[i], doubt->begin));
}

inline void Gfx9Wave::mend(std::size_t i, std::uint64_t time) {
    if (time >= list.end(i)) return;
    if (unsure && time < least_end(i)) doubt->failed = true;
    list.durations[i] = std::max<std::uint32_t>(to_u32(above(time, list.times[i])), 4);
    list.stalls[i] = std::min(list.stalls[i], list.durations[i]);
}

void Gfx9Wave::begin(StreamPoint at, const WaveHead& what) {
    begin_unseen(at.time, what);
    anchors.add_known(0, what.entry);
}

void Gfx9Wave::begin_unseen(std::uint64_t time, const WaveHead& what) {
    clear();
    live = true;
    held = true;
    head = what;
    state_start = time;
}

void Gfx9Wave::make_room(StreamPoint at) {
    context->diagnostics->add(Fault::kStartOfLiveWave, at.offset_bytes, at.time);
    deliver(at, false);
}

void Gfx9Wave::switch_context(StreamPoint at) {
    if (!live) return;
    if (trap == Trap::kRequested) {
        trap = Trap::kStandby;
        list.push(at.time, c(Category::kTrap), 4, 0);
        ++head.contexts;
    } else if (trap == Trap::kStandby) {
        trap = Trap::kWaitPc;
    }
}

void Gfx9Wave::packets_lost(StreamPoint at) {
    if (!live) {
        held = false;
        return;
    }
    while (queue_size != 0)
        drop_oldest_issue(at);
    anchors.add_broken(list.size());
}

void Gfx9Wave::erase(std::size_t i) {
    list.erase(i);
    anchors.erased(i);
    if (i < entries_before) --entries_before;
    for (unsigned q = 0; q < queue_size; ++q) {
        std::uint32_t& index = queue[(queue_head + q) % kMaxInFlight];
        if (index > i) --index;
    }
}

inline std::uint32_t Gfx9Wave::take_oldest() {
    const std::uint32_t index = queue[queue_head];
    queue_head = (queue_head + 1) % kMaxInFlight;
    --queue_size;
    return index;
}

void Gfx9Wave::drop_oldest_issue(StreamPoint at) {
    context->diagnostics->add(Fault::kUnidentifiedIssue, at.offset_bytes, at.time);
    erase(take_oldest());
}

void Gfx9Wave::immediate(StreamPoint at) {
    std::uint64_t begin = at.time;
    if (!list.empty() && list.categories[list.size() - 1] != kPendingCategory) {
        mend(list.size() - 1, at.time);
        begin = std::min(list.end(list.size() - 1), at.time);
    }
    const std::uint64_t cycles = 4 + above(at.time, begin);
    list.push(begin, c(Category::kImmed), to_u32(cycles), to_u32(cycles));
    if (state_start < begin) add_time(state, begin - state_start);
    state = WaveState::kExec;
    timeline.push_back({WaveState::kWait, cycles});
    state_start = begin + cycles;
}

void Gfx9Wave::push_stall(std::uint64_t time) {
    if (first_stall > kMaxStalls / 2) {
        stalls.erase(stalls.begin(), stalls.begin() + static_cast<std::ptrdiff_t>(first_stall));
        first_stall = 0;
    }
    if (stalls.size() < kMaxStalls)
        stalls.push_back(time);
    else
        stalls.back() = time;
}

void Gfx9Wave::issue(StreamPoint at, unsigned what) {
    const WaveState before = state;
    switch (static_cast<sqtt::Gfx9Issue>(what)) {
    case sqtt::Gfx9Issue::kInstruction:
        state = WaveState::kExec;
        if (queue_size == kMaxInFlight) {
            context->diagnostics->add(Fault::kQueueOverflow, at.offset_bytes, at.time);
            drop_oldest_issue(at);
            anchors.add_broken(list.size());
            if (unsure) doubt->failed = true;
        }
        queue[(queue_head + queue_size++) % kMaxInFlight] = static_cast<std::uint32_t>(list.size());
        list.push(at.time, kPendingCategory, 0, 0);
        break;
    case sqtt::Gfx9Issue::kStall:
        state = WaveState::kStall;
        push_stall(at.time);
        break;
    case sqtt::Gfx9Issue::kImmediate:
        immediate(at);
        break;
    case sqtt::Gfx9Issue::kNone:
        return;
    }
    if (at.time > state_start) add_time(before, at.time - state_start);
    state_start = std::max(at.time, state_start);
}

void Gfx9Wave::resume(StreamPoint at, unsigned type) {
    if (trap != Trap::kWaitPc || static_cast<Gfx9Inst>(type) != Gfx9Inst::kPc) return;
    trap = Trap::kNormal;
    anchors.add_waiting(list.size());
    for (std::size_t i = list.size(); i-- > 0;) {
        if (!list.is(i, Category::kTrap)) continue;
        list.durations[i] = to_u32(above(at.time + 4, list.times[i]));
        break;
    }
}

inline void Gfx9Wave::apply_stalls(std::size_t i) {
    const std::uint64_t time = list.times[i];
    if (first_stall >= stalls.size() || time <= stalls[first_stall]) return;
    std::uint64_t begin = i > 0 ? list.end(i - 1) : 0;
    std::uint64_t last = 0;
    while (first_stall < stalls.size() && stalls[first_stall] < time)
        last = stalls[first_stall++];
    if (first_stall == stalls.size()) {
        stalls.clear();
        first_stall = 0;
    }
    begin = std::max(begin, last);
    const std::uint64_t end = time + list.durations[i];
    list.stalls[i] = to_u32(above(time, begin));
    list.durations[i] = std::max<std::uint32_t>(to_u32(above(end, begin)), 4);
    list.times[i] = begin;
}

// Lengthens the instruction that is replayed: the last one of its kind.
void Gfx9Wave::replay(StreamPoint at, std::size_t i, std::uint8_t category) {
    const std::uint32_t last = last_named[category];
    if (last == 0 && doubt != nullptr) doubt->failed = true; // it may be in the part before
    if (last == 0 || last + 1 > i)
        return; // last is an index plus one: two entries before i at least
    const std::size_t j = last - 1;
    const std::uint32_t longer = to_u32(above(at.time + 4, list.times[j]));
    if (longer <= list.durations[j]) return;
    list.stalls[j] += longer - list.durations[j];
    list.durations[j] = longer;
}

bool Gfx9Wave::name(StreamPoint at, unsigned simd, unsigned type, std::uint32_t& counter) {
    const std::uint32_t i = take_oldest();
    const InstRow& row = kInstRows[type & 31];
    if (list.size() >= 2 && list.times[i] < list.end(list.size() - 2)) ++counter;
    if (i > 0) mend(i - 1, list.times[i]);
    const unsigned phase = (counter + simd) % 4 + row.phase;
    list.categories[i] = row.category;
    list.durations[i] = to_u32(4 + above(above(at.time, list.times[i]), 4 * (phase / 4)));
    apply_stalls(i);
    if (row.replay) replay(at, i, row.category);
    if (row.replay || row.category == kNoCategory) {
        if (row.source == Source::kInferred)
            context->diagnostics->add(Fault::kUnknownInstructionCode, at.offset_bytes, at.time);
        erase(i);
        return false;
    }
    last_named[row.category] = i + 1;
    if (row.type == Gfx9Inst::kPc) {
        anchors.add_waiting(std::size_t{i} + 1);
        anchors_changed = true;
    } else if (row.type == Gfx9Inst::kTrap) {
        trap = Trap::kWaitPc;
        anchors.push_up(list.size() - 1);
        if (doubt != nullptr) doubt->failed = true;
    }
    return true;
}

bool Gfx9Wave::end(StreamPoint at) {
    if (trap != Trap::kNormal) return false;
    head.end = at.time;
    head.record_end = at.time + 4;
    if (!list.empty() && head.record_end > state_start)
        timeline.push_back({state, head.record_end - state_start});
    deliver(at, true);
    return true;
}

void Gfx9Wave::deliver(StreamPoint at, bool complete) {
    while (queue_size != 0)
        drop_oldest_issue(at);
    head.complete = complete;
    if (!complete) {
        context->diagnostics->add(Fault::kUnfinishedWave, at.offset_bytes, head.start);
        const std::size_t size = list.size();
        head.end = size == 0 ? head.start : list.end(size - 1) + 4;
        head.record_end = head.end;
    }
    if (list.empty()) timeline.clear();
    context->receiver->deliver(head, list, anchors, timeline, at.offset_bytes);
    live = false;
}

} // namespace wavetap::decode
