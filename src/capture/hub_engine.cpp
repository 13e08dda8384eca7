// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/hub_engine.hpp"

#include "capture/own_packets.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace wavetap::capture {

namespace {

constexpr std::uint64_t kLandingHead = 4096; ///< room for the software header in front of the bytes
constexpr std::uint64_t kHeaderBytes = 8;
/// The longest marker has 63 dwords (docs/formats/pm4-thread-trace.md).
constexpr std::size_t kLiveMarkers = PacketSource::kLiveDwords / 64;
constexpr std::size_t kMostEngines = 64;

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
              silenced, options_.delivery_name) {}

HubEngine::~HubEngine() {
    shut_down();
}

bool HubEngine::has_header() const {
    return topology_.gfx.starts_with("gfx9");
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
    WAVETAP_CHECK_OK(bank_.grow(plan, requirement_of(request)));
    if (request.buffers > 1) return {};
    const std::uint64_t landing = std::min(options_.landing_limit, bank_.output(0).bytes);
    return landing_.ensure(kLandingHead + landing);
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
    if (replay_buffers_.size() + 1 > Backend::kMaxCommandBuffers) {
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
    auto done =
        submit_and_wait({buffers.data(), replay_buffers_.size() + 1}, options_.limits.start);
    if (done) statistics_.markers += replay_markers_;
    return done;
}

void HubEngine::begin_stream(const RunRequest& request) {
    StreamEngine::Context context{request, run_->id, run_->streams, run_->start_counter,
                                  [this]() -> Result<void> {
                                      const MarkerLog::Position until = log_.end();
                                      WAVETAP_CHECK_OK(build_replay(until));
                                      WAVETAP_CHECK_OK(submit_start(run_->streams));
                                      marked_ = until;
                                      return {};
                                  }};
    stream_.begin(std::move(context));
}

Result<void> HubEngine::start(const RunRequest& request, const SlotPlan& plan, std::uint64_t run) {
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

    if (auto done = submit_start(*streams); !done) {
        lost_ = true;
        disarm_ = streams->stop;
        done.error().message = "trace start did not complete: " + done.error().message;
        return done;
    }
    marked_ = until;
    run_ = Run{request, run, *streams, bank_.output(0), backend_->counter(), false};
    if (request.buffers > 1) begin_stream(request);
    return {};
}

Result<void> HubEngine::mark(MarkerLog::Position until) {
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
            if (auto done = submit_and_wait({&buffer, 1}, options_.limits.marker); !done) {
                run_->markers_broken = true;
                return done;
            }
            statistics_.markers += reached - marked_;
        }
        marked_ = reached;
    }
    return {};
}

Result<void> HubEngine::copy_out(ChunkSink& sink, const EngineReadback& back, RunSummary& summary) {
    const std::uint64_t bytes = std::min(back.result.bytes, run_->streams.capacity_bytes);
    const HostMemory landing = landing_.memory();
    if (landing.bytes <= kLandingHead) {
        sink.lose();
        summary.bytes_lost += bytes;
        return Error{ErrorCode::kTimeout, "an earlier copy of this run was not answered", "", ""};
    }
    const std::uint64_t room = landing.bytes - kLandingHead;
    std::uint64_t done = 0;
    do {
        const std::uint64_t size = std::min(room, bytes - done);
        if (size > 0) {
            auto copied = backend_->copy_to_host(landing, kLandingHead, back.va + done, size,
                                                 clock_.deadline_after(options_.limits.copy));
            if (!copied) {
                if (copied.error().code == ErrorCode::kTimeout) {
                    ++statistics_.deadline_misses;
                    lost_ = true;
                    landing_.abandon();
                }
                summary.bytes_lost += bytes - done;
                sink.lose();
                return copied;
            }
        }
        std::uint64_t head = 0;
        if (done == 0 && has_header()) {
            head = kHeaderBytes;
            std::memcpy(landing.host + kLandingHead - head, &back.header, head);
        }
        done += size;
        sink.deliver({landing.host + kLandingHead - head, static_cast<std::size_t>(head + size)},
                     done == bytes);
    } while (done < bytes);
    return {};
}

