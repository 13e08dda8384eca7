// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "aqlprofile/packets.hpp"

#include "aqlprofile/set.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace wavetap::aqlprofile {

using capture::CommandBuffer;
using capture::EngineReadback;
using capture::OutputSlots;
using capture::RingMoment;
using capture::TraceStreams;

namespace {

constexpr const char* kCreate = "aqlprofile_att_create_packets";
constexpr const char* kIterate = "aqlprofile_att_iterate_data";
constexpr const char* kMarker = "aqlprofile_att_codeobj_marker";
constexpr const char* kBufferPackets = "aqlprofile_att_get_buffer_packets";
constexpr const char* kBufferStatus = "aqlprofile_att_update_buffer_status";
constexpr std::size_t kMostSwaps = 2 * capture::kMaxOutputSlots;

/// What of a configuration gets into the packets.
bool same_config(const pm4::TraceConfig& a, const pm4::TraceConfig& b) {
    return a.se_mask == b.se_mask && a.target_cu == b.target_cu && a.simd_mask == b.simd_mask &&
           a.buffer_bytes == b.buffer_bytes && a.buffers == b.buffers && a.detail == b.detail &&
           a.clock_markers == b.clock_markers && a.counters == b.counters &&
           a.counter_rate == b.counter_rate && a.counter_cu_mask == b.counter_cu_mask;
}

bool same_slots(const OutputSlots& a, const OutputSlots& b) {
    if (a.count != b.count) return false;
    for (std::size_t i = 0; i < a.count; ++i)
        if (a.va(i) != b.va(i)) return false;
    return true;
}

std::vector<Parameter> parameters_of(const pm4::TraceConfig& config, const OutputSlots& slots,
                                     bool one_simd) {
    // From gfx10 on a SIMD is a number.
    const auto simd = one_simd ? static_cast<std::uint32_t>(std::countr_zero(config.simd_mask))
                               : config.simd_mask;
    const auto high = static_cast<std::uint32_t>(config.buffer_bytes >> 32);
    std::vector<Parameter> list{{kSeMask, static_cast<std::uint32_t>(config.se_mask)},
                                {kTargetCu, config.target_cu},
                                {kSimdSelection, simd},
                                {kBufferSize, static_cast<std::uint32_t>(config.buffer_bytes)}};
    if (high != 0) list.push_back({kBufferSizeHigh, high});
    if (!config.detail) list.push_back({kOccupancyMode, 1});
    if (!config.clock_markers) list.push_back({kClockMarkers, 2});
    if (slots.count > 1) list.push_back({kBuffers, slots.count});
    if (config.counters.empty()) return list;
    if (config.counter_cu_mask != 0xFFFFFFFF) list.push_back({kCounterCus, config.counter_cu_mask});
    for (const pm4::TraceCounter& counter : config.counters)
        list.push_back({kCounter, counter.id | counter.simd_mask << 28});
    list.push_back({kCounterRate, config.counter_rate});
    return list;
}

} // namespace

Packets::Packets(capture::Backend& backend, pm4::TraceTopology topology,
                 std::shared_ptr<const Library> library, Agent agent)
    : backend_(backend), topology_(std::move(topology)), library_(std::move(library)),
      agent_(agent), live_(backend), scratch_(std::make_unique<Scratch>()) {}

// Sets that were not released stay for ever: the GPU may still read their memory, and the library may
// still call back when the process ends.
Packets::~Packets() {
    for (std::unique_ptr<Set>& set : sets_)
        keep_for_ever(std::move(set));
    if (spare_ != nullptr) keep_for_ever(std::move(spare_));
}

void Packets::retire(std::unique_ptr<Set> set) {
    set->drop();
    if (!set->tainted) return;
    if (spare_ == nullptr)
        spare_ = std::move(set);
    else
        keep_for_ever(std::move(set));
}

Error Packets::lost_set() const {
    return Error{ErrorCode::kInternal, "these packets are gone", library_->path, ""};
}

Result<void> Packets::ensure() {
    return live_.ensure(kLiveDwords * 4);
}

Packets::Set* Packets::find(std::uint64_t id) const {
    const auto found = std::find_if(sets_.begin(), sets_.end(),
                                    [id](const auto& set) { return set->streams.id == id; });
    return found == sets_.end() ? nullptr : found->get();
}

