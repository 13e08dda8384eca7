// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "report/blob_for_test.hpp"
#include "report/format.hpp"
#include "report/hot_spots.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace wavetap::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class HotSpotsTest : public ::testing::Test {
  protected:
    HotSpotsTest() {
        code_.add(trace_.process());
        EXPECT_EQ(code_.size(), 1u) << "saxpy was not loaded";
        for (const code::Symbol& symbol : code_.object(0).functions())
            if (symbol.name == "saxpy") saxpy_ = symbol.address;
        EXPECT_NE(saxpy_, 0u);
    }

    /// 100..200: two instructions of saxpy (the first twice), one of a runtime kernel's code, one
    /// that was not matched.
    decode::WaveRecord busy_wave() {
        decode::WaveRecord wave = wave_at(pc_at(saxpy_), 100, 200);
        using decode::Category;
        wave.instructions = {{Category::kSalu, 104, 8, 4, pc_at(saxpy_)},
                             {Category::kSalu, 112, 4, 0, pc_at(saxpy_ + 4)},
                             {Category::kSalu, 120, 20, 16, pc_at(saxpy_)},
                             {Category::kValu, 140, 5, 0, {0x999000, 0, 0}},
                             {Category::kValu, 145, 3, 0, {}}};
        return wave;
    }

    HotSpots build(const std::vector<decode::WaveRecord>& waves,
                   std::size_t most_waves = kAllWaves) {
        Blob blob = trace_.blob();
        blob.records.waves = waves;
        HotSpotBuilder builder(code_, most_waves);
        builder.add_folder(trace_.folder);
        builder.add(blob);
        return builder.finish();
    }

    TestTrace trace_;
    CodeTable code_;
    std::uint64_t saxpy_ = 0;
};

// Rows are given up on the way, thousands at a time; those that are left are the first of all.
TEST_F(HotSpotsTest, TheWavesOfHighestLatencyAreKept) {
    std::vector<decode::WaveRecord> waves;
    for (std::uint32_t i = 0; i < 10'000; ++i) {
        waves.push_back(busy_wave());
        waves.back().start += i;
        waves.back().instructions[0].duration = i * 7919 % 100;
    }
    const HotSpots all = build(waves);
    const HotSpots some = build(waves, 20);
    ASSERT_EQ(all.by_wave.size(), waves.size());
    ASSERT_EQ(some.by_wave.size(), 20U);
    for (std::size_t i = 0; i < some.by_wave.size(); ++i) {
        EXPECT_EQ(some.by_wave[i].start, all.by_wave[i].start) << i;
        EXPECT_EQ(some.by_wave[i].sums.latency, all.by_wave[i].sums.latency) << i;
        EXPECT_EQ(some.by_wave[i].share, all.by_wave[i].share) << i;
    }
    EXPECT_EQ(some.waves, all.waves);
    EXPECT_TRUE(build(waves, 0).by_wave.empty());
}

TEST_F(HotSpotsTest, WavesOfTwoArraysAreToldApart) {
    decode::WaveRecord other = busy_wave();
    other.sa = 1;
    HotSpots spots = build({busy_wave(), other});
    const HotSpots turned = build({other, busy_wave()});
    for (std::uint32_t i = 0; i < 2; ++i) {
        EXPECT_EQ(spots.by_wave.at(i).sa, i);
        EXPECT_EQ(turned.by_wave.at(i).sa, i);
        EXPECT_EQ(nlohmann::json::parse(to_json(spots, View::kWave))["rows"][i]["sa"], i);
    }
    EXPECT_THAT(to_text(spots, View::kWave, 0), HasSubstr("SE/CU/SIMD/slot"));
    spots.coverage.at(0).is_wgp = true;
    const std::string text = to_text(spots, View::kWave, 0);
    EXPECT_THAT(text, HasSubstr("SE/SA/WGP/SIMD/slot"));
    EXPECT_THAT(text, HasSubstr(" 0/0/1/0/0 "));
    EXPECT_THAT(text, HasSubstr(" 0/1/1/0/0 "));
}

TEST_F(HotSpotsTest, TheStreamTellsWhatAnUnknownChipCounts) {
    for (const char* generation : {"gfx9", "gfx12"}) {
        TestTrace trace;
        trace.process().agents[0].name.clear();
        Blob blob = trace.blob();
        blob.records.generation = generation;
        HotSpotBuilder builder(code_);
        builder.add_folder(trace.folder);
        builder.add(blob);
        EXPECT_EQ(builder.finish().coverage.at(0).is_wgp, std::string(generation) == "gfx12");
    }
}

