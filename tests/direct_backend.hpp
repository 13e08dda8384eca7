// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "capture/backend.hpp"
#include "softgpu/chip_for_test.hpp"

#include <array>
#include <optional>
#include <thread>

namespace wavetap::test {

/// A chip model with an engine thread, as a driver would run it: everything of the rig is used under
/// one lock. Resource; thread safe.
class LiveChip {
  public:
    explicit LiveChip(const softgpu::ChipSpec& spec, softgpu::TruthWriter* truth = nullptr)
        : rig_(spec, truth), engine_([this](std::stop_token token) { run(token); }) {}
    ~LiveChip();

    /// Runs `use(rig)` under the lock and wakes the engine.
    template <class Use> auto with(Use use) {
        MutexLock lock(mutex_);
        awake_ = true;
        changed_.notify_all();
        return use(rig_);
    }
    /// Waits until `done(rig)`; false at the deadline.
    template <class Done> bool wait(TimePoint deadline, Done done) {
        MutexLock lock(mutex_);
        return changed_.wait_until(mutex_, deadline, [&] { return done(rig_); });
    }

  private:
    void run(std::stop_token token);

    Mutex mutex_;
    CondVar changed_;
    bool awake_ WAVETAP_GUARDED_BY(mutex_) = true; ///< something happened since the chip went idle
    softgpu::Rig rig_;
    std::jthread engine_;
};

/// capture's backend without driver or runtime: queue, memory and copies of a LiveChip.
class DirectBackend final : public capture::Backend {
  public:
    explicit DirectBackend(LiveChip& chip) : chip_(chip) {}
    ~DirectBackend() override;

    const char* name() const override { return "direct"; }
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
    std::uint64_t counter() override;

    /// The queue in use, for tests that disturb it.
    std::optional<softgpu::QueueId> queue_for_test() const;

  private:
    std::uint64_t map(std::uint64_t bytes, std::byte** host);

    LiveChip& chip_;
    std::optional<softgpu::Rig::Queue> queue_;
    std::array<std::uint64_t, 4> signals_{}; ///< made once; 0 = not yet
    std::array<bool, 4> taken_{};
};

} // namespace wavetap::test
