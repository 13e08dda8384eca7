// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "code/code_object.hpp"
#include "decode/elf_source.hpp"
#include "decode/engine.hpp"
#include "decode/mutate_for_test.hpp"
#include "sqtt/gfx9_writer.hpp"
#include "sqtt/rdna_writer.hpp"
#include "sqtt/test_data.hpp"

#include <gtest/gtest.h>

#include <cstring>

// Damaged and crafted streams: a status or records, never a crash, a hang or growth.

namespace wavetap::decode {
namespace {

using wavetap::test::Bytes;
using wavetap::test::mutate;
using wavetap::test::Random;

/// Counts records, so that their number can be bounded.
class CountingSink final : public RecordSink {
  public:
    void wave(const WaveView& view) override {
        records += 1 + view.instructions.size();
        if (!view.pcs.empty()) {
            EXPECT_EQ(view.pcs.size(), view.instructions.size());
            EXPECT_EQ(view.has_pc.size(), view.instructions.size());
        }
    }
    void occupancy(const OccupancyRecord&) override { ++records; }
    void event(const EventRecord&) override { ++records; }
    std::uint64_t records = 0;
};

struct Outcome {
    bool decoded = false;
    std::uint64_t records = 0;
    std::uint64_t lost = 0;
};

Outcome decode(std::span<const std::byte> bytes, CodeSource* source,
               const std::vector<LoadedObject>& objects) {
    CodeMap code(source, objects);
    Diagnostics diagnostics;
    CountingSink sink;
    const auto totals = decode_stream(bytes, {}, code, sink, diagnostics);
    // A token of 4 bytes can issue for ten waves, each with its end in a few bytes more.
    EXPECT_LE(sink.records, 16 * bytes.size() + 16);
    return {totals.has_value(), sink.records, diagnostics.count(Fault::kPacketsLost)};
}

class Mutated : public testing::TestWithParam<const char*> {};

TEST_P(Mutated, RealBlobsGiveAStatusOrRecords) {
    const auto files = test::trace_files(GetParam(), ".att");
    WAVETAP_NEED_DATA(files);
    unsigned decoded = 0, refused = 0;
    for (std::size_t f = 0; f < files.size(); ++f) {
        const Bytes original = test::read_bytes(files[f]);
        const auto object = code::CodeObject::load(files[f].parent_path() / "code.elf");
        ASSERT_TRUE(object);
        const std::vector<LoadedObject> objects{{&*object, 0x200000000000, 0}};
        auto source = ElfSource::create(object->gfx(), objects);
        ASSERT_TRUE(source);
        const unsigned count = 4000 / static_cast<unsigned>(files.size()) + 1;
        for (unsigned n = 0; n < count; ++n) {
            Random random(f * 1000 + n);
            // An own heap block of the exact size, so that a sanitizer sees any byte too many.
            const Bytes mutant = mutate(original, n, random);
            if (decode(mutant, &*source, objects).decoded)
                ++decoded;
            else
                ++refused;
        }
    }
    EXPECT_GE(decoded + refused, 4000U);
    EXPECT_GT(decoded, refused);
}

INSTANTIATE_TEST_SUITE_P(Silicon, Mutated, testing::Values("gfx950", "gfx1100", "gfx1200"));

TEST(Robustness, EmptyAndTinyInputsAreRefusedInWords) {
    for (std::size_t size = 0; size < 8; ++size) {
        const Bytes bytes(size, std::byte{0x11});
        const auto records = decode_blob(bytes, {});
        ASSERT_FALSE(records);
        EXPECT_EQ(records.error().code, ErrorCode::kCorrupt);
        EXPECT_NE(records.error().message.find(std::to_string(size)), std::string::npos);
    }
    const Bytes zeros(64, std::byte{0});
    EXPECT_FALSE(decode_blob(zeros, {}));
}

Bytes with_header(std::uint64_t header) {
    Bytes bytes(8);
    std::memcpy(bytes.data(), &header, 8);
    return bytes;
}

constexpr std::uint64_t kHeaders[] = {sqtt::Gfx9Header{}.encode(), 0x0000000000000091,
                                      0x0000000000000111,          0x0000000068900191,
                                      0x0913100868700211,          0x0800000000000291};

TEST(Robustness, HeaderOnlyBlobsAreEmptyTraces) {
    for (const std::uint64_t header : kHeaders) {
        const auto records = decode_blob(with_header(header), {});
        ASSERT_TRUE(records) << std::hex << header;
        EXPECT_TRUE(records->waves.empty());
        EXPECT_EQ(records->header, header);
    }
}

TEST(Robustness, EveryByteRepeatedDecodesInEveryGeneration) {
    for (const std::uint64_t header : kHeaders) {
        for (unsigned value = 0; value < 256; ++value) {
            Bytes bytes = with_header(header);
            bytes.resize(8 + 4099, static_cast<std::byte>(value));
            EXPECT_TRUE(decode(bytes, nullptr, {}).decoded) << std::hex << header << " " << value;
        }
    }
}

TEST(Robustness, RandomBytesDecodeInEveryGeneration) {
    for (const std::uint64_t header : kHeaders) {
        for (unsigned seed = 0; seed < 40; ++seed) {
            Random random(seed);
            Bytes bytes = with_header(header);
            for (unsigned i = 0; i < 8192; ++i)
                bytes.push_back(static_cast<std::byte>(random.next()));
            EXPECT_TRUE(decode(bytes, nullptr, {}).decoded);
        }
    }
}

class VectorSink final : public sqtt::TokenSink {
  public:
    bool write(std::span<const std::byte> bytes) override {
        data.insert(data.end(), bytes.begin(), bytes.end());
        return true;
    }
    Bytes data = with_header(sqtt::Gfx9Header{}.encode());
};

using Issues = std::array<sqtt::Gfx9Issue, sqtt::kGfx9SlotsPerIssue>;

// Inputs that cost a known decoder quadratic time or an abort; a linear one takes milliseconds.
TEST(Robustness, CraftedStreamsTakeLinearTime) {
    constexpr unsigned kCount = 200'000;
    Issues instruction{};
    instruction[0] = sqtt::Gfx9Issue::kInstruction;
    for (const auto type : {sqtt::Gfx9Inst::kFlatRead, sqtt::Gfx9Inst::kFlatReplay0,
                            sqtt::Gfx9Inst::kExportGds, sqtt::Gfx9Inst::kTrap}) {
        VectorSink sink;
        sqtt::Gfx9Writer writer(sink);
        writer.wave_start(4000, {});
        for (unsigned i = 0; i < kCount; ++i)
            writer.issue(4000 + 4 * i, 0, instruction);
        for (unsigned i = 0; i < kCount; ++i)
            writer.inst(4000 + 4 * (kCount + i), 0, 0, type);
        writer.wave_end(4000 + 8 * kCount, {});
        EXPECT_TRUE(decode(sink.data, nullptr, {}).decoded);
    }
    for (const unsigned unit : {0x2FF0U, 0x4000U, 0xC000U, 0x0006U}) {
        // Resets without timestamps, losses, saves, ends without starts.
        Bytes bytes = with_header(sqtt::Gfx9Header{}.encode());
        for (unsigned i = 0; i < 4 * kCount; ++i) {
            bytes.push_back(static_cast<std::byte>(unit & 0xFF));
            bytes.push_back(static_cast<std::byte>(unit >> 8));
        }
        EXPECT_TRUE(decode(bytes, nullptr, {}).decoded);
    }
    for (const std::uint64_t header : {kHeaders[3], kHeaders[4]}) {
        // Ends without starts, and VALU tokens that never advance the time.
        for (const auto& pattern : {Bytes{std::byte{0x15}, std::byte{0x00}, std::byte{0x00}},
                                    Bytes{std::byte{0x03}, std::byte{0x30}, std::byte{0x00}}}) {
            Bytes bytes = with_header(header);
            for (unsigned i = 0; i < kCount; ++i)
                bytes.insert(bytes.end(), pattern.begin(), pattern.end());
            EXPECT_TRUE(decode(bytes, nullptr, {}).decoded);
        }
    }
}

TEST(Robustness, LossInTheMiddleKeepsOccupancyAndIsLocated) {
    class Refusing final : public sqtt::TokenSink {
      public:
        bool write(std::span<const std::byte> bytes) override {
            if (full) return false;
            data.insert(data.end(), bytes.begin(), bytes.end());
            return true;
        }
        Bytes data = with_header(sqtt::Gfx9Header{}.encode());
        bool full = false;
    } sink;
    sqtt::Gfx9Writer writer(sink);
    const sqtt::Gfx9Wave far{.cu = 3, .simd = 1, .slot = 2};
    const sqtt::Gfx9Wave other{.cu = 4, .simd = 1, .slot = 2};
    writer.wave_start(10'000, {.wave = far});
    writer.wave_start(10'004, {.wave = other});
    sink.full = true;
    writer.wave_end(11'000, far);
    sink.full = false;
    writer.wave_start(12'000, {.wave = far});
    writer.wave_end(13'000, far);
    writer.wave_end(13'004, other);
    const auto records = decode_blob(sink.data, {});
    ASSERT_TRUE(records);
    ASSERT_EQ(records->waves.size(), 3U);
    const std::uint64_t base = *records->clock_base;
    EXPECT_FALSE(records->waves[0].complete);
    EXPECT_EQ(records->waves[0].end + base, 11'999U);
    EXPECT_EQ(records->waves[1].end + base, 13'004U);
    EXPECT_EQ(records->waves[2].start + base, 12'000U);
    EXPECT_EQ(records->waves[2].end + base, 13'000U);
    ASSERT_EQ(records->events.size(), 1U);
    EXPECT_EQ(records->events[0].kind, EventKind::kPacketsLost);
    EXPECT_EQ(records->events[0].time + base, 12'000U);
    bool located = false;
    for (const Diagnostic& diagnostic : records->diagnostics) {
        if (std::string(diagnostic.kind) != "packets-lost") continue;
        located = true;
        EXPECT_EQ(diagnostic.count, 1U);
        EXPECT_EQ(diagnostic.first_time + base, 12'000U);
        EXPECT_GT(diagnostic.first_offset_bytes, 8U);
    }
    EXPECT_TRUE(located);
}

// A reset of 80 units, then its timestamp, which has its own delta bit set: that moves nothing.
TEST(Robustness, ATimestampThatAResetUsedMovesTheClockNoFurther) {
    Bytes bytes = with_header(sqtt::Gfx9Header{}.encode());
    for (const unsigned value : {0x00, 0x25, 0x31, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00})
        bytes.push_back(static_cast<std::byte>(value));
    for (const std::size_t padding : {0, 1000}) { // the end of a stream is read another way
        bytes.resize(bytes.size() + padding);
        const auto records = decode_blob(bytes, {});
        ASSERT_TRUE(records);
        EXPECT_EQ(records->last_time, 316U) << padding;
    }
}

TEST(Robustness, LossAtTheEndIsLocated) {
    VectorSink sink;
    sqtt::Gfx9Writer writer(sink);
    writer.wave_start(10'000, {});
    writer.misc(12'000, sqtt::Gfx9Misc::kPacketLost);
    const auto records = decode_blob(sink.data, {});
    ASSERT_TRUE(records);
    ASSERT_EQ(records->waves.size(), 1U);
    EXPECT_FALSE(records->waves[0].complete);
    ASSERT_EQ(records->events.size(), 1U);
    EXPECT_EQ(records->events[0].time + *records->clock_base, 12'000U);
    EXPECT_EQ(records->events[0].offset_bytes, sink.data.size() - 2);
}

class RdnaLoss : public testing::TestWithParam<std::pair<sqtt::Generation, std::uint64_t>> {};

/// Refuses what is written while `full`.
class Refusing final : public sqtt::TokenSink {
  public:
    explicit Refusing(std::uint64_t header) : data(with_header(header)) {}
    bool write(std::span<const std::byte> bytes) override {
        if (full) return false;
        data.insert(data.end(), bytes.begin(), bytes.end());
        return true;
    }
    Bytes data;
    bool full = false;
};

const Diagnostic* loss_in(const BlobRecords& records) {
    for (const Diagnostic& diagnostic : records.diagnostics) {
        if (std::string(diagnostic.kind) == "packets-lost") return &diagnostic;
    }
    return nullptr;
}

TEST_P(RdnaLoss, InTheMiddleKeepsOccupancyAndIsLocated) {
    Refusing sink(GetParam().second);
    sqtt::RdnaWriter writer(GetParam().first, sink);
    const sqtt::RdnaWave far{.sa = 0, .wgp = 3, .simd = 1, .slot = 2};
    const sqtt::RdnaWave other{.sa = 0, .wgp = 2, .simd = 1, .slot = 2};
    ASSERT_TRUE(writer.wave_start(10'000, far, 127));
    ASSERT_TRUE(writer.wave_start(10'004, other, 127));
    const std::size_t before = sink.data.size();
    sink.full = true;
    ASSERT_FALSE(writer.wave_end(11'000, far));
    sink.full = false;
    ASSERT_TRUE(writer.wave_start(12'000, far, 127));
    ASSERT_TRUE(writer.wave_end(13'000, far));
    ASSERT_TRUE(writer.wave_end(13'004, other));
    const auto records = decode_blob(sink.data, {});
    ASSERT_TRUE(records);
    ASSERT_EQ(records->waves.size(), 3U);
    EXPECT_FALSE(records->waves[0].complete);
    EXPECT_EQ(records->waves[0].end, 11'999U);
    EXPECT_TRUE(records->waves[1].complete);
    EXPECT_EQ(records->waves[1].end, 13'004U);
    EXPECT_EQ(records->waves[2].start, 12'000U);
    EXPECT_EQ(records->waves[2].end, 13'000U);
    const Diagnostic* loss = loss_in(*records);
    ASSERT_NE(loss, nullptr);
    EXPECT_EQ(loss->count, 1U);
    EXPECT_EQ(loss->first_time, 12'000U);
    EXPECT_GE(loss->first_offset_bytes, before);
    EXPECT_LT(loss->first_offset_bytes, sink.data.size());
}

TEST_P(RdnaLoss, AtTheEndIsLocated) {
    Refusing sink(GetParam().second);
    sqtt::RdnaWriter writer(GetParam().first, sink);
    const sqtt::RdnaWave wave{.sa = 0, .wgp = 3, .simd = 1, .slot = 2};
    ASSERT_TRUE(writer.wave_start(10'000, wave, 127));
    ASSERT_TRUE(writer.packets_lost(31'962));
    ASSERT_TRUE(writer.finish());
    const auto records = decode_blob(sink.data, {});
    ASSERT_TRUE(records);
    ASSERT_EQ(records->waves.size(), 1U);
    EXPECT_FALSE(records->waves[0].complete);
    ASSERT_EQ(records->events.size(), 1U);
    EXPECT_EQ(records->events[0].kind, EventKind::kPacketsLost);
    EXPECT_EQ(records->events[0].time, 31'962U);
    const Diagnostic* loss = loss_in(*records);
    ASSERT_NE(loss, nullptr);
    EXPECT_EQ(loss->first_time, 31'962U);
}

INSTANTIATE_TEST_SUITE_P(Generations, RdnaLoss,
                         testing::Values(std::pair(sqtt::Generation::kGfx10, kHeaders[1]),
                                         std::pair(sqtt::Generation::kGfx11, kHeaders[3]),
                                         std::pair(sqtt::Generation::kGfx12, kHeaders[4]),
                                         std::pair(sqtt::Generation::kGfx1250, kHeaders[5])),
                         [](const auto& param) {
                             return std::string(sqtt::generation_name(param.param.first));
                         });

} // namespace
} // namespace wavetap::decode
