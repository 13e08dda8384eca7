// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "chip_bench.hpp"

// The chip's bytes, decoded, against what really ran.

namespace wavetap {
namespace {

using chip_bench::Bench;
using chip_bench::compare;
using chip_bench::Comparison;
using chip_bench::config_of;
using chip_bench::Session;
using chip_bench::Window;
using chip_bench::windows_of;
using chip_bench::work;
using softgpu::Rig;
using softgpu::Truth;
namespace kernels = softgpu::kernels;

TEST(ChipDecodeTest, WholeKernel_EveryWaveAndInstruction) {
    Bench bench(Rig::small(), "whole.bin");
    auto queue = bench.rig->add_queue();
    const pm4::TraceConfig config = config_of(1, 1);
    const Session session = bench.start(config);
    const auto launch = work(*bench.rig, 4096);
    bench.rig->launch(queue, launch);
    ASSERT_TRUE(bench.rig->run_until(launch.signal));
    bench.stop(session);
    const auto records = bench.decode(session, 0);
    const Truth truth = bench.truth();
    const auto windows = windows_of(truth, 0);
    ASSERT_EQ(windows.size(), 1U);
    const Comparison counts = compare(truth, windows[0], 0, config, records);
    EXPECT_EQ(counts.wave_events, 64U) << "16 groups of 4 waves, half of them on engine 0";
    EXPECT_GT(counts.instructions, 16U * 40U);
    EXPECT_EQ(counts.pcs, counts.instructions);
    std::size_t scalar = 0, one_quad = 0;
    for (const auto& wave : records.waves) {
        for (const auto& i : wave.instructions) {
            if (i.category != decode::Category::kSalu) continue;
            ++scalar;
            one_quad += i.duration - i.stall == 4 ? 1 : 0;
        }
    }
    EXPECT_GT(one_quad * 100, scalar * 90) << one_quad << " of " << scalar;
    ASSERT_EQ(records.dispatches.size(), 1U);
    EXPECT_EQ(records.dispatches[0].threads[0], 256U);
    EXPECT_EQ(records.dispatches[0].time + *records.clock_base, truth.dispatches[0].time);
    EXPECT_EQ(windows[0].bytes % 32, 0U);
    EXPECT_GE(records.realtime.size(), 1U);
}

/// Until the chip has executed `count` instructions more.
void run_instructions(Rig& rig, std::uint64_t count) {
    const std::uint64_t target = rig.chip->instructions() + count;
    for (int i = 0; i < 100000 && rig.chip->instructions() < target; ++i) {
        if (rig.chip->step(40) == softgpu::Chip::Progress::kIdle) break;
    }
}

TEST(ChipDecodeTest, StartAndStopInTheMiddleOfAKernel_WavesOpenAtBothEnds) {
    Bench bench(Rig::small(), "middle.bin");
    auto queue = bench.rig->add_queue();
    const std::uint64_t done = bench.rig->add_signal();
    bench.rig->launch(queue, {.kernel = bench.rig->add_kernel(kernels::kSpin),
                              .grid = {64 * 40, 1, 1},
                              .arguments = 700,
                              .signal = done});
    run_instructions(*bench.rig, 5000);
    const pm4::TraceConfig config = config_of(1, 0);
    const Session session = bench.start(config);
    EXPECT_EQ(bench.rig->value(done), 1) << "the kernel runs on";
    run_instructions(*bench.rig, 5000);
    bench.stop(session);
    EXPECT_EQ(bench.rig->value(done), 1) << "the stop packet retired before the kernel";
    EXPECT_TRUE(bench.rig->run_until(done));
    const auto records = bench.decode(session, 0);
    const Truth truth = bench.truth();
    const Window window = windows_of(truth, 0).at(0);
    const Comparison counts = compare(truth, window, 0, config, records);
    EXPECT_EQ(counts.wave_events, 0U) << "all waves ran before and after";
    EXPECT_GT(counts.open_at_start, 5U);
    EXPECT_EQ(counts.open_at_start, counts.open_at_end);
    EXPECT_GT(counts.instructions, 500U);
}

TEST(ChipDecodeTest, ManyTraces_WhileKernelsComeAndGo) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        SCOPED_TRACE(seed);
        Bench bench(Rig::small(seed), "many.bin");
        auto a = bench.rig->add_queue(1), b = bench.rig->add_queue(2);
        const auto first = work(*bench.rig, 30000);
        const auto second = work(*bench.rig, 20000);
        std::vector<Session> sessions;
        Comparison counts;
        for (unsigned i = 0; i < 5; ++i) {
            auto launch = first;
            launch.signal = bench.rig->add_signal();
            bench.rig->launch(a, launch);
            auto other = second;
            other.signal = bench.rig->add_signal();
            bench.rig->launch(b, other);
            run_instructions(*bench.rig, 50 + 500 * i);
            sessions.push_back(bench.start(config_of(3, i % 2, i < 3 ? 0xF : 5)));
            run_instructions(*bench.rig, 12000 + 2000 * seed);
            bench.stop(sessions.back());
            ASSERT_TRUE(bench.rig->run_until(launch.signal));
            ASSERT_TRUE(bench.rig->run_until(other.signal));
        }
        std::vector<std::vector<decode::BlobRecords>> records;
        for (const Session& session : sessions)
            records.push_back({bench.decode(session, 0), bench.decode(session, 1)});
        const Truth truth = bench.truth();
        for (unsigned se = 0; se < 2; ++se) {
            const auto windows = windows_of(truth, se);
            ASSERT_EQ(windows.size(), sessions.size());
            for (std::size_t i = 0; i < sessions.size(); ++i) {
                SCOPED_TRACE("run " + std::to_string(i) + ", engine " + std::to_string(se));
                const Comparison one =
                    compare(truth, windows[i], se, sessions[i].config, records[i][se]);
                counts.instructions += one.instructions;
                counts.pcs += one.pcs;
                counts.wave_events += one.wave_events;
                counts.open_at_start += one.open_at_start;
                counts.open_at_end += one.open_at_end;
            }
        }
        EXPECT_GT(counts.instructions, 3000U);
        EXPECT_GT(counts.pcs, 2000U);
        EXPECT_GT(counts.open_at_start, 0U);
        EXPECT_GT(counts.open_at_end, 0U);
    }
}

