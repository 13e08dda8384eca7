// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/wave_for_test.hpp"

// How instructions get their program counters where tokens and lines of code are not one for one.

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
constexpr const char* kShared = "ds_read_b32 v0, v1";
constexpr const char* kEnd = "s_endpgm";

// An immediate that comes before the line ahead of it: both get a program counter, as AMD's decoder
// has it, and that these are a guess is said.
TEST(Stitching, AnImmediateAheadOfItsLineIsAGuessThatIsCounted) {
    for (const Generation generation : {Generation::kGfx10, Generation::kGfx11}) {
        const Listing code({kMove, kVector, "s_waitcnt vmcnt(0)", kMove, kEnd});
        Wave ahead(generation);
        ahead.put({kSalu, kImmed, kValu, kSalu});
        ahead.end();
        const Seen seen = decode(ahead, code);
        EXPECT_EQ(seen.pcs, "SALU@1000 IMMED@1004 VALU@1008 SALU@100c MSG@1010");
        EXPECT_FALSE(seen.stitched);
        EXPECT_EQ(seen.faults, (Faults{{"line-mismatch", 2}}));

        Wave plain(generation);
        plain.put({kSalu, kValu, kImmed, kSalu});
        plain.end();
        const Seen sound = decode(plain, code);
        EXPECT_EQ(sound.pcs, "SALU@1000 VALU@1004 IMMED@1008 SALU@100c MSG@1010");
        EXPECT_TRUE(sound.stitched);
        EXPECT_EQ(sound.faults, Faults{});
    }
}

// One that no wait pays back is a guess, too; so is what was placed by stepping over a line.
TEST(Stitching, WithoutAFaultEveryProgramCounterIsCertain) {
    Wave odd(Generation::kGfx11);
    odd.put({kSalu, kImmed, kSalu});
    odd.end();
    const Seen seen = decode(odd, Listing({kMove, kVector, kMove, kEnd}));
    EXPECT_EQ(seen.pcs, "SALU@1000 IMMED@1004 SALU@1008 MSG@100c");
    EXPECT_FALSE(seen.stitched);
    EXPECT_EQ(seen.faults, (Faults{{"line-mismatch", 1}}));

    Wave fewer(Generation::kGfx11);
    fewer.put({kSalu, kSalu});
    fewer.end();
    const Seen stepped = decode(fewer, Listing({kMove, kVector, kMove, kEnd}));
    EXPECT_EQ(stepped.pcs, "SALU@1000 SALU@1008 MSG@100c");
    EXPECT_FALSE(stepped.stitched);
    EXPECT_EQ(stepped.faults, (Faults{{"lines-without-token", 1}}));
}

TEST(Stitching, Gfx9NeighboursInWrongOrderAreSwapped) {
    const Listing code({kMove, kVector, kShared, kEnd});
    Wave wave(Generation::kGfx9);
    wave.put({kValu, kSalu, kLds});
    wave.end();
    const Seen seen = decode(wave, code);
    EXPECT_EQ(seen.pcs, "SALU@1000 VALU@1004 LDS@1008 MSG@100c");
    EXPECT_TRUE(seen.stitched);
    EXPECT_EQ(seen.faults, Faults{});
    ASSERT_EQ(seen.list.size(), 4U);
    EXPECT_GT(seen.list.times[0], seen.list.times[1]) << "each keeps its clock";

    // Only where both fit then.
    Wave other(Generation::kGfx9);
    other.put({kLds, kSalu, kValu});
    other.end();
    const Seen not_swapped = decode(other, code);
    EXPECT_EQ(not_swapped.pcs.substr(0, 9), "LDS@1008 ");
    EXPECT_FALSE(not_swapped.stitched);
    EXPECT_NE(not_swapped.faults, Faults{});
}

class Losses : public testing::TestWithParam<Generation> {
  protected:
    static Wave lossy(std::initializer_list<Category> before,
                      std::initializer_list<Category> behind) {
        Wave wave(GetParam());
        wave.put(before);
        wave.lose();
        wave.put(behind);
        return wave;
    }
};

TEST_P(Losses, KeepWhatFitsToTheEnd) {
    Wave wave = lossy({kSalu, kSalu}, {kValu, kSalu});
    wave.end();
    const Seen seen = decode(wave, Listing({kMove, kMove, kVector, kMove, kEnd}));
    EXPECT_EQ(seen.pcs, "SALU@1000 SALU@1004 VALU@1008 SALU@100c MSG@1010");
    EXPECT_EQ(seen.faults, (Faults{{"packets-lost", 1}}));
}

