// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "cli/verify.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

// A process on one software gfx90a, made by hand: two contexts, what ran, and what was traced.

namespace wavetap::cli::testing {

inline constexpr std::uint64_t kCode = 0x7f0000001000; ///< of the only code object
inline constexpr std::uint64_t kCodeBytes = 0x1000;
inline constexpr std::uint64_t kRuntimeKernel = 0x7f0000900000; ///< in no code object

/// Truth and manifest. Two runs, one per context: run 0 on SE 0 CU 1 from clock 10000 to 20000,
/// run 1 on SE 0 CU 2 SIMD 0 and 1 from 30000 to 40000. Waves come from add_wave().
struct Scene {
    store::ProcessTrace process;
    softgpu::Truth truth;

    Scene() {
        process.pid = 42;
        process.complete = true;
        process.agents.push_back({0, "gfx90a", 8, 14, 4, "modelled"});
        process.contexts.push_back({0, 0, 0x1, 1, 0xf, 1 << 20, 1, true, "device"});
        process.contexts.push_back({1, 0, 0x1, 2, 0x3, 1 << 20, 1, true, "device"});
        process.code_objects.push_back(
            {1, 0, kCode, kCodeBytes, "file:///app", "code/1.elf", false});
        truth.chips = {"gfx90a"};
        add_run(0, 0, {0}, 10000, 20000);
        add_run(1, 1, {0}, 30000, 40000);
    }

    void add_run(std::uint32_t id, std::uint32_t context, const std::vector<std::uint16_t>& engines,
                 std::uint64_t arm, std::uint64_t disarm) {
        store::Run run;
        run.info.id = id;
        run.info.context = context;
        run.complete = true;
        for (const std::uint16_t se : engines) {
            store::ChunkInfo chunk;
            chunk.run = id;
            chunk.se = se;
            chunk.file = "runs/" + std::to_string(id) + "/se" + std::to_string(se) + ".att";
            run.chunks.push_back(chunk);
            using Kind = softgpu::TruthTraceEvent::Kind;
            truth.trace_events.push_back({0, se, Kind::kArm, arm, 0x1000, 1 << 20, 0});
            truth.trace_events.push_back({0, se, Kind::kDisarm, disarm, 0, 0, 4096});
        }
        process.runs.push_back(run);
    }

    /// A wave of its own dispatch that runs `length` clocks and the five instructions of program().
    softgpu::TruthWave& add_wave(std::uint16_t cu, std::uint16_t simd, std::uint16_t slot,
                                 std::uint64_t start, std::uint64_t length = 400,
                                 std::uint64_t entry = kCode, std::uint16_t se = 0) {
        const std::uint64_t dispatch = truth.dispatches.size() + 1;
        truth.dispatches.push_back({0, dispatch, entry, 1, start - 100, 1});
        softgpu::TruthWave wave{0,     dispatch,       se, cu, simd, slot, 64, entry,
                                start, start + length, {}};
        std::uint64_t time = start + 64;
        for (const std::uint64_t offset : {0, 8, 12, 16, 20}) {
            wave.instructions.push_back({entry + offset, time});
            time += 40;
        }
        truth.waves.push_back(wave);
        return truth.waves.back();
    }

