// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "code/chip.hpp"
#include "code/disassembler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace wavetap::code {
namespace {

Result<Instruction> decode_words(Disassembler& disassembler, std::vector<std::uint32_t> words,
                                 std::uint64_t address = 0x1000) {
    return disassembler.decode(std::as_bytes(std::span(words)), address);
}

TEST(DisassemblerTest, KnownWordsOfGfx90a) {
    auto disassembler = Disassembler::create("gfx90a");
    ASSERT_TRUE(disassembler);
    EXPECT_TRUE(disassembler->exact());
    const auto add = decode_words(*disassembler, {0x68000501});
    ASSERT_TRUE(add) << to_string(add.error());
    EXPECT_EQ(add->text, "v_add_u32_e32 v0, v1, v2");
    EXPECT_EQ(add->size_bytes, 4u);
    EXPECT_EQ(add->address, 0x1000u);
    EXPECT_EQ(add->line_class, LineClass::kValu);
    EXPECT_FALSE(add->branch_target);
    const auto end = decode_words(*disassembler, {0xbf810000});
    ASSERT_TRUE(end);
    EXPECT_EQ(end->text, "s_endpgm");
    EXPECT_EQ(end->line_class, LineClass::kImmed);
}

TEST(DisassemblerTest, LiteralTakesEightBytes) {
    auto disassembler = Disassembler::create("gfx90a");
    ASSERT_TRUE(disassembler);
    const auto move = decode_words(*disassembler, {0xbe8000ff, 0x12345678});
    ASSERT_TRUE(move);
    EXPECT_EQ(move->text, "s_mov_b32 s0, 0x12345678");
    EXPECT_EQ(move->size_bytes, 8u);
    EXPECT_FALSE(decode_words(*disassembler, {0xbe8000ff})) << "the literal is missing";
}

TEST(DisassemblerTest, BranchTargetsAreAddresses) {
    auto disassembler = Disassembler::create("gfx90a");
    ASSERT_TRUE(disassembler);
    const auto forward = decode_words(*disassembler, {0xbf820003});
    ASSERT_TRUE(forward);
    EXPECT_EQ(forward->branch_target, 0x1000u + 4 + 12);
    EXPECT_EQ(forward->line_class, LineClass::kBranch);
    const auto back = decode_words(*disassembler, {0xbf84fff1});
    ASSERT_TRUE(back);
    EXPECT_THAT(back->text, ::testing::StartsWith("s_cbranch_scc0"));
    EXPECT_EQ(back->branch_target, 0x1000u + 4 - 60);
    const auto call = decode_words(*disassembler, {0xba840002});
    ASSERT_TRUE(call) << to_string(call.error());
    EXPECT_THAT(call->text, ::testing::StartsWith("s_call_b64 s[4:5]"));
    EXPECT_EQ(call->branch_target, 0x1000u + 4 + 8);
    EXPECT_EQ(call->line_class, LineClass::kSalu);
}

TEST(DisassemblerTest, BadBytesAreErrorsWithTheirAddress) {
    auto disassembler = Disassembler::create("gfx90a");
    ASSERT_TRUE(disassembler);
    const auto bad = decode_words(*disassembler, {0xffffffff, 0xffffffff}, 0x1234);
    ASSERT_FALSE(bad);
    EXPECT_EQ(bad.error().code, ErrorCode::kCorrupt);
    EXPECT_EQ(to_string(bad.error()),
              "not an instruction of gfx90a: ff ff ff ff ff ff ff ff (address 0x1234)");
    EXPECT_FALSE(disassembler->decode({}, 0));
    const std::byte three[3] = {};
    EXPECT_FALSE(disassembler->decode(three, 0));
}

TEST(DisassemblerTest, ReservedSdwaSelectorsAreErrors) {
    auto disassembler = Disassembler::create("gfx90a");
    ASSERT_TRUE(disassembler);
    EXPECT_TRUE(decode_words(*disassembler, {0x17c65ef9, 0x06060647}));
    EXPECT_FALSE(decode_words(*disassembler, {0x17c65ef9, 0x07060647})) << "src1_sel 7";
    EXPECT_FALSE(decode_words(*disassembler, {0x17c65ef9, 0x06070647})) << "src0_sel 7";
    EXPECT_FALSE(decode_words(*disassembler, {0x17c65ef9, 0x06060747})) << "dst_sel 7";
    EXPECT_FALSE(decode_words(*disassembler, {0x17c65ef9, 0x06061e47})) << "dst_unused 3";
}

TEST(DisassemblerTest, UnknownChipNamesTheKnownOnes) {
    const auto none = Disassembler::create("gfx404");
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(none.error().message, ::testing::HasSubstr("gfx404"));
    EXPECT_THAT(none.error().hint, ::testing::HasSubstr("gfx90a"));
}

TEST(DisassemblerTest, EveryChipOfTheTableDecodesAnEnd) {
    for (const ChipRow& chip : kChips) {
        auto disassembler = Disassembler::create(chip.name);
        ASSERT_TRUE(disassembler) << chip.name;
        EXPECT_EQ(disassembler->exact(), chip.exact);
        const bool is_gfx11_plus = chip.generation != "gfx9" && chip.generation != "gfx10";
        const auto end = decode_words(*disassembler, {is_gfx11_plus ? 0xbfb00000u : 0xbf810000u});
        ASSERT_TRUE(end) << chip.name << ": " << to_string(end.error());
        EXPECT_EQ(end->text, "s_endpgm") << chip.name;
    }
}

TEST(DisassemblerTest, AnyWordsGiveAnInstructionOrAnError) {
    std::mt19937 random(1);
    for (const std::string_view gfx :
         {"gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250"}) {
        auto disassembler = Disassembler::create(gfx);
        ASSERT_TRUE(disassembler);
        for (int i = 0; i < 20000; ++i) {
            const auto result =
                decode_words(*disassembler, {std::uint32_t(random()), std::uint32_t(random()),
                                             std::uint32_t(random())});
            if (!result) continue;
            EXPECT_GE(result->size_bytes, 4u);
            EXPECT_LE(result->size_bytes, 12u);
            EXPECT_FALSE(result->text.empty());
        }
    }
}

TEST(DisassemblerTest, OnePerThreadFromSeveralThreads) {
    std::vector<std::thread> threads;
    std::vector<int> good(4, 0);
    for (int& mine : good)
        threads.emplace_back([&mine] {
            auto disassembler = Disassembler::create("gfx90a");
            if (!disassembler) return;
            for (int i = 0; i < 1000; ++i) {
                const auto add = decode_words(*disassembler, {0x68000501});
                if (add && add->text == "v_add_u32_e32 v0, v1, v2") ++mine;
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_THAT(good, ::testing::Each(1000));
}

} // namespace
} // namespace wavetap::code
