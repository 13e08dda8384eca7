// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/verify_trial.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace wavetap::cli {
namespace {

using testing::kCode;
using testing::last_line;
using testing::perfect_records;
using testing::Trial;

using Kind = softgpu::TruthTraceEvent::Kind;

TEST(VerifyRulesTest, TargetWavesBesideTheRun_NothingExpected_Fails) {
    Trial trial;
    // Context 0's trace was on while nothing ran; its waves ran before.
    trial.scene.truth.trace_events[0].time = 15000;
    trial.records[{0, 0}] =
        perfect_records(trial.scene, 0, 15000, 20000, trial.scene.process.contexts[0]);
    const VerifyReport report = trial.verify();
    EXPECT_TRUE(report.contexts[0].vacuous);
    EXPECT_FALSE(report.good());
    EXPECT_NE(verify_text(report).find("nothing was expected of the trace, although 5 waves"),
              std::string::npos)
        << verify_text(report);
}

TEST(VerifyRulesTest, TargetWithoutWaves_OccupancyAlone_Good) {
    Trial trial;
    trial.scene.process.contexts[0].cu = 9;
    trial.records[{0, 0}] =
        perfect_records(trial.scene, 0, 10000, 20000, trial.scene.process.contexts[0]);
    const VerifyReport report = trial.verify();
    EXPECT_TRUE(report.good()) << verify_text(report);
    EXPECT_EQ(report.contexts[0].instructions.expected, 0U);
    EXPECT_EQ(report.contexts[0].waves.matched, 16U);
}

TEST(VerifyRulesTest, WithoutDetail_AnyInstructionIsExtra) {
    Trial trial;
    trial.scene.process.contexts[0].detail = false;
    EXPECT_EQ(trial.verify().contexts[0].instructions.extra, 20U);
    trial.records[{0, 0}] =
        perfect_records(trial.scene, 0, 10000, 20000, trial.scene.process.contexts[0]);
    const VerifyReport report = trial.verify();
    EXPECT_TRUE(report.good()) << verify_text(report);
}

TEST(VerifyRulesTest, ContextThatNeverRan_FailsIfItsTargetHadWaves) {
    Trial trial;
    store::ContextInfo idle = trial.scene.process.contexts[0];
    idle.id = 2;
    idle.cu = 3;
    trial.scene.process.contexts.push_back(idle);
    VerifyReport report = trial.verify();
    EXPECT_TRUE(report.contexts[2].vacuous);
    EXPECT_FALSE(report.good());
    EXPECT_NE(verify_text(report).find("the context never ran"), std::string::npos);
    EXPECT_NE(verify_text(report).find("contexts: 2 good, 1 failed; "), std::string::npos);
    trial.scene.process.contexts[2].cu = 9;
    report = trial.verify();
    EXPECT_TRUE(report.good()) << verify_text(report);
}

TEST(VerifyRulesTest, EngineArmedUnasked_Fails) {
    Trial trial;
    trial.scene.truth.trace_events.push_back({0, 4, Kind::kArm, 100, 0x1000, 4096, 0});
    const VerifyReport report = trial.verify();
    EXPECT_EQ(report.unrequested, 1U);
    EXPECT_FALSE(report.good());
    EXPECT_EQ(last_line(verify_text(report)), "61 passed, 1 failed");
}

TEST(VerifyRulesTest, AgentWithoutContextArmed_Fails) {
    Trial trial;
    trial.scene.truth.chips.push_back("gfx90a");
    EXPECT_TRUE(trial.verify().good());
    trial.scene.truth.trace_events.push_back({1, 0, Kind::kArm, 100, 0x1000, 4096, 0});
    EXPECT_FALSE(trial.verify().good());
}

TEST(VerifyRulesTest, SecondEngineNeverArmed_ItsWavesAreMissing) {
    Trial trial;
    trial.scene.process.contexts[0].se_mask = 0x9;
    const VerifyReport report = trial.verify();
    const VerifyContext& context = report.contexts[0];
    EXPECT_EQ(context.waves.expected, 17U);
    EXPECT_EQ(context.waves.missing, 1U);
    EXPECT_EQ(context.instructions.missing, 5U);
    EXPECT_TRUE(context.broken);
    EXPECT_FALSE(report.good());
}

TEST(VerifyRulesTest, SecondEngineNeverArmedAndIdle_StillFails) {
    Trial trial;
    trial.scene.process.contexts[0].se_mask = 0x11;
    const VerifyReport report = trial.verify();
    EXPECT_TRUE(report.contexts[0].waves.good());
    EXPECT_FALSE(report.good());
}

TEST(VerifyRulesTest, SeveralEngines_EachInItsOwnBytes) {
    Trial trial;
    trial.scene.process.contexts.push_back({2, 0, 0x9, 1, 0xf, 1 << 20, 1, true, "device"});
    trial.scene.add_run(2, 2, {0, 3}, 50000, 60000);
    trial.scene.add_wave(1, 0, 0, 51000);
    trial.scene.add_wave(1, 1, 0, 52000, 400, kCode, 3);
    for (const std::uint16_t se : {std::uint16_t{0}, std::uint16_t{3}})
        trial.records[{2, se}] =
            perfect_records(trial.scene, se, 50000, 60000, trial.scene.process.contexts[2]);
    VerifyReport report = trial.verify();
    EXPECT_TRUE(report.good()) << verify_text(report);
    EXPECT_EQ(report.contexts[2].waves.expected, 2U);
    EXPECT_EQ(report.contexts[2].instructions.expected, 10U);
    std::swap(trial.records[{2, 0}], trial.records[{2, 3}]);
    report = trial.verify();
    EXPECT_EQ(report.contexts[2].waves.missing, 2U);
    EXPECT_EQ(report.contexts[2].waves.extra, 2U);
}

TEST(VerifyRulesTest, MoreBytesThanArmedTimes_AllExtra) {
    Trial trial;
    trial.scene.add_wave(5, 0, 0, 35000).end = 0; // never ends, and is in no interval of these
    store::ChunkInfo again = trial.scene.process.runs[1].chunks[0];
    trial.scene.process.runs[1].chunks.push_back(again);
    const VerifyReport report = trial.verify();
    const VerifyContext& context = report.contexts[1];
    EXPECT_EQ(context.waves.matched, 16U);
    EXPECT_EQ(context.waves.extra, 16U);
    EXPECT_EQ(context.apart.open_at_end, 1U);
    EXPECT_EQ(context.apart.open_at_start, 0U);
    EXPECT_FALSE(report.good());
}

TEST(VerifyRulesTest, NothingToVerify_Fails) {
    Trial trial;
    trial.scene.process.runs.clear();
    trial.scene.process.contexts.clear();
    trial.scene.truth = {};
    const VerifyReport report = trial.verify();
    EXPECT_FALSE(report.good());
    EXPECT_EQ(last_line(verify_text(report)), "0 passed, 0 failed");
    EXPECT_NE(verify_text(report).find("nothing to verify"), std::string::npos);
}

TEST(VerifyRulesTest, RunOfUnknownContext_Fails) {
    Trial trial;
    trial.scene.process.runs[1].info.context = 7;
    EXPECT_FALSE(trial.verify().good());
}

TEST(VerifyPrintTest, Json_HasEveryTally) {
    Trial trial;
    trial.target_wave().instructions[2].pc.absolute += 4;
    const VerifyReport report = trial.verify();
    const nlohmann::json object = nlohmann::json::parse(verify_json(report));
    EXPECT_EQ(object["format"], "wavetap-verify");
    EXPECT_EQ(object["version"], 1);
    EXPECT_EQ(object["good"], false);
    EXPECT_EQ(object["passed"], 61);
    EXPECT_EQ(object["failed"], 1);
    EXPECT_EQ(object["contexts"][0]["instructions"]["differing"], 1);
    EXPECT_EQ(object["contexts"][0]["waves"]["matched"], 16);
    EXPECT_EQ(object["contexts"][1]["good"], true);
    EXPECT_EQ(object["contexts"][0]["faults"].size(), 1U);
    EXPECT_EQ(object["contexts"][0]["timing"], "modelled");
}

TEST(VerifyPrintTest, Text_ContextLinesAndTiming) {
    const std::string text = verify_text(Trial().verify());
    EXPECT_EQ(text.rfind("timing: modelled\n", 0), 0U) << text;
    EXPECT_NE(text.find("context 1: agent 0 (gfx90a) SE 0x1 CU 2 SIMD 0,1, 1 run: good\n"
                        "  waves         expected 16, matched 16, missing 0, extra 0, differing 0\n"
                        "  instructions  expected 10, matched 10, missing 0, extra 0, "
                        "differing 0\n"),
              std::string::npos)
        << text;
}

} // namespace
} // namespace wavetap::cli
