// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/stream_scan.hpp"

#include "decode/piece_walk.hpp"
#include "sqtt/gfx9.hpp"
#include "sqtt/rdna.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace wavetap::decode {

using sqtt::BitRange;
using sqtt::FieldId;
using sqtt::Generation;
using sqtt::Gfx9Misc;
using sqtt::Token;
using sqtt::TokenType;

/// The bits of the fields that a scan looks at, for one generation.
struct StreamScanner::Layout {
    explicit Layout(Generation generation) {
        const auto bits = [generation](TokenType type, FieldId id) {
            const sqtt::TokenRow* row = sqtt::find_row(generation, type);
            return row != nullptr ? row->find(id).bits : BitRange{};
        };
        const auto queue = [&bits](TokenType type) {
            return Queue{bits(type, FieldId::kMe), bits(type, FieldId::kPipe)};
        };
        const auto wave = [&bits](TokenType type) {
            return Wave{bits(type, FieldId::kSa), bits(type, FieldId::kCu),
                        bits(type, FieldId::kSimd), bits(type, FieldId::kSlot)};
        };
        using enum TokenType;
        reg = queue(kReg);
        reg_address = bits(kReg, FieldId::kAddress);
        reg_data = bits(kReg, FieldId::kData);
        reg_space = bits(kReg, FieldId::kCsSpace);
        reg_op = bits(kReg, FieldId::kOp);
        compute = queue(kRegCs);
        compute_address = bits(kRegCs, FieldId::kAddress);
        compute_data = bits(kRegCs, FieldId::kData);
        init = queue(kRegInit);
        init_type = bits(kRegInit, FieldId::kType);
        init_data = bits(kRegInit, FieldId::kData);
        event = queue(kEvent);
        event_id = bits(kEvent, FieldId::kEventId);
        event_bottom = bits(kEvent, FieldId::kBop);
        misc_type = bits(kMisc, FieldId::kType);
        misc_flags = bits(kMisc, FieldId::kFlags);
        cluster = bits(kMisc, FieldId::kCluster);
        cluster_first = bits(kMisc, FieldId::kClusterFirst);
        cluster_last = bits(kMisc, FieldId::kClusterLast);
        stamp_value = bits(kTimestamp, FieldId::kValue);
        stamp_type = bits(kTimestamp, FieldId::kType);
        stamp_realtime = bits(kTimestamp, FieldId::kRealtime);
        stamp_lost = bits(kTimestamp, FieldId::kPacketsLost);
        wave_time = bits(kValu, FieldId::kWaveTime);
        inst_slot = bits(kInst, FieldId::kSlot);
        inst_op = bits(kInst, FieldId::kOp);
        start = queue(kWaveStart);
        start_count = bits(kWaveStart, FieldId::kCount);
        start_wave = wave(kWaveStart);
        end_wave = wave(kWaveEnd);
        pc_wave = wave(kNewPc);
    }

    struct Queue {
        BitRange me, pipe;
    };
    struct Wave {
        BitRange sa, cu, simd, slot;
    };
    Queue reg, compute, init, event, start;
    BitRange reg_address, reg_data, reg_space, reg_op;
    BitRange compute_address, compute_data;
    BitRange init_type, init_data, event_id, event_bottom;
    BitRange misc_type, misc_flags, cluster, cluster_first, cluster_last;
    BitRange stamp_value, stamp_type, stamp_realtime, stamp_lost;
    BitRange wave_time, inst_slot, inst_op, start_count;
    Wave start_wave, end_wave, pc_wave;
};

const StreamScanner::Layout& StreamScanner::layout_of(Generation generation) {
    static const std::array<Layout, sqtt::kGenerationCount> layouts{
        Layout(Generation::kGfx9), Layout(Generation::kGfx10), Layout(Generation::kGfx11),
        Layout(Generation::kGfx12), Layout(Generation::kGfx1250)};
    return layouts[static_cast<std::size_t>(generation)];
}

