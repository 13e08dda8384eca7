// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/verify_trial.hpp"

#include <gtest/gtest.h>

namespace wavetap::cli {
namespace {

using testing::last_line;
using testing::perfect_records;
using testing::Trial;

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
    EXPECT_EQ(verify_text(trial.verify(3)), text);
    // Wave by wave the faults come in another order.
    EXPECT_EQ(last_line(verify_text(trial.verify_by_and_by(0))), last_line(text));
}

/// A run of 890,000 clocks, many times those that settled waves stay behind, with waves and samples that begin
/// before it, end after it, and (`drop`) come when there is no room.
Trial long_trial(std::uint64_t drop) {
    Trial trial;
    softgpu::Truth& truth = trial.scene.truth;
    store::ContextInfo& context = trial.scene.process.contexts[0];
    context.perf_counters = {{"SQ_WAVES", 4, 0xf}};
    context.perf_period = 3;
    truth.samplings.push_back({0, 0, 10000, 3, 0xFFFF, {0x0F000004}});
    truth.trace_events[1].time = 900'000; // run 0 goes on
    truth.trace_events[2].time = 900'100;
    truth.trace_events[3].time = 900'200;
    if (drop != 0)
        truth.trace_events.insert(truth.trace_events.begin() + 1,
                                  {0, 0, softgpu::TruthTraceEvent::Kind::kDrop, drop, 0, 0, 9});
    for (std::uint16_t slot = 0; slot < 9; ++slot) {
        trial.scene.add_wave(3, 3, slot, 9'000 + slot * 4, 500'000ULL * slot % 990'000);
        trial.scene.add_wave(3, 2, slot, 880'000 + slot * 4, 100'000);
    }
    for (std::uint64_t start = 12'000; start < 880'000; start += 2'000) {
        trial.scene.add_wave(1, 0, 0, start);
        trial.scene.add_wave(2, 1, static_cast<std::uint16_t>(start / 2000 % 30), start + 100,
                             20'000);
        truth.samples.push_back({0, 0, 2, 1, start, {1, 2, 3, 4}});
    }
    // As the chip writes them.
    std::sort(truth.waves.begin(), truth.waves.end(), [](const auto& a, const auto& b) {
        return std::pair(a.end, a.dispatch) < std::pair(b.end, b.dispatch);
    });
    decode::BlobRecords& records = trial.records[{0, 0}];
    records = perfect_records(trial.scene, 0, 10000, 900'000, context);
    trial.records[{1, 0}] = {};
    trial.records[{1, 0}].generation = "gfx9";
    for (const softgpu::TruthSample& sample : truth.samples) {
        decode::PerfRecord record;
        record.time = sample.latched - 10000;
        record.cu = sample.cu;
        record.bank = sample.bank;
        std::copy(sample.counters.begin(), sample.counters.end(), record.counters);
        records.perf.push_back(record);
    }
    for (const softgpu::TruthWave& wave : truth.waves) {
        if (wave.start >= 10'000 || wave.end < 10'000 || wave.end >= 900'000) continue;
        decode::WaveRecord record; // only the end is in the trace
        record.cu = 3;
        record.simd = 3;
        record.slot = static_cast<std::uint8_t>(wave.slot);
        record.start_seen = false;
        record.end = wave.end - 10'000;
        records.waves.push_back(record);
    }
    if (drop == 0) return trial;
    std::erase_if(records.waves, [&](auto& wave) {
        if (wave.end + 10'000 >= drop) {
            wave.complete = false;
            wave.end = drop - 10'000;
            wave.instructions.clear();
        }
        return wave.start + 10'000 >= drop;
    });
    std::erase_if(records.perf, [&](const auto& each) { return each.time + 10'000 >= drop; });
    return trial;
}

void spoil(Trial& trial, unsigned kind) {
    decode::BlobRecords& records = trial.records[{0, 0}];
    decode::WaveRecord& wave = records.waves.at(records.waves.size() / 2 + kind);
    switch (kind) {
    case 0:
        break;
    case 1:
        records.waves.erase(records.waves.begin() + 100);
        break;
    case 2:
        wave.end += 4;
        break;
    case 3:
        wave.end -= 4;
        break;
    case 4:
        wave.slot ^= 1;
        break;
    case 5:
        wave.count ^= 1;
        break;
    case 6:
        wave.complete = false;
        break;
    case 7:
        wave.end += 200'000;
        break;
    case 8:
        records.waves.push_back(wave);
        break;
    case 9:
        wave.start += 4;
        break;
    case 10:
        records.perf.erase(records.perf.begin() + 77);
        break;
    case 11:
        ++records.perf[99].counters[2];
        break;
    case 12:
        records.perf[99].time += 4;
        break;
    case 13:
        records.perf.back().bank ^= 1;
        break;
    default:
        for (decode::WaveRecord& each : records.waves)
            if (!each.start_seen && each.complete) each.end += 4;
        break;
    }
}

// What is settled on the way is counted as what is compared at the end.
TEST(VerifyTest, SettledOnTheWay_CountedTheSame) {
    for (const std::uint64_t drop : {0, 500'000})
        for (unsigned kind = 0; kind <= 14; ++kind) {
            Trial trial = long_trial(drop);
            ASSERT_GT((trial.records[{0, 0}].waves.size()), 400U);
            spoil(trial, kind);
            const VerifyReport whole = trial.verify();
            EXPECT_EQ(whole.contexts[0].waves.good() && whole.contexts[0].samples.good() &&
                          whole.contexts[0].instructions.good(),
                      kind == 0)
                << kind << "\n"
                << verify_text(whole);
            const std::string text = verify_text(trial.verify_by_and_by(20'000));
            EXPECT_EQ(text.substr(0, text.find('!')),
                      verify_text(whole).substr(0, verify_text(whole).find('!')))
                << drop << " " << kind;
            // With nothing that waits, a wave that ends elsewhere may be two: one missing, one extra.
            const VerifyReport bare = trial.verify_by_and_by(0);
            EXPECT_EQ(bare.expected(), whole.expected()) << drop << " " << kind;
            EXPECT_EQ(bare.good(), whole.good()) << drop << " " << kind;
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

} // namespace
} // namespace wavetap::cli
