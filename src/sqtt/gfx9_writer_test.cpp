// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "sqtt/gfx9_writer.hpp"
#include "sqtt/reader.hpp"
#include "sqtt/test_data.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace wavetap::sqtt {
namespace {

class VectorSink final : public TokenSink {
  public:
    bool write(std::span<const std::byte> bytes) override {
        if (full) return false;
        data.insert(data.end(), bytes.begin(), bytes.end());
        return true;
    }
    std::vector<std::byte> data;
    bool full = false;
};

std::vector<std::byte> from_hex(const std::string& text) {
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i + 1 < text.size();) {
        if (text[i] == ' ') {
            ++i;
            continue;
        }
        bytes.push_back(static_cast<std::byte>(std::stoi(text.substr(i, 2), nullptr, 16)));
        i += 2;
    }
    return bytes;
}

std::vector<Token> tokens_of(std::span<const std::byte> bytes, std::uint64_t start = 0) {
    std::vector<Token> tokens;
    TokenReader reader(Generation::kGfx9, bytes, start);
    for (Token token; reader.next(token);)
        tokens.push_back(token);
    return tokens;
}

// The hand-made vector of the format notes; its header names all SIMDs of CU 0.
TEST(Gfx9Writer, WritesTheHandMadeVector) {
    VectorSink sink;
    Gfx9Writer writer(sink);
    const std::uint64_t base = 1'000'000;
    ASSERT_TRUE(writer.begin(base));
    ASSERT_TRUE(writer.reg_cs(base, 0xC, 0x20096));
    ASSERT_TRUE(writer.reg_cs(base, 0xD, 0x20));
    ASSERT_TRUE(writer.reg_cs(base, 0, 0x825));
    ASSERT_TRUE(writer.wave_start(base + 40, {.wave = {}, .count = 64}));
    std::array<Gfx9Issue, kGfx9SlotsPerIssue> states{};
    states[0] = Gfx9Issue::kInstruction;
    ASSERT_TRUE(writer.issue(base + 440, 0, states));
    ASSERT_TRUE(writer.inst(base + 444, 0, 0, Gfx9Inst::kSmemRead));
    states[0] = Gfx9Issue::kImmediate;
    ASSERT_TRUE(writer.issue(base + 448, 0, states));
    states[0] = Gfx9Issue::kInstruction;
    ASSERT_TRUE(writer.issue(base + 528, 0, states));
    ASSERT_TRUE(writer.inst(base + 532, 0, 0, Gfx9Inst::kMessage));
    ASSERT_TRUE(writer.wave_end(base + 652, {}));
    const auto want =
        from_hex("f0 2f 01 00 40 42 0f 00 00 00 8f 18 96 00 02 00 8f 1a 20 00 00 00 "
                 "8f 00 25 08 00 00 a0 00 03 00 00 10 40 06 0d 02 00 00 1a 00 1d 03 00 00 "
                 "40 01 0d 02 00 00 1a 78 e0 01 06 00");
    EXPECT_EQ(sink.data, want);
    EXPECT_EQ(writer.tokens(), 16U);
    EXPECT_EQ(writer.dropped(), 0U);
}

TEST(Gfx9Writer, RegisterTokensOfTheFirstMicroEngineMatchTheVector) {
    VectorSink sink;
    Gfx9Writer writer(sink);
    writer.begin(0);
    sink.data.clear();
    writer.reg_cs(0, 0xC, 0x20096, 0);
    EXPECT_EQ(sink.data, from_hex("8f 18 96 00 02 00"));
}

TEST(Gfx9Writer, BeginsByItselfWithAnAbsoluteTimestamp) {
    VectorSink sink;
    Gfx9Writer writer(sink);
    ASSERT_TRUE(writer.wave_end(0x123456789ABCULL, {}));
    const auto tokens = tokens_of(sink.data);
    ASSERT_EQ(tokens.size(), 3U);
    EXPECT_EQ(tokens[0].type, TokenType::kMisc);
    EXPECT_EQ(tokens[0].delta, kGfx9MaxDelta);
    EXPECT_EQ(tokens[1].type, TokenType::kTimestamp);
    EXPECT_EQ(tokens[1].bits.low >> 16, 0x123456789ABCULL);
    EXPECT_EQ(tokens[2].type, TokenType::kWaveEnd);
}