namespace {

/// How far behind a time reset its timestamp is looked for; the decoder looks as far.
constexpr std::uint64_t kTimestampBytes = PieceWalk::kTimestampBytes;

std::uint32_t get(const Token& token, BitRange range) {
    return static_cast<std::uint32_t>(sqtt::extract(token.bits, range));
}

QueueKey queue_key(Generation generation, std::uint32_t me, std::uint32_t pipe) {
    if (generation == Generation::kGfx9) me = (me + 1) & 1;
    return {static_cast<std::uint8_t>(me), static_cast<std::uint8_t>(pipe),
            static_cast<std::uint8_t>((me & 1) * 4 + (pipe & 3))};
}

/// WSTART.count of gfx10 and later: codes of context switches.
bool is_context_switch(std::uint32_t count) {
    return count >= 66 && count <= 89;
}

} // namespace

StreamScanner::LiveSink::LiveSink(RecordSink& next, std::vector<LiveObject>& live)
    : next_(&next), live_(&live) {
    for (const LiveObject& object : live)
        ids_.insert(object.id);
}

void StreamScanner::LiveSink::code_object(const CodeObjectEvent& record) {
    if (!record.unload) {
        if (live_->size() < CodeMap::kMaxObjects && ids_.insert(record.id).second)
            live_->push_back({record.id, record.address, record.size});
    } else if (ids_.erase(record.id) != 0) {
        const auto found =
            std::find_if(live_->rbegin(), live_->rend(),
                         [&](const LiveObject& each) { return each.id == record.id; });
        live_->erase(std::next(found).base());
    }
    next_->code_object(record);
}

StreamScanner::StreamScanner(const ScanState& from, const std::vector<LoadedObject>& objects,
                             RecordSink& sink)
    : state_(from), sink_(sink, state_.live), code_(nullptr, objects),
      registers_(from.header.generation, code_, sink_, nullptr, from.registers),
      layout_(&layout_of(from.header.generation)), generation_(from.header.generation) {
    for (const LiveObject& object : from.live)
        code_.load(object.address, object.size, object.id, true);
}

ScanState StreamScanner::state() const {
    ScanState state = state_;
    state.registers = registers_.values();
    return state;
}

void StreamScanner::event(StreamPoint at, EventKind kind) {
    sink_.event({at.time, kind, 0, 0, false, 0, at.offset_bytes});
}

void StreamScanner::take(const Token& token, std::span<const std::byte> bytes,
                         std::uint64_t origin) {
    const std::uint64_t offset = token.offset_bits / 8;
    if (generation_ == Generation::kGfx9) {
        if (reset_ && token.offset_bits == reset_->timestamp_bits) return;
        if (token.type == TokenType::kTimestamp && take_open_timestamp(token)) return;
        state_.time += sqtt::kGfx9ClocksPerUnit * std::uint64_t{token.delta};
        take_gfx9(token, bytes, origin, {state_.time, offset});
        return;
    }
    if (generation_ == Generation::kGfx1250 && token.type == TokenType::kValu) {
        constexpr std::array<std::uint8_t, 16> kClocks{1, 2, 3, 4, 1, 2, 3, 4,
                                                       1, 2, 3, 4, 1, 2, 1, 2};
        constexpr std::array<std::uint8_t, 16> kPlaces{0, 0, 0, 0, 1, 1, 1, 1,
                                                       2, 2, 2, 2, 3, 3, 4, 4};
        const std::uint32_t wave_time = get(token, layout_->wave_time);
        state_.time += kClocks[wave_time];
        auto& recent = state_.recent;
        std::rotate(recent.begin(), recent.begin() + kPlaces[wave_time],
                    recent.begin() + kPlaces[wave_time] + 1);
        return;
    }
    state_.time += token.delta;
    take_rdna(token, {state_.time, offset});
}

