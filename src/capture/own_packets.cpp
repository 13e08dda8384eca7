// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/own_packets.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace wavetap::capture {

namespace {

template <class T> T load(std::span<const std::byte> bytes, std::uint64_t offset) {
    T value{};
    if (offset + sizeof(T) <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}

} // namespace

Result<TraceStreams> OwnPackets::streams(const pm4::TraceConfig& config, const OutputSlots& slots) {
    std::array<std::uint64_t, kMaxOutputSlots> va{};
    for (std::size_t i = 0; i < slots.count; ++i)
        va[i] = slots.va(i);
    WAVETAP_TRY(TraceStreams streams,
                arena_.streams(config, va[0], {va.data() + 1, slots.count - 1}));
    WAVETAP_TRY(streams.capacity_bytes, pm4::capacity_per_engine(topology_, config));
    return streams;
}

Result<const RingStreams*> OwnPackets::ring(const pm4::TraceConfig& config,
                                            const OutputSlots& slots, const TraceStreams&) {
    std::array<std::uint64_t, kMaxOutputSlots> va{};
    for (std::size_t i = 0; i < slots.count; ++i)
        va[i] = slots.va(i);
    ring_.headers.clear();
    ring_.offsets.clear();
    for (std::uint64_t mask = config.se_mask; mask != 0; mask &= mask - 1) {
        const auto se = static_cast<std::uint32_t>(std::countr_zero(mask));
        ring_.headers.push_back(pm4::gfx9_header(topology_, config, se));
        WAVETAP_TRY(const std::uint64_t offset, pm4::engine_offset(topology_, config, se));
        ring_.offsets.push_back(offset);
    }
    // What else a configuration says is in the start stream only.
    if (!ring_.swaps.empty() && va == ring_va_ && ring_config_.se_mask == config.se_mask &&
        ring_config_.buffer_bytes == config.buffer_bytes)
        return &ring_;
    ring_.swaps.clear();
    const pm4::TraceMemory memory{va[0], arena_.control_va(), {va.begin() + 1, va.end()}};
    WAVETAP_TRY(std::vector<std::uint32_t> words, pm4::build_query(topology_, config, memory));
    std::vector<CommandBuffer> pieces{{0, static_cast<std::uint32_t>(words.size())}};
    for (std::uint64_t mask = config.se_mask; mask != 0; mask &= mask - 1)
        for (std::uint64_t i = 0; i < kMaxOutputSlots; ++i) {
            const auto se = static_cast<std::uint32_t>(std::countr_zero(mask));
            WAVETAP_TRY(const auto swap, pm4::build_swap(topology_, config, memory, se, i));
            pieces.push_back({words.size() * 4, static_cast<std::uint32_t>(swap.size())});
            words.insert(words.end(), swap.begin(), swap.end());
        }
    WAVETAP_CHECK_OK(commands_.ensure(words.size() * 4));
    std::memcpy(commands_.memory().host, words.data(), words.size() * 4);
    for (CommandBuffer& piece : pieces)
        piece.va += commands_.memory().va;
    ring_.query = pieces[0];
    ring_.swaps_per_engine = kMaxOutputSlots;
    ring_config_ = config;
    ring_va_ = va;
    ring_.swaps.assign(pieces.begin() + 1, pieces.end()); // last: now the ring is whole
    return &ring_;
}

Result<void> OwnPackets::begin(const TraceStreams&) {
    arena_.clear_control();
    return {};
}

EngineReadback OwnPackets::registers_of(std::uint32_t engine) const {
    const pm4::ControlLayout layout = pm4::control_layout(dialect_);
    const auto control = arena_.control();
    const std::uint64_t entry = pm4::engine_entry_offset(dialect_, engine);
    const std::uint64_t clocks =
        pm4::clock_entry_offset(topology_, dialect_, engine / topology_.engines_per_xcc);
    EngineReadback back;
    back.engine = engine;
    back.status = load<std::uint32_t>(control, entry + layout.status);
    back.dropped = load<std::uint32_t>(control, entry + layout.counter);
    back.wptr = load<std::uint32_t>(control, entry + layout.wptr);
    if (dialect_ != pm4::Dialect::kJun25) {
        back.start_counter = load<std::uint64_t>(control, clocks + layout.start_clock);
        back.end_counter = load<std::uint64_t>(control, clocks + layout.end_clock);
    }
    return back;
}

Result<void> OwnPackets::read_back(const TraceStreams& streams, const pm4::TraceConfig& config,
                                   const DeviceMemory& output, std::span<EngineReadback> engines) {
    const pm4::ControlLayout layout = pm4::control_layout(dialect_);
    std::uint64_t mask = config.se_mask;
    for (EngineReadback& back : engines) {
        const auto engine = static_cast<std::uint32_t>(std::countr_zero(mask));
        mask &= mask - 1;
        back = registers_of(engine);
        WAVETAP_TRY(const std::uint64_t offset, pm4::engine_offset(topology_, config, engine));
        back.va = output.va + offset;
        back.header = pm4::gfx9_header(topology_, config, engine);
        pm4::ControlWords words{back.status, back.wptr, 0, back.va};
        words.status2 = load<std::uint32_t>(
            arena_.control(), pm4::engine_entry_offset(dialect_, engine) + layout.status2);
        back.result = pm4::interpret_control(topology_, config, words, streams.capacity_bytes);
    }
    return {};
}

Result<void> OwnPackets::read_ring(const TraceStreams&, const pm4::TraceConfig& config,
                                   RingMoment moment, std::uint32_t,
                                   std::span<EngineReadback> engines) {
    const pm4::ControlLayout layout = pm4::control_layout(dialect_);
    const auto control = arena_.control();
    const bool stopped = moment == RingMoment::kStopped;
    std::uint64_t mask = config.se_mask;
    for (EngineReadback& back : engines) {
        const auto engine = static_cast<std::uint32_t>(std::countr_zero(mask));
        mask &= mask - 1;
        const std::uint64_t entry = pm4::engine_entry_offset(dialect_, engine);
        const auto said = pm4::interpret_query(
            topology_,
            load<std::uint32_t>(control, entry + (stopped ? layout.status : layout.query_status)),
            load<std::uint32_t>(control, entry + (stopped ? layout.wptr : layout.query_wptr)));
        back = registers_of(engine);
        back.flipped = said.needs_swap;
        back.running = said.running;
        back.read_offset = said.read_offset_bytes;
        back.result.bytes = said.bytes;
        back.result.write_error = said.write_error;
    }
    return {};
}

Result<void> OwnPackets::append_marker(const pm4::CodeObjectMarker& marker,
                                       std::vector<std::uint32_t>& words) {
    const auto made = pm4::build_marker(topology_, marker);
    words.insert(words.end(), made.begin(), made.end());
    return {};
}

void OwnPackets::release() {
    arena_.release();
    commands_.release();
    ring_ = {};
}

} // namespace wavetap::capture
