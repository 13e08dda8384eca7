// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/finisher.hpp"
#include "decode/part_engine.hpp"
#include "decode/part_occupancy.hpp"
#include "decode/part_tokens.hpp"
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
template <sqtt::Generation kGen> struct RdnaPart : PartTokens<kGen>, PartResults {
    using Walk = LaneWalk<kGen>;
    using Lanes = RdnaLanes<kGen, PartOccupancy>;

    // From prepare().
    const RdnaState* state = nullptr;
    bool keep_held = false; ///< tokens of the last clock may go on behind the part
    bool take_more = false; ///< the last slice are tokens of the next part, of the same clock

    // From build().
    std::vector<BlobRecords::OtherSimd> others;
    std::optional<Lanes> lanes;

    void begin(const RdnaState& now) {
        this->clear();
        state = &now;
        keep_held = take_more = false;
    }
    /// Goes through all of it with `to`, a RdnaLanes. `enough()` is asked now and then and ends it.
    template <class To, class Enough> void walk(To& to, Enough&& enough) const {
        if (PartTokens<kGen>::walk(to, enough) && !keep_held) to.flush();
    }
    /// False if only the stream's own lanes can take this part: then nothing of the results holds.
    bool build(PartOccupancy& occupancy, WaveFinisher& finisher, Stitcher& stitcher);
    void join(unsigned chain, RdnaWaves& stream, WaveFinisher& finisher, Stitcher& stitcher);
    std::size_t bytes() const {
        return slots.bytes() + instructions_ * kBytesOfInstruction +
               others.size() * sizeof(BlobRecords::OtherSimd);
    }

  private:
    static constexpr std::size_t kBytesOfInstruction = 64; ///< about

    class OtherSimds final : public RecordSink {
      public:
        explicit OtherSimds(RdnaPart& part) : part_(&part) {}
        void other_simd(const BlobRecords::OtherSimd& record) override {
            part_->others.push_back(record);
        }

      private:
        RdnaPart* part_;
    };

    std::optional<RdnaWaves> building_; ///< the waves that are open at the end, and what waits
    std::array<std::size_t, RdnaWaves::kSlots> places_{}; ///< in `waves`, of slots that are known
    std::size_t instructions_ = 0;
};

template <sqtt::Generation kGen>
bool RdnaPart<kGen>::build(PartOccupancy& occupancy, WaveFinisher& finisher, Stitcher& stitcher) {
    clear_results();
    others.clear();
    if (this->only_whole()) return false;
    PartReceiver<RdnaWaves::kSlots> receiver(waves, places_, finisher, stitcher);
    OtherSimds sink(*this);
    WaveContext context{&receiver, &built.faults, 0};
    if (!building_) building_.emplace(state->header, context);
    building_->begin_part(context);
    occupancy.begin(slots, built.faults);
    std::size_t tokens = 0;
    for (const auto& slice : this->slices)
        tokens += slice.lanes[Walk::Columns::kOccupancy].size();
    occupancy.reserve(tokens);
    lanes.emplace(*state, occupancy, *building_, sink, built.faults);
    const auto size = [&] {
        return receiver.instructions() + building_->waiting() + building_->open_instructions();
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
        PlaceReceiver receiver(known ? waves.waves[places_[slot]].get() : nullptr, finisher,
                               stitcher);
        WaveContext context{&receiver, &joined[chain].faults, 0};
        stream.join(slot, *building_, context);
        joined[chain].tokens_without_wave += context.tokens_without_wave;
    }
}

} // namespace wavetap::decode
