// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/plan.hpp"

#include "base/units.hpp"
#include "cli/words.hpp"
#include "pm4/perf_counters.hpp"
#include "softgpu/perf_unit.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <map>
#include <regex>

namespace wavetap::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::uint64_t kDefaultBuffer = 128 * kMiB;
/// The software GPU runs on the host's cores, thousands of times slower than silicon.
constexpr int kModelledDeadlineScale = 30;
/// Bytes a second that one engine may write, by which the tool looks for full buffers.
constexpr std::uint64_t kStreamRate = 60'000'000'000;
constexpr std::uint64_t kModelledStreamRate = 200'000'000;

Error at_option(Error error, const char* option) {
    error.where = option;
    return error;
}

Result<std::vector<std::uint64_t>> sizes_option(const std::string& text) {
    std::vector<std::uint64_t> sizes;
    if (text.empty()) sizes.push_back(kDefaultBuffer);
    for (const std::string_view part : split(text, ',')) {
        const Result<std::uint64_t> size = parse_size(part);
        if (!size) return at_option(size.error(), "--buffer");
        sizes.push_back(*size);
    }
    return sizes;
}

Result<std::uint32_t> simds_option(const std::string& text, const ChipShape& chip) {
    const std::uint32_t count = capture::simds_per_target(chip.topology);
    if (text.empty()) return (1u << (capture::names_one_simd(chip.topology) ? 1 : count)) - 1;
    std::uint32_t mask = 0;
    for (const std::string_view part : split(text, ',')) {
        WAVETAP_TRY(const std::uint64_t simd,
                    number_option(std::string(part), "--simd", 0, count - 1));
        mask |= 1u << simd;
    }
    return mask;
}

Result<void> check_regex(const std::string& text, const char* option) {
    try {
        static_cast<void>(std::regex(text));
        return {};
    } catch (const std::regex_error& error) {
        return Error{ErrorCode::kInvalidArgument, "'" + text + "' is not a regular expression",
                     option, error.what()};
    }
}

Result<std::vector<std::uint32_t>> buffers_option(const std::string& text) {
    std::vector<std::uint32_t> counts;
    if (text.empty()) counts.push_back(1);
    for (const std::string_view part : split(text, ',')) {
        WAVETAP_TRY(const std::uint64_t count,
                    number_option(std::string(part), "--buffers", 1, 16));
        counts.push_back(static_cast<std::uint32_t>(count));
    }
    return counts;
}

/// One of "SQ_WAVES", "SQ_WAVES:0x3", "26:1".
Result<capture::PerfCounterParam> counter_option(std::string_view text, const ChipShape& chip) {
    constexpr const char* kOption = "--perf-counter";
    const std::string& gfx = chip.topology.gfx;
    if (capture::names_one_simd(chip.topology))
        return Error{ErrorCode::kInvalidArgument, "the trace of " + gfx + " has no counters",
                     kOption, "gfx90a, gfx942 and gfx950 have them"};
    capture::PerfCounterParam counter;
    const std::size_t colon = text.find(':');
    const std::string name(text.substr(0, colon));
    if (colon != std::string_view::npos) {
        WAVETAP_TRY(counter.simd_mask,
                    number_option(std::string(text.substr(colon + 1)), kOption, 1, 0xf));
    }
    const bool digits = !name.empty() && name.front() >= '0' && name.front() <= '9';
    if (digits) {
        WAVETAP_TRY(counter.id, number_option(name, kOption, 1, 0x1ff));
    } else {
        counter.id = pm4::counter_id(gfx, name).value_or(0);
    }
    const std::string_view known = pm4::counter_name(gfx, static_cast<std::uint32_t>(counter.id));
    if (known.empty())
        return Error{ErrorCode::kInvalidArgument, gfx + " has no SQ counter '" + name + "'",
                     kOption, "names are those of rocprofv3, e.g. SQ_WAVES or SQ_INSTS_VALU:0x3"};
    if (chip.modelled && !softgpu::models_counter(known))
        return Error{ErrorCode::kUnsupported,
                     "the software GPU does not count " + std::string(known), kOption,
                     "docs/hardware.md has those that it counts"};
    return counter;
}

