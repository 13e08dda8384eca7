// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/mutate_for_test.hpp"
#include "decode/stream_ways_for_test.hpp"
#include "decode/written_for_test.hpp"

// Random streams, decoded whole and by several threads: the same records.

namespace wavetap::decode {
namespace {

using test_ways::Bytes;
using test_ways::decode_so;
using test_ways::expect_same;
using test_ways::Outcome;
using test_ways::Subject;
using test_ways::Way;

/// ThreadSanitizer looks at the threads, for which some are enough.
#ifdef __SANITIZE_THREAD__
constexpr unsigned kMixedSteps = 10'000, kMixedStreams = 1;
#else
constexpr unsigned kMixedSteps = 40'000, kMixedStreams = 3;
#endif

/// Numbers for the streams below.
class Dice {
  public:
    explicit Dice(std::uint64_t seed) : random_(seed) {}
    std::uint32_t operator()(std::uint64_t below) {
        return static_cast<std::uint32_t>((random_.next() >> 32) % below);
    }

  private:
    test::Random random_;
};

/// A stream of everything that the parts of a stream must tell each other, in random order: waves
/// that start twice or end without a start, instructions of slots without a wave, many tokens in one
/// clock, program counters, entries that change; now and then losses, context switches and code
/// that is loaded or unloaded.
Bytes mixed(sqtt::Generation generation, std::uint64_t seed, unsigned steps) {
    Dice random(seed);
    const auto small = [&random](std::uint64_t below) {
        return static_cast<std::uint8_t>(random(below));
    };
    test::Stream stream(generation);
    sqtt::RdnaWriter& writer = stream.rdna();
    std::uint64_t clock = stream.next_clock();
    bool fine = true;
    for (unsigned i = 0; i < steps; ++i) {
        clock += random(3) == 0 ? random(9) : random(400) == 0 ? 5000 : 0;
        sqtt::RdnaWave off;
        off.wgp = static_cast<std::uint8_t>(1 + random(3));
        off.slot = small(16);
        sqtt::RdnaWave on;
        on.slot = small(6);
        const std::uint32_t what = random(40);
        if (what < 3)
            fine &= writer.wave_start(clock, on, 64).has_value();
        else if (what < 6)
            fine &= writer.wave_end(clock, on).has_value();
        else if (what < 11)
            fine &= writer.wave_start(clock, off, small(65)).has_value();
        else if (what < 16)
            fine &= writer.wave_end(clock, off).has_value();
        else if (what < 26)
            fine &= writer.inst(clock, small(7), random(8) == 0 ? 5 : 0).has_value();
        else if (what < 31)
            fine &= writer.immediates(clock, static_cast<std::uint16_t>(random(64))).has_value();
        else if (what < 35)
            fine &= writer.wave_ready(clock, static_cast<std::uint16_t>(random(64))).has_value();
        else if (what == 35)
            fine &= writer.new_pc(clock, small(6), 0x10000 + random(1000) * 4).has_value();
        else if (what == 36)
            fine &= writer.reg_cs(clock, 0xC, random(1000)).has_value();
        else if (what == 37)
            fine &= writer.shader_data(clock, on, random(1000)).has_value();
        else if (what == 38)
            fine &= writer.realtime(clock, i).has_value();
        else
            fine &= writer.dispatch(clock, 1).has_value();
        if (i % 5000 < 3000) continue; // in peace
        const std::uint32_t rare = random(1500);
        if (rare == 0) fine &= writer.packets_lost(clock).has_value();
        if (rare == 1) fine &= writer.misc(clock, 1 << sqtt::kMiscSaveContext).has_value();
        if (rare == 2) fine &= writer.wave_start(clock, on, 66).has_value();
        if (rare == 3) fine &= writer.wave_start(clock, off, 68).has_value();
        if (rare != 4) continue;
        test::Marker marker;
        marker.id = 1 + random(4);
        marker.address = 0x10000 + random(4) * 0x1000;
        marker.unload = random(3) == 0;
        for (const std::uint32_t word : test::words_of(marker))
            fine &= writer.reg_write(clock, test::kUserData2, word).has_value();
    }
    fine &= writer.finish().has_value();
    EXPECT_TRUE(fine);
    return stream.bytes();
}

/// The same for gfx9: waves whose instructions are issued and named in random order, now and then
/// with what only the whole stream can take. The smaller `calm`, the closer together they are and the
/// more often the counter of issue phases moves.
Bytes mixed_gfx9(std::uint64_t seed, unsigned steps, unsigned calm) {
    Dice random(seed);
    const auto small = [&random](std::uint64_t below) {
        return static_cast<std::uint8_t>(random(below));
    };
    using sqtt::Gfx9Inst;
    using sqtt::Gfx9Issue;
    test::Stream stream(sqtt::Generation::kGfx9);
    sqtt::Gfx9Writer& writer = stream.gfx9();
    std::uint64_t clock = stream.next_clock();
    constexpr unsigned kSlots = 8;
    std::array<bool, kSlots> live{};
    std::array<unsigned, kSlots> waiting{};
    bool fine = true;
    for (unsigned i = 0; i < steps; ++i) {
        clock += random(calm * 8) == 0 ? 0 : random(900) == 0 ? 8000 : 4 + 4 * random(3);
        const unsigned slot = random(kSlots);
        sqtt::Gfx9Wave on;
        on.simd = static_cast<std::uint8_t>(slot % 4);
        on.slot = static_cast<std::uint8_t>(slot / 4);
        sqtt::Gfx9Wave off = on;
        off.cu = static_cast<std::uint8_t>(1 + random(3));
        const std::uint32_t what = random(1000);
        std::array<Gfx9Issue, sqtt::kGfx9SlotsPerIssue> states{};
        if (what < 60 || (!live[slot] && what < 400)) {
            if (live[slot] && random(30) != 0) continue;
            fine &= writer.wave_start(clock, {on, 0, 0, small(65), small(8), true});
            live[slot] = true;
            waiting[slot] = 0;
        } else if (what < 64 && live[slot]) {
            fine &= writer.wave_end(clock, on);
            live[slot] = false;
        } else if (what < 200) {
            fine &= writer.wave_start(clock, {off, 0, 0, small(65), small(8), true});
        } else if (what < 330) {
            fine &= writer.wave_end(clock, off);
        } else if (what < 340) {
            fine &= writer.reg_cs(clock, random(2) == 0 ? 0xC : 0, random(1000));
        } else if (what < 350) {
            fine &= writer.userdata(clock, on, i);
        } else if (what < 360) {
            fine &= writer.misc(clock, sqtt::Gfx9Misc::kSurfaceSync);
        } else if (what < 365) {
            fine &= writer.inst_pc(clock, on.simd, on.slot, 0x10000 + random(1000) * 4);
        } else if ((live[slot] || random(300) == 0) && (waiting[slot] == 0 || random(calm) == 0)) {
            for (unsigned other = 0; other < 2; ++other)
                if (waiting[other * 4 + slot % 4] == 0 && random(3) == 0 &&
                    (live[other * 4 + slot % 4] || random(1000) == 0))
                    states[other] = static_cast<Gfx9Issue>(random(4));
            states[on.slot] = random(5) == 0 ? Gfx9Issue::kImmediate : Gfx9Issue::kInstruction;
            fine &= writer.issue(clock, on.simd, states);
            for (unsigned other = 0; other < 2; ++other)
                if (states[other] == Gfx9Issue::kInstruction) ++waiting[other * 4 + slot % 4];
        }
        for (unsigned named = 0; named < kSlots; ++named) {
            if (waiting[named] == 0 ? random(2000) != 0 : random(calm) == 0) continue;
            static constexpr Gfx9Inst kOften[] = {Gfx9Inst::kSmemRead, Gfx9Inst::kSalu,
                                                  Gfx9Inst::kValu,     Gfx9Inst::kLds,
                                                  Gfx9Inst::kFlatRead, Gfx9Inst::kNext};
            const std::uint32_t rare = random(2000);
            const Gfx9Inst type = rare == 0   ? static_cast<Gfx9Inst>(random(32))
                                  : rare < 20 ? Gfx9Inst::kPc
                                  : rare < 22 ? Gfx9Inst::kVmemReadReplay
                                              : kOften[random(std::size(kOften))];
            if (type == Gfx9Inst::kTrap && i % 10'000 < 8000) continue;
            const auto simd = static_cast<std::uint8_t>(named % 4);
            const auto number = static_cast<std::uint8_t>(named / 4);
            clock += 4;
            fine &= writer.inst(clock, simd, number, type);
            waiting[named] -= waiting[named] != 0 ? 1 : 0;
            if (type == Gfx9Inst::kPc && random(40) != 0)
                fine &= writer.inst_pc(clock, simd, number, 0x10000 + random(1000) * 4);
        }
        if (i % 10'000 < 8000) continue; // in peace
        const std::uint32_t rare = random(3000);
        if (rare == 0) fine &= writer.misc(clock, sqtt::Gfx9Misc::kPacketLost);
        if (rare == 1) fine &= writer.misc(clock, sqtt::Gfx9Misc::kSaveContext);
        if (rare == 2) fine &= writer.wave_start(clock, {on, 0, 0, 70, 0, true});
        if (rare == 3) fine &= writer.wave_start(clock, {off, 0, 0, 70, 0, true});
        if (rare == 4) fine &= writer.wave_end(clock, on);
        if (rare != 5) continue;
        test::Marker marker;
        marker.id = 1 + random(4);
        marker.address = 0x10000 + random(4) * 0x1000;
        marker.unload = random(3) == 0;
        for (const std::uint32_t word : test::words_of(marker))
            fine &= writer.reg_write(clock, test::kUserData2, word);
    }
    EXPECT_TRUE(fine);
    return stream.bytes();
}

class Mixed : public testing::TestWithParam<sqtt::Generation> {};

TEST_P(Mixed, StreamsGiveTheSameRecordsEveryWay) {
    for (std::uint64_t seed = 1; seed <= kMixedStreams; ++seed) {
        Subject subject;
        subject.name = "seed " + std::to_string(seed);
        subject.bytes = GetParam() == sqtt::Generation::kGfx9
                            ? mixed_gfx9(seed, kMixedSteps / 2, 64U >> (2 * seed))
                            : mixed(GetParam(), seed, kMixedSteps);
        const Outcome want = decode_so(subject, {});
        EXPECT_GT(want.sink->count, 100U);
        EXPECT_FALSE(want.diagnostics.empty());
        for (const Way way :
             {Way{2, 64, 0}, Way{2, 300, 0}, Way{2, 4000, 0}, Way{3, 1000, 0}, Way{3, 2001, 7001},
              Way{8, 129, 0}, Way{8, 600, 0}, Way{8, 2000, 0}, Way{16, 1000, 0}})
            expect_same(subject, want, way);
    }
}

INSTANTIATE_TEST_SUITE_P(Generations, Mixed,
                         testing::Values(sqtt::Generation::kGfx9, sqtt::Generation::kGfx10,
                                         sqtt::Generation::kGfx11, sqtt::Generation::kGfx12,
                                         sqtt::Generation::kGfx1250),
                         [](const auto& param) {
                             return std::string(sqtt::generation_name(param.param));
                         });

} // namespace
} // namespace wavetap::decode
