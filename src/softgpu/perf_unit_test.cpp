// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "pm4/packets.hpp"
#include "softgpu/perf_unit.hpp"
#include "softgpu/space_for_test.hpp"
#include "softgpu/thread_trace_unit.hpp"
#include "sqtt/reader.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>

namespace wavetap::softgpu {
namespace {

namespace gfx9 = pm4::gfx9;

constexpr std::uint32_t kWaves = 4, kBusyCu = 13, kInstsValu = 26, kWaveCycles = 74, kItems = 14;
constexpr std::uint64_t kOrigin = 1000, kStep = (1 + 14) * 4; ///< of period 1, 14 CUs

class PerfUnitTest : public testing::Test {
  protected:
    void set(std::uint32_t reg, std::uint32_t value, std::uint64_t now = kOrigin) {
        const auto done = unit_.write_register(reg, value, now);
        ASSERT_TRUE(done) << to_string(done.error());
    }
    void select(unsigned index, std::uint32_t id, std::uint32_t simds = 0xF) {
        set(gfx9::kSqPerfcounter0Select + index, id | simds << 24);
    }
    /// As the start stream does, then the trace takes samples.
    void start(std::uint32_t rate = 0, std::uint32_t mask = 0xFFFF) {
        set(gfx9::kRlcPerfmonClkCntl, 1);
        set(gfx9::kSqPerfcounterMask, mask);
        set(gfx9::kSqPerfcounterCtrl, rate << 8 | 0xFFFF007F);
        set(gfx9::kCpPerfmonCntl, 1);
        unit_.set_sink(true, 0xFFFFFFFF, kOrigin);
    }
    std::vector<PerfSample> samples(std::uint64_t now) {
        unit_.latch(now);
        std::vector<PerfSample> all;
        while (unit_.oldest() != PerfUnit::kNoSample)
            all.push_back(unit_.take());
        return all;
    }

    PerfUnit unit_{14};
};

TEST_F(PerfUnitTest, CountsBetweenLatches_ByCuAndSimd) {
    select(0, kWaves);
    select(1, kInstsValu, 0x2);
    select(2, kItems);
    start();
    unit_.wave_started(3, 1, 64, 1004);
    unit_.wave_started(3, 0, 10, 1008);
    unit_.wave_started(13, 2, 64, 1056);
    unit_.issued(3, 1, kPerfValu, 1);
    unit_.issued(3, 1, kPerfSalu, 1);
    unit_.issued(3, 0, kPerfValu, 1); // not its SIMD
    const auto first = samples(kOrigin + kStep);
    ASSERT_EQ(first.size(), 2U);
    EXPECT_EQ(first[0].latched, kOrigin + kStep);
    EXPECT_EQ(first[0].cu, 3);
    EXPECT_EQ(first[0].bank, 0);
    EXPECT_EQ(first[0].token_clock(), kOrigin + kStep + 12);
    EXPECT_EQ(first[0].counters, (std::array<std::uint16_t, 4>{2, 1, 74, 0}));
    EXPECT_EQ(first[1].cu, 13);
    EXPECT_EQ(first[1].counters, (std::array<std::uint16_t, 4>{1, 0, 64, 0}));
    EXPECT_TRUE(samples(kOrigin + 5 * kStep).empty()) << "nothing but zeros";
    unit_.issued(13, 1, kPerfValu | kPerfMfma, 4);
    const auto later = samples(kOrigin + 6 * kStep);
    ASSERT_EQ(later.size(), 1U);
    EXPECT_EQ(later[0].latched, kOrigin + 6 * kStep);
    EXPECT_EQ(later[0].counters, (std::array<std::uint16_t, 4>{0, 1, 0, 0}));
}

TEST_F(PerfUnitTest, LevelsAreIntegrals_AlsoOfWavesThatWereThere) {
    unit_.wave_started(2, 0, 64, 900);
    select(0, kBusyCu);
    select(1, kWaveCycles);
    select(2, kWaveCycles, 0x8);
    start(1);
    unit_.wave_started(2, 1, 64, kOrigin + 40);
    unit_.wave_ended(2, 0, kOrigin + 80);
    unit_.latch(kOrigin + 160);
    unit_.wave_ended(2, 1, kOrigin + 160);
    const auto all = samples(kOrigin + 4 * kStep);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].latched, kOrigin + 2 * kStep);
    EXPECT_EQ(all[0].counters, (std::array<std::uint16_t, 4>{30, 40, 0, 0}));
    EXPECT_EQ(all[1].counters, (std::array<std::uint16_t, 4>{10, 10, 0, 0}));
}

