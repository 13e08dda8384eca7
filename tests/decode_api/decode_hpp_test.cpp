// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include <wavetap/decode.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <stdexcept>

// The C++ interface, on the hand-made trace of decode_client.c: gfx11, a dispatch at 700, one wave of
// 770 to 1500 with five instructions.

namespace {

constexpr std::array<unsigned char, 96> kTrace{
    0x91, 0x01, 0x90, 0x68, 0x00, 0x00, 0x00, 0x00, 0x01, 0x80, 0x25, 0x00, 0x00, 0x00,
    0x09, 0x82, 0x0c, 0x00, 0x96, 0x00, 0x01, 0x00, 0x19, 0x82, 0x0d, 0x00, 0x20, 0x00,
    0x00, 0x00, 0xd1, 0x31, 0x00, 0x71, 0x00, 0x59, 0x04, 0x08, 0x00, 0x00, 0x00, 0x51,
    0x23, 0x00, 0x0c, 0x00, 0x80, 0xfe, 0x51, 0xd7, 0x00, 0x02, 0x20, 0x00, 0x1d, 0x00,
    0x23, 0x00, 0xb8, 0x02, 0x60, 0x02, 0x51, 0x8c, 0x00, 0x15, 0x00};

std::span<const std::byte> trace() {
    return std::as_bytes(std::span(kTrace));
}

wavetap::Decoder make(const std::string& gfx = "gfx1100") {
    auto decoder = wavetap::Decoder::create(gfx);
    EXPECT_TRUE(decoder);
    return *std::move(decoder);
}

struct Everything {
    void wave(const wavetap_wave& wave) {
        ++waves;
        instruction_count += wavetap::instructions(wave).size();
        for (const wavetap_timeline_piece& piece : wavetap::timeline(wave))
            lived += piece.clocks;
        start = wave.start;
        end = wave.end;
        without_pc += wave.without_pc;
        EXPECT_EQ(wave.with_pc, 0U) << "there is no code";
    }
    void dispatch(const wavetap_dispatch& dispatch) { dispatches.push_back(dispatch.time); }
    void event(const wavetap_event&) { ++events; }
    void realtime(std::uint64_t, std::uint64_t) { ++samples; }
    void diagnostic(const wavetap_diagnostic& fault) {
        faults.emplace_back(fault.kind);
        EXPECT_TRUE(std::string(fault.sentence).ends_with('.'));
        EXPECT_TRUE(std::string(fault.advice).ends_with('.'));
        EXPECT_NE(std::string(fault.sentence), fault.advice);
        EXPECT_LE(fault.first_time, 1500U);
        EXPECT_EQ(totals_seen, 1U) << "diagnostics come last";
    }
    void token(const wavetap_token& token) {
        ++tokens;
        const auto all = wavetap::fields(token);
        if (std::string(token.name) == "WEND") {
            EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const wavetap_token_field& field) {
                return std::string(field.name) == "slot" && field.value == 0;
            }));
        }
    }
    void occupancy(const wavetap_occupancy& each) { occupancies.push_back(each.time); }
    void totals(const wavetap_totals& totals) {
        ++totals_seen;
        EXPECT_EQ(totals.tokens, tokens);
        EXPECT_EQ(totals.last_time, 1500U);
        EXPECT_EQ(totals.instructions, instruction_count);
    }

    unsigned waves = 0, events = 0, samples = 0;
    std::size_t instruction_count = 0;
    unsigned totals_seen = 0;
    std::uint64_t lived = 0, start = 0, end = 0, tokens = 0, without_pc = 0;
    std::vector<std::uint64_t> dispatches, occupancies;
    std::vector<std::string> faults;
};

void expect_whole(const Everything& seen) {
    EXPECT_EQ(seen.waves, 1U);
    EXPECT_EQ(seen.instruction_count, 5U);
    EXPECT_EQ(seen.start, 770U);
    EXPECT_EQ(seen.end, 1500U);
    EXPECT_GT(seen.lived, 0U);
    EXPECT_EQ(seen.dispatches, std::vector<std::uint64_t>{700});
    EXPECT_EQ(seen.without_pc, 5U);
    EXPECT_EQ(seen.occupancies, (std::vector<std::uint64_t>{770, 1500}));
    EXPECT_EQ(seen.totals_seen, 1U);
    EXPECT_EQ(seen.faults, std::vector<std::string>{"no-code-object"});
}

TEST(DecodeHpp, VisitorsGetEveryKindOfRecord) {
    wavetap::Decoder decoder = make();
    Everything seen;
    ASSERT_TRUE(decoder.decode(trace(), seen));
    expect_whole(seen);
    wavetap::Decoder moved = std::move(decoder);
    Everything again;
    ASSERT_TRUE(moved.decode(trace(), again));
    expect_whole(again);
    const auto gone = decoder.decode(trace(), again);
    ASSERT_FALSE(gone);
    EXPECT_EQ(gone.error().status, WAVETAP_STATUS_INVALID_ARGUMENT);
}

TEST(DecodeHpp, VisitorsMayLackMembersAndFunctionsMayBeEmpty) {
    wavetap::Decoder decoder = make();
    struct {
        void dispatch(const wavetap_dispatch&) { ++count; }
        unsigned count = 0;
    } one;
    ASSERT_TRUE(decoder.decode(trace(), one));
    EXPECT_EQ(one.count, 1U);
    std::size_t waves = 0;
    ASSERT_TRUE(decoder.decode(
        trace(), wavetap::DecodeFunctions{.wave = [&](const wavetap_wave&) { ++waves; }}));
    EXPECT_EQ(waves, 1U);
    ASSERT_TRUE(decoder.decode(trace(), wavetap::DecodeFunctions{}));
    std::size_t tokens = 0;
    ASSERT_TRUE(decoder.decode(
        trace(), wavetap::DecodeFunctions{.token = [&](const wavetap_token&) { ++tokens; }}));
    EXPECT_GT(tokens, 20U);
}

