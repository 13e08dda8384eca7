// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "sqtt/columns.hpp"

#include "sqtt/rdna.hpp"
#include "sqtt/reader.hpp"

#include <algorithm>
#include <cstring>

namespace wavetap::sqtt {
namespace {

constexpr unsigned kMaxTokenBits = 72;
constexpr unsigned kAllLanes = TokenColumns::kLanes + 1;
constexpr std::uint64_t kMinSegmentBits = 4 * TokenColumns::kRunUpBytes * 8;
constexpr unsigned kAfterExt = 256;
/// Bits of the shortest token of each lane: WEND, gfx1250's VALU, unknown, NOP.
constexpr std::array<unsigned, kAllLanes> kShortest{16, 8, 4, 4};
constexpr std::size_t kSpareItems = 2; ///< of each lane: one is written before it is known to count

constexpr std::size_t items_of(std::uint64_t bits, unsigned lane) {
    return static_cast<std::size_t>(bits / kShortest[lane]) + kSpareItems;
}
constexpr std::size_t items_of_walk(std::uint64_t bits) {
    std::size_t items = 0;
    for (unsigned lane = 0; lane < kAllLanes; ++lane)
        items += items_of(bits, lane);
    return items;
}
constexpr std::uint64_t bits_of_walk(std::uint64_t part_bits) {
    const std::uint64_t least = std::min(part_bits, TokenColumns::kWalks * kMinSegmentBits);
    const std::uint64_t most = part_bits / TokenColumns::kWalks + 16 * TokenColumns::kWalks;
    return std::max(least, most) + TokenColumns::kRunUpBytes * 8 + 2 * kMaxTokenBits;
}

/// What one step of a walk needs, in one word.
struct Step {
    std::uint8_t bits = 0;
    std::uint8_t delta_shift = 0;
    std::uint8_t delta_bias = 0;
    std::uint8_t type = 0;
    std::uint16_t delta_mask = 0;
    std::uint8_t lane = 0;
    std::uint8_t ext = 0; ///< bytes with bit 0 set behind this token belong to it
};
using StepTable = std::array<Step, 512>;

constexpr bool extends(Generation generation) {
    return generation == Generation::kGfx12 || generation == Generation::kGfx1250;
}

StepTable make_steps(Generation generation) {
    StepTable steps{};
    const LookupTable& table = lookup_table(generation);
    for (unsigned i = 0; i < 256; ++i) {
        const LookupEntry& entry = table[i];
        Step& step = steps[i];
        step.bits = entry.bits;
        step.delta_shift = entry.delta_shift;
        step.delta_bias = entry.delta_bias;
        step.type = static_cast<std::uint8_t>(entry.type);
        step.delta_mask = entry.delta_mask;
        step.lane = lane_of(entry.type);
        step.ext = extends(generation) && entry.type == TokenType::kWaveStartExt ? 1 : 0;
        if (generation == Generation::kGfx1250 && entry.type == TokenType::kValu)
            step.delta_bias = kValuClocks[i >> 4];
        steps[i + kAfterExt] = step;
        if ((i & 1) != 0 && extends(generation))
            steps[i + kAfterExt] = {
                8, 0, 0, static_cast<std::uint8_t>(TokenType::kExtension), 0, TokenColumns::kNobody,
                1};
    }
    return steps;
}

const StepTable& steps_of(Generation generation) {
    static const std::array<StepTable, kGenerationCount> tables{
        make_steps(Generation::kGfx9), make_steps(Generation::kGfx10),
        make_steps(Generation::kGfx11), make_steps(Generation::kGfx12),
        make_steps(Generation::kGfx1250)};
    return tables[static_cast<std::size_t>(generation)];
}

using Item = TokenColumns::Item;
using Counts32 = std::array<std::uint32_t, kTokenTypeCount>;
using Outs = std::array<Item*, kAllLanes>;

constexpr bool has_nibbles(Generation generation) {
    return generation == Generation::kGfx10 || generation == Generation::kGfx11 ||
           generation == Generation::kGfx12;
}

/// As Step, for a token of nibbles and the NOP before it, if there is one: twelve bits say which.
struct LongStep {
    std::uint32_t place = 0; ///< of an Item: the type, and one if a NOP comes first
    std::uint8_t bits = 0;   ///< of both
    std::uint8_t clocks = 0; ///< kAsk: they are not in the twelve bits, or a WSTART_EXT has a say
    std::uint8_t lane = 0;
    std::uint8_t type = 0;
};
constexpr std::uint8_t kAsk = 0xFF;
constexpr unsigned kLongBits = 12;
constexpr unsigned kLongAfterExt = 1U << kLongBits;
using LongStepTable = std::array<LongStep, 2U << kLongBits>;

LongStep long_step_of(const StepTable& steps, unsigned window, unsigned state) {
    const bool nop =
        steps[(window & 0xFF) | state].type == static_cast<std::uint8_t>(TokenType::kNop);
    const unsigned token = nop ? window >> 4 : window;
    const Step& step = steps[(token & 0xFF) | (nop ? 0 : state)];
    const std::uint32_t delta = std::uint32_t{step.delta_mask} << step.delta_shift;
    const bool ask = delta >> (nop ? 8 : kLongBits) != 0 || step.ext != 0 || state != 0;
    LongStep out;
    out.place = (nop ? 1U : 0U) | std::uint32_t{step.type} << TokenColumns::kPositionBits;
    out.bits = static_cast<std::uint8_t>(step.bits + (nop ? 4 : 0));
    out.clocks = ask ? kAsk
                     : static_cast<std::uint8_t>((token >> step.delta_shift & step.delta_mask) +
                                                 step.delta_bias);
    out.lane = step.lane;
    out.type = step.type;
    return out;
}

LongStepTable make_long_steps(Generation generation) {
    LongStepTable out{};
    const StepTable& steps = steps_of(generation);
    for (unsigned window = 0; window < kLongAfterExt; ++window) {
        out[window] = long_step_of(steps, window, 0);
        out[window + kLongAfterExt] = long_step_of(steps, window, kAfterExt);
    }
    return out;
}

template <Generation kGen> const LongStepTable& long_steps_of() {
    static const LongStepTable table = make_long_steps(kGen);
    return table;
}

/// A walk on its way. Positions are bits from the origin of the part.
struct Way {
    std::uint32_t entry = 0, at = 0, end = 0;
    std::uint32_t clocks = 0;
    bool entry_after_ext = false, after_ext = false;
    Outs out{};
    Counts32 counts{};
};
using Ways = std::array<Way, TokenColumns::kWalks>;

/// What of it changes at each step.
template <Generation kGen> struct Walk {
    static constexpr unsigned kOn = has_nibbles(kGen) ? kLongAfterExt : kAfterExt;
    std::uint32_t position;
    std::uint32_t clocks;
    unsigned state; ///< kOn behind a WSTART_EXT

    explicit Walk(const Way& way)
        : position(way.at), clocks(way.clocks), state(way.after_ext ? kOn : 0) {}
    void leave(Way& way) const {
        way.at = position;
        way.clocks = clocks;
        way.after_ext = state != 0;
    }

    void step(const unsigned char* data, const StepTable& steps, Way& way) {
        std::uint32_t window = window_at(data);
        Step what;
        if constexpr (extends(kGen)) {
            what = steps[(window & 0xFF) | state / (kOn / kAfterExt)];
            state = what.ext * kOn;
        } else {
            what = steps[window & 0xFF];
        }
        clocks += (window >> what.delta_shift & what.delta_mask) + what.delta_bias;
        unsigned lane = what.lane;
        // gfx9: MISC of type 0 only carries time.
        if constexpr (kGen == Generation::kGfx9)
            lane = (window & 0xE00F) != 0 ? lane : unsigned{TokenColumns::kNobody};
        put(position, std::uint32_t{what.type} << TokenColumns::kPositionBits, lane, way);
        ++way.counts[what.type];
        position += what.bits;
    }
    /// The same for a token and the NOP before it. NOPs are not counted.
    void long_step(const unsigned char* data, const LongStepTable& long_steps, Way& way) {
        const std::uint32_t window = window_at(data);
        unsigned index = window & (kLongAfterExt - 1);
        if constexpr (extends(kGen)) index |= state;
        const LongStep& what = long_steps[index];
        const std::uint32_t start = position;
        position += what.bits;
        clocks += what.clocks;
        if (what.clocks == kAsk) [[unlikely]] {
            const Asked asked = ask(window, (what.place & 1) != 0, state);
            clocks += asked.clocks - kAsk;
            state = asked.state;
        }
        put(start, what.place, what.lane, way);
        ++way.counts[what.type];
    }

  private:
    std::uint32_t window_at(const unsigned char* data) const {
        std::uint32_t window;
        std::memcpy(&window, data + (position >> 3), 4);
        if constexpr (has_nibbles(kGen)) window >>= position & 4;
        return window;
    }
    void put(std::uint32_t start, std::uint32_t place, unsigned lane, Way& way) const {
        *way.out[lane] = {(start >> 2) + place, clocks};
        ++way.out[lane];
    }
    struct Asked {
        std::uint32_t clocks;
        unsigned state;
    };
    [[gnu::noinline]] static Asked ask(std::uint32_t window, bool nop, unsigned state) {
        if (nop) window >>= 4;
        const Step& step = steps_of(kGen)[(window & 0xFF) | (nop ? 0 : state / (kOn / kAfterExt))];
        return {(window >> step.delta_shift & step.delta_mask) + step.delta_bias, step.ext * kOn};
    }
};

template <Generation kGen> void finish(const unsigned char* data, Way& way) {
    const StepTable& steps = steps_of(kGen);
    Walk<kGen> walk(way);
    while (walk.position < way.end)
        walk.step(data, steps, way);
    walk.leave(way);
}

// All to within a few tokens of their ends.
template <Generation kGen>
[[gnu::noinline]] void go_together(const unsigned char* data, Ways& ways) {
    static_assert(TokenColumns::kWalks == 3);
    constexpr unsigned kMostBits = kMaxTokenBits + (has_nibbles(kGen) ? 4 : 0);
    const StepTable& steps = steps_of(kGen);
    const LongStepTable& long_steps = long_steps_of<kGen>();
    const auto step = [&](Walk<kGen>& walk, Way& way) {
        if constexpr (has_nibbles(kGen))
            walk.long_step(data, long_steps, way);
        else
            walk.step(data, steps, way);
    };
    for (;;) {
        std::uint32_t count = ~std::uint32_t{0};
        for (const Way& way : ways)
            count = std::min(count, way.end > way.at ? way.end - way.at : 0);
        count /= kMostBits;
        if (count < 8) break;
        Walk<kGen> a(ways[0]), b(ways[1]), c(ways[2]);
        for (; count > 0; --count) {
            step(a, ways[0]);
            step(b, ways[1]);
            step(c, ways[2]);
        }
        a.leave(ways[0]);
        b.leave(ways[1]);
        c.leave(ways[2]);
    }
}

// The bits that no other token covers.
void count_nops(Generation generation, Way& way) {
    std::array<std::uint8_t, kTokenTypeCount> bits{};
    for (const Step& step : steps_of(generation))
        bits[step.type] = step.bits;
    std::uint32_t left = way.at - way.entry;
    constexpr auto kNop = static_cast<std::size_t>(TokenType::kNop);
    for (std::size_t t = 0; t < bits.size(); ++t)
        left -= t == kNop ? 0 : way.counts[t] * bits[t];
    way.counts[kNop] = left / bits[kNop];
}

} // namespace

void TokenColumns::reserve(std::size_t part_bytes) {
    const std::uint64_t bits = bits_of_walk(std::uint64_t{part_bytes} * 8);
    if (bits <= walk_bits_) return;
    walk_bits_ = bits;
    items_ = std::make_unique_for_overwrite<Item[]>(items_of_walk(bits) * kWalks);
}

TokenColumns::Item* TokenColumns::lane_begin(unsigned walk, unsigned lane) const {
    Item* begin = items_.get() + items_of_walk(walk_bits_) * walk;
    for (unsigned before = 0; before < lane; ++before)
        begin += items_of(walk_bits_, before);
    return begin;
}

template <Generation kGen>
void TokenColumns::walk(const unsigned char* data, std::uint64_t from, std::uint64_t stop,
                        bool guessed, Entry start) {
    const std::uint64_t length = stop > from ? stop - from : 0;
    segment_count_ = length >= kWalks * kMinSegmentBits ? kWalks : 1;
    const std::uint64_t each = length / segment_count_ / 16 * 16;
    reserve(static_cast<std::size_t>((length + 7) / 8));
    data += origin_ / 8;
    Ways ways;
    const auto begin_at = [&](unsigned i, std::uint32_t entry, bool after_ext, std::uint64_t end) {
        Way& way = ways[i];
        way.entry = way.at = entry;
        way.entry_after_ext = way.after_ext = after_ext;
        way.end = static_cast<std::uint32_t>(end - origin_);
        way.clocks = 0;
        for (unsigned lane = 0; lane < kAllLanes; ++lane)
            way.out[lane] = lane_begin(i, lane);
        way.counts = {};
    };
    const auto together = [&] {
        if (segment_count_ == kWalks) go_together<kGen>(data, ways);
        for (unsigned i = 0; i < segment_count_; ++i)
            finish<kGen>(data, ways[i]);
    };
    const auto start_at = static_cast<std::uint32_t>(start.bits - origin_);
    for (unsigned i = 0; i < segment_count_; ++i) {
        const std::uint64_t begin = from + i * each;
        const std::uint64_t run_up = begin - kRunUpBytes * 8 - origin_;
        if (i == 0)
            begin_at(i, start_at, start.after_ext, begin);
        else
            begin_at(i, static_cast<std::uint32_t>(run_up), false, begin);
    }
    // A walk that needs no run-up goes along for company.
    if (!guessed && segment_count_ > 1) ways[0].end += kRunUpBytes * 8;
    together();
    for (unsigned i = 0; i < segment_count_; ++i) {
        const std::uint64_t end = i + 1 < segment_count_ ? from + (i + 1) * each : stop;
        if (i == 0 && !guessed)
            begin_at(i, start_at, start.after_ext, end);
        else
            begin_at(i, ways[i].at, ways[i].after_ext, end);
    }
    together();
    entry_ = {origin_ + ways[0].entry, ways[0].entry_after_ext};
    counts_ = {};
    for (unsigned i = 0; i < segment_count_; ++i) {
        Way& way = ways[i];
        if (i > 0) {
            // The exit of the walk before is the proof of an entry; else walk again from there.
            const Way& before = ways[i - 1];
            if (way.entry != before.at || way.entry_after_ext != before.after_ext) {
                begin_at(i, before.at, before.after_ext, origin_ + way.end);
                finish<kGen>(data, way);
            }
        }
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            const Item* first = lane_begin(i, lane);
            segments_[i].lanes[lane] = {first, static_cast<std::size_t>(way.out[lane] - first)};
        }
        segments_[i].clocks = way.clocks;
        if constexpr (has_nibbles(kGen)) count_nops(kGen, way);
        for (std::size_t t = 0; t < counts_.size(); ++t)
            counts_[t] += way.counts[t];
    }
    end_ = {origin_ + ways[segment_count_ - 1].at, ways[segment_count_ - 1].after_ext};
}

