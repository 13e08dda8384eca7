// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/gfx9_wave.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace wavetap::decode {

/// What the tokens behind a place in a gfx9 stream depend on of a wave slot: the end of the wave's
/// list. What the counter of issue phases makes of later tokens follows from it.
struct Gfx9Tail {
    static constexpr std::size_t kMax = 8;
    struct Entry {
        std::uint64_t time = 0;
        std::uint32_t duration = 0;
        std::uint64_t end() const { return time + duration; }
    };
    bool live = false, held = false, start_seen = false;
    bool plain = false; ///< neither in a trap nor deeper than can be kept here
    std::uint8_t count = 0, queued = 0;
    std::array<Entry, kMax> entries{}; ///< the last first
    /// Which entries wait for a name, oldest first.
    std::array<std::uint8_t, kMax> queue{};
    bool anchors_changed = false; ///< in the part that `waiting_anchors` is of
    std::uint32_t waiting_anchors = 0;
    std::uint32_t stalls = 0; ///< that no instruction has taken yet, and some that one has
    std::uint64_t first_stall = 0, last_stall = 0;
    std::uint64_t state_start = 0;

    bool waits(std::size_t entry) const {
        for (std::size_t i = 0; i < queued; ++i)
            if (queue[i] == entry) return true;
        return false;
    }
};

Gfx9Tail tail_of(const Gfx9Wave& wave);

/// Whether a part that begins at `begin` and ends at `end` (clocks) and supposed `guess` of a wave
/// was right, given what was really there: then the counter of issue phases moves in the part as it
/// was found with the guess. Entries that the guess lacks are taken for long over. May say no where
/// yes is true.
bool was_right(const Gfx9Tail& guess, const Gfx9Tail& really, std::uint64_t begin,
               std::uint64_t end);

/// The tail of a wave behind a part, given what the part saw of it (`seen`, of which `before` entries
/// were there at its beginning) and what was there before. `synced`: no stall from before is left.
Gfx9Tail joined_tail(const Gfx9Tail& seen, std::size_t before, const Gfx9Tail& earlier,
                     bool synced);

} // namespace wavetap::decode
