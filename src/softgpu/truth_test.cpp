// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/truth_log.hpp"

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

std::string text_of(const TruthWave& wave) {
    std::string text;
    for (const std::uint64_t value :
         {std::uint64_t{wave.agent}, wave.dispatch, std::uint64_t{wave.se}, std::uint64_t{wave.cu},
          std::uint64_t{wave.slot}, wave.entry_pc, wave.start, wave.end})
        text += std::to_string(value) + " ";
    for (const TruthInstruction& each : wave.instructions)
        text += std::to_string(each.pc) + "@" + std::to_string(each.time) + " ";
    return text;
}

std::vector<std::string> waves_of_engine(const TruthLog& log, std::uint16_t se) {
    std::vector<std::string> found;
    for (const TruthBlock& block : log.blocks()) {
        const auto waves = log.waves(block, [&](const TruthWave& wave) {
            EXPECT_TRUE(wave.start >= block.waves.first_start && block.waves.last_end >= wave.end);
            return wave.se == se;
        });
        EXPECT_TRUE(waves);
        for (const TruthWave& wave : *waves)
            found.push_back(text_of(wave));
    }
    return found;
}

std::vector<std::uint64_t> dispatches_and_samples(const TruthLog& log) {
    std::vector<std::uint64_t> found;
    for (const TruthBlock& block : log.blocks()) {
        EXPECT_TRUE(log.dispatches(block, [&](const TruthDispatch& dispatch) {
            found.insert(found.end(), {dispatch.id, dispatch.time});
        }));
    }
    for (const TruthBlock& block : log.blocks()) {
        EXPECT_TRUE(log.samples(block, [&](const TruthSample& sample) {
            EXPECT_GE(sample.token_clock(), block.samples.first_start);
            EXPECT_LE(sample.token_clock(), block.samples.last_end);
            found.insert(found.end(), {sample.cu, sample.latched, sample.counters[3]});
        }));
    }
    return found;
}

// Many batches of the file: the waves of each engine are those of a log that is whole in memory.
TEST(TruthTest, ALogThatStaysInItsFileGivesTheSameWaves) {
    const std::string path = temporary("truth_long.bin");
    {
        auto writer = TruthWriter::create(path);
        ASSERT_TRUE(writer);
        (*writer)->chip(0, "gfx90a");
        for (std::uint64_t i = 0; i < 4000; ++i) {
            TruthWave wave{0,
                           i,
                           static_cast<std::uint16_t>(i % 3),
                           1,
                           2,
                           3,
                           64,
                           0x7f0000001000,
                           i * 100,
                           i % 500 == 7 ? 0 : i * 100 + 5000,
                           {}};
            for (std::uint64_t n = 0; n < i % 90; ++n)
                wave.instructions.push_back({wave.entry_pc + n * 4, wave.start + n * 40});
            (*writer)->wave(wave);
            (*writer)->dispatch({0, i, 0x7f0000001000, 1, i * 100 + 50, 1});
            (*writer)->sample({0, 1, static_cast<std::uint8_t>(i % 14), 0, i * 100, {1, 2, 3, 4}});
            if (i % 10 == 0)
                (*writer)->trace_event({0, 1, TruthTraceEvent::Kind::kArm, i * 100, 0, 0, 0});
        }
    }
    const auto whole = read_truth(path);
    const auto log = TruthLog::open(path);
    ASSERT_TRUE(whole && log);
    EXPECT_GT(log->blocks().size(), 4U);
    EXPECT_TRUE(log->about().waves.empty() && log->about().dispatches.empty() &&
                log->about().samples.empty());
    EXPECT_EQ(log->about().trace_events.size(), whole->trace_events.size());
    const TruthLog in_memory(*whole);
    for (std::uint16_t se = 0; se < 4; ++se)
        EXPECT_EQ(waves_of_engine(*log, se), waves_of_engine(in_memory, se));
    EXPECT_GT(waves_of_engine(*log, 1).size(), 1000U);
    EXPECT_EQ(dispatches_and_samples(*log), dispatches_and_samples(in_memory));
    EXPECT_EQ(dispatches_and_samples(*log).size(), 20'000U);
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
        const auto log = TruthLog::open(cut_path);
        ASSERT_TRUE(log) << size;
        EXPECT_EQ(log->about().truncated, truth->truncated);
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
