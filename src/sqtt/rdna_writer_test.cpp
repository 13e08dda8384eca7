// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "sqtt/rdna_writer.hpp"

#include <gtest/gtest.h>

#include <string>

namespace wavetap::sqtt {
namespace {

constexpr Generation kRdna[] = {Generation::kGfx10, Generation::kGfx11, Generation::kGfx12,
                                Generation::kGfx1250};

class VectorSink final : public TokenSink {
  public:
    bool write(std::span<const std::byte> bytes) override {
        EXPECT_LE(bytes.size(), kMaxTokenWrite);
        if (full) return false;
        data.insert(data.end(), bytes.begin(), bytes.end());
        return true;
    }
    std::vector<std::byte> data;
    bool full = false;
};

std::string hex(std::span<const std::byte> bytes) {
    std::string text;
    for (const std::byte byte : bytes) {
        static constexpr char kDigits[] = "0123456789abcdef";
        text += text.empty() ? "" : " ";
        text += kDigits[std::to_integer<unsigned>(byte) >> 4];
        text += kDigits[std::to_integer<unsigned>(byte) & 15];
    }
    return text;
}

struct Timed {
    TokenType type = TokenType::kUnknown;
    std::uint64_t time = 0;
    Token token;
};

std::vector<Timed> tokens_of(Generation generation, std::span<const std::byte> bytes) {
    std::vector<Timed> tokens;
    std::uint64_t time = 0;
    TokenReader reader(generation, bytes);
    for (Token token; reader.next(token);) {
        time += clocks_of(generation, token);
        if (token.type != TokenType::kNop) tokens.push_back({token.type, time, token});
    }
    return tokens;
}

// The hand-made vectors of the format notes.
TEST(RdnaWriter, WritesTheHandMadeVectorOfGfx11) {
    VectorSink sink;
    RdnaWriter writer(Generation::kGfx11, sink);
    ASSERT_TRUE(writer.header(0x68900191));
    ASSERT_TRUE(writer.reg_cs(600, 0xC, 0x10096));
    ASSERT_TRUE(writer.reg_cs(601, 0xD, 0x20));
    ASSERT_TRUE(writer.dispatch(700, 0x8045));
    ASSERT_TRUE(writer.wave_start(770, {}, 127));
    ASSERT_TRUE(writer.inst(1200, 0, 1));
    ASSERT_TRUE(writer.immediate(1201, 0));
    ASSERT_TRUE(writer.valu(1205, 0));
    ASSERT_TRUE(writer.inst(1220, 0, 0x13));
    ASSERT_TRUE(writer.wave_end(1500, {}));
    ASSERT_TRUE(writer.finish());
    EXPECT_EQ(hex(std::span(sink.data).first(64)),
              "91 01 90 68 00 00 00 00 01 80 25 00 00 00 09 82 0c 00 96 00 01 00 19 82 0d 00 20 "
              "00 00 00 d1 31 00 71 00 59 04 08 00 00 00 51 23 00 0c 00 80 fe 51 d7 00 02 20 00 "
              "1d 00 23 00 b8 02 60 02 51 8c");
    EXPECT_EQ(hex(std::span(sink.data).subspan(64, 4)), "00 15 00 00");
    EXPECT_EQ(sink.data.size(), 96U);
}

TEST(RdnaWriter, WritesTheHandMadeVectorOfGfx12) {
    VectorSink sink;
    RdnaWriter writer(Generation::kGfx12, sink);
    const RdnaWave wave{.sa = 0, .wgp = 0, .simd = 0, .slot = 3};
    ASSERT_TRUE(writer.header(0x0913100868700211));
    ASSERT_TRUE(writer.reg_cs(600, 0xC, 0x10096));
    ASSERT_TRUE(writer.reg_cs(601, 0xD, 0x20));
    ASSERT_TRUE(writer.dispatch(700, 0x8045));
    ASSERT_TRUE(writer.wave_start(770, wave, 127));
    ASSERT_TRUE(writer.inst(1200, 3, 1));
    ASSERT_TRUE(writer.immediate(1201, 3));
    ASSERT_TRUE(writer.valu(1205, 3));
    ASSERT_TRUE(writer.wave_ready(1210, 8));
    ASSERT_TRUE(writer.inst(1214, 3, 0x24));
    ASSERT_TRUE(writer.wave_end(1500, wave));
    EXPECT_EQ(hex(sink.data),
              "11 02 70 68 08 10 13 09 01 80 25 00 00 00 00 00 09 82 0c 00 96 00 01 00 19 82 0d 00 "
              "20 00 00 00 d1 31 00 71 00 59 04 08 00 00 00 51 23 00 0c 80 41 fe 51 d7 00 82 11 00 "
              "9d 01 a3 01 b4 08 00 a2 41 02 51 8f 00 15 80 01");
}

TEST(RdnaWriter, PicksTheCarrierOfAGapByItsLength) {
    using Pairs = std::vector<std::pair<TokenType, std::uint64_t>>;
    const auto carriers = [](Generation generation, std::uint64_t gap) {
        VectorSink sink;
        RdnaWriter writer(generation, sink, 1000);
        EXPECT_TRUE(writer.put(1000 + gap, TokenType::kReg, {}));
        Pairs out;
        for (const Timed& t : tokens_of(generation, sink.data))
            out.emplace_back(t.type, clocks_of(generation, t.token));
        return out;
    };
    using enum TokenType;
    for (const Generation generation :
         {Generation::kGfx10, Generation::kGfx11, Generation::kGfx12}) {
        EXPECT_EQ(carriers(generation, 0), (Pairs{{kReg, 0}}));
        EXPECT_EQ(carriers(generation, 7), (Pairs{{kReg, 7}}));
        EXPECT_EQ(carriers(generation, 8), (Pairs{{kTime, 8}, {kReg, 0}}));
        EXPECT_EQ(carriers(generation, 19), (Pairs{{kTime, 19}, {kReg, 0}}));
        EXPECT_EQ(carriers(generation, 20), (Pairs{{kMisc, 20}, {kReg, 0}}));
        EXPECT_EQ(carriers(generation, 511), (Pairs{{kMisc, 511}, {kReg, 0}}));
        EXPECT_EQ(carriers(generation, 512), (Pairs{{kTimestamp, 512}, {kReg, 0}}));
    }
    EXPECT_EQ(carriers(Generation::kGfx1250, 8), (Pairs{{kTime, 8}, {kReg, 0}}));
    EXPECT_EQ(carriers(Generation::kGfx1250, 16), (Pairs{{kTime, 16}, {kReg, 0}}));
    EXPECT_EQ(carriers(Generation::kGfx1250, 17), (Pairs{{kMediumTime, 17}, {kReg, 0}}));
    EXPECT_EQ(carriers(Generation::kGfx1250, 255), (Pairs{{kMediumTime, 255}, {kReg, 0}}));
    EXPECT_EQ(carriers(Generation::kGfx1250, 256), (Pairs{{kTimestamp, 256}, {kReg, 0}}));
    // More than a TIMESTAMP of gfx11 holds.
    const std::uint64_t most = (std::uint64_t{1} << 36) - 1;
    EXPECT_EQ(carriers(Generation::kGfx11, 2 * most + 600),
              (Pairs{{kTimestamp, most}, {kTimestamp, most}, {kTimestamp, 600}, {kReg, 0}}));
}

TEST(RdnaWriter, SamplesHaveNoDeltaOfTheirOwn) {
    for (const Generation generation : kRdna) {
        VectorSink sink;
        RdnaWriter writer(generation, sink);
        ASSERT_TRUE(writer.realtime(2, 4000));
        const auto tokens = tokens_of(generation, sink.data);
        ASSERT_EQ(tokens.size(), 2U);
        EXPECT_EQ(tokens[1].type, TokenType::kTimestamp);
        EXPECT_EQ(tokens[1].time, 2U);
        EXPECT_FALSE(is_filler_token(generation, tokens[1].token));
    }
}

// Every token with any fields at any clocks: what is read is what was written.
TEST(RdnaWriter, EveryTokenOfEveryGenerationIsReadBack) {
    for (const Generation generation : kRdna) {
        std::uint64_t state = 88172645463325252ULL;
        const auto next = [&state] {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            return state;
        };
        const auto rows = token_rows(generation);
        VectorSink sink;
        RdnaWriter writer(generation, sink);
        std::vector<Timed> want;
        std::uint64_t clock = 0;
        for (unsigned n = 0; n < 20'000; ++n) {
            static constexpr std::uint64_t kGaps[] = {0, 1,  2,  3,   4,   7,
                                                      8, 19, 20, 255, 600, 70'000};
            clock += kGaps[next() % std::size(kGaps)];
            const TokenRow& row = rows[next() % rows.size()];
            Token token;
            token.type = row.type;
            token.bits = {row.pattern, 0};
            for (const Field& field : row.fields)
                insert(token.bits, field.bits, next());
            if (row.type == TokenType::kHeader || is_filler_token(generation, token)) continue;
            if (row.type == TokenType::kTimestamp && clocks_of(generation, token) != 0) continue;
            const bool short_valu =
                generation == Generation::kGfx1250 && row.type == TokenType::kValu;
            if (short_valu && clock == writer.last_clock()) ++clock;
            ASSERT_TRUE(writer.put(clock, token)) << row.name;
            want.push_back({row.type, clock, token});
        }
        std::size_t at = 0;
        for (const Timed& got : tokens_of(generation, sink.data)) {
            if (is_filler_token(generation, got.token)) continue;
            ASSERT_LT(at, want.size());
            const TokenRow& row = *find_row(generation, want[at].type);
            ASSERT_EQ(got.type, want[at].type) << generation_name(generation) << " " << at;
            ASSERT_EQ(got.time, want[at].time) << row.name;
            if (generation == Generation::kGfx1250 && got.type == TokenType::kValu) {
                const BitRange bits = row.find(FieldId::kWaveTime).bits;
                ASSERT_EQ(kValuPlaces[got.token.field(bits)],
                          kValuPlaces[want[at].token.field(bits)]);
            } else {
                ASSERT_EQ(with_delta(row, got.token.bits, 0), want[at].token.bits) << row.name;
            }
            ++at;
        }
        EXPECT_EQ(at, want.size()) << generation_name(generation);
        EXPECT_GT(at, 15'000U);
    }
}

TEST(RdnaWriter, RefusesWhatTheGenerationLacks) {
    VectorSink sink;
    RdnaWriter writer(Generation::kGfx11, sink);
    const auto no_token = writer.put(0, TokenType::kPopcount1, {});
    ASSERT_FALSE(no_token);
    EXPECT_EQ(no_token.error().code, ErrorCode::kUnsupported);
    const auto no_field = writer.put(0, TokenType::kImm1, {{FieldId::kOp, 1}});
    ASSERT_FALSE(no_field);
    EXPECT_EQ(no_field.error().code, ErrorCode::kUnsupported);
    const auto too_wide = writer.inst(0, 32, 1);
    ASSERT_FALSE(too_wide);
    EXPECT_EQ(too_wide.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(too_wide.error().message.find("slot is 32"), std::string::npos);
    EXPECT_FALSE(writer.put(0, TokenType::kTime, {}));
    EXPECT_FALSE(writer.header(0x0913100868700211)); // of gfx12
    EXPECT_TRUE(sink.data.empty());
}

TEST(RdnaWriter, MarksTheLossOfTokensThatTheSinkRefused) {
    for (const Generation generation : kRdna) {
        VectorSink sink;
        RdnaWriter writer(generation, sink);
        ASSERT_TRUE(writer.wave_start(100, {}, 127));
        sink.full = true;
        const auto refused = writer.wave_end(200, {});
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, ErrorCode::kLimit);
        sink.full = false;
        sink.data.clear();
        ASSERT_TRUE(writer.wave_start(900, {}, 127));
        ASSERT_TRUE(writer.wave_end(901, {}));
        EXPECT_EQ(writer.dropped(), 1U);
        std::uint64_t time = 100;
        unsigned marks = 0;
        for (const Timed& t : tokens_of(generation, sink.data)) {
            const std::uint64_t at = time + t.time;
            if (t.type == TokenType::kWaveStart) {
                EXPECT_EQ(at, 900U) << generation_name(generation);
                EXPECT_EQ(marks, 1U) << generation_name(generation);
            }
            if (t.type == TokenType::kMisc || t.type == TokenType::kTimestamp)
                marks += is_filler_token(generation, t.token) ? 0 : 1;
        }
        EXPECT_EQ(marks, 1U) << generation_name(generation);
    }
}

// gfx10 and gfx11 stamp WAVERDY a clock late, so the other tokens of its clock come first.
TEST(RdnaWriter, ReadyWavesOfGfx11AreStampedAClockLater) {
    for (const Generation generation : kRdna) {
        VectorSink sink;
        RdnaWriter writer(generation, sink);
        ASSERT_TRUE(writer.wave_ready(10, 1));
        ASSERT_TRUE(writer.immediate(10, 2));
        ASSERT_TRUE(writer.wave_ready(10, 4));
        ASSERT_TRUE(writer.immediate(11, 3));
        ASSERT_TRUE(writer.wave_ready(11, 8));
        ASSERT_TRUE(writer.finish());
        std::string order;
        for (const Timed& t : tokens_of(generation, sink.data)) {
            if (is_filler_token(generation, t.token)) continue;
            order +=
                std::string(token_name(generation, t.type)) + "@" + std::to_string(t.time) + " ";
        }
        EXPECT_EQ(order, generation >= Generation::kGfx12
                             ? "WAVERDY@10 IMM1@10 WAVERDY@10 IMM1@11 WAVERDY@11 "
                             : "IMM1@10 WAVERDY@11 IMM1@11 WAVERDY@12 ");
    }
}

TEST(RdnaWriter, ATokenBehindAnExtendedStartIsNoExtension) {
    VectorSink sink;
    RdnaWriter writer(Generation::kGfx12, sink);
    ASSERT_TRUE(writer.put(5, TokenType::kWaveStartExt, {{FieldId::kSlot, 3}}));
    ASSERT_TRUE(writer.wave_end(5, {})); // its id has bit 0 set
    const auto tokens = tokens_of(Generation::kGfx12, sink.data);
    ASSERT_EQ(tokens.size(), 3U);
    EXPECT_EQ(tokens[1].type, TokenType::kWaveStartExt);
    EXPECT_EQ(tokens[2].type, TokenType::kWaveEnd);
}

TEST(RdnaWriter, ShortVectorTokensOfGfx1250NameSlotsUsedLast) {
    constexpr auto kGen = Generation::kGfx1250;
    VectorSink sink;
    RdnaWriter writer(kGen, sink);
    ASSERT_TRUE(writer.valu(10, 3)); // not listed yet
    ASSERT_TRUE(writer.valu(11, 3));
    ASSERT_TRUE(writer.valu(11, 5)); // no clock has passed
    ASSERT_TRUE(writer.valu(11, 3));
    ASSERT_TRUE(writer.valu(15, 5));
    ASSERT_TRUE(writer.valu(45, 3));
    std::string text;
    for (const Timed& t : tokens_of(kGen, sink.data)) {
        if (is_filler_token(kGen, t.token)) continue;
        text += std::string(token_name(kGen, t.type)) + "@" + std::to_string(t.time);
        if (t.type == TokenType::kValu)
            text += "/" + std::to_string(kValuPlaces[t.token.bits.low >> 4 & 15]);
        text += " ";
    }
    EXPECT_EQ(text, "INST@10 VALU@11/0 INST@11 INST@11 VALU@15/1 VALU@45/1 ");
}

TEST(RdnaWriter, BeatsAtTheGridWhileWavesOfTheTargetRun) {
    VectorSink sink;
    RdnaWriter writer(Generation::kGfx12, sink);
    ASSERT_TRUE(writer.header(0x0913100868700211));
    writer.set_heartbeat({256, 5, [](std::uint64_t clock) { return clock / 4 * 4; }});
    ASSERT_TRUE(writer.wave_start(1000, {.sa = 0, .wgp = 1, .simd = 0, .slot = 0}, 127));
    ASSERT_TRUE(writer.wave_start(2000, {}, 127)); // the first of the target
    ASSERT_TRUE(writer.wave_end(2600, {}));
    ASSERT_TRUE(writer.wave_end(4000, {.sa = 0, .wgp = 1, .simd = 0, .slot = 0}));
    std::string text;
    for (const Timed& t : tokens_of(Generation::kGfx12, sink.data)) {
        if (is_filler_token(Generation::kGfx12, t.token)) continue;
        text += std::string(token_name(Generation::kGfx12, t.type)) + "@" + std::to_string(t.time) +
                " ";
    }
    EXPECT_EQ(text, "HEADER@0 WSTART@1000 WSTART@2000 TIMESTAMP@2053 TIMESTAMP@2309 "
                    "TIMESTAMP@2565 WEND@2600 WEND@4000 ");
}

} // namespace
} // namespace wavetap::sqtt
