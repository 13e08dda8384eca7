// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "chip_bench.hpp"

// How the chip traces: engines that are armed, full buffers, the same bytes for the same inputs.

namespace wavetap {
namespace {

using chip_bench::Bench;
using chip_bench::compare;
using chip_bench::config_of;
using chip_bench::Session;
using chip_bench::Window;
using chip_bench::windows_of;
using chip_bench::work;
using softgpu::Rig;
using softgpu::Truth;
using softgpu::TruthWave;
namespace kernels = softgpu::kernels;

TEST(ChipDecodeTest, UnselectedEngine_IsNeverArmed) {
    Bench bench(Rig::small(), "unselected.bin");
    const Session session = bench.start(config_of(1, 0));
    bench.stop(session);
    const auto records = bench.decode(session, 0);
    const Truth truth = bench.truth();
    EXPECT_EQ(windows_of(truth, 0).size(), 1U);
    EXPECT_TRUE(windows_of(truth, 1).empty());
    EXPECT_TRUE(records.waves.empty()) << "no kernel ran";
    EXPECT_GE(records.userdata_writes.size(), 2U);
}

TEST(ChipDecodeTest, FullBuffer_StopsBelowTheEnd_AndWhatIsThereIsRight) {
    Bench bench(Rig::small(), "full.bin");
    auto queue = bench.rig->add_queue();
    const pm4::TraceConfig config = config_of(1, 0, 0xF, 512 << 10);
    const Session session = bench.start(config);
    const std::uint64_t done = bench.rig->add_signal();
    bench.rig->launch(queue, {.kernel = bench.rig->add_kernel(kernels::kSpin),
                              .grid = {64 * 64, 1, 1},
                              .arguments = 4000,
                              .signal = done});
    ASSERT_TRUE(bench.rig->run_until(done, 100'000'000));
    bench.stop(session);
    pm4::EngineResult result;
    const auto records = bench.decode(session, 0, &result);
    EXPECT_TRUE(result.full);
    const auto capacity = pm4::capacity_per_engine({"gfx90a", 1, 2, 2}, config);
    ASSERT_TRUE(capacity);
    EXPECT_EQ(result.bytes, *capacity - 32);
    const Truth truth = bench.truth();
    const Window window = windows_of(truth, 0).at(0);
    EXPECT_GT(window.dropped, 1000U);
    EXPECT_EQ(window.bytes, result.bytes);
    EXPECT_GT(compare(truth, window, 0, config, records).instructions, 10000U);
}

TEST(ChipDecodeTest, SameInputs_SameBytes) {
    std::vector<std::vector<std::byte>> first;
    for (int i = 0; i < 2; ++i) {
        Bench bench(Rig::small(3), "same.bin");
        auto queue = bench.rig->add_queue();
        const Session session = bench.start(config_of(3, 1));
        const auto launch = work(*bench.rig, 4096);
        bench.rig->launch(queue, launch);
        ASSERT_TRUE(bench.rig->run_until(launch.signal));
        bench.stop(session);
        bench.decode(session, 0);
        bench.decode(session, 1);
        if (i == 0)
            first = bench.blobs;
        else
            EXPECT_EQ(first, bench.blobs);
    }
    EXPECT_GT(first.at(0).size(), 1000U);
}

TEST(ChipDecodeTest, TracingDoesNotMoveTheModel) {
    std::vector<TruthWave> waves[2];
    for (int traced = 0; traced < 2; ++traced) {
        Bench bench(Rig::small(), "moved.bin");
        auto queue = bench.rig->add_queue();
        const pm4::TraceConfig config = config_of(traced == 0 ? 1 : 2, 0);
        bench.start(config);
        const auto launch = work(*bench.rig, 4096);
        bench.rig->launch(queue, launch);
        ASSERT_TRUE(bench.rig->run_until(launch.signal));
        waves[traced] = bench.truth().waves;
    }
    ASSERT_EQ(waves[0].size(), waves[1].size());
    for (std::size_t i = 0; i < waves[0].size(); ++i) {
        EXPECT_EQ(waves[0][i].start, waves[1][i].start);
        EXPECT_EQ(waves[0][i].end, waves[1][i].end);
    }
}

TEST(ChipDecodeTest, RecordedDialects_TraceAsWell) {
    for (const auto dialect : {pm4::Dialect::kJun25, pm4::Dialect::kAug25}) {
        Bench bench(Rig::small(), "dialect.bin");
        auto queue = bench.rig->add_queue();
        pm4::TraceConfig config = config_of(1, 1);
        config.dialect = dialect;
        const Session session = bench.start(config);
        const auto launch = work(*bench.rig, 4096);
        bench.rig->launch(queue, launch);
        ASSERT_TRUE(bench.rig->run_until(launch.signal));
        bench.stop(session);
        const auto records = bench.decode(session, 0);
        const Truth truth = bench.truth();
        EXPECT_GT(compare(truth, windows_of(truth, 0).at(0), 0, config, records).instructions,
                  600U);
    }
}

} // namespace
} // namespace wavetap
