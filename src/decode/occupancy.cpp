// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/occupancy.hpp"

namespace wavetap::decode {

void Occupancy::report(const Slot& slot, std::uint64_t time, bool start) {
    const WaveHead& head = slot.head;
    OccupancyRecord record;
    record.time = time;
    record.pc.object = head.entry.object;
    record.pc.address = head.entry.address;
    record.start = start;
    record.is_ext = slot.is_ext;
    record.sa = head.sa;
    record.cu = head.cu;
    record.simd = head.simd;
    record.slot = head.slot;
    record.me = head.me;
    record.pipe = head.pipe;
    record.workgroup = head.workgroup;
    record.cluster = head.cluster;
    sink_->occupancy(record);
}

void Occupancy::deliver(WaveHead& head) {
    if (head.entry.object == 0) head.entry = code_->attribute_late(head.entry.address);
    sink_->wave({head, none_, {}, {}, {}, {}, false, 0});
}

void Occupancy::start(StreamPoint at, WaveHead& head, std::uint64_t entry_address, bool is_ext) {
    Slot& slot = slots_[index(head)];
    if (slot.taken) {
        // The end token of the wave before is missing; it ended some time before this start.
        const std::uint64_t end = at.time > 0 ? at.time - 1 : 0;
        if (slot.losses != losses_) report(slot, end, false);
        if (!slot.head.on_target) {
            diagnostics_->add(Fault::kStartOfLiveWave, at.offset_bytes, at.time);
            slot.head.complete = false;
            slot.head.end = end;
            slot.head.record_end = end;
            deliver(slot.head);
        }
    }
    head.ordinal = next_ordinal();
    head.start = at.time;
    const PcRef entry = code_->attribute(entry_address);
    head.entry.object = entry.object;
    head.entry.address = entry.address;
    slot.head = head;
    slot.taken = true;
    slot.is_ext = is_ext;
    slot.saved = false;
    slot.losses = losses_;
    report(slot, at.time, true);
}

void Occupancy::set_entry(const WaveHead& where, std::uint64_t entry_address) {
    Slot& slot = slots_[index(where)];
    if (slot.taken) slot.head.entry = code_->attribute(entry_address);
}

bool Occupancy::end(StreamPoint at, const WaveHead& where) {
    Slot& slot = slots_[index(where)];
    if (!slot.taken) return false;
    slot.taken = false;
    slot.head.end = at.time;
    slot.head.record_end = at.time;
    report(slot, at.time, false);
    if (!slot.head.on_target) deliver(slot.head);
    return true;
}

void Occupancy::pause(StreamPoint at, const WaveHead& where) {
    Slot& slot = slots_[index(where)];
    if (!slot.taken) return;
    slot.taken = false;
    slot.saved = true;
    slot.head.end = at.time;
    slot.head.record_end = at.time;
    report(slot, at.time, false);
    if (!slot.head.on_target) deliver(slot.head);
}

void Occupancy::resume(StreamPoint at, WaveHead& head, std::uint64_t entry_address) {
    Slot& slot = slots_[index(head)];
    const PcRef entry = slot.saved ? slot.head.entry : code_->attribute(entry_address);
    head.ordinal = next_ordinal();
    head.start = at.time;
    head.entry = entry;
    slot = {};
    slot.head = head;
    slot.taken = true;
    slot.losses = losses_;
    report(slot, at.time, true);
}

void Occupancy::end_without_start(StreamPoint at, WaveHead where) {
    diagnostics_->add(Fault::kEndWithoutStart, at.offset_bytes, at.time);
    ++ends_without_start_;
    Slot slot;
    where.ordinal = next_ordinal();
    where.start = 0;
    where.start_seen = false;
    where.end = at.time;
    where.record_end = at.time;
    slot.head = where;
    if (!where.on_target || !quiet_on_target_) {
        report(slot, 0, true);
        report(slot, at.time, false);
    }
    deliver(where);
}

void Occupancy::finish(StreamPoint at) {
    for (Slot& slot : slots_) {
        if (!slot.taken || slot.head.on_target) continue;
        diagnostics_->add(Fault::kUnfinishedWave, at.offset_bytes, slot.head.start);
        slot.taken = false;
        slot.head.complete = false;
        slot.head.end = at.time;
        slot.head.record_end = at.time;
        deliver(slot.head);
    }
}

} // namespace wavetap::decode
