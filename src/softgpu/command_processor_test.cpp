// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/command_processor.hpp"
#include "softgpu/space_for_test.hpp"
#include "softgpu/timing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

// Packets that thread-trace streams do not use; those are in command_golden_test.cpp.

namespace wavetap::softgpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace gfx9 = pm4::gfx9;

constexpr std::uint64_t kMemory = 0x7f0000000000, kStream = 0x7f0000008000;

class Target final : public CommandTarget {
  public:
    Result<void> write_trace_register(std::uint32_t, std::uint32_t se, std::uint32_t reg,
                                      std::uint32_t value) override {
        writes.push_back({se, reg, value});
        return {};
    }
    std::uint32_t read_trace_register(std::uint32_t, std::uint32_t se, std::uint32_t reg) override {
        return reg == gfx9::kSqThreadTraceStatus ? status : se;
    }
    void register_written(std::uint32_t, std::uint32_t se, std::uint32_t reg,
                          std::uint32_t value) override {
        writes.push_back({se, reg, value});
    }
    void event(std::uint32_t xcc, std::uint32_t event) override { events.push_back({xcc, event}); }
    std::uint64_t gpu_clock() override { return 0x1122334455667788; }
    std::uint64_t system_clock() override { return 0x99; }
    void acquire(std::uint32_t, std::uint64_t, std::uint64_t, bool) override {}
    void interrupt(std::uint32_t id) override { interrupts.push_back(id); }
    void memory_fault(std::uint64_t va, Access, const std::string&) override {
        faults.push_back(va);
    }
    bool queue_drained() override { return drained; }

    std::vector<std::array<std::uint32_t, 3>> writes;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> events;
    std::vector<std::uint32_t> interrupts;
    std::vector<std::uint64_t> faults;
    std::uint32_t status = 0;
    bool drained = true;
};

class CommandProcessorTest : public testing::Test {
  protected:
    CommandProcessorTest() { space_.map(kMemory, 1 << 16); }

    Result<CommandRun> begin(const std::vector<std::uint32_t>& words, std::uint64_t va = kStream) {
        for (std::size_t i = 0; i < words.size(); ++i)
            EXPECT_TRUE(memory_.write(va + i * 4, words[i]));
        return CommandRun::create(registers_, target_, memory_, va,
                                  static_cast<std::uint32_t>(words.size()));
    }
    /// Runs to the end; empty or the error's text.
    std::string run(const std::vector<std::uint32_t>& words) {
        auto run = begin(words);
        if (!run) return to_string(run.error());
        for (int i = 0; i < 10000; ++i) {
            const auto step = run->step(now_);
            now_ += step.clocks;
            if (step.state == CommandRun::State::kDone) return "";
            if (step.state == CommandRun::State::kFailed) return to_string(run->error());
            if (step.state == CommandRun::State::kWaiting) return "waits";
        }
        return "no end";
    }
    template <class T> T get(std::uint64_t offset) {
        T value{};
        EXPECT_TRUE(memory_.read(kMemory + offset, value));
        return value;
    }
    template <class T> void put(std::uint64_t offset, T value) {
        EXPECT_TRUE(memory_.write(kMemory + offset, value));
    }
    static std::uint32_t low(std::uint64_t offset) {
        return static_cast<std::uint32_t>(kMemory + offset);
    }
    static constexpr std::uint32_t kHigh = kMemory >> 32;

    SpaceForTest space_;
    Memory memory_{space_};
    RegisterFile registers_{1, 4};
    Target target_;
    std::uint64_t now_ = 0;
};

std::uint32_t header(pm4::Opcode opcode, std::uint32_t dwords) {
    return 3U << 30 | (dwords - 2) << 16 | static_cast<std::uint32_t>(opcode) << 8;
}