TEST_P(Losses, TakeBackWhatDoesNot) {
    const Listing code({kMove, kMove, kMove, kMove, kVector, kEnd});
    Wave at_once = lossy({kSalu, kSalu}, {kValu});
    at_once.end();
    Seen seen = decode(at_once, code);
    EXPECT_EQ(seen.pcs, "SALU@1000 SALU@1004 VALU@? MSG@?");
    EXPECT_FALSE(seen.stitched);
    EXPECT_EQ(seen.faults, (Faults{{"packets-lost", 1}, {"stitch-incomplete", 2}}));

    Wave later = lossy({kSalu, kSalu}, {kSalu, kValu});
    later.end();
    seen = decode(later, code);
    EXPECT_EQ(seen.pcs, "SALU@1000 SALU@1004 SALU@? VALU@? MSG@?");
    EXPECT_EQ(seen.faults, (Faults{{"packets-lost", 1}, {"stitch-incomplete", 3}}));

    Wave ahead = lossy({kSalu, kSalu}, {kSalu, kSalu, kImmed});
    ahead.end();
    seen = decode(ahead, code);
    EXPECT_EQ(seen.pcs, "SALU@1000 SALU@1004 SALU@? SALU@? IMMED@? MSG@?") << "no guess here";
    EXPECT_EQ(seen.faults, (Faults{{"packets-lost", 1}, {"stitch-incomplete", 4}}));
}

TEST_P(Losses, EndAtTheNextKnownProgramCounter) {
    const Listing code({kMove, kMove, kVector, "s_setpc_b64 s[0:1]"}, {kVector, kEnd});
    Wave wave = lossy({kSalu, kSalu}, {kSalu});
    wave.jump();
    wave.arrive(kThere);
    wave.put(kValu);
    wave.end();
    const Seen seen = decode(wave, code);
    EXPECT_EQ(seen.pcs, "SALU@1000 SALU@1004 SALU@? SALU@? VALU@2000 MSG@2004");
    EXPECT_EQ(seen.faults, (Faults{{"packets-lost", 1}, {"stitch-incomplete", 2}}));
}

INSTANTIATE_TEST_SUITE_P(Generations, Losses,
                         testing::Values(Generation::kGfx10, Generation::kGfx11, Generation::kGfx12,
                                         Generation::kGfx1250),
                         [](const auto& param) {
                             return std::string(sqtt::generation_name(param.param));
                         });

// A token that is lost on gfx9 shifts the names of all that follow: nothing is placed.
TEST(Gfx9Losses, EndAllUntilTheNextKnownProgramCounter) {
    const Listing code({kMove, kMove, kMove, kMove, kMove, kEnd}, {kVector, kEnd});
    Wave to_end(Generation::kGfx9);
    to_end.put({kSalu, kSalu});
    to_end.lose();
    to_end.put(kSalu);
    to_end.end();
    Seen seen = decode(to_end, code);
    EXPECT_EQ(seen.pcs, "SALU@1000 SALU@1004 SALU@? MSG@?");
    EXPECT_FALSE(seen.stitched);
    EXPECT_EQ(seen.faults, (Faults{{"packets-lost", 1}, {"unknown-program-counter", 2}}));

    Wave known(Generation::kGfx9);
    known.put({kSalu, kSalu});
    known.issue(sqtt::Gfx9Issue::kInstruction); // its name is lost
    known.lose();
    known.jump();
    known.arrive(kThere);
    known.put(kValu);
    known.end();
    seen = decode(known, code);
    EXPECT_EQ(seen.pcs, "SALU@1000 SALU@1004 SALU@? VALU@2000 MSG@2004");
    EXPECT_EQ(
        seen.faults,
        (Faults{{"packets-lost", 1}, {"unidentified-issue", 1}, {"unknown-program-counter", 1}}));
}

class Jumps : public testing::TestWithParam<Generation> {};

TEST_P(Jumps, OfScalarInstructionsGoWhereTheTokenSays) {
    const Listing code(
        {kMove, "s_swappc_b64 s[0:1], s[2:3]", kMove, "s_call_b64 s[0:1], 1020", kEnd},
        {kVector, "s_setpc_b64 s[0:1]"});
    for (const bool late : {false, true}) {
        Wave wave(GetParam());
        const auto jump = [&](std::uint64_t to, Category next) {
            wave.jump();
            if (!late) wave.arrive(to);
            wave.put(next);
            if (late) wave.arrive(to);
        };
        wave.put(kSalu);
        jump(kThere, kValu);
        jump(kHere + 8, kSalu);
        jump(kThere, kValu);
        wave.jump();
        wave.arrive(kHere + 0x10);
        wave.end();
        const Seen seen = decode(wave, code);
        EXPECT_EQ(seen.pcs, "SALU@1000 SALU@1004 VALU@2000 SALU@2004 SALU@1008 SALU@100c VALU@2000 "
                            "SALU@2004 MSG@1010");
        EXPECT_TRUE(seen.stitched);
        EXPECT_EQ(seen.faults, Faults{});
    }
}

