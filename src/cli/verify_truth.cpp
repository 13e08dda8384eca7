// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/verify_truth.hpp"

#include <algorithm>

namespace wavetap::cli {

void CodeRanges::add(std::uint64_t begin, std::uint64_t bytes) {
    ranges_.emplace_back(begin, begin + bytes);
}

bool CodeRanges::covers(std::uint64_t address) const {
    return std::any_of(ranges_.begin(), ranges_.end(), [&](const auto& range) {
        return address >= range.first && address < range.second;
    });
}

std::uint64_t IdRanges::get(std::uint64_t id) const {
    const auto next = from_.upper_bound(id);
    return next == from_.begin() ? kNone : std::prev(next)->second;
}

void IdRanges::set(std::uint64_t id, std::uint64_t number) {
    const std::uint64_t old = get(id);
    if (old == number) return;
    const std::uint64_t before = id == 0 ? kNone : get(id - 1);
    from_[id] = number;
    if (id != kNone) {
        const auto [next, made] = from_.emplace(id + 1, old);
        if (!made && next->second == number) from_.erase(next);
    }
    if (before == number) from_.erase(id);
}

AgentTruth::AgentTruth(const softgpu::TruthLog& log, std::uint32_t agent)
    : log_(&log), agent_(agent) {
    for (const softgpu::TruthTraceEvent& event : log.about().trace_events) {
        if (event.agent != agent) continue;
        if (intervals_.size() <= event.se) intervals_.resize(event.se + std::size_t{1});
        std::vector<ArmedInterval>& intervals = intervals_[event.se];
        if (event.kind == softgpu::TruthTraceEvent::Kind::kArm) {
            intervals.push_back({event.time, kNever, kNever, 0});
            edges_.push_back(event.time);
            continue;
        }
        if (intervals.empty() || intervals.back().disarm != kNever) continue;
        if (event.kind == softgpu::TruthTraceEvent::Kind::kDisarm) {
            intervals.back().disarm = event.time;
            edges_.push_back(event.time);
        } else {
            intervals.back().first_drop = std::min(intervals.back().first_drop, event.time);
            intervals.back().dropped_tokens += event.count;
        }
    }
    for (const softgpu::TruthSampling& sampling : log.about().samplings) {
        if (sampling.agent != agent) continue;
        if (samplings_.size() <= sampling.se) samplings_.resize(sampling.se + std::size_t{1});
        samplings_[sampling.se].push_back(&sampling);
    }
    for (auto& samplings : samplings_)
        std::sort(samplings.begin(), samplings.end(), [](const auto* a, const auto* b) {
            return std::pair(a->time, a) < std::pair(b->time, b);
        });
    std::sort(edges_.begin(), edges_.end());
    edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
}

void AgentTruth::add(const softgpu::TruthDispatch& dispatch) {
    const auto later = std::upper_bound(edges_.begin(), edges_.end(), dispatch.time);
    dispatches_.set(dispatch.id, static_cast<std::uint64_t>(later - edges_.begin()));
}

const std::vector<ArmedInterval>& AgentTruth::intervals(std::uint32_t se) const {
    static const std::vector<ArmedInterval> kNone;
    return se < intervals_.size() ? intervals_[se] : kNone;
}

std::span<const softgpu::TruthSampling* const>
AgentTruth::samplings(std::uint32_t se, std::uint64_t begin, std::uint64_t end) const {
    if (se >= samplings_.size()) return {};
    const std::span<const softgpu::TruthSampling* const> all(samplings_[se]);
    const auto place = [&](std::uint64_t clock) {
        const auto found = std::ranges::lower_bound(
            all, clock, {}, [](const softgpu::TruthSampling* each) { return each->time; });
        return static_cast<std::size_t>(found - all.begin());
    };
    return begin < end ? all.subspan(place(begin), place(end) - place(begin)) : all.first(0);
}

bool AgentTruth::dispatched_before(const softgpu::TruthWave& wave, std::uint64_t edge) const {
    const std::uint64_t known = dispatches_.get(wave.dispatch);
    if (known == IdRanges::kNone) return wave.start < edge;
    const auto at = std::lower_bound(edges_.begin(), edges_.end(), edge);
    return known <= static_cast<std::uint64_t>(at - edges_.begin()) && edge != 0;
}

} // namespace wavetap::cli