TEST_F(HotSpotsTest, InstructionsAddUp) {
    const HotSpots spots = build({busy_wave(), busy_wave()});
    EXPECT_EQ(spots.instructions, 10u);
    EXPECT_EQ(spots.instructions_foreign, 2u);
    EXPECT_EQ(spots.instructions_without_pc, 2u);
    EXPECT_EQ(spots.latency, 2u * (8 + 4 + 20 + 5 + 3));
    ASSERT_EQ(spots.by_instruction.size(), 2u);
    const InstructionRow& first = spots.by_instruction[0];
    EXPECT_EQ(first.place.elf_address, saxpy_);
    EXPECT_EQ(first.sums.hits, 4u);
    EXPECT_EQ(first.sums.latency, 56u);
    EXPECT_EQ(first.sums.stall, 40u);
    EXPECT_EQ(first.sums.longest, 20u);
    // 100 to 104, then 116 to 120; twice.
    EXPECT_EQ(first.sums.idle, 16u);
    EXPECT_DOUBLE_EQ(first.sums.mean_latency(), 14.0);
    EXPECT_DOUBLE_EQ(first.share, 56.0 / 80.0);
    EXPECT_THAT(first.text, HasSubstr("flat_scratch"));
    EXPECT_EQ(first.function, "saxpy");
    ASSERT_FALSE(first.source.empty());
    EXPECT_THAT(first.source[0].file, ::testing::EndsWith("saxpy.cl"));
    EXPECT_EQ(first.source[0].line, 16u);
    EXPECT_THAT(first.source_text, HasSubstr("__kernel void saxpy"));
}

TEST_F(HotSpotsTest, LinesCollectTheirInstructions) {
    const HotSpots spots = build({busy_wave()});
    ASSERT_EQ(spots.by_line.size(), 1u);
    EXPECT_EQ(spots.by_line[0].line, 16u);
    EXPECT_EQ(spots.by_line[0].instructions, 2u);
    EXPECT_EQ(spots.by_line[0].sums.hits, 3u);
    EXPECT_EQ(spots.by_line[0].sums.latency, 32u);
}

TEST_F(HotSpotsTest, KernelsCountWavesOfEveryKind) {
    decode::WaveRecord elsewhere = wave_at(pc_at(saxpy_), 0, 10);
    elsewhere.on_target = false;
    elsewhere.cu = 3;
    decode::WaveRecord foreign = elsewhere;
    foreign.entry = {0x5000, 0, 0};
    decode::WaveRecord unknown = elsewhere;
    unknown.entry = {};
    const HotSpots spots = build({busy_wave(), elsewhere, foreign, unknown});
    EXPECT_EQ(spots.waves, 4u);
    EXPECT_EQ(spots.waves_on_target, 1u);
    ASSERT_EQ(spots.by_kernel.size(), 3u);
    EXPECT_EQ(spots.by_kernel[0].name, "saxpy");
    EXPECT_EQ(spots.by_kernel[0].waves, 2u);
    EXPECT_EQ(spots.by_kernel[0].waves_on_target, 1u);
    EXPECT_EQ(spots.by_kernel[0].wave_cycles, 100u);
    EXPECT_EQ(spots.by_kernel[1].kind, KernelKind::kForeign);
    EXPECT_EQ(spots.by_kernel[1].waves, 1u);
    EXPECT_EQ(spots.by_kernel[2].kind, KernelKind::kUnknown);
    EXPECT_EQ(spots.by_kernel[2].waves, 1u);
}

TEST_F(HotSpotsTest, CoverageCountsRequestedSeenAndDetailed) {
    decode::WaveRecord elsewhere = wave_at(pc_at(saxpy_), 0, 10);
    elsewhere.on_target = false;
    elsewhere.cu = 3;
    const HotSpots spots = build({busy_wave(), elsewhere});
    ASSERT_EQ(spots.coverage.size(), 1u);
    EXPECT_EQ(spots.coverage[0].total, 112u);
    EXPECT_EQ(spots.coverage[0].requested, 1u);
    EXPECT_EQ(spots.coverage[0].with_detail, 1u);
    EXPECT_EQ(spots.coverage[0].with_waves, 2u);
    ASSERT_EQ(spots.by_cu.size(), 2u);
    EXPECT_EQ(spots.by_cu[0].cu, 1u);
    EXPECT_TRUE(spots.by_cu[0].requested);
    EXPECT_FALSE(spots.by_cu[1].requested);
}

TEST_F(HotSpotsTest, OneFileLoadedTwiceIsOneRow) {
    store::CodeObjectInfo again = trace_.process().code_objects[0];
    again.id = 8;
    again.load_base = 0x900000;
    trace_.process().code_objects.push_back(again);
    CodeTable both;
    both.add(trace_.process());
    EXPECT_EQ(both.size(), 1u);
    EXPECT_EQ(both.loaded(trace_.process(), 0).size(), 2u);
    EXPECT_TRUE(both.loaded(trace_.process(), 1).empty());
    EXPECT_EQ(both.place(trace_.process(), {0, saxpy_, 7}),
              both.place(trace_.process(), {0, saxpy_, 8}));
    EXPECT_FALSE(both.place(trace_.process(), {0, saxpy_, 9}));
}

