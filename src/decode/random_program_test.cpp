// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/engine.hpp"
#include "decode/mutate_for_test.hpp"
#include "sqtt/rdna_writer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

// Random programs, run by random waves, written with our encoder and decoded. This shows that encoder
// and decoder agree, nothing about hardware: real traces and golden files do that.

namespace wavetap::decode {
namespace {

using sqtt::Generation;
using wavetap::test::Random;

constexpr std::uint64_t kSpacing = 0x10000; ///< between the programs of two waves

enum class Kind : std::uint8_t {
    kScalar,
    kScalarLoad,
    kVector,
    kLoad,
    kLds,
    kWait,
    kBranch,
    kNoToken,
    kSetPc, ///< where to is a matter of registers
    kEnd,
};

struct Line {
    Kind kind = Kind::kScalar;
    std::int32_t distance = 0; ///< of branches, in lines
};

using Program = std::vector<Line>;

Program make_program(Random& random) {
    Program program(20 + random.below(60));
    for (std::size_t i = 0; i + 1 < program.size(); ++i) {
        program[i].kind = static_cast<Kind>(random.below(9));
        if (program[i].kind != Kind::kBranch) continue;
        const std::size_t target = random.below(program.size());
        program[i].distance = static_cast<std::int32_t>(target) - static_cast<std::int32_t>(i) - 1;
    }
    program.back().kind = Kind::kEnd;
    return program;
}

std::string text_of(const Line& line) {
    switch (line.kind) {
    case Kind::kScalar:
        return "s_add_i32 s0, s1, s2";
    case Kind::kScalarLoad:
        return "s_load_b32 s0, s[2:3], 0x0";
    case Kind::kVector:
        return "v_add_f32_e32 v0, v1, v2";
    case Kind::kLoad:
        return "global_load_b32 v0, v1, s[0:1]";
    case Kind::kLds:
        return "ds_load_b32 v0, v1";
    case Kind::kWait:
        return "s_waitcnt vmcnt(0)";
    case Kind::kBranch:
        return "s_cbranch_scc0 " + std::to_string(static_cast<std::uint16_t>(line.distance));
    case Kind::kNoToken:
        return "s_delay_alu instid0(VALU_DEP_1)";
    case Kind::kSetPc:
        return "s_setpc_b64 s[0:1]";
    case Kind::kEnd:
        break;
    }
    return "s_endpgm";
}

class Programs final : public CodeSource {
  public:
    std::vector<Program> all;
    CodeLine fetch(std::uint64_t, std::uint64_t address) override {
        const std::uint64_t program = address / kSpacing - 1, line = address % kSpacing / 4;
        if (program >= all.size() || line >= all[program].size()) return {};
        return line_from_text(text_of(all[program][line]), 4, false);
    }
    bool knows(std::uint64_t) const override { return true; }
};

struct Executed {
    std::uint64_t pc = 0, clock = 0;
    Category category = Category::kSalu;
    friend bool operator==(const Executed&, const Executed&) = default;
};
std::ostream& operator<<(std::ostream& out, const Executed& e) {
    return out << std::hex << e.pc << std::dec << "@" << e.clock << " "
               << category_name(e.category);
}

struct Wave {
    std::uint64_t start = 0, end = 0;
    std::vector<Executed> instructions;
};

/// Writes by clock; what was added first comes first within a clock.
class Schedule {
  public:
    using Action = std::function<Result<void>(sqtt::RdnaWriter&)>;
    void at(std::uint64_t clock, Action action) { actions_.emplace(clock, std::move(action)); }
    void write(sqtt::RdnaWriter& writer) {
        for (const auto& [clock, action] : actions_) {
            const auto result = action(writer);
            EXPECT_TRUE(result) << clock << ": " << to_string(result.error());
        }
    }

