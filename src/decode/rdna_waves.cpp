// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/rdna_waves.hpp"

#include <algorithm>

namespace wavetap::decode {
namespace {

constexpr std::size_t kMaxKept = 4096; ///< what a list keeps memory for from part to part

constexpr std::uint8_t c(Category category) {
    return static_cast<std::uint8_t>(category);
}
std::uint64_t above(std::uint64_t a, std::uint64_t b) {
    return a > b ? a - b : 0;
}

} // namespace

void RdnaWaves::begin(Wave& wave, StreamPoint at, const WaveHead& head) {
    wave.present = true;
    wave.complete = false;
    wave.trapped = false;
    wave.barrier_open = false;
    wave.scale_next = false;
    wave.replay_pending = false;
    wave.replay_time = 0;
    wave.state = WaveState::kIdle;
    wave.last = wave.since = at.time;
    wave.head = head;
    wave.list.clear();
    wave.anchors.clear();
    wave.timeline.clear();
    settle(wave);
}

// What was in the slot before makes room.
void RdnaWaves::clear(Wave& wave, StreamPoint at) {
    if (!wave.present) return;
    const unsigned slot = static_cast<unsigned>(&wave - waves_.data());
    if (!wave.complete)
        contexts_[slot]->diagnostics->add(Fault::kStartOfLiveWave, at.offset_bytes, at.time);
    deliver(wave, slot, at);
}

void RdnaWaves::start(StreamPoint at, const WaveHead& head) {
    const unsigned slot = head.slot & 31;
    Wave& wave = waves_[slot];
    if (wave.unknown) {
        wave.unknown = false;
        first_start_[slot] = at;
        contexts_[slot]->receiver->deliver_unknown(slot);
    }
    clear(wave, at);
    begin(wave, at, head);
    wave.anchors.add_known(0, head.entry);
}

void RdnaWaves::save(StreamPoint at, const WaveHead& head) {
    Wave& wave = waves_[head.slot & 31];
    if (!wave.present || wave.complete) return;
    wave.trapped = true;
    ++wave.head.contexts;
    wave.list.push(at.time, c(Category::kTrap), 1, 0);
    settle(wave);
}

void RdnaWaves::restore(StreamPoint at, const WaveHead& head) {
    Wave& wave = waves_[head.slot & 31];
    if (wave.present && wave.complete) deliver(wave, head.slot & 31, at);
    if (!wave.present) {
        begin(wave, at, head);
        wave.head.start_seen = false;
    }
    const std::size_t size = wave.list.size();
    if (size != 0 && wave.list.is(size - 1, Category::kTrap))
        wave.list.durations[size - 1] = std::max(
            wave.list.durations[size - 1], to_u32(above(at.time + 1, wave.list.times[size - 1])));
    wave.trapped = true;
    ++wave.head.contexts;
    settle(wave);
}

void RdnaWaves::save_context() {
    for (Wave& wave : waves_) {
        wave.trapped = wave.trapped || (wave.present && !wave.complete);
        settle(wave);
    }
}

void RdnaWaves::packets_lost() {
    for (Wave& wave : waves_) {
        if (wave.present && !wave.complete) wave.anchors.add_lost(wave.list.size());
    }
}

RdnaWaves::Wave* RdnaWaves::active(const Waiting& what, unsigned slot) {
    Wave& wave = waves_[slot & 31];
    if (wave.present && !wave.complete) [[likely]]
        return &wave;
    if (wave.unknown) {
        wait(what, slot & 31);
    } else {
        contexts_[slot & 31]->token_without_wave(what.at);
    }
    return nullptr;
}

void RdnaWaves::wait(const Waiting& what, unsigned slot) {
    lists_[slot].push_back(what);
    ++waiting_;
}

void RdnaWaves::redo(const Waiting& what, unsigned slot) {
    switch (what.kind) {
    case Kind::kInstruction:
        return instruction(what.at, slot, *what.op);
    case Kind::kImmediate:
        return immediate(what.at, slot);
    case Kind::kReady:
        return ready(what.at, slot);
    case Kind::kNewPc:
        return new_pc(what.at, slot, what.pc);
    case Kind::kEnd:
        return end(what.at, slot);
    }
}

void RdnaWaves::begin_part(WaveContext& context) {
    contexts_.fill(&context);
    for (Wave& wave : waves_) {
        wave.unknown = true;
        wave.present = false;
        settle(wave);
    }
    for (auto& list : lists_) {
        list.clear();
        if (list.capacity() > kMaxKept) list = {};
    }
    waiting_ = 0;
}

std::size_t RdnaWaves::open_instructions() const {
    std::size_t count = 0;
    for (const Wave& wave : waves_)
        count += wave.present ? wave.list.size() : 0;
    return count;
}

void RdnaWaves::join(unsigned slot, RdnaWaves& part, WaveContext& context) {
    WaveContext* const before = contexts_[slot];
    contexts_[slot] = &context;
    for (const Waiting& what : part.lists_[slot])
        redo(what, slot);
    if (part.known(slot)) {
        clear(waves_[slot], part.first_start_[slot]);
        std::swap(waves_[slot], part.waves_[slot]);
    }
    contexts_[slot] = before;
}

void RdnaWaves::close_barrier(Wave& wave, std::uint64_t time) const {
    if (!wave.barrier_open) return;
    wave.barrier_open = false;
    settle(wave);
    const std::size_t size = wave.list.size();
    if (size == 0 || !wave.list.is(size - 1, Category::kImmed)) return;
    set(wave, WaveState::kWait, wave.list.end(size - 1));
    set(wave, WaveState::kExec, time + 1);
    wave.list.durations[size - 1] = to_u32(above(time, wave.list.times[size - 1]));
    wave.list.categories[size - 1] = c(Category::kMsg);
}

void RdnaWaves::append(Wave& wave, std::uint64_t time, const OpRow& op) const {
    std::uint64_t issue = time;
    std::uint32_t cycles = op.cycles;
    if (wave.scale_next) {
        wave.scale_next = false;
        issue -= issue > 0 ? 1 : 0;
        ++cycles;
    }
    std::uint64_t begin = issue;
    if (wave.state == WaveState::kStall && wave.last < issue) {
        begin = wave.last;
        wave.replay_pending = false;
    }
    const std::uint64_t stall = issue - begin;
    wave.list.push(begin, c(op.category), to_u32(cycles + stall), to_u32(stall));
    set(wave, WaveState::kExec, time);
}

void RdnaWaves::immediate(Wave& wave, std::uint64_t time) const {
    close_barrier(wave, time);
    if (!wave.trapped) push_immediate(wave, time);
}

void RdnaWaves::replay(Wave& wave, std::uint64_t time) const {
    InstructionList& list = wave.list;
    while (!list.empty() && list.is(list.size() - 1, Category::kImmed))
        list.pop();
    if (list.empty()) return;
    const std::size_t i = list.size() - 1;
    const std::uint64_t back = above(list.times[i], 1);
    write_state(wave);
    while (!wave.timeline.empty() && wave.last > back) {
        TimelinePiece& piece = wave.timeline.back();
        const std::uint64_t cut = std::min(piece.clocks, wave.last - back);
        piece.clocks -= cut;
        wave.last -= cut;
        if (piece.clocks == 0) wave.timeline.pop_back();
    }
    if (list.is(i, Category::kVmem) || list.is(i, Category::kLds) || list.is(i, Category::kSmem))
        list.pop();
    wave.since = wave.last;
    wave.state = WaveState::kStall;
    wave.replay_pending = true;
    wave.replay_time = time;
}

void RdnaWaves::return_from_trap(Wave& wave, std::uint64_t time) const {
    wave.anchors.add_waiting(wave.list.size());
    wave.trapped = false;
    const std::size_t size = wave.list.size();
    if (size == 0 || !wave.list.is(size - 1, Category::kTrap)) return;
    wave.list.durations[size - 1] =
        std::max(wave.list.durations[size - 1], to_u32(above(time + 1, wave.list.times[size - 1])));
}

void RdnaWaves::instruction(StreamPoint at, unsigned slot, const OpRow& op) {
    Wave* wave = active({at, &op, {}, Kind::kInstruction}, slot);
    if (wave == nullptr) return;
    if (op.kind == OpKind::kReturn) {
        return_from_trap(*wave, at.time);
    } else {
        close_barrier(*wave, at.time);
        if (!wave->trapped) issue(*wave, at.time, op);
    }
    settle(*wave);
}

void RdnaWaves::issue(Wave& wave, std::uint64_t time, const OpRow& op) const {
    switch (op.kind) {
    case OpKind::kNormal:
    case OpKind::kFatal:
        append(wave, time, op);
        break;
    case OpKind::kNewPc:
        append(wave, time, op);
        wave.anchors.add_waiting(wave.list.size());
        break;
    case OpKind::kBarrier:
        immediate(wave, time);
        wave.barrier_open = opens_barrier_;
        break;
    case OpKind::kTrap:
        append(wave, time, op);
        wave.trapped = true;
        break;
    case OpKind::kReplay:
        replay(wave, time);
        break;
    case OpKind::kScale:
        wave.scale_next = true;
        break;
    default:
        break;
    }
}

void RdnaWaves::ready(StreamPoint at, unsigned slot) {
    Wave& wave = waves_[slot & 31];
    if (wave.unknown) return wait({at, nullptr, {}, Kind::kReady}, slot & 31);
    if (!wave.present || wave.complete) return;
    close_barrier(wave, above(at.time, 1));
    if (wave.replay_pending || (wave.replay_time != 0 && wave.replay_time >= at.time)) return;
    set(wave, WaveState::kStall, at.time);
}

void RdnaWaves::new_pc(StreamPoint at, unsigned slot, PcRef pc) {
    Wave& wave = waves_[slot & 31];
    if (wave.unknown) return wait({at, nullptr, pc, Kind::kNewPc}, slot & 31);
    if (!wave.present || wave.trapped || wave.anchors.empty()) return;
    if (!wave.complete) close_barrier(wave, at.time);
    wave.anchors.arrived(wave.list.size(), pc);
}

void RdnaWaves::end(StreamPoint at, unsigned slot) {
    Wave& wave = waves_[slot & 31];
    if (wave.unknown) return wait({at, nullptr, {}, Kind::kEnd}, slot & 31);
    if (!wave.present || wave.complete) return;
    set(wave, WaveState::kEmpty, at.time);
    wave.complete = true;
    settle(wave);
    wave.head.end = at.time;
    wave.head.record_end = at.time;
    const std::size_t size = wave.list.size();
    if (size == 0 || wave.trapped || wave.list.end(size - 1) >= at.time) return;
    const std::uint64_t begin = wave.list.end(size - 1);
    wave.list.push(begin, c(Category::kMsg), to_u32(at.time - begin), 0);
}

void RdnaWaves::deliver(Wave& wave, unsigned slot, StreamPoint at) {
    const WaveContext& context = *contexts_[slot];
    wave.present = false;
    settle(wave);
    write_state(wave);
    wave.head.complete = wave.complete;
    InstructionList& list = wave.list;
    if (!wave.complete) {
        context.diagnostics->add(Fault::kUnfinishedWave, at.offset_bytes, wave.head.start);
        std::uint64_t end = wave.head.start;
        for (std::size_t i = 0; i < list.size(); ++i)
            end = std::max(end, list.end(i) + 4);
        wave.head.end = wave.head.record_end = end;
    }
    context.receiver->deliver(wave.head, list, wave.anchors, wave.timeline, at.offset_bytes);
}

void RdnaWaves::finish(StreamPoint at) {
    for (unsigned slot = 0; slot < kSlots; ++slot) {
        if (waves_[slot].present) deliver(waves_[slot], slot, at);
    }
}

} // namespace wavetap::decode
