// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "report/heat_map.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace wavetap::report {
namespace {

CuRow cu(std::uint32_t se, std::uint32_t number, std::uint64_t waves, std::uint64_t latency) {
    CuRow row;
    row.se = se;
    row.cu = number;
    row.waves = waves;
    row.requested = true;
    row.sums.latency = latency;
    row.sums.hits = latency != 0 ? 1 : 0;
    return row;
}

HotSpots two_engines() {
    HotSpots spots;
    Coverage coverage;
    coverage.name = "gfx90a";
    coverage.total = 7;
    coverage.with_detail = 3;
    coverage.engines = 2;
    coverage.units_per_engine = 4;
    spots.coverage.push_back(coverage);
    spots.by_cu = {cu(0, 0, 4, 800), cu(0, 3, 4, 100), cu(1, 1, 4, 400), cu(1, 2, 5, 0),
                   cu(1, 3, 0, 0)};
    spots.by_cu[3].requested = false;
    return spots;
}

TEST(HeatMapTest, EachCuHasItsPlace) {
    const auto maps = heat_maps(two_engines());
    ASSERT_EQ(maps.size(), 1u);
    const HeatMap& map = maps.front();
    ASSERT_EQ(map.engines.size(), 2u);
    ASSERT_EQ(map.engines[0].size(), 4u);
    EXPECT_EQ(map.engines[0][0].latency, 800u);
    EXPECT_EQ(map.engines[1][1].latency, 400u);
    EXPECT_FALSE(map.engines[1][2].latency);
    EXPECT_EQ(map.engines[1][2].waves, 5u);
    EXPECT_TRUE(map.engines[1][3].requested);
    EXPECT_FALSE(map.engines[0][1].requested);
    EXPECT_EQ(map.covered, 3u);
}

TEST(HeatMapTest, Text_ShowsCoverageAndSteps) {
    EXPECT_EQ(
        to_text(heat_maps(two_engines()).front()),
        "agent 0 (gfx90a): 3/7 CUs with instruction detail\n"
        "     CU  0  1  2  3\n"
        "  SE  0  @        :\n"
        "  SE  1     +  o  x\n"
        "  latency: '.' least, '@' 800 cycles; o waves without detail; x asked for, no wave\n");
}

TEST(HeatMapTest, Wgps_ArraysSideBySideAndNarrowEnough) {
    HotSpots spots;
    Coverage coverage;
    coverage.name = "gfx1100";
    coverage.is_wgp = true;
    coverage.engines = 1;
    coverage.units_per_engine = 4;
    spots.coverage.push_back(coverage);
    spots.by_cu = {cu(0, 2, 1, 10), cu(0, 3, 1, 20)};
    spots.by_cu[1].sa = 1;
    spots.coverage.back().with_detail = 2; // of how many a folder of another tool may not tell
    const auto maps = heat_maps(spots);
    EXPECT_EQ(to_text(maps[0]).substr(0, 49), "agent 0 (gfx1100): 2 WGPs with instruction detail");
    ASSERT_EQ(maps[0].engines[0].size(), 8u);
    EXPECT_EQ(maps[0].engines[0][2].latency, 10u);
    EXPECT_EQ(maps[0].engines[0][7].latency, 20u);
    spots.coverage.back().units_per_engine = 8; // those of both arrays
    const auto whole = heat_maps(spots);
    ASSERT_EQ(whole[0].engines[0].size(), 8u);
    EXPECT_EQ(whole[0].engines[0][2].latency, 10u);
    EXPECT_EQ(whole[0].engines[0][7].latency, 20u);
    spots.by_cu.push_back(cu(0, 60, 1, 5));
    std::istringstream lines(to_text(heat_maps(spots)[0]));
    for (std::string line; std::getline(lines, line);)
        EXPECT_LE(line.size(), 100u) << line;
}

TEST(HeatMapTest, NothingRecorded_OneLine) {
    HotSpots spots;
    spots.coverage.push_back({});
    EXPECT_EQ(to_text(heat_maps(spots).front()),
              "agent 0 (unknown chip): 0 CUs with instruction detail\n");
}

} // namespace
} // namespace wavetap::report
