// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/gfx9_part_waves.hpp"
#include "decode/gfx9_waves.hpp"
#include "decode/lane_walk.hpp"
#include "decode/part_occupancy.hpp"
#include "sqtt/gfx9.hpp"

#include <array>
#include <cstdint>
#include <type_traits>

namespace wavetap::decode {

template <sqtt::TokenType kToken, sqtt::FieldId kField>
std::uint32_t gfx9_field(const sqtt::Token& token) {
    constexpr sqtt::BitRange kBits = sqtt::bits_of(sqtt::kGfx9Rows, kToken, kField);
    static_assert(kBits.width() <= 32);
    return static_cast<std::uint32_t>(sqtt::extract(token.bits, kBits));
}

/// Starts, ends and user data have their place at the same bits.
inline WaveWords gfx9_place(const sqtt::Token& token, const sqtt::Header& header) {
    using sqtt::FieldId;
    constexpr auto kToken = sqtt::TokenType::kWaveEnd;
    const std::uint32_t sa = gfx9_field<kToken, FieldId::kSa>(token);
    const std::uint32_t cu = gfx9_field<kToken, FieldId::kCu>(token);
    const std::uint32_t simd = gfx9_field<kToken, FieldId::kSimd>(token);
    const bool on_target = sa == 0 && cu == header.target_cu && (header.simd_mask >> simd & 1) != 0;
    return WaveWords::place(sa, cu, simd, gfx9_field<kToken, FieldId::kSlot>(token), on_target);
}

/// What an instruction token tells `waves`.
template <class Waves>
inline void take_gfx9_instruction(Waves& waves, const sqtt::Header& header,
                                  const sqtt::Token& token, StreamPoint at) {
    using sqtt::FieldId;
    using sqtt::TokenType;
    if (token.type == TokenType::kIssue) {
        constexpr auto kToken = TokenType::kIssue;
        return waves.issue(at, gfx9_field<kToken, FieldId::kSimd>(token),
                           gfx9_field<kToken, FieldId::kStates>(token));
    }
    constexpr auto kToken = TokenType::kInst;
    waves.inst(at, gfx9_field<kToken, FieldId::kSimd>(token),
               gfx9_field<kToken, FieldId::kSlot>(token), gfx9_field<kToken, FieldId::kType>(token),
               header.target_cu);
}

/// The tokens of wave slots and of instructions of gfx9, for a whole stream (Occupancy and
/// Gfx9Waves) or for a part of it (PartOccupancy and Gfx9PartWaves).
template <class Slots, class Waves> class Gfx9Lanes {
    using Token = sqtt::Token;
    using TokenType = sqtt::TokenType;
    using FieldId = sqtt::FieldId;
    static constexpr bool kWhole = std::is_same_v<Waves, Gfx9Waves>;

  public:
    /// All are borrowed.
    Gfx9Lanes(const sqtt::Header& header, Slots& slots, Waves& waves, Diagnostics& diagnostics)
        : header_(&header), slots_(&slots), waves_(&waves), diagnostics_(&diagnostics) {}

    /// Entry of the kernel that was last set up on each queue.
    std::array<PcRef, 8> entries{};

    // For LaneWalk.
    WaveWords place_of(const Token& token) const { return gfx9_place(token, *header_); }
    [[gnu::always_inline]] void take_occupancy(const Token& token, StreamPoint at,
                                               WaveWords where) {
        if (token.type == TokenType::kWaveStart)
            wave_start(token, at, where);
        else
            wave_end(at, where);
    }
    [[gnu::always_inline]] void take_instruction(const Token& token, StreamPoint at,
                                                 bool /*last_of_clock*/) {
        take_gfx9_instruction(*waves_, *header_, token, at);
    }

    // What other tokens do to the waves of the target.
    void new_pc(StreamPoint, unsigned slot, PcRef pc) {
        waves_->new_pc(slot / Gfx9Place::kSlots, slot % Gfx9Place::kSlots, pc);
    }
    void save_context(StreamPoint) {
        if constexpr (kWhole)
            waves_->save_context();
        else
            waves_->fail();
    }
    void packets_lost(StreamPoint at) {
        slots_->packets_lost();
        if constexpr (kWhole)
            waves_->packets_lost(at);
        else
            waves_->fail();
    }

  private:
    void wave_start(const Token& token, StreamPoint at, WaveWords where);
    void wave_end(StreamPoint at, WaveWords where);
    void switch_context(StreamPoint at, WaveWords words, PcRef entry);

    const sqtt::Header* header_;
    Slots* slots_;
    Waves* waves_;
    Diagnostics* diagnostics_;
};

template <class Slots, class Waves>
[[gnu::always_inline]] inline void
Gfx9Lanes<Slots, Waves>::wave_start(const Token& token, StreamPoint at, WaveWords where) {
    constexpr auto kToken = TokenType::kWaveStart;
    const std::uint32_t me = gfx9_field<kToken, FieldId::kMe>(token);
    const std::uint32_t pipe = gfx9_field<kToken, FieldId::kPipe>(token);
    const WaveWords words = where.from(me, pipe, gfx9_field<kToken, FieldId::kCount>(token),
                                       gfx9_field<kToken, FieldId::kThreadGroup>(token), 0);
    if (words.slot() >= sqtt::kGfx9SlotsPerIssue)
        diagnostics_->add(Fault::kSlotOutOfRange, at.offset_bytes, at.time);
    const PcRef entry = entries[(me & 1U) * 4U + pipe];
    if (words.count() > 64) return switch_context(at, words, entry);
    slots_->start(at, words, entry, true);
    if (words.on_target()) waves_->start(at, slots_->head(words));
}

template <class Slots, class Waves>
void Gfx9Lanes<Slots, Waves>::switch_context(StreamPoint at, WaveWords words, PcRef entry) {
    if constexpr (kWhole) {
        if (words.on_target())
            waves_->switch_context(at, words.simd(), words.slot());
        else if (slots_->taken(words))
            slots_->set_entry(words, entry);
        else
            slots_->start(at, words, entry, true);
    } else {
        waves_->fail();
    }
}

template <class Slots, class Waves>
[[gnu::always_inline]] inline void Gfx9Lanes<Slots, Waves>::wave_end(StreamPoint at,
                                                                     WaveWords where) {
    if (!where.on_target()) {
        if (!slots_->end(at, where)) slots_->end_without_start(at, where);
        return;
    }
    if (!waves_->live(where.simd(), where.slot())) {
        // The wave ran before the trace began and issued nothing since.
        if constexpr (!kWhole)
            waves_->fail();
        else if (!slots_->taken(where))
            slots_->end_without_start(at, where);
        return;
    }
    if (!waves_->end(at, where.simd(), where.slot())) return; // it is in a trap and goes on
    slots_->end(at, where);
}

} // namespace wavetap::decode
