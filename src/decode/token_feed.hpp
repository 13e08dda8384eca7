// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/task_pool.hpp"
#include "sqtt/columns.hpp"
#include "sqtt/reader.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace wavetap::decode {

/// Brings the tokens of a stream to an engine in order, part by part. With a pool, the parts of the
/// next round are read ahead by all threads while the engine takes those of this round: each from a
/// guessed entry, proved by the exit of the part before and read again if it was wrong. So the
/// engine sees the same tokens whatever the number of threads and the size of a part.
template <sqtt::Generation kGen> class TokenFeed {
  public:
    static constexpr bool kGfx9 = kGen == sqtt::Generation::kGfx9;
    using Entry = sqtt::TokenColumns::Entry;

    /// `pool` may be null.
    TokenFeed(TaskPool* pool, std::size_t part_bytes)
        : pool_(pool), part_bits_(std::clamp<std::size_t>((part_bytes + 1) / 2 * 2, 2,
                                                          sqtt::TokenColumns::kMaxPartBytes / 2) *
                                  8) {}

    /// Calls `engine.part(const TokenColumns&)` for the tokens from `from` to the first one at or
    /// after `stop_bits`, and `engine.begin_round()`, `engine.end_round()` around what a pool can do
    /// meanwhile. Returns where the next token begins. Bytes must go on for
    /// TokenColumns::kMarginBytes behind the stop.
    template <class Engine>
    Entry run(Engine& engine, std::span<const std::byte> bytes, Entry from,
              std::uint64_t stop_bits) {
        if (from.bits >= stop_bits) return from;
        if (!together(from, stop_bits)) return run_alone(engine, bytes, from, stop_bits);
        return run_together(engine, bytes, from, stop_bits);
    }
    /// Whether there is work for several threads, and several threads.
    bool together(Entry from, std::uint64_t stop_bits) const {
        return pool_ != nullptr && pool_->threads() > 1 && from.bits < stop_bits &&
               stop_bits - from.bits > 2 * part_bits_;
    }
    std::uint64_t part_bits() const { return part_bits_; }

  private:
    template <class Engine>
    Entry run_alone(Engine& engine, std::span<const std::byte> bytes, Entry at,
                    std::uint64_t stop_bits) {
        sets_[0].resize(std::max<std::size_t>(sets_[0].size(), 1));
        sqtt::TokenColumns& part = sets_[0][0];
        part.reserve(static_cast<std::size_t>(part_bits_ / 8));
        while (at.bits < stop_bits) {
            part.read(kGen, bytes, at, std::min(stop_bits, at.bits + part_bits_));
            engine.part(part);
            at = part.end();
        }
        return at;
    }

    template <class Engine>
    Entry run_together(Engine& engine, std::span<const std::byte> bytes, Entry at,
                       std::uint64_t stop_bits) {
        const std::uint64_t first = at.bits;
        const std::uint64_t parts = (stop_bits - first + part_bits_ - 1) / part_bits_;
        const std::size_t round = pool_->threads();
        const auto begin_of = [&](std::uint64_t part) {
            return std::min(stop_bits, first + part * part_bits_);
        };
        for (auto& set : sets_)
            set.resize(std::max(set.size(), round));
        const auto read_ahead = [&](unsigned set, std::uint64_t from_part, std::size_t count) {
            pool_->start(group_, count, [=, this, &bytes](std::size_t i) {
                const std::uint64_t part = from_part + i;
                sets_[set][i].read_guessed(kGen, bytes, first, begin_of(part), begin_of(part + 1));
            });
        };
        const auto count_of = [&](std::uint64_t part) {
            return static_cast<std::size_t>(
                part < parts ? std::min<std::uint64_t>(round, parts - part) : 0);
        };
        unsigned set = 0;
        read_ahead(set, 0, count_of(0));
        pool_->finish(group_);
        for (std::uint64_t part = 0; part < parts; part += round, set ^= 1U) {
            read_ahead(set ^ 1U, part + round, count_of(part + round));
            engine.begin_round();
            for (std::size_t i = 0; i < count_of(part); ++i) {
                sqtt::TokenColumns& columns = sets_[set][i];
                const std::uint64_t end = begin_of(part + i + 1);
                if (at.bits >= end) continue; // a token of the part before covers it
                if (columns.entry() != at) columns.read(kGen, bytes, at, end);
                engine.part(columns);
                at = columns.end();
            }
            pool_->finish(group_);
            engine.end_round();
        }
        return at;
    }

    TaskPool* pool_;
    std::uint64_t part_bits_;
    std::vector<sqtt::TokenColumns> sets_[2];
    TaskPool::Group group_;
};

} // namespace wavetap::decode
