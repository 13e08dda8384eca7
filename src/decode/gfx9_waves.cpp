// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/gfx9_waves.hpp"

#include "decode/gfx9_part_waves.hpp"

#include <utility>

namespace wavetap::decode {

void Gfx9Waves::issue(StreamPoint at, unsigned simd, std::uint32_t states) {
    each_issue(states, [&](unsigned slot, unsigned state) {
        Gfx9Wave& wave = waves_[simd][slot];
        if (!wave.live) [[unlikely]]
            context_->token_without_wave(at);
        else if (wave.trap == Gfx9Wave::Trap::kNormal)
            wave.issue(at, state);
    });
}

void Gfx9Waves::inst(StreamPoint at, unsigned simd, unsigned slot, unsigned type, unsigned cu) {
    Gfx9Wave& wave = waves_[simd][slot];
    if (!wave.live) [[unlikely]] {
        context_->token_without_wave(at);
        if (wave.held) return;
        WaveHead head;
        head.ordinal = at.offset_bytes;
        head.start = at.time;
        head.cu = static_cast<std::uint8_t>(cu);
        head.simd = static_cast<std::uint8_t>(simd);
        head.slot = static_cast<std::uint8_t>(slot);
        head.on_target = true;
        head.start_seen = false;
        return wave.begin_unseen(at.time, head);
    }
    if (wave.trap != Gfx9Wave::Trap::kNormal) return wave.resume(at, type);
    if (wave.queue_size != 0) wave.name(at, simd, type, phase_);
}

void Gfx9Waves::save_context() {
    for (auto& simd : waves_) {
        for (Gfx9Wave& wave : simd) {
            if (wave.live && wave.trap == Gfx9Wave::Trap::kNormal)
                wave.trap = Gfx9Wave::Trap::kRequested;
        }
    }
}

void Gfx9Waves::packets_lost(StreamPoint at) {
    for (auto& simd : waves_)
        for (Gfx9Wave& wave : simd)
            wave.packets_lost(at);
}

void Gfx9Waves::finish(StreamPoint at) {
    for (auto& simd : waves_) {
        for (Gfx9Wave& wave : simd) {
            if (wave.live) wave.deliver(at, false);
        }
    }
}

void Gfx9Waves::tell(Gfx9Place& place) const {
    place.phase = phase_;
    for (unsigned simd = 0; simd < kSimds; ++simd)
        for (unsigned slot = 0; slot < kSlots; ++slot)
            place.tails[simd * kSlots + slot] = tail_of(waves_[simd][slot]);
}

void Gfx9Waves::join(unsigned slot, Gfx9PartWaves& part, WaveContext& context) {
    Gfx9Wave& wave = waves_[slot / kSlots][slot % kSlots];
    WaveContext* const before = std::exchange(wave.context, &context);
    part.join(slot, wave);
    wave.context = before;
}

} // namespace wavetap::decode
