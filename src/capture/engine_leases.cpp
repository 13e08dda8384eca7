// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/caught.hpp"
#include "capture/hub_engine.hpp"
#include "pm4/packets.hpp"

#include <algorithm>
#include <cstring>
#include <span>

// The streams that leases share.

namespace wavetap::capture {

namespace {

/// Room for the markers of about a thousand code objects in the start stream of leases.
constexpr std::uint32_t kLeaseMarkerDwords = 32 * 1024;
constexpr std::uint32_t kLeaseStreamDwords = 4096; ///< the longest start or stop stream
constexpr std::uint32_t kLandingSlot = 0;          ///< the name of the landing area in the pool

/// Fills with type-3 NOPs (count = dwords behind the header minus one; all ones: none).
void fill_nops(std::byte* at, std::uint32_t dwords) {
    constexpr std::uint32_t kMost = 0x3000;
    for (std::uint32_t done = 0; done < dwords;) {
        const std::uint32_t size = std::min(dwords - done, kMost);
        const std::uint32_t count = size == 1 ? 0x3fff : size - 2;
        const std::uint32_t header =
            3u << 30 | count << 16 | static_cast<std::uint32_t>(pm4::Opcode::kNop) << 8;
        std::memcpy(at + done * 4ull, &header, sizeof header);
        done += size;
    }
}

} // namespace

Result<LeaseStreams> HubEngine::open_leases() {
    WAVETAP_CHECK_OK(stream_.pool().ensure_threads(1));
    WAVETAP_CHECK_OK(stream_.pool().begin(nullptr, nullptr, Delivery::kInOrder));
    WAVETAP_CHECK_OK(packets_->ensure());
    lease_start_dwords_ = kLeaseStreamDwords + kLeaseMarkerDwords;
    lease_stop_dwords_ = kLeaseStreamDwords;
    auto room = leases_.ensure((lease_start_dwords_ + lease_stop_dwords_) * 4ull);
    note_memory();
    if (!room) return std::move(room.error());
    clear_lease_streams();
    const std::uint64_t va = leases_.memory().va;
    const auto policy = static_cast<std::int8_t>(pm4::command_cache_policy(topology_));
    return LeaseStreams{0,
                        {va, lease_start_dwords_, policy},
                        {va + lease_start_dwords_ * 4ull, lease_stop_dwords_, policy}};
}

void HubEngine::clear_lease_streams() {
    fill_nops(leases_.memory().host, lease_start_dwords_);
    fill_nops(leases_.memory().host + lease_start_dwords_ * 4ull, lease_stop_dwords_);
}

std::optional<std::size_t> HubEngine::free_slot(const RunRequest& request) const {
    const std::size_t slots = std::clamp<std::size_t>(request.lease_slots, 1, kMaxOutputSlots);
    for (std::size_t i = 0; i < slots; ++i) {
        const DeviceMemory& slot = bank_.output(i);
        const auto lies_there = [&](const FinishedRun& run) { return run.output.va == slot.va; };
        if (slot.bytes < request.config.buffer_bytes) continue;
        if (delivery_ && lies_there(delivery_->run())) continue;
        if (std::ranges::none_of(retired_, lies_there)) return i;
    }
    return std::nullopt;
}

bool HubEngine::may_begin_lease(const RunRequest& request, const SlotPlan& plan) const {
    if (!delivery_ && retired_.empty()) return true;
    return bank_.settled(plan, {request.config.buffer_bytes, request.buffers}) &&
           landing_.memory().bytes >= landing_bytes(bank_.output(0).bytes) &&
           free_slot(request).has_value();
}

Result<void> HubEngine::begin_lease(const RunRequest& request, const SlotPlan& plan,
                                    std::uint64_t run) {
    auto done = caught([&] { return write_lease(request, plan, run); });
    if (!done) clear_lease_streams();
    return done;
}

Result<void> HubEngine::write_lease(const RunRequest& request, const SlotPlan& plan,
                                    std::uint64_t run) {
    if (lost_) WAVETAP_CHECK_OK(rebuild_queue());
    if (request.buffers > 1)
        return Error{ErrorCode::kUnsupported,
                     "a trace of single dispatches has one buffer, not " +
                         std::to_string(request.buffers),
                     "", "use one buffer, or device mode"};
    auto made = ensure_memory(request, plan);
    note_memory();
    if (!made) return made;
    OutputSlots output;
    output.slots[0] = bank_.output(free_slot(request).value_or(0));
    auto built = packets_->streams(request.config, output);
    note_memory();
    WAVETAP_TRY(const TraceStreams streams, std::move(built));
    const MarkerLog::Position until = log_.end();
    std::vector<std::uint32_t> markers, joints;
    WAVETAP_CHECK_OK(append_replay(until, markers, joints));
    const std::uint64_t marked_dwords = streams.start.dwords + markers.size();
    const std::uint64_t start_dwords = marked_dwords + streams.confirm.dwords;
    if (start_dwords > lease_start_dwords_ || streams.stop.dwords > lease_stop_dwords_)
        return Error{ErrorCode::kLimit,
                     std::to_string(joints.size()) + " code objects are too many to mark", "",
                     "unload modules that are not used"};

    WAVETAP_CHECK_OK(packets_->begin(streams));
    std::byte* start = leases_.memory().host;
    std::byte* stop = start + lease_start_dwords_ * 4ull;
    std::memcpy(start, packets_->words(streams.start), streams.start.dwords * 4ull);
    std::ranges::copy(std::as_bytes(std::span(markers)), start + streams.start.dwords * 4ull);
    if (streams.confirm.dwords != 0)
        std::memcpy(start + marked_dwords * 4, packets_->words(streams.confirm),
                    streams.confirm.dwords * 4ull);
    fill_nops(start + start_dwords * 4,
              lease_start_dwords_ - static_cast<std::uint32_t>(start_dwords));
    std::memcpy(stop, packets_->words(streams.stop), streams.stop.dwords * 4ull);
    fill_nops(stop + streams.stop.dwords * 4ull, lease_stop_dwords_ - streams.stop.dwords);
    log_.compact(until);
    statistics_.markers += joints.size();
    marked_ = until;
    run_ = Run{request, run, streams, output.slots[0], backend_->counter(), false};
    return {};
}

// The control block is read here, so the next lease may use it.
bool HubEngine::retire_lease(Result<void> outcome) {
    bool kept = true;
    try {
        retired_.push_back(take_run(std::move(outcome)));
    } catch (...) {
        kept = false;
        interrupted();
    }
    clear_lease_streams();
    // At once, since nobody may ever start again; if it fails, the next start tries again.
    if (lost_) (void)caught([this] { return rebuild_queue(); });
    return kept;
}

void HubEngine::hand_over(const Chunk& chunk, void* engine) {
    auto* self = static_cast<HubEngine*>(engine);
    if (self->handler_gone_) return;
    try {
        self->stream_.pool().push(chunk, chunk.data.empty() ? ChunkPool::kNoSlot : kLandingSlot);
    } catch (...) {
        self->chunk_dropped_ = true;
    }
}

void HubEngine::begin_delivery() {
    FinishedRun run = std::move(retired_.front());
    retired_.pop_front();
    auto begun = stream_.pool().begin(run.request.handler, run.request.user, Delivery::kInOrder);
    handler_gone_ = !begun.has_value();
    chunk_dropped_ = false;
    delivery_.emplace(delivery_parts_, std::move(run), hand_over, this);
    if (!begun) delivery_->give_up(std::move(begun.error()));
}

bool HubEngine::deliver_lease(std::optional<Result<RunSummary>>& ended) {
    try {
        return step_delivery(ended);
    } catch (...) {
        ended.emplace(caught_error());
        stream_.pool().discard();
        if (stream_.pool().abandon() != 0) landing_.abandon();
        delivery_.reset();
        return true;
    }
}

bool HubEngine::step_delivery(std::optional<Result<RunSummary>>& ended) {
    ChunkPool& pool = stream_.pool();
    if (!delivery_) {
        if (retired_.empty()) return false;
        begin_delivery();
    }
    // One piece at a time: they share the landing area.
    if (!handler_gone_ && !pool.wait_until_delivered(clock_.now())) return false;
    if (delivery_->step()) return true;
    ChunkSink::Counts handed = delivery_->counts();
    const ChunkPool::Counts counts = pool.counts();
    handed.handler_exceptions = counts.handler_exceptions;
    if (handler_gone_) {
        handed.chunks = counts.chunks;
        handed.bytes = counts.bytes;
    }
    if (delivery_->gpu_lost()) lost_ = true;
    ended = delivery_->finish(handed);
    if (chunk_dropped_) ended.emplace(brief_error(ErrorCode::kLimit, "no host memory"));
    delivery_.reset();
    if (lost_) (void)rebuild_queue();
    return true;
}

bool HubEngine::wait_for_lease_handler(TimePoint deadline) {
    return handler_gone_ || stream_.pool().wait_until_delivered(deadline);
}

void HubEngine::give_up_leases() {
    if (!delivery_ || handler_gone_) return;
    stream_.pool().discard();
    if (stream_.pool().abandon() != 0) landing_.abandon();
    handler_gone_ = true;
    ++statistics_.deadline_misses;
    delivery_->give_up(brief_error(ErrorCode::kTimeout, "a chunk handler does not return"));
}

void HubEngine::close_leases(bool abandoned) {
    if (leases_.memory().host == nullptr) return;
    clear_lease_streams();
    if (abandoned)
        leases_.abandon();
    else
        leases_.release();
    note_memory();
}

} // namespace wavetap::capture
