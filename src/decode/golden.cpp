// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/golden.hpp"

#include "base/units.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <tuple>

namespace wavetap::decode {
namespace {

using Json = nlohmann::ordered_json;

std::string padded_hex(std::uint64_t value, int digits) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%0*llx", digits, static_cast<unsigned long long>(value));
    return text;
}

Json instruction_json(const InstructionRecord& instruction) {
    Json out;
    if (instruction.pc.absolute == 0 && instruction.pc.code_object == 0)
        out["pc"] = nullptr;
    else
        out["pc"] = format_hex(instruction.pc.code_object != 0 ? instruction.pc.elf_address
                                                               : instruction.pc.absolute);
    out["time"] = instruction.time;
    out["dur"] = instruction.duration;
    out["stall"] = instruction.stall;
    out["cat"] = category_name(instruction.category);
    return out;
}

Json wave_json(const WaveRecord& wave, bool gfx9) {
    Json out;
    out["sa"] = wave.sa;
    out["cu"] = wave.cu;
    out["simd"] = wave.simd;
    out["slot"] = wave.slot;
    out["start"] = wave.start_seen ? Json(wave.start) : Json(nullptr);
    out["end"] = wave.complete ? Json(wave.end) : Json(nullptr);
    out["count"] = wave.count;
    out["me"] = wave.me;
    out["pipe"] = wave.pipe;
    out["entry_pc"] = format_hex(wave.entry.absolute);
    if (gfx9 && wave.on_target && wave.complete) out["wave_record_end"] = wave.record_end;
    if (wave.instructions.empty()) return out;
    Json& instructions = out["instructions"] = Json::array();
    for (const InstructionRecord& instruction : wave.instructions)
        instructions.push_back(instruction_json(instruction));
    out["stitched"] =
        std::all_of(wave.instructions.begin(), wave.instructions.end(), [](const auto& i) {
            return i.pc.absolute != 0 || i.category == Category::kTrap;
        });
    Json& timeline = out["timeline"] = Json::array();
    for (const auto& [state, clocks] : wave.timeline)
        timeline.push_back(Json::array({wave_state_name(state), clocks}));
    if (!wave.excluded_barrier_waits.empty()) {
        Json& waits = out["excluded_barrier_waits"] = Json::array();
        for (const auto& wait : wave.excluded_barrier_waits)
            waits.push_back(Json{{"before_inst", wait.index}, {"pc", format_hex(wait.pc)}});
    }
    return out;
}

Json dispatch_json(const DispatchRecord& dispatch) {
    Json out;
    out["time"] = dispatch.time;
    out["me"] = dispatch.me;
    out["pipe"] = dispatch.pipe;
    out["initiator"] = format_hex(dispatch.initiator);
    out["pc"] = format_hex(dispatch.entry.absolute);
    out["threads"] = {dispatch.threads[0], dispatch.threads[1], dispatch.threads[2]};
    out["rsrc1"] = format_hex(dispatch.rsrc1);
    out["rsrc2"] = format_hex(dispatch.rsrc2);
    return out;
}

Json header_json(const BlobRecords& records) {
    static constexpr const char* kOrder[] = {
        "legacy_version", "gfx9_version2", "version", "DSIMDM", "DCU", "DSIMD",
        "DWGP",           "DSA",           "NSA",     "NWGP",   "WSM", "UCF",
        "DPRate",         "SEID"};
    Json out;
    for (const char* name : kOrder) {
        if (const auto field = records.header_fields.find(name);
            field != records.header_fields.end())
            out[name] = field->second;
    }
    const bool gfx9 = records.generation == "gfx9";
    if (!gfx9) out["raw"] = padded_hex(records.header, 16);
    for (const auto& [name, value] : records.header_fields) {
        if (!out.contains(name)) out[name] = value;
    }
    if (gfx9) out["raw"] = padded_hex(records.header, 16);
    return out;
}

std::int64_t engine_of(const GoldenInfo& info) {
    if (info.engine >= 0 || !info.blob.starts_with("se")) return info.engine;
    std::int64_t number = -1;
    std::from_chars(info.blob.data() + 2, info.blob.data() + info.blob.size(), number);
    return number;
}

void add_waves(Json& out, const BlobRecords& records) {
    const bool gfx9 = records.generation == "gfx9";
    Json waves = Json::array();
    std::uint64_t with_instructions = 0, unfinished = 0;
    for (const WaveRecord& wave : records.waves) {
        if (!wave.instructions.empty()) ++with_instructions;
        if (!wave.complete) ++unfinished;
        waves.push_back(wave_json(wave, gfx9));
    }
    out["waves_total"] = records.waves.size();
    out["waves_with_instructions"] = with_instructions;
    out["waves_unfinished"] = unfinished;
    out["wave_end_without_start"] = records.wave_end_without_start;
    out["tokens_without_wave"] = records.tokens_without_wave;
    out["waves"] = std::move(waves);
}

} // namespace

std::string golden_json(const BlobRecords& records, const GoldenInfo& info) {
    Json out;
    out["blob"] = info.blob;
    if (const std::int64_t engine = engine_of(info); engine >= 0) out["se"] = engine;
    out["bytes"] = info.bytes;
    out["generation"] = records.generation;
    out["header"] = header_json(records);
    out["token_counts"] = records.token_counts;
    out["tokens_total"] = records.tokens_total;
    out["first_time"] = records.first_time;
    out["last_time"] = records.last_time;
    out["instruction_tokens"] = records.instruction_tokens;
    add_waves(out, records);
    out["other_simd"] = Json::array();
    for (const auto& other : records.other_simd)
        out["other_simd"].push_back(
            Json::array({other.time, category_name(other.kind), other.cycles}));
    out["dispatches"] = Json::array();
    for (const auto& dispatch : records.dispatches)
        out["dispatches"].push_back(dispatch_json(dispatch));
    out["realtime"] = Json::array();
    for (const auto& sample : records.realtime)
        out["realtime"].push_back(Json::array({sample.time, sample.counter}));
    out["userdata_writes"] = Json::array();
    // The golden files list writes of one clock by register and value.
    std::vector<RegisterWrite> writes = records.userdata_writes;
    std::sort(writes.begin(), writes.end(), [](const auto& a, const auto& b) {
        return std::tie(a.time, a.reg, a.data) < std::tie(b.time, b.reg, b.data);
    });
    for (const auto& write : writes)
        out["userdata_writes"].push_back(Json{{"time", write.time},
                                              {"reg", format_hex(write.reg)},
                                              {"data", padded_hex(write.data, 8)}});
    out["stitch"] = Json{{"instructions", records.instructions},
                         {"with_pc", records.instructions_with_pc},
                         {"notes", Json::object()}};
    for (const Diagnostic& diagnostic : records.diagnostics)
        out["stitch"]["notes"][diagnostic.kind] = diagnostic.count;
    return out.dump();
}

} // namespace wavetap::decode
