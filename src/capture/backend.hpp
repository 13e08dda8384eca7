// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace wavetap::capture {

/// Device memory that only the GPU writes and only copies read.
struct DeviceMemory {
    std::uint64_t va = 0;              ///< 4 KiB aligned GPU address; 0 = none
    std::uint64_t bytes = 0;           ///< usable
    std::uint64_t allocated_bytes = 0; ///< with alignment and guard pages
    std::uint64_t cookie = 0;          ///< the backend's own
};

/// Host-visible memory that the GPU reads and writes coherently.
struct HostMemory {
    std::byte* host = nullptr;
    std::uint64_t va = 0; ///< 4 KiB aligned GPU address
    std::uint64_t bytes = 0;
    std::uint64_t cookie = 0;
};

/// A PM4 command buffer in memory that the GPU can read.
struct CommandBuffer {
    std::uint64_t va = 0;
    std::uint32_t dwords = 0;      ///< at most kMaxCommandDwords
    std::int8_t cache_policy = -1; ///< as pm4::fill_vendor_packet(); -1: the chip's usual one
};
inline constexpr std::uint32_t kMaxCommandDwords = (1u << 20) - 1;

/// Names one submission until it was waited for.
using Ticket = StrongId<struct TicketTag, std::uint64_t>;

/// One agent's driver-side means: a submission queue, memory, copies. Implementations: ROCr
/// (src/rocr), the chip model (tests), a recording fake (tests).
///
/// Threading: every call comes from the hub's thread, except topology-free const ones. Errors of
/// all calls: kUnavailable or kLimit (the runtime refused), kTimeout (deadline). No call blocks
/// longer than its deadline; the calls without one return at once.
class Backend {
  public:
    virtual ~Backend() = default;

    /// A word for it: "rocr". At most 15 bytes, static storage; any thread.
    virtual const char* name() const = 0;

    /// The one submission queue. Called when there is none.
    virtual Result<void> create_queue() = 0;
    /// After return the device reads no memory of earlier submissions and their tickets are void.
    virtual Result<void> destroy_queue() = 0;

    virtual Result<DeviceMemory> allocate_device(std::uint64_t bytes) = 0;
    virtual Result<HostMemory> allocate_host(std::uint64_t bytes) = 0;
    virtual void free_device(const DeviceMemory& memory) = 0;
    virtual void free_host(const HostMemory& memory) = 0;

    /// Runs the buffers one after the other, each behind all earlier packets of the queue; the
    /// ticket completes with the last. The memory must stay as it is until then. Waits for ring
    /// space until `deadline`. At most kMaxCommandBuffers.
    virtual Result<Ticket> submit(std::span<const CommandBuffer> buffers, TimePoint deadline) = 0;
    static constexpr std::size_t kMaxCommandBuffers = 16;
    /// Waits for a submission; afterwards its ticket is void. On kTimeout the ticket stays taken
    /// until destroy_queue().
    virtual Result<void> wait(Ticket ticket, TimePoint deadline) = 0;

    /// Copies device memory into `to` at `offset`, complete on return.
    virtual Result<void> copy_to_host(const HostMemory& to, std::uint64_t offset,
                                      std::uint64_t from_va, std::uint64_t bytes,
                                      TimePoint deadline) = 0;

    /// Gives back what copies keep between calls. No copy that was answered is in progress.
    virtual void end_copies() {}

    /// The agent's constant counter now; 0 if it cannot be read.
    virtual std::uint64_t counter() = 0;
};

} // namespace wavetap::capture
