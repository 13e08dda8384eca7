// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "code/object_for_test.hpp"
#include "decode/decoder.hpp"
#include "pm4/thread_trace.hpp"
#include "softgpu/chip_for_test.hpp"
#include "softgpu/truth.hpp"
#include "sqtt/evidence.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

// For tests: a chip that is traced by the product's own streams, and the comparison of its bytes,
// decoded, with what really ran. The expectation comes from the truth log and the requested
// configuration only.

namespace wavetap::chip_bench {

using softgpu::ChipSpec;
using softgpu::Rig;
using softgpu::Truth;
using softgpu::TruthTraceEvent;
using softgpu::TruthWave;
namespace kernels = softgpu::kernels;

inline constexpr std::uint64_t kOutput = 0x7f4000000000;

/// One run of the trace: from its start packet to its stop packet.
struct Session {
    pm4::TraceConfig config;
    std::uint64_t control = 0, output = 0;
};

/// Windows in which an engine was armed, from the truth log.
struct Window {
    std::uint64_t arm = 0, disarm = ~std::uint64_t{0}, drop = ~std::uint64_t{0};
    std::uint64_t bytes = 0, dropped = 0;
};

inline std::vector<Window> windows_of(const Truth& truth, unsigned se) {
    std::vector<Window> windows;
    for (const TruthTraceEvent& event : truth.trace_events) {
        if (event.se != se) continue;
        if (event.kind == TruthTraceEvent::Kind::kArm) {
            windows.push_back({event.time});
        } else if (event.kind == TruthTraceEvent::Kind::kDisarm) {
            windows.back().disarm = event.time;
            windows.back().bytes = event.count;
        } else {
            windows.back().drop = event.time;
            windows.back().dropped = event.count;
        }
    }
    return windows;
}

/// An ELF file with the rig's code as its only segment.
inline code::CodeObject code_object(Rig& rig) {
    constexpr std::uint8_t kGfx90a = 0x3F;
    constexpr std::size_t kBehindHeaders = 120;
    const auto window = rig.space.find(Rig::kCode);
    return test::object_for_test(kGfx90a, std::span(window.host, window.size), kBehindHeaders,
                                 kBehindHeaders);
}

/// A rig with a queue for traces.
class Bench {
  public:
    explicit Bench(const ChipSpec& spec, const std::string& name)
        : path_((std::filesystem::path(testing::TempDir()) / name).string()) {
        auto writer = softgpu::TruthWriter::create(path_);
        EXPECT_TRUE(writer);
        writer_ = *std::move(writer);
        rig = std::make_unique<Rig>(spec, writer_.get());
        trace_queue = rig->add_queue(99);
        topology_.gfx = "gfx90a";
        topology_.engines_per_xcc = spec.shader_engines;
        topology_.cus_per_engine = spec.cus_per_engine;
    }

