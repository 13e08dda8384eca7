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
constexpr std::uint64_t kMinSegmentBits = 4 * TokenColumns::kRunUpBytes * 8;
constexpr unsigned kAfterExt = 256;
/// Bits of the shortest token of each lane: WEND, gfx1250's VALU, unknown.
constexpr std::array<unsigned, TokenColumns::kLanes> kShortest{16, 8, 4};
constexpr std::size_t kSpareItems = 2; ///< of each lane: one is written before it is known to count

constexpr std::size_t items_of(std::uint64_t bits, unsigned lane) {
    return static_cast<std::size_t>(bits / kShortest[lane]) + kSpareItems;
}
constexpr std::size_t items_of_walk(std::uint64_t bits) {
    std::size_t items = 0;
    for (unsigned lane = 0; lane < TokenColumns::kLanes; ++lane)
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

template <Generation kGen> struct Walk {
    std::uint64_t position = 0;
    std::uint32_t clocks = 0;
    unsigned state = 0;
    std::array<Item*, TokenColumns::kLanes + 1> out{};

    void step(const unsigned char* data, std::uint64_t origin, const StepTable& steps,
              Counts32& counts) {
        std::uint32_t window;
        std::memcpy(&window, data + (position >> 3), 4);
        if constexpr (kGen != Generation::kGfx9 && kGen != Generation::kGfx1250)
            window >>= position & 4;
        Step what;
        if constexpr (extends(kGen)) {
            what = steps[(window & 0xFF) | state];
            state = unsigned{what.ext} << 8;
        } else {
            what = steps[window & 0xFF];
        }
        clocks += (window >> what.delta_shift & what.delta_mask) + what.delta_bias;
        unsigned lane = what.lane;
        // gfx9: MISC of type 0 only carries time.
        if constexpr (kGen == Generation::kGfx9)
            lane = (window & 0xE00F) != 0 ? lane : unsigned{TokenColumns::kNobody};
        *out[lane] = {static_cast<std::uint32_t>((position - origin) >> 2) |
                          std::uint32_t{what.type} << TokenColumns::kPositionBits,
                      clocks};
        // Nobody's place is written again and again.
        out[lane] += lane < TokenColumns::kLanes ? 1 : 0;
        ++counts[what.type];
        position += what.bits;
    }
};

} // namespace

void TokenColumns::reserve(std::size_t part_bytes) {
    const std::uint64_t bits = bits_of_walk(std::uint64_t{part_bytes} * 8);
    if (bits <= walk_bits_) return;
    walk_bits_ = bits;
    items_ = std::make_unique_for_overwrite<Item[]>(items_of_walk(bits) * kWalks + 1);
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
    const StepTable& steps = steps_of(kGen);
    const std::uint64_t length = stop > from ? stop - from : 0;
    segment_count_ = length >= kWalks * kMinSegmentBits ? kWalks : 1;
    const std::uint64_t each = length / segment_count_ / 16 * 16;
    reserve(static_cast<std::size_t>((length + 7) / 8));
    std::array<Walk<kGen>, kWalks> walks;
    std::array<std::uint64_t, kWalks> ends{};
    std::array<Counts32, kWalks> counts{};
    std::array<Entry, kWalks> entries;
    const auto together = [&] {
        for (;;) {
            std::uint64_t count = ~std::uint64_t{0};
            for (unsigned i = 0; i < kWalks; ++i)
                count = std::min(count, ends[i] > walks[i].position ? (ends[i] - walks[i].position)
                                                                    : std::uint64_t{0});
            count /= kMaxTokenBits;
            if (count < 8) break;
            std::array<Walk<kGen>, kWalks> local = walks;
            for (; count > 0; --count) {
                for (unsigned i = 0; i < kWalks; ++i)
                    local[i].step(data, origin_, steps, counts[i]);
            }
            walks = local;
        }
        for (unsigned i = 0; i < segment_count_; ++i) {
            while (walks[i].position < ends[i])
                walks[i].step(data, origin_, steps, counts[i]);
        }
    };
    const auto begin_at = [&](unsigned i, Entry entry) {
        walks[i].position = entry.bits;
        walks[i].state = entry.after_ext ? kAfterExt : 0;
        walks[i].clocks = 0;
        for (unsigned lane = 0; lane < kLanes; ++lane)
            walks[i].out[lane] = lane_begin(i, lane);
        walks[i].out[kNobody] = lane_begin(kWalks, 0);
        counts[i] = {};
        entries[i] = entry;
    };
    for (unsigned i = 0; i < segment_count_; ++i) {
        const std::uint64_t begin = from + i * each;
        begin_at(i, i == 0 ? start : Entry{begin - kRunUpBytes * 8, false});
        ends[i] = begin;
    }
    // A walk that needs no run-up goes along for company.
    if (!guessed && segment_count_ > 1) ends[0] += kRunUpBytes * 8;
    together();
    for (unsigned i = 0; i < segment_count_; ++i) {
        begin_at(i, i == 0 && !guessed ? start : Entry{walks[i].position, walks[i].state != 0});
        ends[i] = i + 1 < segment_count_ ? from + (i + 1) * each : stop;
    }
    together();
    entry_ = entries[0];
    counts_ = {};
    for (unsigned i = 0; i < segment_count_; ++i) {
        if (i > 0) {
            // The exit of the walk before is the proof of an entry; else walk again from there.
            const Entry before{walks[i - 1].position, walks[i - 1].state != 0};
            if (entries[i] != before) {
                begin_at(i, before);
                while (walks[i].position < ends[i])
                    walks[i].step(data, origin_, steps, counts[i]);
            }
        }
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            const Item* first = lane_begin(i, lane);
            segments_[i].lanes[lane] = {first,
                                        static_cast<std::size_t>(walks[i].out[lane] - first)};
        }
        segments_[i].clocks = walks[i].clocks;
        for (std::size_t t = 0; t < counts_.size(); ++t)
            counts_[t] += counts[i][t];
    }
    const Walk<kGen>& last = walks[segment_count_ - 1];
    end_ = {last.position, last.state != 0};
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
    origin_ = entry.bits;
    choose(generation, reinterpret_cast<const unsigned char*>(bytes.data()), entry.bits, stop_bits,
           false, entry);
}

void TokenColumns::read_guessed(Generation generation, std::span<const std::byte> bytes,
                                std::uint64_t first_bits, std::uint64_t from_bits,
                                std::uint64_t stop_bits) {
    const std::uint64_t run_up = std::min(from_bits - first_bits, std::uint64_t{kRunUpBytes * 8});
    origin_ = from_bits - run_up;
    choose(generation, reinterpret_cast<const unsigned char*>(bytes.data()), from_bits, stop_bits,
           true, {from_bits - run_up, false});
}

} // namespace wavetap::sqtt
