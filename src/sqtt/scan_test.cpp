// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "sqtt/columns.hpp"
#include "sqtt/reader.hpp"
#include "sqtt/scan.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace wavetap::sqtt {
namespace {

ScanResult plain(Generation generation, std::span<const std::byte> bytes, std::uint64_t start) {
    ScanResult result;
    TokenReader reader(generation, bytes, start);
    for (Token token; reader.next(token);) {
        ++result.by_type[static_cast<std::size_t>(token.type)];
        ++result.tokens;
    }
    result.end_bits = reader.offset_bits();
    return result;
}

std::vector<std::byte> bytes_of_kind(unsigned kind, std::size_t size) {
    std::vector<std::byte> bytes(size);
    std::uint64_t state = 88172645463325252ULL + kind;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        if (kind == 0 || (kind == 1 && state % 3 == 0))
            bytes[i] = static_cast<std::byte>(state >> 32);
        // A period that never falls into step: eight-byte tokens only.
        if (kind == 2) bytes[i] = static_cast<std::byte>(i % 8 == 0 ? 0x09 : 0x99);
        // Extension bytes without end.
        if (kind == 3) bytes[i] = static_cast<std::byte>(i % 40 == 0 ? 0x1C : 0x9D);
    }
    return bytes;
}

// Bytes of any kind: the walks side by side find the tokens that one walk finds, whether they fall
// into step or not.
TEST(Scan, WalksSideBySideFindTheTokensOfOneWalk) {
    for (const Generation generation : {Generation::kGfx9, Generation::kGfx10, Generation::kGfx11,
                                        Generation::kGfx12, Generation::kGfx1250}) {
        for (unsigned kind = 0; kind < 4; ++kind) {
            const std::vector<std::byte> bytes = bytes_of_kind(kind, 1'200'003 + kind);
            const std::uint64_t start = generation == Generation::kGfx9 ? 64 : 0;
            const ScanResult want = plain(generation, bytes, start);
            const ScanResult got = scan_tokens(generation, bytes, start);
            EXPECT_EQ(got.tokens, want.tokens) << generation_name(generation) << " " << kind;
            EXPECT_EQ(got.end_bits, want.end_bits) << generation_name(generation) << " " << kind;
            EXPECT_EQ(got.by_type, want.by_type) << generation_name(generation) << " " << kind;
        }
    }
}

// The tokens of each lane, their clocks and every count, as one walk has them.
TEST(Columns, AreThoseOfOneWalk) {
    for (const Generation generation :
         {Generation::kGfx10, Generation::kGfx11, Generation::kGfx12}) {
        for (unsigned kind = 0; kind < 4; ++kind) {
            const std::vector<std::byte> bytes = bytes_of_kind(kind, 100'003);
            const TokenColumns::Entry entry{12, kind == 3 && generation == Generation::kGfx12};
            TokenColumns columns;
            columns.read(generation, bytes, entry, 90'001 * 8);
            TokenColumns::Counts counts{};
            TokenReader reader(generation, bytes, entry.bits, entry.after_ext);
            Token token;
            std::uint64_t wrong = 0;
            std::uint32_t clocks = 0, before = 0; // of the segments before
            bool more = reader.next(token);
            for (const auto& segment : columns.segments()) {
                std::array<std::size_t, TokenColumns::kLanes> next{};
                const bool last = &segment == &columns.segments().back();
                while (more && token.offset_bits < columns.end().bits) {
                    const auto lane = lane_of(token.type);
                    const bool has = lane < TokenColumns::kLanes;
                    if (has && next[lane] == segment.lanes[lane].size() && !last) break;
                    clocks += token.delta;
                    ++counts[static_cast<std::size_t>(token.type)];
                    if (has) {
                        const bool there = next[lane] < segment.lanes[lane].size();
                        const auto item =
                            there ? segment.lanes[lane][next[lane]] : TokenColumns::Item{};
                        ++next[lane];
                        wrong +=
                            !there || item.type() != token.type || item.clocks + before != clocks ||
                            columns.origin_bits() + item.position() * 4ULL != token.offset_bits;
                    }
                    more = reader.next(token);
                }
                before += segment.clocks;
            }
            EXPECT_EQ(wrong, 0U) << generation_name(generation) << " " << kind;
            EXPECT_EQ(counts, columns.counts()) << generation_name(generation) << " " << kind;
            EXPECT_EQ(columns.end().bits, token.offset_bits);
        }
    }
}

TEST(Scan, StopsAtTheFirstTokenBehind) {
    std::vector<std::byte> bytes(64, std::byte{0});
    bytes[0] = std::byte{0x09}; // 64 bits
    const ScanResult result = scan_tokens(Generation::kGfx11, bytes, 0, 32);
    EXPECT_EQ(result.tokens, 1U);
    EXPECT_EQ(result.end_bits, 64U);
}

} // namespace
} // namespace wavetap::sqtt
