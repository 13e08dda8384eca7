// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/chip_for_test.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace wavetap::softgpu {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

std::string truth_path(const char* name) {
    return (std::filesystem::path(testing::TempDir()) / name).string();
}

/// Runs `body` on a rig with a truth log and returns the log.
template <class Body> Truth logged(const char* name, const ChipSpec& spec, Body body) {
    const std::string path = truth_path(name);
    {
        auto writer = TruthWriter::create(path);
        EXPECT_TRUE(writer);
        Rig rig(spec, writer->get());
        body(rig);
        rig.chip.reset();
    }
    auto truth = read_truth(path);
    EXPECT_TRUE(truth);
    return truth ? *std::move(truth) : Truth{};
}

TEST(ChipTest, Kernel_ComputesAndCompletes) {
    Rig rig(Rig::small());
    auto queue = rig.add_queue();
    const std::uint64_t out = rig.allocate(1000 * 4 + 512);
    const std::uint64_t arguments = rig.allocate(16);
    rig.write(arguments, out);
    rig.write(arguments + 8, std::uint32_t{1000});
    const std::uint64_t done = rig.add_signal(1, 77);
    rig.launch(queue, {.kernel = rig.add_kernel(kernels::kWork),
                       .grid = {1024, 1, 1},
                       .group = {256, 1, 1},
                       .arguments = arguments,
                       .signal = done,
                       .lds_bytes = 1024});
    ASSERT_TRUE(rig.run_until(done));
    EXPECT_THAT(rig.host.messages, IsEmpty());
    for (std::uint32_t i = 0; i < 1000; ++i) {
        const std::uint32_t local = i % 256;
        ASSERT_EQ(rig.read<std::uint32_t>(out + i * 4), 12 * local + 3 * (local ^ 1)) << i;
    }
    EXPECT_EQ(rig.read<std::uint32_t>(out + 4000), 0U) << "beyond the count";
    EXPECT_THAT(rig.host.interrupts, Contains(77U));
    EXPECT_EQ(rig.read<std::uint64_t>(queue.base + 0x80), 1U) << "read index";
    EXPECT_EQ(rig.read<std::uint16_t>(queue.ring), 1U) << "header is INVALID again";
    EXPECT_LT(rig.read<std::uint64_t>(done + 32), rig.read<std::uint64_t>(done + 40));
    EXPECT_TRUE(rig.run_to_idle());
}

TEST(ChipTest, GridThatIsNoMultipleOfTheGroup_HasPartialWaves) {
    const Truth truth = logged("partial.bin", Rig::small(), [](Rig& rig) {
        auto queue = rig.add_queue();
        const std::uint64_t done = rig.add_signal();
        rig.launch(queue, {.kernel = rig.add_kernel(kernels::kEnd),
                           .grid = {70, 3, 1},
                           .group = {64, 2, 1},
                           .signal = done});
        EXPECT_TRUE(rig.run_until(done));
    });
    std::uint32_t threads = 0;
    for (const TruthWave& wave : truth.waves)
        threads += wave.threads;
    EXPECT_EQ(threads, 210U);
    EXPECT_EQ(truth.waves.size(), 2U + 1U + 1U + 1U);
    ASSERT_EQ(truth.dispatches.size(), 1U);
    EXPECT_EQ(truth.dispatches[0].workgroups, 4U);
}

TEST(ChipTest, TwoKernels_ShareACuAndRunTogether) {
    ChipSpec spec = Rig::small();
    spec.shader_engines = 1;
    spec.cus_per_engine = 1;
    const Truth truth = logged("two_kernels.bin", spec, [](Rig& rig) {
        auto a = rig.add_queue(1), b = rig.add_queue(2);
        const std::uint64_t kernel = rig.add_kernel(kernels::kSpin);
        const std::uint64_t done_a = rig.add_signal(), done_b = rig.add_signal();
        rig.launch(a, {.kernel = kernel, .arguments = 400, .signal = done_a});
        rig.launch(b, {.kernel = kernel, .arguments = 400, .signal = done_b});
        EXPECT_TRUE(rig.run_until(done_a));
        EXPECT_TRUE(rig.run_until(done_b));
    });
    ASSERT_EQ(truth.waves.size(), 2U);
    EXPECT_NE(truth.waves[0].dispatch, truth.waves[1].dispatch);
    EXPECT_LT(truth.waves[1].start, truth.waves[0].end) << "they overlap";
    EXPECT_LT(truth.waves[0].start, truth.waves[1].end);
    for (const TruthWave& wave : truth.waves)
        EXPECT_EQ(wave.instructions.size(), 2U + 4 * 400 + 2);
}

