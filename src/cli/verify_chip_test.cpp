// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/verify_scene.hpp"
#include "code/code_object.hpp"
#include "pm4/packets.hpp"
#include "pm4/perf_counters.hpp"
#include "pm4/thread_trace.hpp"
#include "softgpu/chip_for_test.hpp"
#include "tests/support/temp_folder.hpp"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>

// Streams of the builder, executed by the chip model while kernels run, decoded and verified: the
// whole way but for driver and runtime. Then with one wrong word in the start stream.

namespace wavetap::cli {
namespace {

constexpr std::uint64_t kLoadBase = 0x7f3000000000;
constexpr std::uint64_t kOutput = 0x7f4000000000;
constexpr std::uint64_t kOutputBytes = 1 << 20;

class Bench {
  public:
    using Patch = std::function<void(std::vector<std::uint32_t>&)>;

    Bench() : object_(code::CodeObject::load(WAVETAP_VERIFY_KERNELS).value()) {
        writer_ = std::move(softgpu::TruthWriter::create(dir_ / "truth.bin")).value();
        const softgpu::ChipSpec spec = softgpu::Rig::small();
        rig_.emplace(spec, writer_.get());
        writer_->chip(0, "gfx90a");
        load_code();
        app_ = rig_->add_queue(1);
        hub_ = rig_->add_queue(2);
        process_.pid = 7;
        process_.complete = true;
        process_.agents.push_back({0, "gfx90a", 2, 2, 4, "modelled"});
        process_.code_objects.push_back(
            {1, 0, kLoadBase, object_.memory_bytes(), "file:///app", "code/1.elf", false});
    }
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;

    softgpu::Rig& rig() { return *rig_; }
    store::ProcessTrace& process() { return process_; }

    /// Samples waves, issued instructions, vector ALU instructions of SIMD 1, busy CUs and wave quads.
    std::uint32_t add_counting_context(std::uint64_t se_mask, std::uint32_t period = 2) {
        const std::uint32_t id = add_context(se_mask, 1, 0xF);
        store::ContextInfo& context = process_.contexts[id];
        context.perf_counters = {{"SQ_WAVES", 4, 0xF},
                                 {"SQ_INSTS", 25, 0xF},
                                 {"SQ_INSTS_VALU", 26, 0x2},
                                 {"SQ_BUSY_CU_CYCLES", 13, 0xF},
                                 {"SQ_WAVE_CYCLES", 74, 0xF}};
        context.perf_period = period;
        return id;
    }
    /// What a profiler puts into the application's queue before its first dispatch.
    void enable_counters() {
        const std::uint64_t done = rig_->add_signal();
        rig_->commands(app_, pm4::build_counter_enable(topology()).value(), done, true);
        finish(done);
    }

    std::uint32_t add_context(std::uint64_t se_mask, std::uint32_t cu, std::uint32_t simd_mask,
                              bool detail = true, std::uint64_t bytes = kOutputBytes) {
        const auto id = static_cast<std::uint32_t>(process_.contexts.size());
        process_.contexts.push_back({id, 0, se_mask, cu, simd_mask, bytes, 1, detail, "device"});
        return id;
    }

    /// Puts a start of the context's next run on the hub's queue; returns its signal.
    std::uint64_t start(std::uint32_t context, const Patch& patch = {});
    std::uint64_t stop();
    void finish(std::uint64_t signal) { EXPECT_TRUE(rig_->run_until(signal)); }

    std::uint64_t launch(const std::string& kernel, std::uint32_t groups,
                         std::uint64_t arguments = 0) {
        const std::uint64_t done = rig_->add_signal();
        softgpu::Launch launch;
        launch.kernel = descriptors_.at(kernel);
        launch.grid = {groups * 256, 1, 1};
        launch.group = {256, 1, 1};
        launch.arguments = kernel == "work" ? arguments_ : arguments;
        launch.signal = done;
        launch.lds_bytes = kernel == "work" ? 1024 : 0;
        rig_->launch(app_, launch);
        return done;
    }

    void traced(std::uint32_t context, const Patch& patch = {}) {
        finish(start(context, patch));
        finish(launch("work", 8));
        finish(launch("spin", 4, 20));
        finish(stop());
    }

    /// Ends the chip and verifies what it left.
    VerifyReport verify(std::optional<softgpu::Truth>* keep = nullptr);

