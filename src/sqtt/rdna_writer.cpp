// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "sqtt/rdna_writer.hpp"

#include "base/units.hpp"
#include "sqtt/header.hpp"

#include <algorithm>

namespace wavetap::sqtt {
namespace {

constexpr std::uint64_t kMaxTime = 19;        // TIME: 4..19
constexpr std::uint64_t kMaxMisc = 511;       // MISC: 0..511
constexpr std::uint64_t kMaxTime1250 = 16;    // TIME: 1..16
constexpr std::uint64_t kMaxMediumTime = 255; // MEDIUM_TIME: 0..255
constexpr std::uint64_t kShortestBeat = 4;
constexpr unsigned kLineBits = 32 * 8;
constexpr unsigned kValuOp = 10; // INST: one VALU cycle

std::uint64_t max_of(BitRange range) {
    const unsigned width = range.width();
    return width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
}

std::uint64_t value_of(Generation generation, const Token& token, FieldId id) {
    const TokenRow* row = find_row(generation, token.type);
    return row == nullptr ? 0 : token.field(row->find(id).bits);
}

// TIMESTAMP that moves the time instead of sampling a counter.
bool moves_time(Generation generation, const Token& token) {
    return generation == Generation::kGfx10 ? value_of(generation, token, FieldId::kType) == 1
                                            : value_of(generation, token, FieldId::kRealtime) == 0;
}

} // namespace

Result<TokenBits> make_token(Generation generation, TokenType type,
                             std::initializer_list<FieldValue> fields) {
    const TokenRow* row = find_row(generation, type);
    if (row == nullptr) {
        return Error{ErrorCode::kUnsupported,
                     std::string(generation_name(generation)) + " has no such token",
                     "token type " + std::to_string(static_cast<unsigned>(type)), ""};
    }
    TokenBits bits{row->pattern, 0};
    for (const FieldValue& value : fields) {
        const Field field = row->find(value.id);
        if (field.id == FieldId::kNone || field.bits.width() == 0) {
            return Error{ErrorCode::kUnsupported,
                         std::string("no field ") + field_name(value.id) + " in this token",
                         std::string(generation_name(generation)) + " " + row->name, ""};
        }
        if (value.value > max_of(field.bits)) {
            return Error{ErrorCode::kInvalidArgument,
                         std::string(field_name(value.id)) + " is " + std::to_string(value.value) +
                             ", its field holds " + std::to_string(field.bits.width()) + " bits",
                         std::string(generation_name(generation)) + " " + row->name, ""};
        }
        insert(bits, field.bits, value.value);
    }
    return bits;
}

TokenBits with_delta(const TokenRow& row, TokenBits bits, std::uint64_t delta) {
    if (row.delta.width() == 0) return bits;
    bits.low &= ~(max_of(row.delta) << row.delta.lo); // all deltas lie in the low word
    insert(bits, row.delta, delta);
    return bits;
}

std::uint64_t clocks_of(Generation generation, const Token& token) noexcept {
    if (token.type == TokenType::kTimestamp)
        return moves_time(generation, token) ? value_of(generation, token, FieldId::kValue) : 0;
    if (generation == Generation::kGfx1250 && token.type == TokenType::kValu)
        return kValuClocks[value_of(generation, token, FieldId::kWaveTime)];
    return token.delta;
}

bool is_filler_token(Generation generation, const Token& token) noexcept {
    switch (token.type) {
    case TokenType::kNop:
    case TokenType::kTime:
    case TokenType::kMediumTime:
        return true;
    case TokenType::kMisc: {
        const TokenRow& row = *find_row(generation, TokenType::kMisc);
        return with_delta(row, token.bits, 0) == TokenBits{row.pattern, 0};
    }
    case TokenType::kTimestamp:
        return moves_time(generation, token) &&
               value_of(generation, token, FieldId::kPacketsLost) == 0 &&
               value_of(generation, token, FieldId::kLastSample) == 0;
    default:
        return false;
    }
}

void TokenPacker::put(const TokenBits& bits, unsigned size_bits) {
    for (unsigned bit = 0; bit < size_bits; bit += 4, ++nibbles_) {
        const auto nibble = static_cast<std::byte>(
            extract(bits, {static_cast<std::uint8_t>(bit), static_cast<std::uint8_t>(bit + 3)}));
        if (nibbles_ % 2 == 0)
            bytes_.push_back(nibble);
        else
            bytes_.back() |= nibble << 4;
    }
}

void TokenPacker::pad_to(unsigned bits) {
    while (size_bits() % bits != 0)
        put({}, 4);
}

void TokenPacker::clear() {
    bytes_.clear();
    nibbles_ = 0;
}

RdnaWriter::RdnaWriter(Generation generation, TokenSink& sink, std::uint64_t origin)
    : generation_(generation), sink_(&sink), clock_(origin) {}

Result<void> RdnaWriter::header(std::uint64_t raw) {
    WAVETAP_TRY(const Header parsed, parse_header(raw));
    if (parsed.generation != generation_) {
        return Error{ErrorCode::kInvalidArgument,
                     std::string("the header is one of ") + generation_name(parsed.generation),
                     format_hex(raw), std::string("write for ") + generation_name(generation_)};
    }
    target_ = std::uint64_t{parsed.target_sa} << 8 | parsed.target_cu;
    add(TokenType::kHeader, {raw, 0});
    return send(clock_);
}

void RdnaWriter::add(TokenType type, TokenBits bits) {
    if (packer_.size_bits() == 0) batch_ext_ = after_ext_;
    const bool extension = type == TokenType::kExtension;
    // A byte with bit 0 set would pass for an extension of the token before.
    if (batch_ext_ && !extension && (bits.low & 1) != 0) packer_.put({}, 8);
    packer_.put(bits, extension ? 8U : row(type).bits);
    packer_.pad_to(8);
    batch_ext_ =
        extension || (type == TokenType::kWaveStartExt && generation_ >= Generation::kGfx12);
    ++batch_tokens_;
}

Result<void> RdnaWriter::send(std::uint64_t clock) {
    const bool taken = sink_->write(packer_.bytes());
    if (taken) {
        bytes_ += packer_.bytes().size();
        tokens_ += batch_tokens_;
        clock_ = clock;
        after_ext_ = batch_ext_;
        lost_ = false;
    } else {
        ++dropped_;
        lost_ = true;
    }
    packer_.clear();
    batch_tokens_ = 0;
    if (taken) return {};
    return Error{ErrorCode::kLimit, "the buffer is full; the token is dropped", "", ""};
}

std::uint64_t RdnaWriter::max_timestamp() const {
    return max_of(row(TokenType::kTimestamp).find(FieldId::kValue).bits);
}

// The whole gap goes into one token. Precondition: 0 < gap <= max_timestamp().
void RdnaWriter::add_gap(std::uint64_t gap) {
    const auto carry = [&](TokenType type) {
        const TokenRow& carrier = row(type);
        add(type, with_delta(carrier, {carrier.pattern, 0}, gap - carrier.delta_bias));
    };
    if (generation_ == Generation::kGfx1250) {
        if (gap <= kMaxTime1250) return carry(TokenType::kTime);
        if (gap <= kMaxMediumTime) return carry(TokenType::kMediumTime);
    } else {
        if (gap >= row(TokenType::kTime).delta_bias && gap <= kMaxTime)
            return carry(TokenType::kTime);
        if (gap <= kMaxMisc) return carry(TokenType::kMisc);
    }
    const TokenRow& stamp = row(TokenType::kTimestamp);
    TokenBits bits{stamp.pattern, 0};
    if (generation_ == Generation::kGfx10) insert(bits, stamp.find(FieldId::kType).bits, 1);
    insert(bits, stamp.find(FieldId::kValue).bits, gap);
    add(TokenType::kTimestamp, bits);
}

// The loss mark carries the gap where it can.
void RdnaWriter::add_loss(std::uint64_t& gap) {
    if (generation_ == Generation::kGfx10) {
        if (gap > kMaxMisc) {
            add_gap(gap);
            gap = 0;
        }
        const TokenRow& misc = row(TokenType::kMisc);
        TokenBits bits{misc.pattern, 0};
        insert(bits, misc.find(FieldId::kFlags).bits, 1U << kMiscLostOrSample);
        add(TokenType::kMisc, with_delta(misc, bits, gap));
    } else {
        const TokenRow& stamp = row(TokenType::kTimestamp);
        TokenBits bits{stamp.pattern, 0};
        insert(bits, stamp.find(FieldId::kPacketsLost).bits, 1);
        insert(bits, stamp.find(FieldId::kValue).bits, gap);
        add(TokenType::kTimestamp, bits);
    }
    gap = 0;
}

Result<void> RdnaWriter::pass_long_gap(std::uint64_t clock) {
    while (clock - clock_ > max_timestamp()) {
        add_gap(max_timestamp());
        WAVETAP_CHECK_OK(send(clock_ + max_timestamp()));
    }
    return {};
}

Result<void> RdnaWriter::beat_until(std::uint64_t clock) {
    if (heartbeat_.period == 0 || target_waves_ == 0) return {};
    const std::uint64_t period = heartbeat_.period;
    const std::uint64_t since = (clock_ + period - heartbeat_.phase % period) % period;
    for (std::uint64_t next = clock_ + (period - since); next <= clock; next += period) {
        if (next - clock_ < kShortestBeat) continue; // the token before is sign enough
        add_gap(next - clock_);
        if (heartbeat_.counter) {
            const TokenRow& stamp = row(TokenType::kTimestamp);
            TokenBits bits{stamp.pattern, 0};
            if (generation_ == Generation::kGfx10)
                insert(bits, stamp.find(FieldId::kType).bits, 2);
            else
                insert(bits, stamp.find(FieldId::kRealtime).bits, 1);
            insert(bits, stamp.find(FieldId::kValue).bits, heartbeat_.counter(next));
            add(TokenType::kTimestamp, bits);
        }
        WAVETAP_CHECK_OK(send(next));
    }
    return {};
}

Result<void> RdnaWriter::flush_ready() {
    if (!ready_) return {};
    const Ready ready = *ready_;
    ready_.reset();
    WAVETAP_TRY(const TokenBits bits,
                make_token(generation_, TokenType::kWaveReady, {{FieldId::kMask, ready.mask}}));
    return emit_now(ready.clock, row(TokenType::kWaveReady), bits);
}

Result<void> RdnaWriter::emit(std::uint64_t clock, const TokenRow& row, TokenBits bits) {
    if (ready_ && clock >= ready_->clock) WAVETAP_CHECK_OK(flush_ready());
    return emit_now(clock, row, bits);
}

Result<void> RdnaWriter::emit_now(std::uint64_t clock, const TokenRow& row, TokenBits bits) {
    clock = std::max(clock, clock_);
    WAVETAP_CHECK_OK(beat_until(clock));
    WAVETAP_CHECK_OK(pass_long_gap(clock));
    std::uint64_t gap = clock - clock_;
    if (lost_) add_loss(gap);
    const bool own = row.delta.width() != 0 && gap <= max_of(row.delta);
    if (!own && gap != 0) {
        add_gap(gap);
        gap = 0;
    }
    add(row.type, with_delta(row, bits, gap));
    WAVETAP_CHECK_OK(send(clock));
    watch(row, bits);
    return {};
}

// gfx1250: a VALU token moves the time itself, by one clock at least.
Result<void> RdnaWriter::emit_valu(std::uint64_t clock, TokenBits bits, unsigned place) {
    const auto first = static_cast<std::size_t>(
        std::find(kValuPlaces.begin(), kValuPlaces.end(), place) - kValuPlaces.begin());
    const std::uint64_t most =
        static_cast<std::uint64_t>(std::count(kValuPlaces.begin(), kValuPlaces.end(), place));
    WAVETAP_CHECK_OK(beat_until(clock));
    WAVETAP_CHECK_OK(pass_long_gap(clock));
    std::uint64_t gap = clock - clock_;
    if (gap == 0) {
        return Error{ErrorCode::kInvalidArgument,
                     "a short VALU token is at least a clock after the token before",
                     "clock " + std::to_string(clock), "use valu()"};
    }
    if (lost_ || gap > most) {
        std::uint64_t before = gap - 1;
        if (lost_) add_loss(before);
        if (before != 0) add_gap(before);
        gap = 1;
    }
    const BitRange wave_time = row(TokenType::kValu).find(FieldId::kWaveTime).bits;
    bits.low &= ~(max_of(wave_time) << wave_time.lo);
    insert(bits, wave_time, first + gap - 1);
    add(TokenType::kValu, bits);
    WAVETAP_CHECK_OK(send(clock));
    std::rotate(recent_.begin(), recent_.begin() + place, recent_.begin() + place + 1);
    return {};
}

void RdnaWriter::watch(const TokenRow& row, const TokenBits& bits) {
    const auto field = [&](FieldId id) { return extract(bits, row.find(id).bits); };
    const bool starts = row.type == TokenType::kWaveStart || row.type == TokenType::kWaveStartExt;
    if (starts || row.type == TokenType::kWaveEnd) {
        if ((field(FieldId::kSa) << 8 | field(FieldId::kCu)) != target_) return;
        if (starts)
            ++target_waves_;
        else if (target_waves_ > 0)
            --target_waves_;
    } else if (generation_ == Generation::kGfx1250 && row.type == TokenType::kInst) {
        const std::uint64_t op = field(FieldId::kOp);
        if (op < kFirstListedOp || op > kLastListedOp) return;
        const int slot = static_cast<int>(field(FieldId::kSlot));
        const auto found = std::find(recent_.begin(), recent_.end(), slot);
        const auto last = found == recent_.end() ? recent_.end() - 1 : found;
        std::rotate(recent_.begin(), last, last + 1);
        recent_[0] = slot;
    }
}

Result<void> RdnaWriter::put(std::uint64_t clock, TokenType type,
                             std::initializer_list<FieldValue> fields) {
    WAVETAP_TRY(const TokenBits bits, make_token(generation_, type, fields));
    Token token;
    token.type = type;
    token.bits = bits;
    return put(clock, token);
}

Result<void> RdnaWriter::put(std::uint64_t clock, const Token& token) {
    if (token.type == TokenType::kExtension) return put_extension(token.bits);
    const TokenRow* found = find_row(generation_, token.type);
    if (found == nullptr || is_filler_token(generation_, token)) {
        return Error{ErrorCode::kInvalidArgument,
                     std::string("not a token to write: ") + token_name(generation_, token.type),
                     generation_name(generation_), "the writer adds time and padding by itself"};
    }
    if (token.type == TokenType::kTimestamp && moves_time(generation_, token)) {
        if (value_of(generation_, token, FieldId::kPacketsLost) != 0) return packets_lost(clock);
        const BitRange value = found->find(FieldId::kValue).bits;
        TokenBits bits = token.bits;
        bits.low &= ~(max_of(value) << value.lo);
        return emit(clock, *found, bits);
    }
    if (generation_ == Generation::kGfx1250 && token.type == TokenType::kValu) {
        const std::uint64_t wave_time = token.field(found->find(FieldId::kWaveTime).bits);
        return emit_valu(std::max(clock, clock_), token.bits, kValuPlaces[wave_time]);
    }
    return emit(clock, *found, with_delta(*found, token.bits, 0));
}

Result<void> RdnaWriter::put_extension(const TokenBits& bits) {
    if (!after_ext_ || (bits.low & 1) == 0) {
        return Error{ErrorCode::kWrongState, "an extension byte is odd and follows a WSTART_EXT",
                     "byte " + std::to_string(bytes_), ""};
    }
    add(TokenType::kExtension, bits);
    return send(clock_);
}

Result<void> RdnaWriter::wave_start(std::uint64_t clock, const RdnaWave& wave, std::uint8_t count,
                                    RdnaQueue queue) {
    return put(clock, TokenType::kWaveStart,
               {{FieldId::kSa, wave.sa},
                {FieldId::kSimd, wave.simd},
                {FieldId::kCu, wave.wgp},
                {FieldId::kSlot, wave.slot},
                {FieldId::kPipe, queue.pipe},
                {FieldId::kMe, queue.me},
                {FieldId::kCount, count}});
}

Result<void> RdnaWriter::wave_end(std::uint64_t clock, const RdnaWave& wave) {
    return put(clock, TokenType::kWaveEnd,
               {{FieldId::kSa, wave.sa},
                {FieldId::kSimd, wave.simd},
                {FieldId::kCu, wave.wgp},
                {FieldId::kSlot, wave.slot}});
}

Result<void> RdnaWriter::inst(std::uint64_t clock, std::uint8_t slot, std::uint16_t op) {
    return put(clock, TokenType::kInst, {{FieldId::kSlot, slot}, {FieldId::kOp, op}});
}

Result<void> RdnaWriter::valu(std::uint64_t clock, std::uint8_t slot) {
    if (generation_ != Generation::kGfx1250)
        return put(clock, TokenType::kValu, {{FieldId::kSlot, slot}});
    const auto found = std::find(recent_.begin(), recent_.end(), int{slot});
    if (found == recent_.end() || clock <= clock_) return inst(clock, slot, kValuOp);
    return emit_valu(clock, {row(TokenType::kValu).pattern, 0},
                     static_cast<unsigned>(found - recent_.begin()));
}

Result<void> RdnaWriter::immediate(std::uint64_t clock, std::uint8_t slot) {
    return put(clock, TokenType::kImm1, {{FieldId::kSlot, slot}});
}

Result<void> RdnaWriter::immediates(std::uint64_t clock, std::uint16_t mask) {
    return put(clock, TokenType::kImmediate, {{FieldId::kMask, mask}});
}

Result<void> RdnaWriter::wave_ready(std::uint64_t clock, std::uint16_t mask) {
    if (generation_ >= Generation::kGfx12)
        return put(clock, TokenType::kWaveReady, {{FieldId::kMask, mask}});
    if (ready_ && ready_->clock != clock + 1) WAVETAP_CHECK_OK(flush_ready());
    ready_ = Ready{clock + 1, static_cast<std::uint16_t>((ready_ ? ready_->mask : 0U) | mask)};
    return {};
}

Result<void> RdnaWriter::new_pc(std::uint64_t clock, std::uint8_t slot, std::uint64_t pc) {
    return put(clock, TokenType::kNewPc, {{FieldId::kSlot, slot}, {FieldId::kPc, pc >> 2}});
}

Result<void> RdnaWriter::reg_cs(std::uint64_t clock, std::uint16_t address, std::uint32_t data,
                                RdnaQueue queue) {
    return put(clock, TokenType::kReg,
               {{FieldId::kPipe, queue.pipe},
                {FieldId::kMe, queue.me},
                {FieldId::kCsSpace, 1},
                {FieldId::kAddress, address},
                {FieldId::kData, data}});
}

Result<void> RdnaWriter::reg_write(std::uint64_t clock, std::uint16_t reg, std::uint32_t data,
                                   RdnaQueue queue) {
    return put(clock, TokenType::kReg,
               {{FieldId::kPipe, queue.pipe},
                {FieldId::kMe, queue.me},
                {FieldId::kAddress, reg},
                {FieldId::kData, data}});
}

Result<void> RdnaWriter::dispatch(std::uint64_t clock, std::uint32_t initiator, RdnaQueue queue) {
    return put(clock, TokenType::kRegInit,
               {{FieldId::kPipe, queue.pipe},
                {FieldId::kMe, queue.me},
                {FieldId::kType, 2},
                {FieldId::kData, initiator}});
}

Result<void> RdnaWriter::event(std::uint64_t clock, std::uint8_t event_id, RdnaQueue queue) {
    return put(
        clock, TokenType::kEvent,
        {{FieldId::kPipe, queue.pipe}, {FieldId::kMe, queue.me}, {FieldId::kEventId, event_id}});
}

Result<void> RdnaWriter::shader_data(std::uint64_t clock, const RdnaWave& wave, std::uint32_t data,
                                     bool immediate) {
    return put(clock, immediate ? TokenType::kShaderDataShort : TokenType::kShaderData,
               {{FieldId::kSa, wave.sa},
                {FieldId::kSimd, wave.simd},
                {FieldId::kCu, wave.wgp},
                {FieldId::kSlot, wave.slot},
                {FieldId::kData, data}});
}

Result<void> RdnaWriter::misc(std::uint64_t clock, std::uint8_t flags) {
    return put(clock, TokenType::kMisc, {{FieldId::kFlags, flags}});
}

Result<void> RdnaWriter::realtime(std::uint64_t clock, std::uint64_t counter) {
    if (generation_ == Generation::kGfx10)
        return put(clock, TokenType::kTimestamp, {{FieldId::kType, 2}, {FieldId::kValue, counter}});
    return put(clock, TokenType::kTimestamp, {{FieldId::kRealtime, 1}, {FieldId::kValue, counter}});
}

Result<void> RdnaWriter::packets_lost(std::uint64_t clock) {
    if (ready_) WAVETAP_CHECK_OK(flush_ready());
    clock = std::max(clock, clock_); // what was held back may be later
    WAVETAP_CHECK_OK(pass_long_gap(clock));
    std::uint64_t gap = clock - clock_;
    add_loss(gap);
    return send(clock);
}

Result<void> RdnaWriter::finish() {
    WAVETAP_CHECK_OK(flush_ready());
    const std::uint64_t over = bytes_ * 8 % kLineBits;
    if (over == 0) return {};
    batch_ext_ = false;
    packer_.put({}, 8);
    while ((bytes_ * 8 + packer_.size_bits()) % kLineBits != 0)
        packer_.put({}, 8);
    return send(clock_);
}

} // namespace wavetap::sqtt
