// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/units.hpp"
#include "pm4/packets.hpp"
#include "pm4/thread_trace.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

// Our own streams of gfx10.3, gfx11 and gfx12, by their effects on a register file, and how each
// generation writes SIMD, CU and engine. Recorded streams: golden_streams_test.cpp.

namespace wavetap::pm4 {
namespace {

const TraceMemory kMemory{0x7e1000000000, 0x7e0000010000, {}};

TraceTopology chip(const std::string& gfx) {
    if (gfx == "gfx90a") return {gfx, 1, 8, 14};
    if (gfx == "gfx942") return {gfx, 8, 4, 10};
    return {gfx, 1, gfx == "gfx1100" ? 6U : 4U, 16};
}

TraceConfig config_of(std::uint64_t se_mask, std::uint32_t cu, std::uint32_t simd_mask,
                      std::uint64_t bytes = 64 * kMiB) {
    TraceConfig config;
    config.se_mask = se_mask;
    config.target_cu = cu;
    config.simd_mask = simd_mask;
    config.buffer_bytes = bytes;
    return config;
}

constexpr std::uint32_t kBroadcast = 0xFFFFFFFF;

/// What a stream does to registers: the last value of each, by engine (kBroadcast: to all).
struct Effects {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> written; ///< engine, register
    std::map<std::uint32_t, std::uint32_t> waits; ///< engine: number of WAIT_REG_MEM
    std::set<std::uint64_t> stored;               ///< addresses that a register went to
    std::vector<std::uint32_t> userdata;
    std::vector<std::uint64_t> flushed;
    std::uint32_t selected = 0; ///< GRBM_GFX_INDEX at the end

