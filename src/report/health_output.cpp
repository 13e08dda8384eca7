// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "report/format.hpp"
#include "report/health.hpp"
#include "report/timing.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

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
    std::uint64_t runs = 0, bytes = 0, zeros = 0, waves = 0, on_target = 0, foreign = 0, lost = 0;
    std::map<std::string, std::uint64_t> stops;
    std::string target;
};

/// One remark about several engines of a context.
struct Remark {
    std::set<std::uint32_t> engines;
    std::uint64_t runs = 0;
    std::uint64_t count = 0;             ///< of a loss
    const EngineHealth* first = nullptr; ///< where the loss was first seen
    Loss loss;
};

void add_to(Group& group, const EngineHealth& engine) {
    ++group.runs;
    group.bytes += engine.bytes;
    group.zeros += engine.zero_tail_bytes;
    group.waves += engine.waves;
    group.on_target += engine.waves_on_target;
    group.foreign += engine.waves_foreign;
    for (const Loss& loss : engine.losses)
        group.lost += loss.count;
    ++group.stops[stop_reason_name(engine.stop)];
    group.target = engine.detail ? std::to_string(engine.cu) : "-";
}

std::string engine_list(const std::set<std::uint32_t>& engines) {
    std::string text;
    for (auto first = engines.begin(); first != engines.end();) {
        auto last = first;
        auto next = std::next(first);
        while (next != engines.end() && *next == *last + 1)
            last = next++;
        text += (text.empty() ? "" : ",") + std::to_string(*first);
        if (last != first) text += (*last == *first + 1 ? "," : "-") + std::to_string(*last);
        first = next;
    }
    return text;
}

/// What is to be said about one context: the same sentence about many engines is said once.
std::string remarks_text(const std::string& context, const std::vector<const EngineHealth*>& all) {
    std::map<std::string, Remark> sentences;
    std::map<std::string, Remark> losses;
    for (const EngineHealth* engine : all) {
        for (const std::string& sentence : engine->advice) {
            sentences[sentence].engines.insert(engine->se);
            ++sentences[sentence].runs;
        }
        for (const Loss& loss : engine->losses) {
            Remark& remark = losses[loss.kind];
            if (remark.first == nullptr) {
                remark.first = engine;
                remark.loss = loss;
            }
            remark.engines.insert(engine->se);
            remark.count += loss.count;
        }
    }
    std::string text;
    for (const auto& [sentence, remark] : sentences)
        text += wrapped(context + ", SE " + engine_list(remark.engines) + ", " +
                            counted(remark.runs, "recording") + ": " + sentence,
                        2);
    for (const auto& [kind, remark] : losses)
        text += wrapped(context + ", SE " + engine_list(remark.engines) + ": " + kind + " x " +
                            with_commas(remark.count) + ", first in run " +
                            std::to_string(remark.first->run) + " on SE " +
                            std::to_string(remark.first->se) + " at byte " +
                            with_commas(remark.loss.first_offset_bytes) + ", clock " +
                            with_commas(remark.loss.first_time) + ". " + remark.loss.advice,
                        2);
    return text;
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
                  {"unit", engine.is_wgp ? "wgp" : "cu"},
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

namespace {

/// Table and remarks of one process folder.
std::string folder_text(const std::vector<const EngineHealth*>& engines) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, Group> groups;
    std::map<std::uint32_t, std::vector<const EngineHealth*>> contexts;
    for (const EngineHealth* engine : engines) {
        add_to(groups[{engine->context, engine->se}], *engine);
        contexts[engine->context].push_back(engine);
    }
    const bool wgps = std::any_of(engines.begin(), engines.end(),
                                  [](const EngineHealth* engine) { return engine->is_wgp; });
    Table table({{"context"},
                 {"SE"},
                 {wgps ? "WGP" : "CU"},
                 {"runs"},
                 {"bytes"},
                 {"zero tail"},
                 {"waves"},
                 {"on target"},
                 {"foreign"},
                 {"lost"},
                 {"stopped by", Align::kLeft}});
    for (const auto& [key, group] : groups)
        table.row({std::to_string(key.first), std::to_string(key.second), group.target,
                   with_commas(group.runs), with_commas(group.bytes),
                   share_of(group.zeros, group.bytes), with_commas(group.waves),
                   with_commas(group.on_target), with_commas(group.foreign),
                   with_commas(group.lost), stops_text(group)});
    std::string text = table.text();
    for (const auto& [context, list] : contexts)
        text += remarks_text("context " + std::to_string(context), list);
    return text;
}

} // namespace

std::string to_text(const Health& health) {
    std::map<std::string, std::vector<const EngineHealth*>> folders;
    for (const EngineHealth& engine : health.engines)
        folders[engine.dir].push_back(&engine);
    std::string text = timing_line(health.timing);
    for (const auto& [dir, engines] : folders) {
        if (folders.size() > 1) text += "\n" + dir + "\n";
        text += folder_text(engines);
    }
    for (const std::string& problem : health.problems)
        text += wrapped(problem, 2);
    const auto good = static_cast<std::uint64_t>(
        std::count_if(health.engines.begin(), health.engines.end(),
                      [](const EngineHealth& engine) { return engine.good(); }));
    text += with_commas(good) + " of " + with_commas(health.engines.size()) +
            " engine recordings hold all that was asked for\n";
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
