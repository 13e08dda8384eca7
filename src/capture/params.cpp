// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/params.hpp"

#include "base/units.hpp"
#include "capture/slot_plan.hpp"
#include "pm4/perf_counters.hpp"

#include <algorithm>

namespace wavetap::capture {

namespace {

constexpr std::uint64_t kLargestClockKhz = 0xFFFFF; // 20 bits of the agent-info marker

Error out_of_range(std::string_view name, std::uint64_t value, std::string range) {
    return Error{ErrorCode::kInvalidArgument,
                 std::string(name) + " = " + std::to_string(value) + " is outside " +
                     std::move(range),
                 "trace parameters", ""};
}

Result<void> check_range(std::string_view name, std::uint64_t value, std::uint64_t low,
                         std::uint64_t high) {
    if (value < low || value > high)
        return out_of_range(name, value, std::to_string(low) + ".." + std::to_string(high));
    return {};
}

Result<void> check_engines(const TraceParams& params, const AgentTopology& agent) {
    const std::uint32_t engines = engine_count(agent);
    const std::uint64_t existing =
        engines >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << engines) - 1;
    if (params.se_mask != 0 && (params.se_mask & ~existing) == 0) return {};
    return Error{
        ErrorCode::kInvalidArgument,
        "se_mask = " + format_hex(params.se_mask) + " does not select engines of " + agent.gfx,
        "trace parameters", "bits 0.." + std::to_string(engines - 1) + " are shader engines there"};
}

Result<void> check_target(const TraceParams& params, const AgentTopology& agent) {
    WAVETAP_CHECK_OK(check_range("target_cu", params.target_cu, 0, 15));
    const std::uint32_t targets = targets_per_engine(agent);
    if (params.target_cu < targets) return {};
    Error error = out_of_range("target_cu", params.target_cu, "0.." + std::to_string(targets - 1));
    error.hint = "an engine of " + agent.gfx + " has " + std::to_string(targets) +
                 (names_one_simd(agent) ? " work-group processors" : " compute units");
    return error;
}

Result<void> check_buffers(const TraceParams& params) {
    constexpr std::uint64_t kLargest = std::uint64_t{1} << 48;
    if (params.buffer_bytes < kMiB || params.buffer_bytes > kLargest) {
        Error error = out_of_range("buffer_bytes", params.buffer_bytes, "1 MiB..256 TiB");
        error.hint = "the buffer is shared by all selected shader engines";
        return error;
    }
    if (params.buffers == 2 || params.buffers > 16 || params.buffers == 0)
        return out_of_range("buffers", params.buffers, "1, 3..16");
    if (params.stream_rate == 0)
        return out_of_range("stream_rate", params.stream_rate, "1.. bytes a second");
    WAVETAP_CHECK_OK(check_range("several_engines", params.several_engines, 0, 1));
    WAVETAP_CHECK_OK(check_range("as_ready", params.as_ready, 0, 1));
    return check_range("end_on_full", params.end_on_full, 0, TraceParams::kFullAsChip);
}

Result<void> check_perf_counters(const TraceParams& params, const AgentTopology& agent) {
    constexpr std::uint64_t kLargestPeriod = 32, kLargestMask = 0xFFFFFFFF;
    WAVETAP_CHECK_OK(check_range("perf_counter_count", params.perf_counter_count, 0,
                                 params.perf_counters.size()));
    WAVETAP_CHECK_OK(check_range("perf_period", params.perf_period, 0, kLargestPeriod));
    WAVETAP_CHECK_OK(check_range("perf_exclude_mask", params.perf_exclude_mask, 0, kLargestMask));
    const bool any =
        params.perf_counter_count != 0 || params.perf_period != 0 || params.perf_exclude_mask != 0;
    if (any && pm4::generation_of(agent.gfx) != pm4::Generation::kGfx9)
        return Error{ErrorCode::kInvalidArgument,
                     "performance counters: the trace of " + agent.gfx + " has none",
                     "trace parameters", "gfx90a, gfx942 and gfx950 have them"};
    for (std::size_t i = 0; i < params.perf_counter_count; ++i) {
        const PerfCounterParam& counter = params.perf_counters[i];
        const std::string name = "perf_counters[" + std::to_string(i) + "]";
        WAVETAP_CHECK_OK(check_range(name + ".simd_mask", counter.simd_mask, 1, 0xf));
        if (counter.id > kLargestMask ||
            pm4::counter_name(agent.gfx, static_cast<std::uint32_t>(counter.id)).empty())
            return Error{ErrorCode::kInvalidArgument,
                         name + ".id = " + std::to_string(counter.id) + ": " + agent.gfx +
                             " has no such SQ counter",
                         "trace parameters", "SQ_WAVES is 4 on every gfx9 chip"};
    }
    return {};
}

void set_perf_counters(pm4::TraceConfig& config, const TraceParams& params) {
    if (params.perf_period == 0) return;
    for (std::size_t i = 0; i < params.perf_counter_count; ++i)
        config.counters.push_back({static_cast<std::uint32_t>(params.perf_counters[i].id),
                                   static_cast<std::uint32_t>(params.perf_counters[i].simd_mask)});
    if (config.counters.empty()) return;
    config.counter_rate = static_cast<std::uint32_t>(params.perf_period - 1);
    config.counter_cu_mask = ~static_cast<std::uint32_t>(params.perf_exclude_mask);
}

} // namespace

