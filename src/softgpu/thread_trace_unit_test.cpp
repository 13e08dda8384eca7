// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "pm4/packets.hpp"
#include "softgpu/space_for_test.hpp"
#include "softgpu/thread_trace_unit.hpp"
#include "sqtt/reader.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

namespace wavetap::softgpu {
namespace {

namespace gfx9 = pm4::gfx9;
using sqtt::Gfx9Inst;
using sqtt::Gfx9Issue;
using sqtt::TokenType;

constexpr std::uint64_t kBuffer = 0x7f0000000000, kSecond = 0x7f0000100000;
constexpr std::uint64_t kBytes = 128 * 1024;
constexpr std::uint32_t kAllTokens = 0x000FBC6F, kArm = 0x02240000, kDisarm = 0x02040000;
constexpr std::uint32_t kWrap = 0x82240000;

class ThreadTraceUnitTest : public testing::Test {
  protected:
    ThreadTraceUnitTest() {
        space_.map(kBuffer, kBytes);
        space_.map(kSecond, kBytes);
        set(gfx9::kSqThreadTraceMask, 0xCF81);
        set(gfx9::kSqThreadTraceTokenMask, kAllTokens);
        set(gfx9::kSqThreadTraceTokenMask2, 0xFFFFFFFF);
        set_base(kBuffer);
        set(gfx9::kSqThreadTraceSize, kBytes >> 12);
        set(gfx9::kSqThreadTraceCtrl, 0x80000000);
    }
    void set(std::uint32_t reg, std::uint32_t value) {
        const auto result = unit_.write_register(reg, value, now_);
        ASSERT_TRUE(result) << to_string(result.error());
    }
    void set_base(std::uint64_t va) {
        set(gfx9::kSqThreadTraceBase, static_cast<std::uint32_t>(va >> 12));
        set(gfx9::kSqThreadTraceBase2, static_cast<std::uint32_t>(va >> 44));
    }
    void mode(std::uint32_t value) { set(gfx9::kSqThreadTraceMode, value); }
    std::uint32_t get(std::uint32_t reg) { return unit_.read_register(reg, now_); }
    bool busy() { return (get(gfx9::kSqThreadTraceStatus) >> 30 & 1) != 0; }
    bool full() { return (get(gfx9::kSqThreadTraceStatus) >> 31 & 1) != 0; }
    std::vector<TokenType> tokens(std::uint64_t bytes, std::uint64_t va = kBuffer) {
        std::vector<std::byte> copy(bytes);
        std::memcpy(copy.data(), memory_.at(va, bytes, Access::kRead), bytes);
        sqtt::TokenReader reader(sqtt::Generation::kGfx9, copy);
        std::vector<TokenType> types;
        sqtt::Token token;
        while (reader.next(token))
            types.push_back(token.type);
        return types;
    }
    std::size_t count(TokenType type, std::uint64_t bytes, std::uint64_t va = kBuffer) {
        const auto all = tokens(bytes, va);
        return static_cast<std::size_t>(std::count(all.begin(), all.end(), type));
    }
    void one_issue(unsigned simd = 0, unsigned slot = 2) {
        ThreadTraceUnit::IssueStates states{};
        states[slot] = Gfx9Issue::kInstruction;
        unit_.issue(now_, simd, states);
        unit_.inst(now_ + 8, simd, slot, 5, std::nullopt);
        now_ += 4;
    }

