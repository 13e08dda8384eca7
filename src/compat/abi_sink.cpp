// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "compat/abi_sink.hpp"

#include "compat/abi_records.hpp"

#include <algorithm>
#include <limits>

namespace wavetap::compat {
namespace {

constexpr std::uint32_t kMostStall = (1U << 24) - 1;

std::int32_t saturated(std::uint64_t value) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::int32_t>::max();
    return static_cast<std::int32_t>(std::min(value, kMost));
}

std::int64_t clock_of(std::uint64_t time) {
    return static_cast<std::int64_t>(time);
}

/// The ABI counts categories from 1, in our order.
std::uint8_t category_number(std::uint8_t category) {
    static_assert(static_cast<int>(decode::Category::kSmem) == 0 &&
                  static_cast<int>(decode::Category::kSalu) == 1 &&
                  static_cast<int>(decode::Category::kVmem) == 2 &&
                  static_cast<int>(decode::Category::kFlat) == 3 &&
                  static_cast<int>(decode::Category::kLds) == 4 &&
                  static_cast<int>(decode::Category::kValu) == 5 &&
                  static_cast<int>(decode::Category::kJump) == 6 &&
                  static_cast<int>(decode::Category::kNext) == 7 &&
                  static_cast<int>(decode::Category::kImmed) == 8 &&
                  static_cast<int>(decode::Category::kTrap) == 9 &&
                  static_cast<int>(decode::Category::kMsg) == 10 &&
                  static_cast<int>(decode::Category::kBvh) == 11);
    return category <= static_cast<std::uint8_t>(decode::Category::kBvh)
               ? static_cast<std::uint8_t>(category + 1)
               : 0;
}

std::uintptr_t major_version(sqtt::Generation generation) {
    switch (generation) {
    case sqtt::Generation::kGfx9:
        return 9;
    case sqtt::Generation::kGfx10:
        return 10;
    case sqtt::Generation::kGfx11:
        return 11;
    case sqtt::Generation::kGfx12:
    case sqtt::Generation::kGfx1250:
        return 12;
    }
    return 0;
}

} // namespace

AbiSink::AbiSink(const Setup& setup, decode::CodeMap& code, const sqtt::Header& header, Said& said)
    : setup_(setup), code_(&code), lines_(code, 256), said_(&said),
      gfx9_(header.generation == sqtt::Generation::kGfx9), version_(gfx9_ ? 0U : header.version),
      target_cu_(header.target_cu) {
    if (said.gfxip) return;
    said.gfxip = true;
    send(kGfxip, reinterpret_cast<void*>(major_version(header.generation)), 0);
}

Pc AbiSink::address(decode::PcRef pc) const {
    const decode::Pc full = code_->pc_of(pc.object != 0 ? pc : code_->attribute_late(pc.address));
    return full.code_object != 0 ? Pc{full.elf_address, full.code_object} : Pc{full.absolute, 0};
}

template <class Record> void AbiSink::flush(RecordType type, std::vector<Record>& records) {
    if (!records.empty()) send(type, records.data(), records.size());
    records.clear();
}

template <class Record>
void AbiSink::add(RecordType type, std::vector<Record>& records, const Record& record) {
    if (!setup_.wanted.has(type)) return;
    records.push_back(record);
    if (records.size() >= kBatch || setup_.wanted.immediate(type)) flush(type, records);
}

void AbiSink::wave(const decode::WaveView& view) {
    const decode::WaveHead& head = view.head;
    if (!head.on_target) return;
    // An end without a start is told by the occupancy alone.
    if (!head.start_seen && view.instructions.empty()) return;
    if (setup_.hidden_latency) analyse(view);
    if (!setup_.wanted.has(kWave)) return;
    const decode::InstructionList& list = view.instructions;
    instructions_.resize(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
        Instruction& out = instructions_[i];
        out.bits = category_number(list.categories[i]) | std::min(list.stalls[i], kMostStall) << 8;
        out.duration = saturated(list.durations[i]);
        out.time = clock_of(list.times[i]);
        const bool known = i < view.has_pc.size() && view.has_pc[i] != 0;
        out.pc = known ? address(view.pcs[i]) : Pc{};
    }
    timeline_.clear();
    for (const decode::TimelinePiece& piece : view.timeline)
        timeline_.push_back({static_cast<std::int32_t>(piece.state), saturated(piece.clocks)});
    Wave out;
    out.cu = cu(head.sa, head.cu);
    out.simd = head.simd;
    out.slot = head.slot;
    out.contexts = head.contexts;
    out.dispatcher = static_cast<std::uint8_t>((head.me & 7) << 4 | (head.pipe & 15));
    out.workgroup = head.workgroup;
    out.cluster = head.cluster;
    out.size = sizeof out;
    out.begin = clock_of(head.start);
    out.end = clock_of(gfx9_ ? head.record_end : head.end);
    out.timeline_count = timeline_.size();
    out.instruction_count = instructions_.size();
    out.timeline = timeline_.data();
    out.instructions = instructions_.data();
    send(kWave, &out, 1);
}

