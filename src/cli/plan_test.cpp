// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/units.hpp"
#include "cli/gpu.hpp"
#include "cli/plan.hpp"
#include "cli/words.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <bit>
#include <map>
#include <set>

namespace wavetap::cli {
namespace {

ChipShape gfx90a() {
    return software_chip("gfx90a").value();
}

Plan plan_of(const RecordOptions& options) {
    const Result<Plan> plan = make_plan(options, gfx90a());
    EXPECT_TRUE(plan) << to_string(plan.error());
    return plan ? *plan : Plan{};
}

Error refusal_of(const RecordOptions& options) {
    const Result<Plan> plan = make_plan(options, gfx90a());
    EXPECT_FALSE(plan);
    return plan ? Error{} : plan.error();
}

TEST(PlanTest, NoOptions_OneContextOfTheDefaults) {
    const Plan plan = plan_of({});
    EXPECT_EQ(plan.mode, "dispatch");
    EXPECT_FALSE(plan.every_launch);
    EXPECT_EQ(plan.window, 2u);
    EXPECT_FALSE(plan.rotate);
    ASSERT_EQ(plan.contexts.size(), 1u);
    EXPECT_EQ(plan.contexts[0].se_mask, 1u);
    EXPECT_EQ(plan.contexts[0].cu, 1u);
    EXPECT_EQ(plan.contexts[0].simd_mask, 0xfu);
    EXPECT_EQ(plan.contexts[0].buffer_bytes, 128 * kMiB);
    EXPECT_EQ(plan.contexts[0].buffers, 1u);
    EXPECT_TRUE(plan.contexts[0].detail);
}

TEST(PlanTest, Gfx10AndLater_DefaultIsSimdZero) {
    ChipShape chip = gfx90a();
    chip.topology.gfx = "gfx1100";
    const Result<Plan> plan = make_plan({}, chip);
    if (plan) {
        EXPECT_EQ(plan->contexts.at(0).simd_mask, 1u);
    } else { // the packet builder may not know the chip yet; it must say so
        EXPECT_EQ(plan.error().code, ErrorCode::kUnsupported) << to_string(plan.error());
    }
}

TEST(PlanTest, Contexts_FollowTheRuleAndTakeSizesByTurns) {
    RecordOptions options;
    options.contexts = "9";
    options.buffer = "1MiB,64MiB";
    const Plan plan = plan_of(options);
    ASSERT_EQ(plan.contexts.size(), 9u);
    EXPECT_TRUE(plan.rotate);
    for (std::uint32_t i = 0; i < 9; ++i) {
        const PlannedContext& context = plan.contexts[i];
        EXPECT_EQ(context.id, i);
        EXPECT_EQ(context.cu, i % 4);
        EXPECT_EQ(context.se_mask, i % 2 == 0 ? 0x1u : 0x3u);
        EXPECT_EQ(context.simd_mask, 1u << (i % 4));
        EXPECT_EQ(context.buffer_bytes, (i % 2 == 0 ? 1 : 64) * kMiB);
    }
}

TEST(PlanTest, Contexts_KeepWhatTheUserFixed) {
    RecordOptions options;
    options.contexts = "4";
    options.cu = "7";
    options.se = "0x10";
    options.simd = "0,3";
    for (const PlannedContext& context : plan_of(options).contexts) {
        EXPECT_EQ(context.cu, 7u);
        EXPECT_EQ(context.se_mask, 0x10u);
        EXPECT_EQ(context.simd_mask, 0x9u);
    }
}

TEST(PlanTest, Sweep_VisitsEveryComputeUnitOnceAndNoFusedOne) {
    RecordOptions options;
    options.sweep = "se,cu";
    options.buffer = "1MiB";
    std::set<std::pair<std::uint64_t, std::uint32_t>> seen;
    const Plan plan = plan_of(options);
    for (const PlannedContext& context : plan.contexts)
        seen.insert({context.se_mask, context.cu});
    EXPECT_EQ(plan.contexts.size(), 110u); // gfx90a has 110 of 112
    EXPECT_EQ(seen.size(), 110u);
    EXPECT_FALSE(seen.contains({1u << 6, 13}));
    options.sweep = "se,cu,simd";
    EXPECT_EQ(plan_of(options).contexts.size(), 440u);
    options.sweep = "simd";
    EXPECT_EQ(plan_of(options).contexts.size(), 4u);
    options.contexts = "6"; // more than the sweep has: from the start again
    EXPECT_EQ(plan_of(options).contexts.at(5).simd_mask, 2u);
}

TEST(PlanTest, OtherOptions_AreTaken) {
    RecordOptions options;
    options.no_detail = true;
    options.window = "5";
    options.kernel = "mat(mul|vec)";
    options.kernel_exclude = "^__amd";
    const Plan plan = plan_of(options);
    EXPECT_FALSE(plan.contexts.at(0).detail);
    EXPECT_EQ(plan.window, 5u);
    EXPECT_EQ(plan.kernel, "mat(mul|vec)");
    EXPECT_EQ(plan.kernel_exclude, "^__amd");
}

struct Refused {
    std::string RecordOptions::*option;
    const char* value;
    const char* message;
    const char* where;
};

TEST(PlanTest, BadValues_AreRefusedInWords) {
    const Refused table[] = {
        {&RecordOptions::mode, "x", "'x' is not a mode", "--mode"},
        {&RecordOptions::se, "0", "0 is less than 1", "--se"},
        {&RecordOptions::se, "-1", "'-1' is not a number", "--se"},
        {&RecordOptions::se, "0x100", "se_mask = 0x100 does not select engines", "context 0"},
        {&RecordOptions::se, "0x10000000000000001", "is not a number", "--se"},
        {&RecordOptions::cu, "16", "16 is outside 0..15", "--cu"},
        {&RecordOptions::cu, "0x101", "257 is outside 0..15", "--cu"},
        {&RecordOptions::cu, "14", "target_cu = 14 is outside", "context 0"},
        {&RecordOptions::simd, "4", "4 is outside 0..3", "--simd"},
        {&RecordOptions::simd, "0,", "'' is not a number", "--simd"},
        {&RecordOptions::simd, "a", "'a' is not a number", "--simd"},
        {&RecordOptions::buffer, "64MB", "'64MB' is not a size", "--buffer"},
        {&RecordOptions::buffer, "0", "'0' is not a size", "--buffer"},
        {&RecordOptions::buffer, "1MiB,,2MiB", "'' is not a size", "--buffer"},
        {&RecordOptions::buffer, "4096", "buffer_bytes = 4096 is outside", "context 0"},
        {&RecordOptions::buffer, "9999999999GiB", "is not a size below", "--buffer"},
        {&RecordOptions::buffers, "0", "0 is outside 1..16", "--buffers"},
        {&RecordOptions::buffers, "17", "17 is outside 1..16", "--buffers"},
        {&RecordOptions::buffers, "2", "buffers = 2 is outside 1, 3..16", "context 0"},
        {&RecordOptions::buffers, "1,x", "'x' is not a number", "--buffers"},
        {&RecordOptions::stream_rate, "fast", "'fast' is not a size", "--stream-rate"},
        {&RecordOptions::on_full, "end", "with one buffer a trace ends", "--on-full"},
        {&RecordOptions::contexts, "0", "0 is outside 1..100000", "--contexts"},
        {&RecordOptions::contexts, "100001", "100001 is outside 1..100000", "--contexts"},
        {&RecordOptions::contexts, "many", "'many' is not a number", "--contexts"},
        {&RecordOptions::sweep, "wave", "'wave' cannot be swept", "--sweep"},
        {&RecordOptions::window, "0", "0 is outside 1..1000000", "--window"},
        {&RecordOptions::packets, "amd", "'amd' makes no packets that we know", "--packets"},
        {&RecordOptions::kernel, "(", "'(' is not a regular expression", "--kernel"},
        {&RecordOptions::kernel_exclude, "[", "is not a regular expression", "--kernel-exclude"},
    };
    for (const Refused& row : table) {
        RecordOptions options;
        options.*row.option = row.value;
        const Error error = refusal_of(options);
        EXPECT_NE(error.message.find(row.message), std::string::npos) << to_string(error);
        EXPECT_EQ(error.where, row.where) << to_string(error);
    }
}

TEST(PlanTest, Buffers_ByTurns_OneEngineUnlessAskedForByName) {
    RecordOptions options;
    options.buffers = "1,3,16";
    options.buffer = "1MiB,4MiB";
    options.contexts = "12";
    std::set<std::pair<std::uint32_t, std::uint64_t>> seen;
    for (const PlannedContext& context : plan_of(options).contexts) {
        seen.insert({context.buffers, context.buffer_bytes});
        EXPECT_TRUE(context.buffers == 1 || std::popcount(context.se_mask) == 1) << context.id;
        EXPECT_FALSE(context.several_engines);
    }
    EXPECT_EQ(seen.size(), 6u) << "every size with every number of buffers";
    options.stream_engines = true;
    EXPECT_EQ(plan_of(options).contexts[1].se_mask, 0x3u);
    options = {};
    options.buffers = "3";
    options.se = "0x3";
    EXPECT_NE(refusal_of(options).hint.find("--stream-engines"), std::string::npos);
    options.stream_engines = true;
    EXPECT_EQ(plan_of(options).contexts.size(), 1u);
    options.mode = "dispatch";
    EXPECT_EQ(refusal_of(options).where, "--buffers");
}

TEST(PlanTest, OnFull_IsForSeveralBuffersAndReachesTheTool) {
    RecordOptions options;
    options.buffers = "3";
    EXPECT_EQ(plan_of(options).contexts[0].on_full, "chip");
    for (const char* what : {"restart", "end", "chip"}) {
        options.on_full = what;
        const auto config = nlohmann::json::parse(tool_config(plan_of(options), "/t"));
        EXPECT_EQ(config["contexts"][0]["on_full"], what);
    }
    options.on_full = "stop";
    EXPECT_EQ(refusal_of(options).message, "'stop' is nothing that a trace can do");
    EXPECT_EQ(refusal_of(options).where, "--on-full");
    options.buffers = "1,3";
    options.on_full = "end";
    EXPECT_EQ(plan_of(options).contexts[0].buffers, 1u);
}

TEST(PlanTest, FusedComputeUnit_IsRefused) {
    RecordOptions options;
    options.cu = "13";
    options.se = "0xc0";
    EXPECT_EQ(refusal_of(options).message, "CU 13 is fused off in the selected shader engines");
    options.se = "0x80";
    options.sweep = "cu";
    EXPECT_EQ(plan_of(options).contexts.size(), 13u);
}

TEST(PlanTest, ToolConfig_HasTheAgreedKeys) {
    RecordOptions options;
    options.contexts = "2";
    options.kernel = "a\"b";
    const auto config = nlohmann::json::parse(tool_config(plan_of(options), "/t/dir"));
    EXPECT_EQ(config["dir"], "/t/dir");
    EXPECT_EQ(config["window"], 2);
    EXPECT_EQ(config["rotate"], true);
    EXPECT_EQ(config["kernel"], "a\"b");
    EXPECT_EQ(config["timing"], "modelled");
    EXPECT_GE(config["deadline_scale"], 1);
    ASSERT_EQ(config["contexts"].size(), 2u);
    EXPECT_EQ(config["contexts"][1],
              nlohmann::json::parse(R"({"id":1,"agent":0,"se_mask":3,"cu":1,"simd_mask":2,)"
                                    R"("buffer_bytes":134217728,"buffers":1,"detail":true,)"
                                    R"("mode":"dispatch"})"));
}

TEST(PlanTest, Counters_ByNameAndNumber) {
    RecordOptions options;
    options.perf_counters = "SQ_WAVES,SQ_INSTS_VALU:0x3,25:8";
    EXPECT_EQ(plan_of(options).contexts[0].perf_period, 10u);
    options.perf_period = "32";
    options.perf_exclude = "0xfffd";
    const auto config = nlohmann::json::parse(tool_config(plan_of(options), "/t"));
    EXPECT_EQ(config["contexts"][0]["perf_counters"],
              nlohmann::json::parse(R"([{"id":4,"simd_mask":15},{"id":26,"simd_mask":3},)"
                                    R"({"id":25,"simd_mask":8}])"));
    EXPECT_EQ(config["contexts"][0]["perf_period"], 32);
    EXPECT_EQ(config["contexts"][0]["perf_exclude_mask"], 0xfffd);
}

TEST(PlanTest, Counters_WhatIsWrongIsNamed) {
    const struct {
        const char *counters, *period, *exclude, *where, *words;
    } rows[] = {
        {"SQ_NONE", "", "", "--perf-counter", "gfx90a has no SQ counter 'SQ_NONE'"},
        {"189", "", "", "--perf-counter", "gfx90a has no SQ counter '189'"},
        {"4294967300", "", "", "--perf-counter", "outside"},
        {"SQ_IFETCH", "", "", "--perf-counter", "the software GPU does not count SQ_IFETCH"},
        {"SQ_WAVES:0", "", "", "--perf-counter", "outside"},
        {"SQ_WAVES:0x10f", "", "", "--perf-counter", "outside"},
        {"4,4,4,4,4,4,4,4,4", "", "", "--perf-counter", "9 counters"},
        {"SQ_WAVES", "0", "", "--perf-period", "outside"},
        {"SQ_WAVES", "33", "", "--perf-period", "outside"},
        {"SQ_WAVES", "", "0x100000000", "--perf-exclude", "outside"},
        {"", "3", "", "--perf-period", "no counter"},
        {"", "", "1", "--perf-exclude", "no counter"},
    };
    for (const auto& row : rows) {
        RecordOptions options;
        options.perf_counters = row.counters;
        options.perf_period = row.period;
        options.perf_exclude = row.exclude;
        const Error error = refusal_of(options);
        EXPECT_EQ(error.where, row.where) << to_string(error);
        EXPECT_NE(error.message.find(row.words), std::string::npos) << to_string(error);
    }
    ChipShape chip = gfx90a();
    chip.topology.gfx = "gfx1100";
    RecordOptions options;
    options.perf_counters = "SQ_WAVES";
    EXPECT_EQ(make_plan(options, chip).error().message, "the trace of gfx1100 has no counters");
}

TEST(PlanTest, DispatchMode_ReachesContextsAndTool) {
    RecordOptions options;
    options.mode = "dispatch";
    options.every_launch = true;
    const auto config = nlohmann::json::parse(tool_config(plan_of(options), "/t"));
    EXPECT_EQ(config["contexts"][0]["mode"], "dispatch");
    EXPECT_EQ(config["every_launch"], true);
}

TEST(PlanTest, ManyBuffers_AreForDeviceMode) {
    RecordOptions options;
    options.buffers = "3";
    options.mode = "dispatch";
    EXPECT_EQ(refusal_of(options).where, "--buffers");
    EXPECT_EQ(refusal_of(options).hint, "add --mode device");
    options.buffers = "1";
    EXPECT_EQ(plan_of(options).mode, "dispatch");
}

TEST(PlanTest, EveryLaunch_NeedsDispatchMode) {
    RecordOptions options;
    options.every_launch = true;
    EXPECT_TRUE(plan_of(options).every_launch);
    options.mode = "device";
    EXPECT_EQ(refusal_of(options).where, "--every-launch");
}

TEST(PlanTest, SerializeAll_NeedsDispatchModeAndReachesTheTool) {
    RecordOptions options;
    options.serialize_all = true;
    const auto config = nlohmann::json::parse(tool_config(plan_of(options), "/t"));
    EXPECT_EQ(config["contexts"][0]["serialize_all"], true);
    options.mode = "device";
    EXPECT_EQ(refusal_of(options).where, "--serialize-all");
}

TEST(PlanTest, HundredThousandContexts_ArePlanned) {
    RecordOptions options;
    options.contexts = "100000";
    const Plan plan = plan_of(options);
    EXPECT_EQ(plan.contexts.size(), 100000u);
    EXPECT_LT(plan_text(plan, gfx90a()).size(), 10000u);
}

TEST(WordsTest, CountsAndBits) {
    EXPECT_EQ(count_of(1, "dispatch"), "1 dispatch");
    EXPECT_EQ(count_of(2, "dispatch"), "2 dispatches");
    EXPECT_EQ(count_of(1234, "wave"), "1,234 waves");
    EXPECT_EQ(grouped(0), "0");
    EXPECT_EQ(grouped(999), "999");
    EXPECT_EQ(grouped(1000), "1,000");
    EXPECT_EQ(grouped(18446744073709551615u), "18,446,744,073,709,551,615");
    EXPECT_EQ(size_text(100), "100 B");
    EXPECT_EQ(size_text(67117056), "64.0 MiB");
    EXPECT_EQ(bits_text(0), "-");
    EXPECT_EQ(bits_text(0xf), "0-3");
    EXPECT_EQ(bits_text(0x3), "0,1");
    EXPECT_EQ(bits_text(0x5), "0,2");
    EXPECT_EQ(bits_text(0x8000000000000000u), "63");
}

ChipShape four_agents() {
    ChipShape chip = gfx90a();
    chip.agents = 4;
    return chip;
}

TEST(PlanTest, SeveralAgents_ContextsAreDealtOut) {
    RecordOptions options;
    options.contexts = "10";
    options.buffer = "2MiB,1MiB";
    const auto plan = make_plan(options, four_agents());
    ASSERT_TRUE(plan) << to_string(plan.error());
    ASSERT_EQ(plan->contexts.size(), 10u);
    for (std::uint32_t i = 0; i < 10; ++i) {
        EXPECT_EQ(plan->contexts[i].agent, i % 4);
        // Within its agent a context varies as it would on one agent alone.
        EXPECT_EQ(plan->contexts[i].cu, i / 4);
        EXPECT_EQ(plan->contexts[i].buffer_bytes, i / 4 % 2 == 0 ? 2 * kMiB : kMiB);
    }
    EXPECT_TRUE(plan->rotate);
}

TEST(PlanTest, SeveralAgents_WithoutContextsEachGetsAll) {
    const auto one = make_plan({}, four_agents());
    ASSERT_TRUE(one);
    EXPECT_EQ(one->contexts.size(), 4u);
    EXPECT_FALSE(one->rotate); // one context an agent
    RecordOptions options;
    options.agents = "3,1";
    options.sweep = "simd";
    const auto swept = make_plan(options, four_agents());
    ASSERT_TRUE(swept);
    std::map<std::uint32_t, std::uint32_t> simds; // agent: SIMDs seen
    for (const PlannedContext& context : swept->contexts)
        simds[context.agent] |= context.simd_mask;
    EXPECT_EQ(simds, (std::map<std::uint32_t, std::uint32_t>{{1, 0xf}, {3, 0xf}}));
    for (const char* wrong : {"4", "1,1", "x"}) {
        options.agents = wrong;
        EXPECT_EQ(make_plan(options, four_agents()).error().where, "--agent") << wrong;
    }
}

TEST(PlanTest, SoftwareGpu_EachChipMayHaveThePrefix) {
    const auto two = parse_gpu("soft:gfx90a,soft:gfx90a");
    ASSERT_TRUE(two);
    EXPECT_EQ(two->chips, (std::vector<std::string>{"gfx90a", "gfx90a"}));
    EXPECT_FALSE(parse_gpu("soft:gfx90a,"));
}

} // namespace
} // namespace wavetap::cli
