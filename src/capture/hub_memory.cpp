// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/hub_memory.hpp"

#include "base/units.hpp"

#include <algorithm>
#include <cstring>

namespace wavetap::capture {

namespace {

constexpr std::uint64_t kPage = 4096;

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

bool same_config(const pm4::TraceConfig& a, const pm4::TraceConfig& b) {
    return a.se_mask == b.se_mask && a.target_cu == b.target_cu && a.simd_mask == b.simd_mask &&
           a.buffer_bytes == b.buffer_bytes && a.buffers == b.buffers && a.detail == b.detail &&
           a.clock_markers == b.clock_markers && a.clock_khz == b.clock_khz &&
           a.several_engines == b.several_engines && a.dialect == b.dialect &&
           a.counters == b.counters && a.counter_rate == b.counter_rate &&
           a.counter_cu_mask == b.counter_cu_mask;
}

} // namespace

bool SlotBank::holds(const SlotPlan& plan) const {
    for (std::size_t i = 0; i < slots_.size(); ++i)
        if (slots_[i].bytes < plan.output_bytes(i)) return false;
    for (std::size_t i = 0; i < staging_.size(); ++i)
        if (staging_[i].bytes < plan.staging_bytes(i)) return false;
    return true;
}

Result<void> SlotBank::make(const SlotPlan& plan) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        if (slots_[i].bytes >= plan.output_bytes(i)) continue;
        const std::uint64_t bytes = plan.output_bytes(i);
        auto fresh = backend_.allocate_device(bytes);
        const bool hopeless = hopeless_bytes_ != 0 && bytes >= hopeless_bytes_;
        if (!fresh && slots_[i].va != 0 && !hopeless) {
            // Perhaps old and new do not fit side by side.
            backend_.free_device(slots_[i]);
            slots_[i] = {};
            fresh = backend_.allocate_device(bytes);
        }
        if (!fresh) {
            if (slots_[i].va == 0) hopeless_bytes_ = bytes;
            return std::move(fresh.error());
        }
        if (hopeless) hopeless_bytes_ = 0;
        if (slots_[i].va != 0) backend_.free_device(slots_[i]);
        slots_[i] = *fresh;
    }
    return make_staging(plan);
}

Result<void> SlotBank::make_staging(const SlotPlan& plan) {
    for (std::size_t i = 0; i < staging_.size(); ++i) {
        if (staging_[i].bytes >= plan.staging_bytes(i)) continue;
        WAVETAP_TRY(const HostMemory fresh,
                    backend_.allocate_host(round_up(plan.staging_bytes(i), kPage)));
        if (staging_[i].host != nullptr) backend_.free_host(staging_[i]);
        staging_[i] = fresh;
    }
    return {};
}

bool SlotBank::settled(const SlotPlan& plan, const Requirement& need) const {
    SlotPlan alone;
    alone.add(need);
    const bool tries = !(plan == refused_) && plan.covers(alone) && !holds(plan);
    return !tries && holds(alone);
}

Result<void> SlotBank::grow(const SlotPlan& plan, const Requirement& need) {
    SlotPlan alone;
    alone.add(need);
    if (!(plan == refused_) && plan.covers(alone) && !holds(plan)) {
        if (make(plan)) return {};
        refused_ = plan;
    }
    if (holds(alone)) return {};
    auto made = make(alone);
    if (!made) {
        Error& error = made.error();
        error.message = "no " + format_size(need.buffer_bytes) +
                        " for each output slot and staging slot: " + error.message;
        error.hint = "use a smaller trace buffer";
    }
    return made;
}

std::uint64_t SlotBank::slots() const {
    return static_cast<std::uint64_t>(std::count_if(
        slots_.begin(), slots_.end(), [](const DeviceMemory& slot) { return slot.va != 0; }));
}

std::uint64_t SlotBank::bytes() const {
    std::uint64_t sum = 0;
    for (const DeviceMemory& slot : slots_)
        sum += slot.allocated_bytes;
    return sum;
}

std::uint64_t SlotBank::staging_bytes() const {
    std::uint64_t sum = 0;
    for (const HostMemory& slot : staging_)
        sum += slot.bytes;
    return sum;
}

void SlotBank::abandon_staging(std::uint32_t slots) {
    for (std::size_t i = 0; i < staging_.size(); ++i)
        if ((slots >> i & 1) != 0) staging_[i] = {};
}

void SlotBank::release() {
    for (HostMemory& slot : staging_) {
        if (slot.host != nullptr) backend_.free_host(slot);
        slot = {};
    }
    for (DeviceMemory& slot : slots_) {
        if (slot.va != 0) backend_.free_device(slot);
        slot = {};
    }
    refused_ = {};
}

ControlArena::ControlArena(Backend& backend, pm4::TraceTopology topology, pm4::Dialect dialect)
    : backend_(backend), topology_(std::move(topology)), dialect_(dialect) {}

