// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "softgpu/chip.hpp"
#include "softgpu/memory.hpp"

#include <array>
#include <cstdint>
#include <string>

// The SDMA engine: one object a user queue. The chip calls step() with a byte budget on its model
// clock, so that copies take model time and interleave with waves and PM4. Packet layouts: the
// public SDMA 4.x packet headers of the open drivers.

namespace wavetap::softgpu {

/// What one engine moves in a shader clock: about 54 GB/s at 1.7 GHz.
inline constexpr std::uint64_t kSdmaBytesPerClock = 32;
/// Budget that a packet without data costs.
inline constexpr std::uint64_t kSdmaPacketCost = 256;

/// A value; borrows memory and host, which must outlive it. Not thread safe (owner lock).
class SdmaQueue {
  public:
    enum class State : std::uint8_t {
        kIdle,    ///< read pointer = write pointer
        kRunning, ///< the budget ran out
        kPolling, ///< a POLL_REGMEM waits for memory to change
        kStopped, ///< a fault or a bad packet was reported; nothing more will happen
    };

    /// Errors: kInvalidArgument (ring size not a power of two, misaligned), kNotFound (the ring or a
    /// pointer is not mapped).
    static Result<SdmaQueue> create(const SdmaQueueInfo& info, Memory& memory, Host& host);

    /// Write pointer in bytes, monotonic; smaller values than the last are ignored.
    void doorbell(std::uint64_t write_pointer);

    /// Executes packets until `budget_bytes` are spent or nothing can go on. A packet's effects are
    /// in order; the read pointer in memory moves after each packet. Faults go to
    /// Host::memory_fault, bad packets to Host::queue_error, each once.
    State step(std::uint64_t budget_bytes);

    State state() const { return state_; }
    std::uint64_t read_pointer() const { return read_; }

  private:
    /// A transfer that may span several steps: `rows` rows of `row_bytes`, in `slices` slices.
    struct Transfer {
        bool active = false;
        bool fill = false;
        std::uint64_t source = 0;
        std::uint64_t destination = 0;
        std::uint64_t row_bytes = 0;
        std::uint64_t rows = 1;
        std::uint64_t slices = 1;
        std::uint64_t source_pitch = 0, source_slice = 0;
        std::uint64_t destination_pitch = 0, destination_slice = 0;
        std::array<std::byte, 4> pattern{};
        std::uint64_t byte = 0, row = 0, slice = 0; ///< progress
    };
    enum class Outcome : std::uint8_t { kDone, kTransfer, kWait, kStop };

    SdmaQueue(const SdmaQueueInfo& info, Memory& memory, Host& host)
        : info_(info), memory_(&memory), host_(&host) {}

    Outcome execute(std::uint32_t& dwords);
    Outcome copy_linear();
    Outcome copy_rect();
    Outcome const_fill();
    Outcome write_linear(std::uint32_t& dwords);
    Outcome fence();
    Outcome poll();
    Outcome atomic();
    Outcome timestamp();
    bool transfer(std::uint64_t& budget);
    bool move(std::uint64_t source, std::uint64_t destination, std::uint64_t bytes);
    bool fetch(std::uint32_t dwords);
    std::uint64_t address(unsigned dword) const;
    bool retire();
    Outcome fault(std::uint64_t va, Access access, const char* packet);
    Outcome bad_packet(const std::string& what);

    SdmaQueueInfo info_;
    Memory* memory_;
    Host* host_;
    State state_ = State::kIdle;
    std::uint64_t read_ = 0;
    std::uint64_t write_ = 0;
    std::uint32_t packet_dwords_ = 0; ///< of the packet being executed
    std::array<std::uint32_t, 13> packet_{};
    Transfer transfer_;
};

} // namespace wavetap::softgpu
