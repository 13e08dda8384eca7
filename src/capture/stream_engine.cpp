// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/stream_engine.hpp"

#include "base/caught.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace wavetap::capture {

namespace {

constexpr auto kShortestInterval = std::chrono::microseconds(5);
/// An engine that is found flipped has three quarters of the next slot to go, at the worst.
constexpr std::uint64_t kLooksPerSlot = 4;
constexpr auto kLongestInterval = std::chrono::seconds(10);

/// The time between two looks at an engine.
Duration look_interval(std::uint64_t capacity, std::uint64_t rate) {
    const double ns = static_cast<double>(capacity / kLooksPerSlot) * 1e9 /
                      static_cast<double>(std::max<std::uint64_t>(rate, 1));
    const double longest = static_cast<double>(Duration(kLongestInterval).count());
    return std::max<Duration>(kShortestInterval,
                              Duration(static_cast<std::int64_t>(std::min(ns, longest))));
}

} // namespace

StreamEngine::StreamEngine(Parts parts, const std::atomic<bool>& silenced,
                           const std::string& thread_name)
    : parts_(parts), pool_(parts.clock, silenced, thread_name) {}

Result<void> StreamEngine::prepare(const RunRequest& request, const OutputSlots& slots,
                                   const TraceStreams& streams) {
    if (std::popcount(request.config.se_mask) > static_cast<int>(kMaxStreamEngines))
        return Error{ErrorCode::kUnsupported,
                     "more than " + std::to_string(kMaxStreamEngines) +
                         " shader engines cannot stream at once",
                     "", "select fewer"};
    WAVETAP_TRY(ring_, parts_.packets.ring(request.config, slots, streams));
    engines_.clear();
    for (std::uint64_t mask = request.config.se_mask; mask != 0; mask &= mask - 1)
        engines_.push_back(static_cast<std::uint32_t>(std::countr_zero(mask)));
    WAVETAP_CHECK_OK(
        pool_.ensure_threads(request.delivery == Delivery::kInOrder ? 1 : request.buffers));
    return pool_.begin(request.handler, request.user, request.delivery);
}

void StreamEngine::begin(Context context) {
    context_ = std::move(context);
    const RunRequest& request = context_->request;
    outcome_ = {};
    write_error_ = false;
    interval_ = look_interval(capacity(), request.stream_rate);
    next_poll_ = parts_.clock.now() + interval_;
    for (std::size_t e = 0; e < engines_.size(); ++e) {
        headers_[e] = {};
        std::memcpy(headers_[e].data(), &ring_->headers[e], sizeof(std::uint64_t));
    }
    ProducerConfig config;
    config.engines = static_cast<std::uint32_t>(engines_.size());
    config.staging_slots = request.buffers;
    config.capacity_bytes = capacity();
    config.header = parts_.topology.gfx.starts_with("gfx9");
    config.overflow = request.overflow;
    back_ = {};
    status_ = {};
    (void)read_status(RingMoment::kSwapped, 0); // the counters that the start wrote
    actions_.clear();
    state_ = producer_begin(config, actions_);
    for (const ProducerAction& action : actions_)
        perform(action);
}

Result<void> StreamEngine::submit(std::span<const CommandBuffer> buffers, Duration limit) {
    const TimePoint deadline = parts_.clock.deadline_after(limit);
    auto ticket = parts_.backend.submit(buffers, deadline);
    auto done = ticket ? parts_.backend.wait(*ticket, deadline) : Result<void>(ticket.error());
    if (!done && done.error().code == ErrorCode::kTimeout) ++parts_.statistics.deadline_misses;
    return done;
}

Result<void> StreamEngine::swap(std::uint32_t mask) {
    std::vector<CommandBuffer> buffers;
    for (std::uint32_t e = 0; e < engines_.size(); ++e)
        if ((mask >> e & 1) != 0)
            buffers.push_back(ring_->swaps[e * ring_->swaps_per_engine +
                                           state_.engines[e].swaps % ring_->swaps_per_engine]);
    std::span<const CommandBuffer> left(buffers);
    while (!left.empty()) {
        const std::size_t count = std::min(left.size(), Backend::kMaxCommandBuffers);
        WAVETAP_CHECK_OK(submit(left.first(count), parts_.limits.query));
        left = left.subspan(count);
    }
    return {};
}

Result<void> StreamEngine::copy(const ProducerAction& action) {
    auto done = parts_.backend.copy_to_host(
        parts_.bank.staging(action.slot), 0,
        parts_.bank.output(action.output).va + ring_->offsets[action.engine], action.bytes,
        parts_.clock.deadline_after(parts_.limits.copy));
    if (done) return done;
    if (done.error().code == ErrorCode::kTimeout) {
        ++parts_.statistics.deadline_misses;
        parts_.bank.abandon_staging(1U << action.slot);
    }
    return done;
}

