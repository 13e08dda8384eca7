// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/hub_engine.hpp"

#include "base/caught.hpp"
#include "capture/own_packets.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace wavetap::capture {

namespace {

/// The longest marker has 63 dwords (docs/formats/pm4-thread-trace.md).
constexpr std::size_t kLiveMarkers = PacketSource::kLiveDwords / 64;

std::unique_ptr<PacketSource> make_packets(const PacketSourceMaker& maker, Backend& backend,
                                           const pm4::TraceTopology& topology) {
    if (maker) return maker(backend, topology);
    return std::make_unique<OwnPackets>(backend, topology, pm4::Dialect::kWavetap);
}

/// The handler of a run, unless its client gave up.
struct Gate {
    ChunkHandler handler;
    void* user;
    const std::atomic<bool>* silenced;
};

void gated(const Chunk& chunk, void* user) {
    const auto* gate = static_cast<const Gate*>(user);
    if (gate->handler != nullptr && !gate->silenced->load()) gate->handler(chunk, gate->user);
}

} // namespace

HubEngine::HubEngine(std::unique_ptr<Backend> backend, Options options, const Clock& clock,
                     MarkerLog& log, const std::atomic<bool>& silenced)
    : backend_(std::move(backend)), options_(std::move(options)),
      topology_(pm4_topology(options_.topology)), clock_(clock), log_(log), silenced_(silenced),
      bank_(*backend_), packets_(make_packets(options_.packets, *backend_, topology_)),
      landing_(*backend_), replay_(*backend_), leases_(*backend_),
      stream_({*backend_, clock_, topology_, options_.limits, bank_, *packets_, statistics_},
              silenced, options_.delivery_name),
      delivery_parts_{*backend_, clock_, topology_, options_.limits, landing_, statistics_} {}

HubEngine::~HubEngine() {
    shut_down();
}

void HubEngine::note_memory() {
    statistics_.output_slots = bank_.slots();
    statistics_.output_bytes = bank_.bytes();
    statistics_.staging_bytes = landing_.memory().bytes + bank_.staging_bytes();
    statistics_.control_bytes = packets_->bytes() + replay_.memory().bytes + leases_.memory().bytes;
}

Result<void> HubEngine::submit_and_wait(std::span<const CommandBuffer> buffers, Duration limit) {
    const TimePoint deadline = clock_.deadline_after(limit);
    auto ticket = backend_->submit(buffers, deadline);
    auto done = ticket ? backend_->wait(*ticket, deadline) : Result<void>(ticket.error());
    if (!done && done.error().code == ErrorCode::kTimeout) ++statistics_.deadline_misses;
    return done;
}

Result<void> HubEngine::rebuild_queue() {
    if (queue_) {
        WAVETAP_CHECK_OK(backend_->destroy_queue());
        queue_ = false;
    }
    WAVETAP_CHECK_OK(backend_->create_queue());
    queue_ = true;
    ++statistics_.queues_created;
    if (disarm_) {
        const CommandBuffer stop = *disarm_;
        WAVETAP_CHECK_OK(submit_and_wait({&stop, 1}, options_.limits.stop));
        disarm_.reset();
    }
    lost_ = false;
    return {};
}

Result<void> HubEngine::ensure_queue() {
    if (queue_ && !lost_) return {};
    return rebuild_queue();
}

Result<void> HubEngine::ensure_memory(const RunRequest& request, const SlotPlan& plan) {
    WAVETAP_CHECK_OK(packets_->ensure());
    // A lease does with one slot if there is no memory for all of its plan.
    WAVETAP_CHECK_OK(bank_.grow(plan, {request.config.buffer_bytes, request.buffers}));
    if (request.buffers > 1) return {};
    return landing_.ensure(landing_bytes(bank_.output(0).bytes));
}

std::uint64_t HubEngine::landing_bytes(std::uint64_t slot_bytes) const {
    return RunDelivery::landing_bytes(std::min(options_.landing_limit, slot_bytes));
}

Result<void> HubEngine::append_replay(MarkerLog::Position until, std::vector<std::uint32_t>& words,
                                      std::vector<std::uint32_t>& joints) {
    std::vector<pm4::CodeObjectMarker> markers;
    log_.replay(until, markers);
    for (const pm4::CodeObjectMarker& marker : markers) {
        WAVETAP_CHECK_OK(packets_->append_marker(marker, words));
        joints.push_back(static_cast<std::uint32_t>(words.size()));
    }
    return {};
}

