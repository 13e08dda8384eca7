// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/verify_trial.hpp"

#include <gtest/gtest.h>

namespace wavetap::cli {
namespace {

using testing::kCode;
using testing::kRuntimeKernel;
using testing::record_of;
using testing::Trial;

using Kind = softgpu::TruthTraceEvent::Kind;

TEST(VerifyClassesTest, OpenAtStart_CountedApartWithOrWithoutRecord) {
    for (const bool traced : {false, true}) {
        Trial trial;
        const softgpu::TruthWave wave = trial.scene.add_wave(5, 0, 0, 9800, 600);
        decode::WaveRecord record = record_of(wave, 9800);
        record.start = 0;
        record.start_seen = false;
        record.end = wave.end - 10000;
        if (traced) trial.records[{0, 0}].waves.push_back(record);
        const VerifyReport report = trial.verify();
        EXPECT_TRUE(report.good()) << verify_text(report);
        EXPECT_EQ(report.contexts[0].apart.open_at_start, 1U);
        EXPECT_EQ(report.contexts[0].waves.expected, 16U);
    }
}

TEST(VerifyClassesTest, RecordWithoutStart_ThatIsNoOpenWave_Extra) {
    Trial trial;
    const softgpu::TruthWave wave = trial.scene.add_wave(5, 0, 0, 9800, 600);
    decode::WaveRecord record = record_of(wave, 9800);
    record.start = 0;
    record.start_seen = false;
    record.end = wave.end - 10000 + 4;
    trial.records[{0, 0}].waves.push_back(record);
    EXPECT_EQ(trial.verify().contexts[0].waves.extra, 1U);
}

TEST(VerifyClassesTest, OpenAtEnd_CountedApartIfItIsThatWave) {
    for (const bool never_ends : {false, true}) {
        Trial trial;
        softgpu::TruthWave& wave = trial.scene.add_wave(5, 0, 0, 19800, 600);
        if (never_ends) wave.end = 0;
        decode::WaveRecord record = record_of(wave, 10000);
        record.complete = false;
        record.end = 19990 - 10000;
        trial.records[{0, 0}].waves.push_back(record);
        VerifyReport report = trial.verify();
        EXPECT_TRUE(report.good()) << verify_text(report);
        EXPECT_EQ(report.contexts[0].apart.open_at_end, 1U);
        trial.records[{0, 0}].waves.back().start += 4;
        report = trial.verify();
        EXPECT_EQ(report.contexts[0].waves.extra, 1U);
        trial.records[{0, 0}].waves.back().start -= 4;
        trial.records[{0, 0}].waves.back().count = 7;
        EXPECT_EQ(trial.verify().contexts[0].waves.extra, 1U);
    }
}

TEST(VerifyClassesTest, Borders_ArmIsInsideDisarmIsNot) {
    Trial trial;
    trial.scene.add_wave(5, 0, 0, 10000, 400); // starts at the arm clock: closed
    trial.scene.add_wave(5, 1, 0, 19600, 400); // ends at the disarm clock: open
    trial.scene.add_wave(5, 2, 0, 9600, 400);  // ends at the arm clock: open at the start
    trial.scene.add_wave(5, 3, 0, 9596, 400);  // before
    trial.scene.add_wave(6, 3, 0, 20000, 400); // starts at the disarm clock: outside
    trial.decode_all();
    const VerifyContext context = trial.verify().contexts[0];
    EXPECT_EQ(context.waves.expected, 17U);
    EXPECT_EQ(context.apart.open_at_start, 1U);
    EXPECT_EQ(context.apart.open_at_end, 1U);
}

TEST(VerifyClassesTest, DroppedRange_OnlyWavesBeforeAreExpected) {
    Trial trial;
    auto& events = trial.scene.truth.trace_events;
    events.insert(events.begin() + 1, {0, 0, Kind::kDrop, 11100, 0, 0, 77});
    // All sixteen waves of the run end behind 11100; twelve start before.
    trial.records[{0, 0}].waves.resize(10);
    for (decode::WaveRecord& wave : trial.records[{0, 0}].waves) {
        wave.complete = false;
        wave.instructions.clear();
    }
    trial.scene.add_wave(6, 0, 0, 10100, 400);
    const decode::WaveRecord before = record_of(trial.scene.truth.waves.back(), 10000);
    trial.records[{0, 0}].waves.push_back(before);
    VerifyReport report = trial.verify();
    const VerifyContext& context = report.contexts[0];
    EXPECT_EQ(context.waves.expected, 1U);
    EXPECT_EQ(context.waves.matched, 1U);
    EXPECT_EQ(context.waves.extra, 0U) << verify_text(report);
    EXPECT_EQ(context.apart.dropped, 16U);
    EXPECT_EQ(context.apart.dropped_tokens, 77U);
    EXPECT_TRUE(context.vacuous); // every wave of the target was lost
    EXPECT_FALSE(report.good());
    trial.scene.add_wave(1, 0, 5, 10100, 400);
    decode::WaveRecord target = record_of(trial.scene.truth.waves.back(), 10000);
    for (const softgpu::TruthInstruction& i : trial.scene.truth.waves.back().instructions) {
        target.instructions.emplace_back();
        target.instructions.back().time = i.time - 10000;
        target.instructions.back().pc.absolute = i.pc;
    }
    trial.records[{0, 0}].waves.push_back(target);
    report = trial.verify();
    EXPECT_TRUE(report.good()) << verify_text(report);
}

TEST(VerifyClassesTest, SegmentThatBrokeOff_OnlyWavesBeforeItsLastTokenAreExpected) {
    Trial trial;
    trial.scene.add_wave(1, 0, 0, 15000);
    trial.decode_all();
    decode::BlobRecords& records = trial.records[{0, 0}];
    records.last_time = 14000 - 10000;
    std::erase_if(records.waves,
                  [](const decode::WaveRecord& wave) { return wave.start + 10000 > 14000; });
    EXPECT_EQ(trial.verify().contexts[0].waves.missing, 1U) << "the segment says it is whole";
    for (const bool lost : {false, true}) {
        trial.scene.process.runs[0].chunks[0].end = lost;
        trial.scene.process.runs[0].chunks[0].lost = lost;
        const VerifyReport report = trial.verify();
        EXPECT_TRUE(report.good()) << verify_text(report);
        EXPECT_EQ(report.contexts[0].waves.expected, 16U);
        EXPECT_EQ(report.contexts[0].apart.dropped, 1U);
    }
}

TEST(VerifyClassesTest, KilledWhileArmed_OpenWavesAreNotInTheLog) {
    Trial trial;
    decode::WaveRecord open;
    open.cu = 9;
    open.start = 9000;
    open.complete = false;
    trial.records[{1, 0}].waves.push_back(open);
    EXPECT_EQ(trial.verify().contexts[1].waves.extra, 1U);
    auto& events = trial.scene.truth.trace_events;
    ASSERT_EQ(events.back().kind, Kind::kDisarm);
    events.pop_back(); // of run 1
    VerifyReport report = trial.verify();
    EXPECT_TRUE(report.good()) << verify_text(report);
    EXPECT_EQ(report.contexts[1].apart.open_at_end, 1U);
    trial.records[{1, 0}].waves.back().complete = true;
    EXPECT_EQ(trial.verify().contexts[1].waves.extra, 1U) << "a wave that ended is in the log";
}

TEST(VerifyClassesTest, RuntimeKernel_OccupancyIsCompared) {
    Trial trial;
    trial.scene.add_wave(1, 0, 5, 15000, 400, kRuntimeKernel);
    trial.decode_all();
    VerifyReport report = trial.verify();
    EXPECT_TRUE(report.good()) << verify_text(report);
    EXPECT_EQ(report.contexts[0].waves.expected, 17U);
    EXPECT_EQ(report.contexts[0].instructions.expected, 20U);
    EXPECT_EQ(report.contexts[0].apart.without_code, 1U);
    for (decode::WaveRecord& wave : trial.records[{0, 0}].waves)
        if (wave.slot == 5) wave.end += 4;
    report = trial.verify();
    EXPECT_EQ(report.contexts[0].waves.differing, 1U);
}

TEST(VerifyClassesTest, DispatchBeforeArm_EntryMayBeUnknownButNotWrong) {
    Trial trial;
    trial.scene.add_wave(1, 0, 5, 10052); // its dispatch was at 9952
    trial.decode_all();
    decode::WaveRecord& wave = trial.records[{0, 0}].waves.front();
    ASSERT_EQ(wave.slot, 5U);
    wave.instructions.clear();
    wave.entry.absolute = 0;
    VerifyReport report = trial.verify();
    EXPECT_TRUE(report.good()) << verify_text(report);
    EXPECT_EQ(report.contexts[0].apart.without_entry, 1U);
    EXPECT_EQ(report.contexts[0].waves.matched, 17U);
    trial.records[{0, 0}].waves.front().entry.absolute = kCode + 0x100;
    report = trial.verify();
    EXPECT_EQ(report.contexts[0].waves.differing, 1U);
}

TEST(VerifyClassesTest, NeverDisarmed_EverythingOpen_Vacuous) {
    Trial trial;
    trial.scene.truth.trace_events.pop_back(); // run 1 goes on until the process is killed
    trial.records[{1, 0}].waves.clear();
    trial.scene.process.complete = false;
    for (softgpu::TruthWave& wave : trial.scene.truth.waves)
        if (wave.start > 30000) wave.end = 0;
    const VerifyReport report = trial.verify();
    EXPECT_EQ(report.contexts[1].apart.open_at_end, 16U);
    EXPECT_EQ(report.contexts[1].waves.expected, 0U);
    EXPECT_EQ(report.notes.size(), 1U);
}

} // namespace
} // namespace wavetap::cli
