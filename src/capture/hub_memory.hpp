// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "capture/backend.hpp"
#include "capture/packet_source.hpp"
#include "capture/params.hpp"
#include "capture/slot_plan.hpp"
#include "pm4/thread_trace.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

// The memory that all contexts of an agent share. Resources; hub thread only; release() gives
// everything back and must be called before the backend goes.

namespace wavetap::capture {

/// Output slots (device memory that the hardware writes) and staging slots (host memory that full
/// output slots of N-buffer contexts are copied to).
class SlotBank {
  public:
    explicit SlotBank(Backend& backend) : backend_(backend) {}
    SlotBank(const SlotBank&) = delete;
    SlotBank& operator=(const SlotBank&) = delete;

    /// Makes every slot at least as large as in `plan`. Precondition: no trace runs. If the whole
    /// plan does not fit into memory, settles for `need` alone, and does not try this plan again.
    /// Errors: kLimit, kUnavailable; then some slots may be gone, and a later grow() makes them.
    Result<void> grow(const SlotPlan& plan, const Requirement& need);
    /// grow() would succeed and change nothing.
    bool settled(const SlotPlan& plan, const Requirement& need) const;
    const DeviceMemory& output(std::size_t slot) const { return slots_[slot]; }
    std::uint64_t slots() const;
    std::uint64_t bytes() const;
    const HostMemory& staging(std::size_t slot) const { return staging_[slot]; }
    std::uint64_t staging_bytes() const;
    /// Forgets staging slots (bit i = slot i) without freeing them: a handler that never returned, or
    /// a copy that was never answered, may still use them.
    void abandon_staging(std::uint32_t slots);
    void release();

  private:
    bool holds(const SlotPlan& plan) const;
    Result<void> make(const SlotPlan& plan);
    Result<void> make_staging(const SlotPlan& plan);

    Backend& backend_;
    std::array<DeviceMemory, kMaxOutputSlots> slots_{};
    std::array<HostMemory, kMaxStagingSlots> staging_{};
    SlotPlan refused_; ///< the last plan that memory did not allow
    /// A slot of this size did not fit even without the slot's old memory; 0 = not known. Then a
    /// later try leaves the old memory alone.
    std::uint64_t hopeless_bytes_ = 0;
};

/// Control block and command memory: one allocation, made once. Streams of up to kStreams distinct
/// (configuration, output slot) pairs are kept, so that a warm start builds nothing.
class ControlArena {
  public:
    static constexpr std::size_t kStreams = 64;
    static constexpr std::uint32_t kLiveDwords = PacketSource::kLiveDwords;

    ControlArena(Backend& backend, pm4::TraceTopology topology, pm4::Dialect dialect);
    ControlArena(const ControlArena&) = delete;
    ControlArena& operator=(const ControlArena&) = delete;

    /// Errors: kLimit, kUnavailable.
    Result<void> ensure();
    /// Precondition: ensure() succeeded. The streams stay until kStreams other pairs were asked for.
    /// `extra_va`: the other output slots of a ring.
    Result<TraceStreams> streams(const pm4::TraceConfig& config, std::uint64_t output_va,
                                 std::span<const std::uint64_t> extra_va = {});
    std::uint64_t control_va() const { return memory_.va; }
    /// The words of a stream of ours.
    const std::byte* at(const CommandBuffer& buffer) const {
        return memory_.host + (buffer.va - memory_.va);
    }
    void clear_control();
    std::span<const std::byte> control() const;
    /// Copies into the live-marker area. Precondition: the last one retired; size <= kLiveDwords.
    CommandBuffer write_live(std::span<const std::uint32_t> words);
    std::uint64_t bytes() const { return memory_.bytes; }
    std::uint64_t built() const { return built_; } ///< streams built since creation
    void release();

  private:
    struct Entry {
        bool used = false;
        pm4::TraceConfig config;
        std::uint64_t output_va = 0;
        std::array<std::uint64_t, kMaxOutputSlots - 1> extra_va{};
        TraceStreams streams;
    };
    Result<std::uint64_t> measure_entry() const;
    /// TraceStreams::confirm; empty where there is none.
    Result<std::vector<std::uint32_t>> build_confirm(const pm4::TraceConfig& config,
                                                     const pm4::TraceMemory& memory) const;

    Backend& backend_;
    pm4::TraceTopology topology_;
    pm4::Dialect dialect_;
    HostMemory memory_;
    std::uint64_t control_bytes_ = 0, live_offset_ = 0, streams_offset_ = 0, entry_bytes_ = 0;
    std::vector<Entry> entries_;
    std::size_t next_victim_ = 0;
    std::uint64_t built_ = 0;
};

/// Host-visible memory that only grows (landing area, marker replay).
class GrowingHost {
  public:
    explicit GrowingHost(Backend& backend) : backend_(backend) {}
    GrowingHost(const GrowingHost&) = delete;
    GrowingHost& operator=(const GrowingHost&) = delete;
    /// Precondition: the GPU uses none of it. Contents are lost when it grows.
    Result<void> ensure(std::uint64_t bytes);
    const HostMemory& memory() const { return memory_; }
    void release();
    /// Forgets the memory without freeing it: a copy that never answered may still write there.
    void abandon() { memory_ = {}; }

  private:
    Backend& backend_;
    HostMemory memory_;
};

} // namespace wavetap::capture