Result<void> counter_options(const RecordOptions& options, const ChipShape& chip,
                             PlannedContext& context) {
    constexpr std::uint64_t kUsualPeriod = 10;
    for (const std::string_view part : split(options.perf_counters, ',')) {
        WAVETAP_TRY(const auto counter, counter_option(part, chip));
        context.perf_counters.push_back(counter);
    }
    if (context.perf_counters.empty()) {
        if (options.perf_period.empty() && options.perf_exclude.empty()) return {};
        return Error{ErrorCode::kInvalidArgument, "there is no counter to sample",
                     options.perf_period.empty() ? "--perf-exclude" : "--perf-period",
                     "add --perf-counter SQ_WAVES"};
    }
    context.perf_period = kUsualPeriod;
    if (!options.perf_period.empty()) {
        WAVETAP_TRY(context.perf_period,
                    number_option(options.perf_period, "--perf-period", 1, 32));
    }
    if (!options.perf_exclude.empty()) {
        WAVETAP_TRY(context.perf_exclude_mask,
                    number_option(options.perf_exclude, "--perf-exclude", 0, 0xffffffff));
    }
    constexpr std::size_t kMost = pm4::kMaxTraceCounters;
    if (context.perf_counters.size() > kMost)
        return Error{ErrorCode::kInvalidArgument,
                     fmt::format("{} counters, at most {} fit into a trace",
                                 context.perf_counters.size(), kMost),
                     "--perf-counter", ""};
    return {};
}

struct Sweep {
    bool se = false, cu = false, simd = false;
    bool any() const { return se || cu || simd; }
};

Result<Sweep> sweep_option(const std::string& text) {
    Sweep sweep;
    for (const std::string_view part : split(text, ',')) {
        if (part == "se") {
            sweep.se = true;
        } else if (part == "cu") {
            sweep.cu = true;
        } else if (part == "simd") {
            sweep.simd = true;
        } else {
            return Error{ErrorCode::kInvalidArgument, "'" + std::string(part) + "' cannot be swept",
                         "--sweep", "write a list of se, cu and simd"};
        }
    }
    return sweep;
}

/// Whether any of the engines has this CU.
bool exists(const ChipShape& chip, std::uint64_t se_mask, std::uint32_t cu) {
    for (const auto& [engine, fused_cu] : chip.harvested) {
        if (fused_cu == cu) se_mask &= ~(std::uint64_t{1} << engine);
    }
    return se_mask != 0;
}

/// One context for each combination of what is swept; CUs that are fused off are left out.
std::vector<PlannedContext> swept(const Sweep& sweep, const PlannedContext& base,
                                  const ChipShape& chip) {
    const std::uint32_t engines = sweep.se ? engine_count(chip.topology) : 1;
    const std::uint32_t cus = sweep.cu ? capture::targets_per_engine(chip.topology) : 1;
    const std::uint32_t simds = sweep.simd ? capture::simds_per_target(chip.topology) : 1;
    std::vector<PlannedContext> contexts;
    for (std::uint32_t engine = 0; engine < engines; ++engine) {
        for (std::uint32_t cu = 0; cu < cus; ++cu) {
            PlannedContext context = base;
            if (sweep.se) context.se_mask = std::uint64_t{1} << engine;
            if (sweep.cu) context.cu = cu;
            if (!exists(chip, context.se_mask, context.cu)) continue;
            for (std::uint32_t simd = 0; simd < simds; ++simd) {
                if (sweep.simd) context.simd_mask = 1u << simd;
                contexts.push_back(context);
            }
        }
    }
    return contexts;
}

/// `--contexts N`: what the user did not fix varies from context to context.
PlannedContext varied(PlannedContext context, const RecordOptions& options, std::uint64_t i) {
    if (options.cu.empty()) context.cu = static_cast<std::uint32_t>(i % 4);
    if (options.se.empty()) context.se_mask = i % 2 == 0 ? 0x1 : 0x3;
    if (options.simd.empty()) context.simd_mask = 1u << (i % 4);
    // A ring serves one engine unless asked for by name.
    if (options.se.empty() && context.buffers > 1 && !context.several_engines)
        context.se_mask = i % 2 == 0 ? 0x1 : 0x2;
    return context;
}