void StreamScanner::take_rdna(const Token& token, StreamPoint at) {
    const Layout& layout = *layout_;
    const auto key = [&](const Layout::Queue& queue) {
        return queue_key(generation_, get(token, queue.me), get(token, queue.pipe));
    };
    switch (token.type) {
    case TokenType::kTimestamp:
        timestamp(token, at);
        break;
    case TokenType::kReg: {
        const std::uint32_t address = get(token, layout.reg_address);
        const bool user_data =
            generation_ == Generation::kGfx10 && address >= 0xC340 && address <= 0xC343;
        if (get(token, layout.reg_space) != 0 && !user_data)
            registers_.write_compute(at, key(layout.reg), address, get(token, layout.reg_data));
        else
            registers_.write_other(at, key(layout.reg), address, get(token, layout.reg_data));
        break;
    }
    case TokenType::kRegInit: {
        const std::uint32_t data = get(token, layout.init_data);
        if (get(token, layout.init_type) == 2 && (data & 1) != 0)
            registers_.dispatch(at, key(layout.init), data);
        break;
    }
    case TokenType::kEvent:
    case TokenType::kEventSync:
        registers_.event(at, key(layout.event), get(token, layout.event_id),
                         get(token, layout.event_bottom) != 0
                             ? RegisterState::EventSource::kTokenAtBottom
                             : RegisterState::EventSource::kTokenOfPipe);
        break;
    case TokenType::kMisc:
        misc(token, at);
        break;
    case TokenType::kHeader:
        if (const auto header = sqtt::parse_header(token.bits.low);
            header && header->generation == generation_)
            state_.header = *header;
        break;
    case TokenType::kInst:
        if (generation_ == Generation::kGfx1250) {
            const std::uint32_t code = get(token, layout.inst_op);
            if (code < 10 || code > 14) break;
            const auto slot = static_cast<int>(get(token, layout.inst_slot));
            auto& recent = state_.recent;
            const auto found = std::find(recent.begin(), recent.end(), slot);
            const auto last = found == recent.end() ? recent.end() - 1 : found;
            std::rotate(recent.begin(), last, last + 1);
            recent[0] = slot;
        }
        break;
    case TokenType::kWaveStart:
    case TokenType::kWaveStartExt:
        if (state_.cluster_ends && begins_wave(token)) {
            state_.cluster = 0;
            state_.cluster_ends = false;
        }
        break;
    default:
        break;
    }
}

void StreamScanner::timestamp(const Token& token, StreamPoint at) {
    const std::uint64_t value = sqtt::extract(token.bits, layout_->stamp_value);
    if (generation_ == Generation::kGfx10) {
        const std::uint32_t type = get(token, layout_->stamp_type);
        if (type == 1) state_.time += value;
        if (type == 2) sink_.realtime({at.time, value});
        return;
    }
    const bool lost = get(token, layout_->stamp_lost) != 0;
    if (get(token, layout_->stamp_realtime) != 0) {
        if (!lost) sink_.realtime({at.time, value});
        return;
    }
    state_.time += value;
    if (lost) event({state_.time, at.offset_bytes}, EventKind::kPacketsLost);
}

void StreamScanner::misc(const Token& token, StreamPoint at) {
    std::uint32_t flags = get(token, layout_->misc_flags);
    if (generation_ == Generation::kGfx1250) {
        flags = (flags & 3) | (flags >> 2) << 3; // its field lacks bit 2
        const bool last = get(token, layout_->cluster_last) != 0;
        if (last || get(token, layout_->cluster_first) != 0) {
            state_.cluster = static_cast<std::uint8_t>(get(token, layout_->cluster));
            state_.cluster_ends = last;
        }
    }
    if (flags == 0) return;
    struct Row {
        unsigned bit;
        EventKind kind;
    };
    const Row rows[] = {
        {sqtt::kMiscLostOrSample,
         generation_ == Generation::kGfx10 ? EventKind::kPacketsLost : EventKind::kCounterSample},
        {sqtt::kMiscRinse, EventKind::kCacheRinse},
        {sqtt::kMiscSaveContext, EventKind::kSaveContext},
        {sqtt::kMiscStallBegin, EventKind::kStallBegin},
        {sqtt::kMiscStallEnd, EventKind::kStallEnd},
        {sqtt::kMiscThrottleBegin, EventKind::kThrottleBegin},
        {sqtt::kMiscThrottleEnd, EventKind::kThrottleEnd},
    };
    for (const Row& row : rows) {
        if ((flags >> row.bit & 1) != 0) event(at, row.kind);
    }
}