void AbiSink::analyse(const decode::WaveView& view) {
    latency_.begin_wave(view.head.simd, view.head.start);
    const decode::InstructionList& list = view.instructions;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const bool known = i < view.has_pc.size() && view.has_pc[i] != 0;
        const Pc pc = known ? address(view.pcs[i]) : Pc{};
        const bool matrix = known && lines_.line(view.pcs[i]).has(decode::CodeLine::kMatrix);
        latency_.add(static_cast<decode::Category>(list.categories[i]), list.times[i],
                     list.durations[i], std::min(list.stalls[i], kMostStall), {pc.id, pc.address},
                     matrix);
    }
}

void AbiSink::send_hidden_latency() {
    std::vector<HiddenLatencyRecord> records;
    for (const decode::HiddenLatency::Row& row : latency_.finish()) {
        HiddenLatencyRecord record;
        record.size = sizeof record;
        record.pc = {row.place.second, row.place.first};
        record.idle = row.idle;
        record.stall = row.stall;
        record.issue = row.issue;
        record.simd = row.simd;
        records.push_back(record);
    }
    flush(kHiddenLatency, records);
}

void AbiSink::occupancy(const decode::OccupancyRecord& record) {
    if (!setup_.wanted.has(kOccupancy)) return;
    occupancy_.push_back(record);
    if (occupancy_.size() >= kBatch || setup_.wanted.immediate(kOccupancy)) flush_occupancy();
}

// The addresses are looked up as late as possible: the object may be named after the wave's start.
void AbiSink::flush_occupancy() {
    occupancy_out_.clear();
    for (const decode::OccupancyRecord& record : occupancy_) {
        Occupancy out;
        out.pc = address(record.pc);
        out.time = record.time;
        out.cu = cu(record.sa, record.cu);
        out.simd = record.simd;
        out.slot = record.slot;
        out.bits = (record.start ? 1U : 0U) | (record.me & 7U) << 1 | (record.pipe & 15U) << 4 |
                   (record.is_ext ? 1U : 0U) << 8 | (record.workgroup & 127U) << 9 |
                   (record.cluster & 31U) << 16;
        occupancy_out_.push_back(out);
    }
    occupancy_.clear();
    flush(kOccupancy, occupancy_out_);
}

void AbiSink::dispatch(const decode::DispatchRecord& record) {
    Dispatch out = dispatch_of(record, version_);
    send(kDispatch, &out, 1);
}

void AbiSink::realtime(const decode::RealtimeRecord& record) {
    add(kRealtime, realtime_, Realtime{clock_of(record.time), record.counter, 0});
}

void AbiSink::event(const decode::EventRecord& record) {
    Event out = event_of(record, gfx9_);
    if (out.type != 0) send(kEvent, &out, 1);
}

void AbiSink::shader_data(const decode::ShaderDataRecord& record) {
    ShaderData out;
    out.time = clock_of(record.time);
    out.value = record.value;
    out.cu = cu(record.sa, record.cu);
    out.simd = record.simd;
    out.slot = record.slot;
    out.flags = static_cast<std::uint8_t>((record.immediate ? 1 : 0) | (record.privileged ? 2 : 0));
    add(kShaderData, shader_data_, out);
}

void AbiSink::perf(const decode::PerfRecord& record) {
    Perf out;
    out.time = clock_of(record.time);
    std::copy(std::begin(record.counters), std::end(record.counters), std::begin(out.counters));
    out.cu = record.cu;
    out.bank = record.bank;
    add(kPerf, perf_, out);
}

void AbiSink::other_simd(const decode::BlobRecords::OtherSimd& record) {
    OtherSimd out;
    out.size = sizeof out;
    out.time = clock_of(record.time);
    out.cycles = static_cast<std::uint16_t>(std::min(record.cycles, 0xFFFFU));
    out.wgp = target_cu_;
    out.category = category_number(static_cast<std::uint8_t>(record.kind));
    if (setup_.hidden_latency) latency_.add_other_simd(record.time, out.cycles);
    add(kOtherSimd, other_simd_, out);
}

void AbiSink::finish(const decode::Diagnostics& diagnostics, std::uint32_t counter_frequency_khz) {
    using decode::Fault;
    flush_occupancy();
    flush(kPerf, perf_);
    flush(kShaderData, shader_data_);
    flush(kRealtime, realtime_);
    flush(kOtherSimd, other_simd_);
    if (setup_.hidden_latency) send_hidden_latency();
    if (counter_frequency_khz != 0 && !said_->frequency) {
        said_->frequency = true;
        std::uint64_t hertz = std::uint64_t{counter_frequency_khz} * 1000;
        send(kFrequency, &hertz, 1);
    }
    if (diagnostics.count(Fault::kPacketsLost) != 0) say(kDataLost);
    const bool unstitched = diagnostics.count(Fault::kStitchIncomplete) != 0 ||
                            diagnostics.count(Fault::kNoCodeObject) != 0 ||
                            diagnostics.count(Fault::kUnknownPc) != 0;
    if (unstitched && !said_->stitch_incomplete) {
        said_->stitch_incomplete = true;
        say(kStitchIncomplete);
    }
    if (diagnostics.count(Fault::kUnfinishedWave) != 0 && !said_->wave_incomplete) {
        said_->wave_incomplete = true;
        say(kWaveIncomplete);
    }
}

} // namespace wavetap::compat
