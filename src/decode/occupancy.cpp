// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/occupancy.hpp"

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

void Occupancy::set_entry(WaveWords where, std::uint64_t entry_address) {
    Slot& slot = slots_[index(where)];
    if (slot.taken) slot.entry = code_->attribute(entry_address);
}

void Occupancy::resume(StreamPoint at, WaveWords words, std::uint64_t entry_address) {
    Slot& slot = slots_[index(words)];
    const PcRef entry = slot.saved ? slot.entry : code_->attribute(entry_address);
    slot = {};
    slot.start = at.time;
    slot.ordinal = at.offset_bytes;
    slot.words = words;
    slot.entry = entry;
    slot.taken = true;
    slot.losses = losses_;
    report(slot, at.time, true);
}

void Occupancy::end_without_start(StreamPoint at, WaveWords where) {
    diagnostics_->add(Fault::kEndWithoutStart, at.offset_bytes, at.time);
    ++ends_without_start_;
    Slot slot;
    slot.ordinal = at.offset_bytes;
    slot.words = where;
    slot.words.set_start_unseen();
    if (!where.on_target() || !quiet_on_target_) {
        report(slot, 0, true);
        report(slot, at.time, false);
    }
    deliver(slot, at.time);
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
