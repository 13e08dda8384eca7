// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/stream_engine.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace wavetap::capture {

namespace {

constexpr auto kShortestInterval = std::chrono::microseconds(5);
/// An engine that is found flipped has three quarters of the next slot to go, at the worst.
constexpr std::uint64_t kLooksPerSlot = 4;
constexpr auto kLongestInterval = std::chrono::seconds(10);

template <class T> T load(std::span<const std::byte> bytes, std::uint64_t offset) {
    T value{};
    if (offset + sizeof(T) <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}

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
    : parts_(parts), pool_(parts.clock, silenced, thread_name), commands_(parts.backend) {}

pm4::TraceMemory StreamEngine::trace_memory() const {
    pm4::TraceMemory memory{parts_.bank.output(0).va, parts_.arena.control_va(), {}};
    for (std::size_t i = 1; i < kRingSlots; ++i)
        memory.extra_output_va.push_back(parts_.bank.output(i).va);
    return memory;
}

Result<void> StreamEngine::build(const RunRequest& request) {
    const pm4::TraceMemory memory = trace_memory();
    const std::array<std::uint64_t, kRingSlots> va{memory.output_va, memory.extra_output_va[0],
                                                   memory.extra_output_va[1]};
    if (!swaps_.empty() && va == built_va_ && built_.se_mask == request.config.se_mask &&
        built_.buffer_bytes == request.config.buffer_bytes)
        return {};
    swaps_.clear();
    engines_.clear();
    for (std::uint64_t mask = request.config.se_mask; mask != 0; mask &= mask - 1)
        engines_.push_back(static_cast<std::uint32_t>(std::countr_zero(mask)));
    WAVETAP_TRY(std::vector<std::uint32_t> words,
                pm4::build_query(parts_.topology, request.config, memory));
    std::vector<CommandBuffer> pieces{{0, static_cast<std::uint32_t>(words.size())}};
    for (const std::uint32_t se : engines_)
        for (std::uint64_t i = 0; i < kRingSlots; ++i) {
            WAVETAP_TRY(const auto swap,
                        pm4::build_swap(parts_.topology, request.config, memory, se, i));
            pieces.push_back({words.size() * 4, static_cast<std::uint32_t>(swap.size())});
            words.insert(words.end(), swap.begin(), swap.end());
        }
    WAVETAP_CHECK_OK(commands_.ensure(words.size() * 4));
    std::memcpy(commands_.memory().host, words.data(), words.size() * 4);
    for (CommandBuffer& piece : pieces)
        piece.va += commands_.memory().va;
    query_ = pieces[0];
    swaps_.assign(pieces.begin() + 1, pieces.end());
    built_ = request.config;
    built_va_ = va;
    return {};
}

Result<void> StreamEngine::prepare(const RunRequest& request) {
    if (std::popcount(request.config.se_mask) > static_cast<int>(kMaxStreamEngines))
        return Error{ErrorCode::kUnsupported,
                     "more than " + std::to_string(kMaxStreamEngines) +
                         " shader engines cannot stream at once",
                     "", "select fewer"};
    WAVETAP_CHECK_OK(build(request));
    WAVETAP_CHECK_OK(
        pool_.ensure_threads(request.delivery == Delivery::kInOrder ? 1 : request.buffers));
    return pool_.begin(request.handler, request.user, request.delivery);
}

void StreamEngine::begin(Context context) {
    context_ = std::move(context);
    const RunRequest& request = context_->request;
    outcome_ = {};
    write_error_ = false;
    interval_ = look_interval(context_->capacity_bytes, request.stream_rate);
    next_poll_ = parts_.clock.now() + interval_;
    for (std::size_t e = 0; e < engines_.size(); ++e) {
        const std::uint64_t word = pm4::gfx9_header(parts_.topology, request.config, engines_[e]);
        headers_[e] = {};
        std::memcpy(headers_[e].data(), &word, sizeof word);
    }
    ProducerConfig config;
    config.engines = static_cast<std::uint32_t>(engines_.size());
    config.staging_slots = request.buffers;
    config.capacity_bytes = context_->capacity_bytes;
    config.header = parts_.topology.gfx.starts_with("gfx9");
    config.overflow = request.overflow;
    read_status(false);
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
            buffers.push_back(swaps_[e * kRingSlots + state_.engines[e].swaps % kRingSlots]);
    std::span<const CommandBuffer> left(buffers);
    while (!left.empty()) {
        const std::size_t count = std::min(left.size(), Backend::kMaxCommandBuffers);
        WAVETAP_CHECK_OK(submit(left.first(count), parts_.limits.query));
        left = left.subspan(count);
    }
    return {};
}

Result<void> StreamEngine::copy(const ProducerAction& action) {
    const RunRequest& request = context_->request;
    WAVETAP_TRY(const std::uint64_t offset,
                pm4::engine_offset(parts_.topology, request.config, engine(action.engine)));
    auto done = parts_.backend.copy_to_host(
        parts_.bank.staging(action.slot), 0, parts_.bank.output(action.output).va + offset,
        action.bytes, parts_.clock.deadline_after(parts_.limits.copy));
    if (done) return done;
    if (done.error().code == ErrorCode::kTimeout) {
        ++parts_.statistics.deadline_misses;
        parts_.bank.abandon_staging(1U << action.slot);
    }
    return done;
}

// What the last query or swap, or the stop, put into the control block.
void StreamEngine::read_status(bool at_stop) {
    const pm4::ControlLayout layout = pm4::control_layout(pm4::Dialect::kWavetap);
    const auto control = parts_.arena.control();
    for (std::size_t e = 0; e < engines_.size(); ++e) {
        const std::uint64_t entry = pm4::engine_entry_offset(pm4::Dialect::kWavetap, engines_[e]);
        const auto result = pm4::interpret_query(
            parts_.topology,
            load<std::uint32_t>(control, entry + (at_stop ? layout.status : layout.query_status)),
            load<std::uint32_t>(control, entry + (at_stop ? layout.wptr : layout.query_wptr)));
        status_[e].flipped = result.needs_swap;
        status_[e].running = result.running;
        status_[e].bytes = std::min(result.bytes, context_->capacity_bytes);
        status_[e].read_offset = result.read_offset_bytes;
        write_error_ = write_error_ || result.write_error;
        const std::uint64_t clocks = pm4::clock_entry_offset(
            parts_.topology, pm4::Dialect::kWavetap, engines_[e] / parts_.topology.engines_per_xcc);
        start_counters_[e] = load<std::uint64_t>(control, clocks + layout.start_clock);
    }
}

StreamEngine::Event StreamEngine::command(const ProducerAction& action) {
    Result<void> done;
    Event event;
    event.status = status_.data();
    switch (action.kind) {
    case ProducerAction::Kind::kQuery:
        done = submit({&query_, 1}, parts_.limits.query);
        event.kind = Event::Kind::kQueried;
        break;
    case ProducerAction::Kind::kSwap:
        done = swap(action.mask);
        event.kind = Event::Kind::kSwapped;
        break;
    case ProducerAction::Kind::kCopy:
        done = copy(action);
        event.kind = Event::Kind::kCopied;
        break;
    case ProducerAction::Kind::kStop:
        done = submit({&context_->streams.stop, 1}, parts_.limits.stop);
        event.kind = Event::Kind::kStopped;
        break;
    default:
        done = context_->restart();
        event.kind = Event::Kind::kStarted;
        break;
    }
    if (!done) {
        const char* what = producer_phase_name(state_.phase);
        done.error().message =
            std::string("the stream broke off while ") + what + ": " + done.error().message;
        if (outcome_) outcome_ = std::move(done);
        event.kind = Event::Kind::kFailed;
        return event;
    }
    if (action.kind != ProducerAction::Kind::kCopy)
        read_status(action.kind == ProducerAction::Kind::kStop);
    return event;
}

Chunk StreamEngine::prototype(const ProducerAction& action) const {
    const pm4::ControlLayout layout = pm4::control_layout(pm4::Dialect::kWavetap);
    const auto control = parts_.arena.control();
    const std::uint32_t se = engine(action.engine);
    const std::uint64_t entry = pm4::engine_entry_offset(pm4::Dialect::kWavetap, se);
    const std::uint64_t clocks = pm4::clock_entry_offset(parts_.topology, pm4::Dialect::kWavetap,
                                                         se / parts_.topology.engines_per_xcc);
    Chunk chunk;
    chunk.context = context_->request.context;
    chunk.run = context_->run;
    chunk.engine = se;
    chunk.index = action.index;
    chunk.capacity_bytes = context_->capacity_bytes;
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
    chunk.status = load<std::uint32_t>(control, entry + layout.status);
    chunk.dropped = load<std::uint32_t>(control, entry + layout.counter);
    chunk.wptr = load<std::uint32_t>(control, entry + layout.wptr);
    chunk.end_counter = load<std::uint64_t>(control, clocks + layout.end_clock);
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
    take_back();
    if (state_.phase == ProducerState::Phase::kPolling && parts_.clock.now() >= next_poll_)
        run(Event{});
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
    const pm4::ControlLayout layout = pm4::control_layout(pm4::Dialect::kWavetap);
    const std::uint64_t clocks = pm4::clock_entry_offset(
        parts_.topology, pm4::Dialect::kWavetap, engine(0) / parts_.topology.engines_per_xcc);
    summary.end_counter = load<std::uint64_t>(parts_.arena.control(), clocks + layout.end_clock);
    finish(summary);
    context_.reset();
    if (outcome_ && gpu_lost())
        outcome_ = Error{ErrorCode::kLimit, "the trace buffers were full, which ended the run", "",
                         "use larger buffers, or let the trace start again"};
    if (!outcome_) return std::move(outcome_.error());
    return summary;
}

void StreamEngine::release() {
    commands_.release();
    swaps_.clear();
}

} // namespace wavetap::capture
