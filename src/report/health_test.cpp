// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "report/blob_for_test.hpp"
#include "report/format.hpp"
#include "report/health.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace wavetap::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class HealthTest : public ::testing::Test {
  protected:
    Blob good_blob() {
        Blob blob = trace_.blob();
        blob.records.waves = {wave_at(pc_at(0x1a00), 0, 10)};
        blob.records.tokens_total = 4;
        return blob;
    }
    TestTrace trace_;
};

TEST_F(HealthTest, AllWellNeedsNoAdvice) {
    const EngineHealth health = judge(good_blob());
    EXPECT_TRUE(health.good());
    EXPECT_EQ(health.stop, StopReason::kEnd);
    EXPECT_EQ(health.waves, 1u);
    EXPECT_EQ(health.waves_on_target, 1u);
    EXPECT_EQ(health.waves_foreign, 0u);
}

TEST_F(HealthTest, WhyItStopped) {
    Blob blob = good_blob();
    blob.gpu_full = true;
    EXPECT_EQ(judge(blob).stop, StopReason::kGpuFull);
    EXPECT_THAT(judge(blob).advice, ElementsAre(HasSubstr("buffer of 1 MiB was full")));
    blob.gpu_full = false;
    blob.cpu_full = true;
    EXPECT_EQ(judge(blob).stop, StopReason::kCpuFull);
    blob.cpu_full = false;
    blob.ended = false;
    EXPECT_EQ(judge(blob).stop, StopReason::kKilled);
    blob.ended = true;
    trace_.process().runs[0].complete = false;
    EXPECT_EQ(judge(blob).stop, StopReason::kKilled);
    EXPECT_FALSE(judge(blob).good());
}

TEST_F(HealthTest, WavesThatMissTheTarget) {
    Blob blob = trace_.blob();
    EXPECT_THAT(judge(blob).advice, ElementsAre(HasSubstr("No wave started")));
    decode::WaveRecord wave = wave_at(pc_at(0x1a00), 0, 10);
    wave.on_target = false;
    wave.complete = false;
    blob.records.waves = {wave, wave};
    const EngineHealth missed = judge(blob);
    EXPECT_THAT(missed.advice,
                ElementsAre(HasSubstr("None of the 2 waves ran on CU 1 SIMD 0,1,2,3")));
    EXPECT_EQ(missed.waves_open, 2u);
    EXPECT_THAT(to_text(Health{.dirs = {}, .timing = "", .engines = {missed}, .problems = {}}),
                HasSubstr("SE  CU  runs"));
    blob.records.generation = "gfx11";
    const EngineHealth wgp = judge(blob);
    EXPECT_THAT(wgp.advice, ElementsAre(HasSubstr("ran on WGP 1 SIMD 0,1,2,3")));
    EXPECT_THAT(to_text(Health{.dirs = {}, .timing = "", .engines = {wgp}, .problems = {}}),
                HasSubstr("SE  WGP  runs"));
    blob.records.generation = "gfx9";
    trace_.process().contexts[0].detail = false;
    EXPECT_THAT(judge(blob).advice, IsEmpty()) << "no detail was asked for";
}

TEST_F(HealthTest, ForeignWavesAreThoseOfNoCodeObject) {
    Blob blob = good_blob();
    decode::WaveRecord foreign = wave_at({0x5000, 0, 0}, 0, 10);
    decode::WaveRecord unknown = wave_at({}, 0, 10);
    blob.records.waves.push_back(foreign);
    blob.records.waves.push_back(unknown);
    EXPECT_EQ(judge(blob).waves_foreign, 1u);
    EXPECT_TRUE(judge(blob).good());
    blob.records.waves = {foreign};
    EXPECT_THAT(judge(blob).advice, ElementsAre(HasSubstr("All waves ran code")));
}