TEST_F(PerfUnitTest, MoreThanFourTakeTurns) {
    select(0, kWaves);
    select(4, kWaves);
    start();
    unit_.wave_started(0, 0, 64, 1004);
    const auto all = samples(kOrigin + 2 * kStep);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].bank, 1) << "the banks alternate";
    EXPECT_EQ(all[1].bank, 0);
    EXPECT_EQ(all[0].counters[0], 1);
    EXPECT_EQ(all[1].counters[0], 1);
}

TEST_F(PerfUnitTest, ValuesEndAtThirteenBits) {
    select(0, kItems);
    start();
    for (int i = 0; i < 200; ++i)
        unit_.wave_started(0, 0, 64, 1004);
    EXPECT_EQ(samples(kOrigin + kStep).at(0).counters[0], 8191);
}

TEST_F(PerfUnitTest, NothingIsCountedUnlessEverythingIsOn) {
    const struct {
        const char* name;
        std::uint32_t reg, value;
    } rows[] = {{"stopped", gfx9::kCpPerfmonCntl, 2},
                {"reset", gfx9::kCpPerfmonCntl, 0},
                {"no clock", gfx9::kRlcPerfmonClkCntl, 0},
                {"no compute", gfx9::kSqPerfcounterCtrl, 0xFFFF003F},
                {"no CU", gfx9::kSqPerfcounterMask, 0},
                {"no counter", gfx9::kSqPerfcounter0Select, 0}};
    for (const auto& row : rows) {
        unit_ = PerfUnit(14);
        select(0, kWaves);
        start();
        EXPECT_TRUE(unit_.counting()) << row.name;
        set(row.reg, row.value, 1004);
        EXPECT_FALSE(unit_.counting()) << row.name;
        unit_.wave_started(0, 0, 64, 1008);
        EXPECT_TRUE(samples(kOrigin + 2 * kStep).empty()) << row.name;
    }
    start(0, 0xFFFE);
    select(0, kWaves);
    unit_.wave_started(0, 0, 64, 1012);
    EXPECT_TRUE(samples(kOrigin + 4 * kStep).empty()) << "CU 0 is excluded";
}