// What the last query or swap, or the stop, said.
Result<void> StreamEngine::read_status(RingMoment moment, std::uint32_t swapped) {
    WAVETAP_CHECK_OK(parts_.packets.read_ring(context_->streams, context_->request.config, moment,
                                              swapped, {back_.data(), engines_.size()}));
    for (std::size_t e = 0; e < engines_.size(); ++e) {
        const EngineReadback& back = back_[e];
        status_[e].flipped = back.flipped;
        status_[e].running = back.running;
        status_[e].bytes = std::min(back.result.bytes, capacity());
        status_[e].read_offset = back.read_offset;
        write_error_ = write_error_ || back.result.write_error;
        start_counters_[e] = back.start_counter;
    }
    return {};
}

StreamEngine::Event StreamEngine::command(const ProducerAction& action) {
    Result<void> done;
    std::optional<RingMoment> moment;
    Event event;
    event.status = status_.data();
    switch (action.kind) {
    case ProducerAction::Kind::kQuery:
        done = submit({&ring_->query, 1}, parts_.limits.query);
        moment = RingMoment::kQueried;
        event.kind = Event::Kind::kQueried;
        break;
    case ProducerAction::Kind::kSwap:
        done = swap(action.mask);
        moment = RingMoment::kSwapped;
        event.kind = Event::Kind::kSwapped;
        break;
    case ProducerAction::Kind::kCopy:
        done = copy(action);
        event.kind = Event::Kind::kCopied;
        break;
    case ProducerAction::Kind::kStop:
        done = submit({&context_->streams.stop, 1}, parts_.limits.stop);
        moment = RingMoment::kStopped;
        event.kind = Event::Kind::kStopped;
        break;
    default:
        done = context_->restart();
        moment = RingMoment::kSwapped;
        event.kind = Event::Kind::kStarted;
        break;
    }
    if (done && moment) done = read_status(*moment, action.mask);
    if (!done) {
        const char* what = producer_phase_name(state_.phase);
        done.error().message =
            std::string("the stream broke off while ") + what + ": " + done.error().message;
        if (outcome_) outcome_ = std::move(done);
        event.kind = Event::Kind::kFailed;
        return event;
    }
    return event;
}

Chunk StreamEngine::prototype(const ProducerAction& action) const {
    const EngineReadback& back = back_[action.engine];
    Chunk chunk;
    chunk.context = context_->request.context;
    chunk.run = context_->run;
    chunk.engine = engine(action.engine);
    chunk.index = action.index;
    chunk.capacity_bytes = capacity();
    chunk.read_offset = action.read_offset;
    chunk.start_counter = start_counters_[action.engine] != 0 ? start_counters_[action.engine]
                                                              : context_->start_counter;
    if (action.cpu_full) chunk.flags |= kChunkCpuBufferFull;
    if (action.gpu_full) chunk.flags |= kChunkGpuBufferFull;
    if (!action.last) return chunk;
    chunk.flags |= kChunkEnd;
    if (action.cause == SegmentEnd::kHalted) chunk.flags |= kChunkHalted;
    if (state_.phase == ProducerState::Phase::kFailed) {
        chunk.flags |= kChunkLost;
        return chunk;
    }
    if (write_error_) chunk.flags |= kChunkWriteError;
    chunk.status = back.status;
    chunk.dropped = back.dropped;
    chunk.wptr = back.wptr;
    chunk.end_counter = back.end_counter;
    return chunk;
}

void StreamEngine::perform(const ProducerAction& action) {
    switch (action.kind) {
    case ProducerAction::Kind::kBegin: {
        if (!state_.config.header) return;
        Chunk chunk = prototype(action);
        chunk.data = headers_[action.engine];
        pool_.push(chunk, ChunkPool::kNoSlot);
        return;
    }
    case ProducerAction::Kind::kPublish: {
        Chunk chunk = prototype(action);
        chunk.data = {parts_.bank.staging(action.slot).host,
                      static_cast<std::size_t>(action.bytes)};
        pool_.push(chunk, action.slot);
        return;
    }
    case ProducerAction::Kind::kEnd:
        pool_.push(prototype(action), ChunkPool::kNoSlot);
        return;
    default:
        return; // commands are carried out by run()
    }
}