Result<std::unique_ptr<Packets::Set>> Packets::make_set(const pm4::TraceConfig& config,
                                                        const OutputSlots& slots) {
    const bool one_simd = !topology_.gfx.starts_with("gfx9");
    const std::vector<Parameter> parameters = parameters_of(config, slots, one_simd);
    std::unique_ptr<Set> set =
        spare_ != nullptr ? std::move(spare_) : std::make_unique<Set>(backend_, library_);
    set->config = config;
    set->slots = slots;
    set->device_requests = 0;
    set->swaps = 0;
    set->flip_pending = false;
    ControlPackets packets;
    const Profile profile{agent_, parameters.data(), static_cast<std::uint32_t>(parameters.size())};
    const std::int32_t status = library_->create_packets(
        &set->handle, &packets, profile, Set::allocate, Set::free, Set::copy, set.get());
    set->made = status == kSuccess;
    auto outcome = set->outcome(status, kCreate);
    if (outcome) outcome = finish_set(*set, packets);
    if (outcome) return set;
    // A library that refuses may keep what it was told, and call back at the process's end.
    set->tainted = set->tainted || !set->made;
    retire(std::move(set));
    return std::move(outcome.error());
}

Result<void> Packets::finish_set(Set& set, const ControlPackets& packets) {
    if (set.device_requests != set.slots.count)
        return Error{ErrorCode::kUnsupported,
                     "aqlprofile took " + std::to_string(set.device_requests) + " of " +
                         std::to_string(set.slots.count) + " output slots",
                     kCreate, kOwnPacketsHint};
    WAVETAP_TRY(set.streams.start, set.command_of(packets.start));
    WAVETAP_TRY(set.streams.stop, set.command_of(packets.stop));
    // Libraries of 2025 take a page off for every engine that is not selected.
    pm4::TraceConfig theirs = set.config;
    theirs.dialect = library_->has_rings() ? pm4::Dialect::kRead26 : pm4::Dialect::kAug25;
    WAVETAP_TRY(set.streams.capacity_bytes, pm4::capacity_per_engine(topology_, theirs));
    set.ring = {};
    return set.slots.count > 1 ? make_ring(set) : Result<void>();
}

Result<TraceStreams> Packets::streams(const pm4::TraceConfig& config, const OutputSlots& slots) {
    if (config.se_mask >> 32 != 0)
        return Error{ErrorCode::kUnsupported, "aqlprofile takes shader engines 0 to 31 only",
                     library_->path, kOwnPacketsHint};
    if (slots.count > 1 && !library_->has_rings()) return no_rings_error(*library_, "");
    if (slots.count > 1 && std::popcount(config.se_mask) != 1)
        return Error{ErrorCode::kUnsupported,
                     "aqlprofile streams one shader engine through several buffers, not " +
                         std::to_string(std::popcount(config.se_mask)),
                     library_->path, std::string("select one, or ") + kOwnPacketsHint};
    const auto kept = std::find_if(sets_.begin(), sets_.end(), [&](const auto& set) {
        return same_config(set->config, config) && same_slots(set->slots, slots);
    });
    if (kept != sets_.end()) {
        std::rotate(kept, kept + 1, sets_.end());
        return sets_.back()->streams;
    }
    if (sets_.size() >= kMostSets) {
        retire(std::move(sets_.front()));
        sets_.erase(sets_.begin());
    }
    WAVETAP_TRY(std::unique_ptr<Set> set, make_set(config, slots));
    set->streams.id = next_id_++;
    sets_.push_back(std::move(set));
    return sets_.back()->streams;
}

