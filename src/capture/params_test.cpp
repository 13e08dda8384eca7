// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/params.hpp"

#include <gtest/gtest.h>

#include <string>

namespace wavetap::capture {
namespace {

AgentTopology mi210() {
    return AgentTopology{"gfx90a", 1, 8, 14, 4};
}

struct Row {
    const char* name;
    std::uint64_t value;
    bool good;
};

constexpr std::uint64_t kWrap32 = std::uint64_t{1} << 32;
constexpr std::uint64_t kTop = ~std::uint64_t{0};

TEST(ParamsTest, EveryParameterAtItsEdges) {
    const Row rows[] = {
        {"se_mask", 0, false},
        {"se_mask", 1, true},
        {"se_mask", 0xff, true},
        {"se_mask", 0x100, false},
        {"se_mask", kWrap32 + 1, false},
        {"se_mask", kTop, false},
        {"target_cu", 0, true},
        {"target_cu", 13, true},
        {"target_cu", 14, false},
        {"target_cu", 16, false},
        {"target_cu", 256 + 1, false},
        {"target_cu", kWrap32 + 1, false},
        {"target_cu", kTop, false},
        {"simd_mask", 0, false},
        {"simd_mask", 1, true},
        {"simd_mask", 0xf, true},
        {"simd_mask", 0x10, false},
        {"simd_mask", 0x10f, false},
        {"simd_mask", kWrap32 + 1, false},
        {"simd_mask", kTop, false},
        {"buffer_bytes", 0, false},
        {"buffer_bytes", (1 << 20) - 1, false},
        {"buffer_bytes", 1 << 20, true},
        {"buffer_bytes", std::uint64_t{10} << 30, true},
        {"buffer_bytes", std::uint64_t{16} << 30, false}, // one engine holds less than 16 GiB
        {"buffer_bytes", kTop, false},
        {"buffers", 0, false},
        {"buffers", 1, true},
        {"buffers", 2, false},
        {"buffers", 3, true},
        {"buffers", 16, true},
        {"buffers", 17, false},
        {"buffers", 256 + 1, false},
        {"buffers", kWrap32 + 1, false},
        {"buffers", kTop, false},
        {"as_ready", 1, true},
        {"end_on_full", 0, true},
        {"end_on_full", 1, true},
        {"end_on_full", 2, true},
        {"end_on_full", 3, false},
        {"end_on_full", 256, false},
        {"end_on_full", kWrap32, false},
        {"end_on_full", kWrap32 + 2, false},
        {"end_on_full", kTop, false},
        {"stream_rate", 0, false},
        {"stream_rate", 1, true},
        {"stream_rate", kTop, true},
        {"detail", 0, true},
        {"detail", 1, true},
        {"clock_markers", 0, true},
        {"clock_markers", 1, true},
        {"dispatch", 0, true},
        {"dispatch", 1, true},
        {"serialize_all", 0, true},
        {"serialize_all", 1, false}, // device mode
        {"perf_period", 0, true},
        {"perf_period", 1, true},
        {"perf_period", 32, true},
        {"perf_period", 33, false},
        {"perf_period", 256 + 1, false},
        {"perf_period", kWrap32 + 1, false},
        {"perf_period", kTop, false},
        {"perf_exclude_mask", 0xffffffff, true},
        {"perf_exclude_mask", kWrap32, false},
        {"perf_exclude_mask", kWrap32 + 1, false},
        {"perf_exclude_mask", kTop, false},
        {"perf_counter_count", 0, true},
        {"perf_counter_count", 8, true},
        {"perf_counter_count", 9, false},
        {"perf_counter_count", 256 + 1, false},
        {"perf_counter_count", kWrap32 + 1, false},
        {"perf_counter_count", kTop, false},
        {"id", 0, false},
        {"id", 1, true},
        {"id", 4, true},
        {"id", 11, false}, // not one of gfx90a
        {"id", 188, true},
        {"id", 189, false},
        {"id", 256 + 4, false},
        {"id", kWrap32 + 4, false},
        {"id", kTop, false},
        {"simd", 0, false},
        {"simd", 1, true},
        {"simd", 0xf, true},
        {"simd", 0x10, false},
        {"simd", 0x10f, false},
        {"simd", kWrap32 + 1, false},
        {"simd", kTop, false},
    };
    for (const Row& row : rows) {
        TraceParams params;
        params.perf_counters.fill({4, 0xf});
        if (row.name == std::string("id") || row.name == std::string("simd")) {
            params.perf_counter_count = 8;
            params.perf_period = 1;
            PerfCounterParam& last = params.perf_counters[7];
            (row.name == std::string("id") ? last.id : last.simd_mask) = row.value;
        } else {
            ASSERT_TRUE(set_param(params, row.name, row.value));
        }
        const auto valid = ValidatedParams::create(params, mi210());
        EXPECT_EQ(valid.has_value(), row.good) << row.name << " = " << row.value;
        if (!valid) {
            EXPECT_EQ(valid.error().code, ErrorCode::kInvalidArgument) << row.name;
            EXPECT_FALSE(valid.error().message.empty()) << row.name;
        }
    }
}

TEST(ParamsTest, FlagsAreZeroOrOne) {
    for (const char* name :
         {"several_engines", "as_ready", "detail", "clock_markers", "dispatch", "serialize_all"})
        for (const std::uint64_t value : {std::uint64_t{2}, std::uint64_t{256}, std::uint64_t{257},
                                          kWrap32, kWrap32 + 1, kTop}) {
            TraceParams params;
            ASSERT_TRUE(set_param(params, name, value));
            const auto valid = ValidatedParams::create(params, mi210());
            ASSERT_FALSE(valid) << name << " = " << value;
            EXPECT_EQ(valid.error().code, ErrorCode::kInvalidArgument) << name;
            EXPECT_NE(valid.error().message.find(name), std::string::npos);
        }
}

TEST(ParamsTest, SerializeAllIsForDispatchMode) {
    const Row rows[] = {{"", 0, true},        {"", 1, true},        {"", 2, false},
                        {"", 256 + 1, false}, {"", kWrap32, false}, {"", kTop, false}};
    for (const Row& row : rows) {
        TraceParams params;
        params.dispatch = 1;
        params.serialize_all = row.value;
        const auto valid = ValidatedParams::create(params, mi210());
        ASSERT_EQ(valid.has_value(), row.good) << row.value;
        if (valid) {
            EXPECT_EQ(valid->serialize_all(), row.value == 1);
        } else {
            EXPECT_NE(valid.error().message.find("serialize_all = "), std::string::npos);
        }
    }
    TraceParams device;
    device.serialize_all = 1;
    EXPECT_EQ(ValidatedParams::create(device, mi210()).error().hint, "use dispatch mode");
}

TEST(ParamsTest, ValuesArriveUnchanged) {
    TraceParams params;
    params.se_mask = 0xa5;
    params.target_cu = 9;
    params.simd_mask = 0x6;
    params.buffer_bytes = 64 << 20;
    params.detail = 0;
    params.clock_markers = 0;
    AgentTopology agent = mi210();
    agent.counter_hz = 25'000'000;
    const auto valid = ValidatedParams::create(params, agent);
    ASSERT_TRUE(valid);
    EXPECT_EQ(valid->config().se_mask, 0xa5u);
    EXPECT_EQ(valid->config().target_cu, 9u);
    EXPECT_EQ(valid->config().simd_mask, 6u);
    EXPECT_EQ(valid->config().buffer_bytes, 64u << 20);
    EXPECT_FALSE(valid->config().detail);
    EXPECT_FALSE(valid->config().clock_markers);
    EXPECT_EQ(valid->config().clock_khz, 25'000u);
    EXPECT_EQ(valid->buffers(), 1u);
}

TEST(ParamsTest, PerfCounters_GoDownAsTheHardwareTakesThem) {
    TraceParams params;
    params.perf_counters[0] = {4, 0x3};
    params.perf_counters[1] = {26, 0xf};
    params.perf_counter_count = 2;
    params.perf_exclude_mask = 0xfffd;
    auto valid = ValidatedParams::create(params, mi210());
    ASSERT_TRUE(valid);
    EXPECT_TRUE(valid->config().counters.empty()) << "the period is 0: off";
    params.perf_period = 32;
    valid = ValidatedParams::create(params, mi210());
    ASSERT_TRUE(valid);
    ASSERT_EQ(valid->config().counters.size(), 2u);
    EXPECT_EQ(valid->config().counters[0], (pm4::TraceCounter{4, 0x3}));
    EXPECT_EQ(valid->config().counters[1], (pm4::TraceCounter{26, 0xf}));
    EXPECT_EQ(valid->config().counter_rate, 31u);
    EXPECT_EQ(valid->config().counter_cu_mask, 0xffff0002u);
}

TEST(ParamsTest, PerfCounters_Gfx9Only) {
    const AgentTopology navi31{"gfx1100", 1, 6, 16, 2, 0, 100'000'000};
    for (const char* name : {"perf_counter_count", "perf_period", "perf_exclude_mask"}) {
        TraceParams params;
        ASSERT_TRUE(set_param(params, name, 1));
        const auto valid = ValidatedParams::create(params, navi31);
        ASSERT_FALSE(valid) << name;
        EXPECT_EQ(valid.error().code, ErrorCode::kInvalidArgument);
        EXPECT_NE(valid.error().message.find("the trace of gfx1100 has none"), std::string::npos);
    }
}

// Capacity of an engine is at least 128 KiB, so the smallest buffer depends on the mask.
TEST(ParamsTest, OneMebibyteUnderSeveralMasks) {
    const struct {
        const char* gfx;
        std::uint32_t xccs, engines;
        std::uint64_t mask;
        bool good;
    } rows[] = {
        {"gfx90a", 1, 8, 0x1, true},    {"gfx90a", 1, 8, 0x3, true},
        {"gfx90a", 1, 8, 0xff, true},   {"gfx90a", 1, 8, 0xffffffff, false},
        {"gfx942", 8, 4, 0x1, true},    {"gfx942", 8, 4, 0xff, true},
        {"gfx942", 8, 4, 0x1ff, false}, {"gfx942", 8, 4, 0xffffffff, false},
        {"gfx950", 8, 4, 0x3, true},    {"gfx950", 8, 4, 0xff, true},
        {"gfx950", 8, 4, 0x1ff, false}, {"gfx950", 8, 4, 0xffffffff, false},
        {"gfx1030", 1, 4, 0x1, true},   {"gfx1030", 1, 4, 0xf, true},
        {"gfx1030", 1, 4, 0xff, false}, {"gfx1030", 1, 4, 0xffffffff, false},
        {"gfx1100", 1, 6, 0x1, true},   {"gfx1100", 1, 6, 0x3f, true},
        {"gfx1100", 1, 6, 0xff, false}, {"gfx1100", 1, 6, 0xffffffff, false},

        {"gfx1201", 1, 4, 0x1, true},   {"gfx1201", 1, 4, 0xf, true},
        {"gfx1201", 1, 4, 0xff, false}, {"gfx1201", 1, 4, 0xffffffff, false},
    };
    for (const auto& row : rows) {
        AgentTopology agent = mi210();
        agent.gfx = row.gfx;
        agent.xccs = row.xccs;
        agent.engines_per_xcc = row.engines;
        TraceParams params;
        params.se_mask = row.mask;
        params.buffer_bytes = 1 << 20;
        EXPECT_EQ(ValidatedParams::create(params, agent).has_value(), row.good)
            << row.gfx << " " << row.mask;
    }
}

TEST(ParamsTest, SeveralBuffers_OneEngineUnlessAskedForByName) {
    TraceParams params;
    params.buffers = 4;
    auto valid = ValidatedParams::create(params, mi210());
    ASSERT_TRUE(valid);
    EXPECT_EQ(valid->buffers(), 4u);
    EXPECT_EQ(valid->config().buffers, 3u) << "the hardware's ring has three";
    params.se_mask = 0x3;
    EXPECT_EQ(ValidatedParams::create(params, mi210()).error().code, ErrorCode::kInvalidArgument);
    params.several_engines = 1;
    valid = ValidatedParams::create(params, mi210());
    ASSERT_TRUE(valid);
    EXPECT_TRUE(valid->config().several_engines);
    AgentTopology other = mi210();
    other.gfx = "gfx1100";
    params.se_mask = 1;
    EXPECT_EQ(ValidatedParams::create(params, other).error().code, ErrorCode::kUnsupported);
    params.as_ready = params.end_on_full = 1;
    params.stream_rate = 7;
    valid = ValidatedParams::create(params, mi210());
    ASSERT_TRUE(valid);
    EXPECT_TRUE(valid->stream().as_ready);
    EXPECT_TRUE(valid->stream().end_on_full);
    EXPECT_EQ(valid->stream().rate, 7u);
}

TEST(ParamsTest, WithoutAWordOfTheClientTheChipSaysWhatFollowsOnAnOverflow) {
    TraceParams params;
    params.buffers = 3;
    for (const char* gfx : {"gfx90a", "gfx942", "gfx950"}) {
        AgentTopology agent = mi210();
        agent.gfx = gfx;
        params.end_on_full = TraceParams{}.end_on_full;
        EXPECT_TRUE(ValidatedParams::create(params, agent)->stream().end_on_full) << gfx;
        params.end_on_full = TraceParams::kFullRestarts;
        EXPECT_FALSE(ValidatedParams::create(params, agent)->stream().end_on_full) << gfx;
    }
    AgentTopology other = mi210();
    for (const auto& [gfx, ends] : {std::pair{"gfx1100", false}, std::pair{"gfx1201", true}}) {
        other.gfx = gfx;
        EXPECT_EQ(ends_on_full(other), ends) << gfx;
    }
}

TEST(ParamsTest, UnknownChipAndName) {
    AgentTopology agent = mi210();
    agent.gfx = "gfx803";
    EXPECT_EQ(ValidatedParams::create({}, agent).error().code, ErrorCode::kUnsupported);
    TraceParams params;
    EXPECT_EQ(set_param(params, "cu", 1).error().code, ErrorCode::kInvalidArgument);
}

TEST(ParamsTest, SimdAndTarget_ByGeneration) {
    const AgentTopology mi300{"gfx942", 8, 4, 10, 4};
    const AgentTopology navi31{"gfx1100", 1, 6, 16, 2};
    const AgentTopology navi48{"gfx1201", 1, 4, 16, 2};
    TraceParams params;
    EXPECT_EQ(ValidatedParams::create(params, mi300)->config().simd_mask, 0xfU);
    EXPECT_EQ(ValidatedParams::create(params, navi31)->config().simd_mask, 0x1U);
    params.simd_mask = 0x8;
    params.target_cu = 7;
    EXPECT_EQ(ValidatedParams::create(params, navi48)->config().simd_mask, 0x8U);
    params.simd_mask = 0x3;
    EXPECT_TRUE(ValidatedParams::create(params, mi300));
    const auto two = ValidatedParams::create(params, navi48);
    ASSERT_FALSE(two);
    EXPECT_EQ(two.error().code, ErrorCode::kInvalidArgument);
    params.simd_mask = 0x1;
    params.target_cu = 8; // 16 CUs are 8 WGPs
    const auto target = ValidatedParams::create(params, navi31);
    ASSERT_FALSE(target);
    EXPECT_NE(target.error().hint.find("8 work-group processors"), std::string::npos);
    EXPECT_TRUE(ValidatedParams::create(params, mi300));
    params.target_cu = 0;
    params.buffer_bytes = std::uint64_t{1} << 30;
    EXPECT_FALSE(ValidatedParams::create(params, navi31)); // 512 MiB an engine there
    params.se_mask = 0x3f;
    EXPECT_TRUE(ValidatedParams::create(params, navi31));
}

} // namespace
} // namespace wavetap::capture
