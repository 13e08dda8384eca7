// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "report/health.hpp"

#include "base/units.hpp"
#include "report/format.hpp"
#include "report/timing.hpp"

#include <algorithm>
#include <string_view>

namespace wavetap::report {
namespace {

StopReason stop_reason(const Blob& blob) {
    if (blob.lost) return StopReason::kLost;
    if (blob.halted) return StopReason::kHalted;
    if (blob.gpu_full) return StopReason::kGpuFull;
    if (blob.cpu_full) return StopReason::kCpuFull;
    if (!blob.ended || !blob.run->complete) return StopReason::kKilled;
    return StopReason::kEnd;
}

std::string target_words(const EngineHealth& health) {
    std::string simds;
    for (std::uint32_t simd = 0; simd < 32; ++simd)
        if ((health.simd_mask >> simd & 1) != 0)
            simds += (simds.empty() ? "" : ",") + std::to_string(simd);
    return (health.is_wgp ? "WGP " : "CU ") + std::to_string(health.cu) + " SIMD " + simds;
}

void advise_on_stop(EngineHealth& health) {
    switch (health.stop) {
    case StopReason::kEnd:
        break;
    case StopReason::kGpuFull:
        if (health.buffers > 1) {
            health.advice.push_back("The hardware filled its buffers of " +
                                    format_size(health.capacity_bytes) +
                                    " faster than they were taken; the trace paused. Use a larger "
                                    "--buffer or fewer engines.");
            break;
        }
        health.advice.push_back("The buffer of " + format_size(health.capacity_bytes) +
                                " was full before the stop; use a larger --buffer, fewer engines "
                                "or a shorter window.");
        break;
    case StopReason::kCpuFull:
        health.advice.push_back("Filled buffers were not taken in time; the trace paused. Use more "
                                "--buffers or a larger --buffer.");
        break;
    case StopReason::kHalted:
        health.advice.push_back("The trace unit went off by itself; the trace was started again.");
        break;
    case StopReason::kLost:
        health.advice.push_back("Bytes that the hardware wrote could not be fetched: the GPU or a "
                                "consumer did not answer.");
        break;
    case StopReason::kKilled:
        health.advice.push_back("The program ended before this run was stopped; its last bytes are "
                                "missing.");
        break;
    case StopReason::kNothing:
        health.advice.push_back("This engine delivered nothing; `wavetap doctor` tells whether it "
                                "exists.");
        break;
    }
}

void advise_on_waves(EngineHealth& health) {
    if (health.error || health.stop == StopReason::kNothing) return;
    if (health.waves == 0) {
        health.advice.push_back("No wave started on this engine while it recorded; trace a larger "
                                "grid, or another engine with --se.");
    } else if (health.detail && health.waves_on_target == 0) {
        health.advice.push_back("None of the " + with_commas(health.waves) + " waves ran on " +
                                target_words(health) + "; choose another --cu or --simd.");
    }
    if (health.waves != 0 && health.waves_foreign == health.waves)
        health.advice.push_back("All waves ran code that was not recorded; was the program loaded "
                                "before tracing began?");
    if (health.buffers == 1 && health.capacity_bytes != 0 &&
        health.bytes > health.capacity_bytes + 8)
        health.advice.push_back("More bytes than the buffer holds: the write pointer that was read "
                                "back is wrong.");
}

} // namespace

const char* stop_reason_name(StopReason reason) noexcept {
    switch (reason) {
    case StopReason::kEnd:
        return "end";
    case StopReason::kGpuFull:
        return "full";
    case StopReason::kCpuFull:
        return "overrun";
    case StopReason::kHalted:
        return "halted";
    case StopReason::kLost:
        return "lost";
    case StopReason::kKilled:
        return "killed";
    case StopReason::kNothing:
        return "nothing";
    }
    return "killed";
}

EngineHealth judge(const Blob& blob) {
    EngineHealth health;
    health.dir = blob.process->dir;
    health.context = blob.context->id;
    health.run = blob.run->info.id;
    health.agent = blob.agent->index;
    health.se = blob.se;
    health.cu = blob.context->cu;
    health.simd_mask = blob.context->simd_mask;
    health.is_wgp = blob.records.has_wgps();
    health.detail = blob.context->detail;
    health.buffers = blob.context->buffers;
    health.bytes = blob.bytes;
    health.capacity_bytes = blob.capacity_bytes;
    health.zero_tail_bytes = blob.zero_tail_bytes;
    health.status = blob.status;
    health.dropped = blob.dropped;
    health.tokens = blob.records.tokens_total;
    health.instructions = blob.records.instructions;
    health.instructions_with_pc = blob.records.instructions_with_pc;
    WaveCounts counts = blob.handed_over;
    counts.add(blob.records.waves);
    health.waves = counts.waves;
    health.waves_on_target = counts.on_target;
    health.waves_foreign = counts.foreign;
    health.waves_open = counts.open;
    health.stop = stop_reason(blob);
    if (blob.error) {
        health.error = to_string(*blob.error);
        health.advice.push_back("The bytes could not be decoded: " + *health.error + ".");
    }
    advise_on_stop(health);
    for (const decode::Diagnostic& diagnostic : blob.records.diagnostics) {
        if (std::string_view(diagnostic.severity) == "info") continue;
        health.losses.push_back({diagnostic.kind, diagnostic.text(), diagnostic.count,
                                 diagnostic.first_offset_bytes, diagnostic.first_time});
    }
    // Of several segments the short ones may see no wave.
    if (blob.segments == 1) advise_on_waves(health);
    return health;
}

void add_segment(EngineHealth& health, const EngineHealth& segment) {
    ++health.segments;
    health.bytes += segment.bytes;
    health.zero_tail_bytes = segment.zero_tail_bytes;
    health.status = segment.status;
    health.dropped += segment.dropped;
    health.tokens += segment.tokens;
    health.waves += segment.waves;
    health.waves_on_target += segment.waves_on_target;
    health.waves_foreign += segment.waves_foreign;
    health.waves_open += segment.waves_open;
    health.instructions += segment.instructions;
    health.instructions_with_pc += segment.instructions_with_pc;
    if (health.stop == StopReason::kEnd) health.stop = segment.stop;
    if (!health.error) health.error = segment.error;
    for (const std::string& advice : segment.advice)
        if (std::find(health.advice.begin(), health.advice.end(), advice) == health.advice.end())
            health.advice.push_back(advice);
    for (const Loss& loss : segment.losses) {
        const auto known = std::find_if(health.losses.begin(), health.losses.end(),
                                        [&](const Loss& l) { return l.kind == loss.kind; });
        if (known == health.losses.end())
            health.losses.push_back(loss);
        else
            known->count += loss.count;
    }
}

} // namespace wavetap::report
