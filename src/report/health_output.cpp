// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "report/format.hpp"
#include "report/health.hpp"
#include "report/timing.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <tuple>

namespace wavetap::report {
namespace {

using json = nlohmann::ordered_json;
using Align = Table::Align;

std::string share_of(std::uint64_t part, std::uint64_t whole) {
    if (whole == 0) return "-";
    return as_percent(static_cast<double>(part) / static_cast<double>(whole));
}

/// The runs of one engine of one context in one process.
struct Group {
    std::uint64_t runs = 0, good_runs = 0, bytes = 0, zeros = 0, waves = 0, on_target = 0,
                  foreign = 0, lost = 0;
    std::map<std::string, std::uint64_t> stops;
    std::string target;
    std::map<std::string, std::uint64_t> advice;
};

void add_to(Group& group, const EngineHealth& engine) {
    ++group.runs;
    group.good_runs += engine.good();
    group.bytes += engine.bytes;
    group.zeros += engine.zero_tail_bytes;
    group.waves += engine.waves;
    group.on_target += engine.waves_on_target;
    group.foreign += engine.waves_foreign;
    for (const Loss& loss : engine.losses)
        group.lost += loss.count;
    ++group.stops[stop_reason_name(engine.stop)];
    group.target = engine.detail ? std::to_string(engine.cu) : "-";
    for (const std::string& sentence : engine.advice)
        ++group.advice[sentence];
}

std::string stops_text(const Group& group) {
    std::string text;
    for (const auto& [name, count] : group.stops)
        text += (text.empty() ? "" : ", ") + name +
                (count == group.runs ? "" : " x " + std::to_string(count));
    return text;
}

json engine_json(const EngineHealth& engine) {
    json losses = json::array();
    for (const Loss& loss : engine.losses)
        losses.push_back({{"kind", loss.kind},
                          {"count", loss.count},
                          {"first_offset_bytes", loss.first_offset_bytes},
                          {"first_time", loss.first_time},
                          {"advice", loss.advice}});
    json entry = {{"dir", engine.dir},
                  {"context", engine.context},
                  {"run", engine.run},
                  {"agent", engine.agent},
                  {"se", engine.se},
                  {"cu", engine.cu},
                  {"simd_mask", engine.simd_mask},
                  {"detail", engine.detail},
                  {"good", engine.good()},
                  {"stop", stop_reason_name(engine.stop)},
                  {"bytes", engine.bytes},
                  {"capacity_bytes", engine.capacity_bytes},
                  {"zero_tail_bytes", engine.zero_tail_bytes},
                  {"tokens", engine.tokens},
                  {"waves", engine.waves},
                  {"waves_on_target", engine.waves_on_target},
                  {"waves_foreign", engine.waves_foreign},
                  {"waves_open", engine.waves_open},
                  {"instructions", engine.instructions},
                  {"instructions_with_pc", engine.instructions_with_pc},
                  {"status_register", engine.status},
                  {"dropped_register", engine.dropped},
                  {"losses", std::move(losses)},
                  {"advice", engine.advice}};
    if (engine.error) entry["error"] = *engine.error;
    return entry;
}

} // namespace

std::string to_text(const Health& health) {
    std::map<std::tuple<std::string, std::uint32_t, std::uint32_t>, Group> groups;
    for (const EngineHealth& engine : health.engines)
        add_to(groups[{engine.dir, engine.context, engine.se}], engine);

    std::string text = timing_line(health.timing);
    Table table({{"context"},
                 {"SE"},
                 {"CU"},
                 {"runs"},
                 {"bytes"},
                 {"zero tail"},
                 {"waves"},
                 {"on target"},
                 {"foreign"},
                 {"lost"},
                 {"stopped by", Align::kLeft}});
    std::size_t good = 0;
    std::string remarks;
    std::string dir;
    for (const auto& [key, group] : groups) {
        const auto& [group_dir, context, se] = key;
        good += group.good_runs == group.runs;
        table.row({std::to_string(context), std::to_string(se), group.target,
                   with_commas(group.runs), with_commas(group.bytes),
                   share_of(group.zeros, group.bytes), with_commas(group.waves),
                   with_commas(group.on_target), with_commas(group.foreign),
                   with_commas(group.lost), stops_text(group)});
        for (const auto& [sentence, count] : group.advice)
            remarks += wrapped("context " + std::to_string(context) + ", SE " + std::to_string(se) +
                                   " (" + std::to_string(count) + " of " +
                                   counted(group.runs, "run") + "): " + sentence,
                               2);
    }
    if (!table.empty()) text += table.text();
    text += remarks;
    for (const std::string& problem : health.problems)
        text += wrapped(problem, 2);
    text += std::to_string(good) + " of " + std::to_string(groups.size()) +
            " engines of contexts recorded all they were asked for\n";
    return text;
}

std::string to_json(const Health& health) {
    json engines = json::array();
    for (const EngineHealth& engine : health.engines)
        engines.push_back(engine_json(engine));
    const json result = {{"format", "wavetap-health"}, {"version", 1},
                         {"dirs", health.dirs},        {"timing", health.timing},
                         {"good", health.good},        {"engines", std::move(engines)},
                         {"problems", health.problems}};
    return result.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace wavetap::report