    std::uint32_t at(std::uint32_t engine, std::uint32_t reg) const {
        const auto own = written.find({engine, reg});
        if (own != written.end()) return own->second;
        const auto all = written.find({kBroadcast, reg});
        return all == written.end() ? 0 : all->second;
    }
};

/// One XCC's view; PRED_EXEC blocks of the others are passed over.
Effects run(const std::vector<std::uint32_t>& stream, std::uint32_t xcc = 0) {
    Effects effects;
    std::uint32_t engine = kBroadcast;
    const auto write = [&](std::uint32_t reg, std::uint32_t value) {
        if (reg == gfx9::kGrbmGfxIndex) {
            effects.selected = value;
            engine = (value >> 31) != 0 ? kBroadcast : value >> 16 & 0xFF;
        } else if (reg == gfx9::kSqThreadTraceUserdata2) {
            effects.userdata.push_back(value);
        } else {
            effects.written[{engine, reg}] = value;
        }
    };
    Parser parser(stream);
    for (auto packet = parser.next(); packet && *packet; packet = parser.next()) {
        const auto& body = (*packet)->body;
        switch ((*packet)->opcode) {
        case Opcode::kPredExec:
            if ((body[0] >> 24 & 1U << xcc) == 0) {
                EXPECT_TRUE(parser.skip(body[0] & 0x3FFF));
            }
            break;
        case Opcode::kSetUconfigReg:
            write(body[0] + kUconfigBase, body[1]);
            break;
        case Opcode::kSetShReg:
            write(body[0] + kShBase, body[1]);
            break;
        case Opcode::kCopyData:
            if ((body[0] & 0xF) == 5) write(body[3], body[1]);
            if ((body[0] >> 8 & 0xF) == 2)
                effects.stored.insert(body[3] | std::uint64_t{body[4]} << 32);
            break;
        case Opcode::kWaitRegMem:
            ++effects.waits[engine];
            break;
        case Opcode::kAcquireMem:
            effects.flushed.push_back((body[3] | std::uint64_t{body[4]} << 32) << 8);
            break;
        default:
            break;
        }
    }
    return effects;
}

/// Where a generation keeps the registers that a target is written to.
struct Target {
    const char* gfx;
    std::uint64_t se_mask;
    std::uint32_t cu, simd_mask;
    std::uint32_t engine; ///< inside its XCC
    std::uint32_t xcc;
    std::uint32_t mask_register;
    std::uint32_t mask_word; ///< expected
};

class TargetTest : public testing::TestWithParam<Target> {};

TEST_P(TargetTest, SimdCuAndEngineAsTheGenerationWantsThem) {
    const Target& row = GetParam();
    const auto stream =
        build_start(chip(row.gfx), config_of(row.se_mask, row.cu, row.simd_mask), kMemory);
    ASSERT_TRUE(stream) << to_string(stream.error());
    const Effects effects = run(*stream, row.xcc);
    EXPECT_EQ(effects.at(row.engine, row.mask_register), row.mask_word)
        << std::hex << effects.at(row.engine, row.mask_register);
    EXPECT_EQ(effects.selected, gfx9::kGrbmBroadcast);
}

// gfx9: SIMDs as a mask in 11:8, CU in 4:0. gfx10+: one SIMD as a number in 1:0, WGP in 7:4.
INSTANTIATE_TEST_SUITE_P(Chips, TargetTest,
                         testing::Values(Target{"gfx90a", 0x1, 0, 0xF, 0, 0, 0xC332, 0xCF80},
                                         Target{"gfx90a", 0x80, 13, 0x5, 7, 0, 0xC332, 0xC58D},
                                         Target{"gfx942", 0x1, 1, 0x8, 0, 0, 0xC332, 0xC881},
                                         Target{"gfx942", 1ULL << 31, 9, 0x1, 3, 7, 0xC332, 0xC189},
                                         Target{"gfx1030", 0x1, 1, 0x4, 0, 0, 0x2345, 0x00010012},
                                         Target{"gfx1030", 0x8, 15, 0x8, 3, 0, 0x2345, 0x000100F3},
                                         Target{"gfx1100", 0x20, 0, 0x1, 5, 0, 0xD9ED, 0x00010000},
                                         Target{"gfx1100", 0x2, 7, 0x2, 1, 0, 0xD9ED, 0x00010071},
                                         Target{"gfx1201", 0x4, 3, 0x8, 2, 0, 0xD9ED, 0x00010033}));

struct Registers {
    const char* gfx;
    std::uint32_t ctrl, token_mask, size, base;
    std::uint32_t detail, occupancy;
};

class RdnaStreamTest : public testing::TestWithParam<Registers> {};

constexpr std::uint32_t kEnable = gfx9::kComputeThreadTraceEnable;

TEST_P(RdnaStreamTest, Start_ArmsTheSelectedEnginesAndDisarmsTheOthers) {
    const Registers& row = GetParam();
    const auto stream = build_start(chip(row.gfx), config_of(0xA, 2, 0x4), kMemory);
    ASSERT_TRUE(stream) << to_string(stream.error());
    const Effects effects = run(*stream);
    const std::uint64_t half = 32 * kMiB;
    for (std::uint32_t se = 0; se < chip(row.gfx).engines_per_xcc; ++se) {
        const bool wanted = se == 1 || se == 3;
        EXPECT_EQ(effects.at(se, row.ctrl) & 3, wanted ? 1 : 0) << se;
        EXPECT_EQ(effects.at(se, kEnable), wanted ? 1 : 0) << se;
        if (!wanted) continue;
        EXPECT_EQ(effects.at(se, row.token_mask), row.detail);
        const std::uint64_t va = kMemory.output_va + (se == 3 ? half : 0);
        EXPECT_EQ(effects.at(se, row.base), static_cast<std::uint32_t>(va >> 12));
        const std::uint32_t pages = static_cast<std::uint32_t>(half / 4096);
        const bool gfx12 = std::string(row.gfx) == "gfx1201";
        EXPECT_EQ(effects.at(se, row.size), gfx12 ? pages : pages << 8 | 7);
    }
    EXPECT_EQ(effects.userdata, (std::vector<std::uint32_t>{0x434F5200, 0x00080201, 0x186A0006}));
}

TEST_P(RdnaStreamTest, Stop_WaitsPerEngineSavesItsWordsAndFlushes) {
    const Registers& row = GetParam();
    const auto stream = build_stop(chip(row.gfx), config_of(0xA, 2, 0x4), kMemory);
    ASSERT_TRUE(stream) << to_string(stream.error());
    const Effects effects = run(*stream);
    EXPECT_EQ(effects.waits, (std::map<std::uint32_t, std::uint32_t>{{1, 2}, {3, 2}}));
    EXPECT_EQ(effects.at(1, kEnable), 0U);
    for (const std::uint32_t se : {1U, 3U}) {
        EXPECT_EQ(effects.at(se, row.ctrl) & 3, 0U);
        const std::uint64_t entry = kMemory.control_va + 64 * se;
        for (const std::uint64_t field : {0, 4, 8})
            EXPECT_TRUE(effects.stored.count(entry + field)) << se << " " << field;
        EXPECT_EQ(effects.stored.count(entry + 12), std::string(row.gfx) == "gfx1201" ? 1U : 0U);
    }
    EXPECT_EQ(effects.flushed, (std::vector<std::uint64_t>{kMemory.output_va, kMemory.control_va}));
    EXPECT_EQ(effects.selected, gfx9::kGrbmBroadcast);
}

TEST_P(RdnaStreamTest, Occupancy_KeepsRegisterTokensSoThatMarkersArrive) {
    const Registers& row = GetParam();
    TraceConfig config = config_of(0x1, 0, 0x1);
    config.detail = false;
    const auto stream = build_start(chip(row.gfx), config, kMemory);
    ASSERT_TRUE(stream);
    const std::uint32_t tokens = run(*stream).at(0, row.token_mask);
    EXPECT_EQ(tokens, row.occupancy);
    EXPECT_EQ(tokens & 1U << 6, 0U); // token-exclude bit of registers
}

TEST_P(RdnaStreamTest, OneSimdExactly) {
    for (const std::uint32_t mask : {0x3U, 0xFU}) {
        const auto stream = build_start(chip(GetParam().gfx), config_of(1, 0, mask), kMemory);
        ASSERT_FALSE(stream);
        EXPECT_EQ(stream.error().code, ErrorCode::kInvalidArgument);
        EXPECT_NE(stream.error().hint.find("one SIMD"), std::string::npos);
    }
}

TEST_P(RdnaStreamTest, NoCountersAndNoEnginesThatTheChipLacks) {
    TraceConfig config = config_of(1, 0, 1);
    config.counters.push_back({4, 0xF});
    const auto counters = check_config(chip(GetParam().gfx), config);
    ASSERT_FALSE(counters);
    EXPECT_EQ(counters.error().code, ErrorCode::kUnsupported);
    EXPECT_FALSE(check_config(chip(GetParam().gfx), config_of(1 << 6, 0, 1)));
}

INSTANTIATE_TEST_SUITE_P(
    Chips, RdnaStreamTest,
    testing::Values(Registers{"gfx1030", 0x2347, 0x2346, 0x2341, 0x2340, 0x00080683, 0x030807AF},
                    Registers{"gfx1100", 0xD9EC, 0xD9EE, 0xD9E9, 0xD9E8, 0x0C080683, 0x030807AF},
                    Registers{"gfx1201", 0xD9EC, 0xD9EE, 0xD9E6, 0xD9E7, 0x8C1F4003, 0x831F032F}));

TEST(RdnaStreamsTest, Ring_OnGfx12Only) {
    TraceConfig config = config_of(1, 0, 1);
    config.buffers = 3;
    TraceMemory memory = kMemory;
    memory.extra_output_va = {kMemory.output_va + 64 * kMiB, kMemory.output_va + 128 * kMiB};
    for (const char* gfx : {"gfx1030", "gfx1100"}) {
        const auto refused = build_start(chip(gfx), config, memory);
        ASSERT_FALSE(refused) << gfx;
        EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
    }
    ASSERT_TRUE(build_start(chip("gfx1201"), config, memory));
    const auto query = build_query(chip("gfx1201"), config, memory);
    ASSERT_TRUE(query);
    EXPECT_EQ(run(*query).stored,
              (std::set<std::uint64_t>{memory.control_va + 32, memory.control_va + 36}));
    // The second swap names the base buffer in slot 1.
    const auto swap = build_swap(chip("gfx1201"), config, memory, 0, 1);
    ASSERT_TRUE(swap);
    EXPECT_EQ(run(*swap).at(0, 0xD9EA), static_cast<std::uint32_t>(memory.output_va >> 12));
    EXPECT_TRUE(interpret_query(chip("gfx1201"), 2, 0).needs_swap);
    EXPECT_FALSE(interpret_query(chip("gfx1201"), 0x10, 0x80000000).needs_swap);
}

TEST(RdnaStreamsTest, Capacity_Gfx11EndsBelow512MiB) {
    EXPECT_TRUE(capacity_per_engine(chip("gfx1100"), config_of(1, 0, 1, 512 * kMiB - 4096)));
    const auto refused = capacity_per_engine(chip("gfx1100"), config_of(1, 0, 1, 512 * kMiB));
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().hint.find("largest buffer"), std::string::npos);
    EXPECT_TRUE(capacity_per_engine(chip("gfx1030"), config_of(1, 0, 1, 1 * kGiB)));
    EXPECT_TRUE(capacity_per_engine(chip("gfx1201"), config_of(1, 0, 1, 1 * kGiB)));
}

TEST(RdnaStreamsTest, ReadBack_Gfx11CountsFromAddressZero) {
    const TraceConfig config = config_of(1, 0, 1);
    const std::uint64_t va = 0x7e1000000000;
    ControlWords words;
    words.engine_va = va;
    words.wptr = static_cast<std::uint32_t>((va + 4096) / 32 & 0x1FFFFFFF);
    EXPECT_EQ(interpret_control(chip("gfx1100"), config, words, kMiB).bytes, 4096U);
    words.wptr = 0x80000010;
    words.status2 = 1;
    const EngineResult gfx12 = interpret_control(chip("gfx1201"), config, words, kMiB);
    EXPECT_EQ(gfx12.bytes, 0x200U);
    EXPECT_TRUE(gfx12.full);
}

TEST(RdnaStreamsTest, ChipsWithoutEstablishedRegisters_AreRefused) {
    for (const char* gfx : {"gfx1010", "gfx1151", "gfx1250", "gfx1202", "gfx11000"}) {
        const auto checked = check_config({gfx, 1, 4, 16}, config_of(1, 0, 1));
        ASSERT_FALSE(checked) << gfx;
        EXPECT_EQ(checked.error().code, ErrorCode::kUnsupported);
    }
}

} // namespace
} // namespace wavetap::pm4
