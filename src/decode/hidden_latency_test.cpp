// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/hidden_latency.hpp"

#include <gtest/gtest.h>

namespace wavetap::decode {
namespace {

using Row = HiddenLatency::Row;

const Row* find(const std::vector<Row>& rows, std::uint64_t address) {
    for (const Row& row : rows) {
        if (row.place.second == address) return &row;
    }
    return nullptr;
}

TEST(HiddenLatency, StallBehindAnotherWavesWorkIsHidden) {
    HiddenLatency analysis;
    analysis.begin_wave(0, 0);
    analysis.add(Category::kValu, 100, 40, 0, {1, 0x10}, false); // busy 100 to 140
    analysis.begin_wave(0, 0);
    analysis.add(Category::kVmem, 90, 60, 50, {1, 0x20}, false); // stalled 90 to 140
    const auto rows = analysis.finish();
    const Row* load = find(rows, 0x20);
    ASSERT_NE(load, nullptr);
    EXPECT_EQ(load->idle, 0);
    EXPECT_EQ(load->stall, 40);
    EXPECT_EQ(load->issue, 0);
}

TEST(HiddenLatency, OtherSimdsDoNotHide) {
    HiddenLatency analysis;
    analysis.begin_wave(1, 0);
    analysis.add(Category::kValu, 100, 40, 0, {1, 0x10}, false);
    analysis.begin_wave(0, 0);
    analysis.add(Category::kVmem, 90, 60, 50, {1, 0x20}, false);
    EXPECT_EQ(find(analysis.finish(), 0x20)->stall, 0);
}

TEST(HiddenLatency, IdleTimeCountsFromTheInstructionBefore) {
    HiddenLatency analysis;
    analysis.begin_wave(0, 0);
    analysis.add(Category::kImmed, 10, 10, 0, {1, 0x10}, false); // ends at 20
    analysis.add(Category::kImmed, 60, 10, 0, {1, 0x14}, false); // idle 20 to 60
    analysis.begin_wave(0, 0);
    analysis.add(Category::kSalu, 30, 8, 0, {1, 0x20}, false); // busy 30 to 38
    const auto rows = analysis.finish();
    EXPECT_EQ(find(rows, 0x14)->idle, 8);
    EXPECT_EQ(find(rows, 0x10)->idle, 0);
}

TEST(HiddenLatency, MatrixWorkKeepsTheValuBusyForThreeQuarters) {
    HiddenLatency analysis;
    analysis.begin_wave(0, 100);
    analysis.add(Category::kValu, 100, 64, 0, {1, 0x10}, true); // matrix to 164, VALU to 148
    analysis.begin_wave(0, 100);
    analysis.add(Category::kValu, 100, 68, 64, {1, 0x20}, false);
    const auto rows = analysis.finish();
    // Matrix: 64 of stall; VALU alone would give 48 and, at the end, its own.
    EXPECT_EQ(find(rows, 0x20)->stall, 64);
    EXPECT_EQ(find(rows, 0x10)->issue, 0); // never its own issue
}

TEST(HiddenLatency, OneFigureForEachPlaceAndNoneForUnknownOnes) {
    HiddenLatency analysis;
    for (int i = 0; i < 3; ++i) {
        analysis.begin_wave(0, 0);
        analysis.add(Category::kValu, 100, 10, 0, {1, 0x10}, false);
        analysis.add(Category::kVmem, 100, 12, 10, {0, 0}, false);
        analysis.add(Category::kVmem, 104, 12, 10, {2, 0x8}, false);
    }
    analysis.add_other_simd(0, 1000);
    const auto rows = analysis.finish();
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].place, (HiddenLatency::Place{1, 0x10}));
    EXPECT_EQ(rows[1].place, (HiddenLatency::Place{2, 0x8}));
    // Uses that touch add up: three of 10 from 100 keep the VALU busy to 130.
    EXPECT_EQ(rows[1].stall, 30);
    EXPECT_TRUE(analysis.finish().empty());
}

} // namespace
} // namespace wavetap::decode