Result<void> Packets::make_ring(Set& set) {
    AqlPacket query;
    std::array<AqlPacket, kMostSwaps> swaps;
    std::array<AqlPacket*, kMostSwaps> pointers{};
    for (std::size_t i = 0; i < kMostSwaps; ++i)
        pointers[i] = &swaps[i];
    std::uint64_t header = 0, count = kMostSwaps;
    const std::int32_t status =
        library_->buffer_packets(&header, &query, pointers.data(), &count, set.handle,
                                 std::countr_zero(set.config.se_mask), 0);
    WAVETAP_CHECK_OK(set.outcome(status, kBufferPackets));
    if (count == 0 || count > kMostSwaps || count % set.slots.count != 0)
        return Error{ErrorCode::kUnsupported,
                     "aqlprofile made " + std::to_string(count) + " swap packets for " +
                         std::to_string(set.slots.count) + " buffers",
                     kBufferPackets, kOwnPacketsHint};
    WAVETAP_TRY(set.ring.query, set.command_of(query));
    for (std::size_t i = 0; i < count; ++i) {
        WAVETAP_TRY(const CommandBuffer swap, set.command_of(swaps[i]));
        set.ring.swaps.push_back(swap);
    }
    set.ring.swaps_per_engine = static_cast<std::uint32_t>(count);
    set.ring.headers = {header};
    set.ring.offsets = {0};
    return {};
}

Result<const capture::RingStreams*> Packets::ring(const pm4::TraceConfig&, const OutputSlots&,
                                                  const TraceStreams& streams) {
    const Set* set = find(streams.id);
    if (set == nullptr) return lost_set();
    return &set->ring;
}

Result<void> Packets::begin(const TraceStreams& streams) {
    Set* set = find(streams.id);
    if (set == nullptr) return lost_set();
    // A run that broke off was never read back: the library still counts its swaps.
    if (set->swaps == 0 && !set->flip_pending) return {};
    auto done = iterate(*set);
    set->swaps = 0;
    set->flip_pending = false;
    return done;
}

// What the library says of the last run; `set.parts` holds it.
Result<void> Packets::iterate(Set& set) {
    set.begin_reading(topology_.gfx.starts_with("gfx9"));
    const std::int32_t status = library_->iterate_data(set.handle, Set::data, &set);
    set.reading = false;
    set.full = status == kOutOfResources;
    set.write_error = status == kException;
    return set.outcome(set.full || set.write_error ? kSuccess : status, kIterate);
}

Result<void> Packets::read_back(const TraceStreams& streams, const pm4::TraceConfig& config,
                                const capture::DeviceMemory&, std::span<EngineReadback> engines) {
    Set* set = find(streams.id);
    if (set == nullptr) return lost_set();
    WAVETAP_CHECK_OK(iterate(*set));
    std::uint64_t mask = config.se_mask;
    bool any_full = false;
    for (EngineReadback& back : engines) {
        const auto engine = static_cast<std::uint32_t>(std::countr_zero(mask));
        mask &= mask - 1;
        const auto part = std::find_if(set->parts.begin(), set->parts.end(),
                                       [&](const auto& one) { return one.engine == engine; });
        if (part == set->parts.end())
            return Error{ErrorCode::kUnsupported,
                         "aqlprofile says nothing of shader engine " + std::to_string(engine),
                         kIterate, kOwnPacketsHint};
        if (part->bytes > streams.capacity_bytes)
            return Error{ErrorCode::kUnsupported,
                         "aqlprofile says that shader engine " + std::to_string(engine) +
                             " wrote " + std::to_string(part->bytes) + " bytes; its part has " +
                             std::to_string(streams.capacity_bytes),
                         kIterate, kOwnPacketsHint};
        back = {};
        back.engine = engine;
        back.va = part->va;
        back.header = part->header;
        back.result.bytes = part->bytes;
        back.result.write_error = set->write_error;
        back.result.full = set->full && part->bytes >= streams.capacity_bytes;
        any_full = any_full || back.result.full;
    }
    // It does not say which engine was full; one with all its room taken was.
    if (set->full && !any_full)
        for (EngineReadback& back : engines)
            back.result.full = true;
    return {};
}

Result<void> Packets::query_ring(Set& set, const pm4::TraceConfig& config, EngineReadback& back) {
    back.running = true;
    back.result = {};
    back.flipped = set.flip_pending;
    if (set.flip_pending) return {};
    BufferStatus status;
    status.struct_bytes = sizeof status;
    WAVETAP_CHECK_OK(set.outcome(
        library_->buffer_status(&status, set.handle, std::countr_zero(config.se_mask), 0),
        kBufferStatus));
    if (status.error)
        return Error{ErrorCode::kUnavailable, "aqlprofile says that the trace failed",
                     kBufferStatus, ""};
    if (!status.needs_swap) return {};
    const std::uint64_t expected = set.slots.va(set.swaps % set.slots.count);
    if (reinterpret_cast<std::uint64_t>(status.data) != expected ||
        status.read_bytes != set.streams.capacity_bytes || status.swaps != set.swaps)
        return Error{ErrorCode::kUnsupported,
                     "aqlprofile fills its buffers in an order that is not known", kBufferStatus,
                     kOwnPacketsHint};
    set.flip_pending = true;
    back.flipped = true;
    back.read_offset = static_cast<std::uint32_t>(status.read_offset);
    if (status.too_late) back.result.bytes = set.streams.capacity_bytes;
    return {};
}