    SpaceForTest space_;
    Memory memory_{space_};
    ThreadTraceUnit unit_{0, 0, memory_, nullptr};
    std::uint64_t now_ = 1000;
};

TEST_F(ThreadTraceUnitTest, NothingIsWrittenUnlessArmed) {
    one_issue();
    unit_.wave_end(now_, {1, 0, 0});
    EXPECT_FALSE(unit_.details(1, 0));
    EXPECT_EQ(get(gfx9::kSqThreadTraceWptr), 0U);
    EXPECT_FALSE(busy());
    set(gfx9::kSqThreadTraceSize, 0);
    mode(kArm);
    EXPECT_FALSE(unit_.armed()) << "no buffer";
}

TEST_F(ThreadTraceUnitTest, Disarm_DrainsThePipelineAndFillsTheLine) {
    mode(kArm);
    EXPECT_TRUE(busy());
    one_issue();
    mode(kDisarm);
    EXPECT_TRUE(busy()) << "an INST token is on its way";
    one_issue();
    now_ += 8;
    EXPECT_FALSE(busy());
    EXPECT_EQ(get(gfx9::kSqThreadTraceWptr), 1U);
    EXPECT_EQ(count(TokenType::kInst, 32), 1U);
    EXPECT_EQ(count(TokenType::kIssue, 32), 1U);
}

TEST_F(ThreadTraceUnitTest, InstTokensComeInOrderOfTheirClock) {
    mode(kArm);
    unit_.inst(1020, 0, 0, 5, std::nullopt);
    unit_.inst(1008, 1, 0, 1, std::nullopt);
    unit_.inst(1020, 2, 0, 7, 0x7f0000000100);
    unit_.wave_end(1016, {1, 3, 0});
    now_ = 1024;
    mode(kDisarm);
    const std::vector<TokenType> all = tokens(64);
    const std::vector<TokenType> wanted = {TokenType::kInst, TokenType::kWaveEnd, TokenType::kInst,
                                           TokenType::kInst, TokenType::kNewPc};
    std::vector<TokenType> seen;
    for (const TokenType type : all)
        if (type != TokenType::kMisc && type != TokenType::kTimestamp) seen.push_back(type);
    EXPECT_EQ(seen, wanted);
}

TEST_F(ThreadTraceUnitTest, TargetIsCuSimdAndShOfMask) {
    set(gfx9::kSqThreadTraceMask, 0xC583);
    mode(kArm);
    EXPECT_TRUE(unit_.details(3, 0));
    EXPECT_TRUE(unit_.details(3, 2));
    EXPECT_FALSE(unit_.details(3, 1));
    EXPECT_FALSE(unit_.details(2, 0));
    set(gfx9::kSqThreadTraceMask, 0xC583 | 1 << 5);
    EXPECT_FALSE(unit_.details(3, 0)) << "shader array 1 does not exist";
}

TEST_F(ThreadTraceUnitTest, TokenMaskTurnsClassesOff) {
    struct Row {
        unsigned bit;
        TokenType type;
    };
    for (const Row& row :
         {Row{2, TokenType::kReg}, Row{3, TokenType::kWaveStart}, Row{5, TokenType::kRegCsPriv},
          Row{6, TokenType::kWaveEnd}, Row{10, TokenType::kInst}, Row{12, TokenType::kShaderData},
          Row{13, TokenType::kIssue}, Row{15, TokenType::kRegCs}, Row{19, TokenType::kReg}}) {
        for (const bool on : {true, false}) {
            std::memset(memory_.at(kBuffer, 256, Access::kWrite), 0, 256);
            set(gfx9::kSqThreadTraceCtrl, 0x80000000);
            set(gfx9::kSqThreadTraceTokenMask, on ? kAllTokens : kAllTokens & ~(1U << row.bit));
            mode(kArm);
            unit_.register_write(now_, gfx9::kSqThreadTraceUserdata2, 5,
                                 sqtt::Gfx9RegType::kUserData);
            unit_.wave_start(now_, {});
            unit_.compute_register(now_, 0, 0x825, 0, 0);
            unit_.compute_event(now_, 7);
            unit_.user_data(now_, {1, 0, 0}, 9);
            one_issue();
            unit_.wave_end(now_, {1, 0, 0});
            mode(kDisarm);
            EXPECT_EQ(count(row.type, 256), on ? 1U : 0U)
                << "bit " << row.bit << (on ? " on" : " off");
            now_ += 100;
        }
    }
}

TEST_F(ThreadTraceUnitTest, OtherRegisterClassesAreOff) {
    mode(kArm);
    unit_.register_write(now_, gfx9::kGrbmGfxIndex, 5, sqtt::Gfx9RegType::kOther);
    mode(kDisarm);
    EXPECT_EQ(count(TokenType::kReg, 64), 0U);
}

TEST_F(ThreadTraceUnitTest, Full_StopsBelowTheEnd_UntilReset) {
    mode(kArm);
    for (int i = 0; i < 40000; ++i)
        one_issue();
    EXPECT_TRUE(full());
    EXPECT_EQ(get(gfx9::kSqThreadTraceWptr) * 32, kBytes - 32);
    const std::uint32_t dropped = get(gfx9::kSqThreadTraceCntr);
    EXPECT_GT(dropped, 1000U);
    one_issue();
    now_ += 20;
    EXPECT_GT(get(gfx9::kSqThreadTraceCntr), dropped);
    mode(kDisarm);
    set(gfx9::kSqThreadTraceStatus, 0);
    EXPECT_FALSE(full());
    set(gfx9::kSqThreadTraceCtrl, 0x80000000);
    EXPECT_EQ(get(gfx9::kSqThreadTraceWptr), 0U);
    EXPECT_EQ(get(gfx9::kSqThreadTraceCntr), 0U);
}

TEST_F(ThreadTraceUnitTest, Wrap_GoesOnInThePendingBuffer_ThenDropsWhenBothAreFull) {
    mode(kWrap);
    set_base(kSecond);
    EXPECT_FALSE(full());
    while (!full())
        one_issue();
    EXPECT_LT(get(gfx9::kSqThreadTraceWptr), 4U) << "the second buffer has just begun";
    EXPECT_EQ(get(gfx9::kSqThreadTraceCntr), 0U);
    EXPECT_GT(count(TokenType::kIssue, kBytes, kBuffer), 1000U);
    for (int i = 0; i < 40000; ++i)
        one_issue();
    EXPECT_GT(get(gfx9::kSqThreadTraceCntr), 100U) << "nobody emptied the first one";
    EXPECT_GT(count(TokenType::kIssue, kBytes, kSecond), 1000U);
    std::memset(memory_.at(kBuffer, kBytes, Access::kWrite), 0, kBytes);
    set_base(kBuffer);
    one_issue();
    one_issue();
    now_ += 100;
    EXPECT_TRUE(full()) << "the second buffer is the full one now";
    mode(kDisarm);
    EXPECT_GE(count(TokenType::kIssue, 128, kBuffer), 2U);
}

TEST_F(ThreadTraceUnitTest, Wrap_TokensRunOnFromBufferToBuffer) {
    mode(kWrap);
    set_base(kSecond);
    const auto write_until_full = [&] {
        while (!full()) {
            one_issue();
            unit_.user_data(now_, {1, 0, 0}, 0x12345678); // 6 bytes: the tokens do not fit evenly
        }
    };
    std::vector<std::byte> joined;
    std::set<std::uint32_t> offsets;
    const auto take = [&](std::uint64_t va, std::uint64_t bytes) {
        const std::byte* from = memory_.at(va, bytes, Access::kRead);
        joined.insert(joined.end(), from, from + bytes);
    };
    const std::uint64_t slots[] = {kBuffer, kSecond};
    for (unsigned i = 0; i < 12; ++i) {
        write_until_full();
        offsets.insert(get(gfx9::kSqThreadTraceWptr) >> 30);
        take(slots[i % 2], kBytes);
        set_base(slots[i % 2]);
    }
    mode(kDisarm);
    take(slots[0], (get(gfx9::kSqThreadTraceWptr) & 0x3FFFFFFF) * 32);
    EXPECT_GT(offsets.size(), 1U) << "no token was cut";
    EXPECT_EQ(get(gfx9::kSqThreadTraceCntr), 0U);
    // Every token from the first to the last byte is one that was written.
    std::uint64_t at = 0, data = 0;
    while (at < joined.size()) {
        const unsigned id = std::to_integer<unsigned>(joined[at]) & 0xF;
        ASSERT_TRUE(id == 0 || id == 1 || id == 10 || id == 12 || id == 13)
            << "token " << id << " at " << at;
        if (id == 12) {
            std::uint32_t value = 0;
            std::memcpy(&value, &joined[at + 2], 4);
            ASSERT_EQ(value, 0x12345678U) << at;
            ++data;
        }
        at += sqtt::kGfx9Rows[id].bits / 8;
    }
    EXPECT_EQ(at, joined.size());
    EXPECT_GT(data, 1000U);
}

TEST_F(ThreadTraceUnitTest, UnmappedBuffer_IsAWriteError) {
    set_base(0x1000000);
    mode(kArm);
    one_issue();
    EXPECT_EQ(get(gfx9::kSqThreadTraceStatus) >> 28 & 1, 1U);
    EXPECT_EQ(get(gfx9::kSqThreadTraceWptr), 0U);
}

TEST_F(ThreadTraceUnitTest, ModeBitsThatAreNotModelled_AreRefused) {
    for (const unsigned bit : {23U, 27U, 29U, 30U}) {
        const auto result = unit_.write_register(gfx9::kSqThreadTraceMode, kArm | 1U << bit, now_);
        ASSERT_FALSE(result);
        EXPECT_EQ(result.error().code, ErrorCode::kUnsupported);
    }
}

TEST_F(ThreadTraceUnitTest, WithoutTheComputeStage_NoComputeTokens) {
    mode(kArm & ~(7U << 18));
    unit_.wave_start(now_, {});
    one_issue();
    mode(kDisarm);
    EXPECT_EQ(count(TokenType::kWaveStart, 64), 0U);
    EXPECT_EQ(count(TokenType::kIssue, 64), 0U);
}

TEST_F(ThreadTraceUnitTest, FinishEvent_SetsDoneAndStatusWriteClearsIt) {
    unit_.finish();
    EXPECT_NE(get(gfx9::kSqThreadTraceStatus) >> 16 & 0x3FF, 0U);
    EXPECT_EQ(get(gfx9::kSqThreadTraceStatus) & 0x3FF, 0U) << "nothing pending";
    set(gfx9::kSqThreadTraceStatus, 0);
    EXPECT_EQ(get(gfx9::kSqThreadTraceStatus), 0U);
}

} // namespace
} // namespace wavetap::softgpu
