// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/soak.hpp"

#include "cli/words.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace wavetap::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMostFaults = 8;

std::string driver_line(const Summary& summary) {
    const ordered_json driver = ordered_json::parse(summary.driver_json);
    if (!driver.is_object() || !driver.contains("queues_by_owner")) return "";
    const ordered_json& queues = driver["queues_by_owner"];
    const auto of = [](const ordered_json& object, const char* name) {
        return object.value(name, std::uint64_t{0});
    };
    return fmt::format("  driver: queues made by the program {}, the runtime {}, wavetap {} · at "
                       "most {} of device memory in {}\n",
                       of(queues, "application"), of(queues, "runtime"), of(queues, "wavetap"),
                       size_text(of(driver, "vram_peak_bytes")),
                       count_of(of(driver, "buffer_objects_peak"), "buffer"));
}

std::string stream_line(const SoakAnswer& answer) {
    if (answer.streaming() == 0) return "";
    std::uint64_t flips = 0, cpu_full = 0, gpu_full = 0;
    for (const ContextSummary& context : answer.summary.contexts) {
        flips += context.flips;
        cpu_full += context.cpu_full;
        gpu_full += context.gpu_full;
    }
    return fmt::format(
        "  streaming: {}/{} contexts flipped at least {} times a turn; {} flips; paused "
        "{} times for staging slots, {} times for output slots\n",
        answer.flipped(), answer.streaming(), kLeastFlips, flips, cpu_full, gpu_full);
}

/// The first faults of the contexts that are not good.
std::string fault_lines(const SoakAnswer& answer) {
    std::string text;
    std::size_t shown = 0;
    const auto add = [&](const std::string& words) {
        if (shown++ < kMostFaults) text += "  ! " + words + "\n";
    };
    for (const std::string& fault : answer.verify.faults)
        add(fault);
    for (const VerifyContext& context : answer.verify.contexts) {
        if (context.good()) continue;
        if (context.vacuous)
            add(fmt::format("context {}: nothing was expected although waves ran on its target",
                            context.context.id));
        for (const std::string& fault : context.faults)
            add(fmt::format("context {}: {}", context.context.id, fault));
    }
    if (shown != 0) text += "  all of them: wavetap verify " + answer.summary.dir + "\n";
    return text;
}

} // namespace

std::uint64_t SoakAnswer::rotated() const {
    return static_cast<std::uint64_t>(
        std::count_if(summary.contexts.begin(), summary.contexts.end(),
                      [this](const ContextSummary& c) { return c.runs >= run.runs; }));
}

std::uint64_t SoakAnswer::streaming() const {
    return static_cast<std::uint64_t>(
        std::count_if(summary.contexts.begin(), summary.contexts.end(),
                      [](const ContextSummary& c) { return c.planned.buffers > 1; }));
}

std::uint64_t SoakAnswer::flipped() const {
    return static_cast<std::uint64_t>(std::count_if(
        summary.contexts.begin(), summary.contexts.end(), [this](const ContextSummary& c) {
            return c.planned.buffers > 1 && c.flips >= kLeastFlips * run.rotations;
        }));
}

std::uint64_t SoakAnswer::refused() const {
    std::uint64_t sum = 0;
    for (const ordered_json& agent : ordered_json::parse(summary.agents_json))
        sum += agent.value("refused", std::uint64_t{0});
    return sum;
}

bool SoakAnswer::good() const {
    const std::size_t contexts = summary.contexts.size();
    return refused() == 0 && flipped() == streaming() && rotated() == contexts &&
           summary.captured() == contexts && verify.contexts.size() == contexts && verify.good();
}

std::string soak_text(const SoakAnswer& answer) {
    const Summary& summary = answer.summary;
    std::string text = summary_text(summary) + driver_line(summary) + fault_lines(answer);
    text += stream_line(answer);
    if (answer.refused() != 0)
        text += fmt::format("  ! {} refused\n", count_of(answer.refused(), "start"));
    text += fmt::format("soak: {}: {}/{} contexts captured, {}/{} had {}; {} passed, {} failed; "
                        "recorded in {:.1f} s, verified in {:.1f} s\n",
                        answer.good() ? "good" : "failed", summary.captured(),
                        summary.contexts.size(), answer.rotated(), summary.contexts.size(),
                        count_of(answer.run.rotations, "turn"), answer.verify.passed(),
                        answer.verify.failed(), answer.record_seconds, answer.verify_seconds);
    return text;
}

std::string soak_json(const SoakAnswer& answer) {
    ordered_json object = ordered_json::parse(summary_json(answer.summary));
    object["format"] = "wavetap-soak";
    object["good"] = answer.good();
    object["app_agents"] = answer.run.agents;
    object["app_queues"] = answer.run.app_queues;
    object["rotations"] = answer.run.rotations;
    object["runs_per_context"] = answer.run.runs;
    object["launches"] = answer.run.launches;
    object["turns"] = answer.run.turns;
    object["rotated"] = answer.rotated();
    object["streaming"] = answer.streaming();
    object["flipped"] = answer.flipped();
    object["verified_contexts"] = answer.verify.contexts.size();
    object["verify_passed"] = answer.verify.passed();
    object["verify_failed"] = answer.verify.failed();
    object["record_seconds"] = answer.record_seconds;
    object["verify_seconds"] = answer.verify_seconds;
    return object.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

} // namespace wavetap::cli