  private:
    std::multimap<std::uint64_t, Action> actions_;
};

/// Runs a program in a slot from `clock` on.
Wave run(const Program& program, std::uint64_t entry, std::uint8_t slot, std::uint64_t clock,
         Random& random, Schedule& schedule) {
    Wave wave;
    wave.start = clock;
    schedule.at(clock, [=](sqtt::RdnaWriter& w) {
        return w.reg_cs(clock, 0xC, static_cast<std::uint32_t>(entry >> 8));
    });
    schedule.at(clock, [=](sqtt::RdnaWriter& w) {
        return w.wave_start(clock, {.sa = 0, .wgp = 0, .simd = 0, .slot = slot}, 127);
    });
    std::size_t line = 0;
    std::uint64_t told = 0; // clock of the last program counter
    for (unsigned count = 0; program[line].kind != Kind::kEnd; ++count) {
        const Line now = program[line];
        const std::uint64_t pc = entry + line * 4;
        ++line;
        if (now.kind == Kind::kNoToken) continue;
        static constexpr std::uint64_t kGaps[] = {1, 1, 2, 4, 5, 9, 21, 150, 700};
        clock += kGaps[random.below(std::size(kGaps))];
        if (random.below(6) == 0) {
            const std::uint64_t ready = clock++;
            const auto mask = static_cast<std::uint16_t>(1U << slot);
            schedule.at(ready, [=](sqtt::RdnaWriter& w) { return w.wave_ready(ready, mask); });
            ++clock;
        }
        Executed executed{pc, clock, Category::kSalu};
        const auto inst = [&](std::uint16_t op, Category category) {
            executed.category = category;
            schedule.at(clock, [=](sqtt::RdnaWriter& w) { return w.inst(clock, slot, op); });
        };
        switch (now.kind) {
        case Kind::kScalarLoad:
            inst(1, Category::kSmem);
            break;
        case Kind::kLoad:
            inst(0x23, Category::kVmem);
            break;
        case Kind::kLds:
            inst(41, Category::kLds);
            break;
        case Kind::kVector:
            executed.category = Category::kValu;
            schedule.at(clock, [=](sqtt::RdnaWriter& w) { return w.valu(clock, slot); });
            break;
        case Kind::kWait:
            executed.category = Category::kImmed;
            schedule.at(clock, [=](sqtt::RdnaWriter& w) { return w.immediate(clock, slot); });
            break;
        case Kind::kBranch: {
            const bool taken = count < 200 && random.below(2) == 0;
            inst(taken ? 3 : 4, taken ? Category::kJump : Category::kNext);
            if (taken)
                line = static_cast<std::size_t>(static_cast<std::int64_t>(line) + now.distance);
            break;
        }
        case Kind::kSetPc: {
            inst(5, Category::kSalu);
            if (count < 200) line = random.below(program.size());
            const std::uint64_t to = entry + line * 4;
            told = std::max(told, clock) + 1 + random.below(30);
            schedule.at(told, [=](sqtt::RdnaWriter& w) { return w.new_pc(told, slot, to); });
            break;
        }
        default:
            inst(0, Category::kSalu);
            break;
        }
        wave.instructions.push_back(executed);
    }
    wave.end = clock + 40 + random.below(500);
    const std::uint64_t end = wave.end;
    schedule.at(end, [=](sqtt::RdnaWriter& w) {
        return w.wave_end(end, {.sa = 0, .wgp = 0, .simd = 0, .slot = slot});
    });
    return wave;
}

class VectorSink final : public sqtt::TokenSink {
  public:
    bool write(std::span<const std::byte> bytes) override {
        data.insert(data.end(), bytes.begin(), bytes.end());
        return true;
    }
    std::vector<std::byte> data;
};

class WaveSink final : public RecordSink {
  public:
    void wave(const WaveView& view) override {
        Wave wave;
        wave.start = view.head.start;
        wave.end = view.head.end;
        const InstructionList& list = view.instructions;
        for (std::size_t i = 0; i < list.size(); ++i)
            wave.instructions.push_back(
                {i < view.has_pc.size() && view.has_pc[i] != 0 ? view.pcs[i].address : 0,
                 list.times[i] + list.stalls[i], static_cast<Category>(list.categories[i])});
        EXPECT_TRUE(view.stitched);
        EXPECT_EQ(view.lines_without_token, 0U);
        waves.emplace(std::pair(wave.start, view.head.slot), std::move(wave));
    }
    std::map<std::pair<std::uint64_t, std::uint8_t>, Wave> waves;
};

struct Chip {
    Generation generation;
    std::uint64_t header;
};
class RandomPrograms : public testing::TestWithParam<Chip> {};

TEST_P(RandomPrograms, AreDecodedAsTheyRan) {
    std::size_t waves = 0, instructions = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        Random random(seed);
        Programs programs;
        Schedule schedule;
        std::map<std::pair<std::uint64_t, std::uint8_t>, Wave> want;
        for (std::uint8_t slot = 0; slot < 8; ++slot) {
            std::uint64_t clock = 1000 + random.below(3000);
            for (unsigned turn = 0; turn < 3; ++turn) {
                programs.all.push_back(make_program(random));
                const std::uint64_t entry = programs.all.size() * kSpacing;
                Wave wave = run(programs.all.back(), entry, slot, clock, random, schedule);
                clock = wave.end + 10 + random.below(1000);
                want.emplace(std::pair(wave.start, slot), std::move(wave));
            }
        }
        VectorSink bytes;
        sqtt::RdnaWriter writer(GetParam().generation, bytes);
        ASSERT_TRUE(writer.header(GetParam().header));
        schedule.write(writer);
        ASSERT_TRUE(writer.finish());
        CodeMap code(&programs, {});
        Diagnostics diagnostics;
        WaveSink got;
        ASSERT_TRUE(decode_stream(bytes.data, {}, code, got, diagnostics));
        ASSERT_TRUE(diagnostics.list().empty()) << diagnostics.list()[0].kind;
        ASSERT_EQ(got.waves.size(), want.size());
        for (auto& [key, wave] : want) {
            const Wave& other = got.waves.at(key);
            EXPECT_EQ(other.end, wave.end);
            // The end of a wave shows as one more instruction, from the end of the last one on.
            ASSERT_EQ(other.instructions.size(), wave.instructions.size() + 1);
            EXPECT_EQ(other.instructions.back().category, Category::kMsg);
            const std::size_t program =
                key.first == 0 ? 0 : other.instructions.back().pc / kSpacing;
            ASSERT_GE(program, 1U);
            EXPECT_EQ(other.instructions.back().pc % kSpacing / 4,
                      programs.all[program - 1].size() - 1);
            for (std::size_t i = 0; i < wave.instructions.size(); ++i)
                ASSERT_EQ(other.instructions[i], wave.instructions[i]) << "seed " << seed;
            ++waves;
            instructions += wave.instructions.size();
        }
    }
    std::cout << sqtt::generation_name(GetParam().generation) << ": " << waves << " waves, "
              << instructions << " instructions\n";
    EXPECT_GT(instructions, 10'000U);
}

INSTANTIATE_TEST_SUITE_P(Generations, RandomPrograms,
                         testing::Values(Chip{Generation::kGfx10, 0x111},
                                         Chip{Generation::kGfx11, 0x68900191},
                                         Chip{Generation::kGfx12, 0x0113100868700211},
                                         Chip{Generation::kGfx1250, 0x291}),
                         [](const auto& param) {
                             return std::string(sqtt::generation_name(param.param.generation));
                         });

} // namespace
} // namespace wavetap::decode
