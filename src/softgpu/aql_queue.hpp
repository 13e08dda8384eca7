// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "softgpu/chip.hpp"
#include "softgpu/command_processor.hpp"
#include "softgpu/dispatcher.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <string>

// One user queue of AQL packets. Packets are taken in order; a packet's slot is given back (header
// INVALID, read index) once it and all before it have ended, before its completion signal. Packet
// formats: HSA 1.2 and AMD's vendor extensions; signal and queue layouts: amd_hsa_signal.h,
// amd_hsa_queue.h; protocol: format notes kfd-emulation sections 6 to 8.

namespace wavetap::softgpu {

/// Error bits of queue_inactive_signal, as ROCr's handler reads them.
enum class QueueFault : std::uint64_t {
    kScratch = 1, ///< recoverable: the runtime allocates and writes 0
    kInvalidDimension = 2,
    kInvalidGroupMemory = 4,
    kInvalidCode = 8,
    kInvalidPacket = 32,
    kGroupTooLarge = 64,
    kOutOfRegisters = 128,
    kInvalidVendorPacket = 256,
    kReclaimScratch = 512, ///< recoverable
    kIllegalInstruction = 0x40000000,
    kTrap = 0x80000000,
};

/// What queues share. Owned by the chip.
struct QueueServices {
    Memory& memory;
    Host& host;
    RegisterFile& registers;
    CommandTarget& commands;
    Dispatcher& dispatcher;
    std::uint64_t& dispatch_ids; ///< last one given
};

class AqlQueue {
  public:
    AqlQueue(QueueServices services, std::uint32_t id, const AqlQueueInfo& info);

    std::uint32_t id() const { return id_; }
    std::uint64_t driver_id() const { return info_.driver_id; }
    void doorbell(std::uint64_t value, std::uint64_t now);
    void suspend(bool suspended, std::uint64_t now);
    /// Clock at which the queue wants service(); kNever until something wakes it.
    std::uint64_t next() const { return next_; }
    void set_next(std::uint64_t clock) { next_ = clock; }
    /// The queue only waits for memory that someone outside may change.
    bool polling() const { return polling_; }
    bool dead() const { return dead_; }

    /// Takes the next step that is due.
    void service(std::uint64_t now);
    /// A dispatch of this queue has ended: its packet retires, its signal is written.
    void dispatch_ended(const Dispatch& dispatch, std::uint64_t now);
    bool drained() const { return running_dispatches_ == 0; }
    /// COMPUTE_PERFCOUNT_ENABLE, which each queue has for itself: dispatches from now on are counted.
    void enable_counters(bool on) { counters_enabled_ = on; }

    /// Stops for good: kills the queue's dispatches, tells the runtime by queue_inactive_signal
    /// (`fault`, unless the driver reports it by another way) and the front end.
    void stop(std::optional<QueueFault> fault, const std::string& what, std::uint64_t now);

  private:
    enum class Stall : std::uint8_t { kNone, kScratch, kReclaim };
    struct Flight {
        std::uint64_t index = 0;
        bool ended = false;
    };
    using PacketBytes = std::array<std::byte, 64>;

    template <class T> T field(std::size_t offset) const {
        T value{};
        std::memcpy(&value, packet_.data() + offset, sizeof(T));
        return value;
    }
    std::uint64_t slot_va(std::uint64_t index) const;
    void sleep() { next_ = kNever; }
    void again(std::uint64_t clock, bool polling) {
        next_ = clock;
        polling_ = polling;
    }
    bool fetch(std::uint64_t now);
    void execute(std::uint64_t now);
    void execute_vendor(std::uint64_t now);
    void execute_dispatch(std::uint64_t now);
    void run_commands(std::uint64_t now);
    bool check_stall(std::uint64_t now);
    /// 1 holds, 0 does not, -1: the queue was stopped.
    int barrier_holds(bool all, std::uint64_t now);
    int barrier_value_holds(std::uint64_t now);
    std::optional<QueueFault> read_dispatch(Dispatch& dispatch, std::string& what);
    std::optional<QueueFault> read_descriptor(Dispatch& dispatch, std::string& what);
    bool prepare_scratch(Dispatch& dispatch, std::uint64_t now);
    void set_user_sgprs(Dispatch& dispatch, std::uint32_t properties);
    void begin_packet(std::uint64_t now);
    void end_packet(std::uint64_t index, std::uint64_t now);
    void retire();
    void complete(std::uint64_t signal, std::uint64_t start_ts, std::uint64_t now);
    bool raise_inactive(QueueFault fault);
    std::string where() const;

    QueueServices services_;
    std::uint32_t id_;
    AqlQueueInfo info_;
    std::int64_t doorbell_ = -1;
    std::uint64_t next_index_ = 0; ///< packet to take next
    bool fetched_ = false;         ///< packet_ holds it
    bool suspended_ = false;
    bool dead_ = false;
    bool polling_ = false;
    bool counters_enabled_ = false;
    bool scratch_once_ = false; ///< reclaim scratch after the running dispatch
    Stall stall_ = Stall::kNone;
    std::uint64_t next_ = kNever;
    std::uint64_t packet_start_ts_ = 0;
    PacketBytes packet_{};
    std::deque<Flight> flights_; ///< taken, not retired; by index
    std::optional<CommandRun> commands_;
    Dispatch* launching_ = nullptr; ///< this queue's dispatch that still places groups
    std::uint32_t running_dispatches_ = 0;
    std::shared_ptr<ScratchSlots> scratch_;
    std::uint64_t scratch_key_ = 0;
};

} // namespace wavetap::softgpu
