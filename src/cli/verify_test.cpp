// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/verify.hpp"
#include "cli/verify_scene.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace wavetap::cli {
namespace {

using testing::kCode;
using testing::kRuntimeKernel;
using testing::perfect_records;
using testing::Scene;
using Kind = softgpu::TruthTraceEvent::Kind;

/// The scene with the records that "decoding" gives, by run and engine.
struct Trial {
    Scene scene;
    std::map<std::pair<std::uint32_t, std::uint32_t>, decode::BlobRecords> records;

    Trial() {
        scene.add_usual_waves();
        decode_all();
    }

    void decode_all() {
        records[{0, 0}] = perfect_records(scene, 0, 10000, 20000, scene.process.contexts[0]);
        records[{1, 0}] = perfect_records(scene, 0, 30000, 40000, scene.process.contexts[1]);
    }

    /// The first wave of run 0 on the target with its records.
    decode::WaveRecord& target_wave(std::uint32_t run = 0) {
        for (decode::WaveRecord& wave : records[{run, 0}].waves)
            if (wave.on_target) return wave;
        throw std::logic_error("no target wave");
    }

    VerifyReport verify() const {
        VerifySources sources;
        sources.read = [](const store::ChunkInfo& chunk) -> Result<std::vector<std::byte>> {
            return std::vector<std::byte>{static_cast<std::byte>(chunk.run),
                                          static_cast<std::byte>(chunk.se)};
        };
        sources.decode = [this](std::span<const std::byte> bytes,
                                std::uint32_t) -> Result<decode::BlobRecords> {
            const auto found = records.find(
                {static_cast<std::uint32_t>(bytes[0]), static_cast<std::uint32_t>(bytes[1])});
            if (found == records.end())
                return Error{ErrorCode::kCorrupt, "no header", "offset 0", ""};
            return found->second;
        };
        VerifyReport report;
        verify_process(scene.process, scene.truth, sources, report);
        return report;
    }
};

std::string last_line(const std::string& text) {
    const std::size_t end = text.find_last_not_of('\n');
    const std::size_t begin = text.rfind('\n', end);
    return text.substr(begin + 1, end - begin);
}

TEST(VerifyTest, PerfectTrace_EverythingMatches) {
    const VerifyReport report = Trial().verify();
    ASSERT_EQ(report.contexts.size(), 2U);
    EXPECT_TRUE(report.good()) << verify_text(report);
    for (const VerifyContext& context : report.contexts) {
        EXPECT_EQ(context.waves.expected, 16U);
        EXPECT_EQ(context.waves.matched, 16U);
    }
    EXPECT_EQ(report.contexts[0].instructions.expected, 20U); // four SIMDs
    EXPECT_EQ(report.contexts[1].instructions.expected, 10U); // two of them
    EXPECT_EQ(report.passed(), 62U);
    EXPECT_EQ(last_line(verify_text(report)), "62 passed, 0 failed");
}

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

// ---- every way to be wrong is found ----

struct Spoiling {
    const char* name;
    std::function<void(Trial&)> spoil;
    VerifyTally waves, instructions; ///< of context 0; expected and matched are not compared
    const char* words;               ///< in the text
};

void PrintTo(const Spoiling& row, std::ostream* out) {
    *out << row.name;
}

class SpoiledTraceTest : public ::testing::TestWithParam<Spoiling> {};

TEST_P(SpoiledTraceTest, Fails) {
    Trial trial;
    GetParam().spoil(trial);
    const VerifyReport report = trial.verify();
    const std::string text = verify_text(report);
    EXPECT_FALSE(report.good()) << text;
    const VerifyContext& context = report.contexts[0];
    EXPECT_EQ(context.waves.missing, GetParam().waves.missing) << text;
    EXPECT_EQ(context.waves.extra, GetParam().waves.extra) << text;
    EXPECT_EQ(context.waves.differing, GetParam().waves.differing) << text;
    EXPECT_EQ(context.instructions.missing, GetParam().instructions.missing) << text;
    EXPECT_EQ(context.instructions.extra, GetParam().instructions.extra) << text;
    EXPECT_EQ(context.instructions.differing, GetParam().instructions.differing) << text;
    EXPECT_NE(text.find(GetParam().words), std::string::npos) << text;
    EXPECT_NE(report.failed(), 0U);
    EXPECT_EQ(report.passed() + report.failed(), report.expected());
    for (const VerifyContext& each : report.contexts) {
        for (const VerifyTally& tally : {each.waves, each.instructions})
            EXPECT_EQ(tally.expected, tally.matched + tally.missing + tally.differing);
    }
}

/// missing, extra, differing
VerifyTally tally(std::uint64_t missing, std::uint64_t extra, std::uint64_t differing) {
    return {0, 0, missing, extra, differing};
}

const std::vector<Spoiling>& spoilings() {
    static const std::vector<Spoiling> rows = {
        {"wave_removed",
         [](Trial& t) {
             auto& waves = t.records[{0, 0}].waves;
             const auto target = std::find_if(waves.begin(), waves.end(),
                                              [](const auto& wave) { return wave.on_target; });
             waves.erase(target);
         },
         tally(1, 0, 0), tally(5, 0, 0), "is not in the trace"},
        {"other_wave_removed",
         [](Trial& t) {
             t.records[{0, 0}].waves.erase(t.records[{0, 0}].waves.begin());
         },
         tally(1, 0, 0), tally(0, 0, 0), "CU 0 SIMD 0"},
        {"wave_twice",
         [](Trial& t) {
             t.records[{0, 0}].waves.push_back(t.target_wave());
         },
         tally(0, 1, 0), tally(0, 5, 0), "no wave ran on CU 1"},
        {"pc_shifted", [](Trial& t) { t.target_wave().instructions[2].pc.absolute += 4; },
         tally(0, 0, 0), tally(0, 0, 1), "the trace says 0x7f0000001010"},
        {"not_stitched", [](Trial& t) { t.target_wave().instructions[4].pc.absolute = 0; },
         tally(0, 0, 0), tally(0, 0, 1), "the trace says 0x0"},
        {"entry_shifted", [](Trial& t) { t.target_wave().entry.absolute += 256; }, tally(0, 0, 1),
         tally(0, 0, 0), "began at 0x7f0000001000"},
        {"instruction_removed",
         [](Trial& t) { t.target_wave().instructions.erase(t.target_wave().instructions.begin()); },
         tally(0, 0, 0), tally(1, 0, 0), "is not in the trace"},
        {"instruction_twice",
         [](Trial& t) {
             t.target_wave().instructions.push_back(t.target_wave().instructions.back());
         },
         tally(0, 0, 0), tally(0, 1, 0), "nothing issued at clock"},
        {"instruction_late", [](Trial& t) { t.target_wave().instructions[3].time += 4; },
         tally(0, 0, 0), tally(1, 1, 0), "is not in the trace"},
        {"immediate_late", [](Trial& t) { t.target_wave().instructions[1].stall += 4; },
         tally(0, 0, 0), tally(1, 1, 0), "is not in the trace"},
        {"other_simd", [](Trial& t) { t.target_wave().simd = 2; }, tally(0, 0, 1), tally(0, 0, 0),
         "the trace says CU 1 SIMD 2"},
        {"other_cu", [](Trial& t) { t.target_wave().cu = 7; }, tally(0, 0, 1), tally(0, 0, 0),
         "the trace says CU 7"},
        {"other_slot", [](Trial& t) { t.target_wave().slot = 7; }, tally(0, 0, 1), tally(0, 0, 0),
         "slot 7"},
        {"shader_array_1", [](Trial& t) { t.target_wave().sa = 1; }, tally(0, 0, 1), tally(0, 0, 0),
         "the trace says CU 1"},
        {"end_late", [](Trial& t) { t.target_wave().end += 4; }, tally(0, 0, 1), tally(0, 0, 0),
         "ended at clock"},
        {"no_end", [](Trial& t) { t.target_wave().complete = false; }, tally(0, 0, 1),
         tally(0, 0, 0), "has no end"},
        {"threads", [](Trial& t) { t.target_wave().count = 63; }, tally(0, 0, 1), tally(0, 0, 0),
         "had 64 work-items"},
        {"contexts_swapped",
         [](Trial& t) {
             std::swap(t.records[{0, 0}], t.records[{1, 0}]);
         },
         tally(16, 16, 0), tally(20, 10, 0), "is not in the trace"},
        {"header_only",
         [](Trial& t) {
             t.records[{0, 0}] = {};
             t.records[{0, 0}].generation = "gfx9";
         },
         tally(16, 0, 0), tally(20, 0, 0), "is not in the trace"},
        {"unreadable",
         [](Trial& t) {
             t.records.erase({0, 0});
         },
         tally(16, 0, 0), tally(20, 0, 0), "no header"},
        {"no_bytes", [](Trial& t) { t.scene.process.runs[0].chunks.clear(); }, tally(16, 0, 0),
         tally(20, 0, 0), "the folder has no bytes of this engine"},
        {"times_shifted",
         [](Trial& t) {
             *t.records[{0, 0}].clock_base += 400000;
         },
         tally(16, 16, 0), tally(20, 20, 0), "is not in the trace"},
        {"no_absolute_time",
         [](Trial& t) {
             t.records[{0, 0}].clock_base.reset();
         },
         tally(16, 16, 0), tally(20, 20, 0), "no absolute timestamp"},
        {"wrong_cu_traced",
         [](Trial& t) {
             store::ContextInfo other = t.scene.process.contexts[0];
             other.cu = 3;
             t.records[{0, 0}] = perfect_records(t.scene, 0, 10000, 20000, other);
         },
         tally(0, 0, 0), tally(20, 20, 0), "which is not the target"},
        {"wrong_simd_traced",
         [](Trial& t) {
             t.scene.process.contexts[0].simd_mask = 0x2;
             store::ContextInfo other = t.scene.process.contexts[0];
             other.simd_mask = 0x4;
             t.records[{0, 0}] = perfect_records(t.scene, 0, 10000, 20000, other);
         },
         tally(0, 0, 0), tally(5, 5, 0), "which is not the target"},
        {"wrong_se_armed",
         [](Trial& t) {
             t.scene.truth.trace_events[0].se = 2; // arm and disarm of run 0
             t.scene.truth.trace_events[1].se = 2;
             t.scene.truth.trace_events[2].se = 2;
             t.scene.truth.trace_events[3].se = 2;
             t.records[{0, 0}].waves.clear();
             t.records[{1, 0}].waves.clear();
         },
         tally(33, 0, 0), tally(45, 0, 0), "never armed"},
        {"more_engines_delivered",
         [](Trial& t) {
             store::ChunkInfo chunk = t.scene.process.runs[0].chunks[0];
             chunk.se = 5;
             t.scene.process.runs[0].chunks.push_back(chunk);
             t.records[{0, 5}] = t.records[{0, 0}];
         },
         tally(0, 16, 0), tally(0, 20, 0), "which was not asked for"},
    };
    return rows;
}

INSTANTIATE_TEST_SUITE_P(Table, SpoiledTraceTest, ::testing::ValuesIn(spoilings()),
                         [](const auto& test) { return std::string(test.param.name); });

// ---- what is not compared, and when a trace fails without a wrong record ----

decode::WaveRecord record_of(const softgpu::TruthWave& wave, std::uint64_t base) {
    decode::WaveRecord record;
    record.cu = static_cast<std::uint8_t>(wave.cu);
    record.simd = static_cast<std::uint8_t>(wave.simd);
    record.slot = static_cast<std::uint8_t>(wave.slot);
    record.count = static_cast<std::uint8_t>(wave.threads);
    record.start = wave.start - base;
    record.end = wave.end - base;
    record.entry.absolute = wave.entry_pc;
    return record;
}

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
