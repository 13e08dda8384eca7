// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/producer.hpp"

#include <bit>

namespace wavetap::capture {

namespace {

using Phase = ProducerState::Phase;
using Kind = ProducerAction::Kind;
using Actions = std::vector<ProducerAction>;

ProducerAction action(Kind kind, std::uint32_t engine = 0) {
    ProducerAction made;
    made.kind = kind;
    made.engine = engine;
    return made;
}

/// One event applied to one state.
class Step {
  public:
    Step(ProducerState& state, Actions& actions) : s_(state), actions_(actions) {}

    void begin_segments();
    void tick();
    void queried(const EngineStatus* status);
    void swapped(const EngineStatus* status);
    void copied();
    void stopped(const EngineStatus* status);
    void slot_freed(std::uint32_t slot);
    void stop_wanted();
    void fail(SegmentEnd cause);

  private:
    std::uint32_t engines() const { return s_.config.engines; }
    std::uint32_t total_waiting() const;
    void add_waiting(std::uint32_t engine, std::uint64_t bytes, std::uint32_t read_offset);
    void mark_without_slot();
    bool overflowed(const EngineStatus* not_swapped);
    void submit_stop(SegmentEnd cause);
    void end_segment(std::uint32_t engine, SegmentEnd cause);
    void move_on();
    void nothing_waits();
    void poll_or_stop();

