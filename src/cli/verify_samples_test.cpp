// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/verify_trial.hpp"

#include <gtest/gtest.h>

namespace wavetap::cli {
namespace {

using testing::Trial;

/// Context 0 with samples of two moments; what the trace says of them.
Trial counting_trial() {
    Trial trial;
    store::ContextInfo& context = trial.scene.process.contexts[0];
    context.perf_counters = {{"SQ_WAVES", 4, 0xf}, {"SQ_INSTS_VALU", 26, 0x3}};
    context.perf_period = 3;
    trial.scene.truth.samplings.push_back({0, 0, 10000, 3, 0xFFFF, {0x0F000004, 0x0300001A}});
    for (const std::uint64_t clock : {12000U, 12180U})
        for (std::uint8_t cu = 0; cu < 3; ++cu) {
            trial.scene.truth.samples.push_back({0, 0, cu, 0, clock, {4, cu, 0, 0}});
            decode::PerfRecord record;
            record.time = clock - 10000;
            record.cu = cu;
            record.counters[0] = 4;
            record.counters[1] = cu;
            trial.records[{0, 0}].perf.push_back(record);
        }
    return trial;
}

TEST(VerifyTest, Samples_MatchAndZerosOfTheReaderAreNone) {
    Trial trial = counting_trial();
    decode::PerfRecord filler;
    filler.time = 3000;
    trial.records[{0, 0}].perf.push_back(filler);
    const VerifyReport report = trial.verify();
    EXPECT_TRUE(report.good()) << verify_text(report);
    EXPECT_EQ(report.contexts[0].samples.matched, 6U);
    EXPECT_EQ(report.passed(), 68U);
    EXPECT_NE(verify_text(report).find("counters      expected 6, matched 6"), std::string::npos);
    EXPECT_NE(verify_json(report).find("\"samples\":{\"expected\":6"), std::string::npos);
}

TEST(VerifyTest, Samples_EveryWayToBeWrong) {
    const struct {
        const char* words;
        std::function<void(Trial&)> spoil;
    } rows[] = {
        {"counted 4, 1, 0, 0, the trace says 4, 9, 0, 0",
         [](Trial& t) {
             t.records[{0, 0}].perf[1].counters[1] = 9;
         }},
        {"the sample of CU 2 bank 0 at clock 12180 is not in the trace",
         [](Trial& t) {
             t.records[{0, 0}].perf.pop_back();
         }},
        {"at clock 12004 was not taken",
         [](Trial& t) {
             t.records[{0, 0}].perf[0].time += 4;
         }},
        {"bank 1 at clock 12000 was not taken",
         [](Trial& t) {
             t.records[{0, 0}].perf[0].bank = 1;
         }},
        {"sampled other counters", [](Trial& t) { t.scene.truth.samplings[0].period = 4; }},
        {"sampled other counters", [](Trial& t) { t.scene.truth.samplings[0].cu_mask = 1; }},
        {"sampled other counters", [](Trial& t) { t.scene.truth.samplings[0].counters[1] = 26; }},
        {"0 times, not once", [](Trial& t) { t.scene.truth.samplings.clear(); }},
        {"1 times, which nobody asked for",
         [](Trial& t) {
             t.scene.truth.samplings.push_back({0, 0, 30000, 3, 1, {4}});
         }},
        {"no counter sample was expected of the trace, although 16 waves",
         [](Trial& t) {
             t.scene.truth.samples.clear();
             t.records[{0, 0}].perf.clear();
         }},
    };
    for (const auto& row : rows) {
        Trial trial = counting_trial();
        row.spoil(trial);
        const VerifyReport report = trial.verify();
        EXPECT_FALSE(report.good()) << row.words;
        EXPECT_NE(verify_text(report).find(row.words), std::string::npos) << verify_text(report);
    }
}

TEST(VerifyTest, Samples_OfADroppedStretchMayBeMissingNotWrong) {
    Trial trial = counting_trial();
    auto& events = trial.scene.truth.trace_events;
    events.insert(events.begin() + 1,
                  {0, 0, softgpu::TruthTraceEvent::Kind::kDrop, 12182, 0, 0, 3});
    auto& perf = trial.records[{0, 0}].perf;
    perf.pop_back();
    VerifyReport report = trial.verify();
    EXPECT_TRUE(report.contexts[0].samples.good()) << verify_text(report);
    EXPECT_EQ(report.contexts[0].samples.expected, 5U);
    perf.back().counters[0] = 5;
    report = trial.verify();
    EXPECT_EQ(report.contexts[0].samples.differing, 1U);
}

} // namespace
} // namespace wavetap::cli
