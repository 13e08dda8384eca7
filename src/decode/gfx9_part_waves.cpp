// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/gfx9_part_waves.hpp"

#include <algorithm>
#include <utility>

namespace wavetap::decode {
namespace {

constexpr std::size_t kMaxKept = 1024; ///< what a list keeps memory for from part to part
constexpr std::size_t kMaxStalls = 512;
constexpr std::uint8_t kAnyCategory = static_cast<std::uint8_t>(Category::kImmed);

} // namespace

void Gfx9PartWaves::begin(std::uint32_t phase) {
    for (Slot& slot : slots_) {
        slot.wave.live = slot.wave.held = false;
        slot.wave.unsure = false;
        slot.status = Status::kUnseen;
        slot.used = slot.ended = slot.started = slot.synced = slot.named = slot.timed = false;
        slot.size_before = 0;
        slot.written.clear();
        if (slot.written.capacity() > kMaxKept) slot.written = {};
        for (Gfx9Wave* wave : {&slot.wave, &slot.before})
            if (wave->list.times.size() > kMaxKept) wave->list = {};
    }
    doubt_ = {};
    nowhere_ = {};
    unsure_.tokens_without_wave = 0;
    context_ = nullptr;
    phase_ = phase;
}

void Gfx9PartWaves::begin_before(Slot& slot, std::uint64_t time) {
    slot.status = Status::kBefore;
    slot.wave.context = &unsure_;
    slot.wave.doubt = &doubt_;
    slot.wave.unsure = true;
    slot.wave.anchors_changed = false;
    slot.wave.begin_unseen(time, {});
}

void Gfx9PartWaves::begin_at(const Gfx9Place& place) {
    begin(place.phase);
    for (unsigned i = 0; i < kAllSlots; ++i) {
        Slot& slot = slots_[i];
        const Gfx9Tail& tail = place.tails[i];
        if (!tail.live && tail.held) slot.status = Status::kGone;
        if (!tail.live || !tail.plain) continue;
        begin_before(slot, tail.state_start);
        Gfx9Wave& wave = slot.wave;
        for (std::size_t entry = tail.count; entry-- > 0;)
            wave.list.push(tail.entries[entry].time,
                           tail.waits(entry) ? kPendingCategory : kAnyCategory,
                           tail.entries[entry].duration, 0);
        wave.queue_head = 0;
        wave.queue_size = tail.queued;
        for (unsigned q = 0; q < tail.queued; ++q)
            wave.queue[q] = static_cast<std::uint32_t>(tail.count - 1U - tail.queue[q]);
        for (std::uint32_t a = 0; a < tail.waiting_anchors; ++a)
            wave.anchors.add_waiting(a);
    }
}

void Gfx9PartWaves::begin_part(std::uint64_t time, WaveContext& context) {
    doubt_ = {time, false};
    context_ = &context;
    first_phase_ = phase_;
    phase_used_ = false;
    for (Slot& slot : slots_) {
        slot.guess = {};
        slot.guess.plain = true;
        if (slot.status != Status::kBefore) continue;
        slot.wave.stalls.clear();
        slot.wave.first_stall = 0;
        slot.size_before = static_cast<std::uint32_t>(slot.wave.list.size());
        slot.wave.entries_before = slot.size_before;
        slot.wave.anchors_changed = false;
        slot.guess = tail_of(slot.wave);
        if (slot.guess.plain) continue;
        slot.status = Status::kGone; // too much to tell; a token of it ends the build
        slot.wave.live = false;
    }
}

void Gfx9PartWaves::end_part(std::uint64_t time) {
    end_time_ = time;
    context_ = nullptr;
}

std::size_t Gfx9PartWaves::size() const {
    std::size_t count = 0;
    for (const Slot& slot : slots_)
        count += slot.written.size() + (slot.wave.live ? slot.wave.list.size() : 0);
    return count;
}

// True if a wave runs there, as far as is known.
bool Gfx9PartWaves::find(Slot& slot, std::uint64_t time) {
    if (slot.wave.live) return true;
    if (slot.status == Status::kUnseen) {
        begin_before(slot, time);
        return true;
    }
    if (slot.status == Status::kGone && context_ != nullptr) fail();
    return false;
}

void Gfx9PartWaves::write(Slot& slot, const Written& what) {
    if (context_ == nullptr) return;
    slot.used = true;
    slot.written.push_back(what);
}

void Gfx9PartWaves::issue(StreamPoint at, unsigned simd, std::uint32_t states) {
    each_issue(states, [&](unsigned number, unsigned state) {
        Slot& of = slot(simd, number);
        if (!of.wave.live && !find(of, at.time)) [[unlikely]] {
            if (context_ != nullptr) context_->token_without_wave(at);
        } else if (of.wave.trap == Gfx9Wave::Trap::kNormal) {
            if (of.wave.unsure)
                issue_unsure(of, at, state);
            else
                of.wave.issue(at, state);
        }
    });
}

void Gfx9PartWaves::issue_unsure(Slot& slot, StreamPoint at, unsigned state) {
    write(slot, {at, {}, Kind::kIssue, static_cast<std::uint8_t>(state), 0});
    slot.wave.issue(at, state);
    if (context_ != nullptr && at.time >= doubt_.begin + 4) slot.timed = true;
    if (slot.wave.stalls.size() > kMaxStalls) fail();
}

void Gfx9PartWaves::inst(StreamPoint at, unsigned simd, unsigned number, unsigned type,
                         unsigned /*cu*/) {
    Slot& of = slot(simd, number);
    Gfx9Wave& wave = of.wave;
    if (!wave.live && !find(of, at.time)) [[unlikely]] {
        if (context_ != nullptr) context_->token_without_wave(at);
        return;
    }
    if (wave.trap != Gfx9Wave::Trap::kNormal) return wave.resume(at, type);
    if (wave.unsure) return inst_unsure(of, at, simd, type);
    if (wave.queue_size == 0) return;
    phase_used_ = true;
    wave.name(at, simd, type, phase_);
}

void Gfx9PartWaves::inst_unsure(Slot& slot, StreamPoint at, unsigned simd, unsigned type) {
    write(slot, {at,
                 {},
                 Kind::kInst,
                 static_cast<std::uint8_t>(type),
                 static_cast<std::uint8_t>(phase_ & 3U)});
    Gfx9Wave& wave = slot.wave;
    if (wave.queue_size == 0) return;
    const std::uint32_t i = wave.waiting(0);
    const bool in_part = context_ != nullptr && wave.list.times[i] > doubt_.begin;
    phase_used_ = true;
    const bool stays = wave.name(at, simd, type, phase_);
    if (!in_part) return;
    const auto& anchors = wave.anchors.all();
    if (slot.named && slot.timed && stays && i + 1 == wave.list.size() && wave.queue_size == 0 &&
        wave.stalls.empty() && wave.anchors.waiting() == 0 &&
        (anchors.empty() || anchors.back().index <= i))
        sync(slot);
    slot.named = true;
}

// The last entry is as it really is, and no earlier one is looked at any more.
void Gfx9PartWaves::sync(Slot& slot) {
    Gfx9Wave& wave = slot.wave;
    slot.synced = true;
    slot.sync = static_cast<std::uint32_t>(wave.list.size()) - 1;
    wave.unsure = false;
    wave.context = context_;
    wave.timeline.clear();
    wave.anchors.clear();
    wave.last_named = {};
    wave.last_named[wave.list.categories[slot.sync]] = slot.sync + 1;
}

void Gfx9PartWaves::new_pc(unsigned simd, unsigned number, PcRef pc) {
    Slot& of = slot(simd, number);
    if (!of.wave.live && !find(of, doubt_.begin)) return;
    if (of.wave.unsure) write(of, {{}, pc, Kind::kNewPc, 0, 0});
    of.wave.anchors_changed = true;
    of.wave.anchors.arrived(of.wave.list.size(), pc);
}

// The wave from before the part is not in the slot any more.
void Gfx9PartWaves::leave(Slot& slot) {
    if (slot.status == Status::kBefore) std::swap(slot.wave, slot.before);
    slot.status = Status::kKnown;
    slot.wave.live = false;
    slot.wave.held = true;
    const auto number = static_cast<unsigned>(&slot - slots_.data());
    context_->receiver->deliver_unknown(number);
}

void Gfx9PartWaves::start(StreamPoint at, const WaveHead& head) {
    Slot& of = slot(head.simd, head.slot);
    Gfx9Wave& wave = of.wave;
    if (context_ == nullptr) {
        begin_before(of, at.time);
        return wave.begin(at, head);
    }
    if (of.status != Status::kKnown) {
        leave(of);
        of.started = true;
        of.first_start = at;
    } else if (wave.live) {
        wave.make_room(at);
    }
    wave.context = context_;
    wave.doubt = nullptr;
    wave.unsure = false;
    wave.begin(at, head);
}

bool Gfx9PartWaves::end(StreamPoint at, unsigned simd, unsigned number) {
    Slot& of = slot(simd, number);
    if (context_ == nullptr) {
        of.status = Status::kGone;
        of.wave.live = false;
        return true;
    }
    if (of.status == Status::kKnown) return of.wave.live && of.wave.end(at);
    if (of.status == Status::kGone) {
        fail();
        return false;
    }
    of.used = of.ended = true;
    of.first_end = at;
    leave(of);
    return true;
}

// An entry of the part whose beginning is not known began when the part did at the latest, or as
// it says.
Gfx9Tail Gfx9PartWaves::seen_tail(const Slot& slot) const {
    Gfx9Tail tail = tail_of(slot.wave);
    tail.anchors_changed = slot.wave.anchors_changed;
    const std::size_t added = slot.wave.list.size() - slot.wave.entries_before;
    for (std::size_t i = 0; slot.wave.unsure && i < std::min<std::size_t>(tail.count, added); ++i) {
        Gfx9Tail::Entry& entry = tail.entries[i];
        if (tail.waits(i) || entry.time >= doubt_.begin) continue;
        const std::uint64_t end = entry.end();
        entry.time = std::min(doubt_.begin, end);
        entry.duration = static_cast<std::uint32_t>(end - entry.time);
    }
    return tail;
}

bool Gfx9PartWaves::check(Gfx9Place& place) const {
    if (phase_used_ && ((first_phase_ ^ place.phase) & 3U) != 0) return false;
    for (unsigned i = 0; i < kAllSlots; ++i) {
        const Slot& slot = slots_[i];
        if (!slot.used) continue;
        const Gfx9Tail& really = place.tails[i];
        if (slot.ended && !really.start_seen) return false;
        const Gfx9Wave& wave = slot.status == Status::kKnown ? slot.before : slot.wave;
        if (wave.anchors_changed && slot.guess.waiting_anchors != really.waiting_anchors)
            return false;
        if (!was_right(slot.guess, really, doubt_.begin, end_time_)) return false;
    }
    for (unsigned i = 0; i < kAllSlots; ++i) {
        const Slot& slot = slots_[i];
        Gfx9Tail& tail = place.tails[i];
        if (slot.status == Status::kKnown)
            tail = tail_of(slot.wave);
        else if (slot.used)
            tail = joined_tail(seen_tail(slot), slot.size_before, tail, slot.synced);
    }
    if (phase_used_) place.phase = phase_;
    return true;
}

void Gfx9PartWaves::redo(const Written& what, unsigned simd, Gfx9Wave& wave) {
    std::uint32_t phase = what.phase;
    switch (what.kind) {
    case Kind::kIssue:
        wave.issue(what.at, what.what);
        break;
    case Kind::kInst:
        if (wave.queue_size != 0) wave.name(what.at, simd, what.what, phase);
        break;
    case Kind::kNewPc:
        wave.anchors.arrived(wave.list.size(), what.pc);
        break;
    }
}

void Gfx9PartWaves::append(Gfx9Wave& part, std::size_t sync, Gfx9Wave& wave) {
    InstructionList& list = wave.list;
    const std::size_t offset = list.size() - 1 - sync;
    list.pop();
    list.append(part.list, sync);
    wave.anchors.append(part.anchors, offset);
    for (std::size_t i = 0; i < part.timeline.size(); ++i) {
        const TimelinePiece& piece = part.timeline[i];
        // As Gfx9Wave adds them: the time of an immediate is a piece of its own.
        if (i == 0 && !wave.timeline.empty() && wave.timeline.back().state == piece.state &&
            piece.state != WaveState::kWait)
            wave.timeline.back().clocks += piece.clocks;
        else
            wave.timeline.push_back(piece);
    }
    wave.queue_head = 0;
    wave.queue_size = part.queue_size;
    for (unsigned i = 0; i < part.queue_size; ++i)
        wave.queue[i] = part.waiting(i) + static_cast<std::uint32_t>(offset);
    for (std::size_t i = 0; i < part.last_named.size(); ++i)
        if (part.last_named[i] != 0)
            wave.last_named[i] = part.last_named[i] + static_cast<std::uint32_t>(offset);
    std::swap(wave.stalls, part.stalls);
    wave.first_stall = part.first_stall;
    wave.state = part.state;
    wave.state_start = part.state_start;
}

void Gfx9PartWaves::join(unsigned number, Gfx9Wave& wave) {
    Slot& of = slots_[number];
    if (of.used) {
        for (const Written& what : of.written)
            redo(what, number / kSlots, wave);
        const bool left = of.status == Status::kKnown;
        if (of.synced) append(left ? of.before : of.wave, of.sync, wave);
        if (of.ended) wave.end(of.first_end);
    }
    if (of.started && wave.live) wave.make_room(of.first_start);
    if (of.status != Status::kKnown) return;
    wave.held = true;
    if (!of.wave.live) return;
    WaveContext* const context = wave.context;
    std::swap(wave, of.wave);
    wave.context = context;
}

} // namespace wavetap::decode
