// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "capture/backend.hpp"
#include "rocr/agents.hpp"
#include "rocr/hsa_table.hpp"
#include "rocr/runtime_gate.hpp"

#include <array>
#include <atomic>
#include <memory>

namespace wavetap::rocr {

/// capture's backend on ROCr, through the functions of the table. Waits never enter the kernel as
/// long as the GPU answers within a moment, so that a warm start and stop make no ioctl.
class RocrBackend final : public capture::Backend {
  public:
    /// Once `gate` is closed every call fails with kUnavailable and reaches no runtime.
    RocrBackend(const HsaFunctions& hsa, GpuAgent agent, std::shared_ptr<RuntimeGate> gate);
    ~RocrBackend() override;

    const char* name() const override { return "rocr"; }
    Result<void> create_queue() override;
    Result<void> destroy_queue() override;
    Result<capture::DeviceMemory> allocate_device(std::uint64_t bytes) override;
    Result<capture::HostMemory> allocate_host(std::uint64_t bytes) override;
    void free_device(const capture::DeviceMemory& memory) override;
    void free_host(const capture::HostMemory& memory) override;
    Result<capture::Ticket> submit(std::span<const capture::CommandBuffer> buffers,
                                   TimePoint deadline) override;
    Result<void> wait(capture::Ticket ticket, TimePoint deadline) override;
    Result<void> copy_to_host(const capture::HostMemory& to, std::uint64_t offset,
                              std::uint64_t from_va, std::uint64_t bytes,
                              TimePoint deadline) override;
    void end_copies() override;
    /// ROCr has no call for it; the streams themselves read the clock.
    std::uint64_t counter() override { return 0; }

  private:
    static constexpr std::uint32_t kQueuePackets = 64;
    static constexpr std::size_t kTickets = 4;
    struct Slot {
        hsa_signal_t signal{};
        bool taken = false;
    };
    static void queue_failed(hsa_status_t status, hsa_queue_t* queue, void* data);
    /// Until `count` more packets fit. `unused` is 1, and of no submission. Errors: kTimeout.
    Result<void> wait_for_room(std::uint64_t count, hsa_signal_t unused, TimePoint deadline) const;
    Result<void> start_copy(std::byte* to, std::uint64_t from_va, std::uint64_t bytes);
    Result<void> wait_signal(hsa_signal_t signal, TimePoint deadline, const char* what) const;

    const HsaFunctions hsa_;
    const GpuAgent agent_;
    const std::shared_ptr<RuntimeGate> gate_;
    hsa_queue_t* queue_ = nullptr;
    std::array<Slot, kTickets> slots_{};
    hsa_signal_t copy_signal_{};
    bool copy_pending_ = false; ///< a copy that was not answered may still use the signal
    /// Status of the queue's error callback, which runs on ROCr's thread. Shared with that callback.
    std::atomic<std::uint32_t> queue_status_{0};
};

} // namespace wavetap::rocr
