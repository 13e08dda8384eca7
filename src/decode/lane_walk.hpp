// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/register_state.hpp"
#include "decode/sink.hpp"
#include "sqtt/columns.hpp"
#include "sqtt/gfx9.hpp"
#include "sqtt/reader.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <span>

namespace wavetap::decode {

/// The token at bit `position`. Bits beyond its length are not cleared, and those beyond the first
/// 60 are there only if `kWide`.
template <sqtt::Generation kGen, bool kWide>
inline sqtt::Token token_at(const unsigned char* data, std::uint64_t position,
                            sqtt::TokenType type) {
    constexpr bool kNibbles = kGen != sqtt::Generation::kGfx9 && kGen != sqtt::Generation::kGfx1250;
    const unsigned char* at = data + (position >> 3);
    sqtt::Token token;
    token.type = type;
    token.offset_bits = position;
    std::memcpy(&token.bits.low, at, 8);
    const unsigned shift = kNibbles ? position & 4 : 0;
    token.bits.low >>= shift;
    if constexpr (kWide) {
        token.bits.high = at[8];
        if (shift != 0) {
            token.bits.low |= std::uint64_t{at[8]} << 60;
            token.bits.high = static_cast<std::uint8_t>(at[8] >> 4 | at[9] << 4);
        }
    }
    return token;
}

/// Goes through the tokens of one segment of a part. Its lanes know of each other only where a wave
/// of the target starts or ends.
template <sqtt::Generation kGen> class LaneWalk {
  public:
    /// Clocks in one of an item's.
    static constexpr std::uint64_t kUnit =
        kGen == sqtt::Generation::kGfx9 ? sqtt::kGfx9ClocksPerUnit : 1;
    using Columns = sqtt::TokenColumns;
    using Item = Columns::Item;
    using Lanes = std::array<std::span<const Item>, Columns::kLanes>;

    /// What the items of a segment count from.
    struct Origin {
        const unsigned char* data = nullptr; ///< of the piece of the stream
        std::uint64_t part_bits = 0;         ///< of item positions, in the piece
        std::uint64_t stream_bits = 0;       ///< of the piece, in the stream
        std::uint64_t clock = 0; ///< at the beginning of the segment, timestamps applied

        template <bool kWide> sqtt::Token token(Item item) const {
            sqtt::Token token = token_at<kGen, kWide>(
                data, part_bits + std::uint64_t{item.position()} * 4, item.type());
            token.offset_bits += stream_bits;
            return token;
        }
        /// The first 60 bits of its token and more.
        std::uint64_t low(Item item) const {
            return token_at<kGen, false>(data, part_bits + std::uint64_t{item.position()} * 4,
                                         item.type())
                .bits.low;
        }
        std::uint64_t time(Item item) const { return clock + std::uint64_t{item.clocks} * kUnit; }
        StreamPoint point(Item item, const sqtt::Token& token) const {
            return {time(item), token.offset_bits / 8};
        }
    };

    void begin(const Origin& origin, const Lanes& lanes) {
        origin_ = origin;
        lanes_ = lanes;
    }
    const Origin& origin() const { return origin_; }
    /// Whether the first two lanes have more.
    bool left() const {
        return !lanes_[Columns::kOccupancy].empty() || !lanes_[Columns::kInstruction].empty();
    }
    /// A timestamp moves the clock of what follows.
    void move_clock(std::uint64_t clocks) { origin_.clock += clocks; }

    /// Takes the tokens of the first two lanes that lie before `position`:
    ///   taker.place_of(token)                             WaveWords of the occupancy lane
    ///   taker.take_occupancy(token, at, WaveWords)
    ///   taker.take_instruction(token, at, alone)          true: nothing else of its clock follows
    ///                                                     in the lane; gfx10, gfx11: no WAVERDY
    ///   taker.quick(type, bits, time, alone)              if it has that: true if all was done that
    ///                                                     take_instruction() would do
    template <class Taker> void run_to(Taker& taker, std::uint32_t position) {
        const Origin origin = origin_; // in registers
        auto& lane = lanes_[Columns::kOccupancy];
        const Item* item = lane.data();
        const Item* const end = item + lane.size();
        for (; item != end && item->position() < position; ++item) {
            const sqtt::Token token = origin.template token<false>(*item);
            const WaveWords where = taker.place_of(token);
            if (where.on_target()) run_instructions_to(taker, item->position());
            taker.take_occupancy(token, origin.point(*item, token), where);
        }
        lane = {item, end};
        run_instructions_to(taker, position);
    }

  private:
    static bool alone(const Item* item, const Item* end) {
        if (item + 1 != end && item[1].clocks != item->clocks) return true;
        if constexpr (kGen == sqtt::Generation::kGfx10 || kGen == sqtt::Generation::kGfx11) {
            constexpr int kMost = 16; // a longer row may wait
            for (int i = 1; i < kMost && item + i != end; ++i) {
                if (item[i].clocks != item->clocks) return true;
                if (item[i].type() == sqtt::TokenType::kWaveReady) return false;
            }
        }
        return false;
    }
    template <class Taker> void run_instructions_to(Taker& taker, std::uint32_t position) {
        const Origin origin = origin_;
        auto& lane = lanes_[Columns::kInstruction];
        const Item* item = lane.data();
        const Item* const end = item + lane.size();
        for (; item != end && item->position() < position; ++item) {
            const bool is_alone = alone(item, end);
            if constexpr (requires { taker.quick(item->type(), 0U, 0U, false); }) {
                const auto bits = static_cast<std::uint32_t>(origin.low(*item));
                if (taker.quick(item->type(), bits, origin.time(*item), is_alone)) [[likely]]
                    continue;
            }
            const sqtt::Token token = origin.template token<false>(*item);
            taker.take_instruction(token, origin.point(*item, token), is_alone);
        }
        lane = {item, end};
    }

    Origin origin_;
    Lanes lanes_{}; ///< what was not taken yet
};

} // namespace wavetap::decode