void TokenColumns::choose(Generation generation, const unsigned char* data, std::uint64_t from,
                          std::uint64_t stop, bool guessed, Entry start) {
    switch (generation) {
    case Generation::kGfx9:
        return walk<Generation::kGfx9>(data, from, stop, guessed, start);
    case Generation::kGfx10:
        return walk<Generation::kGfx10>(data, from, stop, guessed, start);
    case Generation::kGfx11:
        return walk<Generation::kGfx11>(data, from, stop, guessed, start);
    case Generation::kGfx12:
        return walk<Generation::kGfx12>(data, from, stop, guessed, start);
    case Generation::kGfx1250:
        return walk<Generation::kGfx1250>(data, from, stop, guessed, start);
    }
}

void TokenColumns::read(Generation generation, std::span<const std::byte> bytes, Entry entry,
                        std::uint64_t stop_bits) {
    origin_ = entry.bits / 8 * 8;
    choose(generation, reinterpret_cast<const unsigned char*>(bytes.data()), entry.bits, stop_bits,
           false, entry);
}

void TokenColumns::read_guessed(Generation generation, std::span<const std::byte> bytes,
                                std::uint64_t first_bits, std::uint64_t from_bits,
                                std::uint64_t stop_bits) {
    const std::uint64_t run_up = std::min(from_bits - first_bits, std::uint64_t{kRunUpBytes * 8});
    origin_ = (from_bits - run_up) / 8 * 8;
    choose(generation, reinterpret_cast<const unsigned char*>(bytes.data()), from_bits, stop_bits,
           true, {from_bits - run_up, false});
}

} // namespace wavetap::sqtt
