// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/caught.hpp"
#include "capture/session.hpp"

#include <algorithm>
#include <exception>
#include <utility>

// Contexts of dispatch mode.

namespace wavetap::capture {

Result<void> Session::configure_dispatches(ContextHandle context, std::uint32_t agent,
                                           const TraceParams& params,
                                           const DispatchHandlers& handlers, void* user) {
    TraceParams dispatch_params = params;
    dispatch_params.dispatch = 1;
    return configure({context, agent, dispatch_params, nullptr, &handlers, user});
}

void Session::set_dispatch_driver(DispatchDriver* driver) {
    MutexLock lock(mutex_);
    driver_ = driver;
}

RingCounts Session::ring_counts(std::uint32_t agent) const {
    MutexLock lock(mutex_);
    return driver_ != nullptr ? driver_->ring_counts(agent) : RingCounts{};
}

// Without the session's lock, since the driver has its own.
Result<void> Session::may_wait(ContextHandle context) {
    std::vector<std::pair<std::uint32_t, AgentHub*>> agents;
    const DispatchDriver* driver = nullptr;
    {
        MutexLock lock(mutex_);
        const Record* record = find(context);
        if (driver_ == nullptr || record == nullptr || record->dispatches == nullptr ||
            record->state <= State::kIdle)
            return {};
        driver = driver_;
        for (const std::uint32_t agent :
             agents_of(static_cast<std::uint32_t>(record - &records_[0])))
            agents.emplace_back(agent, agents_[agent].hub.get());
    }
    for (const auto& [agent, hub] : agents)
        WAVETAP_CHECK_OK(driver->may_wait(agent, *hub));
    return {};
}

Result<void> Session::open_all(std::uint32_t index, std::size_t& opened) {
    for (std::uint32_t part = index + 1; part != 0;) {
        std::uint32_t agent = 0;
        AgentHub* hub = nullptr;
        DispatchClient client;
        DispatchDriver* driver = nullptr;
        {
            MutexLock lock(mutex_);
            const Record& record = records_[part - 1];
            driver = driver_;
            agent = record.agent;
            refresh_plan(agent);
            hub = agents_[agent].hub.get();
            client = {request_of(index, record), record.dispatches, record.user};
            part = record.next_part;
        }
        WAVETAP_CHECK_OK(driver->open(agent, *hub, client));
        ++opened;
    }
    return {};
}

Result<void> Session::close_some(std::uint32_t index, std::size_t count) {
    Result<void> outcome;
    std::uint32_t part = index + 1;
    for (; count > 0; --count) {
        std::uint32_t agent = 0;
        DispatchDriver* driver = nullptr;
        {
            MutexLock lock(mutex_);
            driver = driver_;
            agent = records_[part - 1].agent;
            part = records_[part - 1].next_part;
        }
        auto closed = caught([&] { return driver->close(agent); });
        if (!closed && outcome) outcome = std::move(closed);
    }
    return outcome;
}

Result<void> Session::start_dispatches(std::uint32_t index) {
    std::size_t opened = 0;
    auto started = caught([&] { return open_all(index, opened); });
    if (!started) (void)close_some(index, opened);
    MutexLock lock(mutex_);
    records_[index].state = started ? State::kRunning : State::kIdle;
    if (!started) set_free(index);
    return started;
}

Result<RunSummary> Session::stop_dispatches(std::uint32_t index) {
    std::size_t count = 0;
    {
        MutexLock lock(mutex_);
        for (std::uint32_t part = index + 1; part != 0; part = records_[part - 1].next_part)
            ++count;
    }
    auto stopped = close_some(index, count);
    MutexLock lock(mutex_);
    records_[index].state = State::kIdle;
    set_free(index);
    if (!stopped) return std::move(stopped.error());
    return RunSummary{};
}

Result<void> Session::stop_on_a_thread(ContextHandle context,
                                       std::function<void(const Result<RunSummary>&)> done) {
    std::list<Stopper> over;
    MutexLock lock(mutex_);
    for (auto it = stoppers_.begin(); it != stoppers_.end();) {
        const auto next = std::next(it);
        if (it->over) over.splice(over.end(), stoppers_, it);
        it = next;
    }
    for (Stopper& stopper : over)
        stopper.thread.join(); // needs no lock any more
    try {
        stoppers_.emplace_back();
        Stopper& stopper = stoppers_.back();
        stopper.thread = std::thread([this, &stopper, context, done = std::move(done)] {
            done(stop(context));
            MutexLock ended(mutex_);
            stopper.over = true;
            stopped_.notify_all();
        });
    } catch (const std::exception&) {
        stoppers_.pop_back();
        return Error{ErrorCode::kLimit, "no thread for an asynchronous stop", "", ""};
    }
    return {};
}

Result<void> Session::close_dispatches() {
    std::vector<ContextHandle> running;
    DispatchDriver* driver = nullptr;
    {
        MutexLock lock(mutex_);
        driver = driver_;
        if (driver == nullptr) return {};
        const auto mine = [](const Stopper& stopper) {
            return stopper.thread.get_id() == std::this_thread::get_id();
        };
        const auto here = [](const Agent& agent) { return agent.hub->on_hub_thread(); };
        if (driver->deciding() || std::ranges::any_of(stoppers_, mine) ||
            std::ranges::any_of(agents_, here))
            return Error{ErrorCode::kWouldDeadlock, "close from a handler would wait for itself",
                         "", "call it from another thread, or after the handler returned"};
        for (std::uint32_t i = 0; i < records_.size(); ++i) {
            const Record& record = records_[i];
            if (record.dispatches == nullptr || record.state <= State::kIdle) continue;
            running.push_back({std::uint64_t{record.generation} << 32 | (i + 1)});
        }
    }
    for (const ContextHandle context : running)
        WAVETAP_CHECK_OK(may_wait(context));
    Result<void> outcome;
    for (const ContextHandle context : running) {
        auto stopped = stop(context);
        if (!stopped && stopped.error().code != ErrorCode::kBusy && outcome)
            outcome = std::move(stopped.error());
    }
    std::list<Stopper> stoppers;
    {
        MutexLock lock(mutex_);
        const auto all_over = [this]() WAVETAP_REQUIRES(mutex_) {
            return std::ranges::all_of(stoppers_, [](const Stopper& one) { return one.over; });
        };
        // Without an agent nothing was ever stopped.
        const bool ended =
            agents_.empty() || stopped_.wait_until(mutex_,
                                                   agents_.front().hub->clock().deadline_after(
                                                       agents_.front().hub->limits().close),
                                                   all_over);
        if (!ended)
            outcome = Error{ErrorCode::kTimeout, "a stop handler does not return", "", ""};
        else
            stoppers = std::exchange(stoppers_, {});
        for (Stopper& stopper : stoppers_)
            stopper.thread.detach();
        driver_ = nullptr;
    }
    for (Stopper& stopper : stoppers)
        stopper.thread.join();
    driver->unbind();
    return outcome;
}

} // namespace wavetap::capture
