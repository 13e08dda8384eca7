// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/truth.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace wavetap::softgpu {
namespace {

std::string temporary(const char* name) {
    return (std::filesystem::path(testing::TempDir()) / name).string();
}

std::string slurp(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

void write_sample(const std::string& path) {
    auto writer = TruthWriter::create(path);
    ASSERT_TRUE(writer);
    (*writer)->chip(0, "gfx90a");
    (*writer)->chip(2, "gfx90a");
    (*writer)->dispatch({2, 7, 0x7f0000001000, 3, 400, 12});
    TruthWave wave{2, 7, 5, 13, 3, 7, 64, 0x7f0000001000, 1000, 2000, {}};
    wave.instructions = {{0x7f0000001000, 1064}, {0x7f0000001008, 1068}, {0x7f0000000f00, 1900}};
    (*writer)->wave(wave);
    wave.end = 0;
    wave.instructions.clear();
    (*writer)->wave(wave);
    (*writer)->trace_event({2, 5, TruthTraceEvent::Kind::kArm, 900, 0x7e1000000000, 4096, 0});
    (*writer)->trace_event({2, 5, TruthTraceEvent::Kind::kDrop, 1500, 0, 0, 17});
    (*writer)->sampling({2, 5, 900, 32, 0xFFFE, {0x0F000004, 0x0300001A, 0, 0, 0, 0, 0, 1}});
    (*writer)->sample({2, 5, 13, 1, 1440, {1, 0, 8191, 2}});
}

TEST(TruthTest, EverythingComesBack) {
    const std::string path = temporary("truth_round.bin");
    write_sample(path);
    const auto truth = read_truth(path);
    ASSERT_TRUE(truth);
    EXPECT_FALSE(truth->truncated);
    ASSERT_EQ(truth->chips.size(), 3U);
    EXPECT_EQ(truth->chips[2], "gfx90a");
    ASSERT_EQ(truth->dispatches.size(), 1U);
    EXPECT_EQ(truth->dispatches[0].entry_pc, 0x7f0000001000U);
    EXPECT_EQ(truth->dispatches[0].workgroups, 12U);
    ASSERT_EQ(truth->waves.size(), 2U);
    const TruthWave& wave = truth->waves[0];
    EXPECT_EQ(wave.cu, 13);
    EXPECT_EQ(wave.end, 2000U);
    ASSERT_EQ(wave.instructions.size(), 3U);
    EXPECT_EQ(wave.instructions[2].pc, 0x7f0000000f00U);
    EXPECT_EQ(wave.instructions[2].time, 1900U);
    EXPECT_EQ(truth->waves[1].end, 0U);
    ASSERT_EQ(truth->samplings.size(), 1U);
    EXPECT_EQ(truth->samplings[0].se, 5);
    EXPECT_EQ(truth->samplings[0].time, 900U);
    EXPECT_EQ(truth->samplings[0].period, 32U);
    EXPECT_EQ(truth->samplings[0].cu_mask, 0xFFFEU);
    EXPECT_EQ(truth->samplings[0].counters[1], 0x0300001AU);
    EXPECT_EQ(truth->samplings[0].counters[7], 1U);
    ASSERT_EQ(truth->samples.size(), 1U);
    EXPECT_EQ(truth->samples[0].se, 5);
    EXPECT_EQ(truth->samples[0].cu, 13);
    EXPECT_EQ(truth->samples[0].bank, 1);
    EXPECT_EQ(truth->samples[0].latched, 1440U);
    EXPECT_EQ(truth->samples[0].counters, (std::array<std::uint16_t, 4>{1, 0, 8191, 2}));
    ASSERT_EQ(truth->trace_events.size(), 2U);
    EXPECT_EQ(truth->trace_events[1].kind, TruthTraceEvent::Kind::kDrop);
    EXPECT_EQ(truth->trace_events[1].count, 17U);
}

TEST(TruthTest, CutAnywhere_IsTruncatedOrShorter) {
    const std::string path = temporary("truth_full.bin");
    write_sample(path);
    const std::string bytes = slurp(path);
    const std::string cut_path = temporary("truth_cut.bin");
    std::size_t truncated = 0;
    for (std::size_t size = 8; size < bytes.size(); ++size) {
        std::ofstream(cut_path, std::ios::binary).write(bytes.data(), std::streamsize(size));
        const auto truth = read_truth(cut_path);
        ASSERT_TRUE(truth) << size;
        truncated += truth->truncated ? 1 : 0;
    }
    EXPECT_GT(truncated, bytes.size() / 2);
}

TEST(TruthTest, OtherFiles_AreRefusedInWords) {
    EXPECT_EQ(read_truth(temporary("absent.bin")).error().code, ErrorCode::kIo);
    const std::string path = temporary("truth_other.bin");
    std::ofstream(path) << "something else entirely";
    EXPECT_EQ(read_truth(path).error().code, ErrorCode::kCorrupt);
    write_sample(path);
    std::ofstream(path, std::ios::app | std::ios::binary).write("\x09\x00", 2);
    const auto unknown = read_truth(path);
    ASSERT_FALSE(unknown);
    EXPECT_NE(to_string(unknown.error()).find("offset"), std::string::npos);
}

} // namespace
} // namespace wavetap::softgpu