Result<void> check(const PlannedContext& context, const ChipShape& chip) {
    capture::TraceParams params;
    params.se_mask = context.se_mask;
    params.target_cu = context.cu;
    params.simd_mask = context.simd_mask;
    params.buffer_bytes = context.buffer_bytes;
    params.buffers = context.buffers;
    params.detail = context.detail ? 1 : 0;
    params.several_engines = context.several_engines ? 1 : 0;
    params.stream_rate = context.stream_rate;
    params.perf_counter_count = context.perf_counters.size();
    std::ranges::copy(context.perf_counters, params.perf_counters.begin());
    params.perf_period = context.perf_period;
    params.perf_exclude_mask = context.perf_exclude_mask;
    const auto valid = capture::ValidatedParams::create(params, chip.topology);
    if (!valid) return at_option(valid.error(), fmt::format("context {}", context.id).c_str());
    if (!exists(chip, context.se_mask, context.cu))
        return Error{ErrorCode::kInvalidArgument,
                     fmt::format("CU {} is fused off in the selected shader engines", context.cu),
                     "--cu", ""};
    return {};
}

Result<PlannedContext> base_context(const RecordOptions& options, const ChipShape& chip) {
    PlannedContext context;
    if (!options.se.empty()) {
        WAVETAP_TRY(context.se_mask, number_option(options.se, "--se", 1, ~std::uint64_t{0}));
    }
    if (!options.cu.empty()) {
        WAVETAP_TRY(const std::uint64_t cu, number_option(options.cu, "--cu", 0, 15));
        context.cu = static_cast<std::uint32_t>(cu);
    }
    WAVETAP_TRY(context.simd_mask, simds_option(options.simd, chip));
    context.several_engines = options.stream_engines;
    context.stream_rate = chip.modelled ? kModelledStreamRate : kStreamRate;
    if (!options.stream_rate.empty()) {
        const Result<std::uint64_t> rate = parse_size(options.stream_rate);
        if (!rate) return at_option(rate.error(), "--stream-rate");
        context.stream_rate = *rate;
    }
    if (!options.on_full.empty()) context.on_full = options.on_full;
    if (context.on_full != "restart" && context.on_full != "end" && context.on_full != "chip")
        return Error{ErrorCode::kInvalidArgument,
                     "'" + context.on_full + "' is nothing that a trace can do", "--on-full",
                     "write restart, end or chip"};
    context.detail = !options.no_detail;
    context.serialize_all = options.serialize_all;
    WAVETAP_CHECK_OK(counter_options(options, chip, context));
    return context;
}

/// The agents that are traced, in rising order.
Result<std::vector<std::uint32_t>> agents_option(const std::string& text, const ChipShape& chip) {
    std::vector<std::uint32_t> agents;
    if (text.empty()) {
        for (std::uint32_t i = 0; i < chip.agents; ++i)
            agents.push_back(i);
        return agents;
    }
    for (const std::string_view part : split(text, ',')) {
        WAVETAP_TRY(const std::uint64_t agent,
                    number_option(std::string(part), "--agent", 0, chip.agents - 1));
        agents.push_back(static_cast<std::uint32_t>(agent));
    }
    std::sort(agents.begin(), agents.end());
    if (std::adjacent_find(agents.begin(), agents.end()) != agents.end())
        return Error{ErrorCode::kInvalidArgument, "'" + text + "' names an agent twice", "--agent",
                     ""};
    return agents;
}

Result<std::vector<PlannedContext>> make_contexts(const RecordOptions& options,
                                                  const ChipShape& chip) {
    WAVETAP_TRY(const PlannedContext base, base_context(options, chip));
    WAVETAP_TRY(const Sweep sweep, sweep_option(options.sweep));
    std::uint64_t count = 0; // 0 = not given
    if (!options.contexts.empty()) {
        WAVETAP_TRY(count, number_option(options.contexts, "--contexts", 1, kMostContexts));
    }
    const std::vector<PlannedContext> choices =
        sweep.any() ? swept(sweep, base, chip) : std::vector{base};
    if (choices.empty())
        return Error{ErrorCode::kInvalidArgument, "no compute unit is left to sweep", "--cu", ""};
    WAVETAP_TRY(const std::vector<std::uint64_t> sizes, sizes_option(options.buffer));
    WAVETAP_TRY(const std::vector<std::uint32_t> buffers, buffers_option(options.buffers));

    WAVETAP_TRY(const std::vector<std::uint32_t> agents, agents_option(options.agents, chip));
    const std::uint64_t all = count != 0 ? count : choices.size() * agents.size();

    std::vector<PlannedContext> contexts;
    for (std::uint64_t i = 0; i < all; ++i) {
        const std::uint64_t turn = i / agents.size(); // of this agent
        PlannedContext context = choices[turn % choices.size()];
        context.buffers = buffers[turn % buffers.size()];
        if (count != 0 && !sweep.any()) context = varied(context, options, turn);
        context.id = static_cast<std::uint32_t>(i);
        context.agent = agents[i % agents.size()];
        // Every size with every number of buffers.
        context.buffer_bytes = sizes[turn / buffers.size() % sizes.size()];
        WAVETAP_CHECK_OK(check(context, chip));
        contexts.push_back(context);
    }
    return contexts;
}

