// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/part_occupancy.hpp"

namespace wavetap::decode {
namespace {

template <class T, class Send>
void send_row(std::span<const T> row, const std::vector<PartSlots::Extra<T>>& more, Send&& send) {
    std::size_t from = 0;
    const auto send_to = [&](std::size_t end) {
        if (end > from) send(row.subspan(from, end - from));
        from = end;
    };
    for (const auto& extra : more) {
        send_to(extra.before);
        send(std::span<const T>(&extra.value, 1));
    }
    send_to(row.size());
}

} // namespace

void PartSlots::clear() {
    records.clear();
    waves.clear();
    opens.clear();
    lasts.clear();
    more_records.clear();
    more_waves.clear();
    ends_without_start = 0;
}

void PartSlots::send(RecordSink& sink) const {
    send_row(records.all(), more_records,
             [&](std::span<const OccupancyRecord> some) { sink.occupancies(some); });
    send_row(waves.all(), more_waves,
             [&](std::span<const WaveHead> some) { sink.waves_without_detail(some); });
}

void PartOccupancy::begin(PartSlots& out, Diagnostics& diagnostics) {
    out_ = &out;
    diagnostics_ = &diagnostics;
    failed_ = false;
    touched_.clear();
    if (++stamp_ != 0) return;
    for (Occupancy::Slot& slot : slots_)
        slot.stamp = 0;
    stamp_ = 1;
}

void PartOccupancy::finish() {
    for (const std::uint32_t index : touched_)
        if (slots_[index].started) out_->lasts.push_back({index, slots_[index]});
}

void PartOccupancy::open(Occupancy::Slot& slot, StreamPoint at, WaveWords words, bool start) {
    slot.stamp = stamp_;
    slot.taken = false;
    slot.started = false;
    PartSlots::Open open;
    open.at = at;
    open.words = words;
    open.slot = static_cast<std::uint32_t>(Occupancy::index(words));
    open.record = static_cast<std::uint32_t>(out_->records.size());
    open.wave = static_cast<std::uint32_t>(out_->waves.size());
    open.start = start;
    out_->opens.push_back(open);
    touched_.push_back(open.slot);
    if (start) return;
    out_->records.next() = {};
    if (!words.on_target()) out_->waves.next() = {};
}

// As Occupancy does it; no tokens are lost within a part.
void PartOccupancy::end_is_missing(Occupancy::Slot& slot, StreamPoint at) {
    if (slot.words.on_target()) return;
    diagnostics_->add(Fault::kStartOfLiveWave, at.offset_bytes, at.time);
    slot.words.set_incomplete();
    deliver(slot, at.time > 0 ? at.time - 1 : 0);
}

void PartOccupancy::end_without_start(StreamPoint at, WaveWords where) {
    if (++out_->ends_without_start > kMaxEndsWithoutStart) failed_ = true;
    diagnostics_->add(Fault::kEndWithoutStart, at.offset_bytes, at.time);
    const Occupancy::Slot slot = Occupancy::unseen(at, where);
    report(slot, 0, true);
    report(slot, at.time, false);
    deliver(slot, at.time);
}

} // namespace wavetap::decode