TEST_F(PerfUnitTest, WhatIsNotModelledIsAnError) {
    const auto fetch = unit_.write_register(gfx9::kSqPerfcounter0Select, 115 | 0xF << 24, 0);
    ASSERT_FALSE(fetch);
    EXPECT_EQ(fetch.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(fetch.error().message.find("SQ counter 115 (SQ_IFETCH)"), std::string::npos);
    EXPECT_FALSE(unit_.write_register(gfx9::kSqPerfcounterCtrl, 0xFFFF207F, 0));
    EXPECT_TRUE(models_counter("SQ_WAVES"));
    EXPECT_FALSE(models_counter("SQ_IFETCH"));
}

// The unit's tokens are those of the truth log, in the order of their clocks.
TEST(PerfTokens, GoIntoTheTraceAndTheTruthLog) {
    constexpr std::uint64_t kBuffer = 0x7f0000000000, kBytes = 128 * 1024;
    const std::string path = testing::TempDir() + "perf_tokens.bin";
    SpaceForTest space;
    space.map(kBuffer, kBytes);
    Memory memory{space};
    auto truth = TruthWriter::create(path);
    ASSERT_TRUE(truth);
    ThreadTraceUnit unit(0, 3, memory, truth->get(), 14);
    const auto set = [&](std::uint32_t reg, std::uint32_t value, std::uint64_t now) {
        ASSERT_TRUE(PerfUnit::owns(reg) ? unit.write_counter_register(reg, value, now)
                                        : unit.write_register(reg, value, now));
    };
    set(gfx9::kSqThreadTraceMask, 0xCF81, 1000);
    set(gfx9::kRlcPerfmonClkCntl, 1, 1000);
    set(gfx9::kSqPerfcounter0Select, kWaves | 0xF << 24, 1000);
    set(gfx9::kSqThreadTracePerfMask, 0xFFFF, 1000);
    set(gfx9::kSqPerfcounterMask, 0xFFFF, 1000);
    set(gfx9::kSqPerfcounterCtrl, 0xFFFF007F, 1000);
    set(gfx9::kCpPerfmonCntl, 1, 1000);
    set(gfx9::kSqThreadTraceTokenMask, 0x000FFC6F, 1000);
    set(gfx9::kSqThreadTraceBase, static_cast<std::uint32_t>(kBuffer >> 12), 1000);
    set(gfx9::kSqThreadTraceBase2, static_cast<std::uint32_t>(kBuffer >> 44), 1000);
    set(gfx9::kSqThreadTraceSize, kBytes >> 12, 1000);
    set(gfx9::kSqThreadTraceCtrl, 0x80000000, 1000);
    set(gfx9::kSqThreadTraceMode, 0x02240000, 1004);
    const auto wave = [&](std::uint8_t cu, std::uint64_t clock) {
        sqtt::Gfx9WaveStart start;
        start.wave = {cu, 0, 0, 0};
        start.count = 64;
        unit.wave_start(clock, start);
        unit.count_start(clock, {cu, 0, 0}, 64);
    };
    wave(2, 1008);
    wave(5, 1012);
    // Between the two samples of clock 1060, whose tokens come at 1068 and 1080.
    unit.wave_end(1072, {2, 0, 0});
    unit.count_end(1072, {2, 0, 0});
    wave(7, 1100);
    set(gfx9::kSqThreadTraceMode, 0x02040000, 1140); // the sample of 1120 would come at 1148
    const std::uint64_t bytes = unit.read_register(gfx9::kSqThreadTraceWptr, 1140) * 32;
    std::vector<std::byte> copy(bytes);
    std::memcpy(copy.data(), memory.at(kBuffer, bytes, Access::kRead), bytes);
    sqtt::TokenReader reader(sqtt::Generation::kGfx9, copy);
    std::string order;
    sqtt::Token token;
    while (reader.next(token)) {
        if (token.type == sqtt::TokenType::kWaveStart) order += "s";
        if (token.type == sqtt::TokenType::kWaveEnd) order += "e";
        if (token.type == sqtt::TokenType::kPerf) order += "p";
    }
    EXPECT_EQ(order, "sspeps");
    truth->reset();
    const auto log = read_truth(path);
    ASSERT_TRUE(log);
    ASSERT_EQ(log->samplings.size(), 1U);
    EXPECT_EQ(log->samplings[0].time, 1004U);
    EXPECT_EQ(log->samplings[0].period, 1U);
    EXPECT_EQ(log->samplings[0].cu_mask, 0xFFFFU);
    EXPECT_EQ(log->samplings[0].counters, (std::array<std::uint32_t, 8>{kWaves | 0xF << 24}));
    ASSERT_EQ(log->samples.size(), 2U);
    EXPECT_EQ(log->samples[0].se, 3);
    EXPECT_EQ(log->samples[0].cu, 2);
    EXPECT_EQ(log->samples[1].cu, 5);
    EXPECT_EQ(log->samples[1].latched, 1060U);
    EXPECT_EQ(log->samples[1].counters, (std::array<std::uint16_t, 4>{1, 0, 0, 0}));
    std::remove(path.c_str());
}

} // namespace
} // namespace wavetap::softgpu
