// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/long_trace.hpp"
#include "decode/mutate_for_test.hpp"
#include "decode/stream_ways_for_test.hpp"
#include "decode/written_for_test.hpp"
#include "sqtt/reader.hpp"

#include <gmock/gmock.h>

// One stream, decoded whole, in pieces and by several threads: the same records.

namespace wavetap::decode {
namespace {

using test_ways::Bytes;
using test_ways::decode_so;
using test_ways::expect_same;
using test_ways::files_of;
using test_ways::nothing_yet;
using test_ways::options_of;
using test_ways::Outcome;
using test_ways::Subject;
using test_ways::subject_of;
using test_ways::text_of;
using test_ways::TextSink;
using test_ways::Way;

constexpr Way kWays[] = {{1, 1, 0},    {1, 7, 0},    {1, 333, 0},  {2, 2, 0},   {2, 61, 0},
                         {2, 1000, 0}, {3, 5, 0},    {3, 127, 0},  {3, 511, 0}, {8, 17, 0},
                         {8, 64, 0},   {8, 1023, 0}, {1, 0, 1},    {1, 0, 7},   {1, 50, 1000},
                         {2, 33, 501}, {3, 100, 64}, {8, 13, 2047}};

/// Of the blobs of one chip. ThreadSanitizer looks at the threads, for which some are enough; the
/// records of all are compared by every other build.
#ifdef __SANITIZE_THREAD__
constexpr std::size_t kEveryNthBlob = 3;
constexpr std::size_t kLongWays = 3;
#else
constexpr std::size_t kEveryNthBlob = 1;
constexpr std::size_t kLongWays = 7;
#endif

class EveryWay : public testing::TestWithParam<const char*> {};

TEST_P(EveryWay, OfCuttingABlobGivesTheSameRecords) {
    const auto files = files_of(GetParam());
    WAVETAP_NEED_DATA(files);
    std::uint64_t waves = 0;
    for (std::size_t i = 0; i < files.size(); i += kEveryNthBlob) {
        const auto& path = files[i];
        Subject subject = subject_of(path);
        if (std::string(GetParam()) != "synthetic") {
            ASSERT_TRUE(subject.source) << path;
        }
        const Outcome want = decode_so(subject, {});
        waves += want.sink->count;
        for (const Way way : kWays)
            expect_same(subject, want, way);
    }
    EXPECT_GT(waves, 0U);
}

INSTANTIATE_TEST_SUITE_P(Blobs, EveryWay,
                         testing::Values("gfx950", "gfx1100", "gfx1200", "synthetic"),
                         [](const auto& param) { return std::string(param.param); });

struct Body {
    const char* arch;
    sqtt::Generation generation;
    bool only_target = false;
};
constexpr Body kBodies[] = {{"gfx950", sqtt::Generation::kGfx9},
                            {"gfx1100", sqtt::Generation::kGfx11},
                            {"gfx1200", sqtt::Generation::kGfx12},
                            {"gfx1100", sqtt::Generation::kGfx11, true},
                            {"gfx1200", sqtt::Generation::kGfx12, true}};

class Long : public testing::TestWithParam<Body> {
  protected:
    std::filesystem::path path() const {
        return test::data_folder() / "traces" / GetParam().arch / "gemm_0" / "se0.att";
    }
};

// Long enough that several walks go side by side in each part. Damage in the middle, so that
// guessed entries are wrong there and faults are counted.
TEST_P(Long, TracesGiveTheSameRecordsEveryWay) {
    std::vector<std::filesystem::path> files;
    if (std::filesystem::exists(path())) files.push_back(path());
    WAVETAP_NEED_DATA(files);
    Subject subject = subject_of(path());
    const LongTrace trace(GetParam().generation, subject.bytes, GetParam().only_target);
    subject.bytes = trace.make(1'500'000);
    const Outcome sound = decode_so(subject, {});
    EXPECT_GT(sound.sink->count, 1000U);
    static constexpr Way kSound[] = {Way{2, 0, 0},       Way{3, 0, 0},      Way{8, 0, 0},
                                     Way{1, 100'003, 0}, Way{2, 40'001, 0}, Way{3, 9'999, 300'001},
                                     Way{8, 20'000, 0}};
    for (const Way way : std::span(kSound).first(kLongWays))
        expect_same(subject, sound, way);
    test::Random random(1);
    for (std::size_t i = 700'000; i < 760'000; ++i) {
        const std::uint64_t number = random.next();
        if (i < 720'000 || i % 1000 == 0) subject.bytes[i] = static_cast<std::byte>(number >> 32);
        if (i > 730'000 && i < 740'000) subject.bytes[i] = static_cast<std::byte>(i % 8 ? 0x99 : 9);
    }
    const Outcome damaged = decode_so(subject, {});
    EXPECT_NE(damaged.diagnostics, sound.diagnostics);
    static constexpr Way kDamaged[] = {Way{2, 0, 0},       Way{3, 0, 0},     Way{8, 0, 0},
                                       Way{1, 100'003, 0}, Way{2, 4'001, 0}, Way{3, 9'999, 300'001},
                                       Way{8, 1'000, 0}};
    for (const Way way : std::span(kDamaged).first(kLongWays))
        expect_same(subject, damaged, way);
}

INSTANTIATE_TEST_SUITE_P(Bodies, Long, testing::ValuesIn(kBodies), [](const auto& param) {
    return std::string(param.param.arch) + (param.param.only_target ? "_long_waves" : "");
});

/// Where the tokens of a subject begin, in bytes; those that begin between two bytes are left out.
std::vector<std::size_t> token_starts(const Bytes& bytes, sqtt::Generation generation) {
    std::vector<std::size_t> starts;
    sqtt::TokenReader reader(generation, bytes, generation == sqtt::Generation::kGfx9 ? 64 : 0);
    for (sqtt::Token token; reader.next(token);)
        if (token.offset_bits % 8 == 0)
            starts.push_back(static_cast<std::size_t>(token.offset_bits / 8));
    return starts;
}
std::filesystem::path largest(const std::vector<std::filesystem::path>& files) {
    return *std::max_element(files.begin(), files.end(), [](const auto& a, const auto& b) {
        return std::filesystem::file_size(a) < std::filesystem::file_size(b);
    });
}
std::size_t next_start(const std::vector<std::size_t>& starts, std::size_t at) {
    return *std::lower_bound(starts.begin(), starts.end(), at);
}
std::span<const std::byte> between(const Bytes& bytes, std::size_t begin, std::size_t end) {
    return std::span(bytes).subspan(begin, end - begin);
}

TEST(Stream, ATokenThatTwoChunksShareIsWhole) {
    const auto files = test::trace_files("gfx950", ".att");
    WAVETAP_NEED_DATA(files);
    Subject subject = subject_of(largest(files));
    const Outcome want = decode_so(subject, {});
    const auto starts = token_starts(subject.bytes, sqtt::Generation::kGfx9);
    CodeMap code(subject.source.get(), subject.objects);
    TextSink sink(code);
    Diagnostics diagnostics;
    StreamDecoder decoder({}, code, sink, diagnostics);
    EXPECT_TRUE(decoder.feed_chunk(between(subject.bytes, 0, 8), 0));
    ASSERT_NE(decoder.header(), nullptr);
    EXPECT_EQ(decoder.header()->generation, sqtt::Generation::kGfx9);
    std::size_t cut = 0;
    for (std::size_t at = 8; at < starts.back();) {
        const std::size_t end = std::min(at + 54, subject.bytes.size());
        const std::size_t offset = next_start(starts, at) - at;
        cut += offset != 0 ? 1 : 0;
        const auto chunk = between(subject.bytes, at, end);
        ASSERT_TRUE(decoder.feed_chunk(Bytes(chunk.begin(), chunk.end()), offset));
        at = end;
    }
    EXPECT_GT(cut, 10U);
    EXPECT_EQ(decoder.bytes(), subject.bytes.size());
    const auto refused = decoder.feed_chunk(between(subject.bytes, 0, 4), 6);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    const auto totals = decoder.finish();
    ASSERT_TRUE(totals);
    EXPECT_EQ(text_of(*totals), want.totals);
    EXPECT_EQ(text_of(diagnostics), want.diagnostics);
    EXPECT_TRUE(sink == *want.sink) << sink.difference(*want.sink);
}

/// How a missing chunk is told to a decoder.
enum class Gap { kMissing, kNewSegment };

/// A stream of which `bytes` came and then what is behind the gap: `rest`, in a chunk that begins with
/// four bytes of another token, or in a segment of its own.
Outcome decode_with_gap(Subject& subject, Way way, Gap gap, const Bytes& bytes, const Bytes& rest) {
    Outcome out = nothing_yet(subject);
    Diagnostics diagnostics;
    const StreamOptions options = options_of(way);
    StreamDecoder decoder(options, *out.code, *out.sink, diagnostics);
    EXPECT_TRUE(decoder.feed_chunk(bytes, 0));
    if (gap == Gap::kMissing) {
        Bytes chunk(4, std::byte{0xEE});
        chunk.insert(chunk.end(), rest.begin(), rest.end());
        EXPECT_TRUE(decoder.feed_chunk(chunk, 4, true));
    } else {
        Bytes header(bytes.begin(), bytes.begin() + 8);
        header.resize(32);
        EXPECT_TRUE(decoder.feed_chunk(header, 0));
        EXPECT_TRUE(decoder.feed_chunk(rest, 0));
    }
    EXPECT_EQ(decoder.bytes(), bytes.size() + rest.size());
    const auto totals = decoder.finish();
    EXPECT_TRUE(totals);
    if (totals) {
        EXPECT_EQ(totals->cut_tokens, diagnostics.count(Fault::kCutToken));
    }
    out.diagnostics = text_of(diagnostics);
    return out;
}

/// Without the line of that kind, which is put into `line`.
std::string without(const std::string& kind, const std::string& diagnostics, std::string& line) {
    const std::size_t at = diagnostics.find(kind + " ");
    if (at == std::string::npos) return diagnostics;
    const std::size_t end = diagnostics.find('\n', at) + 1;
    line = diagnostics.substr(at, end - at);
    return diagnostics.substr(0, at) + diagnostics.substr(end);
}

/// The token with which the trace unit itself says that it lost some.
Bytes loss_token(sqtt::Generation generation) {
    if (generation == sqtt::Generation::kGfx9) return {std::byte{0}, std::byte{2 << 5}};
    const sqtt::TokenRow& row = *sqtt::find_row(generation, sqtt::TokenType::kTimestamp);
    const std::uint64_t bits = row.pattern | std::uint64_t{1}
                                                 << row.find(sqtt::FieldId::kPacketsLost).bits.lo;
    Bytes token(sizeof bits);
    std::memcpy(token.data(), &bits, sizeof bits);
    return token;
}

// A missing chunk is as a loss of the trace unit in the place of the token that was cut, of which two
// bytes came. Padding behind it makes both equally long, so that everything is in the same place, too.
TEST(Stream, BehindAMissingChunkTokensBeginAtTheReadOffset) {
    for (const char* arch : {"gfx950", "gfx1100", "gfx1200"}) {
        const auto files = test::trace_files(arch, ".att");
        WAVETAP_NEED_DATA(files);
        Subject subject = subject_of(largest(files));
        const auto generation = StreamDecoder::read_header(subject.bytes)->generation;
        const auto starts = token_starts(subject.bytes, generation);
        const Bytes loss = loss_token(generation);
        std::size_t places = 0;
        for (std::size_t at = starts.size() / 9; at + 300 < starts.size();
             at += starts.size() / 7) {
            std::size_t cut = at;
            while (starts[cut + 1] - starts[cut] < 4)
                ++cut;
            const auto here = subject.bytes.begin() + static_cast<std::ptrdiff_t>(starts[cut]);
            Bytes fed(subject.bytes.begin(), here);
            Bytes rest(loss.size() - 2);
            rest.insert(rest.end(),
                        subject.bytes.begin() + static_cast<std::ptrdiff_t>(starts[cut + 200]),
                        subject.bytes.end());
            Subject same = subject_of(largest(files));
            same.bytes = fed;
            same.bytes.insert(same.bytes.end(), loss.begin(), loss.end());
            same.bytes.insert(same.bytes.end(),
                              rest.begin() + static_cast<std::ptrdiff_t>(loss.size() - 2),
                              rest.end());
            fed.insert(fed.end(), here, here + 2);
            const Outcome want = decode_so(same, {});
            for (const Way way : {Way{}, Way{3, 1000, 0}}) {
                for (const Gap gap : {Gap::kMissing, Gap::kNewSegment}) {
                    const Outcome got = decode_with_gap(subject, way, gap, fed, rest);
                    std::string cut_here, cut_at_end;
                    EXPECT_EQ(without("cut-token", got.diagnostics, cut_here),
                              without("cut-token", want.diagnostics, cut_at_end));
                    const std::string count = cut_at_end.empty() ? " 1 " : " 2 ";
                    EXPECT_THAT(cut_here, testing::StartsWith("cut-token" + count +
                                                              std::to_string(starts[cut]) + " "));
                    EXPECT_TRUE(*got.sink == *want.sink)
                        << arch << " at " << starts[cut] << ", " << way.threads
                        << " threads: " << got.sink->difference(*want.sink);
                }
            }
            ++places;
        }
        EXPECT_GT(places, 3U) << arch;
    }
}

TEST(Stream, AStreamWithoutAHeaderIsRefusedInWords) {
    CodeMap code(nullptr, {});
    RecordSink sink;
    Diagnostics diagnostics;
    StreamDecoder decoder({}, code, sink, diagnostics);
    const Bytes three(3, std::byte{0x11});
    EXPECT_TRUE(decoder.feed(three));
    const auto totals = decoder.finish();
    ASSERT_FALSE(totals);
    EXPECT_EQ(totals.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(totals.error().message.find('3'), std::string::npos);
}

} // namespace
} // namespace wavetap::decode
