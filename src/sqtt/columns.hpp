// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "sqtt/token.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace wavetap::sqtt {

/// The first stages of decoding: where the tokens of a part of a stream begin, how far each moves
/// the clock, and whom they are for. Columns of plain numbers; nothing here depends on what came
/// before the part but its entry, so parts can be read in any order and side by side. Tokens that
/// carry nothing but time (padding, TIME, EXEC reports, …) are counted and left out.
class TokenColumns {
  public:
    /// Behind the parts that are read there must be this many bytes, so that no token looks past
    /// the end.
    static constexpr std::size_t kMarginBytes = 32;
    /// A walk that starts at any place falls into step with the tokens within this many bytes
    /// (at most 965 nibbles in 200,000 starts in real streams). If it does not, that is seen and
    /// the part is read again.
    static constexpr std::size_t kRunUpBytes = 512;
    /// A part is at most this long.
    static constexpr std::size_t kMaxPartBytes = std::size_t{1} << 24;

    /// Between two tokens.
    struct Entry {
        std::uint64_t bits = 0; ///< position in the span
        bool after_ext = false; ///< the token before was a WSTART_EXT or a byte of it
        friend bool operator==(const Entry&, const Entry&) = default;
    };
    /// One token. Without initial values: making room for a part writes nothing.
    struct Item {
        std::uint32_t place;
        /// Clocks from the beginning of the segment to the token, its own included; in the
        /// generation's units. Absolute timestamps are not applied.
        std::uint32_t clocks;

        TokenType type() const { return static_cast<TokenType>(place >> kPositionBits); }
        /// From origin_bits() on, in units of four bits.
        std::uint32_t position() const { return place & ((1U << kPositionBits) - 1); }
    };
    static constexpr unsigned kPositionBits = 26;
    static_assert(kTokenTypeCount <= std::size_t{1} << (32 - kPositionBits));
    /// Whom a token is for; each has its list.
    enum Lane : std::uint8_t {
        kOccupancy,   ///< wave slots: starts and ends
        kInstruction, ///< instructions of the target's waves
        kRest,        ///< registers, events, timestamps, …
        kNobody,      ///< only moves the clock
    };
    static constexpr unsigned kLanes = 3;
    /// A piece of the part that one walk read.
    struct Segment {
        std::array<std::span<const Item>, kLanes> lanes;
        std::uint32_t clocks = 0; ///< of the whole segment
    };
    using Counts = std::array<std::uint64_t, kTokenTypeCount>;

    /// Takes the memory for parts of up to `part_bytes` now; otherwise it grows with them. At most
    /// 46 bytes for each byte of the part, of which few are written.
    void reserve(std::size_t part_bytes);

    /// Reads from `entry`, which must be the beginning of a token, to the first token at or after
    /// `stop_bits`.
    void read(Generation generation, std::span<const std::byte> bytes, Entry entry,
              std::uint64_t stop_bits);
    /// As read(), from the first token at or after `from_bits`, found by a walk that starts a run-up
    /// before it (not before `first_bits`). It may be wrong: entry() says where it began.
    void read_guessed(Generation generation, std::span<const std::byte> bytes,
                      std::uint64_t first_bits, std::uint64_t from_bits, std::uint64_t stop_bits);

    /// No tokens, at `entry`.
    void read_nothing(Entry entry) {
        segment_count_ = 0;
        entry_ = end_ = entry;
        origin_ = entry.bits;
        counts_ = {};
    }

    Entry entry() const { return entry_; }
    Entry end() const { return end_; }
    /// How long the part is, about.
    std::size_t bytes() const { return static_cast<std::size_t>((end_.bits - entry_.bits) / 8); }
    /// Where item positions count from.
    std::uint64_t origin_bits() const { return origin_; }
    std::span<const Segment> segments() const { return {segments_.data(), segment_count_}; }
    /// Every complete token of the part by type, those left out as well.
    const Counts& counts() const { return counts_; }

    /// Walks that go side by side in one thread: the latency of a step is what limits one.
    static constexpr unsigned kWalks = 3;

  private:
    template <Generation>
    void walk(const unsigned char*, std::uint64_t, std::uint64_t, bool, Entry);
    void choose(Generation generation, const unsigned char* data, std::uint64_t from,
                std::uint64_t stop, bool guessed, Entry start);
    Item* lane_begin(unsigned walk, unsigned lane) const;

    std::unique_ptr<Item[]> items_;
    std::uint64_t walk_bits_ = 0; ///< that a walk has room for, its run-up included
    std::array<Segment, kWalks> segments_{};
    unsigned segment_count_ = 0;
    Entry entry_, end_;
    std::uint64_t origin_ = 0;
    Counts counts_{};
};

constexpr TokenColumns::Lane lane_of(TokenType type) {
    switch (type) {
    case TokenType::kWaveStart:
    case TokenType::kWaveStartExt:
    case TokenType::kWaveEnd:
        return TokenColumns::kOccupancy;
    case TokenType::kInst:
    case TokenType::kValu:
    case TokenType::kImm1:
    case TokenType::kImmediate:
    case TokenType::kWaveReady:
    case TokenType::kIssue:
        return TokenColumns::kInstruction;
    case TokenType::kNop:
    case TokenType::kTime:
    case TokenType::kMediumTime:
    case TokenType::kAluExec:
    case TokenType::kVmemExec:
    case TokenType::kUtil:
    case TokenType::kWaveAlloc:
    case TokenType::kPopcount1:
    case TokenType::kPopcount3:
    case TokenType::kLdsConfig:
    case TokenType::kExtension:
        return TokenColumns::kNobody;
    default:
        return TokenColumns::kRest; // gfx9: MISC of type 0 is nobody's all the same
    }
}

} // namespace wavetap::sqtt
