// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "tool/config.hpp"
#include "tool/kernels.hpp"
#include "tool/rotation.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace wavetap::tool {
namespace {

TEST(ToolConfigTest, EveryMemberArrives) {
    const auto config = parse_config(R"({"dir": "/tmp/t", "window": 3, "rotate": true,
        "kernel": "mat.*", "kernel_exclude": "x", "packets": "aqlprofile",
        "aqlprofile_library": "/l.so", "timing": "modelled", "deadline_scale": 30,
        "contexts": [{"id": 4, "agent": 1, "se_mask": 3, "cu": 2, "simd_mask": 5,
                      "buffer_bytes": 1048576, "buffers": 1, "on_full": "end", "detail": false,
                      "perf_counters": [{"id": 4}, {"id": 26, "simd_mask": 3}],
                      "perf_period": 7, "perf_exclude_mask": 6, "mode": "device"}]})",
                                     "here");
    ASSERT_TRUE(config) << to_string(config.error());
    EXPECT_EQ(config->dir, "/tmp/t");
    EXPECT_EQ(config->window, 3u);
    EXPECT_TRUE(config->rotate);
    EXPECT_EQ(config->kernel, "mat.*");
    EXPECT_EQ(config->kernel_exclude, "x");
    EXPECT_EQ(config->packets, "aqlprofile");
    EXPECT_EQ(config->aqlprofile_library, "/l.so");
    EXPECT_EQ(config->timing, "modelled");
    EXPECT_EQ(config->deadline_scale, 30.0);
    ASSERT_EQ(config->contexts.size(), 1u);
    const ContextConfig& context = config->contexts[0];
    EXPECT_EQ(context.id, 4u);
    EXPECT_EQ(context.agent, 1u);
    EXPECT_EQ(context.se_mask, 3u);
    EXPECT_EQ(context.cu, 2u);
    EXPECT_EQ(context.simd_mask, 5u);
    EXPECT_EQ(context.buffer_bytes, 1048576u);
    EXPECT_EQ(context.on_full, "end");
    EXPECT_FALSE(context.detail);
    EXPECT_FALSE(context.serialize_all);
    EXPECT_EQ(config->turns, "launches");
    const auto turns =
        parse_config(R"({"dir": "d", "turns": "completions", "contexts": [{}]})", "here");
    ASSERT_TRUE(turns) << to_string(turns.error());
    EXPECT_EQ(turns->turns, "completions");
    const auto dispatch = parse_config(
        R"({"dir": "d", "contexts": [{"mode": "dispatch", "serialize_all": true}]})", "here");
    ASSERT_TRUE(dispatch);
    EXPECT_TRUE(dispatch->contexts[0].serialize_all);
    ASSERT_EQ(context.perf_counters.size(), 2u);
    EXPECT_EQ(context.perf_counters[0].simd_mask, 0xfu);
    EXPECT_EQ(context.perf_counters[1].id, 26u);
    EXPECT_EQ(context.perf_counters[1].simd_mask, 3u);
    EXPECT_EQ(context.perf_period, 7u);
    EXPECT_EQ(context.perf_exclude_mask, 6u);
    EXPECT_TRUE(context.samples_counters());
}