TEST(Gfx9Writer, PicksTheCarrierOfAGapByItsLength) {
    const auto types_after = [](std::uint64_t gap) {
        VectorSink sink;
        Gfx9Writer writer(sink);
        writer.begin(4000);
        sink.data.clear();
        writer.wave_end(4000 + gap, {});
        std::vector<std::pair<TokenType, unsigned>> out;
        for (const Token& token : tokens_of(sink.data))
            out.emplace_back(token.type, token.delta);
        return out;
    };
    using Pairs = std::vector<std::pair<TokenType, unsigned>>;
    EXPECT_EQ(types_after(0), (Pairs{{TokenType::kWaveEnd, 0}}));
    EXPECT_EQ(types_after(4), (Pairs{{TokenType::kWaveEnd, 1}}));
    EXPECT_EQ(types_after(7), (Pairs{{TokenType::kWaveEnd, 1}}));
    EXPECT_EQ(types_after(8), (Pairs{{TokenType::kMisc, 2}, {TokenType::kWaveEnd, 0}}));
    EXPECT_EQ(types_after(254 * 4), (Pairs{{TokenType::kMisc, 254}, {TokenType::kWaveEnd, 0}}));
    EXPECT_EQ(
        types_after(255 * 4),
        (Pairs{{TokenType::kMisc, 255}, {TokenType::kTimestamp, 0}, {TokenType::kWaveEnd, 0}}));
}

TEST(Gfx9Writer, OlderClocksCountAsTheLast) {
    VectorSink sink;
    Gfx9Writer writer(sink);
    writer.begin(4000);
    EXPECT_TRUE(writer.wave_end(3000, {}));
    EXPECT_EQ(writer.last_clock(), 4000U);
}

TEST(Gfx9Writer, ReportsTokensThatTheSinkRefused) {
    VectorSink sink;
    Gfx9Writer writer(sink);
    writer.begin(4000);
    sink.full = true;
    EXPECT_FALSE(writer.wave_end(4004, {}));
    EXPECT_FALSE(writer.wave_end(4400, {}));
    EXPECT_EQ(writer.dropped(), 2U);
    sink.full = false;
    sink.data.clear();
    EXPECT_TRUE(writer.wave_end(4800, {}));
    EXPECT_TRUE(writer.wave_end(4804, {}));
    const auto tokens = tokens_of(sink.data);
    ASSERT_EQ(tokens.size(), 4U);
    EXPECT_EQ(tokens[0].delta, 200U); // the whole gap since the last token that was written
    EXPECT_EQ(tokens[1].type, TokenType::kMisc);
    EXPECT_EQ(tokens[1].bits.low >> 13, static_cast<unsigned>(Gfx9Misc::kPacketLost));
    EXPECT_EQ(tokens[2].type, TokenType::kWaveEnd);
    EXPECT_EQ(tokens[3].type, TokenType::kWaveEnd);
}

// Takes each token apart by its row and puts the fields together again.
TokenBits rebuild(const Token& token, const TokenRow& row) {
    TokenBits bits{row.pattern, 0};
    insert(bits, row.delta, token.delta - row.delta_bias);
    for (const Field& field : row.fields)
        insert(bits, field.bits, extract(token.bits, field.bits));
    return bits;
}

TEST(Gfx9Table, RealTracesAreRebuiltByteForByte) {
    const auto files = test::trace_files("gfx950", ".att");
    WAVETAP_NEED_DATA(files);
    for (const auto& path : files) {
        const auto bytes = test::read_bytes(path);
        std::vector<std::byte> out(bytes.begin(), bytes.begin() + 8);
        TokenReader reader(Generation::kGfx9, bytes, 64);
        for (Token token; reader.next(token);) {
            const TokenRow* row = find_row(Generation::kGfx9, token.type);
            ASSERT_NE(row, nullptr) << path;
            const TokenBits bits = rebuild(token, *row);
            ASSERT_EQ(bits, token.bits) << path << " bit " << token.offset_bits;
            for (unsigned bit = 0; bit < token.size_bits; bit += 8)
                out.push_back(static_cast<std::byte>(bits.low >> bit & 0xFF));
        }
        EXPECT_FALSE(reader.truncated()) << path;
        EXPECT_EQ(out, bytes) << path;
    }
    RecordProperty("blobs", static_cast<int>(files.size()));
}

