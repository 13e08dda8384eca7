// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/finisher.hpp"
#include "decode/part_occupancy.hpp"
#include "decode/rdna_lanes.hpp"
#include "decode/rdna_waves.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace wavetap::decode {

/// A part of a gfx10 to gfx12 stream on its way: what to do, then what came out. It is filled in
/// three steps: prepared in stream order (clock, registers, program counters), built by any thread
/// without knowing what the parts before left in the slots, and joined with what they left.
template <sqtt::Generation kGen> struct RdnaPart {
    using Walk = LaneWalk<kGen>;
    using Lanes = RdnaLanes<kGen, PartOccupancy>;

    /// What another token means for waves, at its place.
    struct Mark {
        enum class Kind : std::uint8_t { kClock, kEntry, kNewPc, kSaveContext, kLost };
        std::uint32_t position = 0; ///< as of items
        Kind kind = Kind::kClock;
        std::uint8_t index = 0; ///< of a queue or slot
        StreamPoint at;
        PcRef pc;
        std::uint64_t clocks = 0; ///< that the clock jumps
    };
    struct Slice {
        typename Walk::Origin origin;
        typename Walk::Lanes lanes;
        std::size_t marks_end = 0; ///< in `marks`; they begin where those of the slice before end
    };

    // From prepare().
    std::vector<Slice> slices;
    std::vector<Mark> marks;
    std::array<PcRef, 8> entries{}; ///< at the beginning
    const RdnaState* state = nullptr;
    bool keep_held = false; ///< tokens of the last clock may go on behind the part
    bool take_more = false; ///< the last slice are tokens of the next part, of the same clock
    std::size_t most_instructions = 0;

    // From build().
    static constexpr unsigned kChains = 9; ///< wave slots of the engine, then eight of the target's
    PartSlots slots;
    WaveQueue waves;
    std::vector<BlobRecords::OtherSimd> others;
    std::optional<Lanes> lanes;

    // From join(); of chain 0 only the faults.
    struct Joined {
        Diagnostics faults;
        std::uint64_t tokens_without_wave = 0;
    };
    std::array<Joined, kChains> joined;
    Joined built;

    void begin(const RdnaState& now) {
        slices.clear();
        marks.clear();
        state = &now;
        keep_held = take_more = false;
    }
    /// Goes through all of it with `to`, a RdnaLanes. `enough()` is asked now and then and ends it.
    template <class To, class Enough> void walk(To& to, Enough&& enough) const;
    /// False if only the stream's own lanes can take this part: then nothing of the results holds.
    bool build(PartOccupancy& occupancy, WaveFinisher& finisher, Stitcher& stitcher);
    void join(unsigned chain, RdnaWaves& stream, WaveFinisher& finisher, Stitcher& stitcher);
    std::size_t bytes() const {
        return slots.bytes() + instructions_ * kBytesOfInstruction +
               others.size() * sizeof(BlobRecords::OtherSimd);
    }

  private:
    static constexpr std::size_t kBytesOfInstruction = 64; ///< about
    static constexpr std::uint32_t kStep = 4096;           ///< between two questions, in nibbles

    class OtherSimds final : public RecordSink {
      public:
        explicit OtherSimds(RdnaPart& part) : part_(&part) {}
        void other_simd(const BlobRecords::OtherSimd& record) override {
            part_->others.push_back(record);
        }

      private:
        RdnaPart* part_;
    };
    /// Waves that began and ended in the part, and places for those that began before it.
    class Built final : public WaveReceiver {
      public:
        Built(RdnaPart& part, const WaveFinisher& finisher, Stitcher& stitcher)
            : part_(&part), finisher_(&finisher), stitcher_(&stitcher) {}
        void deliver(const WaveHead& head, InstructionList& list, AnchorList& anchors,
                     std::vector<TimelinePiece>& timeline, std::uint64_t offset_bytes) override {
            part_->instructions_ += list.size();
            FinishedWave& wave = part_->waves.add();
            finisher_->take(wave, head, list, anchors, timeline, offset_bytes);
            finisher_->stitch(*stitcher_, wave);
        }
        void deliver_unknown(unsigned slot) override {
            part_->places_[slot] = part_->waves.count;
            part_->waves.add().present = false;
        }

      private:
        RdnaPart* part_;
        const WaveFinisher* finisher_;
        Stitcher* stitcher_;
    };
    /// The wave that was in a slot before the part began.
    class Before final : public WaveReceiver {
      public:
        Before(FinishedWave* place, const WaveFinisher& finisher, Stitcher& stitcher)
            : place_(place), finisher_(&finisher), stitcher_(&stitcher) {}
        void deliver(const WaveHead& head, InstructionList& list, AnchorList& anchors,
                     std::vector<TimelinePiece>& timeline, std::uint64_t offset_bytes) override {
            place_->present = true;
            finisher_->take(*place_, head, list, anchors, timeline, offset_bytes);
            finisher_->stitch(*stitcher_, *place_);
        }

      private:
        FinishedWave* place_;
        const WaveFinisher* finisher_;
        Stitcher* stitcher_;
    };

    std::optional<RdnaWaves> building_; ///< the waves that are open at the end, and what waits
    std::array<std::size_t, RdnaWaves::kSlots> places_{}; ///< in `waves`, of slots that are known
    std::size_t instructions_ = 0;
};