TEST(DecodeHpp, ExceptionsOfAVisitorPassAroundTheLibrary) {
    wavetap::Decoder decoder = make();
    unsigned calls = 0;
    const wavetap::DecodeFunctions throwing{
        .wave =
            [&](const wavetap_wave&) {
                ++calls;
                throw std::runtime_error("of the client");
            },
        .diagnostic = [&](const wavetap_diagnostic&) { ++calls; }};
    try {
        (void)decoder.decode(trace(), throwing);
        FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "of the client");
    }
    EXPECT_EQ(calls, 1U) << "no record comes behind the exception";
    Everything seen;
    ASSERT_TRUE(decoder.decode(trace(), seen)) << "the decoder works on";
    expect_whole(seen);
    auto stream = decoder.stream(throwing);
    ASSERT_TRUE(stream);
    ASSERT_TRUE(stream->feed(trace()));
    EXPECT_THROW((void)stream->finish(), std::runtime_error);
}

TEST(DecodeHpp, StreamsTakePiecesOfAnySize) {
    wavetap::Decoder decoder = make();
    for (std::size_t step = 1; step < 100; step += 13) {
        Everything seen;
        auto made = decoder.stream(seen);
        ASSERT_TRUE(made);
        auto stream = *std::move(made);
        ASSERT_TRUE(stream.feed({}));
        for (std::size_t at = 0; at < trace().size(); at += step)
            ASSERT_TRUE(stream.feed(trace().subspan(at, std::min(step, trace().size() - at))));
        ASSERT_TRUE(stream.finish());
        expect_whole(seen);
        const auto late = stream.feed(trace());
        ASSERT_FALSE(late);
        EXPECT_EQ(late.error().status, WAVETAP_STATUS_WRONG_STATE);
    }
    Everything chunks;
    auto stream = decoder.stream(chunks);
    ASSERT_TRUE(stream);
    ASSERT_TRUE(stream->feed_chunk(trace().first(40), 0));
    ASSERT_TRUE(stream->feed_chunk(trace().subspan(40), 4));
    const auto beyond = stream->feed_chunk(trace().first(4), 6);
    ASSERT_FALSE(beyond);
    EXPECT_EQ(beyond.error().status, WAVETAP_STATUS_INVALID_ARGUMENT);
    ASSERT_TRUE(stream->finish());
    expect_whole(chunks);
    Everything nothing;
    auto empty = decoder.stream(nothing);
    ASSERT_TRUE(empty);
    const auto ended = empty->finish();
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().status, WAVETAP_STATUS_CORRUPT);
}

TEST(DecodeHpp, AMissingChunkIsToldAndOnlyItsTokensAreMissing) {
    wavetap::Decoder decoder = make();
    Everything seen;
    auto stream = decoder.stream(seen);
    ASSERT_TRUE(stream);
    ASSERT_TRUE(stream->feed_chunk(trace().first(60), 0)) << "cuts an instruction in byte 59";
    ASSERT_TRUE(stream->feed_chunk(trace().subspan(60), 2, true)) << "as if others lay between";
    ASSERT_TRUE(stream->finish());
    EXPECT_EQ(seen.waves, 1U);
    EXPECT_EQ(seen.instruction_count, 4U);
    EXPECT_EQ(seen.end, 1500U);
    EXPECT_EQ(seen.events, 1U);
    EXPECT_EQ(seen.faults,
              (std::vector<std::string>{"packets-lost", "cut-token", "no-code-object"}));
}

TEST(DecodeHpp, ScansAndCutsGiveTheDispatch) {
    auto scanner = wavetap::Scanner::create();
    ASSERT_TRUE(scanner);
    Everything seen;
    for (std::size_t at = 0; at < trace().size(); at += 10)
        ASSERT_TRUE(scanner->feed(
            trace().subspan(at, std::min<std::size_t>(10, trace().size() - at)), seen));
    EXPECT_EQ(seen.dispatches, std::vector<std::uint64_t>{700});
    const auto piece = wavetap::cut_dispatch(trace(), 0);
    ASSERT_TRUE(piece);
    Everything cut;
    ASSERT_TRUE(make().decode(*piece, cut));
    expect_whole(cut);
    const auto window = wavetap::cut_window(trace(), 0, 5000);
    ASSERT_TRUE(window);
    const auto none = wavetap::cut_dispatch(trace(), 1);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().status, WAVETAP_STATUS_NOT_FOUND);
    EXPECT_FALSE(none.error().message.empty());
}

TEST(DecodeHpp, ErrorsAreValuesWithWords) {
    const auto unknown = wavetap::Decoder::create("gfx9999");
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().status, WAVETAP_STATUS_UNSUPPORTED);
    EXPECT_NE(unknown.error().message.find("gfx9999"), std::string::npos);
    wavetap::Decoder decoder = make("");
    const auto bad = decoder.load_code(1, 0, trace());
    ASSERT_FALSE(bad);
    EXPECT_FALSE(bad.error().message.empty());
    const auto unloaded = decoder.unload_code(1);
    ASSERT_FALSE(unloaded);
    EXPECT_EQ(unloaded.error().status, WAVETAP_STATUS_NOT_FOUND);
    const auto text = decoder.text(1, 0);
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().status, WAVETAP_STATUS_NOT_FOUND);
    Everything seen;
    const auto short_blob = decoder.decode(trace().first(4), seen);
    ASSERT_FALSE(short_blob);
    EXPECT_EQ(short_blob.error().status, WAVETAP_STATUS_CORRUPT);
    EXPECT_EQ(seen.waves, 0U);
}

} // namespace