TEST_F(CommandProcessorTest, WriteData_ToMemoryAndRegisters) {
    EXPECT_EQ(run({header(pm4::Opcode::kWriteData, 6), 5 << 8, low(16), kHigh, 7, 8}), "");
    EXPECT_EQ(get<std::uint64_t>(16), 0x0000000800000007U);
    EXPECT_EQ(run({header(pm4::Opcode::kWriteData, 6), 5 << 8 | 1 << 16, low(32), kHigh, 7, 9}),
              "");
    EXPECT_EQ(get<std::uint64_t>(32), 9U) << "one address for all";
    EXPECT_EQ(run({header(pm4::Opcode::kSetUconfigReg, 3), 0x200, 0x40020000}), "");
    EXPECT_EQ(run({header(pm4::Opcode::kWriteData, 5), 0, gfx9::kSqThreadTraceUserdata2, 0, 5}),
              "");
    using Write = std::array<std::uint32_t, 3>;
    EXPECT_EQ(target_.writes.back(), (Write{2, gfx9::kSqThreadTraceUserdata2, 5}));
}

TEST_F(CommandProcessorTest, SetRegisters_TakesSeveralValues) {
    EXPECT_EQ(run({header(pm4::Opcode::kSetUconfigReg, 3), 0x200, 0x40010000}), "");
    target_.writes.clear();
    EXPECT_EQ(run({header(pm4::Opcode::kSetUconfigReg, 4), 0x342, 11, 12}), "");
    using Write = std::array<std::uint32_t, 3>;
    EXPECT_THAT(target_.writes, ElementsAre(Write{1, gfx9::kSqThreadTraceUserdata2, 11},
                                            Write{1, gfx9::kSqThreadTraceUserdata3, 12}));
}

TEST_F(CommandProcessorTest, CopyData_EverySelector) {
    put<std::uint64_t>(64, 0xAABBCCDD00112233);
    const auto copy = [&](std::uint32_t control, std::uint64_t to) {
        return run({header(pm4::Opcode::kCopyData, 6), control, low(64), kHigh, low(to), kHigh});
    };
    EXPECT_EQ(copy(1 | 5 << 8 | 1 << 16, 128), "");
    EXPECT_EQ(get<std::uint64_t>(128), 0xAABBCCDD00112233U);
    EXPECT_EQ(copy(2 | 2 << 8, 136), "");
    EXPECT_EQ(get<std::uint64_t>(136), 0x00112233U);
    EXPECT_EQ(copy(9 | 5 << 8 | 1 << 16, 144), "");
    EXPECT_EQ(get<std::uint64_t>(144), 0x1122334455667788U);
    EXPECT_EQ(copy(10 | 5 << 8 | 1 << 16, 152), "");
    EXPECT_EQ(get<std::uint64_t>(152), 0x99U);
    EXPECT_THAT(copy(3 | 5 << 8, 152), HasSubstr("COPY_DATA source selector 3"));
    EXPECT_THAT(copy(1 | 3 << 8, 152), HasSubstr("COPY_DATA destination selector 3"));
}

TEST_F(CommandProcessorTest, DmaData_CopiesAndFillsInPieces) {
    for (std::uint32_t i = 0; i < 1500; ++i)
        put<std::uint32_t>(i * 4, i * 3);
    const std::uint64_t before = now_;
    EXPECT_EQ(run({header(pm4::Opcode::kDmaData, 7), 0, low(0), kHigh, low(0x4000), kHigh, 6000}),
              "");
    EXPECT_GE(now_ - before, 2 * timing::kDmaStep) << "it takes time";
    EXPECT_EQ(get<std::uint32_t>(0x4000 + 1499 * 4), 1499U * 3);
    EXPECT_EQ(get<std::uint32_t>(0x4000 + 6000), 0U);
    EXPECT_EQ(
        run({header(pm4::Opcode::kDmaData, 7), 2U << 29, 0x04030201, 0, low(0x6000), kHigh, 6}),
        "");
    EXPECT_EQ(get<std::uint64_t>(0x6000), 0x020104030201U);
}

TEST_F(CommandProcessorTest, ReleaseMem_WaitsForTheQueueThenWritesAndInterrupts) {
    target_.drained = false;
    const std::vector<std::uint32_t> words = {header(pm4::Opcode::kReleaseMem, 8),
                                              0x514,
                                              2U << 29 | 2U << 24,
                                              low(256),
                                              kHigh,
                                              0x11,
                                              0x22,
                                              77};
    EXPECT_EQ(run(words), "waits");
    EXPECT_EQ(get<std::uint64_t>(256), 0U);
    target_.drained = true;
    EXPECT_EQ(run(words), "");
    EXPECT_EQ(get<std::uint64_t>(256), 0x2200000011U);
    EXPECT_THAT(target_.interrupts, ElementsAre(77U));
}