Result<void> Packets::stop_ring(Set& set, EngineReadback& back) {
    const bool pending = set.flip_pending;
    auto done = iterate(set);
    const std::uint64_t at = set.slots.va((set.swaps + (pending ? 1 : 0)) % set.slots.count);
    set.swaps = 0; // as the library does
    set.flip_pending = false;
    WAVETAP_CHECK_OK(done);
    if (set.parts.size() != 1 || set.parts.front().va != at)
        return Error{ErrorCode::kUnsupported,
                     "aqlprofile ended in a buffer that is not the one it filled", kIterate,
                     kOwnPacketsHint};
    // Full also is a buffer that the hardware left after the last look: then the bytes are those of
    // the next one.
    back.flipped = pending || set.full;
    if (!pending) back.read_offset = 0;
    back.running = false;
    back.result.bytes = set.parts.front().bytes;
    back.result.full = set.full;
    back.result.write_error = set.write_error;
    return {};
}

Result<void> Packets::read_ring(const TraceStreams& streams, const pm4::TraceConfig& config,
                                RingMoment moment, std::uint32_t swapped,
                                std::span<EngineReadback> engines) {
    Set* set = find(streams.id);
    if (set == nullptr || engines.size() != 1) return lost_set();
    EngineReadback& back = engines.front();
    back.engine = static_cast<std::uint32_t>(std::countr_zero(config.se_mask));
    switch (moment) {
    case RingMoment::kQueried:
        return query_ring(*set, config, back);
    case RingMoment::kStopped:
        return stop_ring(*set, back);
    case RingMoment::kSwapped:
        break;
    }
    back.flipped = false;
    back.running = true;
    back.result = {};
    if ((swapped & 1) == 0) return {};
    set->flip_pending = false;
    ++set->swaps;
    return {};
}

const std::byte* Packets::words(const CommandBuffer& buffer) const {
    return reinterpret_cast<const std::byte*>(buffer.va); // the same on both sides
}

Result<void> Packets::append_marker(const pm4::CodeObjectMarker& marker,
                                    std::vector<std::uint32_t>& words) {
    CodeObjectData data{marker.id, marker.address, marker.size, agent_, 0};
    data.flags = (marker.unload ? 1U : 0U) | (marker.from_start ? 2U : 0U);
    AqlPacket packet;
    Handle handle;
    scratch_->begin();
    const std::int32_t status =
        library_->marker(&packet, &handle, data, Scratch::allocate, Scratch::free, scratch_.get());
    Result<void> done = outcome_of(status, kMarker, scratch_->failure);
    if (done) done = scratch_->append(packet, words);
    if (status == kSuccess) library_->delete_packets(handle);
    return done;
}

CommandBuffer Packets::write_live(std::span<const std::uint32_t> words) {
    const std::size_t count = std::min<std::size_t>(words.size(), kLiveDwords);
    std::memcpy(live_.memory().host, words.data(), count * 4);
    return {live_.memory().va, static_cast<std::uint32_t>(count)};
}

std::uint64_t Packets::bytes() const {
    std::uint64_t sum = live_.memory().bytes;
    for (const auto& set : sets_)
        sum += set->host_bytes();
    return sum;
}

void Packets::release() {
    for (std::unique_ptr<Set>& set : sets_)
        retire(std::move(set));
    sets_.clear();
    live_.release();
}

capture::PacketSourceMaker packet_maker(std::shared_ptr<const Library> library,
                                        std::uint64_t agent) {
    return [library = std::move(library), agent](capture::Backend& backend,
                                                 const pm4::TraceTopology& topology) {
        return std::make_unique<Packets>(backend, topology, library, Agent{agent});
    };
}

} // namespace wavetap::aqlprofile
