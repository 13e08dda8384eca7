// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/ids.hpp"
#include "base/result.hpp"
#include "softgpu/memory.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

// The chip model: command processor, SDMA, shader engines, waves and one thread-trace unit per
// shader engine, all on one model clock. It knows nothing of drivers: a front end lends it memory
// (AddressSpace), takes its interrupts (Host) and passes doorbells.

namespace wavetap::softgpu {

class TruthWriter;

/// One kind of chip. Values of the silicon where they are public; docs/hardware.md says which.
struct ChipSpec {
    std::string name; ///< "gfx90a"
    std::uint32_t shader_engines = 8;
    std::uint32_t cus_per_engine = 14;
    std::uint32_t simds_per_cu = 4;
    std::uint32_t wave_slots = 8;    ///< per SIMD
    std::uint32_t lds_bytes = 65536; ///< per CU
    std::uint32_t sdma_engines = 2;
    std::uint64_t shader_clock_hz = 1'700'000'000;
    std::uint64_t counter_hz =
        100'000'000;            ///< the constant counter that s_memrealtime and PM4 read
    std::uint32_t revision = 4; ///< version nibble of the gfx9 software header
    /// Compute units fused off, as engine << 8 | cu.
    std::vector<std::uint16_t> harvested;
    std::uint64_t seed = 0; ///< varies the placement of work-groups
};

/// The spec for "gfx90a" (110 CUs: CU 13 of engines 6 and 7 is fused off).
/// Errors: kUnsupported, naming the chips there are.
Result<ChipSpec> chip_spec(std::string_view name);

/// What the chip tells its front end. Called with the owner lock held; must not call back.
class Host {
  public:
    virtual ~Host() = default;
    /// Completion of a signal that has an event mailbox, or an SDMA TRAP.
    virtual void interrupt(std::uint32_t event_id) = 0;
    virtual void memory_fault(std::uint64_t va, Access access, const std::string& what) = 0;
    /// The queue stopped for good (bad packet, illegal instruction): `what` names packet or PC.
    virtual void queue_error(std::uint64_t queue, const std::string& what) = 0;
    /// Kernel and source line at a code address, for messages; empty if not known.
    virtual std::string code_at(std::uint64_t pc) {
        static_cast<void>(pc);
        return {};
    }
    /// Constant 100 MHz counter of the host's time, for start_ts/end_ts of signals.
    virtual std::uint64_t host_counter() = 0;
};

using QueueId = StrongId<struct QueueTag>;

struct AqlQueueInfo {
    std::uint64_t ring_va = 0;
    std::uint64_t ring_bytes = 0;     ///< multiple of 64, power of two
    std::uint64_t write_index_va = 0; ///< &amd_queue_t::write_dispatch_id (amd_queue_t + 0x38)
    std::uint64_t read_index_va = 0;  ///< &amd_queue_t::read_dispatch_id
    std::uint64_t driver_id = 0;      ///< for truth and messages
};

struct SdmaQueueInfo {
    std::uint64_t ring_va = 0;
    std::uint64_t ring_bytes = 0;
    std::uint64_t write_index_va = 0; ///< bytes, monotonic
    std::uint64_t read_index_va = 0;
    std::uint64_t driver_id = 0;
};

/// Resource. Every method is called under one lock of its owner; step() is called again and again
/// by the owner's engine thread.
class Chip {
  public:
    enum class Progress : std::uint8_t {
        kRunning, ///< model time advanced and there is more to do: call again at once
        kPolling, ///< everything left waits for memory to change (a barrier, a poll): call again soon
        kIdle,    ///< nothing to do until a doorbell
    };

    /// `truth` may be null and must outlive the chip. Errors: kUnsupported.
    static Result<std::unique_ptr<Chip>> create(const ChipSpec& spec, std::uint32_t agent,
                                                AddressSpace& space, Host& host,
                                                TruthWriter* truth);
    virtual ~Chip() = default;

    /// Errors: kInvalidArgument, kNotFound (a VA is not mapped).
    virtual Result<QueueId> create_aql_queue(const AqlQueueInfo& info) = 0;
    virtual Result<QueueId> create_sdma_queue(const SdmaQueueInfo& info) = 0;
    /// After return the chip touches none of the queue's memory. Running waves of the queue are
    /// ended (their truth records say so).
    virtual void destroy_queue(QueueId queue) = 0;
    /// percentage 0 suspends, anything else resumes.
    virtual void suspend_queue(QueueId queue, bool suspended) = 0;
    /// AQL: index of the last packet written; SDMA: write pointer in bytes. Values may repeat.
    virtual void doorbell(QueueId queue, std::uint64_t value) = 0;

    /// Advances the model by at most `clocks` shader clocks.
    virtual Progress step(std::uint64_t clocks) = 0;

    virtual std::uint64_t clock() const = 0; ///< shader clocks
    virtual std::uint64_t
    counter() const = 0; ///< constant counter (counter_hz), from the same clock
    /// Instructions issued since creation (all waves).
    virtual std::uint64_t instructions() const = 0;
};

} // namespace wavetap::softgpu
