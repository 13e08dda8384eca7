// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/finisher.hpp"

#include <algorithm>

namespace wavetap::decode {
namespace {

constexpr std::size_t kMaxPages = 1024; ///< of all line caches together, 12 KiB each
constexpr std::size_t kMaxQueued = 1024;
constexpr std::size_t kMaxQueuedInstructions = std::size_t{1} << 19;
constexpr std::size_t kMaxKept = 1024; ///< instructions that a queued wave keeps memory for

} // namespace

WaveFinisher::WaveFinisher(const sqtt::Header& header, CodeMap& code, RecordSink& sink,
                           Diagnostics& diagnostics, TaskPool* pool, bool want_pcs,
                           bool insert_barrier_waits)
    : code_(&code), sink_(&sink), diagnostics_(&diagnostics), pool_(pool), want_pcs_(want_pcs) {
    const unsigned count = pool == nullptr ? 1 : pool->threads();
    for (unsigned i = 0; i < count; ++i) {
        stitchers_.emplace_back(header, code, std::max<std::size_t>(kMaxPages / count, 16));
        stitchers_.back().insert_barrier_waits = insert_barrier_waits;
    }
}

// What no line of code will be looked for.
Unplaced WaveFinisher::attribute(const InstructionList& list, AnchorList& anchors) const {
    anchors.attribute([this](std::uint64_t address) { return code_->attribute_late(address); });
    const std::vector<PcAnchor>& all = anchors.all();
    const auto has_code = [this](const PcAnchor& anchor) {
        return anchor.state == PcAnchor::State::kLost ||
               (anchor.state == PcAnchor::State::kKnown && code_->has_code(anchor.pc.object));
    };
    if (all.empty() || (all[0].index == 0 && std::all_of(all.begin(), all.end(), has_code)))
        return {};
    Unplaced out;
    std::uint64_t placeable = 0;
    std::uint64_t* counter = &out.no_pc; // before the first anchor
    std::size_t from = 0;
    const auto count_to = [&](std::size_t end) {
        for (; from < std::min<std::size_t>(end, list.size()); ++from)
            *counter += list.is(from, Category::kTrap) ? 0 : 1;
    };
    for (const PcAnchor& anchor : all) {
        if (anchor.state == PcAnchor::State::kLost) continue;
        count_to(anchor.index);
        const bool known = anchor.state == PcAnchor::State::kKnown;
        counter = has_code(anchor) ? &placeable : known ? &out.no_code : &out.no_pc;
    }
    count_to(list.size());
    return out;
}

// Each line is counted once, whatever number of waves come to it.
void WaveFinisher::add_unknown(const WaveHead& head, const std::vector<PcRef>& lines) {
    for (const PcRef line : lines) {
        const bool is_new = unknown_.emplace(code_->code_id(line.object), line.address).second;
        diagnostics_->add(Fault::kUnknownInstruction, head.ordinal, head.start, is_new ? 1 : 0);
    }
}

void WaveFinisher::send(const WaveView& view, std::uint64_t placed, std::uint64_t missing,
                        Unplaced unplaced, std::uint32_t mismatches, std::uint64_t offset_bytes) {
    const WaveHead& head = view.head;
    if (unplaced.no_code != 0)
        diagnostics_->add(Fault::kNoCodeObject, head.ordinal, head.start, unplaced.no_code);
    if (unplaced.no_pc != 0)
        diagnostics_->add(Fault::kUnknownPc, head.ordinal, head.start, unplaced.no_pc);
    if (mismatches != 0)
        diagnostics_->add(Fault::kLineMismatch, offset_bytes, head.start, mismatches);
    if (view.lines_without_token != 0)
        diagnostics_->add(Fault::kLinesWithoutToken, offset_bytes, head.start,
                          view.lines_without_token);
    if (missing != 0)
        diagnostics_->add(Fault::kStitchIncomplete, offset_bytes, head.start, missing);
    with_pc_ += placed;
    instructions_ += view.instructions.size();
    sink_->wave(view);
}

void WaveFinisher::take(FinishedWave& out, const WaveHead& head, InstructionList& list,
                        AnchorList& anchors, std::vector<TimelinePiece>& timeline,
                        std::uint64_t offset_bytes) const {
    out.unplaced = want_pcs_ && !list.empty() ? attribute(list, anchors) : Unplaced{};
    out.head = head;
    std::swap(out.list, list);
    std::swap(out.anchors, anchors);
    std::swap(out.timeline, timeline);
    out.offset_bytes = offset_bytes;
}

void WaveFinisher::deliver(const WaveHead& head, InstructionList& list, AnchorList& anchors,
                           std::vector<TimelinePiece>& timeline, std::uint64_t offset_bytes) {
    if (queueing_ && filling_.count < kMaxQueued && queued_ < kMaxQueuedInstructions) {
        queued_ += list.size();
        return take(filling_.add(), head, list, anchors, timeline, offset_bytes);
    }
    if (queueing_) flush();
    const bool stitched = want_pcs_ && !list.empty();
    const Unplaced unplaced = stitched ? attribute(list, anchors) : Unplaced{};
    Stitcher& stitcher = stitchers_[0];
    WaveView view{head, list, {}, {}, timeline, {}, false, 0};
    if (!stitched) {
        if (!list.empty()) view.digest = sink_->digest(view);
        return send(view, 0, 0, {}, 0, offset_bytes);
    }
    stitcher.run(list, anchors, timeline, head.start);
    view.pcs = stitcher.pcs;
    view.has_pc = stitcher.has_pc;
    view.timeline = timeline;
    view.excluded_barrier_waits = stitcher.barrier_waits;
    view.stitched = stitcher.complete;
    view.lines_without_token = stitcher.lines_without_token;
    view.with_pc = stitcher.placed;
    view.without_pc = stitcher.without_pc;
    view.digest = sink_->digest(view);
    add_unknown(head, stitcher.unknown);
    send(view, stitcher.placed, stitcher.missing - unplaced.no_code - unplaced.no_pc, unplaced,
         stitcher.mismatches, offset_bytes);
}

void WaveFinisher::find_pcs(Stitcher& stitcher, FinishedWave& wave) const {
    wave.pcs.clear();
    wave.has_pc.clear();
    wave.barrier_waits.clear();
    wave.unknown.clear();
    wave.placed = wave.without_pc = wave.missing = 0;
    wave.lines_without_token = wave.mismatches = 0;
    wave.complete = false;
    if (!want_pcs_ || wave.list.empty()) return;
    stitcher.run(wave.list, wave.anchors, wave.timeline, wave.head.start);
    std::swap(wave.pcs, stitcher.pcs);
    std::swap(wave.has_pc, stitcher.has_pc);
    std::swap(wave.barrier_waits, stitcher.barrier_waits);
    std::swap(wave.unknown, stitcher.unknown);
    wave.placed = stitcher.placed;
    wave.without_pc = stitcher.without_pc;
    wave.missing = stitcher.missing - wave.unplaced.no_code - wave.unplaced.no_pc;
    wave.lines_without_token = stitcher.lines_without_token;
    wave.mismatches = stitcher.mismatches;
    wave.complete = stitcher.complete;
}

void WaveFinisher::stitch_part(std::size_t part, std::size_t parts) {
    const std::size_t first = stitching_.count * part / parts;
    const std::size_t last = stitching_.count * (part + 1) / parts;
    for (std::size_t i = first; i < last; ++i)
        stitch(stitchers_[part], *stitching_.waves[i]);
}

void WaveFinisher::emit(WaveQueue& queue) {
    for (std::size_t i = 0; i < queue.count; ++i) {
        FinishedWave& wave = *queue.waves[i];
        if (!wave.present) continue;
        add_unknown(wave.head, wave.unknown);
        send(view_of(wave), wave.placed, wave.missing, wave.unplaced, wave.mismatches,
             wave.offset_bytes);
        if (wave.list.times.size() > kMaxKept || wave.timeline.capacity() > kMaxKept) wave = {};
    }
    queue.count = 0;
}

void WaveFinisher::begin_round() {
    std::swap(filling_, stitching_);
    queued_ = 0;
    queueing_ = true;
    running_ = stitching_.count != 0;
    if (!running_) return;
    const std::size_t parts = stitchers_.size();
    pool_->start(group_, parts, [this, parts](std::size_t part) { stitch_part(part, parts); });
}

void WaveFinisher::end_round() {
    if (!running_) return;
    pool_->finish(group_);
    running_ = false;
    emit(stitching_);
}

void WaveFinisher::flush() {
    end_round();
    for (std::size_t i = 0; i < filling_.count; ++i)
        stitch(stitchers_[0], *filling_.waves[i]);
    emit(filling_);
    queueing_ = false;
}

} // namespace wavetap::decode
