// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/summary.hpp"

#include "base/units.hpp"
#include "cli/words.hpp"
#include "report/health.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

namespace wavetap::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMostLines = 16;

std::string dump(const ordered_json& value, int indent) {
    return value.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

/// Adds the numbers of `other` to those of `sum`, object by object and item by item.
void add_numbers(ordered_json& sum, const ordered_json& other) {
    for (std::size_t i = 0; other.is_array() && i < other.size(); ++i) {
        if (sum.size() <= i) sum.push_back(ordered_json::object());
        add_numbers(sum[i], other[i]);
    }
    if (!other.is_object()) return;
    for (const auto& [name, value] : other.items()) {
        ordered_json& slot = sum[name];
        if (value.is_structured()) {
            if (slot.type() != value.type())
                slot = value.is_object() ? ordered_json::object() : ordered_json::array();
            add_numbers(slot, value);
        } else if (value.is_number_unsigned() && slot.is_number_unsigned()) {
            slot = slot.get<std::uint64_t>() + value.get<std::uint64_t>();
        } else {
            slot = value;
        }
    }
}

Result<ordered_json> read_driver(const std::string& path) {
    std::ifstream file(path);
    ordered_json object = ordered_json::parse(file, nullptr, false);
    if (object.is_object()) return object;
    return Error{ErrorCode::kCorrupt, "the driver's counters are not a JSON object", path, ""};
}

/// Header bytes carry nothing; the hardware's own bytes are what counts. `opens`: the chunk is the
/// first one of its segment.
std::uint64_t payload_bytes(const store::ChunkInfo& chunk, const std::string& chip,
                            std::uint32_t buffers, bool opens) {
    const std::uint64_t own = buffers > 1 ? 32 : 8;
    const std::uint64_t header = opens && chip.starts_with("gfx9") ? own : 0;
    return chunk.bytes > header ? chunk.bytes - header : 0;
}

void add_chunk(const store::ChunkInfo& chunk, ContextSummary& context) {
    context.dropped += chunk.dropped;
    context.full = context.full || chunk.gpu_full || chunk.cpu_full;
    if (context.planned.buffers < 2) return;
    if (chunk.bytes != 0 && chunk.bytes == chunk.capacity_bytes && !chunk.end) ++context.flips;
    if (chunk.end && chunk.cpu_full) ++context.cpu_full;
    if (chunk.end && chunk.gpu_full) ++context.gpu_full;
}

void add_runs(const store::ProcessTrace& process, const std::string& chip, Summary& summary) {
    std::map<std::uint32_t, ContextSummary*> contexts;
    for (ContextSummary& context : summary.contexts)
        contexts[context.planned.id] = &context;
    for (const store::Run& run : process.runs) {
        const auto found = contexts.find(run.info.context);
        if (found == contexts.end()) continue; // of another plan; health shows all there is
        ContextSummary& context = *found->second;
        ++context.runs;
        const std::uint64_t before = context.bytes;
        std::set<std::uint32_t> open; // engines in the middle of a segment
        for (const store::ChunkInfo& chunk : run.chunks) {
            const bool opens = open.insert(chunk.se).second;
            context.bytes += payload_bytes(chunk, chip, context.planned.buffers, opens);
            if (chunk.end) open.erase(chunk.se);
            add_chunk(chunk, context);
        }
        if (run.complete && open.empty()) continue;
        ++context.killed;
        context.killed_bytes += context.bytes - before;
    }
}

Result<void> add_health(const store::TraceFolder& folder, Summary& summary) {
    std::uint64_t bytes = 0;
    for (const ContextSummary& context : summary.contexts)
        bytes += context.bytes;
    if (bytes == 0 || bytes > kMostBytesJudged) return {};
    report::CodeTable code;
    WAVETAP_TRY(const report::Health health, report::find_health({folder}, code));
    std::map<std::uint32_t, ContextSummary*> contexts;
    for (ContextSummary& context : summary.contexts)
        contexts[context.planned.id] = &context;
    for (const report::EngineHealth& engine : health.engines) {
        const auto found = contexts.find(engine.context);
        if (found == contexts.end() || engine.error) continue; // health words the error
        ContextSummary& context = *found->second;
        context.waves = context.waves.value_or(0) + engine.waves;
        context.waves_on_target = context.waves_on_target.value_or(0) + engine.waves_on_target;
    }
    return {};
}

std::string context_note(const ContextSummary& context) {
    if (context.runs == 0) return "never started";
    if (context.killed == context.runs) return "killed: the last bytes are missing";
    if (context.killed != 0)
        return fmt::format("{} of {} runs killed: their last bytes are missing", context.killed,
                           context.runs);
    if (context.bytes == 0) return "no bytes";
    if (context.full && context.planned.buffers > 1)
        return fmt::format("paused {} (staging full {}, hardware full {})",
                           count_of(context.cpu_full + context.gpu_full, "time"), context.cpu_full,
                           context.gpu_full);
    if (context.full) return "buffer full: take a larger --buffer";
    if (context.planned.detail && context.waves_on_target == std::uint64_t{0})
        return context.waves == std::uint64_t{0}
                   ? "no wave ran on these engines"
                   : fmt::format("none of {} on the target: take another --cu or --simd",
                                 count_of(*context.waves, "wave"));
    if (context.dropped != 0) return fmt::format("{} dropped", count_of(context.dropped, "token"));
    return "";
}

std::string context_line(const ContextSummary& context) {
    const std::string note = context_note(context);
    return fmt::format("{:>9} {:>8} {:>4} {:>6} {:>10} {:>6} {:>14}{}\n", context.planned.id,
                       format_hex(context.planned.se_mask), context.planned.cu,
                       bits_text(context.planned.simd_mask),
                       format_size(context.planned.buffer_bytes), context.runs,
                       grouped(context.bytes), note.empty() ? "" : "  " + note);
}

/// All lines if they are few; else those that say something is wrong, and how many are left out.
std::string context_lines(const Summary& summary) {
    const bool all = summary.contexts.size() <= kMostLines;
    std::string lines;
    std::size_t shown = 0;
    for (const ContextSummary& context : summary.contexts) {
        if (shown == kMostLines || (!all && context_note(context).empty())) continue;
        lines += context_line(context);
        ++shown;
    }
    if (shown == 0 && !all)
        return fmt::format("  nothing to note on any of {} contexts: wavetap health {}\n",
                           grouped(summary.contexts.size()), summary.dir);
    std::string text = fmt::format("{:>9} {:>8} {:>4} {:>6} {:>10} {:>6} {:>14}\n", "context",
                                   "engines", "CU", "SIMDs", "buffer", "runs", "bytes") +
                       lines;
    if (shown < summary.contexts.size())
        text += fmt::format("{:>9} {} more: wavetap health {}\n", "…",
                            grouped(summary.contexts.size() - shown), summary.dir);
    return text;
}

std::string resources_line(const Summary& summary) {
    std::string text;
    const auto add = [&text](const std::string& words) {
        text += (text.empty() ? "" : " · ") + words;
    };
    const ordered_json agents = ordered_json::parse(summary.agents_json);
    for (const ordered_json& agent : agents) {
        if (agents.size() > 1)
            add(fmt::format("agent {}: {}", agent.value("agent", std::uint64_t{0}),
                            count_of(agent.value("contexts", std::uint64_t{0}), "context")));
        add(count_of(agent.value("queues_created", std::uint64_t{0}), "queue") + " of wavetap");
        const auto slots = agent.value("output_slots", std::uint64_t{0});
        const std::string bytes = size_text(agent.value("output_bytes", std::uint64_t{0}));
        add(count_of(slots, "output slot") +
            (slots > 1 ? ", " + bytes + " in all" : " of " + bytes));
        if (const auto refused = agent.value("refused", std::uint64_t{0}); refused != 0)
            add(count_of(refused, "start") + " refused");
    }
    const ordered_json driver = ordered_json::parse(summary.driver_json);
    if (driver.is_object() && driver.contains("queues_by_owner"))
        add("the driver counts " +
            count_of(driver["queues_by_owner"].value("wavetap", std::uint64_t{0}),
                     "wavetap queue"));
    return text.empty() ? "" : "  " + text + "\n";
}

ordered_json optional_json(const std::optional<std::uint64_t>& value) {
    return value ? ordered_json(*value) : ordered_json();
}

ordered_json context_json(const ContextSummary& context) {
    return {{"id", context.planned.id},
            {"agent", context.planned.agent},
            {"se_mask", context.planned.se_mask},
            {"cu", context.planned.cu},
            {"simd_mask", context.planned.simd_mask},
            {"buffer_bytes", context.planned.buffer_bytes},
            {"runs", context.runs},
            {"bytes", context.bytes},
            {"waves", optional_json(context.waves)},
            {"waves_on_target", optional_json(context.waves_on_target)},
            {"killed", context.killed},
            {"dropped", context.dropped},
            {"full", context.full},
            {"buffers", context.planned.buffers},
            {"flips", context.flips},
            {"cpu_full", context.cpu_full},
            {"gpu_full", context.gpu_full},
            {"captured", context.captured()}};
}

} // namespace