TEST(ToolConfigTest, WrongMembersAreNamed) {
    const struct {
        const char* text;
        const char* word;
    } rows[] = {
        {"", "JSON"},
        {"[]", "JSON"},
        {R"({"contexts": [{}]})", "dir"},
        {R"({"dir": "d"})", "contexts"},
        {R"({"dir": "d", "contexts": []})", "contexts"},
        {R"({"dir": "d", "contexts": [1]})", "contexts"},
        {R"({"dir": "d", "contexts": [{"cu": -1}]})", "cu"},
        {R"({"dir": "d", "contexts": [{"se_mask": 1.5}]})", "se_mask"},
        {R"({"dir": "d", "contexts": [{"agent": 4294967296}]})", "agent"},
        {R"({"dir": "d", "contexts": [{"detail": 1}]})", "detail"},
        {R"({"dir": "d", "contexts": [{"on_full": "stop"}]})", "on_full"},
        {R"({"dir": "d", "contexts": [{"serialize_all": 1}]})", "serialize_all"},
        {R"({"dir": "d", "contexts": [{"perf_counters": 4}]})", "perf_counters"},
        {R"({"dir": "d", "contexts": [{"perf_counters": [4]}]})", "perf_counters"},
        {R"({"dir": "d", "contexts": [{"perf_counters": [{"id": "x"}]}]})", "id"},
        {R"({"dir": "d", "contexts": [{"mode": "kernel"}]})", "kernel"},
        {R"({"dir": "d", "contexts": [{"mode": "device"}, {"mode": "dispatch"}]})", "both modes"},
        {R"({"dir": "d", "contexts": [{}], "window": 0})", "window"},
        {R"({"dir": "d", "contexts": [{}], "sharing": 1})", "sharing"},
        {R"({"dir": "d", "contexts": [{}], "turns": "ends"})", "turns"},
        {R"({"dir": "d", "contexts": [{"mode": "dispatch"}], "turns": "completions"})", "turns by"},
        {R"({"dir": "d", "contexts": [{"perf_counters": [{"id": 4}], "perf_period": 1}],
             "turns": "completions"})",
         "turns by"},
        {R"({"dir": "d", "contexts": [{}], "packets": "amd"})", "packets"},
        {R"({"dir": "d", "contexts": [{}], "kernel": "("})", "kernel"},
        {R"({"dir": "d", "contexts": [{}], "timing": "guessed"})", "timing"},
        {R"({"dir": "d", "contexts": [{}], "deadline_scale": 0})", "deadline_scale"},
    };
    for (const auto& row : rows) {
        const auto config = parse_config(row.text, "here");
        ASSERT_FALSE(config) << row.text;
        EXPECT_NE(config.error().message.find(row.word), std::string::npos)
            << row.text << ": " << config.error().message;
        EXPECT_EQ(config.error().where, "here");
    }
    EXPECT_EQ(read_config("/nonexistent/tool.json").error().code, ErrorCode::kIo);
}

TEST(RotationTest, EachContextTakesOneWindowInTurn) {
    Rotation rotation(3, 2, true);
    std::vector<int> taken;
    for (int i = 0; i < 14; ++i) {
        const auto next = rotation.next();
        taken.push_back(next ? static_cast<int>(*next) : -1);
    }
    EXPECT_EQ(taken, (std::vector<int>{0, -1, 1, -1, 2, -1, 0, -1, 1, -1, 2, -1, 0, -1}));
    EXPECT_EQ(rotation.matching(), 14u);
}

TEST(RotationTest, WithoutRotationTheFirstTakesAll) {
    Rotation rotation(3, 1, false);
    EXPECT_EQ(rotation.next(), 0u);
    for (int i = 0; i < 10; ++i)
        EXPECT_FALSE(rotation.next());
}

TEST(KernelTableTest, OnlySelectedKernelsOfTheApplicationMatch) {
    KernelTable table("mat|saxpy", "exclude_me");
    table.add({{0x1000, "_Z6matmulPf"},
               {0x2000, "saxpy"},
               {0x3000, "_Z10exclude_meP3mat"},
               {0x4000, "other"},
               {0x5000, "__amd_rocclr_fillBufferAligned_mat"}});
    EXPECT_EQ(table.find(0x1000).name, "matmul(float*)");
    EXPECT_TRUE(table.find(0x1000).matches);
    EXPECT_TRUE(table.find(0x2000).matches);
    EXPECT_FALSE(table.find(0x3000).matches);
    EXPECT_FALSE(table.find(0x4000).matches);
    EXPECT_FALSE(table.find(0x5000).matches);
    EXPECT_FALSE(table.find(0x6000).matches); // in no code object
    EXPECT_EQ(table.find(0x6000).name, "?");
}

} // namespace
} // namespace wavetap::tool
