// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/verify_match.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

// The samples of performance counters.

namespace wavetap::cli {

namespace {

using softgpu::TruthSample;

/// Clock of a sample and its place; readers take 4 clocks a CU off a token's clock, so that all
/// samples of one moment have the same time.
using Key = std::tuple<std::uint64_t, unsigned, unsigned>;

std::uint64_t token_clock(const TruthSample& sample) {
    return sample.latched + 4ULL * sample.cu;
}

std::string values_text(const std::uint16_t* values) {
    std::string text;
    for (std::size_t i = 0; i < 4; ++i)
        text += (i == 0 ? "" : ", ") + std::to_string(values[i]);
    return text;
}

std::string place(const Key& key) {
    return "the sample of CU " + std::to_string(std::get<1>(key)) + " bank " +
           std::to_string(std::get<2>(key)) + " at clock " + std::to_string(std::get<0>(key));
}

/// Zeros that a reader fills gaps with, which the hardware does not write.
bool is_filler(const decode::PerfRecord& record) {
    return std::ranges::all_of(record.counters, [](std::uint16_t value) { return value == 0; });
}

/// Whether an engine sampled what the context asked for.
bool as_asked(const softgpu::TruthSampling& sampling, const store::ContextInfo& asked) {
    std::array<std::uint32_t, 8> counters{};
    for (std::size_t i = 0; i < std::min(counters.size(), asked.perf_counters.size()); ++i)
        counters[i] = asked.perf_counters[i].id | asked.perf_counters[i].simd_mask << 24;
    return sampling.counters == counters && sampling.period == asked.perf_period &&
           sampling.cu_mask == (~asked.perf_exclude_mask & 0xFFFF);
}

} // namespace

void StretchComparison::compare_sampling(VerifyContext& context) const {
    if (interval.arm >= interval.disarm) return;
    const auto samplings = truth.samplings(se, interval.arm, interval.disarm);
    const store::ContextInfo& asked = context.context;
    const bool wanted = !asked.perf_counters.empty() && (~asked.perf_exclude_mask & 0xFFFF) != 0;
    const std::string where = "run " + std::to_string(run) + ", SE " + std::to_string(se) + ": ";
    if (samplings.size() != (wanted ? 1 : 0)) {
        context.broken = true;
        add_fault(context, where + "the engine began to sample counters " +
                               std::to_string(samplings.size()) + " times, " +
                               (wanted ? "not once" : "which nobody asked for"));
    } else if (wanted && !as_asked(*samplings.front(), asked)) {
        context.broken = true;
        add_fault(context, where + "the engine sampled other counters than were asked for, other "
                                   "CUs, or with another period");
    }
}

void StretchComparison::compare_samples(VerifyContext& context) const {
    const std::string where = "run " + std::to_string(run) + ", SE " + std::to_string(se) + ": ";
    std::multimap<Key, const decode::PerfRecord*> traced;
    const std::uint64_t base = records != nullptr ? records->clock_base.value_or(0) : 0;
    if (records != nullptr)
        for (const decode::PerfRecord& record : records->perf)
            if (!is_filler(record))
                traced.emplace(Key{base + record.time, record.cu, record.bank}, &record);
    for (const TruthSample* sample : truth.samples(se)) {
        const std::uint64_t clock = token_clock(*sample);
        if (clock < interval.arm || clock >= interval.disarm) continue;
        const Key key{sample->latched, sample->cu, sample->bank};
        const auto found = traced.find(key);
        const bool dropped =
            clock >= interval.first_drop; // may be there, and then it has to be right
        if (found == traced.end() && dropped) continue;
        ++context.samples.expected;
        if (found == traced.end()) {
            ++context.samples.missing;
            add_fault(context, where + place(key) + " is not in the trace");
            continue;
        }
        const std::uint16_t* values = found->second->counters;
        if (std::equal(sample->counters.begin(), sample->counters.end(), values)) {
            ++context.samples.matched;
        } else {
            ++context.samples.differing;
            add_fault(context, where + place(key) + " counted " +
                                   values_text(sample->counters.data()) + ", the trace says " +
                                   values_text(values));
        }
        traced.erase(found);
    }
    context.samples.extra += traced.size();
    for (const auto& [key, record] : traced)
        add_fault(context, where + place(key) + " was not taken, the trace has " +
                               values_text(record->counters));
}

} // namespace wavetap::cli