std::uint64_t Summary::captured() const {
    return static_cast<std::uint64_t>(
        std::count_if(contexts.begin(), contexts.end(),
                      [](const ContextSummary& context) { return context.captured(); }));
}

Result<Summary> summarize(const store::TraceFolder& folder, const Plan& plan) {
    Summary summary;
    summary.dir = folder.dir;
    summary.timing = plan.modelled ? "modelled" : "hardware";
    for (const PlannedContext& context : plan.contexts)
        summary.contexts.emplace_back().planned = context;
    ordered_json agents = ordered_json::array();
    ordered_json driver;
    for (const store::ProcessTrace& process : folder.processes) {
        ++summary.processes;
        if (!process.complete) ++summary.killed_processes;
        summary.dispatches += process.dispatches.size();
        summary.notes.insert(summary.notes.end(), process.notes.begin(), process.notes.end());
        if (!process.agents.empty()) {
            summary.chip = process.agents.front().name;
            summary.timing = process.agents.front().timing;
        }
        add_runs(process, summary.chip, summary);
        if (!process.statistics_json.empty()) {
            const ordered_json statistics = ordered_json::parse(process.statistics_json);
            for (ordered_json agent : statistics.value("agents", ordered_json::array())) {
                agent["pid"] = process.pid;
                agents.push_back(std::move(agent));
            }
        }
        if (!process.driver_file.empty()) {
            WAVETAP_TRY(const ordered_json counts, read_driver(process.driver_file));
            add_numbers(driver, counts);
        }
    }
    WAVETAP_CHECK_OK(add_health(folder, summary));
    summary.agents_json = dump(agents, -1);
    summary.driver_json = dump(driver, -1);
    return summary;
}

