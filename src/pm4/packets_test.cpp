// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "pm4/packets.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace wavetap::pm4 {
namespace {

TEST(ParserTest, TwoPackets_BodiesAndOffsets) {
    const std::vector<std::uint32_t> stream = {0xc0017900, 0x200, 0xe0000000, 0xc0004600, 0x407};
    Parser parser(stream);
    auto first = parser.next();
    ASSERT_TRUE(first && *first);
    EXPECT_EQ((*first)->opcode, Opcode::kSetUconfigReg);
    EXPECT_EQ((*first)->offset_dwords, 0U);
    ASSERT_EQ((*first)->body.size(), 2U);
    EXPECT_EQ((*first)->body[1], 0xe0000000U);
    auto second = parser.next();
    ASSERT_TRUE(second && *second);
    EXPECT_EQ((*second)->opcode, Opcode::kEventWrite);
    EXPECT_EQ((*second)->offset_dwords, 3U);
    auto end = parser.next();
    ASSERT_TRUE(end);
    EXPECT_FALSE(end->has_value());
    EXPECT_EQ(parser.offset_dwords(), stream.size());
}

TEST(ParserTest, FillersAndSingleDwordNop_Skipped) {
    const std::vector<std::uint32_t> stream = {0x80000000, 0xffff1000, 0x80000000, 0xc0004600,
                                               0x407,      0xffff1000, 0x80000000};
    Parser parser(stream);
    auto packet = parser.next();
    ASSERT_TRUE(packet && *packet);
    EXPECT_EQ((*packet)->offset_dwords, 3U);
    auto end = parser.next();
    ASSERT_TRUE(end);
    EXPECT_FALSE(end->has_value());
    EXPECT_EQ(parser.offset_dwords(), stream.size());
}

TEST(ParserTest, LongNop_HandedOut) {
    const std::vector<std::uint32_t> stream = {0xc0021000, 1, 2, 3};
    Parser parser(stream);
    auto packet = parser.next();
    ASSERT_TRUE(packet && *packet);
    EXPECT_EQ((*packet)->opcode, Opcode::kNop);
    EXPECT_EQ((*packet)->body.size(), 3U);
}

struct BadStream {
    const char* name;
    std::vector<std::uint32_t> stream;
    ErrorCode code;
    const char* words;
    const char* where;
};

class BadStreamTest : public testing::TestWithParam<BadStream> {};

TEST_P(BadStreamTest, Error_NamesOffsetAndStays) {
    Parser parser(GetParam().stream);
    for (int packets = 0; packets < 4; ++packets) {
        const std::size_t before = parser.offset_dwords();
        auto packet = parser.next();
        if (packet) {
            ASSERT_TRUE(packet->has_value()) << "reached the end without an error";
            ASSERT_GT(parser.offset_dwords(), before);
            continue;
        }
        EXPECT_EQ(packet.error().code, GetParam().code);
        EXPECT_NE(packet.error().message.find(GetParam().words), std::string::npos)
            << packet.error().message;
        EXPECT_EQ(packet.error().where, GetParam().where);
        const std::size_t stays = parser.offset_dwords();
        EXPECT_FALSE(parser.next());
        EXPECT_EQ(parser.offset_dwords(), stays);
        return;
    }
    FAIL() << "no error";
}

INSTANTIATE_TEST_SUITE_P(
    Streams, BadStreamTest,
    testing::Values(
        BadStream{"type0", {0x00010000, 0}, ErrorCode::kCorrupt, "type 0", "PM4 dword 0"},
        BadStream{"type1", {0x40010000, 0}, ErrorCode::kCorrupt, "type 1", "PM4 dword 0"},
        BadStream{"unknown",
                  {0xc0004600, 0x407, 0xc0011100, 0, 0},
                  ErrorCode::kUnsupported,
                  "0x11",
                  "PM4 dword 2"},
        BadStream{"cut", {0xc0017900, 0x200}, ErrorCode::kCorrupt, "1 are left", "PM4 dword 0"},
        BadStream{"only_header", {0xc0004600}, ErrorCode::kCorrupt, "0 are left", "PM4 dword 0"},
        BadStream{"short_copy",
                  {0xc0034000, 0, 0, 0, 0},
                  ErrorCode::kCorrupt,
                  "at least 5",
                  "PM4 dword 0"},
        BadStream{"single_dword_of_another_opcode",
                  {0xffff4600, 0x407},
                  ErrorCode::kCorrupt,
                  "needs 16384",
                  "PM4 dword 0"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(ParserTest, Skip_ToEndButNotPast) {
    std::vector<std::uint32_t> stream;
    Gfx9Encoder encoder(stream);
    const std::size_t block = encoder.begin_predicate(1U << 3);
    encoder.wait_idle();
    encoder.set_uconfig(gfx9::kGrbmGfxIndex, gfx9::kGrbmBroadcast);
    encoder.end_predicate(block);
    EXPECT_EQ(stream[1], 0x08000005U);
    Parser parser(stream);
    auto predicate = parser.next();
    ASSERT_TRUE(predicate && *predicate);
    auto past = parser.skip(6);
    ASSERT_FALSE(past);
    EXPECT_EQ(past.error().code, ErrorCode::kCorrupt);
    ASSERT_TRUE(parser.skip((*predicate)->body[0] & 0x3FFF));
    auto end = parser.next();
    ASSERT_TRUE(end);
    EXPECT_FALSE(end->has_value());
}

TEST(EncoderTest, EveryPacket_RecordedWords) {
    std::vector<std::uint32_t> stream;
    Gfx9Encoder encoder(stream);
    encoder.set_sh(gfx9::kComputePerfcountEnable, 1);
    encoder.copy_immediate_to_register(0, gfx9::kSqThreadTraceStatus);
    encoder.copy_register_to_memory(gfx9::kSqThreadTraceWptr, 0x7e0000010208);
    encoder.copy_memory_to_register(0x7e0000010014, gfx9::kSqThreadTraceUserdata3);
    encoder.copy_clock_to_memory(0x7e0000010010);
    encoder.copy_clock_low_to_register(gfx9::kSqThreadTraceUserdata3);
    encoder.wait_register(0x338, 0x40000000, WaitFunction::kNotEqual, 1);
    encoder.acquire_mem(0x7e1000000000, 0x10000000);
    const std::vector<std::uint32_t> expected = {
        0xc0017600, 0x0000020b, 0x00000001,                                     //
        0xc0044000, 0x00000005, 0x00000000, 0x00000000, 0x0000c33a, 0x00000000, //
        0xc0044000, 0x02102500, 0x0000c339, 0x00000000, 0x00010208, 0x00007e00, //
        0xc0044000, 0x02002001, 0x00010014, 0x00007e00, 0x0000c343, 0x00000000, //
        0xc0044000, 0x02112509, 0x00000000, 0x00000000, 0x00010010, 0x00007e00, //
        0xc0044000, 0x02102009, 0x00000000, 0x00000000, 0x0000c343, 0x00000000, //
        0xc0053c00, 0x00000004, 0x00000338, 0x00000000, 0x00000001, 0x40000000, 0x00000004,
        0xc0055800, 0x28c40000, 0x00100000, 0x00000000, 0x10000000, 0x0000007e, 0x00000010,
    };
    EXPECT_EQ(stream, expected);
}

TEST(EncoderTest, AcquireMem_RoundsUpTo256Bytes) {
    std::vector<std::uint32_t> stream;
    Gfx9Encoder encoder(stream);
    encoder.acquire_mem(0x1000, 1);
    encoder.acquire_mem(0x1000, 256);
    encoder.acquire_mem(0x1000, 257);
    EXPECT_EQ(stream[2], 1U);
    EXPECT_EQ(stream[9], 1U);
    EXPECT_EQ(stream[16], 2U);
}

TEST(NamesTest, KnownAndUnknown) {
    EXPECT_EQ(opcode_name(0x79), "SET_UCONFIG_REG");
    EXPECT_EQ(opcode_name(0x23), "PRED_EXEC");
    EXPECT_EQ(opcode_name(0x11), "?");
    EXPECT_EQ(gfx9_register_name(0xC33A), "SQ_THREAD_TRACE_STATUS");
    EXPECT_EQ(gfx9_register_name(0x338), "");
    EXPECT_EQ(gfx9_register_name(0xD9C7), "SQ_PERFCOUNTER7_SELECT");
    EXPECT_EQ(gfx9_register_name(0xD9D0), "");
}

} // namespace
} // namespace wavetap::pm4