  private:
    struct Traced {
        pm4::TraceConfig config;
        pm4::TraceMemory memory;
    };

    void load_code();
    std::vector<std::byte> read_back(const Traced& run, std::uint32_t se);

    static const pm4::TraceTopology& topology() {
        static const pm4::TraceTopology kTopology{"gfx90a", 1, 2, 2};
        return kTopology;
    }

    code::CodeObject object_;
    test::TempFolder dir_;
    std::unique_ptr<softgpu::TruthWriter> writer_;
    std::optional<softgpu::Rig> rig_;
    softgpu::Rig::Queue app_, hub_;
    std::map<std::string, std::uint64_t> descriptors_;
    std::uint64_t arguments_ = 0;
    store::ProcessTrace process_;
    std::vector<Traced> runs_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::byte>> bytes_;
};

void Bench::load_code() {
    std::byte* memory = rig_->space.map(kLoadBase, object_.memory_bytes());
    for (const code::Symbol& symbol : object_.functions()) {
        const auto code = object_.bytes_at(symbol.address);
        std::memcpy(memory + symbol.address, code.data(), code.size());
        const std::uint64_t descriptor = rig_->allocate(64);
        rig_->write(descriptor + 16,
                    static_cast<std::int64_t>(kLoadBase + symbol.address - descriptor));
        rig_->write(descriptor + 44, std::uint32_t{3});
        rig_->write(descriptor + 48, std::uint32_t{1});
        rig_->write(descriptor + 52, std::uint32_t{2U << 1 | 1U << 7});
        rig_->write(descriptor + 56, std::uint32_t{8});
        descriptors_[symbol.name] = descriptor;
    }
    arguments_ = rig_->allocate(16);
    rig_->write(arguments_, rig_->allocate(64 * 1024));
}

std::uint64_t Bench::start(std::uint32_t context, const Patch& patch) {
    const store::ContextInfo& info = process_.contexts.at(context);
    Traced traced;
    traced.config.se_mask = info.se_mask;
    traced.config.target_cu = info.cu;
    traced.config.simd_mask = info.simd_mask;
    traced.config.detail = info.detail;
    traced.config.buffer_bytes = info.buffer_bytes;
    for (const store::PerfCounterInfo& counter : info.perf_counters)
        traced.config.counters.push_back({counter.id, counter.simd_mask});
    if (!info.perf_counters.empty()) traced.config.counter_rate = info.perf_period - 1;
    traced.config.counter_cu_mask = ~info.perf_exclude_mask;
    traced.memory.output_va = kOutput + runs_.size() * kOutputBytes;
    traced.memory.control_va =
        rig_->allocate(pm4::control_bytes(topology(), traced.config.dialect), 256);
    rig_->space.map(traced.memory.output_va, kOutputBytes);
    store::Run run;
    run.info.id = static_cast<std::uint32_t>(runs_.size());
    run.info.context = context;
    run.complete = true;
    process_.runs.push_back(run);
    std::vector<std::uint32_t> words =
        build_start(topology(), traced.config, traced.memory).value();
    if (patch) patch(words);
    runs_.push_back(traced);
    const std::uint64_t done = rig_->add_signal();
    rig_->commands(hub_, words, done, true);
    return done;
}

std::uint64_t Bench::stop() {
    const Traced& traced = runs_.back();
    const std::uint64_t done = rig_->add_signal();
    rig_->commands(hub_, build_stop(topology(), traced.config, traced.memory).value(), done, true);
    return done;
}

std::vector<std::byte> Bench::read_back(const Traced& run, std::uint32_t se) {
    const pm4::ControlLayout layout = pm4::control_layout(run.config.dialect);
    const std::uint64_t entry =
        run.memory.control_va + pm4::engine_entry_offset(run.config.dialect, se);
    const std::uint64_t capacity = *capacity_per_engine(topology(), run.config);
    const pm4::EngineResult result =
        interpret_control(topology(), run.config, rig_->read<std::uint32_t>(entry + layout.status),
                          rig_->read<std::uint32_t>(entry + layout.wptr), capacity);
    const std::uint64_t header = gfx9_header(topology(), run.config, se);
    std::vector<std::byte> bytes(8 + result.bytes);
    std::memcpy(bytes.data(), &header, 8);
    const std::uint64_t va = run.memory.output_va + *engine_offset(topology(), run.config, se);
    const auto window = rig_->space.find(va);
    std::memcpy(bytes.data() + 8, window.host + (va - window.va), result.bytes);
    return bytes;
}

VerifyReport Bench::verify(std::optional<softgpu::Truth>* keep) {
    EXPECT_TRUE(rig_->host.messages.empty())
        << (rig_->host.messages.empty() ? "" : rig_->host.messages[0]);
    for (std::uint32_t run = 0; run < runs_.size(); ++run) {
        for (std::uint32_t se = 0; se < 2; ++se) {
            if ((runs_[run].config.se_mask >> se & 1) == 0) continue;
            store::ChunkInfo chunk;
            chunk.run = run;
            chunk.se = se;
            bytes_[{run, se}] = read_back(runs_[run], se);
            chunk.bytes = bytes_[{run, se}].size();
            process_.runs[run].chunks.push_back(chunk);
        }
    }
    rig_->chip.reset();
    writer_.reset();
    const softgpu::TruthLog truth = softgpu::TruthLog::open(dir_ / "truth.bin").value();
    testing::WholeSegments segments;
    segments.read = [&](const store::ChunkInfo& info) -> Result<std::vector<std::byte>> {
        return bytes_.at({info.run, info.se});
    };
    segments.decode = [&](std::span<const std::byte> bytes, std::uint32_t) {
        decode::Options options;
        options.gfx = "gfx90a";
        options.objects.push_back({&object_, kLoadBase, 1});
        return decode::decode_blob(bytes, options);
    };
    VerifyReport report;
    EXPECT_TRUE(verify_process(process_, truth, segments.sources(), report));
    if (keep != nullptr) *keep = softgpu::read_truth(dir_ / "truth.bin").value();
    return report;
}

TEST(VerifyChipTest, ContextsInTurn_EveryRecordMatches) {
    Bench bench;
    bench.add_context(0x1, 0, 0xF);
    bench.add_context(0x3, 1, 0x3);
    bench.add_context(0x2, 1, 0x8);
    bench.add_context(0x3, 0, 0xF, false);
    for (int round = 0; round < 2; ++round)
        for (std::uint32_t context = 0; context < 4; ++context)
            bench.traced(context);
    const VerifyReport report = bench.verify();
    EXPECT_TRUE(report.good()) << verify_text(report);
    ASSERT_EQ(report.contexts.size(), 4U);
    for (const VerifyContext& context : report.contexts) {
        EXPECT_EQ(context.runs, 2U);
        EXPECT_GT(context.waves.matched, 20U);
        EXPECT_EQ(context.instructions.matched != 0, context.context.detail);
        EXPECT_EQ(context.apart.open_at_start + context.apart.open_at_end, 0U);
    }
}

TEST(VerifyChipTest, StartAndStopInTheMiddleOfKernels_OpenWavesAreCountedApart) {
    Bench bench;
    bench.add_context(0x3, 0, 0xF);
    const std::uint64_t before = bench.launch("spin", 4, 3000);
    for (int i = 0; i < 30; ++i)
        bench.rig().chip->step(400);
    ASSERT_NE(bench.rig().value(before), 0) << "the kernel is over already";
    bench.finish(bench.start(0));
    ASSERT_NE(bench.rig().value(before), 0) << "start waited for the kernel";
    bench.finish(before);
    bench.finish(bench.launch("work", 8));
    const std::uint64_t after = bench.launch("spin", 4, 3000);
    for (int i = 0; i < 20; ++i)
        bench.rig().chip->step(400);
    bench.finish(bench.stop());
    ASSERT_NE(bench.rig().value(after), 0) << "stop waited for the kernel";
    bench.finish(after);
    const VerifyReport report = bench.verify();
    EXPECT_TRUE(report.good()) << verify_text(report);
    const VerifyContext& context = report.contexts[0];
    EXPECT_GT(context.apart.open_at_start, 0U);
    EXPECT_GT(context.apart.open_at_end, 0U);
    EXPECT_GT(context.instructions.matched, 100U);
}

TEST(VerifyChipTest, BufferTooSmall_WhatFitsMatchesTheRestIsCountedApart) {
    Bench bench;
    bench.add_context(0x1, 0, 0xF, true, 128 * 1024);
    bench.finish(bench.start(0));
    bench.finish(bench.launch("work", 8));
    bench.finish(bench.launch("spin", 16, 4000));
    bench.finish(bench.stop());
    const VerifyReport report = bench.verify();
    EXPECT_TRUE(report.good()) << verify_text(report);
    const VerifyContext& context = report.contexts[0];
    EXPECT_GT(context.apart.dropped, 0U);
    EXPECT_GT(context.apart.dropped_tokens, 0U);
    EXPECT_GT(context.instructions.matched, 100U);
}

TEST(VerifyChipTest, Counters_EverySampleMatches) {
    Bench bench;
    bench.add_counting_context(0x3);
    bench.add_counting_context(0x1, 32);
    bench.add_counting_context(0x1);
    bench.process().contexts[2].perf_exclude_mask = 0xFFFD;
    bench.add_context(0x1, 0, 0xF);
    bench.enable_counters();
    for (int round = 0; round < 2; ++round)
        for (std::uint32_t context = 0; context < 4; ++context)
            bench.traced(context);
    const VerifyReport report = bench.verify();
    EXPECT_TRUE(report.good()) << verify_text(report);
    for (std::size_t i = 0; i < 3; ++i)
        EXPECT_GT(report.contexts[i].samples.matched, 4U) << i;
    EXPECT_GT(report.contexts[0].samples.matched, 3 * report.contexts[1].samples.matched);
    EXPECT_EQ(report.contexts[3].samples.expected, 0U);
}

// The samples' sums against what the truth log says of the waves, which is written elsewhere.
TEST(VerifyChipTest, Counters_SumsAreThoseOfTheWaves) {
    Bench bench;
    bench.add_counting_context(0x3, 1);
    bench.enable_counters();
    bench.finish(bench.start(0));
    bench.finish(bench.launch("work", 8));
    bench.finish(bench.launch("spin", 4, 20));
    for (int i = 0; i < 4; ++i) // until the last counts are sampled
        bench.rig().chip->step(100);
    bench.finish(bench.stop());
    std::optional<softgpu::Truth> truth;
    EXPECT_TRUE(bench.verify(&truth).good());
    std::map<std::pair<unsigned, unsigned>, std::array<std::uint64_t, 8>> counted, expected;
    for (const softgpu::TruthSample& sample : truth->samples)
        for (std::size_t i = 0; i < 4; ++i)
            counted[{sample.se, sample.cu}][sample.bank * std::size_t{4} + i] += sample.counters[i];
    for (const softgpu::TruthWave& wave : truth->waves) {
        auto& sums = expected[{wave.se, wave.cu}];
        ++sums[0];
        sums[4] += (wave.end - wave.start) / 4;
    }
    ASSERT_FALSE(expected.empty());
    for (const auto& [place, sums] : expected) {
        EXPECT_EQ(counted[place][0], sums[0]) << "waves of CU " << place.second;
        EXPECT_EQ(counted[place][4], sums[4]) << "wave quads of CU " << place.second;
        EXPECT_GT(counted[place][1], counted[place][2]);
        EXPECT_GT(counted[place][2], 0U);
        EXPECT_LE(counted[place][3], sums[4]);
    }
}

TEST(VerifyChipTest, Counters_OfAQueueThatDoesNotCount_AreMissed) {
    Bench bench;
    bench.add_counting_context(0x3);
    bench.traced(0); // the start stream enables the hub's queue only
    const VerifyReport report = bench.verify();
    EXPECT_FALSE(report.good());
    EXPECT_NE(verify_text(report).find("no counter sample was expected"), std::string::npos)
        << verify_text(report);
}

/// The body of the n-th write of an uconfig register.
std::uint32_t& written(std::vector<std::uint32_t>& words, std::uint32_t reg, int n) {
    for (std::size_t i = 0; i + 2 < words.size(); ++i)
        if (words[i] == 0xC0017900 && words[i + 1] == reg - pm4::kUconfigBase && n-- == 0)
            return words[i + 2];
    throw std::logic_error("register is not written");
}

struct WrongWord {
    const char* name;
    Bench::Patch patch;
    const char* words;
};

void PrintTo(const WrongWord& row, std::ostream* out) {
    *out << row.name;
}

class WrongWordTest : public ::testing::TestWithParam<WrongWord> {};

TEST_P(WrongWordTest, VerifyFails) {
    Bench bench;
    bench.add_context(0x1, 0, 0x3);
    bench.traced(0, GetParam().patch);
    const VerifyReport report = bench.verify();
    const std::string text = verify_text(report);
    EXPECT_FALSE(report.good()) << text;
    EXPECT_NE(report.failed(), 0U) << text;
    EXPECT_NE(text.find(GetParam().words), std::string::npos) << text;
}

class WrongCounterWordTest : public ::testing::TestWithParam<WrongWord> {};

TEST_P(WrongCounterWordTest, VerifyFails) {
    Bench bench;
    bench.add_counting_context(0x1);
    bench.enable_counters();
    bench.traced(0, GetParam().patch);
    const VerifyReport report = bench.verify();
    const std::string text = verify_text(report);
    EXPECT_FALSE(report.good()) << text;
    EXPECT_NE(text.find(GetParam().words), std::string::npos) << text;
}

const std::vector<WrongWord>& wrong_counter_words() {
    using pm4::gfx9::Register;
    constexpr std::uint32_t kThird = Register::kSqPerfcounter0Select + 2;
    static const std::vector<WrongWord> rows = {
        {"counter", [](auto& w) { written(w, Register::kSqPerfcounter0Select, 0) ^= 2; },
         "other counters than were asked for"},
        {"simds", [](auto& w) { written(w, kThird, 0) ^= 1U << 24; },
         "other counters than were asked for"},
        {"rate", [](auto& w) { written(w, Register::kSqPerfcounterCtrl, 0) ^= 0x100; },
         "other counters than were asked for"},
        {"cus", [](auto& w) { written(w, Register::kSqThreadTracePerfMask, 0) ^= 1; },
         "other counters than were asked for"},
        {"off", [](auto& w) { written(w, Register::kCpPerfmonCntl, 1) = 0; }, "0 times, not once"},
        {"tokens_off",
         [](auto& w) { written(w, Register::kSqThreadTraceTokenMask, 0) &= ~0x4000U; },
         "0 times, not once"},
    };
    return rows;
}

INSTANTIATE_TEST_SUITE_P(Table, WrongCounterWordTest, ::testing::ValuesIn(wrong_counter_words()),
                         [](const auto& test) { return std::string(test.param.name); });

const std::vector<WrongWord>& wrong_words() {
    using pm4::gfx9::Register;
    static const std::vector<WrongWord> rows = {
        {"cu", [](auto& w) { written(w, Register::kSqThreadTraceMask, 0) ^= 1; },
         "is not in the trace"},
        {"cu_that_does_not_exist",
         [](auto& w) { written(w, Register::kSqThreadTraceMask, 0) |= 7; }, "is not in the trace"},
        {"simd_mask_other", [](auto& w) { written(w, Register::kSqThreadTraceMask, 0) ^= 0xF00; },
         "is not in the trace"},
        {"simd_mask_less", [](auto& w) { written(w, Register::kSqThreadTraceMask, 0) ^= 0x100; },
         "is not in the trace"},
        {"se", [](auto& w) { written(w, Register::kGrbmGfxIndex, 1) = pm4::gfx9::grbm_select(1); },
         "never armed"},
        {"se_and_others",
         [](auto& w) { written(w, Register::kGrbmGfxIndex, 1) = pm4::gfx9::kGrbmBroadcast; },
         "without a run that asked for it"},
        {"never_armed", [](auto& w) { written(w, Register::kSqThreadTraceMode, 1) = 0x02040000; },
         "never armed"},
        {"tokens_off", [](auto& w) { written(w, Register::kSqThreadTraceTokenMask, 0) &= ~8U; },
         "is not in the trace"},
        {"instructions_off",
         [](auto& w) { written(w, Register::kSqThreadTraceTokenMask, 0) &= ~0x400U; },
         "is not in the trace"},
        {"output_elsewhere", [](auto& w) { written(w, Register::kSqThreadTraceBase, 0) += 0x40; },
         "is not in the trace"},
    };
    return rows;
}

INSTANTIATE_TEST_SUITE_P(Table, WrongWordTest, ::testing::ValuesIn(wrong_words()),
                         [](const auto& test) { return std::string(test.param.name); });

} // namespace
} // namespace wavetap::cli