TEST_F(CommandProcessorTest, PartialFlush_WaitsForTheQueue) {
    target_.drained = false;
    EXPECT_EQ(run({header(pm4::Opcode::kEventWrite, 2), 0x407}), "waits");
    EXPECT_TRUE(target_.events.empty());
    target_.drained = true;
    EXPECT_EQ(run({header(pm4::Opcode::kEventWrite, 2), 0x407}), "");
    EXPECT_EQ(target_.events.size(), 1U);
}

TEST_F(CommandProcessorTest, AtomicMem_OperationsAndLoop) {
    struct Row {
        std::uint32_t op;
        std::uint64_t old_value, source, compare, wanted;
    };
    for (const Row& row : {Row{0x0F, 5, 7, 0, 12}, Row{0x10, 5, 7, 0, 0xFFFFFFFE},
                           Row{0x2F, 0xFFFFFFFF, 1, 0, 0x100000000}, Row{0x07, 5, 9, 0, 9},
                           Row{0x08, 5, 9, 5, 9}, Row{0x08, 5, 9, 6, 5}, Row{0x16, 5, 8, 0, 13},
                           Row{0x11, 5, 0xFFFFFFFF, 0, 0xFFFFFFFF}, Row{0x12, 5, 9, 0, 5},
                           Row{0x18, 5, 5, 0, 0}, Row{0x19, 0, 5, 0, 5}, Row{0x4F, 5, 7, 0, 12}}) {
        put<std::uint64_t>(512, row.old_value);
        EXPECT_EQ(run({header(pm4::Opcode::kAtomicMem, 9), row.op, low(512), kHigh,
                       static_cast<std::uint32_t>(row.source), 0,
                       static_cast<std::uint32_t>(row.compare), 0, 16}),
                  "");
        EXPECT_EQ(get<std::uint64_t>(512), row.wanted) << "operation " << row.op;
    }
    put<std::uint32_t>(512, 1);
    EXPECT_EQ(
        run({header(pm4::Opcode::kAtomicMem, 9), 0x08 | 1 << 8, low(512), kHigh, 9, 0, 2, 0, 16}),
        "waits");
    EXPECT_THAT(run({header(pm4::Opcode::kAtomicMem, 9), 0x3E, low(512), kHigh, 9, 0, 2, 0, 16}),
                HasSubstr("ATOMIC_MEM control word 0x3e"));
}

TEST_F(CommandProcessorTest, IndirectBuffers_NestAndChain) {
    const std::vector<std::uint32_t> inner = {header(pm4::Opcode::kSetUconfigReg, 3), 0x342, 1};
    for (std::size_t i = 0; i < inner.size(); ++i)
        put<std::uint32_t>(0x1000 + i * 4, inner[i]);
    const auto jump = [&](std::uint32_t flags) {
        return run({header(pm4::Opcode::kIndirectBuffer, 4), low(0x1000), kHigh, 3U | flags,
                    header(pm4::Opcode::kSetUconfigReg, 3), 0x343, 2});
    };
    EXPECT_EQ(jump(0), "");
    EXPECT_EQ(target_.writes.size(), 8U) << "both registers on four engines";
    target_.writes.clear();
    EXPECT_EQ(jump(1U << 20), "");
    EXPECT_EQ(target_.writes.size(), 4U) << "a chained buffer does not come back";
    // A buffer that jumps to itself.
    EXPECT_THAT(run({header(pm4::Opcode::kIndirectBuffer, 4), static_cast<std::uint32_t>(kStream),
                     kHigh, 4}),
                HasSubstr("nested more than 8 deep"));
}

