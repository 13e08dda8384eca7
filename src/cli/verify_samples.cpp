// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/verify_samples.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace wavetap::cli {

namespace {

using softgpu::TruthSample;

std::string values_text(const std::uint16_t* values) {
    std::string text;
    for (std::size_t i = 0; i < 4; ++i)
        text += (i == 0 ? "" : ", ") + std::to_string(values[i]);
    return text;
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

std::string SampleComparison::place(const Key& key) {
    return "the sample of CU " + std::to_string(std::get<1>(key)) + " bank " +
           std::to_string(std::get<2>(key)) + " at clock " + std::to_string(std::get<0>(key));
}

void SampleComparison::compare_sampling() {
    const ArmedInterval& interval = stretch_.interval;
    if (interval.arm >= interval.disarm) return;
    const auto samplings = stretch_.truth.samplings(stretch_.se, interval.arm, interval.disarm);
    const store::ContextInfo& asked = context_.context;
    const bool wanted = !asked.perf_counters.empty() && (~asked.perf_exclude_mask & 0xFFFF) != 0;
    if (samplings.size() != (wanted ? 1 : 0)) {
        context_.broken = true;
        fault("the engine began to sample counters " + std::to_string(samplings.size()) +
              " times, " + (wanted ? "not once" : "which nobody asked for"));
    } else if (wanted && !as_asked(*samplings.front(), asked)) {
        context_.broken = true;
        fault("the engine sampled other counters than were asked for, other CUs, or with another "
              "period");
    }
}

void SampleComparison::add(const std::vector<decode::PerfRecord>& records) {
    for (const decode::PerfRecord& record : records) {
        newest_ = std::max(newest_, record.time);
        if (!is_filler(record)) traced_.push_back(record);
    }
}

void SampleComparison::add_waves(const std::vector<std::uint64_t>& starts, std::uint64_t until) {
    wave_starts_.insert(wave_starts_.end(), starts.begin(), starts.end());
    if (until != kNever) count_waves(until);
}

// Waves that counters cannot have missed: a sample of their CU was taken behind their start.
void SampleComparison::count_waves(std::uint64_t until) {
    constexpr std::uint64_t kMostCus = 16;
    const std::uint64_t longest = (1 + kMostCus) * 8 * context_.context.perf_period + 4 * kMostCus;
    context_.waves_sampled +=
        std::erase_if(wave_starts_, [&](std::uint64_t start) { return start + longest < until; });
}

void SampleComparison::compare(const TruthSample& sample, Traced& traced) {
    const Key key{sample.latched, sample.cu, sample.bank};
    const auto found = traced.find(key);
    // One behind the first drop may be there, and then it has to be right.
    const bool dropped = sample.token_clock() >= stretch_.interval.first_drop;
    if (found == traced.end() && dropped) return;
    ++context_.samples.expected;
    if (found == traced.end()) {
        ++context_.samples.missing;
        fault(place(key) + " is not in the trace");
        return;
    }
    const std::uint16_t* values = found->second.counters;
    if (std::equal(sample.counters.begin(), sample.counters.end(), values)) {
        ++context_.samples.matched;
    } else {
        ++context_.samples.differing;
        fault(place(key) + " counted " + values_text(sample.counters.data()) + ", the trace says " +
              values_text(values));
    }
    traced.erase(found);
}

Result<void> SampleComparison::settle(std::uint64_t base) {
    const ArmedInterval& interval = stretch_.interval;
    if (newest_ < kSlackClocks) return {};
    const std::uint64_t until =
        std::min({base + newest_ - kSlackClocks, interval.first_drop, interval.disarm});
    if (until <= settled_) return {};
    settled_ = until;
    return settle(base, until);
}

Result<void> SampleComparison::finish(std::uint64_t base) {
    compare_sampling();
    WAVETAP_CHECK_OK(settle(base, kNever));
    count_waves(std::min(stretch_.interval.disarm, stretch_.interval.first_drop));
    return {};
}

// What has a token before `until`.
Result<void> SampleComparison::settle(std::uint64_t base, std::uint64_t until) {
    const ArmedInterval& interval = stretch_.interval;
    Traced traced;
    for (const decode::PerfRecord& record : std::exchange(traced_, {}))
        traced.emplace(Key{base + record.time, record.cu, record.bank}, record);
    const auto take = [&](const TruthSample& sample) {
        const bool now = sample.token_clock() < until;
        if (now) compare(sample, traced);
        return now;
    };
    std::erase_if(expected_, take);
    const std::vector<softgpu::TruthBlock>& blocks = stretch_.truth.log().blocks();
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const softgpu::TruthExtent& extent = blocks[i].samples;
        if (taken_[i] || extent.first_end >= until || extent.last_end < interval.arm ||
            extent.first_start >= interval.disarm)
            continue;
        taken_[i] = true;
        WAVETAP_CHECK_OK(stretch_.truth.log().samples(blocks[i], [&](const TruthSample& sample) {
            const std::uint64_t clock = sample.token_clock();
            if (sample.agent != stretch_.truth.agent() || sample.se != stretch_.se ||
                clock < interval.arm || clock >= interval.disarm)
                return;
            if (!take(sample)) expected_.push_back(sample);
        }));
    }
    for (const auto& [key, record] : traced) {
        if (std::get<0>(key) + 4ULL * std::get<1>(key) >= until) {
            traced_.push_back(record);
            continue;
        }
        ++context_.samples.extra;
        fault(place(key) + " was not taken, the trace has " + values_text(record.counters));
    }
    return {};
}

} // namespace wavetap::cli