    Session start(const pm4::TraceConfig& config) {
        Session run{config, 0, output_};
        run.control = rig->allocate(pm4::control_bytes(topology_, config.dialect), 256);
        rig->space.map(run.output, config.buffer_bytes);
        output_ += config.buffer_bytes;
        auto words = pm4::build_start(topology_, config, memory_of(run));
        EXPECT_TRUE(words) << to_string(words.error());
        const std::uint64_t done = rig->add_signal();
        rig->commands(trace_queue, *words, done, true);
        EXPECT_TRUE(rig->run_until(done));
        return run;
    }
    void stop(const Session& run) {
        auto words = pm4::build_stop(topology_, run.config, memory_of(run));
        EXPECT_TRUE(words);
        const std::uint64_t done = rig->add_signal();
        rig->commands(trace_queue, *words, done, true);
        EXPECT_TRUE(rig->run_until(done));
    }
    /// Decoded bytes of one engine, as the control block says where they are.
    decode::BlobRecords decode(const Session& run, unsigned se,
                               pm4::EngineResult* result = nullptr) {
        const auto layout = pm4::control_layout(run.config.dialect);
        const std::uint64_t entry = run.control + std::uint64_t{se} * layout.entry_bytes;
        const auto capacity = pm4::capacity_per_engine(topology_, run.config);
        const auto offset = pm4::engine_offset(topology_, run.config, se);
        EXPECT_TRUE(capacity && offset);
        const auto status = rig->read<std::uint32_t>(entry + layout.status);
        const auto wptr = rig->read<std::uint32_t>(entry + layout.wptr);
        const pm4::EngineResult read =
            pm4::interpret_control(topology_, run.config, status, wptr, *capacity);
        EXPECT_FALSE(read.write_error);
        if (result != nullptr) *result = read;
        const std::uint64_t header = pm4::gfx9_header(topology_, run.config, se);
        std::vector<std::byte> blob(8 + read.bytes);
        std::memcpy(blob.data(), &header, 8);
        const auto window = rig->space.find(run.output + *offset);
        EXPECT_LE(run.output + *offset + read.bytes, window.va + window.size);
        std::memcpy(blob.data() + 8, window.host + (run.output + *offset - window.va), read.bytes);
        blobs.push_back(blob);
        const code::CodeObject object = code_object(*rig);
        decode::Options options;
        options.gfx = "gfx90a";
        options.objects = {{&object, Rig::kCode, 7}};
        auto records = decode::decode_blob(blob, options);
        EXPECT_TRUE(records) << to_string(records.error());
        if (!records) return {};
        expect_modelled(*records);
        return *std::move(records);
    }
    /// docs/formats/evidence.md names the tokens that the model writes: these and no others.
    static void expect_modelled(const decode::BlobRecords& records) {
        constexpr auto kGen = sqtt::Generation::kGfx9;
        for (const sqtt::TokenRow& row : sqtt::token_rows(kGen)) {
            const auto count = records.token_counts.find(row.name);
            if (count == records.token_counts.end() || count->second == 0) continue;
            EXPECT_TRUE(sqtt::model_writes(kGen, row.type)) << row.name;
        }
    }
    /// Ends the chip and reads its log.
    Truth truth() {
        rig->chip.reset();
        writer_.reset();
        auto truth = softgpu::read_truth(path_);
        EXPECT_TRUE(truth);
        return *std::move(truth);
    }

  private:
    std::unique_ptr<softgpu::TruthWriter> writer_; // outlives the rig

  public:
    std::unique_ptr<Rig> rig;
    Rig::Queue trace_queue;
    std::vector<std::vector<std::byte>> blobs;