// One event and all that follows from it at once.
void StreamEngine::run(Event event) {
    const std::uint64_t flips = state_.flips;
    for (;;) {
        actions_.clear();
        producer_step(state_, event, actions_);
        const ProducerAction* next = nullptr;
        for (const ProducerAction& action : actions_) {
            const bool commands = action.kind <= ProducerAction::Kind::kCopy ||
                                  action.kind == ProducerAction::Kind::kStop ||
                                  action.kind == ProducerAction::Kind::kStart;
            if (commands)
                next = &action;
            else
                perform(action);
        }
        if (next == nullptr) break;
        const ProducerAction out = *next; // step() below uses the same list
        event = command(out);
        // While something is out, a slot that comes back only is noted.
        for (std::uint32_t freed = pool_.take_freed(); freed != 0; freed &= freed - 1) {
            Event slot;
            slot.kind = Event::Kind::kSlotFreed;
            slot.slot = static_cast<std::uint32_t>(std::countr_zero(freed));
            producer_step(state_, slot, actions_);
        }
    }
    if (event.kind == Event::Kind::kSlotFreed && state_.flips == flips) return;
    // Right behind a flip there may be another one.
    next_poll_ = parts_.clock.now();
    if (state_.flips == flips) next_poll_ += interval_;
}

void StreamEngine::take_back() {
    for (std::uint32_t freed = pool_.take_freed(); freed != 0; freed &= freed - 1) {
        Event event;
        event.kind = Event::Kind::kSlotFreed;
        event.slot = static_cast<std::uint32_t>(std::countr_zero(freed));
        run(event);
    }
}

void StreamEngine::poll() {
    try {
        take_back();
        if (state_.phase == ProducerState::Phase::kPolling && parts_.clock.now() >= next_poll_)
            run(Event{});
    } catch (...) {
        break_off(caught_error());
    }
}

void StreamEngine::break_off(Error reason) noexcept {
    outcome_ = std::move(reason);
    try {
        Event failed;
        failed.kind = Event::Kind::kFailed;
        run(failed);
    } catch (...) {
    }
    state_.phase = ProducerState::Phase::kFailed; // also where its last chunks found no memory
}

void StreamEngine::drop() noexcept {
    if (!context_) return;
    pool_.discard();
    parts_.bank.abandon_staging(pool_.abandon());
    context_.reset();
}

void StreamEngine::finish(RunSummary& summary) {
    const ChunkPool::Counts counts = pool_.counts();
    HubStatistics& statistics = parts_.statistics;
    summary.run = context_->run;
    summary.chunks = counts.chunks;
    summary.bytes_delivered = counts.bytes;
    summary.bytes_lost = state_.bytes_lost + counts.discarded_bytes;
    summary.gpu_full = state_.gpu_full != 0;
    summary.flips = state_.flips;
    summary.gaps = state_.cpu_full + state_.gpu_full + state_.halted;
    if (gpu_lost() && state_.cause != SegmentEnd::kGpuFull) ++summary.gaps;
    ++statistics.runs;
    statistics.chunks += summary.chunks;
    statistics.bytes_delivered += summary.bytes_delivered;
    statistics.bytes_lost += summary.bytes_lost;
    statistics.gaps += summary.gaps;
    statistics.flips += summary.flips;
    statistics.cpu_full += state_.cpu_full;
    statistics.gpu_full += state_.gpu_full;
    statistics.halted += state_.halted;
    statistics.handler_exceptions += counts.handler_exceptions;
}

Result<RunSummary> StreamEngine::stop(bool deliver) {
    if (!deliver) pool_.discard();
    Event stop;
    stop.kind = Event::Kind::kStopWanted;
    run(stop);
    const TimePoint deadline = parts_.clock.deadline_after(parts_.limits.request);
    while (!state_.over()) {
        if (!pool_.wait_for_slot(deadline)) {
            outcome_ = Error{ErrorCode::kTimeout, "a chunk handler does not return", "", ""};
            Event give_up;
            give_up.kind = Event::Kind::kFailed;
            run(give_up);
            break;
        }
        poll();
    }
    RunSummary summary;
    const bool delivered = pool_.wait_until_delivered(deadline);
    if (!delivered) {
        ++parts_.statistics.deadline_misses;
        parts_.bank.abandon_staging(pool_.abandon());
        if (outcome_)
            outcome_ = Error{ErrorCode::kTimeout, "a chunk handler does not return", "", ""};
    }
    summary.start_counter = start_counters_[0];
    summary.end_counter = back_[0].end_counter;
    finish(summary);
    context_.reset();
    if (outcome_ && gpu_lost())
        outcome_ = Error{ErrorCode::kLimit, "the trace buffers were full, which ended the run", "",
                         "use larger buffers, or let the trace start again"};
    if (!outcome_) return std::move(outcome_.error());
    return summary;
}

} // namespace wavetap::capture
