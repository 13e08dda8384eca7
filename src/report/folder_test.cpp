// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "report/blob_for_test.hpp"
#include "report/health.hpp"
#include "report/hot_spots.hpp"
#include "sqtt/test_data.hpp"
#include "store/trace_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

// From a folder on disk through the decoder to the reports.

namespace wavetap::report {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// Everything that a real capture holds, recorded as our own folder.
struct RealFolder {
    test::TempFolder disk;
    std::uint64_t instructions = 0, latency = 0, stall = 0, waves = 0;

    explicit RealFolder(const fs::path& trace) {
        const auto meta = nlohmann::json::parse(std::ifstream(trace / "meta.json"));
        auto writer = store::FolderWriter::create(disk.path(), 42);
        EXPECT_TRUE(writer);
        EXPECT_TRUE((*writer)->agent({0, "gfx950", 32, 8, 4, "hardware"}));
        EXPECT_TRUE((*writer)->context({0, 0, 0xffffffff, 0, 0xf, 1 << 20, 1, true, "dispatch"}));
        const auto elf = test::read_bytes(trace / "code.elf");
        const std::uint64_t base = std::stoull(meta["load_base"].get<std::string>(), nullptr, 16);
        EXPECT_TRUE(
            (*writer)->code_object({1, 0, base, elf.size(), "file://code", "code/1.elf"}, elf));
        EXPECT_TRUE((*writer)->begin_run({0, 0, 1, 1, 0, 0}));
        for (const auto& engine : meta["se"]) {
            const auto se = engine["se"].get<std::uint32_t>();
            const std::string name = "se" + std::to_string(se);
            const auto bytes = test::read_bytes(trace / (name + ".att"));
            store::ChunkInfo chunk;
            chunk.se = se;
            chunk.bytes = bytes.size();
            chunk.capacity_bytes = 1 << 15;
            chunk.file = "runs/0/" + name + ".att";
            EXPECT_TRUE((*writer)->chunk(chunk, bytes));
            add_golden(nlohmann::json::parse(std::ifstream(trace / (name + ".golden.json"))));
        }
        EXPECT_TRUE((*writer)->end_run({0, 0, 1, 1, 0, 0}));
        EXPECT_TRUE((*writer)->finish());
    }

