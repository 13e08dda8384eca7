// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/gfx9_part.hpp"

#include <algorithm>

namespace wavetap::decode {
namespace {

using Columns = sqtt::TokenColumns;

/// Takes the run-up: waves of the target, no wave slots.
class RunUpLanes {
  public:
    RunUpLanes(const sqtt::Header& header, Gfx9PartWaves& waves)
        : header_(&header), waves_(&waves) {}
    std::array<PcRef, 8> entries{};

    WaveWords place_of(const sqtt::Token& token) const { return gfx9_place(token, *header_); }
    void take_occupancy(const sqtt::Token& token, StreamPoint at, WaveWords where) {
        if (!where.on_target()) return;
        if (token.type == sqtt::TokenType::kWaveEnd) {
            waves_->end(at, where.simd(), where.slot());
        } else if (gfx9_field<sqtt::TokenType::kWaveStart, sqtt::FieldId::kCount>(token) <= 64) {
            WaveHead head;
            head.set(where);
            waves_->start(at, head);
        }
    }
    void take_instruction(const sqtt::Token& token, StreamPoint at, bool) {
        take_gfx9_instruction(*waves_, *header_, token, at);
    }
    void new_pc(StreamPoint, unsigned slot, PcRef pc) {
        waves_->new_pc(slot / Gfx9Place::kSlots, slot % Gfx9Place::kSlots, pc);
    }
    void save_context(StreamPoint) {}
    void packets_lost(StreamPoint) {}

  private:
    const sqtt::Header* header_;
    Gfx9PartWaves* waves_;
};

} // namespace

void Gfx9RunUp::take(const Tokens& part, const sqtt::Header& header) {
    clear();
    for (auto& lane : items)
        lane.clear();
    std::size_t first = part.slices.size(), left = kItems;
    while (first > 0 && left > 0)
        left -= std::min(left, part.slices[--first].lanes[Columns::kInstruction].size());
    std::array<std::vector<std::size_t>, 2> ends;
    for (std::size_t i = first; i < part.slices.size(); ++i) {
        Tokens::Slice slice = part.slices[i];
        auto& instructions = slice.lanes[Columns::kInstruction];
        std::uint32_t from = 0;
        if (i == first) {
            std::size_t later = 0;
            for (std::size_t j = i + 1; j < part.slices.size(); ++j)
                later += part.slices[j].lanes[Columns::kInstruction].size();
            const std::size_t wanted =
                std::min(instructions.size(), kItems - std::min(later, kItems));
            instructions = instructions.last(wanted);
            if (!instructions.empty()) from = instructions.front().position();
        }
        std::size_t mark = i == 0 ? 0 : part.slices[i - 1].marks_end;
        for (; mark < slice.marks_end && part.marks[mark].position < from; ++mark)
            if (part.marks[mark].kind == Tokens::Mark::Kind::kClock)
                slice.origin.clock += part.marks[mark].clocks;
        tokens.marks.insert(tokens.marks.end(),
                            part.marks.begin() + static_cast<std::ptrdiff_t>(mark),
                            part.marks.begin() + static_cast<std::ptrdiff_t>(slice.marks_end));
        slice.marks_end = tokens.marks.size();
        const auto& occupancy = slice.lanes[Columns::kOccupancy];
        const auto begin =
            std::partition_point(occupancy.begin(), occupancy.end(),
                                 [from](Item item) { return item.position() < from; });
        for (auto item = begin; item != occupancy.end(); ++item)
            if (gfx9_place(slice.origin.token<false>(*item), header).on_target())
                items[Columns::kOccupancy].push_back(*item);
        items[Columns::kInstruction].insert(items[Columns::kInstruction].end(),
                                            instructions.begin(), instructions.end());
        for (unsigned lane = 0; lane < 2; ++lane)
            ends[lane].push_back(items[lane].size());
        tokens.slices.push_back(slice);
    }
    for (std::size_t i = 0; i < tokens.slices.size(); ++i) {
        tokens.slices[i].lanes[Columns::kRest] = {};
        for (unsigned lane = 0; lane < 2; ++lane) {
            const std::size_t begin = i == 0 ? 0 : ends[lane][i - 1];
            tokens.slices[i].lanes[lane] =
                std::span<const Item>(items[lane]).subspan(begin, ends[lane][i] - begin);
        }
    }
    if (tokens.only_whole()) clear();
}

bool Gfx9Part::build(std::uint32_t phase, PartOccupancy& occupancy, WaveFinisher& finisher,
                     Stitcher& stitcher) {
    clear_results();
    if (clock_back || only_whole()) return false;
    PartReceiver<Gfx9PartWaves::kAllSlots> receiver(waves, places_, finisher, stitcher);
    WaveContext context{&receiver, &built.faults, 0};
    if (!building_) building_ = std::make_unique<Gfx9PartWaves>();
    Gfx9PartWaves& target = *building_;
    if (place_known) {
        target.begin_at(*place);
    } else {
        target.begin(phase);
        RunUpLanes lanes(*header, target);
        run_up.tokens.walk(lanes, [] { return false; });
    }
    target.begin_part(begin_time, context);
    occupancy.begin(slots, built.faults);
    std::size_t tokens = 0;
    for (const Slice& slice : slices)
        tokens += slice.lanes[Columns::kOccupancy].size();
    occupancy.reserve(tokens);
    Gfx9Lanes<PartOccupancy, Gfx9PartWaves> lanes(*header, occupancy, target, built.faults);
    const auto size = [&] { return receiver.instructions() + target.size(); };
    walk(lanes,
         [&] { return occupancy.failed() || target.failed() || size() > most_instructions; });
    instructions_ = size();
    built.tokens_without_wave = context.tokens_without_wave;
    target.end_part(end_time);
    occupancy.finish();
    return !occupancy.failed() && !target.failed() && instructions_ <= most_instructions;
}

void Gfx9Part::join(unsigned chain, Gfx9Waves& stream, WaveFinisher& finisher, Stitcher& stitcher) {
    for (unsigned slot = chain - 1; slot < Gfx9PartWaves::kAllSlots; slot += kChains - 1) {
        const bool left = building_->wave_left(slot);
        PlaceReceiver receiver(left ? waves.waves[places_[slot]].get() : nullptr, finisher,
                               stitcher);
        WaveContext context{&receiver, &joined[chain].faults, 0};
        stream.join(slot, *building_, context);
    }
}

} // namespace wavetap::decode