// Without the token nobody knows where the wave is, and that is said, not that the code is wrong.
TEST_P(Jumps, WithoutTheTokenLeadNowhere) {
    Wave wave(GetParam());
    wave.put(kSalu);
    wave.jump();
    wave.put(kValu);
    wave.end();
    const Seen seen = decode(wave, Listing({kMove, "s_setpc_b64 s[0:1]", kVector, kEnd}));
    EXPECT_EQ(seen.pcs, "SALU@1000 SALU@1004 VALU@? MSG@?");
    EXPECT_FALSE(seen.stitched);
    EXPECT_EQ(seen.faults, (Faults{{"unknown-program-counter", 2}}));
}

INSTANTIATE_TEST_SUITE_P(Generations, Jumps,
                         testing::Values(Generation::kGfx9, Generation::kGfx10, Generation::kGfx11,
                                         Generation::kGfx12, Generation::kGfx1250),
                         [](const auto& param) {
                             return std::string(sqtt::generation_name(param.param));
                         });

// gfx12: a 64-bit move takes two clocks.
TEST(Stretching, OfMovesOfSixtyFourBits) {
    const Listing code(
        {kMove, "v_mov_b64_e32 v[0:1], v[2:3]", "v_mov_b64_e32 v[0:1], v[2:3]", kEnd});
    Wave wave(Generation::kGfx12);
    wave.put({kSalu, kValu});
    EXPECT_TRUE(wave.rdna().wave_ready(wave.next(), 1));
    wave.put(kValu);
    wave.end();
    const Seen seen = decode(wave, code);
    EXPECT_EQ(seen.pcs, "SALU@1000 VALU@1004 VALU@1008 MSG@100c");
    ASSERT_EQ(seen.list.size(), 4U);
    EXPECT_EQ(seen.list.durations[1], 2U);
    EXPECT_EQ(seen.list.stalls[2], 40U);
    EXPECT_EQ(seen.list.durations[2], 42U);
}

// gfx9: a scaled matrix instruction takes eight clocks more, four of them before its token, as far
// as its neighbours leave room.
TEST(Stretching, OfScaledMatrixInstructions) {
    const char* const kScaled =
        "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[0:3]";
    for (const std::uint64_t gap : {40U, 0U}) {
        Wave wave(Generation::kGfx9);
        wave.put(kSalu);
        wave.gap = gap;
        wave.put({kValu, kSalu});
        wave.gap = 40;
        wave.end();
        const Seen plain = decode(wave, Listing({kMove, kVector, kMove, kEnd}));
        const Seen scaled = decode(wave, Listing({kMove, kScaled, kMove, kEnd}));
        ASSERT_EQ(plain.list.size(), 4U);
        ASSERT_EQ(scaled.list.size(), 4U);
        EXPECT_EQ(scaled.pcs, "SALU@1000 VALU@1004 SALU@1008 MSG@100c");
        const bool before = plain.list.end(0) + 4 <= plain.list.times[1];
        const bool after = plain.list.end(1) + 4 <= plain.list.times[2];
        EXPECT_EQ(before, gap == 40);
        EXPECT_EQ(after, gap == 40);
        EXPECT_EQ(plain.list.times[1] - scaled.list.times[1], gap == 40 ? 4U : 0U);
        EXPECT_EQ(scaled.list.durations[1] - plain.list.durations[1], gap == 40 ? 8U : 0U);
    }
}

// gfx12 without tokens for s_barrier_wait: an immediate there is the next wait's, unless the code
// behind fits only if it is the barrier's.
TEST(BarrierWaits, TakeAnImmediateOnlyIfTheCodeBehindSaysSo) {
    constexpr std::uint64_t kExcluded = 0x0913100868700211;
    const Listing code(
        {"s_barrier_signal -1", "s_barrier_wait 0xffff", "s_wait_loadcnt 0x0", kVector, kEnd});
    Wave without(Generation::kGfx12, kExcluded);
    without.put({kImmed, kImmed, kValu});
    without.end();
    const Seen one = decode(without, code);
    EXPECT_EQ(one.pcs, "IMMED@1000 IMMED@1008 VALU@100c MSG@1010");
    EXPECT_TRUE(one.stitched);
    ASSERT_EQ(one.barrier_waits.size(), 1U);
    EXPECT_EQ(one.barrier_waits[0].index, 1U);
    EXPECT_EQ(one.barrier_waits[0].pc, kHere + 4);

    Wave with(Generation::kGfx12, kExcluded);
    with.put({kImmed, kImmed, kImmed, kValu});
    with.end();
    const Seen two = decode(with, code);
    EXPECT_EQ(two.pcs, "IMMED@1000 IMMED@1004 IMMED@1008 VALU@100c MSG@1010");
    EXPECT_TRUE(two.stitched);
    EXPECT_TRUE(two.barrier_waits.empty());
    EXPECT_EQ(two.faults, Faults{});
}

} // namespace
} // namespace wavetap::decode