std::string summary_text(const Summary& summary) {
    std::string text =
        fmt::format("wavetap: {}/{} captured · {} · {} seen · timing: {}\n", summary.captured(),
                    summary.contexts.size(), summary.chip.empty() ? "no GPU used" : summary.chip,
                    count_of(summary.dispatches, "dispatch"), summary.timing);
    text += resources_line(summary);
    text += context_lines(summary);
    for (const auto& [severity, words] : summary.notes)
        text += fmt::format("  {}: {}\n", severity, words);
    if (summary.killed_processes != 0)
        text += fmt::format("  warning: {} ended without closing its trace; what was written is "
                            "kept\n",
                            count_of(summary.killed_processes, "process"));
    text += fmt::format("  next: wavetap report {}\n", summary.dir);
    return text;
}

std::string summary_json(const Summary& summary) {
    ordered_json contexts = ordered_json::array();
    for (const ContextSummary& context : summary.contexts)
        contexts.push_back(context_json(context));
    ordered_json notes = ordered_json::array();
    for (const auto& [severity, words] : summary.notes)
        notes.push_back({{"severity", severity}, {"text", words}});
    const ordered_json object = {{"format", "wavetap-summary"},
                                 {"version", 1},
                                 {"dir", summary.dir},
                                 {"program", summary.program},
                                 {"status", summary.status},
                                 {"chip", summary.chip},
                                 {"timing", summary.timing},
                                 {"captured", summary.captured()},
                                 {"processes", summary.processes},
                                 {"killed_processes", summary.killed_processes},
                                 {"dispatches", summary.dispatches},
                                 {"agents", ordered_json::parse(summary.agents_json)},
                                 {"driver", ordered_json::parse(summary.driver_json)},
                                 {"contexts", std::move(contexts)},
                                 {"notes", std::move(notes)}};
    return dump(object, 2);
}

Error nothing_captured(const Summary& summary) {
    Error error{ErrorCode::kUnavailable, "nothing was captured", summary.dir, ""};
    if (summary.processes == 0) {
        error.message += ": no process loaded the HSA runtime with the trace tool";
        error.hint = "is it a ROCr or HIP program? Static and setuid programs cannot be traced";
        return error;
    }
    for (const auto& [severity, words] : summary.notes) {
        if (severity != "error") continue;
        error.message += ": " + words;
        error.hint = "`wavetap doctor` shows what is missing";
        return error;
    }
    if (std::any_of(summary.contexts.begin(), summary.contexts.end(),
                    [](const ContextSummary& context) { return context.killed != 0; })) {
        error.message += ": the process ended before a run was stopped";
        error.hint = "what it had written is kept: `wavetap health " + summary.dir + "`";
        return error;
    }
    if (summary.dispatches == 0) {
        error.message += ": the program launched no kernel";
        error.hint = "--allow-empty makes this a success";
        return error;
    }
    const bool any_run = std::any_of(summary.contexts.begin(), summary.contexts.end(),
                                     [](const ContextSummary& c) { return c.runs != 0; });
    error.message += any_run ? ": no bytes reached the buffers" : ": no context was started";
    error.hint = any_run ? "`wavetap health " + summary.dir + "` says why each run stopped"
                         : "did --kernel or --kernel-exclude leave any kernel?";
    return error;
}

} // namespace wavetap::cli
