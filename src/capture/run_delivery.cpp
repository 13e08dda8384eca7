// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/run_delivery.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace wavetap::capture {

namespace {

constexpr std::uint64_t kLandingHead = 4096; ///< room for the software header in front of the bytes
constexpr std::uint64_t kHeaderBytes = 8;

} // namespace

std::uint64_t RunDelivery::landing_bytes(std::uint64_t largest) {
    return kLandingHead + largest;
}

RunDelivery::RunDelivery(const Parts& parts, FinishedRun run, ChunkHandler handler, void* user)
    : parts_(parts), run_(std::move(run)), sink_(handler, user), whole_(run_.outcome.has_value()) {
    summary_.run = run_.id;
    summary_.end_counter = run_.end_counter;
}

void RunDelivery::begin_engine(const EngineReadback& engine) {
    begun_ = true;
    done_ = 0;
    Chunk prototype;
    prototype.context = run_.request.context;
    prototype.run = run_.id;
    prototype.engine = engine.engine;
    prototype.capacity_bytes = run_.capacity_bytes;
    if (whole_) {
        prototype.status = engine.status;
        prototype.dropped = engine.dropped;
        prototype.wptr = engine.wptr;
        prototype.start_counter =
            engine.start_counter != 0 ? engine.start_counter : run_.start_counter;
        prototype.end_counter = engine.end_counter != 0 ? engine.end_counter : run_.end_counter;
        if (engine.result.full) {
            prototype.flags |= kChunkGpuBufferFull;
            if (!summary_.gpu_full) ++parts_.statistics.gpu_full;
            summary_.gpu_full = true;
        }
        if (engine.result.write_error) prototype.flags |= kChunkWriteError;
        if (summary_.start_counter == 0) summary_.start_counter = prototype.start_counter;
        summary_.end_counter = prototype.end_counter;
    }
    sink_.begin(prototype);
}

void RunDelivery::lose(std::uint64_t bytes, Error reason) {
    summary_.bytes_lost += bytes;
    sink_.lose();
    if (run_.outcome) run_.outcome = std::move(reason);
}

Result<void> RunDelivery::copy(std::uint64_t from_va, std::uint64_t bytes) {
    if (bytes == 0) return {};
    auto copied = parts_.backend.copy_to_host(parts_.landing.memory(), kLandingHead, from_va, bytes,
                                              parts_.clock.deadline_after(parts_.limits.copy));
    if (!copied && copied.error().code == ErrorCode::kTimeout) {
        ++parts_.statistics.deadline_misses;
        gpu_lost_ = true;
        parts_.landing.abandon();
    }
    return copied;
}

bool RunDelivery::step() {
    if (next_ == run_.engine_count) return false;
    const EngineReadback& engine = run_.engines[next_];
    if (!begun_) begin_engine(engine);
    const std::uint64_t bytes = std::min(engine.result.bytes, run_.capacity_bytes);
    const auto next_engine = [this] {
        ++next_;
        begun_ = false;
        return true;
    };
    const auto fail = [&](Error reason) {
        lose(bytes - done_, std::move(reason));
        return next_engine();
    };
    if (!whole_) return fail(run_.outcome.error());
    const HostMemory landing = parts_.landing.memory();
    if (landing.bytes <= kLandingHead)
        return fail({ErrorCode::kTimeout, "an earlier copy of this run was not answered", "", ""});
    const std::uint64_t size = std::min(landing.bytes - kLandingHead, bytes - done_);
    if (auto copied = copy(engine.va + done_, size); !copied)
        return fail(std::move(copied.error()));
    std::byte* data = landing.host + kLandingHead;
    std::uint64_t head = 0;
    if (done_ == 0 && parts_.topology.gfx.starts_with("gfx9")) {
        head = kHeaderBytes;
        std::memcpy(data - head, &engine.header, head);
    }
    done_ += size;
    sink_.deliver({data - head, static_cast<std::size_t>(head + size)}, done_ == bytes);
    return done_ == bytes ? next_engine() : true;
}

void RunDelivery::discard() {
    for (; next_ != run_.engine_count; ++next_)
        summary_.bytes_lost += run_.engines[next_].result.bytes;
}

void RunDelivery::give_up(Error reason) {
    whole_ = false;
    run_.outcome = std::move(reason);
}

Result<RunSummary> RunDelivery::finish(const ChunkSink::Counts& handed) {
    HubStatistics& statistics = parts_.statistics;
    summary_.chunks = handed.chunks;
    summary_.bytes_delivered = handed.bytes;
    ++statistics.runs;
    statistics.chunks += handed.chunks;
    statistics.bytes_delivered += handed.bytes;
    // What a handler that never returned was given.
    summary_.bytes_lost += sink_.counts().bytes - handed.bytes;
    statistics.bytes_lost += summary_.bytes_lost;
    statistics.gaps += handed.gaps;
    statistics.handler_exceptions += handed.handler_exceptions;
    if (!run_.outcome) return std::move(run_.outcome.error());
    return summary_;
}

} // namespace wavetap::capture
