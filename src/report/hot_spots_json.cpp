// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/units.hpp"
#include "report/heat_map.hpp"
#include "report/hot_spots.hpp"

#include <nlohmann/json.hpp>

namespace wavetap::report {
namespace {

using json = nlohmann::ordered_json;

void put_sums(json& row, const Sums& sums, double share) {
    row["hits"] = sums.hits;
    row["latency"] = sums.latency;
    row["mean_latency"] = sums.mean_latency();
    row["longest_latency"] = sums.longest;
    row["stall"] = sums.stall;
    row["idle"] = sums.idle;
    row["share"] = share;
}

json instruction_rows(const HotSpots& spots) {
    json rows = json::array();
    for (const InstructionRow& row : spots.by_instruction) {
        json source = json::array();
        for (const code::SourceLine& line : row.source)
            source.push_back({{"file", line.file},
                              {"line", line.line},
                              {"column", line.column},
                              {"nearby", line.nearby}});
        json entry = {{"code_object", row.place.object}, {"elf_address", row.place.elf_address},
                      {"function", row.function},        {"instruction", row.text},
                      {"source", std::move(source)},     {"source_shown", row.shown},
                      {"source_text", row.source_text}};
        put_sums(entry, row.sums, row.share);
        rows.push_back(std::move(entry));
    }
    return rows;
}

json line_rows(const HotSpots& spots) {
    json rows = json::array();
    for (const LineRow& row : spots.by_line) {
        json entry = {{"file", row.file},
                      {"line", row.line},
                      {"source_text", row.source_text},
                      {"instructions", row.instructions}};
        put_sums(entry, row.sums, row.share);
        rows.push_back(std::move(entry));
    }
    return rows;
}

json kernel_rows(const HotSpots& spots) {
    json rows = json::array();
    for (const KernelRow& row : spots.by_kernel) {
        json entry = {{"kind", kernel_kind_name(row.kind)},
                      {"name", row.name},
                      {"demangled", row.demangled},
                      {"waves", row.waves},
                      {"waves_on_target", row.waves_on_target},
                      {"wave_cycles", row.wave_cycles}};
        put_sums(entry, row.sums, row.share);
        rows.push_back(std::move(entry));
    }
    return rows;
}

json wave_rows(const HotSpots& spots) {
    json rows = json::array();
    for (const WaveRow& row : spots.by_wave) {
        json entry = {{"dir", row.dir},
                      {"context", row.context},
                      {"run", row.run},
                      {"agent", row.agent},
                      {"se", row.se},
                      {"sa", row.sa},
                      {"cu", row.cu},
                      {"simd", row.simd},
                      {"slot", row.slot},
                      {"start", row.start},
                      {"end", row.end},
                      {"complete", row.complete},
                      {"kernel", row.kernel},
                      {"dispatch", row.dispatch},
                      {"external_correlation_id", row.external_correlation_id}};
        put_sums(entry, row.sums, row.share);
        rows.push_back(std::move(entry));
    }
    return rows;
}

json cu_rows(const HotSpots& spots) {
    json rows = json::array();
    for (const CuRow& row : spots.by_cu) {
        json entry = {{"agent", row.agent},
                      {"se", row.se},
                      {"sa", row.sa},
                      {"cu", row.cu},
                      {"waves", row.waves},
                      {"waves_on_target", row.waves_on_target},
                      {"requested", row.requested}};
        put_sums(entry, row.sums, row.share);
        rows.push_back(std::move(entry));
    }
    return rows;
}

/// By agent; engines as lists of CUs, each its latency, or null without instruction detail.
json heat_map_json(const HotSpots& spots) {
    json maps = json::array();
    for (const HeatMap& map : heat_maps(spots)) {
        json engines = json::array();
        for (const auto& engine : map.engines) {
            json row = json::array();
            for (const HeatCell& cell : engine)
                row.push_back(cell.latency ? json(*cell.latency) : json());
            engines.push_back(std::move(row));
        }
        maps.push_back({{"agent", map.agent},
                        {"unit", map.is_wgp ? "wgp" : "cu"},
                        {"covered", map.covered},
                        {"total", map.total},
                        {"latency", std::move(engines)}});
    }
    return maps;
}

json summary(const HotSpots& spots) {
    json objects = json::array();
    for (const ObjectRow& row : spots.objects)
        objects.push_back({{"uri", row.uri}, {"chip", row.gfx}});
    json coverage = json::array();
    for (const Coverage& row : spots.coverage)
        coverage.push_back({{"agent", row.agent},
                            {"name", row.name},
                            {"unit", row.is_wgp ? "wgp" : "cu"},
                            {"total", row.total},
                            {"requested", row.requested},
                            {"with_waves", row.with_waves},
                            {"with_detail", row.with_detail}});
    json faults = json::array();
    for (const Fault& fault : spots.faults)
        faults.push_back({{"kind", fault.kind},
                          {"severity", fault.severity},
                          {"advice", fault.advice},
                          {"count", fault.count},
                          {"recordings", fault.blobs}});
    return {{"processes", spots.processes},
            {"contexts", spots.contexts},
            {"runs", spots.runs},
            {"engine_recordings", spots.blobs},
            {"bytes", spots.bytes},
            {"waves", spots.waves},
            {"waves_on_target", spots.waves_on_target},
            {"instructions", spots.instructions},
            {"instructions_in_no_code_object", spots.instructions_foreign},
            {"instructions_without_pc", spots.instructions_without_pc},
            {"latency", spots.latency},
            {"code_objects", std::move(objects)},
            {"coverage", std::move(coverage)},
            {"diagnostics", std::move(faults)},
            {"problems", spots.problems}};
}

} // namespace

std::string to_json(const HotSpots& spots, View view) {
    json result = {{"format", "wavetap-report"},   {"version", 1},
                   {"dirs", spots.dirs},           {"timing", spots.timing},
                   {"time_unit", "shader clocks"}, {"summary", summary(spots)}};
    switch (view) {
    case View::kInstruction:
        result["by"] = "inst";
        result["rows"] = instruction_rows(spots);
        break;
    case View::kLine:
        result["by"] = "line";
        result["rows"] = line_rows(spots);
        break;
    case View::kKernel:
        result["by"] = "kernel";
        result["rows"] = kernel_rows(spots);
        break;
    case View::kWave:
        result["by"] = "wave";
        result["rows"] = wave_rows(spots);
        break;
    case View::kCu:
        result["by"] = "cu";
        result["heat_map"] = heat_map_json(spots);
        result["rows"] = cu_rows(spots);
        break;
    }
    return result.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace wavetap::report