struct Timed {
    std::uint64_t clock = 0; ///< absolute
    Token token;
};

/// What is not time, with absolute clocks.
std::vector<Timed> payload_of(std::span<const std::byte> bytes, std::uint64_t start) {
    const auto misc = [](const Token& token) {
        return static_cast<Gfx9Misc>(token.bits.low >> 13);
    };
    std::vector<Timed> out;
    const auto tokens = tokens_of(bytes, start);
    std::vector<bool> claimed(tokens.size());
    std::uint64_t time = 0, base = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const Token& token = tokens[i];
        time += std::uint64_t{token.delta} * kGfx9ClocksPerUnit;
        if (token.type == TokenType::kMisc && misc(token) == Gfx9Misc::kTimeReset) {
            std::size_t stamp = i + 1;
            while (stamp < tokens.size() && tokens[stamp].type != TokenType::kTimestamp)
                ++stamp;
            EXPECT_LT(stamp, tokens.size()); // real traces have one for each reset
            if (stamp == tokens.size()) break;
            const std::uint64_t value = tokens[stamp].bits.low >> 16;
            if (base == 0) base = value - time + kGfx9ClocksPerUnit;
            time = (value - base) & ~std::uint64_t{kGfx9ClocksPerUnit - 1};
            continue;
        }
        if (token.type == TokenType::kTimestamp) continue;
        if (token.type == TokenType::kMisc && misc(token) == Gfx9Misc::kTime) continue;
        out.push_back({time + base, token});
    }
    for (Timed& timed : out) {
        if (timed.clock < base) timed.clock += base; // before the first reset
    }
    return out;
}

TEST(Gfx9Writer, RealTracesWrittenByTheRulesAreTheSameTokens) {
    const auto files = test::trace_files("gfx950", ".att");
    WAVETAP_NEED_DATA(files);
    std::size_t tokens = 0;
    for (const auto& path : files) {
        const auto payload = payload_of(test::read_bytes(path), 64);
        VectorSink sink;
        Gfx9Writer writer(sink);
        for (const Timed& timed : payload)
            ASSERT_TRUE(writer.put(timed.clock, timed.token));
        const auto again = payload_of(sink.data, 0);
        ASSERT_EQ(again.size(), payload.size()) << path;
        const std::uint64_t cut = payload.empty() ? 0 : payload[0].clock % kGfx9ClocksPerUnit;
        for (std::size_t i = 0; i < payload.size(); ++i) {
            const std::uint64_t delta_bit = 16;
            ASSERT_EQ(again[i].token.bits.low & ~delta_bit, payload[i].token.bits.low & ~delta_bit);
            ASSERT_EQ(again[i].clock, payload[i].clock - cut) << path << " token " << i;
        }
        tokens += payload.size();
    }
    EXPECT_GT(tokens, 1000U);
}

TEST(TokenReader, StopsBeforeACutToken) {
    const auto bytes = from_hex("0f 18 96 00 02");
    TokenReader reader(Generation::kGfx9, bytes);
    Token token;
    EXPECT_FALSE(reader.next(token));
    EXPECT_TRUE(reader.truncated());
    EXPECT_EQ(reader.offset_bits(), 0U);
}

TEST(TokenReader, EmptyAndOddInputsEnd) {
    Token token;
    TokenReader empty(Generation::kGfx9, {});
    EXPECT_FALSE(empty.next(token));
    EXPECT_FALSE(empty.truncated());
    const auto odd = from_hex("00 00 00");
    TokenReader reader(Generation::kGfx9, odd);
    EXPECT_TRUE(reader.next(token));
    EXPECT_FALSE(reader.next(token));
    EXPECT_TRUE(reader.truncated());
}

} // namespace
} // namespace wavetap::sqtt