TEST_F(HotSpotsTest, MissingCodeAndNotesAreProblems) {
    trace_.process().code_objects.push_back({9, 0, 0, 0, "memory://1", "", false});
    trace_.process().code_objects.push_back({10, 0, 0, 0, "file:///x", "none.elf", false});
    trace_.process().complete = false;
    trace_.process().notes.emplace_back("warning", "the queue was refused");
    trace_.process().notes.emplace_back("info", "all is well");
    CodeTable code;
    code.add(trace_.process());
    HotSpotBuilder builder(code);
    builder.add_folder(trace_.folder);
    Blob blob = trace_.blob();
    blob.error = Error{ErrorCode::kCorrupt, "bad header", "", ""};
    builder.add(blob);
    const HotSpots spots = builder.finish();
    EXPECT_THAT(spots.problems, ::testing::ElementsAre(HasSubstr("process 42 was killed"),
                                                       HasSubstr("warning: the queue was refused"),
                                                       HasSubstr("run 5, SE 0: bad header"),
                                                       HasSubstr("code object 9 (memory://1)"),
                                                       HasSubstr("code object 10 (file:///x)")));
}

TEST_F(HotSpotsTest, EveryTextFitsInAHundredColumnsAndTellsTheTiming) {
    HotSpots spots = build({busy_wave(), busy_wave()});
    spots.by_kernel[0].demangled = std::string(300, 'k');
    spots.by_instruction[0].text = std::string(300, 'i');
    spots.by_instruction[0].source_text = std::string(300, 's');
    spots.problems.push_back(std::string(90, 'p') + " " + std::string(90, 'q'));
    for (const View view :
         {View::kInstruction, View::kLine, View::kKernel, View::kWave, View::kCu}) {
        const std::string text = to_text(spots, view, 10);
        EXPECT_THAT(text, ::testing::StartsWith("timing: modelled"));
        std::istringstream stream(text);
        std::string line;
        while (std::getline(stream, line)) {
            EXPECT_EQ(cut(line, kTextColumns), line);
        }
    }
}

TEST_F(HotSpotsTest, TextShowsInstructionSourceAndSums) {
    const HotSpots spots = build({busy_wave(), busy_wave()});
    const std::string text = to_text(spots, View::kInstruction, 1);
    EXPECT_THAT(text, HasSubstr("saxpy: 80.0% of all latency"));
    EXPECT_THAT(text, HasSubstr("70.0%     4       56  14.0     40"));
    EXPECT_THAT(text, HasSubstr("saxpy.cl:16"));
    EXPECT_THAT(text, HasSubstr("saxpy.cl:16  __kernel void saxpy"));
    EXPECT_THAT(text, HasSubstr("2 instructions of code in no recorded code object"));
    EXPECT_THAT(text, HasSubstr("2 instructions could not be matched"));
    EXPECT_THAT(text, Not(HasSubstr("10.0%"))) << "one row was asked for";
}

TEST_F(HotSpotsTest, NothingRecordedSaysSo) {
    const HotSpots spots = build({});
    EXPECT_THAT(to_text(spots, View::kInstruction, 0), HasSubstr("no instruction was recorded"));
}

TEST_F(HotSpotsTest, JsonHasAVersionTheSummaryAndTheRows) {
    const HotSpots spots = build({busy_wave()});
    for (const char* word : {"inst", "line", "kernel", "wave", "cu"}) {
        const auto view = parse_view(word);
        ASSERT_TRUE(view);
        const auto json = nlohmann::json::parse(to_json(spots, *view));
        EXPECT_EQ(json["format"], "wavetap-report");
        EXPECT_EQ(json["version"], 1);
        EXPECT_EQ(json["timing"], "modelled");
        EXPECT_EQ(json["by"], word);
        EXPECT_EQ(json["summary"]["instructions"], 5);
        EXPECT_EQ(json["summary"]["instructions_in_no_code_object"], 1);
        ASSERT_FALSE(json["rows"].empty());
        EXPECT_TRUE(json["rows"][0].contains("latency"));
        EXPECT_TRUE(json["rows"][0].contains("mean_latency"));
    }
    EXPECT_FALSE(parse_view("lines"));
}

TEST_F(HotSpotsTest, DiagnosticsAreSummed) {
    Blob blob = trace_.blob();
    blob.records.diagnostics.push_back({"packets-lost", "data-loss", "Use more.", 3, 10, 20});
    HotSpotBuilder builder(code_);
    builder.add_folder(trace_.folder);
    builder.add(blob);
    builder.add(blob);
    const HotSpots spots = builder.finish();
    ASSERT_EQ(spots.faults.size(), 1u);
    EXPECT_EQ(spots.faults[0].count, 6u);
    EXPECT_EQ(spots.faults[0].blobs, 2u);
    EXPECT_THAT(to_text(spots, View::kKernel, 0),
                HasSubstr("data-loss: packets-lost x 6 in 2 recordings. Use more."));
}

} // namespace
} // namespace wavetap::report
