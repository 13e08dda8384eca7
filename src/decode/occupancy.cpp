// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/occupancy.hpp"

#include "decode/part_occupancy.hpp"

namespace wavetap::decode {

WaveHead Occupancy::head_of(const Slot& slot) {
    WaveHead head;
    head.ordinal = slot.ordinal;
    head.start = slot.start;
    head.entry = slot.entry;
    head.set(slot.words);
    return head;
}

void Occupancy::flush() {
    if (record_count_ != 0) sink_->occupancies({records_.data(), record_count_});
    record_count_ = 0;
    if (wave_count_ != 0) sink_->waves_without_detail({waves_.data(), wave_count_});
    wave_count_ = 0;
}

// The end token of the wave before is missing; it ended some time before this start.
void Occupancy::end_is_missing(Slot& slot, StreamPoint at) {
    const std::uint64_t end = at.time > 0 ? at.time - 1 : 0;
    if (slot.losses != losses_) report(slot, end, false);
    if (slot.words.on_target()) return;
    diagnostics_->add(Fault::kStartOfLiveWave, at.offset_bytes, at.time);
    slot.words.set_incomplete();
    deliver(slot, end);
}

void Occupancy::set_entry(WaveWords where, PcRef entry) {
    Slot& slot = slots_[index(where)];
    if (slot.taken) slot.entry = entry;
}

void Occupancy::resume(StreamPoint at, WaveWords words, PcRef now) {
    Slot& slot = slots_[index(words)];
    const PcRef entry = slot.saved ? slot.entry : now;
    slot = {};
    slot.start = at.time;
    slot.ordinal = at.offset_bytes;
    slot.words = words;
    slot.entry = entry;
    slot.taken = true;
    slot.losses = losses_;
    report(slot, at.time, true);
}

Occupancy::Slot Occupancy::unseen(StreamPoint at, WaveWords where) {
    Slot slot;
    slot.ordinal = at.offset_bytes;
    slot.words = where;
    slot.words.set_start_unseen();
    return slot;
}

void Occupancy::end_without_start(StreamPoint at, WaveWords where) {
    diagnostics_->add(Fault::kEndWithoutStart, at.offset_bytes, at.time);
    ++ends_without_start_;
    const Slot slot = unseen(at, where);
    if (!where.on_target() || !quiet_on_target_) {
        report(slot, 0, true);
        report(slot, at.time, false);
    }
    deliver(slot, at.time);
}

void Occupancy::join(PartSlots& part, Diagnostics& diagnostics) {
    const auto add_wave = [&](std::uint32_t before, const Slot& slot, std::uint64_t end) {
        part.more_waves.push_back({before, {}});
        fill(part.more_waves.back().value, slot, end, *code_);
    };
    for (const PartSlots::Open& open : part.opens) {
        Slot& slot = slots_[open.slot];
        if (open.start) {
            if (!slot.taken) continue;
            // As end_is_missing().
            const std::uint64_t end = open.at.time > 0 ? open.at.time - 1 : 0;
            if (slot.losses != part.losses)
                part.more_records.push_back({open.record, record_of(slot, end, false)});
            if (slot.words.on_target()) continue;
            diagnostics.add(Fault::kStartOfLiveWave, open.at.offset_bytes, open.at.time);
            slot.words.set_incomplete();
            add_wave(open.wave, slot, end);
            continue;
        }
        const bool on_target = open.words.on_target();
        if (slot.taken) {
            slot.taken = false;
            part.records[open.record] = record_of(slot, open.at.time, false);
            if (!on_target) fill(part.waves[open.wave], slot, open.at.time, *code_);
            continue;
        }
        diagnostics.add(Fault::kEndWithoutStart, open.at.offset_bytes, open.at.time);
        ++ends_without_start_;
        const Slot none = unseen(open.at, open.words);
        part.more_records.push_back({open.record, record_of(none, 0, true)});
        part.records[open.record] = record_of(none, open.at.time, false);
        if (on_target)
            add_wave(open.wave, none, open.at.time);
        else
            fill(part.waves[open.wave], none, open.at.time, *code_);
    }
    for (const PartSlots::Last& last : part.lasts)
        slots_[last.slot] = last.state;
    ends_without_start_ += part.ends_without_start;
}

void Occupancy::finish(StreamPoint at) {
    for (Slot& slot : slots_) {
        if (!slot.taken || slot.words.on_target()) continue;
        diagnostics_->add(Fault::kUnfinishedWave, at.offset_bytes, slot.start);
        slot.taken = false;
        slot.words.set_incomplete();
        deliver(slot, at.time);
    }
    flush();
}

} // namespace wavetap::decode
