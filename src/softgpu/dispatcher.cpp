// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/dispatcher.hpp"

#include "softgpu/timing.hpp"

#include <algorithm>

namespace wavetap::softgpu {

namespace {

using timing::kQuad;

std::uint64_t mix(std::uint64_t value) {
    value += 0x9E3779B97F4A7C15;
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9;
    value = (value ^ value >> 27) * 0x94D049BB133111EB;
    return value ^ value >> 31;
}

std::uint64_t rotation(const ChipSpec& spec, const Dispatch& dispatch) {
    return spec.seed == 0 ? 0 : mix(spec.seed ^ mix(dispatch.id));
}

// A grid need not be a multiple of the group: the last group of an axis may be smaller.
std::unique_ptr<WorkGroup> next_group(Dispatch& dispatch) {
    auto group = std::make_unique<WorkGroup>();
    group->dispatch = &dispatch;
    const std::uint64_t i = dispatch.next_group;
    group->id = {static_cast<std::uint32_t>(i % dispatch.groups[0]),
                 static_cast<std::uint32_t>(i / dispatch.groups[0] % dispatch.groups[1]),
                 static_cast<std::uint32_t>(i / dispatch.groups[0] / dispatch.groups[1])};
    for (unsigned axis = 0; axis < 3; ++axis) {
        const std::uint32_t first = group->id[axis] * dispatch.group[axis];
        group->size[axis] = std::min(dispatch.group[axis], dispatch.grid[axis] - first);
    }
    group->live = group->waves();
    return group;
}

} // namespace

Dispatcher::Dispatcher(const ChipSpec& spec, std::vector<std::unique_ptr<ComputeUnit>>& cus,
                       DispatchHost& host)
    : spec_(spec), cus_(cus), host_(host), engine_free_at_(spec.shader_engines, 0) {}

bool Dispatcher::can_ever_fit(const Dispatch& dispatch) const {
    const GroupNeeds needs{dispatch.waves_per_group(), dispatch.vgpr_allocation,
                           dispatch.sgpr_allocation, dispatch.lds_bytes};
    const std::uint32_t room =
        spec_.simds_per_cu * ComputeUnit::room(needs, spec_.wave_slots, ComputeUnit::kVgprsPerSimd,
                                               ComputeUnit::kSgprsPerSimd);
    return dispatch.lds_bytes <= spec_.lds_bytes && needs.waves <= room &&
           (!dispatch.scratch || dispatch.waves_per_group() <= dispatch.scratch->used.size());
}

Dispatch& Dispatcher::submit(std::unique_ptr<Dispatch> dispatch, std::uint64_t ready_at) {
    unsigned chosen = dispatch->queue % kPipes;
    for (unsigned i = 0; i < kPipes; ++i) {
        const unsigned candidate = (dispatch->queue + i) % kPipes;
        if (!pipes_[candidate].waiting.empty()) continue;
        chosen = candidate;
        break;
    }
    Dispatch& result = *dispatch;
    result.me = static_cast<std::uint8_t>(chosen / 4);
    result.pipe = static_cast<std::uint8_t>(chosen % 4);
    result.placed_in_engine.assign(spec_.shader_engines, 0);
    Pipe& pipe = pipes_[chosen];
    pipe.waiting.push_back(&result);
    if (pipe.waiting.size() == 1) pipe.next = ready_at;
    entries_[&result] = {std::move(dispatch), ready_at, false};
    recompute_next();
    return result;
}

void Dispatcher::kill(Dispatch& dispatch, std::uint64_t now) {
    dispatch.killed = true;
    dispatch.workgroups = dispatch.next_group;
    for (Pipe& pipe : pipes_) {
        std::erase(pipe.waiting, &dispatch);
        pipe.next = pipe.waiting.empty() ? kNever : now + kQuad;
    }
    for (auto& unit : cus_)
        if (unit) unit->kill(dispatch, now);
    recompute_next();
    finish_if_done(dispatch, now);
}

std::vector<Dispatch*> Dispatcher::of_queue(std::uint32_t queue) {
    std::vector<Dispatch*> found;
    for (auto& [key, entry] : entries_)
        if (entry.dispatch->queue == queue) found.push_back(entry.dispatch.get());
    std::sort(found.begin(), found.end(),
              [](const Dispatch* a, const Dispatch* b) { return a->id < b->id; });
    return found;
}

void Dispatcher::group_ended(WorkGroup& group, std::uint64_t now) {
    Dispatch& dispatch = *group.dispatch;
    groups_.erase(&group);
    --dispatch.live_groups;
    for (Pipe& pipe : pipes_) // there may be room now
        if (!pipe.waiting.empty()) pipe.next = std::min(pipe.next, now + kQuad);
    recompute_next();
    finish_if_done(dispatch, now);
}

void Dispatcher::finish_if_done(Dispatch& dispatch, std::uint64_t now) {
    if (dispatch.live_groups != 0 || !dispatch.launched()) return;
    auto at = entries_.find(&dispatch);
    std::unique_ptr<Dispatch> ended = std::move(at->second.dispatch);
    entries_.erase(at);
    host_.dispatch_ended(std::move(ended), now);
}

void Dispatcher::run(std::uint64_t now) {
    const auto first = static_cast<unsigned>(now / kQuad % kPipes);
    for (unsigned i = 0; i < kPipes; ++i) {
        Pipe& pipe = pipes_[(first + i) % kPipes];
        if (pipe.next <= now) run_pipe(pipe, now);
    }
    recompute_next();
}

void Dispatcher::recompute_next() {
    next_ = kNever;
    for (const Pipe& pipe : pipes_)
        next_ = std::min(next_, pipe.next);
}

void Dispatcher::run_pipe(Pipe& pipe, std::uint64_t now) {
    if (pipe.waiting.empty()) {
        pipe.next = kNever;
        return;
    }
    Dispatch& dispatch = *pipe.waiting.front();
    Entry& state = entry(dispatch);
    if (!state.started) {
        // The last wave of the dispatch before must have started under its own registers.
        const std::uint64_t earliest = std::max(state.ready_at, pipe.last_start + kQuad);
        if (now < earliest) {
            pipe.next = earliest;
            return;
        }
        state.started = true;
        host_.dispatch_started(dispatch, now);
    }
    if (!place(dispatch, pipe, now)) {
        pipe.next = kNever; // until a group ends
        return;
    }
    pipe.next = now + kQuad;
    if (!dispatch.launched()) return;
    pipe.waiting.pop_front();
    if (pipe.waiting.empty()) pipe.next = kNever;
}

bool Dispatcher::place(Dispatch& dispatch, Pipe& pipe, std::uint64_t now) {
    std::unique_ptr<WorkGroup> group = next_group(dispatch);
    const GroupNeeds needs{group->live, dispatch.vgpr_allocation, dispatch.sgpr_allocation,
                           dispatch.lds_bytes};
    if (dispatch.scratch && dispatch.scratch->free < needs.waves) return false;
    ComputeUnit* unit = find_unit(dispatch, needs);
    if (unit == nullptr) return false;
    launch(std::move(group), *unit, needs, pipe, now);
    return true;
}

ComputeUnit* Dispatcher::find_unit(Dispatch& dispatch, const GroupNeeds& needs) {
    const std::uint64_t turn = rotation(spec_, dispatch);
    const std::uint64_t first_engine = turn + dispatch.next_group;
    for (std::uint32_t i = 0; i < spec_.shader_engines; ++i) {
        const auto se = static_cast<std::uint32_t>((first_engine + i) % spec_.shader_engines);
        const std::uint64_t first_cu = (turn >> 32) + dispatch.placed_in_engine[se];
        for (std::uint32_t k = 0; k < spec_.cus_per_engine; ++k) {
            const auto cu = static_cast<std::uint32_t>((first_cu + k) % spec_.cus_per_engine);
            ComputeUnit* unit = cus_[std::size_t{se} * spec_.cus_per_engine + cu].get();
            if (unit == nullptr || !unit->fits(needs)) continue;
            dispatch.placed_in_engine[se] += k + 1;
            return unit;
        }
    }
    return nullptr;
}

void Dispatcher::launch(std::unique_ptr<WorkGroup> group, ComputeUnit& unit,
                        const GroupNeeds& needs, Pipe& pipe, std::uint64_t now) {
    Dispatch& dispatch = *group->dispatch;
    ++dispatch.next_group;
    ++dispatch.live_groups;
    group->lds.resize(dispatch.lds_bytes);
    group->number = group_number_++;
    unit.begin_group(dispatch.lds_bytes);
    std::uint64_t& free_at = engine_free_at_[unit.se()];
    const std::vector<WavePlace> places = unit.choose(needs);
    for (std::uint32_t w = 0; w < needs.waves; ++w) {
        auto wave = make_wave(dispatch, *group, w, unit.se(), places[w]);
        const std::uint64_t start = std::max(now + kQuad, free_at);
        free_at = start + kQuad;
        pipe.last_start = std::max(pipe.last_start, start);
        unit.add(std::move(wave), places[w], start);
    }
    touched_.push_back(std::size_t{unit.se()} * spec_.cus_per_engine + unit.cu());
    const WorkGroup* key = group.get();
    groups_[key] = std::move(group);
}

} // namespace wavetap::softgpu
