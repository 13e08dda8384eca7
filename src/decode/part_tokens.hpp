// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/finisher.hpp"
#include "decode/lane_walk.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace wavetap::decode {

/// The tokens of a part of a stream for those who build it: wave slots and instructions as they lie
/// in the columns, and of the rest what it means for waves.
template <sqtt::Generation kGen> struct PartTokens {
    using Walk = LaneWalk<kGen>;

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
    std::vector<Slice> slices;
    std::vector<Mark> marks;
    std::array<PcRef, 8> entries{}; ///< at the beginning
    bool clock_back = false;        ///< the clock runs backwards somewhere (gfx9)

    void clear() {
        slices.clear();
        marks.clear();
        clock_back = false;
    }
    /// Whether something happens that only the stream's own waves can take.
    bool only_whole() const {
        for (const Mark& mark : marks)
            if (mark.kind == Mark::Kind::kSaveContext || mark.kind == Mark::Kind::kLost)
                return true;
        return false;
    }
    /// Goes through all of it with `to`, which takes tokens as LaneWalk gives them and marks.
    /// `enough()` is asked now and then and ends it: false.
    template <class To, class Enough> bool walk(To& to, Enough&& enough) const;

  private:
    static constexpr std::uint32_t kStep = 4096; ///< between two questions, in nibbles
};

template <sqtt::Generation kGen>
template <class To, class Enough>
bool PartTokens<kGen>::walk(To& to, Enough&& enough) const {
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
            if (!run_to(mark.position)) return false;
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
                to.packets_lost(mark.at);
                break;
            }
        }
        if (!run_to(~std::uint32_t{0})) return false;
    }
    return true;
}

/// Puts waves that began and ended in a part into a queue, stitched, and keeps places for those that
/// began before it.
template <std::size_t kSlots> class PartReceiver final : public WaveReceiver {
  public:
    /// All are borrowed.
    PartReceiver(WaveQueue& waves, std::array<std::size_t, kSlots>& places,
                 const WaveFinisher& finisher, Stitcher& stitcher)
        : waves_(&waves), places_(&places), finisher_(&finisher), stitcher_(&stitcher) {}
    void deliver(const WaveHead& head, InstructionList& list, AnchorList& anchors,
                 std::vector<TimelinePiece>& timeline, std::uint64_t offset_bytes) override {
        instructions_ += list.size();
        FinishedWave& wave = waves_->add();
        finisher_->take(wave, head, list, anchors, timeline, offset_bytes);
        finisher_->stitch(*stitcher_, wave);
    }
    void deliver_unknown(unsigned slot) override {
        (*places_)[slot] = waves_->count;
        waves_->add().present = false;
    }
    std::size_t instructions() const { return instructions_; }

  private:
    WaveQueue* waves_;
    std::array<std::size_t, kSlots>* places_;
    const WaveFinisher* finisher_;
    Stitcher* stitcher_;
    std::size_t instructions_ = 0;
};

/// Puts the wave that was in a slot before a part began into the place that was kept for it.
class PlaceReceiver final : public WaveReceiver {
  public:
    PlaceReceiver(FinishedWave* place, const WaveFinisher& finisher, Stitcher& stitcher)
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

} // namespace wavetap::decode
