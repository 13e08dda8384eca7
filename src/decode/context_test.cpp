// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/wave_for_test.hpp"

// Traps, contexts that are saved and restored, and the samples of counters (format notes, 8.3, 8.4).

namespace wavetap::decode {
namespace {

using enum Category;
using sqtt::Generation;
using test_waves::decode;
using test_waves::kHere;
using test_waves::kThere;
using test_waves::Listing;
using test_waves::Seen;
using test_waves::Wave;
using Faults = std::map<std::string, std::uint64_t>;

constexpr const char* kMove = "s_mov_b32 s0, s1";
constexpr const char* kVector = "v_mov_b32_e32 v0, v1";
constexpr const char* kEnd = "s_endpgm";

class Contexts : public testing::TestWithParam<Generation> {};

TEST_P(Contexts, ThatAreSavedAndRestoredAreOneWave) {
    constexpr std::uint8_t kSave = 66, kRestore = 68;
    const std::uint8_t kSaveContext = GetParam() == Generation::kGfx1250 ? 4 : 8;
    Wave wave(GetParam());
    const std::uint64_t start = wave.clock;
    wave.put({kSalu, kSalu});
    EXPECT_TRUE(wave.rdna().misc(wave.next(), kSaveContext));
    wave.put(kValu); // of the trap handler
    const std::uint64_t saved = wave.next();
    EXPECT_TRUE(wave.rdna().wave_start(saved, {}, kSave));
    const std::uint64_t restored = wave.clock += 5000;
    EXPECT_TRUE(wave.rdna().wave_start(restored, {}, kRestore));
    wave.put({kSalu, kValu}); // likewise
    const std::uint64_t returned = wave.next();
    EXPECT_TRUE(wave.rdna().inst(returned, 0, 117));
    wave.arrive(kHere + 8);
    wave.put({kValu, kSalu});
    wave.end();
    const Seen seen = decode(wave, Listing({kMove, kMove, kVector, kMove, kEnd}));
    EXPECT_EQ(seen.pcs, "SALU@1000 SALU@1004 TRAP@? VALU@1008 SALU@100c MSG@1010");
    EXPECT_TRUE(seen.stitched);
    EXPECT_EQ(seen.faults, Faults{});
    EXPECT_EQ(seen.head.contexts, 2);
    EXPECT_TRUE(seen.head.start_seen);
    EXPECT_EQ(seen.head.end - seen.head.start, wave.clock - start);
    ASSERT_EQ(seen.list.size(), 6U);
    EXPECT_EQ(seen.list.times[2] - seen.head.start, saved - start);
    EXPECT_EQ(seen.list.durations[2], returned + 1 - saved);
    ASSERT_EQ(seen.occupancy.size(), 4U);
    const std::uint64_t times[] = {start, saved, restored, wave.clock};
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(seen.occupancy[i].time - seen.head.start, times[i] - start) << i;
        EXPECT_EQ(seen.occupancy[i].start, i % 2 == 0) << i;
        EXPECT_EQ(seen.occupancy[i].pc.address, kHere) << i;
    }
}

INSTANTIATE_TEST_SUITE_P(Generations, Contexts,
                         testing::Values(Generation::kGfx11, Generation::kGfx12,
                                         Generation::kGfx1250),
                         [](const auto& param) {
                             return std::string(sqtt::generation_name(param.param));
                         });

TEST(Gfx9Traps, LeaveTheWaveUntilTheNextProgramCounter) {
    Wave wave(Generation::kGfx9);
    wave.put({kSalu, kSalu});
    wave.issue(sqtt::Gfx9Issue::kInstruction);
    const std::uint64_t trapped = wave.clock;
    wave.name(sqtt::Gfx9Inst::kTrap);
    wave.put({kSalu, kImmed, kValu}); // of the trap handler
    wave.jump();
    const std::uint64_t returned = wave.clock;
    wave.arrive(kHere + 8);
    wave.put(kValu);
    wave.end();
    const Seen seen = decode(wave, Listing({kMove, kMove, kVector, kEnd}));
    EXPECT_EQ(seen.pcs, "SALU@1000 SALU@1004 TRAP@? VALU@1008 MSG@100c");
    EXPECT_TRUE(seen.stitched);
    EXPECT_EQ(seen.faults, Faults{});
    ASSERT_EQ(seen.list.size(), 5U);
    EXPECT_EQ(seen.list.durations[2], returned + 4 - trapped);
    EXPECT_EQ(seen.list.times[3] - seen.list.times[2], wave.clock - 88 - trapped);
}

// The trap comes before the jump's program counter: that one belongs behind the trap.
TEST(Gfx9Traps, BehindAJumpMoveItsProgramCounterUp) {
    Wave wave(Generation::kGfx9);
    wave.put(kSalu);
    wave.jump();
    wave.issue(sqtt::Gfx9Issue::kInstruction);
    wave.name(sqtt::Gfx9Inst::kTrap);
    wave.jump();
    wave.arrive(kThere);
    wave.put(kValu);
    wave.end();
    const Seen seen =
        decode(wave, Listing({kMove, "s_setpc_b64 s[0:1]", kVector, kEnd}, {kVector, kEnd}));
    EXPECT_EQ(seen.pcs, "SALU@1000 SALU@1004 TRAP@? VALU@2000 MSG@2004");
    EXPECT_TRUE(seen.stitched);
    EXPECT_EQ(seen.faults, Faults{});
}

// Counters that stay at zero send nothing: one zero behind the last sample of each CU and bank tells
// where a row of samples ends.
TEST(Counters, EndEachRowOfSamplesWithAZero) {
    constexpr std::uint32_t kMagic = 0x434F5200, kInterval = 1000;
    using test::kUserData2;
    test::VectorSink sink;
    const std::uint64_t header = sqtt::Gfx9Header{}.encode();
    sink.data.resize(8);
    std::memcpy(sink.data.data(), &header, 8);
    sqtt::Gfx9Writer writer(sink);
    std::uint64_t clock = 4000;
    ASSERT_TRUE(writer.reg_write(clock, kUserData2, kMagic));
    ASSERT_TRUE(writer.reg_write(clock, kUserData2, 6 | 1 << 8 | kInterval << 12));
    const auto sample = [&](std::uint64_t at, unsigned cu, unsigned bank, std::uint16_t value) {
        EXPECT_TRUE(writer.perf(at + 4 * cu, static_cast<std::uint8_t>(cu),
                                static_cast<std::uint8_t>(bank), {value, 0, 0, 0}));
    };
    sample(10000, 0, 0, 1);
    sample(10000, 0, 1, 2);
    sample(10000, 3, 0, 3);
    sample(11000, 3, 0, 4); // on time
    sample(15000, 0, 0, 5); // late: there was a zero
    sample(15000, 0, 1, 6);
    const auto records = decode_blob(sink.data, {});
    ASSERT_TRUE(records);
    std::string got;
    ASSERT_FALSE(records->perf.empty());
    const std::uint64_t first = records->perf[0].time;
    for (const PerfRecord& record : records->perf)
        got += std::to_string(10000 + record.time - first) + ":" + std::to_string(record.cu) + "." +
               std::to_string(record.bank) + "=" + std::to_string(record.counters[0]) + " ";
    EXPECT_EQ(got, "10000:0.0=1 10000:0.1=2 10000:3.0=3 11000:3.0=4 "
                   "11000:0.0=0 15000:0.0=5 11000:0.1=0 15000:0.1=6 "
                   "16000:0.0=0 16000:0.1=0 12000:3.0=0 ");
}

} // namespace
} // namespace wavetap::decode