    ProducerState& s_;
    Actions& actions_;
};

void Step::begin_segments() {
    for (std::uint32_t e = 0; e < engines(); ++e) {
        s_.engines[e] = {};
        s_.engines[e].open = true;
        ProducerAction begin = action(Kind::kBegin, e);
        begin.index = s_.next_index;
        if (s_.config.header) ++s_.next_index;
        actions_.push_back(begin);
    }
    ++s_.segments;
    s_.cause = SegmentEnd::kOpen;
    s_.drained_by_stop = false;
    poll_or_stop();
}

void Step::poll_or_stop() {
    s_.phase = Phase::kPolling;
    if (s_.stop_wanted) submit_stop(SegmentEnd::kRequested);
}

void Step::tick() {
    if (s_.phase != Phase::kPolling) return;
    s_.phase = Phase::kQuerying;
    actions_.push_back(action(Kind::kQuery));
}

void Step::submit_stop(SegmentEnd cause) {
    s_.cause = cause;
    s_.phase = Phase::kStopping;
    actions_.push_back(action(Kind::kStop));
}

// True if the run is over by that; then what is known to be in output slots is lost.
bool Step::overflowed(const EngineStatus* not_swapped) {
    ++s_.gpu_full;
    if (s_.config.overflow == OverflowPolicy::kRestart) return false;
    for (std::uint32_t e = 0; not_swapped != nullptr && e < engines(); ++e) {
        if (not_swapped[e].flipped) s_.bytes_lost += s_.config.capacity_bytes;
        s_.bytes_lost += not_swapped[e].bytes;
    }
    fail(SegmentEnd::kGpuFull);
    return true;
}

void Step::queried(const EngineStatus* status) {
    if (s_.phase != Phase::kQuerying) return;
    std::uint32_t flipped = 0;
    bool full = false, halted = false;
    for (std::uint32_t e = 0; e < engines(); ++e) {
        if (status[e].flipped) flipped |= 1U << e;
        full = full || (status[e].flipped && status[e].bytes >= s_.config.capacity_bytes);
        halted = halted || !status[e].running;
    }
    if (full) {
        if (!overflowed(status)) submit_stop(SegmentEnd::kGpuFull);
        return;
    }
    if (halted) {
        ++s_.halted;
        submit_stop(SegmentEnd::kHalted);
        return;
    }
    if (s_.stop_wanted || flipped == 0) {
        poll_or_stop();
        return;
    }
    s_.phase = Phase::kSwapping;
    s_.swap_mask = flipped;
    ProducerAction swap = action(Kind::kSwap);
    swap.mask = flipped;
    actions_.push_back(swap);
}

std::uint32_t Step::total_waiting() const {
    std::uint32_t sum = 0;
    for (std::uint32_t e = 0; e < engines(); ++e)
        sum += s_.engines[e].waiting;
    return sum;
}

// The slot that engine's hardware filled up, or is filling (after a stop).
void Step::add_waiting(std::uint32_t index, std::uint64_t bytes, std::uint32_t read_offset) {
    ProducerState::Engine& engine = s_.engines[index];
    ProducerState::Waiting& waiting = engine.queue[engine.waiting++];
    waiting = {};
    waiting.output = static_cast<std::uint32_t>(engine.swaps % kRingSlots);
    waiting.bytes = bytes;
    waiting.read_offset = read_offset;
}

void Step::mark_without_slot() {
    auto room = static_cast<std::uint32_t>(std::popcount(s_.free_slots));
    for (std::uint32_t e = 0; e < engines(); ++e)
        for (std::uint32_t i = 0; i < s_.engines[e].waiting; ++i) {
            if (room == 0)
                s_.engines[e].queue[i].cpu_full = true;
            else
                --room;
        }
}

void Step::swapped(const EngineStatus* status) {
    if (s_.phase != Phase::kSwapping) return;
    bool full = false;
    for (std::uint32_t e = 0; e < engines(); ++e) {
        if ((s_.swap_mask >> e & 1) == 0) continue;
        add_waiting(e, s_.config.capacity_bytes, status[e].read_offset);
        ++s_.engines[e].swaps;
        ++s_.flips;
        full = full || status[e].bytes >= s_.config.capacity_bytes;
    }
    s_.swap_mask = 0;
    if (full) {
        if (!overflowed(nullptr)) submit_stop(SegmentEnd::kGpuFull);
        return;
    }
    if (total_waiting() > static_cast<std::uint32_t>(std::popcount(s_.free_slots))) {
        ++s_.cpu_full;
        mark_without_slot();
        submit_stop(SegmentEnd::kCpuFull);
        return;
    }
    move_on();
}

// Copies the next waiting slot if there is one and a staging slot is free.
void Step::move_on() {
    s_.phase = Phase::kMoving;
    s_.copy_out = false;
    for (std::uint32_t e = 0; e < engines(); ++e) {
        if (s_.engines[e].waiting == 0) continue;
        if (s_.free_slots == 0) return;
        const ProducerState::Waiting& next = s_.engines[e].queue[0];
        s_.copy_engine = e;
        s_.copy_slot = static_cast<std::uint32_t>(std::countr_zero(s_.free_slots));
        s_.free_slots &= ~(1U << s_.copy_slot);
        s_.copy_out = true;
        ProducerAction copy = action(Kind::kCopy, e);
        copy.output = next.output;
        copy.slot = s_.copy_slot;
        copy.bytes = next.bytes;
        actions_.push_back(copy);
        return;
    }
    nothing_waits();
}

void Step::nothing_waits() {
    if (!s_.drained_by_stop) {
        poll_or_stop();
        return;
    }
    if (s_.cause == SegmentEnd::kRequested || s_.stop_wanted) {
        s_.phase = Phase::kEnded;
        actions_.push_back(action(Kind::kFinished));
        return;
    }
    s_.phase = Phase::kStarting;
    actions_.push_back(action(Kind::kStart));
}

void Step::copied() {
    if (!s_.copy_out) return;
    ProducerState::Engine& engine = s_.engines[s_.copy_engine];
    const ProducerState::Waiting done = engine.queue[0];
    for (std::uint32_t i = 1; i < engine.waiting; ++i)
        engine.queue[i - 1] = engine.queue[i];
    engine.queue[--engine.waiting] = {};
    ProducerAction publish = action(Kind::kPublish, s_.copy_engine);
    publish.slot = s_.copy_slot;
    publish.bytes = done.bytes;
    publish.read_offset = done.read_offset;
    publish.index = s_.next_index++;
    publish.last = done.last;
    publish.cpu_full = done.cpu_full || (done.last && s_.cause == SegmentEnd::kCpuFull);
    publish.gpu_full = done.last && s_.cause == SegmentEnd::kGpuFull;
    publish.cause = done.last ? s_.cause : SegmentEnd::kOpen;
    actions_.push_back(publish);
    s_.bytes_published += done.bytes;
    if (done.last) engine.open = false;
    move_on();
}

void Step::end_segment(std::uint32_t index, SegmentEnd cause) {
    ProducerState::Engine& engine = s_.engines[index];
    if (!engine.open) return;
    engine.open = false;
    ProducerAction end = action(Kind::kEnd, index);
    end.index = s_.next_index++;
    end.last = true;
    end.cpu_full = cause == SegmentEnd::kCpuFull;
    end.gpu_full = cause == SegmentEnd::kGpuFull;
    end.cause = cause;
    actions_.push_back(end);
}

void Step::stopped(const EngineStatus* status) {
    if (s_.phase != Phase::kStopping) return;
    s_.drained_by_stop = true;
    for (std::uint32_t e = 0; e < engines(); ++e) {
        ProducerState::Engine& engine = s_.engines[e];
        if (status[e].flipped) {
            add_waiting(e, s_.config.capacity_bytes, status[e].read_offset);
            ++engine.swaps;
            ++s_.flips;
        }
        if (status[e].bytes > 0)
            add_waiting(e, status[e].bytes, status[e].flipped ? 0 : status[e].read_offset);
        if (engine.waiting == 0)
            end_segment(e, s_.cause);
        else
            engine.queue[engine.waiting - 1].last = true;
    }
    move_on();
}

void Step::slot_freed(std::uint32_t slot) {
    s_.free_slots |= 1U << slot;
    if (s_.awaits_slot()) move_on();
}

void Step::stop_wanted() {
    s_.stop_wanted = true;
    if (s_.phase == Phase::kPolling) submit_stop(SegmentEnd::kRequested);
}

void Step::fail(SegmentEnd cause) {
    if (s_.over()) return;
    for (std::uint32_t e = 0; e < engines(); ++e) {
        ProducerState::Engine& engine = s_.engines[e];
        for (std::uint32_t i = 0; i < engine.waiting; ++i)
            s_.bytes_lost += engine.queue[i].bytes;
        engine.waiting = 0;
        end_segment(e, cause);
    }
    // A copy that was not answered may still write into its staging slot: that one is not free.
    s_.copy_out = false;
    s_.cause = cause;
    s_.phase = Phase::kFailed;
    actions_.push_back(action(Kind::kFinished));
}

} // namespace

ProducerState producer_begin(const ProducerConfig& config, Actions& actions) {
    ProducerState state;
    state.config = config;
    state.free_slots = (1U << config.staging_slots) - 1;
    Step(state, actions).begin_segments();
    return state;
}

void producer_step(ProducerState& state, const ProducerEvent& event, Actions& actions) {
    Step step(state, actions);
    switch (event.kind) {
    case ProducerEvent::Kind::kTick:
        return step.tick();
    case ProducerEvent::Kind::kQueried:
        return step.queried(event.status);
    case ProducerEvent::Kind::kSwapped:
        return step.swapped(event.status);
    case ProducerEvent::Kind::kCopied:
        return step.copied();
    case ProducerEvent::Kind::kStopped:
        return step.stopped(event.status);
    case ProducerEvent::Kind::kStarted:
        if (state.phase == Phase::kStarting) step.begin_segments();
        return;
    case ProducerEvent::Kind::kSlotFreed:
        return step.slot_freed(event.slot);
    case ProducerEvent::Kind::kStopWanted:
        return step.stop_wanted();
    case ProducerEvent::Kind::kFailed:
        return step.fail(SegmentEnd::kFailed);
    }
}

const char* producer_phase_name(Phase phase) noexcept {
    switch (phase) {
    case Phase::kPolling:
        return "polling";
    case Phase::kQuerying:
        return "querying";
    case Phase::kSwapping:
        return "swapping";
    case Phase::kMoving:
        return "moving";
    case Phase::kStopping:
        return "stopping";
    case Phase::kStarting:
        return "starting";
    case Phase::kEnded:
        return "ended";
    case Phase::kFailed:
        return "failed";
    }
    return "?";
}

} // namespace wavetap::capture