TEST_F(CommandProcessorTest, WaitThatNeverHolds_NamesEverything) {
    auto run = begin({header(pm4::Opcode::kWaitRegMem, 7), 3, gfx9::kSqThreadTraceStatus, 0,
                      0x40000000, 0x40000000, 4});
    ASSERT_TRUE(run);
    target_.status = 0x80000001;
    EXPECT_EQ(run->step(100).state, CommandRun::State::kWaiting);
    EXPECT_EQ(run->step(100 + timing::kWaitRegisterLimit - 1).state, CommandRun::State::kWaiting);
    EXPECT_EQ(run->step(100 + timing::kWaitRegisterLimit).state, CommandRun::State::kFailed);
    EXPECT_EQ(run->error().code, ErrorCode::kTimeout);
    const std::string text = to_string(run->error());
    for (const char* part : {"SQ_THREAD_TRACE_STATUS 0xc33a", "0x80000001", "mask 0x40000000",
                             "== 0x40000000", "dword 0"})
        EXPECT_THAT(text, HasSubstr(part));
}

TEST_F(CommandProcessorTest, EveryWaitFunction) {
    struct Row {
        std::uint32_t function, reference;
        bool holds;
    };
    put<std::uint32_t>(768, 0x105);
    for (const Row& row : {Row{0, 9, true}, Row{1, 5, false}, Row{1, 6, true}, Row{2, 5, true},
                           Row{3, 5, true}, Row{3, 4, false}, Row{4, 5, false}, Row{4, 1, true},
                           Row{5, 5, true}, Row{5, 6, false}, Row{6, 4, true}, Row{6, 5, false}}) {
        EXPECT_EQ(run({header(pm4::Opcode::kWaitRegMem, 7), row.function | 0x10, low(768), kHigh,
                       row.reference, 0xFF, 4}),
                  row.holds ? "" : "waits")
            << row.function << " " << row.reference;
    }
}

TEST_F(CommandProcessorTest, Faults_NameTheAddress) {
    EXPECT_THAT(run({header(pm4::Opcode::kWriteData, 5), 5 << 8, 0x1000, 0, 7}),
                HasSubstr("WRITE_DATA writes 0x1000"));
    EXPECT_THAT(target_.faults, ElementsAre(0x1000U));
    EXPECT_THAT(run({header(pm4::Opcode::kSetUconfigReg, 3), 0x999, 1}),
                HasSubstr("unknown register 0xc999"));
    EXPECT_THAT(run({header(pm4::Opcode::kSetUconfigReg, 3), 0x200, 0x40070000}),
                HasSubstr("engine 7 of 4"));
    EXPECT_THAT(run({header(pm4::Opcode::kPredExec, 2), 1U << 24 | 5}),
                HasSubstr("PRED_EXEC covers 5"));
    EXPECT_THAT(run({0xC0011234, 0, 0}), HasSubstr("PM4 at 0x7f0000008000"));
    EXPECT_FALSE(CommandRun::create(registers_, target_, memory_, 0x5000, 4));
    EXPECT_FALSE(CommandRun::create(registers_, target_, memory_, kStream, 0));
}

TEST(CommandXccTest, PredExec_RunsABlockOnTheNamedXccsOnly) {
    SpaceForTest space;
    space.map(kMemory, 4096);
    Memory memory(space);
    RegisterFile registers(3, 2);
    Target target;
    const std::uint32_t words[] = {header(pm4::Opcode::kPredExec, 2),   5U << 24 | 2,
                                   header(pm4::Opcode::kEventWrite, 2), 0x36,
                                   header(pm4::Opcode::kEventWrite, 2), 0x37};
    for (std::size_t i = 0; i < std::size(words); ++i)
        ASSERT_TRUE(memory.write(kMemory + i * 4, words[i]));
    auto run = CommandRun::create(registers, target, memory, kMemory, std::size(words));
    ASSERT_TRUE(run);
    while (run->step(0).state == CommandRun::State::kRunning) {
    }
    using Event = std::pair<std::uint32_t, std::uint32_t>;
    EXPECT_THAT(target.events, ElementsAre(Event{0, 0x36}, Event{0, 0x37}, Event{1, 0x37},
                                           Event{2, 0x36}, Event{2, 0x37}));
}

} // namespace
} // namespace wavetap::softgpu