ordered_json context_json(const Plan& plan, const PlannedContext& context) {
    ordered_json json = {{"id", context.id},
                         {"agent", context.agent},
                         {"se_mask", context.se_mask},
                         {"cu", context.cu},
                         {"simd_mask", context.simd_mask},
                         {"buffer_bytes", context.buffer_bytes},
                         {"buffers", context.buffers},
                         {"detail", context.detail},
                         {"mode", plan.mode}};
    if (context.serialize_all) json["serialize_all"] = true;
    if (context.buffers > 1) {
        json["several_engines"] = context.several_engines;
        json["stream_rate"] = context.stream_rate;
        json["on_full"] = context.on_full;
    }
    if (!context.perf_counters.empty()) {
        json["perf_counters"] = ordered_json::array();
        for (const capture::PerfCounterParam& counter : context.perf_counters)
            json["perf_counters"].push_back({{"id", counter.id}, {"simd_mask", counter.simd_mask}});
        json["perf_period"] = context.perf_period;
        json["perf_exclude_mask"] = context.perf_exclude_mask;
    }
    if (context.handler_slowness != 0) json["handler_slowness"] = context.handler_slowness;
    if (context.hub_stall != 0) json["hub_stall"] = context.hub_stall;
    return json;
}

ordered_json contexts_json(const Plan& plan) {
    ordered_json contexts = ordered_json::array();
    for (const PlannedContext& context : plan.contexts)
        contexts.push_back(context_json(plan, context));
    return contexts;
}

} // namespace

Result<std::uint64_t> number_option(const std::string& text, const char* option,
                                    std::uint64_t least, std::uint64_t most) {
    const Result<std::uint64_t> value = parse_number(text);
    if (!value) return at_option(value.error(), option);
    if (*value >= least && *value <= most) return value;
    const bool unlimited = most == ~std::uint64_t{0};
    return Error{ErrorCode::kInvalidArgument,
                 unlimited ? fmt::format("{} is less than {}", *value, least)
                           : fmt::format("{} is outside {}..{}", *value, least, most),
                 option, ""};
}

Result<Plan> make_plan(const RecordOptions& options, const ChipShape& chip) {
    Plan plan;
    // A dispatch-mode trace has one buffer, so who asks for more means device mode.
    const bool many_buffers = !options.buffers.empty() && options.buffers != "1";
    plan.mode = !options.mode.empty() ? options.mode : many_buffers ? "device" : "dispatch";
    if (plan.mode != "device" && plan.mode != "dispatch")
        return Error{ErrorCode::kInvalidArgument, "'" + plan.mode + "' is not a mode", "--mode",
                     "the modes are device and dispatch"};
    if (options.every_launch && plan.mode != "dispatch")
        return Error{ErrorCode::kInvalidArgument, "device mode traces windows, not launches",
                     "--every-launch", "add --mode dispatch"};
    if (options.serialize_all && plan.mode != "dispatch")
        return Error{ErrorCode::kInvalidArgument, "device mode holds no dispatch back",
                     "--serialize-all", "add --mode dispatch"};
    if (many_buffers && plan.mode == "dispatch")
        return Error{ErrorCode::kUnsupported, "a trace of one dispatch has one buffer", "--buffers",
                     "add --mode device"};
    if (!options.on_full.empty() && !many_buffers)
        return Error{ErrorCode::kInvalidArgument, "with one buffer a trace ends when it is full",
                     "--on-full", "add --buffers 3"};
    plan.every_launch = options.every_launch;
    WAVETAP_TRY(plan.contexts, make_contexts(options, chip));
    if (!options.window.empty()) {
        WAVETAP_TRY(plan.window, number_option(options.window, "--window", 1, 1'000'000));
    }
    if (!options.packets.empty()) plan.packets = options.packets;
    if (plan.packets != "wavetap" && plan.packets != "aqlprofile")
        return Error{ErrorCode::kInvalidArgument,
                     "'" + plan.packets + "' makes no packets that we know", "--packets",
                     "write wavetap or aqlprofile"};
    WAVETAP_CHECK_OK(check_regex(options.kernel, "--kernel"));
    WAVETAP_CHECK_OK(check_regex(options.kernel_exclude, "--kernel-exclude"));
    plan.kernel = options.kernel;
    plan.kernel_exclude = options.kernel_exclude;
    std::map<std::uint32_t, std::size_t> of_agent;
    for (const PlannedContext& context : plan.contexts)
        plan.rotate = ++of_agent[context.agent] > 1 || plan.rotate;
    plan.modelled = chip.modelled;
    return plan;
}