Result<void> HubEngine::build_replay(MarkerLog::Position until) {
    if (replay_until_ == until) return {};
    std::vector<std::uint32_t> stream, joints;
    WAVETAP_CHECK_OK(append_replay(until, stream, joints));
    if (!stream.empty()) {
        // Doubled, so that one more code object does not cost another allocation.
        if (replay_.memory().bytes < stream.size() * 4)
            WAVETAP_CHECK_OK(replay_.ensure(stream.size() * 8));
        std::memcpy(replay_.memory().host, stream.data(), stream.size() * 4);
    }
    replay_buffers_.clear();
    std::uint32_t begin = 0, end = 0;
    const auto close_piece = [&] {
        if (end > begin)
            replay_buffers_.push_back({replay_.memory().va + begin * 4ull, end - begin});
        begin = end;
    };
    for (const std::uint32_t joint : joints) {
        if (joint - begin > kMaxCommandDwords) close_piece();
        end = joint;
    }
    close_piece();
    if (replay_buffers_.size() + 2 > Backend::kMaxCommandBuffers) {
        replay_until_.reset();
        return Error{ErrorCode::kLimit,
                     std::to_string(joints.size()) + " code objects are too many to mark", "",
                     "unload modules that are not used"};
    }
    replay_markers_ = joints.size();
    replay_until_ = until;
    log_.compact(until);
    return {};
}

OutputSlots HubEngine::output_slots(const RunRequest& request) const {
    OutputSlots slots;
    if (request.buffers > 1) slots.count = kRingSlots;
    for (std::uint32_t i = 0; i < slots.count; ++i)
        slots.slots[i] = bank_.output(i);
    return slots;
}

Result<TraceStreams> HubEngine::build_streams(const RunRequest& request) {
    const OutputSlots slots = output_slots(request);
    auto streams = packets_->streams(request.config, slots);
    if (streams && request.buffers > 1) WAVETAP_CHECK_OK(stream_.prepare(request, slots, *streams));
    return streams;
}

// Start stream and markers for all that the last build_replay() holds.
Result<void> HubEngine::submit_start(const TraceStreams& streams) {
    WAVETAP_CHECK_OK(packets_->begin(streams));
    std::array<CommandBuffer, Backend::kMaxCommandBuffers> buffers{};
    buffers[0] = streams.start;
    std::copy(replay_buffers_.begin(), replay_buffers_.end(), buffers.begin() + 1);
    std::size_t count = replay_buffers_.size() + 1;
    if (streams.confirm.dwords != 0) buffers[count++] = streams.confirm;
    auto done = submit_and_wait({buffers.data(), count}, options_.limits.start);
    if (done) statistics_.markers += replay_markers_;
    return done;
}

// A unit that is off and has written nothing was never on: a small buffer may be full by now.
Result<void> HubEngine::check_armed(const TraceStreams& streams, const pm4::TraceConfig& config) {
    if (streams.confirm.dwords == 0) return {};
    std::array<EngineReadback, kMostEngines> list{};
    const std::span<EngineReadback> engines(
        list.data(), static_cast<std::size_t>(std::popcount(config.se_mask)));
    WAVETAP_CHECK_OK(packets_->read_ring(streams, config, RingMoment::kQueried, 0, engines));
    for (const EngineReadback& engine : engines) {
        const pm4::EngineResult& result = engine.result;
        if (engine.running || engine.flipped || result.bytes != 0 || result.write_error) continue;
        return Error{ErrorCode::kUnavailable,
                     "the trace unit of shader engine " + std::to_string(engine.engine) +
                         " is off behind its start",
                     "", "another profiler may use it"};
    }
    return {};
}

void HubEngine::begin_stream(const RunRequest& request) {
    StreamEngine::Context context{
        request, run_->id, run_->streams, run_->start_counter, [this]() -> Result<void> {
            const MarkerLog::Position until = log_.end();
            WAVETAP_CHECK_OK(build_replay(until));
            WAVETAP_CHECK_OK(submit_start(run_->streams));
            WAVETAP_CHECK_OK(check_armed(run_->streams, run_->request.config));
            marked_ = until;
            return {};
        }};
    stream_.begin(std::move(context));
}

Result<void> HubEngine::start(const RunRequest& request, const SlotPlan& plan, std::uint64_t run) {
    try {
        return start_run(request, plan, run);
    } catch (...) {
        interrupted();
        return caught_error();
    }
}

Result<void> HubEngine::start_run(const RunRequest& request, const SlotPlan& plan,
                                  std::uint64_t run) {
    auto prepared = [&]() -> Result<TraceStreams> {
        WAVETAP_CHECK_OK(ensure_memory(request, plan));
        return build_streams(request);
    };
    WAVETAP_CHECK_OK(ensure_queue());
    auto streams = prepared();
    note_memory();
    if (!streams) return std::move(streams.error());
    const MarkerLog::Position until = log_.end();
    WAVETAP_CHECK_OK(build_replay(until));
    note_memory();

    disarm_ = streams->stop;
    if (auto done = submit_start(*streams); !done) {
        lost_ = true;
        done.error().message = "trace start did not complete: " + done.error().message;
        return done;
    }
    if (auto armed = check_armed(*streams, request.config); !armed) {
        // Others of its engines may be on.
        lost_ = !submit_and_wait({&streams->stop, 1}, options_.limits.stop);
        if (!lost_) disarm_.reset();
        return armed;
    }
    marked_ = until;
    run_ = Run{request, run, *streams, bank_.output(0), backend_->counter(), false};
    disarm_.reset();
    if (request.buffers > 1) begin_stream(request);
    return {};
}