Result<void> HubEngine::deliver_engine(ChunkSink& sink, const EngineReadback& back,
                                       RunSummary& summary) {
    Chunk prototype;
    prototype.context = run_->request.context;
    prototype.run = run_->id;
    prototype.engine = back.engine;
    prototype.capacity_bytes = run_->streams.capacity_bytes;
    prototype.status = back.status;
    prototype.dropped = back.dropped;
    prototype.wptr = back.wptr;
    prototype.start_counter = back.start_counter != 0 ? back.start_counter : run_->start_counter;
    prototype.end_counter = back.end_counter != 0 ? back.end_counter : summary.end_counter;
    if (back.result.full) {
        prototype.flags |= kChunkGpuBufferFull;
        if (!summary.gpu_full) ++statistics_.gpu_full;
        summary.gpu_full = true;
    }
    if (back.result.write_error) prototype.flags |= kChunkWriteError;
    if (summary.start_counter == 0) summary.start_counter = prototype.start_counter;
    summary.end_counter = prototype.end_counter;
    sink.begin(prototype);
    return copy_out(sink, back, summary);
}

void HubEngine::lose_all(ChunkSink& sink) {
    for (std::uint64_t mask = run_->request.config.se_mask; mask != 0; mask &= mask - 1) {
        Chunk prototype;
        prototype.context = run_->request.context;
        prototype.run = run_->id;
        prototype.engine = static_cast<std::uint32_t>(std::countr_zero(mask));
        prototype.capacity_bytes = run_->streams.capacity_bytes;
        sink.begin(prototype);
        sink.lose();
    }
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
    if (stream_.active()) return stop_stream(deliver);
    return finish_run(submit_and_wait({&run_->streams.stop, 1}, options_.limits.stop), deliver);
}

Result<RunSummary> HubEngine::finish_run(Result<void> outcome, bool deliver) {
    RunSummary summary;
    summary.run = run_->id;
    Gate gate{deliver ? run_->request.handler : nullptr, run_->request.user, &silenced_};
    summary.end_counter = backend_->counter();
    {
        ChunkSink sink(gated, &gate);
        if (!outcome) {
            lost_ = true;
            disarm_ = run_->streams.stop;
            outcome.error().message = "trace stop did not complete: " + outcome.error().message;
            lose_all(sink);
        } else {
            std::array<EngineReadback, kMostEngines> all;
            const auto count =
                static_cast<std::size_t>(std::popcount(run_->request.config.se_mask));
            const std::span<EngineReadback> engines(all.data(), count);
            outcome =
                packets_->read_back(run_->streams, run_->request.config, run_->output, engines);
            if (!outcome) lose_all(sink);
            for (const EngineReadback& back : outcome ? engines : engines.first(0)) {
                if (!deliver) {
                    summary.bytes_lost += back.result.bytes;
                } else if (auto sent = deliver_engine(sink, back, summary);
                           !sent && outcome.has_value()) {
                    outcome = std::move(sent);
                }
            }
        }
        summary.chunks = sink.counts().chunks;
        summary.bytes_delivered = sink.counts().bytes;
        statistics_.gaps += sink.counts().gaps;
        statistics_.handler_exceptions += sink.counts().handler_exceptions;
    }
    if (run_->markers_broken) lost_ = true;
    ++statistics_.runs;
    statistics_.chunks += summary.chunks;
    statistics_.bytes_delivered += summary.bytes_delivered;
    statistics_.bytes_lost += summary.bytes_lost;
    run_.reset();
    if (!outcome) return std::move(outcome.error());
    return summary;
}

void HubEngine::shut_down() {
    give_back(stream_.pool().close(clock_.deadline_after(options_.limits.close)).has_value());
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