void StreamScanner::take_gfx9(const Token& token, std::span<const std::byte> bytes,
                              std::uint64_t origin, StreamPoint at) {
    const Layout& layout = *layout_;
    switch (token.type) {
    case TokenType::kMisc: {
        static constexpr std::array<EventKind, 8> kKinds{
            EventKind::kOtherEvent,  EventKind::kOtherEvent, EventKind::kPacketsLost,
            EventKind::kSurfaceSync, EventKind::kStallBegin, EventKind::kStallEnd,
            EventKind::kSaveContext, EventKind::kShootDown};
        const std::uint32_t type = get(token, layout.misc_type);
        if (type == static_cast<std::uint32_t>(Gfx9Misc::kTimeReset))
            time_reset(token, bytes, origin);
        else if (type > static_cast<std::uint32_t>(Gfx9Misc::kTimeReset))
            event(at, kKinds[type]);
        break;
    }
    case TokenType::kReg:
        if (get(token, layout.reg_op) != 0)
            registers_.write_other(
                at, queue_key(generation_, get(token, layout.reg.me), get(token, layout.reg.pipe)),
                get(token, layout.reg_address), get(token, layout.reg_data));
        break;
    case TokenType::kRegCs:
    case TokenType::kRegCsPriv:
        registers_.write_compute(
            at,
            queue_key(generation_, get(token, layout.compute.me), get(token, layout.compute.pipe)),
            get(token, layout.compute_address), get(token, layout.compute_data));
        break;
    case TokenType::kEvent:
    case TokenType::kEventCs:
    case TokenType::kEventGfx1:
        registers_.event(at, {}, get(token, layout.event_id), RegisterState::EventSource::kToken);
        break;
    default:
        break;
    }
}

// As the decoder does it: the absolute counter that follows the reset gives the time.
void StreamScanner::time_reset(const Token& token, std::span<const std::byte> bytes,
                               std::uint64_t origin) {
    state_.open_reset = {};
    const std::uint64_t begin = token.offset_bits + token.size_bits - origin * 8;
    const std::uint64_t end = begin / 8 + kTimestampBytes;
    sqtt::TokenReader ahead(generation_, bytes.first(std::min<std::uint64_t>(end, bytes.size())),
                            begin);
    for (Token next; ahead.next(next);) {
        if (next.type == TokenType::kMisc &&
            get(next, layout_->misc_type) == static_cast<std::uint32_t>(Gfx9Misc::kTimeReset))
            return;
        if (next.type != TokenType::kTimestamp) continue;
        const std::uint64_t units = sqtt::kGfx9ClocksPerUnit * std::uint64_t{token.delta};
        reset_ = Reset{token.offset_bits, origin * 8 + next.offset_bits, state_.time - units};
        state_.time = time_by(next, state_.time);
        return;
    }
    if (end > bytes.size()) state_.open_reset = {state_.time, origin + end};
}

// The clock right behind a reset at `reset_time` that the timestamp belongs to.
std::uint64_t StreamScanner::time_by(const Token& timestamp, std::uint64_t reset_time) {
    const auto value = static_cast<std::int64_t>(timestamp.bits.low >> 16);
    if (!state_.clock_base)
        state_.clock_base =
            static_cast<std::uint64_t>(value - static_cast<std::int64_t>(reset_time) + 4);
    const auto base = static_cast<std::int64_t>(*state_.clock_base);
    return value > base ? static_cast<std::uint64_t>(value - base) & ~std::uint64_t{3} : reset_time;
}

// The timestamp of a reset in the chunk before. Like one in the same chunk it moves the clock no
// further than to its value.
bool StreamScanner::take_open_timestamp(const Token& token) {
    const ScanState::OpenReset open = std::exchange(state_.open_reset, {});
    if (token.offset_bits + token.size_bits > open.left_bytes * 8) return false;
    state_.time += time_by(token, open.time) - open.time;
    return true;
}

WavePlace StreamScanner::place(const Token& token) const {
    const Layout::Wave& wave = token.type == TokenType::kWaveEnd ? layout_->end_wave
                               : token.type == TokenType::kNewPc ? layout_->pc_wave
                                                                 : layout_->start_wave;
    return {static_cast<std::uint8_t>(get(token, wave.sa)),
            static_cast<std::uint8_t>(get(token, wave.cu)),
            static_cast<std::uint8_t>(get(token, wave.simd)),
            static_cast<std::uint8_t>(get(token, wave.slot))};
}

bool StreamScanner::on_target(const WavePlace& place) const {
    const sqtt::Header& header = state_.header;
    return place.sa == header.target_sa && place.cu == header.target_cu &&
           (header.simd_mask >> place.simd & 1) != 0;
}

std::size_t StreamScanner::start_queue(const Token& token) const {
    return (get(token, layout_->start.me) & 1) * 4 + (get(token, layout_->start.pipe) & 3);
}

bool StreamScanner::begins_wave(const Token& token) const {
    const std::uint32_t count = get(token, layout_->start_count);
    return generation_ == Generation::kGfx9 ? count <= 64 : !is_context_switch(count);
}

} // namespace wavetap::decode
