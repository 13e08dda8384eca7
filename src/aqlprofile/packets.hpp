// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "aqlprofile/library.hpp"
#include "capture/hub_memory.hpp"
#include "capture/packet_source.hpp"

#include <memory>
#include <string>
#include <vector>

namespace wavetap::aqlprofile {

/// Streams that aqlprofile makes, each set of packets for one configuration on one choice of output
/// slots; the last kMostSets are kept.
///
/// Its requests for memory: what only the device uses are the output slots, the n-th request of a set
/// is slot n; what the host sees (control block, command memory) belongs to the set and goes with it.
/// So every context works with the same output slots. Its packets are submitted as they are; in
/// dispatch mode the words behind them are.
///
/// Precondition: host memory of the backend has the same address on the GPU (checked).
class Packets final : public capture::PacketSource {
  public:
    static constexpr std::size_t kMostSets = 64;
    /// More than a set ever asks for: a request above is refused.
    static constexpr std::uint64_t kMostHostBytes = 16ull << 20;

    /// `library` is not null; `agent` as HSA names it.
    Packets(capture::Backend& backend, pm4::TraceTopology topology,
            std::shared_ptr<const Library> library, Agent agent);
    ~Packets() override;
    Packets(const Packets&) = delete;
    Packets& operator=(const Packets&) = delete;

    const char* name() const override { return "aqlprofile"; }
    Result<void> ensure() override;
    Result<capture::TraceStreams> streams(const pm4::TraceConfig& config,
                                          const capture::OutputSlots& slots) override;
    Result<const capture::RingStreams*> ring(const pm4::TraceConfig& config,
                                             const capture::OutputSlots& slots,
                                             const capture::TraceStreams& streams) override;
    Result<void> begin(const capture::TraceStreams& streams) override;
    Result<void> read_back(const capture::TraceStreams& streams, const pm4::TraceConfig& config,
                           const capture::DeviceMemory& output,
                           std::span<capture::EngineReadback> engines) override;
    Result<void> read_ring(const capture::TraceStreams& streams, const pm4::TraceConfig& config,
                           capture::RingMoment moment, std::uint32_t swapped,
                           std::span<capture::EngineReadback> engines) override;
    const std::byte* words(const capture::CommandBuffer& buffer) const override;
    Result<void> append_marker(const pm4::CodeObjectMarker& marker,
                               std::vector<std::uint32_t>& words) override;
    capture::CommandBuffer write_live(std::span<const std::uint32_t> words) override;
    std::uint64_t bytes() const override;
    void release() override;

    std::size_t sets() const { return sets_.size(); }

    struct Set; ///< set.hpp, for this folder

  private:
    struct Scratch;

    Result<std::unique_ptr<Set>> make_set(const pm4::TraceConfig& config,
                                          const capture::OutputSlots& slots);
    Result<void> finish_set(Set& set, const ControlPackets& packets);
    Result<void> make_ring(Set& set);
    void retire(std::unique_ptr<Set> set);
    Set* find(std::uint64_t id) const;
    Result<void> iterate(Set& set);
    Result<void> query_ring(Set& set, const pm4::TraceConfig& config,
                            capture::EngineReadback& back);
    Result<void> stop_ring(Set& set, capture::EngineReadback& back);
    Error lost_set() const;

    capture::Backend& backend_;
    const pm4::TraceTopology topology_;
    const std::shared_ptr<const Library> library_;
    const Agent agent_;
    capture::GrowingHost live_;
    std::vector<std::unique_ptr<Set>> sets_; ///< the one that was asked for last is at the end
    std::unique_ptr<Set> spare_;             ///< a tainted one that is not used
    std::uint64_t next_id_ = 1;
    std::unique_ptr<Scratch> scratch_; ///< of markers
};

/// A maker for capture::HubEngine::Options: packets of `library` for the GPU that HSA calls `agent`.
capture::PacketSourceMaker packet_maker(std::shared_ptr<const Library> library,
                                        std::uint64_t agent);

} // namespace wavetap::aqlprofile
