// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/gfx9_lanes.hpp"
#include "decode/part_engine.hpp"
#include "decode/part_tokens.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace wavetap::decode {

/// The last tokens of a part that concern waves of the target, kept for the part behind it.
struct Gfx9RunUp {
    using Tokens = PartTokens<sqtt::Generation::kGfx9>;
    using Item = sqtt::TokenColumns::Item;
    /// Instruction tokens. In real streams the counter of issue phases is the same after 150 of
    /// them, whatever it was before.
    static constexpr std::size_t kItems = 512;

    Tokens tokens;
    std::array<std::vector<Item>, 2> items; ///< what the slices of `tokens` point to

    void clear() { tokens.clear(); }
    /// The end of `part`.
    void take(const Tokens& part, const sqtt::Header& header);
};

/// A part of a gfx9 stream on its way, as RdnaPart. What its waves look like depends on the counter
/// of issue phases and so on everything before the part: it is built with a guess, which is checked
/// before it is joined.
struct Gfx9Part : PartTokens<sqtt::Generation::kGfx9>, PartResults {
    using Base = PartTokens<sqtt::Generation::kGfx9>;

    // From prepare().
    const sqtt::Header* header = nullptr;
    std::uint64_t begin_time = 0, end_time = 0;
    Gfx9RunUp run_up;
    std::unique_ptr<Gfx9Place> place; ///< how things really stand; replaces the run-up
    bool place_known = false;

    /// `phase`: where the counter may stand, if the run-up does not say better. False if only the
    /// stream's own lanes can take this part: then nothing of the results holds.
    bool build(std::uint32_t phase, PartOccupancy& occupancy, WaveFinisher& finisher,
               Stitcher& stitcher);
    bool check(Gfx9Place& now) const { return building_->check(now); }
    void join(unsigned chain, Gfx9Waves& stream, WaveFinisher& finisher, Stitcher& stitcher);
    std::size_t bytes() const { return slots.bytes() + instructions_ * kBytesOfInstruction; }

  private:
    static constexpr std::size_t kBytesOfInstruction = 64; ///< about

    std::unique_ptr<Gfx9PartWaves> building_;
    std::array<std::size_t, Gfx9PartWaves::kAllSlots> places_{}; ///< in `waves`, of slots left
    std::size_t instructions_ = 0;
};

} // namespace wavetap::decode
