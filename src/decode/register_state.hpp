// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/code_map.hpp"
#include "decode/diagnostics.hpp"
#include "decode/sink.hpp"
#include "sqtt/token.hpp"

#include <array>
#include <cstdint>

namespace wavetap::decode {

/// Where in the stream something happened.
struct StreamPoint {
    std::uint64_t time = 0;
    std::uint64_t offset_bytes = 0;
};

/// Which queue a register write belongs to.
struct QueueKey {
    std::uint8_t me = 0;
    std::uint8_t pipe = 0;
    std::uint8_t index = 0; ///< of the register state: 0..7
};

/// The values that register writes leave behind. A plain copy of them is a place in the stream to go
/// on from; register_replay.hpp turns them into writes again.
struct RegisterValues {
    struct Queue {
        std::uint32_t pgm_lo = 0, pgm_hi = 0;
        std::uint32_t packet_lo = 0, packet_hi = 0;
        // A code object being put together, and the word that is expected next.
        std::uint64_t object_address = 0, object_size = 0, object_id = 0;
        std::uint8_t code_word = 0; ///< type of the header that waits for its payload, plus one
    };
    std::array<Queue, 8> queues{};
    std::uint32_t threads[3] = {};
    std::uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;
    bool magic_seen = false;
    std::uint32_t counter_frequency_khz = 0, perf_interval = 0;
    // USERDATA_3: the packet being read.
    std::uint32_t clock_opcode = 0, clock_left = 0, clock_index = 0;
    std::uint32_t rt_low = 0, rt_high = 0;
};

/// What the register writes of a stream add up to: kernel addresses, dispatches, events, and the
/// words that ROCm writes into the user-data registers (code objects, real-time stamps).
class RegisterState {
  public:
    /// `diagnostics` may be null. `values`: goes on from there instead of afresh.
    RegisterState(sqtt::Generation generation, CodeMap& code, RecordSink& sink,
                  Diagnostics* diagnostics, const RegisterValues& values = {})
        : values_(values), generation_(generation), code_(&code), sink_(&sink),
          diagnostics_(diagnostics) {}

    /// Write of a compute register, `address` in dwords from DISPATCH_INITIATOR.
    void write_compute(StreamPoint at, QueueKey queue, std::uint32_t address, std::uint32_t data);
    /// Write of any other register, `reg` absolute in dwords.
    void write_other(StreamPoint at, QueueKey queue, std::uint32_t reg, std::uint32_t data);
    /// A dispatch was started on `queue`.
    void dispatch(StreamPoint at, QueueKey queue, std::uint32_t initiator);
    /// Where an event came from.
    enum class EventSource : std::uint8_t {
        kWrite,
        kToken, ///< of gfx9, which names no pipe
        kTokenOfPipe,
        kTokenAtBottom
    };
    /// An event write or EVENT token with the hardware's event number.
    void event(StreamPoint at, QueueKey queue, std::uint32_t number, EventSource source);

    /// Start address of the kernel last set up on a queue.
    std::uint64_t entry_address(unsigned index) const {
        return ((std::uint64_t{values_.queues[index].pgm_hi} << 32 | values_.queues[index].pgm_lo)
                << 8) &
               ((std::uint64_t{1} << 48) - 1);
    }
    std::uint32_t counter_frequency_khz() const { return values_.counter_frequency_khz; }
    std::uint32_t perf_interval() const { return values_.perf_interval; }
    const RegisterValues& values() const { return values_; }

  private:
    void userdata2(StreamPoint at, QueueKey queue, std::uint32_t data);
    void userdata3(StreamPoint at, std::uint32_t data);
    void code_word(StreamPoint at, QueueKey queue, std::uint32_t type, std::uint32_t data);
    void code_tail(StreamPoint at, QueueKey queue, std::uint32_t data);
    void clock_payload(StreamPoint at, std::uint32_t data);

    RegisterValues values_;
    sqtt::Generation generation_;
    CodeMap* code_;
    RecordSink* sink_;
    Diagnostics* diagnostics_;
};

} // namespace wavetap::decode
