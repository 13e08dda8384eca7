// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/gfx9_tail.hpp"

#include <algorithm>

namespace wavetap::decode {
namespace {

constexpr std::uint32_t kMostStalls = 1024;    ///< so that a part can add to them below the limit
constexpr std::uint64_t kLongest = 0xFFFFFF00; ///< clocks that a duration can hold

bool same_entries(const Gfx9Tail& guess, const Gfx9Tail& really, std::uint64_t begin) {
    std::uint64_t over = begin; // what ended by then is like any other that did
    for (std::size_t i = 0; i < really.queued; ++i)
        over = std::min(over, really.entries[really.queue[i]].time);
    // The one before the oldest that waits, but the last two at least.
    const std::size_t used =
        really.queued == 0 ? 2 : std::max<std::size_t>(really.queue[0] + 2U, 2);
    for (std::size_t i = 0; i < std::min(used, Gfx9Tail::kMax); ++i) {
        const bool known = i < guess.count, there = i < really.count;
        const Gfx9Tail::Entry a = known ? guess.entries[i] : Gfx9Tail::Entry{};
        const Gfx9Tail::Entry b = there ? really.entries[i] : Gfx9Tail::Entry{};
        if (really.waits(i)) {
            if (!known || !there || a.time != b.time) return false;
        } else if (a.end() > over || b.end() > over) {
            if (!known || !there || a.end() != b.end() || b.time > a.time) return false;
        }
    }
    return true;
}

} // namespace

Gfx9Tail tail_of(const Gfx9Wave& wave) {
    Gfx9Tail tail;
    tail.live = wave.live;
    tail.held = wave.held;
    if (!wave.live) return tail;
    tail.start_seen = wave.head.start_seen;
    const std::size_t size = wave.list.size();
    tail.count = static_cast<std::uint8_t>(std::min(size, Gfx9Tail::kMax));
    for (std::size_t i = 0; i < tail.count; ++i) {
        const std::size_t at = size - 1 - i;
        tail.entries[i] = {wave.list.times[at], wave.list.durations[at]};
    }
    tail.plain = wave.trap == Gfx9Wave::Trap::kNormal;
    if (wave.queue_size != 0 && size - wave.waiting(0) + 1 > Gfx9Tail::kMax) tail.plain = false;
    tail.queued = static_cast<std::uint8_t>(tail.plain ? wave.queue_size : 0U);
    for (unsigned i = 0; i < tail.queued; ++i)
        tail.queue[i] = static_cast<std::uint8_t>(size - 1 - wave.waiting(i));
    tail.waiting_anchors = static_cast<std::uint32_t>(wave.anchors.waiting());
    tail.stalls = static_cast<std::uint32_t>(wave.stalls.size());
    for (std::size_t i = wave.first_stall; i < wave.stalls.size(); ++i) {
        tail.first_stall =
            i == wave.first_stall ? wave.stalls[i] : std::min(tail.first_stall, wave.stalls[i]);
        tail.last_stall = std::max(tail.last_stall, wave.stalls[i]);
    }
    tail.state_start = wave.state_start;
    return tail;
}

bool was_right(const Gfx9Tail& guess, const Gfx9Tail& really, std::uint64_t begin,
               std::uint64_t end) {
    if (!really.live || !really.plain || !guess.plain) return false;
    if (really.stalls > kMostStalls || really.last_stall > begin) return false;
    if (really.state_start > begin + 4) return false;
    if (guess.queued != really.queued ||
        !std::equal(guess.queue.begin(), guess.queue.begin() + guess.queued, really.queue.begin()))
        return false;
    // No duration that reaches back before the part may be too long for its column.
    const auto too_long = [end](std::uint64_t from) { return end > from && end - from > kLongest; };
    if (really.count != 0 && too_long(really.entries[0].end())) return false;
    if (really.last_stall != 0 && too_long(really.first_stall)) return false;
    return same_entries(guess, really, begin);
}

Gfx9Tail joined_tail(const Gfx9Tail& seen, std::size_t before, const Gfx9Tail& earlier,
                     bool synced) {
    Gfx9Tail tail = seen;
    tail.start_seen = earlier.start_seen;
    for (std::size_t i = before; i < earlier.count && tail.count < Gfx9Tail::kMax; ++i)
        tail.entries[tail.count++] = earlier.entries[i];
    tail.state_start = std::max(seen.state_start, earlier.state_start);
    if (!seen.anchors_changed) tail.waiting_anchors = earlier.waiting_anchors;
    if (synced || earlier.stalls == 0) return tail;
    tail.first_stall =
        seen.stalls == 0 ? earlier.first_stall : std::min(seen.first_stall, earlier.first_stall);
    tail.last_stall = std::max(seen.last_stall, earlier.last_stall);
    tail.stalls += earlier.stalls;
    return tail;
}

} // namespace wavetap::decode