    void add_golden(const nlohmann::json& golden) {
        for (const auto& wave : golden["waves"]) {
            ++waves;
            if (!wave.contains("instructions")) continue;
            for (const auto& instruction : wave["instructions"]) {
                ++instructions;
                latency += instruction["dur"].get<std::uint64_t>();
                stall += instruction["stall"].get<std::uint64_t>();
            }
        }
    }
};

TEST(FolderTest, RealTraceAddsUpToItsGoldenSums) {
    const auto files = test::trace_files("gfx950", ".att");
    WAVETAP_NEED_DATA(files);
    const RealFolder real(test::data_folder() / "traces/gfx950/gemm_0");
    const auto folder = store::open_folder(real.disk.path());
    ASSERT_TRUE(folder) << to_string(folder.error());
    CodeTable code;
    const auto spots = find_hot_spots({*folder}, code);
    ASSERT_TRUE(spots) << to_string(spots.error());
    EXPECT_GT(real.instructions, 100u);
    EXPECT_EQ(spots->instructions, real.instructions);
    EXPECT_EQ(spots->instructions_foreign, 0u);
    EXPECT_EQ(spots->instructions_without_pc, 0u);
    EXPECT_EQ(spots->latency, real.latency);
    EXPECT_EQ(spots->waves, real.waves);
    EXPECT_EQ(spots->timing, "hardware");
    std::uint64_t stall = 0;
    for (const InstructionRow& row : spots->by_instruction) {
        stall += row.sums.stall;
        EXPECT_EQ(row.function, "r_32_32_16_2");
        EXPECT_FALSE(row.text.empty() || row.text[0] == '<') << row.text;
    }
    EXPECT_EQ(stall, real.stall);
    for (const View view : {View::kInstruction, View::kLine, View::kKernel, View::kWave, View::kCu})
        EXPECT_THAT(to_text(*spots, view, 10), HasSubstr("timing: hardware"));
}

TEST(FolderTest, TwoRecordingsOfOneProgramAddUp) {
    const auto files = test::trace_files("gfx950", ".att");
    WAVETAP_NEED_DATA(files);
    const RealFolder real(test::data_folder() / "traces/gfx950/gemm_0");
    const RealFolder again(test::data_folder() / "traces/gfx950/gemm_0");
    const auto first = store::open_folder(real.disk.path());
    const auto second = store::open_folder(again.disk.path());
    ASSERT_TRUE(first && second);
    CodeTable code;
    CodeTable other_code;
    const auto once = find_hot_spots({*first}, other_code);
    const auto twice = find_hot_spots({*first, *second}, code);
    ASSERT_TRUE(once && twice);
    EXPECT_EQ(code.size(), 1u);
    ASSERT_EQ(twice->by_instruction.size(), once->by_instruction.size());
    for (std::size_t i = 0; i < once->by_instruction.size(); ++i)
        EXPECT_EQ(twice->by_instruction[i].sums.latency, 2 * once->by_instruction[i].sums.latency);
}

TEST(FolderTest, HealthOfARealTrace) {
    const auto files = test::trace_files("gfx950", ".att");
    WAVETAP_NEED_DATA(files);
    const RealFolder real(test::data_folder() / "traces/gfx950/gemm_0");
    const auto folder = store::open_folder(real.disk.path());
    ASSERT_TRUE(folder);
    CodeTable code;
    const auto health = find_health({*folder}, code);
    ASSERT_TRUE(health);
    ASSERT_EQ(health->engines.size(), 32u);
    EXPECT_EQ(health->engines[0].waves_on_target, 4u);
    EXPECT_EQ(health->engines[0].waves_foreign, 0u);
    EXPECT_EQ(health->engines[0].stop, StopReason::kEnd);
    std::uint64_t waves = 0;
    for (const EngineHealth& engine : health->engines)
        waves += engine.waves;
    EXPECT_EQ(waves, real.waves);
}

TEST(FolderTest, WhatIsMissingIsTold) {
    test::TempFolder disk;
    auto writer = store::FolderWriter::create(disk.path(), 7);
    ASSERT_TRUE(writer);
    ASSERT_TRUE((*writer)->agent({0, "gfx90a", 8, 14, 4, "modelled"}));
    ASSERT_TRUE((*writer)->context({0, 0, 0x3, 1, 0xf, 4096, 1, true, "device"}));
    ASSERT_TRUE((*writer)->context({1, 0, 0x1, 2, 0xf, 4096, 1, true, "device"}));
    ASSERT_TRUE((*writer)->begin_run({0, 0, 1, 0, 0, 0}));
    const std::vector<std::byte> header = {std::byte{0x11}, std::byte{0x80}, std::byte{0x0f},
                                           std::byte{0},    std::byte{0},    std::byte{0},
                                           std::byte{0},    std::byte{0}};
    ASSERT_TRUE(
        (*writer)->chunk({0, 0, "runs/0/se0.att", 8, 4096, false, false, false, 0, 0, 0}, header));
    const std::vector<std::byte> zeros(24);
    ASSERT_TRUE(
        (*writer)->chunk({0, 0, "runs/0/se0.2.att", 24, 4096, false, false, true, 0, 0, 0}, zeros));
    ASSERT_TRUE((*writer)->end_run({0, 0, 1, 1, 0, 0}));
    writer->reset();
    const auto folder = store::open_folder(disk.path());
    ASSERT_TRUE(folder);
    CodeTable code;
    const auto health = find_health({*folder}, code);
    ASSERT_TRUE(health) << to_string(health.error());
    ASSERT_EQ(health->engines.size(), 2u);
    EXPECT_FALSE(health->engines[0].error) << *health->engines[0].error;
    EXPECT_EQ(health->engines[0].bytes, 32u) << "both pieces are one blob";
    EXPECT_EQ(health->engines[0].zero_tail_bytes, 29u);
    EXPECT_THAT(health->engines[0].advice, ::testing::ElementsAre(HasSubstr("No wave started")));
    EXPECT_EQ(health->engines[1].se, 1u);
    EXPECT_EQ(health->engines[1].stop, StopReason::kNothing);
    EXPECT_THAT(health->problems,
                ::testing::ElementsAre(HasSubstr("context 1 never ran"), HasSubstr("was killed")));
    EXPECT_FALSE(health->good);
}

TEST(FolderTest, UnreadableBytesAreToldInTheirBlob) {
    test::TempFolder disk;
    auto writer = store::FolderWriter::create(disk.path(), 7);
    ASSERT_TRUE(writer);
    ASSERT_TRUE((*writer)->agent({0, "gfx90a", 8, 14, 4, "modelled"}));
    ASSERT_TRUE((*writer)->context({0, 0, 0x1, 1, 0xf, 4096, 1, true, "device"}));
    ASSERT_TRUE((*writer)->begin_run({0, 0, 1, 0, 0, 0}));
    const std::vector<std::byte> three(3, std::byte{0x11});
    ASSERT_TRUE(
        (*writer)->chunk({0, 0, "runs/0/se0.att", 3, 4096, false, false, true, 0, 0, 0}, three));
    ASSERT_TRUE((*writer)->end_run({0, 0, 1, 1, 0, 0}));
    ASSERT_TRUE((*writer)->finish());
    const auto folder = store::open_folder(disk.path());
    ASSERT_TRUE(folder);
    CodeTable code;
    const auto health = find_health({*folder}, code);
    ASSERT_TRUE(health);
    ASSERT_EQ(health->engines.size(), 1u);
    EXPECT_TRUE(health->engines[0].error);
    const auto spots = find_hot_spots({*folder}, code);
    ASSERT_TRUE(spots);
    EXPECT_THAT(spots->problems, ::testing::Contains(HasSubstr("process 7, run 0, SE 0")));
}

} // namespace
} // namespace wavetap::report