  private:
    pm4::TraceMemory memory_of(const Session& run) const {
        pm4::TraceMemory memory;
        memory.control_va = run.control;
        memory.output_va = run.output;
        return memory;
    }
    std::string path_;
    pm4::TraceTopology topology_;
    std::uint64_t output_ = kOutput;
};

struct Event {
    std::uint64_t pc = 0, time = 0;
    friend bool operator==(const Event&, const Event&) = default;
};
inline std::ostream& operator<<(std::ostream& out, const Event& event) {
    return out << std::hex << "{" << event.pc << std::dec << " @" << event.time << "}";
}

using WaveKey = std::tuple<unsigned, unsigned, unsigned>; // CU, SIMD, slot
struct WaveEvent {
    std::uint64_t time = 0;
    bool is_end = false;
    WaveKey key;
    std::uint64_t entry = 0; ///< of starts
    friend auto operator<=>(const WaveEvent&, const WaveEvent&) = default;
};
inline std::ostream& operator<<(std::ostream& out, const WaveEvent& e) {
    return out << (e.is_end ? "end " : "start ") << std::get<0>(e.key) << "." << std::get<1>(e.key)
               << "." << std::get<2>(e.key) << " @" << e.time << std::hex << " " << e.entry
               << std::dec;
}

struct Comparison {
    std::size_t wave_events = 0, instructions = 0, pcs = 0, open_at_start = 0, open_at_end = 0;
};

inline bool inside(const Window& window, std::uint64_t time) {
    return time >= window.arm && time < window.disarm && time < window.drop;
}

/// Starts and ends of all waves of the engine.
inline void compare_occupancy(const Truth& truth, const Window& window, unsigned se,
                              const decode::BlobRecords& records, Comparison& counts) {
    std::map<std::uint64_t, std::uint64_t> registers_at; // dispatch -> time of its registers
    for (const auto& dispatch : truth.dispatches)
        registers_at[dispatch.id] = dispatch.time;
    std::vector<WaveEvent> expected, got;
    for (const TruthWave& wave : truth.waves) {
        if (wave.se != se) continue;
        const WaveKey key{wave.cu, wave.simd, wave.slot};
        const bool known = registers_at[wave.dispatch] >= window.arm;
        if (inside(window, wave.start))
            expected.push_back({wave.start, false, key, known ? wave.entry_pc : 0});
        if (wave.end != 0 && inside(window, wave.end)) expected.push_back({wave.end, true, key, 0});
        if (wave.start < window.arm && (wave.end == 0 || wave.end >= window.arm))
            ++counts.open_at_start;
        if (wave.start < window.disarm && (wave.end == 0 || wave.end >= window.disarm))
            ++counts.open_at_end;
    }
    ASSERT_TRUE(records.clock_base.has_value());
    for (const decode::WaveRecord& wave : records.waves) {
        const WaveKey key{wave.cu, wave.simd, wave.slot};
        if (wave.start_seen)
            got.push_back({wave.start + *records.clock_base, false, key, wave.entry.absolute});
        if (wave.complete && wave.end != 0)
            got.push_back({wave.end + *records.clock_base, true, key, 0});
    }
    std::sort(expected.begin(), expected.end());
    std::sort(got.begin(), got.end());
    EXPECT_EQ(expected, got) << "waves of engine " << se;
    counts.wave_events += expected.size();
}

inline std::vector<Event> events_of(const decode::WaveRecord& wave, std::uint64_t base) {
    std::vector<Event> events;
    for (const auto& i : wave.instructions) {
        const std::uint64_t issue = i.time + i.stall + base;
        events.push_back(
            {i.pc.absolute, i.category == decode::Category::kImmed ? issue - 4 : issue});
    }
    return events;
}

/// A wave that ran before the trace began shows from its first INST token on: what was issued until
/// then has no owner in the stream.
inline void check_tail(const std::vector<Event>& expected, const std::vector<Event>& got,
                       const WaveKey& key) {
    ASSERT_LE(got.size(), expected.size());
    const std::size_t missing = expected.size() - got.size();
    EXPECT_LE(missing, 5U);
    const std::vector<Event> tail(expected.begin() + static_cast<std::ptrdiff_t>(missing),
                                  expected.end());
    EXPECT_EQ(tail, got) << "open wave " << std::get<0>(key) << "." << std::get<1>(key) << "."
                         << std::get<2>(key);
}

/// Instructions of the waves on the target.
inline void compare_instructions(const Truth& truth, const Window& window, unsigned se,
                                 const pm4::TraceConfig& config, const decode::BlobRecords& records,
                                 Comparison& counts) {
    std::map<std::uint64_t, std::uint64_t> registers_at;
    for (const auto& dispatch : truth.dispatches)
        registers_at[dispatch.id] = dispatch.time;
    std::map<std::pair<WaveKey, std::uint64_t>, const decode::WaveRecord*> decoded;
    std::size_t left = 0; // decoded instructions that no wave of the log has claimed yet
    for (const decode::WaveRecord& wave : records.waves) {
        const bool target = wave.cu == config.target_cu && (config.simd_mask >> wave.simd & 1) != 0;
        EXPECT_TRUE(target || wave.instructions.empty())
            << "instructions off target: CU " << int{wave.cu} << " SIMD " << int{wave.simd};
        const std::uint64_t start = wave.start_seen ? wave.start + *records.clock_base : 0;
        decoded[{WaveKey{wave.cu, wave.simd, wave.slot}, start}] = &wave;
        left += wave.instructions.size();
    }
    for (const TruthWave& wave : truth.waves) {
        if (wave.se != se || wave.cu != config.target_cu ||
            (config.simd_mask >> wave.simd & 1) == 0 || wave.start >= window.disarm ||
            wave.start >= window.drop || (wave.end != 0 && wave.end < window.arm))
            continue;
        const bool started = inside(window, wave.start);
        const bool known = started && registers_at[wave.dispatch] >= window.arm;
        std::vector<Event> expected;
        for (const auto& i : wave.instructions)
            if (inside(window, i.time)) expected.push_back({i.pc, i.time});
        const WaveKey key{wave.cu, wave.simd, wave.slot};
        const auto at = decoded.find({key, started ? wave.start : 0});
        if (at == decoded.end()) {
            EXPECT_LE(expected.size(), started ? 0U : 5U);
            continue;
        }
        std::vector<Event> got = events_of(*at->second, *records.clock_base);
        left -= got.size();
        // What an instruction was comes later than its issue: a full buffer may cut that off.
        // At the clock of the first drop some tokens may have found room.
        if (window.drop != ~std::uint64_t{0}) {
            while (!got.empty() && got.back().time >= window.drop)
                got.pop_back();
            while (expected.size() > got.size() && expected.back().time + 24 >= window.drop)
                expected.pop_back();
        }
        // Without the dispatch's registers the stream tells a pc only after s_setpc and the like.
        if (!known) {
            const std::size_t missing = expected.size() - std::min(got.size(), expected.size());
            for (std::size_t i = missing; i < expected.size(); ++i)
                if (got[i - missing].pc == 0) expected[i].pc = 0;
        }
        if (started) {
            EXPECT_EQ(expected, got)
                << "CU " << wave.cu << " SIMD " << wave.simd << " slot " << wave.slot;
        } else {
            check_tail(expected, got, key);
        }
        counts.pcs += static_cast<std::size_t>(std::count_if(
            got.begin(), got.end(), [](const Event& event) { return event.pc != 0; }));
        counts.instructions += got.size();
    }
    EXPECT_EQ(left, 0U) << "instructions of waves that never ran";
}

inline Comparison compare(const Truth& truth, const Window& window, unsigned se,
                          const pm4::TraceConfig& config, const decode::BlobRecords& records) {
    Comparison counts;
    compare_occupancy(truth, window, se, records, counts);
    if (config.detail) compare_instructions(truth, window, se, config, records, counts);
    EXPECT_LE(records.tokens_without_wave, counts.open_at_start * 10);
    for (const auto& diagnostic : records.diagnostics) {
        EXPECT_TRUE(window.drop != ~std::uint64_t{0} || std::string(diagnostic.severity) != "error")
            << diagnostic.kind;
    }
    return counts;
}

inline pm4::TraceConfig config_of(std::uint64_t se_mask, unsigned cu, unsigned simd_mask = 0xF,
                                  std::uint64_t bytes = 1 << 20) {
    pm4::TraceConfig config;
    config.se_mask = se_mask;
    config.target_cu = cu;
    config.simd_mask = simd_mask;
    config.buffer_bytes = bytes;
    return config;
}

/// The work kernel over `items` work-items.
inline softgpu::Launch work(Rig& rig, std::uint32_t items) {
    const std::uint64_t out = rig.allocate(items * 4 + 64);
    const std::uint64_t arguments = rig.allocate(16);
    rig.write(arguments, out);
    rig.write(arguments + 8, items - 10); // the last ones are masked
    softgpu::Launch launch;
    launch.kernel = rig.add_kernel(kernels::kWork);
    launch.grid = {items, 1, 1};
    launch.group = {256, 1, 1};
    launch.arguments = arguments;
    launch.signal = rig.add_signal();
    launch.lds_bytes = 1024;
    return launch;
}

} // namespace wavetap::chip_bench
