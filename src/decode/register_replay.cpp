// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/register_replay.hpp"

#include "decode/user_data.hpp"

namespace wavetap::decode {
namespace {

constexpr std::uint32_t kSkippedOpcode = 0xFF; ///< a header whose payload nobody reads

constexpr std::uint32_t low_word(std::uint64_t value) {
    return static_cast<std::uint32_t>(value);
}
constexpr std::uint32_t high_word(std::uint64_t value) {
    return static_cast<std::uint32_t>(value >> 32);
}
constexpr std::uint32_t header_word(std::uint32_t opcode, std::uint32_t type, std::uint32_t data) {
    return opcode | type << 8 | data << 12;
}

class Replay {
  public:
    explicit Replay(sqtt::Generation generation)
        : rsrc3_(generation == sqtt::Generation::kGfx9 ? kRsrc3Gfx9 : kRsrc3) {}

    void queues(const RegisterValues& values) {
        for (std::size_t i = 0; i < values.queues.size(); ++i) {
            const RegisterValues::Queue& queue = values.queues[i];
            const auto index = static_cast<std::uint8_t>(i);
            if (queue.pgm_lo != 0) compute(index, kPgmLo, queue.pgm_lo);
            if (queue.pgm_hi != 0) compute(index, kPgmHi, queue.pgm_hi);
            if (queue.packet_lo != 0) compute(index, kPacketLo, queue.packet_lo);
            if (queue.packet_hi != 0) compute(index, kPacketHi, queue.packet_hi);
        }
        for (std::uint32_t i = 0; i < 3; ++i) {
            if (values.threads[i] != 0) compute(0, kNumThreadX + i, values.threads[i]);
        }
        if (values.rsrc1 != 0) compute(0, kRsrc1, values.rsrc1);
        if (values.rsrc2 != 0) compute(0, kRsrc2, values.rsrc2);
        if (values.rsrc3 != 0) compute(0, rsrc3_, values.rsrc3);
    }

    void object(const LiveObject& object) {
        pieces(0, object.address, object.size, object.id);
        code_word(0, kTail, 2); // loaded before the start; the id was written whole
    }

    void user_data(const RegisterValues& values) {
        if (values.counter_frequency_khz != 0)
            word(0, kUserdata2, header_word(kAgentInfo, 0, values.counter_frequency_khz));
        if (values.perf_interval != 0)
            word(0, kUserdata2, header_word(kAgentInfo, 1, values.perf_interval));
        for (std::size_t i = 0; i < values.queues.size(); ++i) {
            const RegisterValues::Queue& queue = values.queues[i];
            const auto index = static_cast<std::uint8_t>(i);
            pieces(index, queue.object_address, queue.object_size, queue.object_id);
            if (queue.code_word != 0)
                word(index, kUserdata2, header_word(kCodeObject, queue.code_word - 1U, 0));
        }
        if (values.rt_low != 0 || values.rt_high != 0) {
            // Two words of three: the third would make a sample.
            word(0, kUserdata3, header_word(kTimestamp, 0, 2));
            word(0, kUserdata3, values.rt_low);
            word(0, kUserdata3, values.rt_high);
        }
        if (values.clock_left != 0) half_read_clock(values);
    }

    void magic() { word(0, kUserdata2, kUserDataMagic); }
    std::vector<ReplayedWrite> take() { return std::move(writes_); }

  private:
    void compute(std::uint8_t queue, std::uint32_t reg, std::uint32_t data) {
        writes_.push_back({queue, true, reg, data});
    }
    void word(std::uint8_t queue, std::uint32_t reg, std::uint32_t data) {
        writes_.push_back({queue, false, reg, data});
    }
    void code_word(std::uint8_t queue, CodeWord type, std::uint32_t data) {
        word(queue, kUserdata2, header_word(kCodeObject, type, 0));
        word(queue, kUserdata2, data);
    }
    void pieces(std::uint8_t queue, std::uint64_t address, std::uint64_t size, std::uint64_t id) {
        if (low_word(id) != 0) code_word(queue, kIdLo, low_word(id));
        if (high_word(id) != 0) code_word(queue, kIdHi, high_word(id));
        if (low_word(size) != 0) code_word(queue, kSizeLo, low_word(size));
        if (high_word(size) != 0) code_word(queue, kSizeHi, high_word(size));
        if (low_word(address) != 0) code_word(queue, kAddressLo, low_word(address));
        if (high_word(address) != 0) code_word(queue, kAddressHi, high_word(address));
    }
    void half_read_clock(const RegisterValues& values) {
        const bool whole = values.clock_opcode == kTimestamp && values.clock_index <= 2;
        const bool fresh = values.clock_opcode == kTimestampLow && values.clock_index == 0;
        if (!whole && !fresh) { // the words still to come are skipped there too
            word(0, kUserdata3, header_word(kSkippedOpcode, 0, values.clock_left));
            return;
        }
        word(0, kUserdata3,
             header_word(values.clock_opcode, 0, values.clock_index + values.clock_left));
        if (values.clock_index > 0) word(0, kUserdata3, values.rt_low);
        if (values.clock_index > 1) word(0, kUserdata3, values.rt_high);
    }

    std::uint32_t rsrc3_;
    std::vector<ReplayedWrite> writes_;
};

} // namespace

std::vector<ReplayedWrite> replay_writes(sqtt::Generation generation, const RegisterValues& values,
                                         std::span<const LiveObject> live) {
    Replay replay(generation);
    replay.queues(values);
    if (!values.magic_seen) return replay.take();
    replay.magic();
    for (const LiveObject& object : live)
        replay.object(object);
    replay.user_data(values);
    return replay.take();
}

} // namespace wavetap::decode