    /// Target waves of both runs, others beside them, and waves outside of both runs.
    void add_usual_waves() {
        for (const std::uint64_t start : {11000U, 31000U}) {
            for (std::uint16_t cu = 0; cu < 4; ++cu)
                for (std::uint16_t simd = 0; simd < 4; ++simd)
                    add_wave(cu, simd, simd, start + 40ULL * cu + 4ULL * simd);
        }
        add_wave(1, 0, 0, 25000);
        add_wave(1, 0, 0, 11000, 400, kCode, 3); // an engine that nobody asked for
    }
};

/// What a decoder tells of a wave, its instructions aside; times count from `base`.
inline decode::WaveRecord record_of(const softgpu::TruthWave& wave, std::uint64_t base) {
    decode::WaveRecord record;
    record.cu = static_cast<std::uint8_t>(wave.cu);
    record.simd = static_cast<std::uint8_t>(wave.simd);
    record.slot = static_cast<std::uint8_t>(wave.slot);
    record.count = static_cast<std::uint8_t>(wave.threads);
    record.start = wave.start - base;
    record.end = wave.end - base;
    record.entry.absolute = wave.entry_pc;
    return record;
}

/// What a perfect trace of one run says, as the decoder would give it: every closed wave, with
/// instructions on the target. Base clock: the arm clock.
inline decode::BlobRecords perfect_records(const Scene& scene, std::uint16_t se, std::uint64_t arm,
                                           std::uint64_t disarm,
                                           const store::ContextInfo& context) {
    decode::BlobRecords records;
    records.generation = "gfx9";
    records.clock_base = arm;
    for (const softgpu::TruthWave& wave : scene.truth.waves) {
        if (wave.se != se || wave.start < arm || wave.end == 0 || wave.end >= disarm) continue;
        decode::WaveRecord record = record_of(wave, arm);
        record.on_target =
            wave.cu == context.cu && (context.simd_mask >> wave.simd & 1) != 0 && context.detail;
        for (std::size_t i = 0; record.on_target && i < wave.instructions.size(); ++i) {
            decode::InstructionRecord instruction;
            const bool immediate = i == 1;
            instruction.category = immediate ? decode::Category::kImmed : decode::Category::kSalu;
            instruction.stall = immediate ? 24 : 8; // an immediate's stall ends 4 behind its token
            instruction.time = wave.instructions[i].time - arm - (immediate ? 20 : 8);
            instruction.duration = 24;
            instruction.pc.absolute = wave.instructions[i].pc;
            record.instructions.push_back(instruction);
        }
        records.waves.push_back(record);
    }
    std::sort(records.waves.begin(), records.waves.end(), [](const auto& a, const auto& b) {
        return std::tuple(a.start, a.cu, a.simd) < std::tuple(b.start, b.cu, b.simd);
    });
    return records;
}

/// A decode of whole segments, handed over in one piece, or (`one_by_one`) wave by wave in the order
/// of their ends, with what can be settled when more than `most_bytes` wait.
struct WholeSegments {
    std::function<Result<std::vector<std::byte>>(const store::ChunkInfo&)> read;
    std::function<Result<decode::BlobRecords>(std::span<const std::byte>, std::uint32_t agent)>
        decode;
    bool one_by_one = false;
    std::uint64_t most_bytes = 0;
    unsigned threads = 1;

    /// Borrows this.
    VerifySources sources() const {
        VerifySources out;
        out.threads = threads;
        if (one_by_one) out.most_waiting_bytes = most_bytes;
        out.decode = [this](const store::Segment& segment, std::uint32_t agent, unsigned,
                            const TakeRecords& take) -> Result<void> {
            std::vector<std::byte> bytes;
            for (const store::ChunkInfo* chunk : segment) {
                WAVETAP_TRY(const std::vector<std::byte> part, read(*chunk));
                bytes.insert(bytes.end(), part.begin(), part.end());
            }
            if (bytes.empty()) return {};
            WAVETAP_TRY(decode::BlobRecords records, decode(bytes, agent));
            if (one_by_one) WAVETAP_CHECK_OK(in_parts(records, take));
            return take(records, true);
        };
        return out;
    }

  private:
    Result<void> in_parts(decode::BlobRecords& records, const TakeRecords& take) const {
        std::vector<decode::WaveRecord> waves = std::move(records.waves);
        std::sort(waves.begin(), waves.end(), [](const auto& a, const auto& b) {
            return std::tuple(a.end, a.start, a.cu, a.simd, a.slot) <
                   std::tuple(b.end, b.start, b.cu, b.simd, b.slot);
        });
        records.waves.clear();
        std::vector<decode::PerfRecord> samples = std::move(records.perf);
        std::reverse(samples.begin(), samples.end());
        records.perf.clear();
        for (decode::WaveRecord& wave : waves) {
            if (!wave.complete) {
                records.waves.push_back(std::move(wave));
                continue;
            }
            decode::BlobRecords part;
            part.generation = records.generation;
            part.clock_base = records.clock_base;
            for (; !samples.empty() && samples.back().time < wave.end; samples.pop_back())
                part.perf.push_back(samples.back());
            part.waves.push_back(std::move(wave));
            WAVETAP_CHECK_OK(take(part, false));
        }
        records.perf.assign(samples.rbegin(), samples.rend());
        return {};
    }
};

} // namespace wavetap::cli::testing