TEST_F(HealthTest, LossesTellWhereAndInfoIsNoLoss) {
    Blob blob = good_blob();
    blob.records.diagnostics = {{"packets-lost", "data-loss", "Use a larger buffer.", 2, 0x40, 77},
                                {"late-start", "info", "", 1, 0, 0}};
    const EngineHealth health = judge(blob);
    ASSERT_EQ(health.losses.size(), 1u);
    EXPECT_EQ(health.losses[0].first_offset_bytes, 0x40u);
    EXPECT_EQ(health.losses[0].first_time, 77u);
    EXPECT_FALSE(health.good());
    Health all;
    all.engines = {health, health};
    all.engines[1].se = 1;
    EXPECT_THAT(to_text(all), HasSubstr("context 3, SE 0,1: packets-lost x 4, first in run 5 on "
                                        "SE 0 at byte 64, clock 77."));
}

TEST_F(HealthTest, ErrorsAndImpossibleSizes) {
    Blob blob = trace_.blob();
    blob.error = Error{ErrorCode::kCorrupt, "bad header", "offset 0", ""};
    EXPECT_THAT(judge(blob).advice, ElementsAre(HasSubstr("bad header (offset 0)")));
    blob = good_blob();
    blob.bytes = blob.capacity_bytes + 96;
    EXPECT_THAT(judge(blob).advice, ElementsAre(HasSubstr("write pointer")));
}

TEST_F(HealthTest, TextAndJson) {
    Health health;
    health.dirs = {"/traces/x"};
    health.timing = "modelled";
    health.engines = {judge(good_blob()), judge(trace_.blob())};
    health.engines[1].se = 1;
    health.problems = {"process 42 was killed"};
    health.good = false;
    const std::string text = to_text(health);
    EXPECT_THAT(text, ::testing::StartsWith("timing: modelled"));
    EXPECT_THAT(text, HasSubstr("context 3, SE 1, 1 recording: No wave started"));
    EXPECT_THAT(text, HasSubstr("process 42 was killed"));
    EXPECT_THAT(text, HasSubstr("1 of 2 engine recordings hold all that was asked for"));
    const auto json = nlohmann::json::parse(to_json(health));
    EXPECT_EQ(json["format"], "wavetap-health");
    EXPECT_EQ(json["version"], 1);
    EXPECT_EQ(json["good"], false);
    ASSERT_EQ(json["engines"].size(), 2u);
    EXPECT_EQ(json["engines"][0]["stop"], "end");
    EXPECT_EQ(json["engines"][0]["waves_on_target"], 1);
    EXPECT_EQ(json["engines"][1]["good"], false);
}

TEST_F(HealthTest, SegmentsOfOneEngineAddUp) {
    trace_.process().contexts[0].buffers = 3;
    Blob first = trace_.blob();
    first.segments = 2;
    first.cpu_full = true;
    first.dropped = 2;
    EngineHealth health = judge(first);
    Blob second = trace_.blob();
    second.segments = 2;
    second.segment = 1;
    second.dropped = 3;
    second.bytes = 5 << 20;
    add_segment(health, judge(second));
    EXPECT_EQ(health.segments, 2u);
    EXPECT_EQ(health.bytes, 1024u + (5u << 20));
    EXPECT_EQ(health.dropped, 5u);
    EXPECT_EQ(health.stop, StopReason::kCpuFull) << "the pause is what counts";
    ASSERT_EQ(health.advice.size(), 1u) << "more bytes than one buffer are no fault here";
    EXPECT_NE(health.advice[0].find("--buffers"), std::string::npos);
    Blob lost = trace_.blob();
    lost.lost = true;
    EXPECT_EQ(judge(lost).stop, StopReason::kLost);
    Blob halted = trace_.blob();
    halted.halted = true;
    EXPECT_EQ(judge(halted).stop, StopReason::kHalted);
}

TEST_F(HealthTest, EveryStopReasonHasItsWord) {
    EXPECT_STREQ(stop_reason_name(StopReason::kEnd), "end");
    EXPECT_STREQ(stop_reason_name(StopReason::kGpuFull), "full");
    EXPECT_STREQ(stop_reason_name(StopReason::kCpuFull), "overrun");
    EXPECT_STREQ(stop_reason_name(StopReason::kKilled), "killed");
    EXPECT_STREQ(stop_reason_name(StopReason::kNothing), "nothing");
}

} // namespace
} // namespace wavetap::report
