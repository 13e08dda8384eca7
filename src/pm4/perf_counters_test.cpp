// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "pm4/perf_counters.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace wavetap::pm4 {
namespace {

TEST(PerfCountersTest, NamesAndNumbers_ByChip) {
    const struct {
        const char* name;
        std::uint32_t gfx90a, gfx942, gfx950; ///< 0: none
    } rows[] = {
        {"SQ_WAVES", 4, 4, 4},
        {"SQ_INSTS_VALU", 26, 26, 26},
        {"SQ_INSTS_VALU_TRANS_F64", 38, 38, 38},
        {"SQ_INSTS_VALU_MFMA_MOPS_F64", 51, 53, 54},
        {"SQ_INSTS_SALU", 56, 60, 62},
        {"SQ_INSTS_FLAT_LDS_ONLY", 59, 0, 0},
        {"SQ_INSTS_LDS", 60, 65, 67},
        {"SQ_ACTIVE_INST_FLAT", 103, 108, 124},
        {"SQ_LDS_IDX_ACTIVE", 126, 131, 147},
        {"SQ_ACCUM_PREV_HIRES", 185, 184, 200},
        {"SQ_ACTIVE_INST_VALU2", 0, 0, 74},
        {"SQ_NONE", 0, 0, 0},
    };
    for (const auto& row : rows) {
        EXPECT_EQ(counter_id("gfx90a", row.name).value_or(0), row.gfx90a) << row.name;
        EXPECT_EQ(counter_id("gfx942", row.name).value_or(0), row.gfx942) << row.name;
        EXPECT_EQ(counter_id("gfx950", row.name).value_or(0), row.gfx950) << row.name;
    }
    EXPECT_FALSE(counter_id("gfx1100", "SQ_WAVES"));
}

TEST(PerfCountersTest, EveryNumberHasOneName) {
    for (const char* gfx : {"gfx90a", "gfx942", "gfx950"}) {
        std::set<std::string> names;
        std::size_t count = 0;
        for (std::uint32_t id = 0; id < 512; ++id) {
            const std::string name(counter_name(gfx, id));
            if (name.empty()) continue;
            ++count;
            names.insert(name);
            EXPECT_EQ(counter_id(gfx, name), id) << gfx << " " << name;
        }
        EXPECT_EQ(names.size(), count) << gfx;
        EXPECT_GT(count, 70U) << gfx;
    }
    EXPECT_EQ(counter_name("gfx90a", 0), "");
    EXPECT_EQ(counter_name("gfx1100", 4), "");
}

TEST(PerfCountersTest, EnableStream_WritesTheQueuesRegister) {
    const auto stream = build_counter_enable({"gfx90a", 1, 8, 14});
    ASSERT_TRUE(stream);
    // SET_SH_REG COMPUTE_PERFCOUNT_ENABLE := 1, as in the recorded start streams with counters.
    EXPECT_EQ(*stream, (std::vector<std::uint32_t>{0xC0017600, 0x20B, 1}));
    EXPECT_EQ(build_counter_enable({"gfx1100", 1, 6, 16}).error().code, ErrorCode::kUnsupported);
}

} // namespace
} // namespace wavetap::pm4
