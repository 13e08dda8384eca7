// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "code/code_object.hpp"
#include "decode/elf_source.hpp"
#include "decode/long_trace.hpp"
#include "decode/stream.hpp"
#include "sqtt/test_data.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <iostream>

// A stream is decoded piece by piece without ever being whole in memory: the process must not grow
// with it.

namespace wavetap::decode {
namespace {

constexpr std::uint64_t kMostGrowth = 64ULL << 20;
constexpr std::uint64_t kMostGrowthShort = 32ULL << 20; ///< less than the short streams are long
constexpr std::uint64_t kPiece = 1'000'000;

/// From here on peak_resident() counts anew.
bool forget_peak() {
    std::ofstream file("/proc/self/clear_refs");
    file << "5" << std::flush;
    return file.good();
}

/// Most bytes that were resident.
std::uint64_t peak_resident() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) * 1024;
    return 0;
}

class Sums final : public RecordSink {
  public:
    void wave(const WaveView& view) override {
        ++waves;
        for (const std::uint8_t known : view.has_pc)
            with_pc += known;
    }
    void waves_without_detail(std::span<const WaveHead> heads) override { waves += heads.size(); }
    std::uint64_t waves = 0, with_pc = 0;
};

struct Body {
    const char* arch;
    sqtt::Generation generation;
};
constexpr Body kBodies[] = {{"gfx950", sqtt::Generation::kGfx9},
                            {"gfx1100", sqtt::Generation::kGfx11},
                            {"gfx1200", sqtt::Generation::kGfx12}};

void decode_repeated(const Body& body, std::uint64_t bytes, unsigned threads,
                     std::uint64_t most_growth) {
    const auto folder = test::data_folder() / "traces" / body.arch / "gemm_0";
    std::vector<std::filesystem::path> files;
    if (std::filesystem::exists(folder / "se0.att")) files.push_back(folder / "se0.att");
    WAVETAP_NEED_DATA(files);
    const auto real = test::read_bytes(files[0]);
    const auto object = code::CodeObject::load(folder / "code.elf");
    ASSERT_TRUE(object);
    const auto meta = nlohmann::json::parse(std::ifstream(folder / "meta.json"));
    const std::vector<LoadedObject> objects{
        {&*object, std::stoull(meta["load_base"].get<std::string>(), nullptr, 16), 0}};
    auto source = ElfSource::create(object->gfx(), objects);
    ASSERT_TRUE(source);
    CodeMap code(&*source, objects);
    Sums sums;
    Diagnostics diagnostics;
    StreamOptions options;
    options.threads = threads;
    StreamDecoder decoder(options, code, sums, diagnostics);
    const LongTrace trace(body.generation, real);
    ASSERT_FALSE(trace.empty());
    std::vector<std::byte> piece = trace.preamble();
    piece.reserve(kPiece + trace.body_bytes());
    ASSERT_TRUE(forget_peak());
    const std::uint64_t before = peak_resident();
    ASSERT_GT(before, 0U);
    std::uint64_t fed = 0;
    for (std::uint64_t number = 0; fed < bytes; ++number) {
        trace.append(number, piece);
        if (piece.size() < kPiece) continue;
        fed += piece.size();
        ASSERT_TRUE(decoder.feed(piece));
        piece.clear();
    }
    const auto totals = decoder.finish();
    ASSERT_TRUE(totals);
    const std::uint64_t growth = peak_resident() - before;
    EXPECT_LT(growth, most_growth);
    EXPECT_EQ(decoder.bytes(), fed);
    EXPECT_EQ(totals->instructions, totals->instructions_with_pc);
    EXPECT_EQ(sums.with_pc, totals->instructions_with_pc);
    EXPECT_GT(sums.waves, fed / 200);
    std::cout << body.arch << ", " << threads << " threads: " << fed / 1'000'000 << " MB, "
              << totals->instructions << " instructions, grew by " << growth / 1024 << " KiB\n";
}

TEST(Memory, IsMeasuredAtAll) {
    ASSERT_TRUE(forget_peak());
    const std::uint64_t before = peak_resident();
    {
        const std::vector<std::byte> touched(32 << 20, std::byte{1});
        EXPECT_EQ(touched.back(), std::byte{1});
    }
    EXPECT_GT(peak_resident(), before + (30 << 20));
}

TEST(Memory, OfAStreamDoesNotGrowWithIt) {
    for (const Body& body : kBodies) {
        decode_repeated(body, 48'000'000, 1, kMostGrowthShort);
        decode_repeated(body, 48'000'000, 8, kMostGrowthShort);
    }
}

TEST(Memory, OfAGigabyteIsThatOfASmallStream) {
    if (std::getenv("WAVETAP_MEMORY_LONG") == nullptr)
        GTEST_SKIP() << "runs as decode_memory_long (label long)";
    for (const Body& body : kBodies)
        decode_repeated(body, 1'000'000'000, 2, kMostGrowth);
}

} // namespace
} // namespace wavetap::decode
