// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/code_map.hpp"
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

/// What the register writes of a stream add up to: kernel addresses, dispatches, events, and the
/// words that ROCm writes into the user-data registers (code objects, real-time stamps).
class RegisterState {
  public:
    RegisterState(sqtt::Generation generation, CodeMap& code, RecordSink& sink)
        : generation_(generation), code_(&code), sink_(&sink) {}

    /// Write of a compute register, `address` in dwords from DISPATCH_INITIATOR.
    void write_compute(StreamPoint at, QueueKey queue, std::uint32_t address, std::uint32_t data);
    /// Write of any other register, `reg` absolute in dwords.
    void write_other(StreamPoint at, QueueKey queue, std::uint32_t reg, std::uint32_t data);
    /// A dispatch was started on `queue`.
    void dispatch(StreamPoint at, QueueKey queue, std::uint32_t initiator);
    /// An event write or EVENT token with the hardware's event number.
    void event(StreamPoint at, QueueKey queue, std::uint32_t number);

    /// Start address of the kernel last set up on a queue.
    std::uint64_t entry_address(unsigned index) const {
        return ((std::uint64_t{queues_[index].pgm_hi} << 32 | queues_[index].pgm_lo) << 8) &
               ((std::uint64_t{1} << 48) - 1);
    }
    std::uint32_t counter_frequency_khz() const { return counter_frequency_khz_; }
    std::uint32_t perf_interval() const { return perf_interval_; }

  private:
    struct Queue {
        std::uint32_t pgm_lo = 0, pgm_hi = 0;
        std::uint32_t packet_lo = 0, packet_hi = 0;
        // A code object being put together, and the word that is expected next.
        std::uint64_t object_address = 0, object_size = 0, object_id = 0;
        std::uint8_t code_word = 0; ///< type of the header that waits for its payload, plus one
    };
    void userdata2(StreamPoint at, QueueKey queue, std::uint32_t data);
    void userdata3(StreamPoint at, std::uint32_t data);
    void code_word(StreamPoint at, QueueKey queue, std::uint32_t type, std::uint32_t data);
    void code_tail(StreamPoint at, QueueKey queue, std::uint32_t data);
    void clock_payload(StreamPoint at, std::uint32_t data);

    sqtt::Generation generation_;
    CodeMap* code_;
    RecordSink* sink_;
    std::array<Queue, 8> queues_{};
    std::uint32_t threads_[3] = {};
    std::uint32_t rsrc1_ = 0, rsrc2_ = 0;
    bool magic_seen_ = false;
    std::uint32_t counter_frequency_khz_ = 0, perf_interval_ = 0;
    // USERDATA_3: the packet being read.
    std::uint32_t clock_opcode_ = 0, clock_left_ = 0, clock_index_ = 0;
    std::uint32_t rt_low_ = 0, rt_high_ = 0;
};

} // namespace wavetap::decode