pm4::TraceTopology pm4_topology(const AgentTopology& agent) {
    return pm4::TraceTopology{agent.gfx, agent.xccs, agent.engines_per_xcc, agent.cus_per_engine};
}

bool names_one_simd(const AgentTopology& agent) {
    return !agent.gfx.starts_with("gfx9");
}

std::uint32_t targets_per_engine(const AgentTopology& agent) {
    return names_one_simd(agent) ? (agent.cus_per_engine + 1) / 2 : agent.cus_per_engine;
}

std::uint32_t simds_per_target(const AgentTopology& agent) {
    return names_one_simd(agent) ? 4 : agent.simds_per_cu;
}

bool ends_on_full(const AgentTopology& agent) {
    return pm4::generation_of(agent.gfx) != pm4::Generation::kGfx11;
}

Result<ValidatedParams> ValidatedParams::create(const TraceParams& params,
                                                const AgentTopology& agent) {
    WAVETAP_CHECK_OK(check_engines(params, agent));
    WAVETAP_CHECK_OK(check_target(params, agent));
    WAVETAP_CHECK_OK(check_range("simd_mask", params.simd_mask, 1,
                                 (std::uint64_t{1} << simds_per_target(agent)) - 1));
    WAVETAP_CHECK_OK(check_buffers(params));
    if (params.buffers > 1 && pm4::generation_of(agent.gfx) != pm4::Generation::kGfx9)
        return Error{ErrorCode::kUnsupported,
                     "buffers = " + std::to_string(params.buffers) + ": " + agent.gfx +
                         " cannot stream through several buffers in this version",
                     "trace parameters", "use one buffer; gfx90a, gfx942 and gfx950 can stream"};
    WAVETAP_CHECK_OK(check_range("detail", params.detail, 0, 1));
    WAVETAP_CHECK_OK(check_range("clock_markers", params.clock_markers, 0, 1));
    WAVETAP_CHECK_OK(check_range("dispatch", params.dispatch, 0, 1));
    if (params.dispatch != 0 && params.buffers > 1)
        return Error{ErrorCode::kUnsupported,
                     "buffers = " + std::to_string(params.buffers) +
                         ": a trace of single dispatches has one",
                     "trace parameters", "use one buffer, or device mode"};
    WAVETAP_CHECK_OK(check_range("serialize_all", params.serialize_all, 0, 1));
    if (params.serialize_all != 0 && params.dispatch == 0)
        return Error{ErrorCode::kInvalidArgument,
                     "serialize_all = 1: device mode holds no dispatch back", "trace parameters",
                     "use dispatch mode"};
    WAVETAP_CHECK_OK(check_perf_counters(params, agent));

    ValidatedParams valid;
    valid.buffers_ = static_cast<std::uint32_t>(params.buffers);
    if (params.dispatch != 0) valid.lease_slots_ = lease_slots_of(params.buffer_bytes);
    valid.serialize_all_ = params.serialize_all != 0;
    pm4::TraceConfig& config = valid.config_;
    config.se_mask = params.se_mask;
    config.target_cu = static_cast<std::uint32_t>(params.target_cu);
    config.simd_mask = static_cast<std::uint32_t>(params.simd_mask);
    const bool all = config.simd_mask == (1u << simds_per_target(agent)) - 1;
    if (names_one_simd(agent) && all) config.simd_mask = 1;
    config.buffer_bytes = params.buffer_bytes;
    config.buffers = params.buffers > 1 ? kMaxOutputSlots : 1;
    config.several_engines = params.buffers > 1 && params.several_engines != 0;
    const bool ends = params.end_on_full == TraceParams::kFullAsChip
                          ? ends_on_full(agent)
                          : params.end_on_full == TraceParams::kFullEnds;
    valid.stream_ = {params.stream_rate, params.as_ready != 0, ends};
    config.detail = params.detail != 0;
    config.clock_markers = params.clock_markers != 0;
    config.clock_khz = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(agent.counter_hz / 1000, kLargestClockKhz));
    set_perf_counters(config, params);
    if (auto capacity = pm4::capacity_per_engine(pm4_topology(agent), config); !capacity)
        return std::move(capacity.error());
    return valid;
}

Result<void> set_param(TraceParams& params, std::string_view name, std::uint64_t value) {
    const struct {
        std::string_view name;
        std::uint64_t TraceParams::*member;
    } table[] = {{"se_mask", &TraceParams::se_mask},
                 {"target_cu", &TraceParams::target_cu},
                 {"simd_mask", &TraceParams::simd_mask},
                 {"buffer_bytes", &TraceParams::buffer_bytes},
                 {"buffers", &TraceParams::buffers},
                 {"several_engines", &TraceParams::several_engines},
                 {"stream_rate", &TraceParams::stream_rate},
                 {"as_ready", &TraceParams::as_ready},
                 {"end_on_full", &TraceParams::end_on_full},
                 {"detail", &TraceParams::detail},
                 {"clock_markers", &TraceParams::clock_markers},
                 {"dispatch", &TraceParams::dispatch},
                 {"serialize_all", &TraceParams::serialize_all},
                 {"perf_counter_count", &TraceParams::perf_counter_count},
                 {"perf_period", &TraceParams::perf_period},
                 {"perf_exclude_mask", &TraceParams::perf_exclude_mask}};
    for (const auto& row : table)
        if (row.name == name) {
            params.*row.member = value;
            return {};
        }
    return Error{ErrorCode::kInvalidArgument, "unknown trace parameter " + std::string(name), "",
                 ""};
}

} // namespace wavetap::capture
