// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/hub_core.hpp"

#include <algorithm>
#include <utility>

// Dispatch mode: one lease of the agent after the other has its turn; the data of those before it leave
// their slots meanwhile.

namespace wavetap::capture {

Result<LeaseStreams> HubCore::do_open_leases() {
    auto streams = caught([this] { return engine.open_leases(); });
    MutexLock lock(mutex);
    take_statistics();
    if (!streams) {
        change(HubEvent::kStartRefused);
        owner_run = 0;
        ++statistics.refused;
        return streams;
    }
    change(HubEvent::kLeasesOpened);
    streams->owner = owner_run;
    lease_streams = *streams;
    admitting = true;
    return streams;
}

void HubCore::do_leases() {
    // The next turn comes before each step of delivery, which may take as long as a copy.
    do {
        drop_lost_leases();
        bool over = false;
        {
            MutexLock lock(mutex);
            over = !active_lease.empty() && lease_over;
            lease_over = false;
        }
        if (over) retire_lease({});
        look_at_lease();
        next_lease();
    } while (deliver_leases());
}

void HubCore::next_lease() {
    HubLease* next = nullptr; // only this thread takes leases out
    SlotPlan wanted;
    {
        MutexLock lock(mutex);
        if (!active_lease.empty() || leases.empty()) return;
        next = &leases.front();
        wanted = plan;
    }
    if (!next->request.untraced) wanted.add(requirement_of(next->request));
    const bool room = next->request.untraced || engine.may_begin_lease(next->request, wanted);
    {
        MutexLock lock(mutex);
        lease_held = !room;
        if (!room) return;
        active_lease.splice(active_lease.end(), leases, leases.begin());
    }
    begin_lease(*next, wanted);
}

void HubCore::begin_lease(HubLease& lease, const SlotPlan& wanted) {
    const bool traced = !lease.request.untraced;
    std::uint64_t run = 0;
    {
        MutexLock lock(mutex);
        if (traced) run = next_run++;
    }
    silenced.store(false);
    // The streams of one that is not traced do nothing.
    const auto armed = traced ? engine.begin_lease(lease.request, wanted, run) : Result<void>();
    LeaseClient* client = nullptr;
    {
        MutexLock lock(mutex);
        take_statistics();
        lease_armed = traced && armed;
        ++(!traced ? statistics.serialized : armed ? statistics.starts : statistics.refused);
        client = lease_client;
    }
    client->lease_ready(lease.id, armed);
    MutexLock lock(mutex);
    watch_lease(LeaseProgress::kBeforeStart);
}

void HubCore::watch_lease(LeaseProgress progress) {
    const HubLimits& limits = options.engine.limits;
    lease_progress = progress;
    if (progress == LeaseProgress::kBeforeStart)
        lease_deadline = clock.deadline_after(limits.start);
    if (progress == LeaseProgress::kDispatch) lease_deadline = TimePoint::max();
    if (progress == LeaseProgress::kBeforeStop) lease_deadline = clock.deadline_after(limits.stop);
    lease_look = std::min(lease_deadline, clock.deadline_after(limits.stop / 4));
}

void HubCore::look_at_lease() {
    LeaseClient* client = nullptr;
    void* id = nullptr;
    {
        MutexLock lock(mutex);
        if (active_lease.empty() || lease_over || clock.now() < lease_look) return;
        client = lease_client;
        id = active_lease.front().id;
    }
    const LeaseProgress progress = client->lease_progress(id);
    const char* stream = nullptr;
    {
        MutexLock lock(mutex);
        if (progress > lease_progress) {
            watch_lease(progress);
            return;
        }
        if (lease_over) return;
        if (clock.now() < lease_deadline) {
            lease_look =
                std::min(lease_deadline, clock.deadline_after(options.engine.limits.stop / 4));
            return;
        }
        stream = lease_progress == LeaseProgress::kBeforeStart ? "start" : "stop";
        ++statistics_client_misses;
        change(HubEvent::kStop);
    }
    end_all_leases("a trace stream in a queue of the application was not executed in time", true);
    const auto reason = caught([stream]() -> Result<void> {
        return Error{ErrorCode::kTimeout,
                     std::string("the trace ") + stream +
                         " in a queue of the application was not executed in time",
                     "dispatch mode", "no dispatch is traced any more"};
    });
    client->leases_failed(reason.error());
}

void HubCore::retire_lease(Result<void> outcome) {
    bool armed = false;
    {
        MutexLock lock(mutex);
        armed = std::exchange(lease_armed, false);
    }
    const bool kept = armed && engine.retire_lease(std::move(outcome));
    MutexLock lock(mutex);
    take_statistics();
    if (armed) ++statistics.stops;
    HubLease& lease = active_lease.front();
    lease.armed = kept;
    lease.no_data = armed && !kept;
    lease.lost = false;
    retired.splice(retired.end(), active_lease);
}

bool HubCore::deliver_leases() {
    const HubLease* oldest = nullptr;
    {
        MutexLock lock(mutex);
        if (retired.empty()) return false;
        oldest = &retired.front();
    }
    std::optional<Result<RunSummary>> ended;
    if (oldest->no_data)
        ended.emplace(brief_error(ErrorCode::kLimit, "no host memory"));
    else if (!oldest->armed)
        ended = RunSummary{};
    else if (!engine.deliver_lease(ended))
        return false;
    if (!ended) return true;
    LeaseClient* client = nullptr;
    {
        MutexLock lock(mutex);
        take_statistics();
        client = lease_client;
    }
    client->lease_ended(oldest->id, *ended);
    MutexLock lock(mutex);
    retired.pop_front();
    lease_held = false;
    answered.notify_all();
    return true;
}

void HubCore::deliver_all_leases() {
    const TimePoint deadline = clock.deadline_after(options.engine.limits.drain);
    for (;;) {
        if (deliver_leases()) continue;
        {
            MutexLock lock(mutex);
            if (retired.empty()) return;
        }
        if (!engine.wait_for_lease_handler(deadline)) engine.give_up_leases();
    }
}

void HubCore::drop_lost_leases() {
    bool active_lost = false, over = false;
    std::list<HubLease> dropped;
    LeaseClient* client = nullptr;
    {
        MutexLock lock(mutex);
        if (!std::exchange(any_lost, false)) return;
        client = lease_client;
        for (auto lease = leases.begin(); lease != leases.end();) {
            const auto here = lease++;
            if (here->lost) dropped.splice(dropped.end(), leases, here);
        }
        active_lost = !active_lease.empty() && active_lease.front().lost;
        if (active_lost) over = std::exchange(lease_over, false);
    }
    const auto gone = [](const char* words) { return brief_error(ErrorCode::kUnavailable, words); };
    if (active_lost)
        retire_lease(over ? Result<void>()
                          : Result<void>(gone("the dispatch's queue ended before its trace did")));
    for (const HubLease& lease : dropped)
        client->lease_ended(lease.id, gone("the dispatch's queue ended before its trace began"));
    MutexLock lock(mutex);
    answered.notify_all();
}

void HubCore::do_close_leases() {
    bool left = true;
    {
        MutexLock lock(mutex);
        if (state != HubState::kLeasing) return;
        left = std::exchange(packets_left, true);
        change(HubEvent::kStop);
    }
    end_all_leases("the trace ended before the dispatch did", left);
}

void HubCore::end_all_leases(const char* reason, bool packets_may_run) {
    bool active = false, over = false;
    std::list<HubLease> left;
    LeaseClient* client = nullptr;
    {
        MutexLock lock(mutex);
        admitting = false;
        active = !active_lease.empty();
        over = std::exchange(lease_over, false);
        any_lost = false;
        left.splice(left.end(), leases);
        client = lease_client;
    }
    if (active)
        retire_lease(over ? Result<void>()
                          : Result<void>(brief_error(ErrorCode::kTimeout, reason)));
    deliver_all_leases();
    // What was not told to be over may still be executed.
    engine.close_leases(packets_may_run || (active && !over) || !left.empty());
    for (const HubLease& lease : left)
        client->lease_ended(lease.id, brief_error(ErrorCode::kTimeout, reason));
    MutexLock lock(mutex);
    take_statistics();
    change(engine.gpu_lost() ? HubEvent::kGpuLost : HubEvent::kDrained);
    owner_run = 0;
    lease_client = nullptr;
    answered.notify_all();
}

Result<LeaseStreams> AgentHub::open_leases(std::uint32_t owner_context, LeaseClient& client) {
    HubCore& core = *core_;
    const bool inside = core.on_thread();
    if (core.inside_handler()) return deadlock_error("open_leases");
    WAVETAP_CHECK_OK(core.reserve(owner_context));
    {
        MutexLock lock(core.mutex);
        core.lease_client = &client;
        WAVETAP_TRY(HubRequest * asked, core.request_or_refuse(core_));
        if (inside) {
            core.recycle(asked);
        } else {
            asked->kind = HubRequest::Kind::kOpenLeases;
            auto answer = core.ask(asked);
            if (!answer) return std::move(answer.error());
            return core.lease_streams;
        }
    }
    return core.do_open_leases();
}

Result<void> AgentHub::lease(void* lease, const RunRequest& request) {
    return caught([&]() -> Result<void> {
        std::list<HubLease> fresh;
        fresh.push_back({lease, request});
        MutexLock lock(core_->mutex);
        if (core_->closing || !core_->admitting || core_->state != HubState::kLeasing)
            return Error{ErrorCode::kWrongState, "no dispatch can be traced now", "", ""};
        core_->leases.splice(core_->leases.end(), fresh);
        core_->work.notify_one();
        return {};
    });
}

void AgentHub::lease_retired(void* lease) {
    MutexLock lock(core_->mutex);
    if (core_->active_lease.empty() || core_->active_lease.front().id != lease) return;
    core_->lease_over = true;
    core_->work.notify_one();
}

void AgentHub::lease_lost(void* lease) {
    MutexLock lock(core_->mutex);
    for (std::list<HubLease>* list : {&core_->active_lease, &core_->leases})
        for (HubLease& one : *list) {
            if (one.id != lease) continue;
            one.lost = core_->any_lost = true;
            core_->work.notify_one();
        }
}

Result<void> AgentHub::close_leases(std::uint64_t owner, bool packets_left) {
    HubCore& core = *core_;
    if (core.on_thread() || core.in_stream_handler()) return deadlock_error("close_leases");
    MutexLock lock(core.mutex);
    if (core.owner_run != owner || core.state != HubState::kLeasing || core.closing)
        return Error{ErrorCode::kWrongState, "these leases are closed", "", ""};
    core.admitting = false;
    core.packets_left = packets_left;
    const bool drained = core.answered.wait_until(
        core.mutex,
        packets_left ? core.clock.now()
                     : core.clock.deadline_after(core.options.engine.limits.drain),
        [&]() WAVETAP_REQUIRES(core.mutex) {
            return core.leases.empty() && core.active_lease.empty() && core.retired.empty();
        });
    if (std::exchange(core.close_asked, true)) return closed_error();
    HubRequest* asked = &core.close_request;
    asked->kind = HubRequest::Kind::kCloseLeases;
    if (auto closed = core.ask(asked); !closed) return std::move(closed.error());
    if (!drained)
        return Error{ErrorCode::kTimeout, "dispatches did not end in time; their traces are lost",
                     "", ""};
    return {};
}

} // namespace wavetap::capture
