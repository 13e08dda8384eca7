// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "code/code_object.hpp"
#include "decode/elf_source.hpp"
#include "decode/engine.hpp"
#include "sqtt/gfx9_writer.hpp"
#include "sqtt/test_data.hpp"

#include <gtest/gtest.h>

#include <cstring>

// Damaged and crafted streams: a status or records, never a crash, a hang or growth.

namespace wavetap::decode {
namespace {

using Bytes = std::vector<std::byte>;

class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 1) {}
    std::uint64_t next() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return state_;
    }
    std::size_t below(std::size_t limit) { return limit == 0 ? 0 : next() % limit; }

  private:
    std::uint64_t state_;
};

Bytes mutate(const Bytes& original, unsigned kind, Random& random) {
    Bytes out = original;
    const std::size_t size = out.size();
    const std::size_t at = random.below(size);
    const std::size_t length = std::min<std::size_t>(random.below(256) + 1, size - at);
    const auto begin = out.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = begin + static_cast<std::ptrdiff_t>(length);
    switch (kind % 9) {
    case 0:
        out.resize(at);
        break;
    case 1:
    case 2:
        for (std::size_t n = kind % 9 == 1 ? random.below(8) + 1 : 64; n > 0; --n)
            out[random.below(size)] ^= static_cast<std::byte>(1U << random.below(8));
        break;
    case 3:
        for (auto it = begin; it != end; ++it)
            *it = static_cast<std::byte>(random.next());
        break;
    case 4:
        out.erase(begin, end);
        break;
    case 5: {
        const Bytes copy(begin, end);
        out.insert(begin, copy.begin(), copy.end());
        break;
    }
    case 6:
        for (std::size_t i = 0; i < 8 && i < size; ++i)
            if (random.below(2) == 0) out[i] = static_cast<std::byte>(random.next());
        break;
    case 7:
        std::fill(begin, end, std::byte{0});
        break;
    default:
        std::fill(begin, end, std::byte{0xFF});
        break;
    }
    return out;
}

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

} // namespace
} // namespace wavetap::decode