template <sqtt::Generation kGen>
template <class To, class Enough>
void RdnaPart<kGen>::walk(To& to, Enough&& enough) const {
    to.entries = entries;
    Walk walk;
    std::size_t next = 0;
    for (const Slice& slice : slices) {
        walk.begin(slice.origin, slice.lanes);
        std::uint32_t position = 0;
        const auto run_to = [&](std::uint32_t end) {
            while (walk.left() && position < end) {
                position = end - position > kStep ? position + kStep : end;
                walk.run_to(to, position);
                if (enough()) return false;
            }
            return true;
        };
        for (; next < slice.marks_end; ++next) {
            const Mark& mark = marks[next];
            if (!run_to(mark.position)) return;
            switch (mark.kind) {
            case Mark::Kind::kClock:
                walk.move_clock(mark.clocks);
                break;
            case Mark::Kind::kEntry:
                to.entries[mark.index] = mark.pc;
                break;
            case Mark::Kind::kNewPc:
                to.new_pc(mark.at, mark.index, mark.pc);
                break;
            case Mark::Kind::kSaveContext:
                to.save_context(mark.at);
                break;
            case Mark::Kind::kLost:
                to.packets_lost();
                break;
            }
        }
        if (!run_to(~std::uint32_t{0})) return;
    }
    if (!keep_held) to.flush();
}

template <sqtt::Generation kGen>
bool RdnaPart<kGen>::build(PartOccupancy& occupancy, WaveFinisher& finisher, Stitcher& stitcher) {
    slots.clear();
    waves.count = 0;
    others.clear();
    built = {};
    joined = {};
    instructions_ = 0;
    for (const Mark& mark : marks)
        if (mark.kind == Mark::Kind::kSaveContext || mark.kind == Mark::Kind::kLost) return false;
    Built receiver(*this, finisher, stitcher);
    OtherSimds sink(*this);
    WaveContext context{&receiver, &built.faults, 0};
    if (!building_) building_.emplace(state->header, context);
    building_->begin_part(context);
    occupancy.begin(slots, built.faults);
    std::size_t tokens = 0;
    for (const Slice& slice : slices)
        tokens += slice.lanes[Walk::Columns::kOccupancy].size();
    occupancy.reserve(tokens);
    lanes.emplace(*state, occupancy, *building_, sink, built.faults);
    const auto size = [&] {
        return instructions_ + building_->waiting() + building_->open_instructions();
    };
    walk(*lanes, [&] {
        return occupancy.failed() || size() > most_instructions ||
               others.size() > most_instructions;
    });
    instructions_ = size();
    built.tokens_without_wave = context.tokens_without_wave;
    building_->end_part();
    occupancy.finish();
    return !occupancy.failed() && size() <= most_instructions && others.size() <= most_instructions;
}

template <sqtt::Generation kGen>
void RdnaPart<kGen>::join(unsigned chain, RdnaWaves& stream, WaveFinisher& finisher,
                          Stitcher& stitcher) {
    for (unsigned slot = chain - 1; slot < RdnaWaves::kSlots; slot += kChains - 1) {
        const bool known = building_->known(slot);
        Before receiver(known ? waves.waves[places_[slot]].get() : nullptr, finisher, stitcher);
        WaveContext context{&receiver, &joined[chain].faults, 0};
        stream.join(slot, *building_, context);
        joined[chain].tokens_without_wave += context.tokens_without_wave;
    }
}

} // namespace wavetap::decode
