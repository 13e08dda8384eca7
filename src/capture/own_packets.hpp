// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "capture/hub_memory.hpp"
#include "capture/packet_source.hpp"

namespace wavetap::capture {

/// Streams of our own builder (pm4/thread_trace.hpp), in one arena that all configurations share.
class OwnPackets final : public PacketSource {
  public:
    OwnPackets(Backend& backend, const pm4::TraceTopology& topology, pm4::Dialect dialect)
        : topology_(topology), dialect_(dialect), arena_(backend, topology, dialect),
          commands_(backend) {}

    const char* name() const override { return "own"; }
    Result<void> ensure() override { return arena_.ensure(); }
    Result<TraceStreams> streams(const pm4::TraceConfig& config, const OutputSlots& slots) override;
    Result<const RingStreams*> ring(const pm4::TraceConfig& config, const OutputSlots& slots,
                                    const TraceStreams& streams) override;
    Result<void> begin(const TraceStreams& streams) override;
    Result<void> read_back(const TraceStreams& streams, const pm4::TraceConfig& config,
                           const DeviceMemory& output, std::span<EngineReadback> engines) override;
    Result<void> read_ring(const TraceStreams& streams, const pm4::TraceConfig& config,
                           RingMoment moment, std::uint32_t swapped,
                           std::span<EngineReadback> engines) override;
    const std::byte* words(const CommandBuffer& buffer) const override { return arena_.at(buffer); }
    Result<void> append_marker(const pm4::CodeObjectMarker& marker,
                               std::vector<std::uint32_t>& words) override;
    CommandBuffer write_live(std::span<const std::uint32_t> words) override {
        return arena_.write_live(words);
    }
    std::uint64_t bytes() const override { return arena_.bytes() + commands_.memory().bytes; }
    void release() override;

  private:
    /// What the control block says of `engine`, apart from bytes and flags.
    EngineReadback registers_of(std::uint32_t engine) const;

    pm4::TraceTopology topology_;
    pm4::Dialect dialect_;
    ControlArena arena_;
    // The last ring: query, then kMaxOutputSlots swaps of each engine.
    GrowingHost commands_;
    RingStreams ring_;
    pm4::TraceConfig ring_config_;
    std::array<std::uint64_t, kMaxOutputSlots> ring_va_{};
};

} // namespace wavetap::capture