TEST(ChipDecodeTest, OccupancyOnly_HasWavesAndNoInstructions) {
    Bench bench(Rig::small(), "occupancy.bin");
    auto queue = bench.rig->add_queue();
    pm4::TraceConfig config = config_of(3, 0);
    config.detail = false;
    const Session session = bench.start(config);
    const auto launch = work(*bench.rig, 4096);
    bench.rig->launch(queue, launch);
    ASSERT_TRUE(bench.rig->run_until(launch.signal));
    bench.stop(session);
    const auto records = bench.decode(session, 1);
    const Truth truth = bench.truth();
    const Comparison counts = compare(truth, windows_of(truth, 1).at(0), 1, config, records);
    EXPECT_EQ(counts.wave_events, 64U);
    EXPECT_EQ(records.instructions, 0U);
    EXPECT_EQ(records.token_counts.count("INST"), 0U);
    EXPECT_EQ(records.token_counts.count("ISSUE"), 0U);
}

TEST(ChipDecodeTest, ShaderMarkers_OfEveryCu) {
    Bench bench(Rig::small(), "markers.bin");
    auto queue = bench.rig->add_queue();
    pm4::TraceConfig config = config_of(1, 0);
    config.detail = false;
    const Session session = bench.start(config);
    const std::uint64_t done = bench.rig->add_signal();
    bench.rig->launch(queue, {.kernel = bench.rig->add_kernel(kernels::kMarkers),
                              .grid = {64 * 6, 1, 1},
                              .signal = done});
    ASSERT_TRUE(bench.rig->run_until(done));
    bench.stop(session);
    const auto records = bench.decode(session, 0);
    std::multimap<unsigned, std::uint32_t> values; // CU, value
    for (const auto& data : records.shader_data)
        values.emplace(data.cu, data.value);
    const std::multimap<unsigned, std::uint32_t> expected = {{0, 0},     {0, 0x123}, {0, 4},
                                                             {0, 0x123}, {1, 2},     {1, 0x123}};
    EXPECT_EQ(values.size(), expected.size());
    EXPECT_TRUE(std::is_permutation(values.begin(), values.end(), expected.begin()));
}

} // namespace
} // namespace wavetap
