// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/units.hpp"
#include "cli/verify.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace wavetap::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string tally_text(const VerifyTally& tally) {
    return "expected " + std::to_string(tally.expected) + ", matched " +
           std::to_string(tally.matched) + ", missing " + std::to_string(tally.missing) +
           ", extra " + std::to_string(tally.extra) + ", differing " +
           std::to_string(tally.differing);
}

std::string apart_text(const VerifyApart& apart) {
    std::string text;
    const auto add = [&](std::uint64_t count, const char* what) {
        if (count == 0) return;
        if (!text.empty()) text += ", ";
        text += std::to_string(count) + " " + what;
    };
    add(apart.open_at_start, "open at the start");
    add(apart.open_at_end, "open at the end");
    add(apart.dropped, "in the dropped range");
    add(apart.dropped_tokens, "dropped tokens");
    add(apart.without_code, "without code object");
    add(apart.without_entry, "of dispatches begun before");
    return text;
}

std::string simd_text(std::uint32_t mask) {
    std::string text;
    for (std::uint32_t simd = 0; simd < 32; ++simd)
        if ((mask >> simd & 1) != 0) text += (text.empty() ? "" : ",") + std::to_string(simd);
    return text;
}

std::string context_text(const VerifyContext& context, bool many_processes) {
    const store::ContextInfo& info = context.context;
    std::string text;
    if (many_processes) text += "process " + std::to_string(context.pid) + ", ";
    text += "context " + std::to_string(info.id) + ": agent " + std::to_string(info.agent) + " (" +
            context.chip + ") SE " + format_hex(info.se_mask) + " CU " + std::to_string(info.cu) +
            " SIMD " + simd_text(info.simd_mask) + (info.detail ? "" : " without detail") + ", " +
            std::to_string(context.runs) + (context.runs == 1 ? " run: " : " runs: ") +
            (context.good() ? "good" : "FAILED") + "\n";
    text += "  waves         " + tally_text(context.waves) + "\n";
    if (info.detail) text += "  instructions  " + tally_text(context.instructions) + "\n";
    if (!info.perf_counters.empty())
        text += "  counters      " + tally_text(context.samples) + "\n";
    const std::string apart = apart_text(context.apart);
    if (!apart.empty()) text += "  not compared  waves: " + apart + "\n";
    for (const std::string& fault : context.faults)
        text += "  ! " + fault + "\n";
    if (context.faults_total > context.faults.size())
        text +=
            "  ! and " + std::to_string(context.faults_total - context.faults.size()) + " more\n";
    return text;
}

Json tally_json(const VerifyTally& tally) {
    return {{"expected", tally.expected},
            {"matched", tally.matched},
            {"missing", tally.missing},
            {"extra", tally.extra},
            {"differing", tally.differing}};
}

Json context_json(const VerifyContext& context) {
    const store::ContextInfo& info = context.context;
    return {{"process", context.pid},
            {"context", info.id},
            {"agent", info.agent},
            {"chip", context.chip},
            {"timing", context.timing},
            {"se_mask", info.se_mask},
            {"cu", info.cu},
            {"simd_mask", info.simd_mask},
            {"detail", info.detail},
            {"runs", context.runs},
            {"good", context.good()},
            {"waves", tally_json(context.waves)},
            {"instructions", tally_json(context.instructions)},
            {"samples", tally_json(context.samples)},
            {"not_compared",
             {{"open_at_start", context.apart.open_at_start},
              {"open_at_end", context.apart.open_at_end},
              {"dropped", context.apart.dropped},
              {"dropped_tokens", context.apart.dropped_tokens},
              {"without_code", context.apart.without_code},
              {"without_entry", context.apart.without_entry}}},
            {"waves_on_target", context.waves_on_target},
            {"vacuous", context.vacuous},
            {"broken", context.broken},
            {"faults", context.faults},
            {"faults_total", context.faults_total}};
}

bool several_processes(const VerifyReport& report) {
    for (const VerifyContext& context : report.contexts)
        if (context.pid != report.contexts.front().pid) return true;
    return false;
}

} // namespace

std::string verify_text(const VerifyReport& report) {
    std::string text;
    if (!report.contexts.empty() && !report.contexts.front().timing.empty())
        text += "timing: " + report.contexts.front().timing + "\n";
    const bool many = several_processes(report);
    for (const VerifyContext& context : report.contexts)
        text += context_text(context, many);
    for (const std::string& fault : report.faults)
        text += "! " + fault + "\n";
    for (const std::string& note : report.notes)
        text += "note: " + note + "\n";
    if (report.expected() == 0) text += "! nothing to verify: no wave was expected in any trace\n";
    if (report.contexts.size() > 1) {
        const auto good =
            std::count_if(report.contexts.begin(), report.contexts.end(),
                          [](const VerifyContext& context) { return context.good(); });
        text += "contexts: " + std::to_string(good) + " good, " +
                std::to_string(report.contexts.size() - static_cast<std::size_t>(good)) +
                " failed; waves, instructions and samples: " + tally_text(report.total()) + "\n";
    }
    text += std::to_string(report.passed()) + " passed, " + std::to_string(report.failed()) +
            " failed\n";
    return text;
}

std::string verify_json(const VerifyReport& report) {
    Json contexts = Json::array();
    for (const VerifyContext& context : report.contexts)
        contexts.push_back(context_json(context));
    const Json object = {{"format", "wavetap-verify"},
                         {"version", 1},
                         {"command", "verify"},
                         {"dir", report.dir},
                         {"good", report.good()},
                         {"contexts", contexts},
                         {"unrequested", report.unrequested},
                         {"faults", report.faults},
                         {"notes", report.notes},
                         {"total", tally_json(report.total())},
                         {"passed", report.passed()},
                         {"failed", report.failed()}};
    return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace wavetap::cli
