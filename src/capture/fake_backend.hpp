// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "capture/backend.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

namespace wavetap::capture {

/// For tests: memory of the process, and a GPU that executes register writes and register reads of
/// trace streams, with faults on demand. Settings may be changed from any thread while it is used.
struct FakeGpu {
    enum Call { kCreateQueue, kDestroyQueue, kDevice, kHost, kSubmit, kWait, kCopy, kCalls };

    /// The n-th call (from 1) of a kind fails; 0 = none does.
    std::array<std::atomic<std::uint64_t>, kCalls> fail_at{};
    std::array<std::atomic<std::uint64_t>, kCalls> calls{};
    std::atomic<bool> hang{false}; ///< submissions are accepted and never complete
    std::atomic<bool> hang_copies{false};
    std::atomic<std::int64_t> device_limit{std::int64_t{1} << 60}; ///< bytes
    std::atomic<std::uint32_t> wptr{0};                            ///< 32-byte units, every engine
    std::atomic<std::uint32_t> status{0};                          ///< every engine
    std::atomic<std::int64_t> queues{0}, device_blocks{0}, host_blocks{0}, device_bytes{0};
    std::atomic<bool> armed{false};
    std::atomic<bool> stays_off{false}; ///< the trace unit is not armed by a start
    std::atomic<std::uint64_t> freed_while_armed{0};
    std::atomic<std::uint64_t> user_data_words{0};
    std::function<void(Call)>
        watch; ///< on the hub's thread, before each call; set it before the first

    bool fails(Call call) {
        const std::uint64_t number = ++calls[call];
        if (watch) watch(call);
        return fail_at[call].load() == number;
    }
    void no_faults() {
        for (auto& at : fail_at)
            at = 0;
        hang = hang_copies = false;
    }
};

class FakeBackend final : public Backend {
  public:
    /// `gpu` must outlive the backend.
    explicit FakeBackend(FakeGpu& gpu) : gpu_(gpu) {}
    ~FakeBackend() override;

    const char* name() const override { return "fake"; }
    Result<void> create_queue() override;
    Result<void> destroy_queue() override;
    Result<DeviceMemory> allocate_device(std::uint64_t bytes) override;
    Result<HostMemory> allocate_host(std::uint64_t bytes) override;
    void free_device(const DeviceMemory& memory) override;
    void free_host(const HostMemory& memory) override;
    Result<Ticket> submit(std::span<const CommandBuffer> buffers, TimePoint deadline) override;
    Result<void> wait(Ticket ticket, TimePoint deadline) override;
    Result<void> copy_to_host(const HostMemory& to, std::uint64_t offset, std::uint64_t from_va,
                              std::uint64_t bytes, TimePoint deadline) override;
    std::uint64_t counter() override { return ++counter_; }
    /// Executes a stream as a queue of the application would. Hub thread.
    Result<void> run(const CommandBuffer& buffer) { return execute(buffer); }

  private:
    Result<void> execute(const CommandBuffer& buffer);
    std::byte* host_at(std::uint64_t va, std::uint64_t bytes);

    FakeGpu& gpu_;
    /// Host memory has the same address on the GPU, as on AMD's systems.
    struct HostBlock {
        std::unique_ptr<std::byte[]> bytes; ///< begins before the 4 KiB aligned address
        std::uint64_t size = 0;
    };
    std::map<std::uint64_t, HostBlock> host_;       ///< by address
    std::map<std::uint64_t, std::uint64_t> device_; ///< size by address
    std::uint64_t next_va_ = 0x100000000;
    std::uint64_t next_ticket_ = 1;
    std::uint64_t counter_ = 1000;
    bool queue_ = false;
    bool hung_ = false; ///< something on this queue never completes
};

} // namespace wavetap::capture
