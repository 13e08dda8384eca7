// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/units.hpp"
#include "pm4/packets.hpp"
#include "pm4/thread_trace.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

namespace wavetap::pm4 {
namespace {

const TraceTopology kGfx90a{"gfx90a", 1, 8, 14};
const TraceTopology kGfx942{"gfx942", 8, 4, 10};
const TraceMemory kMemory{0x7e1000000000, 0x7e0000010000, {}};

TraceConfig config_of(std::uint64_t se_mask, std::uint64_t bytes,
                      Dialect dialect = Dialect::kWavetap) {
    TraceConfig config;
    config.se_mask = se_mask;
    config.buffer_bytes = bytes;
    config.dialect = dialect;
    return config;
}

// ---- capacity ----

struct Capacity {
    Dialect dialect;
    std::uint64_t se_mask;
    std::uint64_t bytes;
    std::uint64_t capacity; ///< 0 = refused
    const char* words;
};

class CapacityTest : public testing::TestWithParam<Capacity> {};

TEST_P(CapacityTest, AsSpecified) {
    const Capacity& row = GetParam();
    const auto capacity =
        capacity_per_engine(kGfx90a, config_of(row.se_mask, row.bytes, row.dialect));
    if (row.capacity != 0) {
        ASSERT_TRUE(capacity) << to_string(capacity.error());
        EXPECT_EQ(*capacity, row.capacity);
        return;
    }
    ASSERT_FALSE(capacity);
    EXPECT_EQ(capacity.error().code, ErrorCode::kInvalidArgument);
    const std::string text = capacity.error().message + " | " + capacity.error().hint;
    EXPECT_NE(text.find(row.words), std::string::npos) << text;
    EXPECT_EQ(capacity.error().message.find('\n'), std::string::npos);
}

constexpr std::uint64_t kUnselected = 63 * 4096; // what aqlprofile of 2025 takes off for 1 of 64

INSTANTIATE_TEST_SUITE_P(
    Table, CapacityTest,
    testing::Values(
        Capacity{Dialect::kAug25, 1, 96 * kMiB, 0x5FC1ULL * 4096, ""},
        Capacity{Dialect::kWavetap, 1, 96 * kMiB, 96 * kMiB, ""},
        Capacity{Dialect::kWavetap, 0x3, 64 * kMiB, 32 * kMiB, ""},
        Capacity{Dialect::kWavetap, 0x7, 64 * kMiB, 64 * kMiB / 3 / 4096 * 4096, ""},
        Capacity{Dialect::kWavetap, 1, 128 * kKiB, 128 * kKiB, ""},
        Capacity{Dialect::kWavetap, 1, 128 * kKiB + 4095, 128 * kKiB, ""},
        Capacity{Dialect::kWavetap, 1, 128 * kKiB - 1, 0, "smallest buffer that works is 128 KiB"},
        Capacity{Dialect::kWavetap, 0xFF, 1 * kMiB, 128 * kKiB, ""},
        Capacity{Dialect::kWavetap, 0xFF, 1 * kMiB - 1, 0, "smallest buffer that works is 1 MiB"},
        Capacity{Dialect::kWavetap, 1, 0, 0, "too small"},
        Capacity{Dialect::kWavetap, 1, 16 * kGiB - 4096, 16 * kGiB - 4096, ""},
        Capacity{Dialect::kWavetap, 1, 16 * kGiB - 1, 16 * kGiB - 4096, ""},
        Capacity{Dialect::kWavetap, 1, 16 * kGiB, 0, "largest buffer that works is 16777212 KiB"},
        Capacity{Dialect::kWavetap, 0x3, 32 * kGiB - 8192, 16 * kGiB - 4096, ""},
        Capacity{Dialect::kWavetap, 0x3, 32 * kGiB, 0, "largest buffer that works"},
        Capacity{Dialect::kAug25, 1, 128 * kKiB + kUnselected, 128 * kKiB, ""},
        Capacity{Dialect::kAug25, 1, 128 * kKiB + kUnselected - 1, 0,
                 "smallest buffer that works is 380 KiB"},
        Capacity{Dialect::kJun25, 1, 16 * kGiB + kUnselected - 1, 16 * kGiB - 4096, ""},
        Capacity{Dialect::kJun25, 1, 16 * kGiB + kUnselected, 0, "largest buffer that works"},
        Capacity{Dialect::kAug25, 1, 1, 0, "too small"}));

TEST(CapacityTest, HintsOfTheErrors_Work) {
    for (const Dialect dialect : {Dialect::kWavetap, Dialect::kAug25}) {
        for (const std::uint64_t mask : {0x1ULL, 0x6ULL, 0xFFULL}) {
            for (const std::uint64_t bytes : {std::uint64_t{1}, 1024 * kGiB}) {
                const auto refused = capacity_per_engine(kGfx90a, config_of(mask, bytes, dialect));
                ASSERT_FALSE(refused);
                std::string size =
                    refused.error().hint.substr(refused.error().hint.find("is ") + 3);
                size.erase(size.find(' '), 1);
                const auto named = parse_size(size);
                ASSERT_TRUE(named) << size;
                EXPECT_TRUE(capacity_per_engine(kGfx90a, config_of(mask, *named, dialect)));
                const std::uint64_t beyond = bytes == 1 ? *named - 1 : *named + 4096ULL * 8;
                EXPECT_FALSE(capacity_per_engine(kGfx90a, config_of(mask, beyond, dialect)));
            }
        }
    }
}

TEST(EngineOffsetTest, OwnAndRecordedPlaces) {
    const auto offset = [](Dialect dialect, std::uint32_t se) {
        return engine_offset(kGfx942, config_of(0x11110000, 256 * kMiB, dialect), se);
    };
    EXPECT_EQ(*offset(Dialect::kWavetap, 16), 0U);
    EXPECT_EQ(*offset(Dialect::kWavetap, 20), 64 * kMiB);
    EXPECT_EQ(*offset(Dialect::kWavetap, 28), 192 * kMiB);
    EXPECT_EQ(*offset(Dialect::kAug25, 16), 16U * 4096);
    EXPECT_EQ(*offset(Dialect::kAug25, 20), 0x4004ULL * 4096); // case gfx942/aug25_multi_se
    EXPECT_EQ(*offset(Dialect::kAug25, 28), 0xBFECULL * 4096);
    EXPECT_FALSE(offset(Dialect::kWavetap, 17));
    EXPECT_FALSE(offset(Dialect::kWavetap, 32));
    EXPECT_FALSE(offset(Dialect::kWavetap, 64));
}

// ---- refusals ----

struct Refusal {
    const char* name;
    std::function<void(TraceTopology&, TraceConfig&, TraceMemory&)> spoil;
    ErrorCode code; ///< of both builders
    const char* words;
};

class RefusalTest : public testing::TestWithParam<Refusal> {};

TEST_P(RefusalTest, StartAndStop_WordedError) {
    TraceTopology topology = kGfx90a;
    TraceConfig config = config_of(1, 64 * kMiB);
    TraceMemory memory = kMemory;
    ASSERT_TRUE(build_start(topology, config, memory));
    GetParam().spoil(topology, config, memory);
    for (const auto& built :
         {build_start(topology, config, memory), build_stop(topology, config, memory)}) {
        ASSERT_FALSE(built);
        EXPECT_EQ(built.error().code, GetParam().code);
        EXPECT_NE(built.error().message.find(GetParam().words), std::string::npos)
            << built.error().message;
        EXPECT_FALSE(built.error().where.empty());
    }
}

#define SPOIL(...)                                                                                 \
    [](TraceTopology& topology [[maybe_unused]], TraceConfig& config [[maybe_unused]],             \
       TraceMemory& memory [[maybe_unused]]) { __VA_ARGS__; }

const std::vector<Refusal>& refusals() {
    static const std::vector<Refusal> rows = {
        {"gfx1151", SPOIL(topology.gfx = "gfx1151"), ErrorCode::kUnsupported, "gfx1151"},
        {"gfx908", SPOIL(topology.gfx = "gfx908"), ErrorCode::kUnsupported, "gfx908"},
        {"no_chip", SPOIL(topology.gfx = ""), ErrorCode::kUnsupported, "no command streams"},
        {"no_xcc", SPOIL(topology.xccs = 0), ErrorCode::kInvalidArgument, "0 XCCs"},
        {"nine_xccs", SPOIL(topology.xccs = 9), ErrorCode::kInvalidArgument, "9 XCCs"},
        {"no_engine", SPOIL(topology.engines_per_xcc = 0), ErrorCode::kInvalidArgument, "1 x 0"},
        {"too_many_engines", SPOIL(topology.xccs = 8; topology.engines_per_xcc = 9),
         ErrorCode::kInvalidArgument, "8 x 9"},
        {"too_many_cus", SPOIL(topology.cus_per_engine = 17), ErrorCode::kInvalidArgument,
         "17 CUs"},
        {"no_se", SPOIL(config.se_mask = 0), ErrorCode::kInvalidArgument, "no shader engine"},
        {"se_8_of_8", SPOIL(config.se_mask = 0x101), ErrorCode::kInvalidArgument, "0x101"},
        {"target_16", SPOIL(config.target_cu = 16), ErrorCode::kInvalidArgument, "target CU 16"},
        {"no_simd", SPOIL(config.simd_mask = 0), ErrorCode::kInvalidArgument, "SIMD mask 0x0"},
        {"simd_4", SPOIL(config.simd_mask = 0x10), ErrorCode::kInvalidArgument, "SIMD mask 0x10"},
        {"buffer_small", SPOIL(config.buffer_bytes = 128 * kKiB - 1), ErrorCode::kInvalidArgument,
         "too small"},
        {"buffer_large", SPOIL(config.buffer_bytes = 16 * kGiB), ErrorCode::kInvalidArgument,
         "too large"},
        {"clock", SPOIL(config.clock_khz = 0x100000), ErrorCode::kInvalidArgument, "1048576 kHz"},
        {"counters_9", SPOIL(for (int i = 0; i < 9; ++i) config.counters.push_back({4, 1})),
         ErrorCode::kInvalidArgument, "9 counters"},
        {"counter_512", SPOIL(config.counters.push_back({512, 1})), ErrorCode::kInvalidArgument,
         "512"},
        {"counter_no_simd", SPOIL(config.counters.push_back({4, 0})), ErrorCode::kInvalidArgument,
         "SIMD mask 0x0"},
        {"counter_simd_4", SPOIL(config.counters.push_back({4, 0x10})), ErrorCode::kInvalidArgument,
         "SIMD mask 0x10"},
        {"counter_rate", SPOIL(config.counter_rate = 32), ErrorCode::kInvalidArgument, "rate 32"},
        {"no_buffer", SPOIL(config.buffers = 0), ErrorCode::kInvalidArgument, "0 buffers"},
        {"buffers_17", SPOIL(config.buffers = 17), ErrorCode::kInvalidArgument, "17 buffers"},
        {"ring_two_engines", SPOIL(config.buffers = 2; config.se_mask = 3),
         ErrorCode::kInvalidArgument, "cannot serve 2 shader engines"},
        {"ring_of_2025", SPOIL(config.buffers = 2; config.dialect = Dialect::kAug25),
         ErrorCode::kInvalidArgument, "no ring"},
        {"ring_without_memory", SPOIL(config.buffers = 2), ErrorCode::kInvalidArgument,
         "1 output buffers were given for a ring of 2"},
        {"output_null", SPOIL(memory.output_va = 0), ErrorCode::kInvalidArgument, "0x0"},
        {"output_2048", SPOIL(memory.output_va += 2048), ErrorCode::kInvalidArgument, "4 KiB"},
        {"output_high", SPOIL(memory.output_va = (1ULL << 48) - 4096), ErrorCode::kInvalidArgument,
         "2^48"},
        {"output_over", SPOIL(memory.output_va = 1ULL << 48), ErrorCode::kInvalidArgument, "2^48"},
        {"control_null", SPOIL(memory.control_va = 0), ErrorCode::kInvalidArgument, "0x0"},
        {"control_128", SPOIL(memory.control_va += 128), ErrorCode::kInvalidArgument, "256 bytes"},
        {"control_high", SPOIL(memory.control_va = (1ULL << 48) - 256), ErrorCode::kInvalidArgument,
         "2^48"},
    };
    return rows;
}

INSTANTIATE_TEST_SUITE_P(Table, RefusalTest, testing::ValuesIn(refusals()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(RefusalTest, LargestValues_Accepted) {
    TraceConfig config = config_of(0x80, 64 * kMiB);
    config.target_cu = 15;
    config.simd_mask = 1;
    config.clock_khz = 0xFFFFF;
    for (int i = 0; i < 8; ++i)
        config.counters.push_back({511, 0xF});
    config.counter_rate = 31;
    EXPECT_TRUE(build_start(kGfx90a, config, kMemory));
    const TraceMemory high{(1ULL << 48) - 64 * kMiB, (1ULL << 48) - 512, {}};
    EXPECT_TRUE(build_start(kGfx90a, config, high));
    TraceConfig all = config_of(~0ULL, 64 * kMiB);
    EXPECT_TRUE(build_start({"gfx942", 8, 8, 10}, all, kMemory));
    EXPECT_TRUE(build_start({"gfx942", 1, 64, 10}, all, kMemory));
}

// ---- what our own streams do, engine by engine ----

/// Registers by (XCC, engine), as far as SET_UCONFIG_REG, PRED_EXEC and COPY_DATA set them.
struct Effects {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::map<std::uint32_t, std::uint32_t>> regs;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> userdata2;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> modes;
    std::vector<std::vector<std::uint32_t>> waits;      ///< bodies
    std::map<std::uint64_t, std::uint32_t> register_at; ///< memory address -> register stored
    std::set<std::uint64_t> clock_at;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> flushed; ///< first, last byte + 1
    std::vector<std::uint32_t> grbm;                              ///< as written by XCC 0
    std::map<std::uint32_t, std::uint32_t> last_grbm;
    std::map<std::uint32_t, std::uint32_t> idle_waits;
};

void apply(const Packet& packet, std::uint32_t xcc, std::uint32_t engines, std::uint32_t& grbm,
           Effects& effects) {
    const auto body = packet.body;
    const auto write = [&](std::uint32_t reg, std::uint32_t value) {
        for (std::uint32_t se = 0; se < engines; ++se) {
            if (grbm != gfx9::kGrbmBroadcast && grbm != gfx9::grbm_select(se)) continue;
            effects.regs[{xcc, se}][reg] = value;
            if (reg == gfx9::kSqThreadTraceUserdata2) effects.userdata2[{xcc, se}].push_back(value);
            if (reg == gfx9::kSqThreadTraceMode) effects.modes[{xcc, se}].push_back(value);
        }
    };
    switch (packet.opcode) {
    case Opcode::kSetUconfigReg:
        if (body[0] + kUconfigBase == gfx9::kGrbmGfxIndex) {
            grbm = body[1];
            effects.last_grbm[xcc] = grbm;
            if (xcc == 0) effects.grbm.push_back(grbm);
        } else {
            write(body[0] + kUconfigBase, body[1]);
        }
        break;
    case Opcode::kCopyData: {
        const std::uint64_t to = body[3] | std::uint64_t{body[4]} << 32;
        if (body[0] == 0x00000005) write(body[3], body[1]);
        if (body[0] == 0x02102500) effects.register_at[to] = body[1];
        if (body[0] == 0x02112509) effects.clock_at.insert(to);
        break;
    }
    case Opcode::kWaitRegMem:
        effects.waits.emplace_back(body.begin(), body.end());
        break;
    case Opcode::kEventWrite:
        ++effects.idle_waits[xcc];
        break;
    case Opcode::kAcquireMem: {
        const std::uint64_t base = (body[3] | std::uint64_t{body[4]} << 32) << 8;
        const std::uint64_t size = (body[1] | std::uint64_t{body[2]} << 32) << 8;
        effects.flushed.emplace_back(base, base + size);
        break;
    }
    default:
        break;
    }
}

Effects run(const TraceTopology& topology, const std::vector<std::uint32_t>& stream) {
    Effects effects;
    for (std::uint32_t xcc = 0; xcc < topology.xccs; ++xcc) {
        std::uint32_t grbm = 0x40050000; // another client's leftover
        Parser parser(stream);
        for (;;) {
            const auto packet = parser.next();
            EXPECT_TRUE(packet) << to_string(packet.error());
            if (!packet || !*packet) break;
            if ((*packet)->opcode == Opcode::kPredExec) {
                const std::uint32_t word = (*packet)->body[0];
                if ((word >> 24 >> xcc & 1) == 0) {
                    EXPECT_TRUE(parser.skip(word & 0x3FFF));
                }
                continue;
            }
            apply(**packet, xcc, topology.engines_per_xcc, grbm, effects);
        }
    }
    return effects;
}

bool covers(const Effects& effects, std::uint64_t first, std::uint64_t end) {
    for (const auto& [begin, stop] : effects.flushed)
        if (begin <= first && end <= stop) return true;
    return false;
}

struct OwnStream {
    const char* name;
    TraceTopology topology;
    std::uint64_t se_mask;
};

class OwnStreamTest : public testing::TestWithParam<OwnStream> {};

TEST_P(OwnStreamTest, Start_ArmsExactlyTheSelectedEngines) {
    const TraceTopology& topology = GetParam().topology;
    TraceConfig config = config_of(GetParam().se_mask, 64 * kMiB);
    config.target_cu = 3;
    config.simd_mask = 0x5;
    const auto stream = build_start(topology, config, kMemory);
    ASSERT_TRUE(stream);
    const Effects effects = run(topology, *stream);
    const std::uint64_t capacity = *capacity_per_engine(topology, config);
    for (std::uint32_t se = 0; se < topology.xccs * topology.engines_per_xcc; ++se) {
        SCOPED_TRACE(se);
        const std::pair key{se / topology.engines_per_xcc, se % topology.engines_per_xcc};
        const auto& regs = effects.regs.at(key);
        EXPECT_EQ(regs.at(gfx9::kSqThreadTraceMask), 0xC583U);
        const std::vector<std::uint32_t> preamble = {0x434F5200, 0x00080201, 0x186A0006};
        EXPECT_EQ(effects.userdata2.at(key), preamble);
        if ((config.se_mask >> se & 1) == 0) {
            EXPECT_EQ(effects.modes.at(key), std::vector<std::uint32_t>{0x02040000});
            EXPECT_EQ(regs.count(gfx9::kSqThreadTraceSize), 0U);
            continue;
        }
        EXPECT_EQ(effects.modes.at(key), (std::vector<std::uint32_t>{0x02040000, 0x02240000}));
        const std::uint64_t base = std::uint64_t{regs.at(gfx9::kSqThreadTraceBase)} << 12 |
                                   std::uint64_t{regs.at(gfx9::kSqThreadTraceBase2)} << 44;
        EXPECT_EQ(base, kMemory.output_va + *engine_offset(topology, config, se));
        EXPECT_EQ(regs.at(gfx9::kSqThreadTraceSize), capacity / 4096);
        EXPECT_EQ(regs.at(gfx9::kSqThreadTraceStatus), 0U);
        EXPECT_TRUE(effects.clock_at.count(kMemory.control_va +
                                           clock_entry_offset(topology, config.dialect, key.first) +
                                           control_layout(config.dialect).start_clock));
    }
    EXPECT_EQ(effects.grbm.front(), gfx9::kGrbmBroadcast);
    for (const auto& [xcc, grbm] : effects.last_grbm)
        EXPECT_EQ(grbm, gfx9::kGrbmBroadcast) << xcc;
    EXPECT_EQ(effects.last_grbm.size(), topology.xccs);
    EXPECT_TRUE(effects.idle_waits.empty());
    EXPECT_TRUE(effects.waits.empty());
}

TEST_P(OwnStreamTest, Stop_SavesEverySelectedEngineAndFlushes) {
    const TraceTopology& topology = GetParam().topology;
    const TraceConfig config = config_of(GetParam().se_mask, 64 * kMiB);
    const auto stream = build_stop(topology, config, kMemory);
    ASSERT_TRUE(stream);
    const Effects effects = run(topology, *stream);
    const ControlLayout layout = control_layout(config.dialect);
    std::size_t selected = 0;
    for (std::uint32_t se = 0; se < topology.xccs * topology.engines_per_xcc; ++se) {
        const std::pair key{se / topology.engines_per_xcc, se % topology.engines_per_xcc};
        EXPECT_EQ(effects.modes.at(key), std::vector<std::uint32_t>{0x02040000});
        if ((config.se_mask >> se & 1) == 0) continue;
        ++selected;
        const std::uint64_t entry = kMemory.control_va + engine_entry_offset(config.dialect, se);
        EXPECT_EQ(effects.register_at.at(entry + layout.status), 0xC33AU);
        EXPECT_EQ(effects.register_at.at(entry + layout.counter), 0xC33CU);
        EXPECT_EQ(effects.register_at.at(entry + layout.wptr), 0xC339U);
    }
    EXPECT_EQ(effects.register_at.size(), 3 * selected);
    ASSERT_EQ(effects.waits.size(), selected);
    for (const auto& wait : effects.waits)
        EXPECT_EQ(wait, (std::vector<std::uint32_t>{3, 0xC33A, 0, 0, 0x40000000, 4}));
    for (const auto& [xcc, grbm] : effects.last_grbm)
        EXPECT_EQ(grbm, gfx9::kGrbmBroadcast) << xcc;
    EXPECT_TRUE(covers(effects, kMemory.output_va, kMemory.output_va + config.buffer_bytes));
    EXPECT_TRUE(covers(effects, kMemory.control_va,
                       kMemory.control_va + control_bytes(topology, config.dialect)));
    EXPECT_TRUE(effects.idle_waits.empty());
}

INSTANTIATE_TEST_SUITE_P(Chips, OwnStreamTest,
                         testing::Values(OwnStream{"gfx90a_se0", kGfx90a, 0x1},
                                         OwnStream{"gfx90a_all", kGfx90a, 0xFF},
                                         OwnStream{"gfx942_first", kGfx942, 0x1},
                                         OwnStream{"gfx942_four_xccs", kGfx942, 0x11110000},
                                         OwnStream{"gfx942_one_xcc_two", kGfx942, 0x00000500},
                                         OwnStream{"gfx942_all", kGfx942, 0xFFFFFFFF}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(ControlBlockTest, FieldsOfDifferentEnginesAndXccs_NeverOverlap) {
    const ControlLayout layout = control_layout(Dialect::kWavetap);
    std::set<std::uint64_t> bytes;
    const auto claim = [&](std::uint64_t at, std::uint64_t size) {
        for (std::uint64_t i = 0; i < size; ++i)
            EXPECT_TRUE(bytes.insert(at + i).second) << at + i;
    };
    for (std::uint32_t se = 0; se < 32; ++se) {
        const std::uint64_t entry = engine_entry_offset(Dialect::kWavetap, se);
        for (const std::uint32_t field :
             {layout.status, layout.counter, layout.wptr, layout.query_status, layout.query_wptr})
            claim(entry + field, 4);
    }
    for (std::uint32_t xcc = 0; xcc < 8; ++xcc) {
        const std::uint64_t entry = clock_entry_offset(kGfx942, Dialect::kWavetap, xcc);
        for (const std::uint32_t field :
             {layout.start_clock, layout.end_clock, layout.swap_clock}) {
            EXPECT_EQ((entry + field) % 8, 0U);
            claim(entry + field, 8);
        }
    }
    EXPECT_LE(*bytes.rbegin(), control_bytes(kGfx942, Dialect::kWavetap));
}

// ---- rings ----

TEST(RingTest, Swaps_WalkTheBuffersAsTheHardwareDoes) {
    TraceConfig config = config_of(0x10, 64 * kMiB); // XCC 1, engine 0
    config.buffers = 3;
    const TraceMemory memory{0x10000000, 0x1000, {0x20000000, 0x30000000}};
    const auto start = build_start(kGfx942, config, memory);
    ASSERT_TRUE(start);
    const auto base_of = [](const Effects& effects) {
        return std::uint64_t{effects.regs.at({1, 0}).at(gfx9::kSqThreadTraceBase)} << 12;
    };
    const Effects started = run(kGfx942, *start);
    EXPECT_EQ(base_of(started), 0x20000000U); // the pending one; the first was latched by MODE
    EXPECT_EQ(started.modes.at({1, 0}).back(), 0x82240000U);
    const std::uint64_t pending[] = {0x30000000, 0x10000000, 0x20000000, 0x30000000};
    const std::uint64_t retired[] = {0x10000000, 0x20000000, 0x30000000, 0x10000000};
    for (std::uint64_t swap = 0; swap < 4; ++swap) {
        const auto stream = build_swap(kGfx942, config, memory, 4, swap);
        ASSERT_TRUE(stream);
        const Effects effects = run(kGfx942, *stream);
        EXPECT_EQ(base_of(effects), pending[swap]);
        EXPECT_EQ(effects.regs.size(), 1U) << "another engine was touched";
        EXPECT_TRUE(covers(effects, retired[swap], retired[swap] + config.buffer_bytes));
        EXPECT_EQ(active_output(memory, swap), retired[swap]);
        EXPECT_TRUE(effects.waits.empty());
        for (const auto& [xcc, grbm] : effects.last_grbm)
            EXPECT_EQ(grbm, gfx9::kGrbmBroadcast) << xcc;
    }
    const auto stop = build_stop(kGfx942, config, memory);
    ASSERT_TRUE(stop);
    for (const std::uint64_t va : {0x10000000, 0x20000000, 0x30000000})
        EXPECT_TRUE(covers(run(kGfx942, *stop), va, va + config.buffer_bytes));
}

TEST(RingTest, Query_StoresStatusAndWptrBesideThoseOfStop) {
    TraceConfig config = config_of(0x2, 64 * kMiB);
    config.buffers = 2;
    const TraceMemory memory{0x10000000, 0x1000, {0x20000000}};
    const auto stream = build_query(kGfx90a, config, memory);
    ASSERT_TRUE(stream);
    const Effects effects = run(kGfx90a, *stream);
    EXPECT_EQ(effects.register_at.at(0x1000 + 64 + 32), 0xC33AU);
    EXPECT_EQ(effects.register_at.at(0x1000 + 64 + 36), 0xC339U);
    EXPECT_TRUE(effects.regs.empty());
    EXPECT_EQ(interpret_query(kGfx90a, 0x80000000, 0xC0000000).read_offset_bytes, 6U);
    EXPECT_TRUE(interpret_query(kGfx90a, 0x80000000, 0).needs_swap);
    EXPECT_FALSE(interpret_query(kGfx90a, 0x7FFFFFFF, 0x40000000).needs_swap);
}

TEST(RingTest, WithoutRing_QueryAndSwapRefused) {
    for (const Dialect dialect : {Dialect::kAug25, Dialect::kRead26}) {
        TraceConfig recorded = config_of(1, 64 * kMiB);
        recorded.dialect = dialect;
        EXPECT_FALSE(build_query(kGfx90a, recorded, kMemory));
    }
    // Ours tells, too, whether a start has armed the unit.
    const auto query = build_query(kGfx90a, config_of(0x5, 64 * kMiB), kMemory);
    ASSERT_TRUE(query);
    const Effects asked = run(kGfx90a, *query);
    const ControlLayout layout = control_layout(Dialect::kWavetap);
    for (const std::uint32_t se : {0U, 2U}) {
        const std::uint64_t entry = kMemory.control_va + engine_entry_offset(Dialect::kWavetap, se);
        EXPECT_EQ(asked.register_at.at(entry + layout.query_status), 0xC33AU);
        EXPECT_EQ(asked.register_at.at(entry + layout.query_wptr), 0xC339U);
    }
    EXPECT_FALSE(build_swap(kGfx90a, config_of(1, 64 * kMiB), kMemory, 0, 0));
}

TEST(RingTest, SeveralEngines_OnlyByName_EachWithItsPart) {
    TraceConfig config = config_of(0x5, 64 * kMiB);
    config.buffers = 3;
    const TraceMemory memory{0x10000000, 0x1000, {0x20000000, 0x30000000}};
    EXPECT_FALSE(build_start(kGfx90a, config, memory));
    config.several_engines = true;
    const auto start = build_start(kGfx90a, config, memory);
    ASSERT_TRUE(start);
    const auto base_of = [](const Effects& effects, std::uint32_t se) {
        return std::uint64_t{effects.regs.at({0, se}).at(gfx9::kSqThreadTraceBase)} << 12;
    };
    const Effects started = run(kGfx90a, *start);
    EXPECT_EQ(base_of(started, 0), 0x20000000U);
    EXPECT_EQ(base_of(started, 2), 0x20000000U + 32 * kMiB);
    const auto query = build_query(kGfx90a, config, memory);
    ASSERT_TRUE(query);
    const Effects asked = run(kGfx90a, *query);
    for (const std::uint32_t se : {0U, 2U}) {
        EXPECT_EQ(asked.register_at.at(0x1000 + se * 64 + 32), 0xC33AU);
        EXPECT_EQ(asked.register_at.at(0x1000 + se * 64 + 36), 0xC339U);
    }
    const auto swap = build_swap(kGfx90a, config, memory, 2, 0);
    ASSERT_TRUE(swap);
    const Effects swapped = run(kGfx90a, *swap);
    EXPECT_EQ(base_of(swapped, 2), 0x30000000U + 32 * kMiB);
    EXPECT_EQ(swapped.regs.size(), 1U) << "another engine was touched";
    EXPECT_TRUE(covers(swapped, 0x10000000 + 32 * kMiB, 0x10000000 + 64 * kMiB));
    EXPECT_EQ(swapped.register_at.at(0x1000 + 2 * 64 + 36), 0xC339U);
    EXPECT_FALSE(build_swap(kGfx90a, config, memory, 1, 0)) << "engine 1 is not selected";
}

// ---- header, markers, read-back ----

TEST(HeaderTest, OwnDialect_TrueMaskAndVersion) {
    TraceConfig config = config_of(0x12, 64 * kMiB);
    config.target_cu = 3;
    config.simd_mask = 0x5;
    EXPECT_EQ(gfx9_header(kGfx90a, config, 1), 0x4358011U);
    EXPECT_EQ(gfx9_header(kGfx942, config, 4), 0x1035A011U);
    EXPECT_EQ(gfx9_header({"gfx950", 8, 4, 8}, config, 4), 0x1035C011U);
    config.dialect = Dialect::kAug25;
    EXPECT_EQ(gfx9_header(kGfx942, config, 4), 0x103F8011U);
    config.dialect = Dialect::kWavetap;
    config.target_cu = 1;
    config.simd_mask = 0xF;
    config.buffers = 2;
    EXPECT_EQ(gfx9_header(kGfx942, config, 4), 0x1101FA011U);
}

TEST(MarkerTest, TailOf30And31BitIds) {
    const auto tail = [](std::uint64_t id) {
        const auto stream = build_marker(kGfx90a, {id, 0x1000, 0x2000, false, true});
        return std::pair{stream.size(), stream.back()};
    };
    EXPECT_EQ(tail((1ULL << 30) - 1), (std::pair<std::size_t, std::uint32_t>{45, 0xFFFFFFFE}));
    EXPECT_EQ(tail(1ULL << 30), (std::pair<std::size_t, std::uint32_t>{63, 2}));
    EXPECT_EQ(build_marker(kGfx90a, {1ULL << 40, 0, 0, true, false}).size(), 27U);
}

TEST(ReadBackTest, FullWriteErrorAndClamp) {
    const TraceConfig config = config_of(1, 128 * kKiB);
    const auto result = [&](std::uint32_t status, std::uint32_t wptr) {
        return interpret_control(kGfx90a, config, status, wptr, 128 * kKiB);
    };
    EXPECT_EQ(result(0, 0).bytes, 0U);
    EXPECT_FALSE(result(0, 4095).full);
    EXPECT_EQ(result(0, 4095).bytes, 128 * kKiB - 32);
    EXPECT_TRUE(result(0, 4096).full);
    EXPECT_EQ(result(0, 4097).bytes, 128 * kKiB);
    EXPECT_EQ(result(0, 0xC0000001).bytes, 32U);
    EXPECT_TRUE(result(0x80000000, 1).full);
    EXPECT_TRUE(result(0x10000000, 1).write_error);
    EXPECT_FALSE(result(0x6FFFFFFF, 1).write_error);
    EXPECT_FALSE(result(0x6FFFFFFF, 1).full);
}

} // namespace
} // namespace wavetap::pm4
