// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/register_state.hpp"

#include "decode/user_data.hpp"

namespace wavetap::decode {
namespace {

void set_low(std::uint64_t& value, std::uint32_t low) {
    value = (value >> 32 << 32) | low;
}
void set_high(std::uint64_t& value, std::uint32_t high) {
    value = (value & 0xFFFFFFFF) | std::uint64_t{high} << 32;
}

EventKind kind_of_event(std::uint32_t number) {
    switch (number) {
    case 0x04:
    case 0x06:
    case 0x14:
    case 0x16:
        return EventKind::kCacheFlush;
    case 0x07:
        return EventKind::kPartialFlush;
    case 0x28:
        return EventKind::kBottomOfPipe;
    case 0x33:
        return EventKind::kTraceStart;
    case 0x34:
        return EventKind::kTraceStop;
    case 0x35:
        return EventKind::kTraceMarker;
    case 0x36:
        return EventKind::kTraceFlush;
    case 0x37:
        return EventKind::kTraceFinish;
    default:
        return EventKind::kOtherEvent;
    }
}

} // namespace

void RegisterState::event(StreamPoint at, QueueKey queue, std::uint32_t number,
                          EventSource source) {
    const EventKind kind = kind_of_event(number);
    const bool shows_number = kind == EventKind::kOtherEvent || kind == EventKind::kCacheFlush;
    sink_->event({at.time, kind, queue.me, queue.pipe, false, shows_number ? number : 0,
                  at.offset_bytes,
                  source == EventSource::kTokenOfPipe || source == EventSource::kTokenAtBottom,
                  source == EventSource::kTokenAtBottom, source == EventSource::kWrite});
}

void RegisterState::dispatch(StreamPoint at, QueueKey queue, std::uint32_t initiator) {
    const RegisterValues::Queue& state = values_.queues[queue.index];
    DispatchRecord record;
    record.time = at.time;
    record.me = queue.me;
    record.pipe = queue.pipe;
    record.initiator = initiator;
    PcRef entry = code_->attribute(entry_address(queue.index));
    if (entry.object == 0) entry = code_->attribute_late(entry.address);
    record.entry = code_->pc_of(entry);
    for (int i = 0; i < 3; ++i)
        record.threads[i] = values_.threads[i];
    record.rsrc1 = values_.rsrc1;
    record.rsrc2 = values_.rsrc2;
    record.packet_va = std::uint64_t{state.packet_hi} << 32 | state.packet_lo;
    record.offset_bytes = at.offset_bytes;
    sink_->dispatch(record);
}

void RegisterState::write_compute(StreamPoint at, QueueKey queue, std::uint32_t address,
                                  std::uint32_t data) {
    RegisterValues::Queue& state = values_.queues[queue.index];
    const bool gfx9 = generation_ == sqtt::Generation::kGfx9;
    switch (address) {
    case kInitiator:
        if (gfx9 && (data & 1) != 0) dispatch(at, queue, data);
        break;
    case kPgmLo:
        state.pgm_lo = data;
        break;
    case kPgmHi:
        state.pgm_hi = data;
        break;
    case kPacketLo:
        state.packet_lo = data;
        break;
    case kPacketHi:
        state.packet_hi = data;
        break;
    case kRsrc1:
        values_.rsrc1 = data;
        break;
    case kRsrc2:
        values_.rsrc2 = data;
        break;
    default:
        if (address >= kNumThreadX && address <= kNumThreadZ) {
            values_.threads[address - kNumThreadX] = data;
        } else if (address == (gfx9 ? kNowhereGfx9 : kNowhere)) {
            event(at, queue, data, EventSource::kWrite);
        } else if (address == (gfx9 ? kRsrc3Gfx9 : kRsrc3)) {
            values_.rsrc3 = data;
        }
        break;
    }
}

void RegisterState::write_other(StreamPoint at, QueueKey queue, std::uint32_t reg,
                                std::uint32_t data) {
    if (reg < kUconfigFirst) return;
    sink_->register_write({at.time, reg, data});
    if (reg == kUserdata2) userdata2(at, queue, data);
    if (reg == kUserdata3) userdata3(at, data);
}

void RegisterState::userdata2(StreamPoint at, QueueKey queue, std::uint32_t data) {
    RegisterValues::Queue& state = values_.queues[queue.index];
    if (state.code_word != 0) {
        const std::uint32_t type = state.code_word - 1U;
        state.code_word = 0;
        code_word(at, queue, type, data);
        return;
    }
    if (data == kUserDataMagic) {
        values_.magic_seen = true;
        return;
    }
    if (!values_.magic_seen) return;
    const std::uint32_t opcode = data & 0xFF;
    const std::uint32_t type = data >> 8 & 0xF;
    const std::uint32_t value = data >> 12;
    if (opcode == kCodeObject && value == 0) {
        state.code_word = static_cast<std::uint8_t>(type + 1);
    } else if (opcode == kAgentInfo) {
        if (type == 0) values_.counter_frequency_khz = value;
        if (type == 1) values_.perf_interval = value;
    }
}

void RegisterState::code_word(StreamPoint at, QueueKey queue, std::uint32_t type,
                              std::uint32_t data) {
    RegisterValues::Queue& state = values_.queues[queue.index];
    switch (type) {
    case kTail:
        code_tail(at, queue, data);
        break;
    case kSizeLo:
        set_low(state.object_size, data);
        break;
    case kSizeHi:
        set_high(state.object_size, data);
        break;
    case kAddressLo:
        set_low(state.object_address, data);
        break;
    case kAddressHi:
        set_high(state.object_address, data);
        break;
    case kIdLo:
        set_low(state.object_id, data);
        break;
    case kIdHi:
        set_high(state.object_id, data);
        break;
    default:
        break; // a word of a newer protocol; its payload was read, so the stream stays in step
    }
}

void RegisterState::code_tail(StreamPoint at, QueueKey queue, std::uint32_t data) {
    RegisterValues::Queue& state = values_.queues[queue.index];
    const bool unload = (data & 1) != 0;
    const bool from_start = (data & 2) != 0;
    const std::uint64_t id = data >> 2 != 0 ? data >> 2 : state.object_id;
    if (unload)
        code_->unload(id);
    else if (!code_->load(state.object_address, state.object_size, id, from_start) &&
             diagnostics_ != nullptr)
        diagnostics_->add(Fault::kTooManyObjects, at.offset_bytes, at.time);
    sink_->code_object({at.time, id, state.object_address, state.object_size, unload, from_start});
    sink_->event({at.time, unload ? EventKind::kCodeObjectUnload : EventKind::kCodeObjectLoad,
                  queue.me, queue.pipe, from_start, id, at.offset_bytes});
    state.object_address = state.object_size = state.object_id = 0;
}

void RegisterState::userdata3(StreamPoint at, std::uint32_t data) {
    if (!values_.magic_seen) return;
    if (values_.clock_left != 0) {
        clock_payload(at, data);
        return;
    }
    values_.clock_opcode = data & 0xFF;
    values_.clock_index = 0;
    const std::uint32_t words = data >> 12;
    if (values_.clock_opcode == kTimestamp)
        values_.clock_left = words != 0 ? words : 3;
    else if (values_.clock_opcode == kTimestampLow)
        values_.clock_left = words != 0 ? words : 1;
    else
        values_.clock_left = words;
}

void RegisterState::clock_payload(StreamPoint at, std::uint32_t data) {
    --values_.clock_left;
    const std::uint32_t index = values_.clock_index++;
    if (values_.clock_opcode == kTimestamp) {
        if (index == 0) values_.rt_low = data;
        if (index == 1) values_.rt_high = data;
        if (index != 2) return;
        if (data < values_.rt_low) ++values_.rt_high;
        values_.rt_low = data;
    } else if (values_.clock_opcode == kTimestampLow && index == 0) {
        if (data < values_.rt_low) ++values_.rt_high;
        values_.rt_low = data;
    } else {
        return;
    }
    sink_->realtime({at.time, std::uint64_t{values_.rt_high} << 32 | values_.rt_low});
}

} // namespace wavetap::decode
