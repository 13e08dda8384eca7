// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/together.hpp"

#include "base/caught.hpp"
#include "base/mutex.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>

namespace wavetap::capture {

namespace {

/// Work on several hubs' threads. Shared by the waiting caller and the jobs, since a job may come
/// after the caller has given up; such a job finds `abandoned` and does nothing.
struct Work {
    explicit Work(std::size_t count)
        : tokens(count), summaries(count, RunSummary{}), done(count, false) {}

    Mutex mutex;
    CondVar changed;
    std::vector<RunningTrace> tokens WAVETAP_GUARDED_BY(mutex);
    std::vector<Result<RunSummary>> summaries WAVETAP_GUARDED_BY(mutex);
    std::vector<bool> done WAVETAP_GUARDED_BY(mutex);
    bool abandoned WAVETAP_GUARDED_BY(mutex) = false;

    bool all_done() const WAVETAP_REQUIRES(mutex) {
        return std::all_of(done.begin(), done.end(), [](bool one) { return one; });
    }
    void finish(std::size_t i, RunningTrace token, Result<RunSummary> summary) {
        MutexLock lock(mutex);
        // A token that nobody waits for ends here, on its hub's thread.
        if (!abandoned) tokens[i] = std::move(token);
        summaries[i] = std::move(summary);
        done[i] = true;
        changed.notify_all();
    }
    bool begin(std::size_t i, RunningTrace& token) {
        MutexLock lock(mutex);
        if (abandoned) return false;
        token = std::move(tokens[i]);
        return true;
    }
};

using Step = std::function<void(Work&, std::size_t)>;

/// Says which one, if there is memory for the words.
Error in_agent(Error error, std::size_t i) noexcept {
    (void)caught([&]() -> Result<void> {
        error.where =
            "agent " + std::to_string(i) + (error.where.empty() ? "" : ", " + error.where);
        return {};
    });
    return error;
}

/// Where the caller is itself on a hub's thread; the number of hubs = nowhere.
std::size_t own_place(std::span<AgentHub* const> hubs) {
    std::size_t i = 0;
    while (i < hubs.size() && !hubs[i]->on_hub_thread())
        ++i;
    return i;
}

/// A step for each hub, made before the first one is taken: from then on nothing may throw.
using Jobs = std::vector<std::function<void()>>;

Jobs make_jobs(const std::shared_ptr<Work>& work, std::size_t count, const Step& step) {
    Jobs jobs;
    for (std::size_t i = 0; i < count; ++i)
        jobs.push_back([work, step, i] { step(*work, i); });
    return jobs;
}

void carry_out(std::span<AgentHub* const> hubs, const std::shared_ptr<Work>& work, std::size_t own,
               const Step& step, Jobs jobs) noexcept {
    for (std::size_t i = 0; i < hubs.size(); ++i) {
        if (i == own) continue;
        const auto posted = hubs[i]->post(std::move(jobs[i]));
        if (!posted) step(*work, i); // the hub is closing: it answers from any thread
    }
    MutexLock lock(work->mutex);
    const TimePoint deadline = hubs[0]->clock().deadline_after(hubs[0]->limits().request);
    work->changed.wait_until(work->mutex, deadline,
                             [&work]() WAVETAP_REQUIRES(work->mutex) { return work->all_done(); });
    if (work->all_done()) return;
    work->abandoned = true;
    for (std::size_t i = 0; i < hubs.size(); ++i) {
        if (work->done[i]) continue;
        hubs[i]->count_deadline_miss();
        work->summaries[i] =
            brief_error(ErrorCode::kTimeout, "the agent's trace hub did not answer in time");
    }
}

} // namespace

Result<std::vector<RunningTrace>> start_together(std::span<AgentHub* const> hubs,
                                                 std::span<const RunRequest> requests) {
    const auto work = std::make_shared<Work>(hubs.size());
    std::vector<AgentHub*> list(hubs.begin(), hubs.end());
    const std::vector<RunRequest> asked(requests.begin(), requests.end());
    const Step start = [list, asked](Work& all, std::size_t i) {
        RunningTrace token;
        if (!all.begin(i, token)) return;
        auto started = list[i]->start(asked[i]);
        if (started)
            all.finish(i, std::move(*started), RunSummary{});
        else
            all.finish(i, {}, std::move(started.error()));
    };
    const Step drop = [](Work& all, std::size_t i) {
        RunningTrace token;
        if (!all.begin(i, token)) return;
        auto over = token.discard();
        all.finish(i, {}, over ? Result<RunSummary>(RunSummary{}) : std::move(over.error()));
    };
    const auto undo = std::make_shared<Work>(hubs.size());
    Jobs starts = make_jobs(work, hubs.size(), start), drops = make_jobs(undo, hubs.size(), drop);
    const std::size_t own = own_place(hubs);
    if (own < hubs.size()) {
        start(*work, own);
        MutexLock lock(work->mutex);
        if (!work->summaries[own]) return in_agent(std::move(work->summaries[own].error()), own);
    }
    carry_out(hubs, work, own, start, std::move(starts));

    std::vector<RunningTrace> tokens;
    Result<void> outcome;
    {
        MutexLock lock(work->mutex);
        tokens = std::move(work->tokens);
        for (std::size_t i = 0; i < hubs.size() && outcome; ++i)
            if (!work->summaries[i]) outcome = in_agent(std::move(work->summaries[i].error()), i);
    }
    if (outcome) return tokens;
    // Roll back: those that started end, without a chunk, before the caller is told.
    {
        MutexLock lock(undo->mutex);
        undo->tokens = std::move(tokens);
    }
    if (own < hubs.size()) drop(*undo, own);
    carry_out(hubs, undo, own, drop, std::move(drops));
    return std::move(outcome.error());
}

TogetherSummary stop_together(std::span<AgentHub* const> hubs, std::vector<RunningTrace>& tokens) {
    const auto work = std::make_shared<Work>(hubs.size());
    std::vector<std::uint64_t> runs;
    for (const RunningTrace& token : tokens)
        runs.push_back(token.run());
    const Step stop = [](Work& all, std::size_t i) {
        RunningTrace token;
        if (!all.begin(i, token)) return;
        auto summary = token.stop();
        all.finish(i, std::move(token), std::move(summary));
    };
    TogetherSummary answer;
    Jobs stops = make_jobs(work, hubs.size(), stop);
    {
        MutexLock lock(work->mutex);
        work->tokens.swap(tokens);
    }
    const std::size_t own = own_place(hubs);
    if (own < hubs.size()) stop(*work, own);
    carry_out(hubs, work, own, stop, std::move(stops));

    MutexLock lock(work->mutex);
    for (std::size_t i = 0; i < hubs.size(); ++i) {
        if (!work->done[i]) hubs[i]->silence(runs[i]);
        auto& summary = work->summaries[i];
        if (!summary) {
            if (answer.outcome) answer.outcome = in_agent(std::move(summary.error()), i);
            continue;
        }
        RunSummary& total = answer.total;
        if (total.run == 0) total.run = summary->run;
        if (total.start_counter == 0) total.start_counter = summary->start_counter;
        total.end_counter = std::max(total.end_counter, summary->end_counter);
        total.chunks += summary->chunks;
        total.bytes_delivered += summary->bytes_delivered;
        total.bytes_lost += summary->bytes_lost;
        total.gpu_full = total.gpu_full || summary->gpu_full;
    }
    return answer;
}

} // namespace wavetap::capture