void HubEngine::interrupted() noexcept {
    if (run_) disarm_ = run_->streams.stop;
    if (disarm_) lost_ = true;
    stream_.drop();
    run_.reset();
}

Result<void> HubEngine::mark(MarkerLog::Position until) {
    bool sent = false;
    try {
        return send_markers(until, sent);
    } catch (...) {
        if (sent) run_->markers_broken = true;
        return caught_error();
    }
}

Result<void> HubEngine::send_markers(MarkerLog::Position until, bool& sent) {
    if (!run_ || run_->markers_broken || marked_ >= until)
        return run_ && run_->markers_broken
                   ? Result<void>(Error{ErrorCode::kTimeout,
                                        "an earlier code-object marker was not answered", "", ""})
                   : Result<void>();
    while (marked_ < until) {
        std::vector<pm4::CodeObjectMarker> markers;
        const auto reached = log_.live(marked_, until, kLiveMarkers, markers);
        std::vector<std::uint32_t> words;
        for (const pm4::CodeObjectMarker& marker : markers)
            WAVETAP_CHECK_OK(packets_->append_marker(marker, words));
        if (!words.empty()) {
            const CommandBuffer buffer = packets_->write_live(words);
            sent = true;
            if (auto done = submit_and_wait({&buffer, 1}, options_.limits.marker); !done) {
                run_->markers_broken = true;
                return done;
            }
            sent = false;
            statistics_.markers += reached - marked_;
        }
        marked_ = reached;
    }
    return {};
}

Result<RunSummary> HubEngine::stop_stream(bool deliver) {
    auto summary = stream_.stop(deliver);
    if (stream_.gpu_lost()) {
        lost_ = true;
        disarm_ = run_->streams.stop;
    }
    if (run_->markers_broken) lost_ = true;
    run_.reset();
    note_memory();
    return summary;
}

Result<RunSummary> HubEngine::stop(bool deliver) {
    try {
        if (stream_.active()) return stop_stream(deliver);
        return finish_run(submit_and_wait({&run_->streams.stop, 1}, options_.limits.stop), deliver);
    } catch (...) {
        interrupted();
        return caught_error();
    }
}

FinishedRun HubEngine::take_run(Result<void> outcome) {
    FinishedRun run;
    run.request = run_->request;
    run.id = run_->id;
    run.output = run_->output;
    run.capacity_bytes = run_->streams.capacity_bytes;
    run.start_counter = run_->start_counter;
    run.end_counter = backend_->counter();
    const pm4::TraceConfig& config = run_->request.config;
    run.engine_count = static_cast<std::uint32_t>(std::popcount(config.se_mask));
    const std::span<EngineReadback> engines(run.engines.data(), run.engine_count);
    if (!outcome) {
        lost_ = true;
        disarm_ = run_->streams.stop;
        outcome.error().message = "trace stop did not complete: " + outcome.error().message;
    } else {
        outcome = check_armed(run_->streams, config); // of a lease nobody has asked yet
        if (outcome) outcome = packets_->read_back(run_->streams, config, run_->output, engines);
    }
    if (!outcome) {
        std::uint64_t mask = config.se_mask;
        for (EngineReadback& nothing : engines) {
            nothing = {};
            nothing.engine = static_cast<std::uint32_t>(std::countr_zero(mask));
            mask &= mask - 1;
        }
    }
    if (run_->markers_broken) lost_ = true;
    run.outcome = std::move(outcome);
    run_.reset();
    return run;
}

Result<RunSummary> HubEngine::finish_run(Result<void> outcome, bool deliver) {
    FinishedRun run = take_run(std::move(outcome));
    Gate gate{deliver ? run.request.handler : nullptr, run.request.user, &silenced_};
    const bool discard = !deliver && run.outcome.has_value();
    RunDelivery delivery(delivery_parts_, std::move(run), gated, &gate);
    if (discard) delivery.discard();
    while (delivery.step()) {
    }
    if (delivery.gpu_lost()) lost_ = true;
    return delivery.finish(delivery.counts());
}

void HubEngine::shut_down() {
    try {
        give_back(stream_.pool().close(clock_.deadline_after(options_.limits.close)).has_value());
    } catch (...) { // what was not given back stays with the runtime
    }
}

void HubEngine::release_idle() {
    give_back(stream_.pool().wait_until_delivered(clock_.now()));
}

void HubEngine::give_back(bool delivered) {
    // The GPU must be off the memory before it is freed: where it cannot be told so, the memory stays.
    const bool armed = disarm_ && !rebuild_queue();
    backend_->end_copies();
    if (queue_ && !backend_->destroy_queue()) return;
    queue_ = false;
    if (armed) return;
    if (!delivered) return; // a handler still uses staging slots
    bank_.release();
    packets_->release();
    landing_.release();
    replay_.release();
    leases_.release();
    replay_until_.reset();
    note_memory();
}

} // namespace wavetap::capture