Result<std::uint64_t> ControlArena::measure_entry() const {
    const std::uint32_t engines = topology_.xccs * topology_.engines_per_xcc;
    const bool gfx9 = topology_.gfx.starts_with("gfx9");
    pm4::TraceConfig largest;
    if (!gfx9) largest.simd_mask = 1; // these trace one SIMD, and through one buffer (params.cpp)
    largest.se_mask = engines >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << engines) - 1;
    largest.buffer_bytes = engines * kMiB;
    largest.dialect = dialect_;
    for (std::size_t i = 0; gfx9 && i < pm4::kMaxTraceCounters; ++i)
        largest.counters.push_back({1, 0xf});
    pm4::TraceMemory memory{kPage, 2 * kPage, {}};
    if (gfx9 && dialect_ == pm4::Dialect::kWavetap) {
        largest.buffers = kMaxOutputSlots;
        largest.several_engines = true;
        memory.extra_output_va.assign(kMaxOutputSlots - 1, kPage);
    }
    WAVETAP_TRY(const auto start, pm4::build_start(topology_, largest, memory));
    WAVETAP_TRY(const auto stop, pm4::build_stop(topology_, largest, memory));
    WAVETAP_TRY(const auto confirm, build_confirm(largest, memory));
    return round_up(start.size() * 4, 256) + round_up(stop.size() * 4, 256) +
           round_up(confirm.size() * 4, 256);
}

// What BUSY says of an armed unit is known of gfx9 only (docs/formats/pm4-thread-trace.md).
Result<std::vector<std::uint32_t>>
ControlArena::build_confirm(const pm4::TraceConfig& config, const pm4::TraceMemory& memory) const {
    if (dialect_ != pm4::Dialect::kWavetap ||
        pm4::generation_of(topology_.gfx) != pm4::Generation::kGfx9)
        return std::vector<std::uint32_t>{};
    return pm4::build_query(topology_, config, memory);
}

Result<void> ControlArena::ensure() {
    if (memory_.host != nullptr) return {};
    WAVETAP_TRY(entry_bytes_, measure_entry());
    control_bytes_ = pm4::control_bytes(topology_, dialect_);
    live_offset_ = round_up(control_bytes_, kPage);
    streams_offset_ = live_offset_ + kLiveDwords * 4;
    const std::uint64_t bytes = round_up(streams_offset_ + kStreams * entry_bytes_, kPage);
    entries_.assign(kStreams, Entry{}); // before there is memory to lose
    WAVETAP_TRY(memory_, backend_.allocate_host(bytes));
    return {};
}

Result<TraceStreams> ControlArena::streams(const pm4::TraceConfig& config, std::uint64_t output_va,
                                           std::span<const std::uint64_t> extra_va) {
    std::array<std::uint64_t, kMaxOutputSlots - 1> extra{};
    std::copy_n(extra_va.begin(), std::min(extra_va.size(), extra.size()), extra.begin());
    for (const Entry& entry : entries_)
        if (entry.used && entry.output_va == output_va && entry.extra_va == extra &&
            same_config(entry.config, config))
            return entry.streams;

    const pm4::TraceMemory memory{output_va, memory_.va, {extra_va.begin(), extra_va.end()}};
    WAVETAP_TRY(const auto start, pm4::build_start(topology_, config, memory));
    WAVETAP_TRY(const auto stop, pm4::build_stop(topology_, config, memory));
    WAVETAP_TRY(const auto confirm, build_confirm(config, memory));
    const std::uint64_t stop_offset = round_up(start.size() * 4, 256);
    const std::uint64_t confirm_offset = stop_offset + round_up(stop.size() * 4, 256);
    if (confirm_offset + confirm.size() * 4 > entry_bytes_)
        return Error{ErrorCode::kInternal, "command stream is larger than measured",
                     "control arena", ""};

    const std::size_t index = next_victim_;
    next_victim_ = (next_victim_ + 1) % kStreams;
    Entry& entry = entries_[index];
    entry.used = false;
    entry.config = config;
    const std::uint64_t at = streams_offset_ + index * entry_bytes_;
    std::memcpy(memory_.host + at, start.data(), start.size() * 4);
    std::memcpy(memory_.host + at + stop_offset, stop.data(), stop.size() * 4);
    std::copy(confirm.begin(), confirm.end(),
              reinterpret_cast<std::uint32_t*>(memory_.host + at + confirm_offset));
    ++built_;
    entry.output_va = output_va;
    entry.extra_va = extra;
    entry.streams.start = {memory_.va + at, static_cast<std::uint32_t>(start.size())};
    entry.streams.stop = {memory_.va + at + stop_offset, static_cast<std::uint32_t>(stop.size())};
    entry.streams.confirm = {memory_.va + at + confirm_offset,
                             static_cast<std::uint32_t>(confirm.size())};
    entry.used = true;
    return entry.streams;
}

void ControlArena::clear_control() {
    std::memset(memory_.host, 0, control_bytes_);
}

std::span<const std::byte> ControlArena::control() const {
    return {memory_.host, static_cast<std::size_t>(control_bytes_)};
}

CommandBuffer ControlArena::write_live(std::span<const std::uint32_t> words) {
    const std::size_t count = std::min<std::size_t>(words.size(), kLiveDwords);
    std::memcpy(memory_.host + live_offset_, words.data(), count * 4);
    return {memory_.va + live_offset_, static_cast<std::uint32_t>(count)};
}

void ControlArena::release() {
    if (memory_.host != nullptr) backend_.free_host(memory_);
    memory_ = {};
    entries_.clear();
}

Result<void> GrowingHost::ensure(std::uint64_t bytes) {
    if (memory_.bytes >= bytes) return {};
    WAVETAP_TRY(const HostMemory fresh, backend_.allocate_host(round_up(bytes, kPage)));
    if (memory_.host != nullptr) backend_.free_host(memory_);
    memory_ = fresh;
    return {};
}

void GrowingHost::release() {
    if (memory_.host != nullptr) backend_.free_host(memory_);
    memory_ = {};
}

} // namespace wavetap::capture