TEST(ChipTest, Pm4WaitThatNeverHolds_BlocksOnlyItsQueue_ThenIsAnErrorInWords) {
    Rig rig(Rig::small());
    auto waiter = rig.add_queue(1), worker = rig.add_queue(2);
    const std::uint64_t never = rig.add_signal(), done = rig.add_signal();
    // WAIT_REG_MEM: SQ_THREAD_TRACE_STATUS bit 30 == 0x40000000, which nobody sets.
    rig.commands(waiter, {0xC0053C00, 3, 0xC33A, 0, 0x40000000, 0x40000000, 4}, never);
    rig.launch(worker, {.kernel = rig.add_kernel(kernels::kSpin), .arguments = 50, .signal = done});
    ASSERT_TRUE(rig.run_until(done));
    EXPECT_EQ(rig.value(never), 1);
    EXPECT_THAT(rig.host.messages, IsEmpty());
    for (int i = 0; i < 2000 && rig.host.messages.empty(); ++i)
        rig.chip->step(100'000);
    ASSERT_EQ(rig.host.failed_queues.size(), 1U);
    EXPECT_EQ(rig.host.failed_queues[0], 1U);
    EXPECT_THAT(rig.host.messages[0], HasSubstr("SQ_THREAD_TRACE_STATUS 0xc33a"));
    EXPECT_THAT(rig.host.messages[0], HasSubstr("mask 0x40000000"));
    EXPECT_EQ(rig.value(waiter.inactive), 256) << "the runtime is told";
    EXPECT_EQ(rig.value(never), 1);
}

TEST(ChipTest, WaitOnMemory_GoesOnWhenTheHostWrites) {
    Rig rig(Rig::small());
    auto queue = rig.add_queue();
    const std::uint64_t word = rig.allocate(4), done = rig.add_signal();
    rig.commands(queue,
                 {0xC0053C00, 0x13, static_cast<std::uint32_t>(word),
                  static_cast<std::uint32_t>(word >> 32), 5, 0xFF, 4},
                 done);
    Chip::Progress progress = Chip::Progress::kRunning;
    for (int i = 0; i < 20; ++i)
        progress = rig.chip->step(10'000);
    EXPECT_EQ(progress, Chip::Progress::kPolling);
    EXPECT_EQ(rig.value(done), 1);
    rig.write(word, std::uint32_t{0x1105});
    EXPECT_TRUE(rig.run_until(done));
    EXPECT_TRUE(rig.run_to_idle());
}

TEST(ChipTest, UnknownRegisterAndPacket_AreErrorsWithTheirAddress) {
    for (const std::vector<std::uint32_t>& words :
         {std::vector<std::uint32_t>{0xC0017900, 0x0999, 1},
          std::vector<std::uint32_t>{0xC0011234, 0, 0}}) {
        Rig rig(Rig::small());
        auto queue = rig.add_queue();
        const std::uint64_t done = rig.add_signal();
        rig.commands(queue, words, done);
        EXPECT_FALSE(rig.run_until(done));
        ASSERT_EQ(rig.host.messages.size(), 1U);
        EXPECT_THAT(rig.host.messages[0], HasSubstr("PM4 at 0x7f2"));
        EXPECT_EQ(rig.value(queue.inactive), 256);
    }
}

TEST(ChipTest, BarrierBit_WaitsForEarlierKernels) {
    const Truth truth = logged("barrier_bit.bin", Rig::small(), [](Rig& rig) {
        auto queue = rig.add_queue();
        const std::uint64_t kernel = rig.add_kernel(kernels::kSpin);
        const std::uint64_t done = rig.add_signal();
        rig.launch(queue, {.kernel = kernel, .arguments = 100});
        rig.launch(queue, {.kernel = kernel, .arguments = 100});
        rig.launch(queue, {.kernel = kernel, .arguments = 1, .signal = done, .barrier = true});
        EXPECT_TRUE(rig.run_until(done));
    });
    ASSERT_EQ(truth.waves.size(), 3U);
    const auto of = [&](std::uint64_t dispatch) {
        for (const TruthWave& wave : truth.waves)
            if (wave.dispatch == dispatch) return wave;
        return TruthWave{};
    };
    EXPECT_LT(of(2).start, of(1).end) << "no barrier: they overlap";
    EXPECT_GT(of(3).start, of(1).end);
    EXPECT_GT(of(3).start, of(2).end);
}

TEST(ChipTest, BarrierPackets_WaitForTheirSignals) {
    Rig rig(Rig::small());
    auto queue = rig.add_queue();
    const std::uint64_t a = rig.add_signal(), b = rig.add_signal();
    const std::uint64_t all = rig.add_signal(), any = rig.add_signal();
    rig.barrier_and(queue, {a, b}, any, false, true);
    rig.barrier_and(queue, {a, b}, all);
    for (int i = 0; i < 10; ++i)
        rig.chip->step(10'000);
    EXPECT_EQ(rig.value(any), 1);
    rig.write(b + 8, std::int64_t{0});
    EXPECT_TRUE(rig.run_until(any));
    EXPECT_FALSE(rig.run_until(all, 100'000));
    rig.write(a + 8, std::int64_t{0});
    EXPECT_TRUE(rig.run_until(all));
}

TEST(ChipTest, BarrierValuePacket_ComparesUnderItsMask) {
    Rig rig(Rig::small());
    auto queue = rig.add_queue();
    const std::uint64_t watched = rig.add_signal(0x100), done = rig.add_signal();
    std::array<std::uint32_t, 16> p{};
    p[0] = 2U << 16;
    p[2] = static_cast<std::uint32_t>(watched);
    p[3] = static_cast<std::uint32_t>(watched >> 32);
    p[4] = 5; // value
    p[6] = 0xFF;
    p[8] = 3; // >=
    p[14] = static_cast<std::uint32_t>(done);
    p[15] = static_cast<std::uint32_t>(done >> 32);
    rig.submit(queue, p);
    EXPECT_FALSE(rig.run_until(done, 100'000));
    rig.write(watched + 8, std::int64_t{0x206});
    EXPECT_TRUE(rig.run_until(done));
}

TEST(ChipTest, BadPackets_StopTheQueueWithTheirCode) {
    struct Row {
        Launch launch;
        std::int64_t code;
        const char* words;
    };
    for (const Row& row : {Row{{.kernel = 0x1234000}, 8, "kernel object"},
                           Row{{.kernel = Rig::kCode, .grid = {0, 1, 1}}, 2, "grid size 0"},
                           Row{{.kernel = Rig::kCode, .group = {1024, 2, 1}}, 64, "work-group"},
                           Row{{.kernel = Rig::kCode, .lds_bytes = 70000}, 4, "LDS"}}) {
        Rig rig(Rig::small());
        rig.add_kernel(kernels::kEnd);
        auto queue = rig.add_queue();
        Launch launch = row.launch;
        launch.signal = rig.add_signal();
        if (row.code == 64) launch.grid = {1024, 2, 1};
        rig.launch(queue, launch);
        EXPECT_FALSE(rig.run_until(launch.signal));
        EXPECT_EQ(rig.value(queue.inactive), row.code);
        ASSERT_EQ(rig.host.messages.size(), 1U);
        EXPECT_THAT(rig.host.messages[0], HasSubstr(row.words));
        EXPECT_THAT(rig.host.interrupts, Contains(4001U));
    }
}

TEST(ChipTest, IllegalInstruction_NamesThePcAndSparesOtherQueues) {
    Rig rig(Rig::small());
    auto bad = rig.add_queue(1), good = rig.add_queue(2);
    const std::uint32_t illegal[] = {0xbf800000, 0xFFFFFFFF, 0xbf810000};
    const std::uint64_t kernel = rig.add_kernel(illegal);
    const std::uint64_t failed = rig.add_signal(), done = rig.add_signal();
    rig.launch(bad, {.kernel = kernel, .grid = {4096, 1, 1}, .signal = failed});
    rig.launch(good, {.kernel = rig.add_kernel(kernels::kSpin), .arguments = 500, .signal = done});
    ASSERT_TRUE(rig.run_until(done));
    EXPECT_EQ(rig.value(failed), 1);
    ASSERT_EQ(rig.host.messages.size(), 1U);
    char pc[32];
    std::snprintf(pc, sizeof(pc), "%llx", static_cast<unsigned long long>(rig.entry(kernel) + 4));
    EXPECT_THAT(rig.host.messages[0], HasSubstr(pc));
    EXPECT_EQ(rig.value(bad.inactive), 0x40000000);
    EXPECT_TRUE(rig.run_to_idle());
}

TEST(ChipTest, Trap_AndMemoryFault_StopTheQueue) {
    Rig rig(Rig::small());
    auto trap = rig.add_queue(1), fault = rig.add_queue(2);
    const std::uint64_t never = rig.add_signal();
    rig.launch(trap, {.kernel = rig.add_kernel(kernels::kTrap), .signal = never});
    // Loads from an argument pointer that is not mapped.
    rig.launch(
        fault,
        {.kernel = rig.add_kernel(kernels::kUntilSet), .arguments = 0x123450000, .signal = never});
    EXPECT_TRUE(rig.run_to_idle());
    EXPECT_EQ(rig.value(never), 1);
    EXPECT_EQ(rig.value(trap.inactive), std::int64_t{0x80000000});
    EXPECT_THAT(rig.host.faults, testing::ElementsAre(0x123450000U));
    EXPECT_EQ(rig.host.failed_queues.size(), 2U);
}

TEST(ChipTest, Scratch_IsNegotiatedOverTheInactiveSignal) {
    Rig rig(Rig::small());
    auto queue = rig.add_queue();
    const std::uint64_t done = rig.add_signal();
    rig.launch(queue,
               {.kernel = rig.add_kernel(kernels::kEnd), .signal = done, .private_bytes = 64});
    EXPECT_FALSE(rig.run_until(done, 100'000));
    EXPECT_EQ(rig.value(queue.inactive), 1);
    EXPECT_EQ(rig.read<std::uint64_t>(queue.base + 0x80), 0U) << "the packet is still at the head";
    rig.write(queue.base + 0x8C, std::uint32_t{8U | 4U << 12}); // eight waves of 4 KiB
    rig.write(queue.base + 0xA0, rig.allocate(8 * 4096));
    rig.write(queue.inactive + 8, std::int64_t{0});
    EXPECT_TRUE(rig.run_until(done));
}

TEST(ChipTest, DestroyedQueue_LeavesNothingRunning) {
    const Truth truth = logged("destroyed.bin", Rig::small(), [](Rig& rig) {
        auto queue = rig.add_queue();
        const std::uint64_t flag = rig.allocate(4), done = rig.add_signal();
        rig.launch(queue, {.kernel = rig.add_kernel(kernels::kUntilSet),
                           .grid = {640, 1, 1},
                           .arguments = flag,
                           .signal = done});
        for (int i = 0; i < 10; ++i)
            rig.chip->step(1000);
        rig.chip->destroy_queue(queue.id);
        EXPECT_TRUE(rig.run_to_idle());
        EXPECT_EQ(rig.value(done), 1) << "its memory is left alone";
    });
    ASSERT_FALSE(truth.waves.empty());
    for (const TruthWave& wave : truth.waves)
        EXPECT_NE(wave.end, 0U);
}

TEST(ChipTest, OpenWaves_AreInTheLogWithoutAnEnd) {
    const Truth truth = logged("open.bin", Rig::small(), [](Rig& rig) {
        auto queue = rig.add_queue();
        rig.launch(queue,
                   {.kernel = rig.add_kernel(kernels::kUntilSet), .arguments = rig.allocate(4)});
        for (int i = 0; i < 10; ++i)
            rig.chip->step(1000);
    });
    ASSERT_EQ(truth.waves.size(), 1U);
    EXPECT_EQ(truth.waves[0].end, 0U);
    EXPECT_GT(truth.waves[0].instructions.size(), 10U);
}

TEST(ChipTest, SuspendedQueue_TakesNoPackets) {
    Rig rig(Rig::small());
    auto queue = rig.add_queue();
    const std::uint64_t done = rig.add_signal();
    rig.chip->suspend_queue(queue.id, true);
    rig.barrier_and(queue, {}, done);
    EXPECT_FALSE(rig.run_until(done, 100'000));
    rig.chip->suspend_queue(queue.id, false);
    EXPECT_TRUE(rig.run_until(done));
}

TEST(ChipTest, ManyQueues_AllFinish) {
    Rig rig(Rig::small());
    const std::uint64_t kernel = rig.add_kernel(kernels::kSpin);
    std::vector<std::uint64_t> signals;
    std::vector<Rig::Queue> queues;
    for (std::uint64_t q = 0; q < 40; ++q) {
        queues.push_back(rig.add_queue(q + 1));
        for (std::uint32_t i = 0; i < 5; ++i) {
            signals.push_back(rig.add_signal());
            rig.launch(queues.back(), {.kernel = kernel,
                                       .grid = {256, 1, 1},
                                       .arguments = 1 + i,
                                       .signal = signals.back(),
                                       .barrier = i % 2 == 0});
        }
    }
    for (const std::uint64_t signal : signals)
        ASSERT_TRUE(rig.run_until(signal));
    EXPECT_TRUE(rig.run_to_idle());
}

// -- placement

std::vector<std::array<unsigned, 4>> places(std::uint64_t seed, const char* name) {
    const Truth truth = logged(name, Rig::small(seed), [](Rig& rig) {
        auto queue = rig.add_queue();
        const std::uint64_t done = rig.add_signal();
        rig.launch(queue, {.kernel = rig.add_kernel(kernels::kSpin),
                           .grid = {64 * 5, 1, 1},
                           .arguments = 200,
                           .signal = done});
        EXPECT_TRUE(rig.run_until(done));
    });
    std::vector<TruthWave> waves = truth.waves;
    std::sort(waves.begin(), waves.end(),
              [](const TruthWave& a, const TruthWave& b) { return a.start < b.start; });
    std::vector<std::array<unsigned, 4>> list;
    for (const TruthWave& w : waves)
        list.push_back({w.se, w.cu, w.simd, w.slot});
    return list;
}

TEST(PlacementTest, RoundRobinOverEnginesThenCusThenSimds) {
    const std::vector<std::array<unsigned, 4>> expected = {
        {0, 0, 0, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}, {1, 1, 0, 0}, {0, 0, 1, 0}};
    EXPECT_EQ(places(0, "place0.bin"), expected);
}

TEST(PlacementTest, SeedsChangeIt_AndAreRepeatable) {
    bool differs = false;
    for (std::uint64_t seed = 1; seed < 6; ++seed) {
        const auto first = places(seed, "place_a.bin");
        EXPECT_EQ(first, places(seed, "place_b.bin"));
        differs |= first != places(0, "place_c.bin");
    }
    EXPECT_TRUE(differs);
}

TEST(PlacementTest, FusedOffCusGetNothing) {
    ChipSpec spec = Rig::small();
    spec.harvested = {1 << 8 | 0};
    const Truth truth = logged("harvested.bin", spec, [](Rig& rig) {
        auto queue = rig.add_queue();
        const std::uint64_t done = rig.add_signal();
        rig.launch(queue, {.kernel = rig.add_kernel(kernels::kSpin),
                           .grid = {64 * 64, 1, 1},
                           .arguments = 3,
                           .signal = done});
        EXPECT_TRUE(rig.run_until(done));
    });
    EXPECT_EQ(truth.waves.size(), 64U);
    for (const TruthWave& wave : truth.waves)
        EXPECT_FALSE(wave.se == 1 && wave.cu == 0);
}

TEST(PlacementTest, RegistersAndLds_LimitWhatIsResident) {
    ChipSpec spec = Rig::small();
    spec.shader_engines = 1;
    spec.cus_per_engine = 1;
    for (const bool lds : {false, true}) {
        const Truth truth = logged("limits.bin", spec, [&](Rig& rig) {
            auto queue = rig.add_queue();
            const std::uint64_t done = rig.add_signal();
            rig.launch(queue, {.kernel = rig.add_kernel(kernels::kSpin, lds ? 16 : 256),
                               .grid = {64 * 30, 1, 1},
                               .arguments = 20,
                               .signal = done,
                               .lds_bytes = lds ? 16384U : 0U});
            EXPECT_TRUE(rig.run_until(done));
        });
        ASSERT_EQ(truth.waves.size(), 30U);
        std::size_t most = 0;
        for (const TruthWave& at : truth.waves) {
            std::size_t resident = 0;
            for (const TruthWave& w : truth.waves)
                resident += w.start <= at.start && at.start < w.end ? 1 : 0;
            most = std::max(most, resident);
        }
        EXPECT_EQ(most, lds ? 4U : 8U); // 64 KiB / 16 KiB; 512 / 256 on each of four SIMDs
    }
}

} // namespace
} // namespace wavetap::softgpu