std::string tool_config(const Plan& plan, const std::string& dir) {
    const ordered_json config = {{"dir", dir},
                                 {"contexts", contexts_json(plan)},
                                 {"window", plan.window},
                                 {"rotate", plan.rotate},
                                 {"sharing", plan.sharing},
                                 {"turns", plan.turns},
                                 {"every_launch", plan.every_launch},
                                 {"kernel", plan.kernel},
                                 {"kernel_exclude", plan.kernel_exclude},
                                 {"packets", plan.packets},
                                 {"aqlprofile_library", plan.aqlprofile_library},
                                 {"timing", plan.modelled ? "modelled" : "hardware"},
                                 {"deadline_scale", plan.modelled ? kModelledDeadlineScale : 1}};
    return config.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

namespace {

std::string counters_text(const PlannedContext& context) {
    if (context.perf_counters.empty()) return "";
    return fmt::format("  {} with period {}", count_of(context.perf_counters.size(), "counter"),
                       context.perf_period);
}

} // namespace

std::string plan_text(const Plan& plan, const ChipShape& chip) {
    constexpr std::size_t kMostLines = 64;
    const bool several = chip.agents > 1;
    std::string text = fmt::format("{} on {}{}, {} mode", count_of(plan.contexts.size(), "context"),
                                   several ? fmt::format("{} agents of ", chip.agents) : "",
                                   chip.topology.gfx, plan.mode);
    if (plan.rotate)
        text += fmt::format(", the next one every {}", count_of(plan.window, "dispatch"));
    text += fmt::format("\n{:>8}{} {:>8} {:>4} {:>6} {:>10} {:>8}\n", "context",
                        several ? "  agent" : "", "engines", "CU", "SIMDs", "buffer", "buffers");
    for (std::size_t i = 0; i < std::min(plan.contexts.size(), kMostLines); ++i) {
        const PlannedContext& context = plan.contexts[i];
        text +=
            fmt::format("{:>8}{} {:>8} {:>4} {:>6} {:>10} {:>8}{}\n", context.id,
                        several ? fmt::format("{:>7}", context.agent) : "",
                        format_hex(context.se_mask), context.cu, bits_text(context.simd_mask),
                        format_size(context.buffer_bytes), context.buffers,
                        (context.detail ? std::string() : "  no detail") + counters_text(context));
    }
    if (plan.contexts.size() > kMostLines)
        text += fmt::format("{:>8} {} more\n", "…", plan.contexts.size() - kMostLines);
    return text;
}

std::string plan_json(const Plan& plan, const ChipShape& chip) {
    const ordered_json object = {{"format", "wavetap-plan"},
                                 {"version", 1},
                                 {"chip", chip.topology.gfx},
                                 {"agents", chip.agents},
                                 {"mode", plan.mode},
                                 {"timing", plan.modelled ? "modelled" : "hardware"},
                                 {"window", plan.window},
                                 {"rotate", plan.rotate},
                                 {"kernel", plan.kernel},
                                 {"kernel_exclude", plan.kernel_exclude},
                                 {"contexts", contexts_json(plan)}};
    return object.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

} // namespace wavetap::cli
