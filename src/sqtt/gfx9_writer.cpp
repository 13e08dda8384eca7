// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "sqtt/gfx9_writer.hpp"

#include <algorithm>
#include <span>

namespace wavetap::sqtt {
namespace {

using enum FieldId;

consteval BitRange at(TokenType type, FieldId id) {
    return bits_of(kGfx9Rows, type, id);
}

constexpr TokenBits token_of(TokenType type) {
    for (const TokenRow& row : kGfx9Rows) {
        if (row.type == type) return {row.pattern, 0};
    }
    return {};
}

constexpr unsigned size_of(TokenType type) {
    for (const TokenRow& row : kGfx9Rows) {
        if (row.type == type) return row.bits;
    }
    return 0;
}

TokenBits misc_token(Gfx9Misc type, unsigned delta, std::uint8_t sh) {
    TokenBits bits = token_of(TokenType::kMisc);
    insert(bits, row_of(kGfx9Rows, TokenType::kMisc).delta, delta);
    insert(bits, at(TokenType::kMisc, kSa), sh);
    insert(bits, at(TokenType::kMisc, kType), static_cast<std::uint64_t>(type));
    return bits;
}

// Register tokens carry the micro engine plus one.
std::uint64_t raw_me(std::uint8_t me) {
    return (me + 1U) & 3U;
}

} // namespace

struct Gfx9Writer::Batch {
    std::array<std::byte, kMaxTokenWrite> bytes{};
    std::size_t size = 0;
    unsigned tokens = 0;

    void add(const TokenBits& bits, unsigned size_bits) {
        for (unsigned bit = 0; bit < size_bits; bit += 8) {
            bytes[size++] = static_cast<std::byte>(bits.low >> bit & 0xFF);
        }
        ++tokens;
    }
    void add_absolute(std::uint64_t clock) {
        add(misc_token(Gfx9Misc::kTimeReset, kGfx9MaxDelta, 0), size_of(TokenType::kMisc));
        TokenBits stamp = token_of(TokenType::kTimestamp);
        insert(stamp, at(TokenType::kTimestamp, kValue), clock);
        add(stamp, size_of(TokenType::kTimestamp));
    }
};

bool Gfx9Writer::send(const Batch& batch, std::uint64_t clock) {
    if (!sink_->write(std::span(batch.bytes).first(batch.size))) {
        ++dropped_;
        lost_ = true;
        return false;
    }
    tokens_ += batch.tokens;
    clock_ = clock;
    begun_ = true;
    lost_ = false;
    return true;
}

bool Gfx9Writer::begin(std::uint64_t clock) {
    clock &= ~std::uint64_t{kGfx9ClocksPerUnit - 1};
    if (begun_) clock = std::max(clock, clock_);
    Batch batch;
    batch.add_absolute(clock);
    if (lost_) batch.add(misc_token(Gfx9Misc::kPacketLost, 0, 0), size_of(TokenType::kMisc));
    return send(batch, clock);
}

void Gfx9Writer::add_time(Batch& batch, std::uint64_t clock, unsigned& own_delta) const {
    const std::uint64_t units = (clock - clock_) / kGfx9ClocksPerUnit;
    own_delta = 0;
    if (!begun_ || units >= kGfx9MaxDelta) {
        batch.add_absolute(clock);
    } else if (units > 1) {
        batch.add(misc_token(Gfx9Misc::kTime, static_cast<unsigned>(units), 0),
                  size_of(TokenType::kMisc));
    } else {
        own_delta = static_cast<unsigned>(units);
    }
}

bool Gfx9Writer::emit(std::uint64_t clock, TokenBits bits, unsigned size_bits) {
    clock &= ~std::uint64_t{kGfx9ClocksPerUnit - 1};
    if (begun_) clock = std::max(clock, clock_);
    Batch batch;
    unsigned own_delta = 0;
    add_time(batch, clock, own_delta);
    if (lost_) {
        batch.add(misc_token(Gfx9Misc::kPacketLost, own_delta, 0), size_of(TokenType::kMisc));
        own_delta = 0;
    }
    insert(bits, {4, 4}, own_delta); // every token has its delta here; MISC's is longer
    batch.add(bits, size_bits);
    return send(batch, clock);
}

bool Gfx9Writer::put(std::uint64_t clock, const Token& token) {
    TokenBits bits = token.bits;
    const BitRange delta = find_row(Generation::kGfx9, token.type)->delta;
    bits.low &= ~(((std::uint64_t{1} << delta.width()) - 1) << delta.lo);
    return emit(clock, bits, token.size_bits);
}

bool Gfx9Writer::wave_start(std::uint64_t clock, const Gfx9WaveStart& start) {
    constexpr auto kType = TokenType::kWaveStart;
    TokenBits bits = token_of(kType);
    insert(bits, at(kType, kSa), start.wave.sh);
    insert(bits, at(kType, kCu), start.wave.cu);
    insert(bits, at(kType, kSlot), start.wave.slot);
    insert(bits, at(kType, kSimd), start.wave.simd);
    insert(bits, at(kType, kPipe), start.pipe);
    insert(bits, at(kType, kMe), start.me);
    insert(bits, at(kType, kGrouped), start.grouped ? 1 : 0);
    insert(bits, at(kType, kCount), start.count);
    insert(bits, at(kType, kThreadGroup), start.thread_group);
    return emit(clock, bits, size_of(kType));
}

bool Gfx9Writer::wave_end(std::uint64_t clock, const Gfx9Wave& wave) {
    constexpr auto kType = TokenType::kWaveEnd;
    TokenBits bits = token_of(kType);
    insert(bits, at(kType, kSa), wave.sh);
    insert(bits, at(kType, kCu), wave.cu);
    insert(bits, at(kType, kSlot), wave.slot);
    insert(bits, at(kType, kSimd), wave.simd);
    return emit(clock, bits, size_of(kType));
}

bool Gfx9Writer::inst(std::uint64_t clock, std::uint8_t simd, std::uint8_t slot, Gfx9Inst type) {
    constexpr auto kToken = TokenType::kInst;
    TokenBits bits = token_of(kToken);
    insert(bits, at(kToken, kSlot), slot);
    insert(bits, at(kToken, kSimd), simd);
    insert(bits, at(kToken, kType), static_cast<std::uint64_t>(type));
    return emit(clock, bits, size_of(kToken));
}

bool Gfx9Writer::inst_pc(std::uint64_t clock, std::uint8_t simd, std::uint8_t slot,
                         std::uint64_t pc) {
    constexpr auto kToken = TokenType::kNewPc;
    TokenBits bits = token_of(kToken);
    insert(bits, at(kToken, kSlot), slot);
    insert(bits, at(kToken, kSimd), simd);
    insert(bits, at(kToken, kPc), pc >> 2);
    return emit(clock, bits, size_of(kToken));
}

bool Gfx9Writer::issue(std::uint64_t clock, std::uint8_t simd,
                       const std::array<Gfx9Issue, kGfx9SlotsPerIssue>& states) {
    constexpr auto kToken = TokenType::kIssue;
    std::uint64_t packed = 0;
    for (std::size_t i = 0; i < states.size(); ++i) {
        packed |= static_cast<std::uint64_t>(states[i]) << (2 * i);
    }
    TokenBits bits = token_of(kToken);
    insert(bits, at(kToken, kSimd), simd);
    insert(bits, at(kToken, kStates), packed);
    return emit(clock, bits, size_of(kToken));
}

bool Gfx9Writer::reg_write(std::uint64_t clock, std::uint16_t reg, std::uint32_t data,
                           std::uint8_t me, std::uint8_t pipe, Gfx9RegType type) {
    constexpr auto kToken = TokenType::kReg;
    TokenBits bits = token_of(kToken);
    insert(bits, at(kToken, kPipe), pipe);
    insert(bits, at(kToken, kMe), raw_me(me));
    insert(bits, at(kToken, kType), static_cast<std::uint64_t>(type));
    insert(bits, at(kToken, kOp), 1);
    insert(bits, at(kToken, kAddress), reg);
    insert(bits, at(kToken, kData), data);
    return emit(clock, bits, size_of(kToken));
}

bool Gfx9Writer::reg_cs(std::uint64_t clock, std::uint8_t address, std::uint32_t data,
                        std::uint8_t me, std::uint8_t pipe) {
    constexpr auto kToken = TokenType::kRegCs;
    TokenBits bits = token_of(kToken);
    insert(bits, at(kToken, kPipe), pipe);
    insert(bits, at(kToken, kMe), raw_me(me));
    insert(bits, at(kToken, kAddress), address);
    insert(bits, at(kToken, kData), data);
    return emit(clock, bits, size_of(kToken));
}

bool Gfx9Writer::reg_cs_event(std::uint64_t clock, std::uint8_t address, std::uint32_t data,
                              std::uint8_t me, std::uint8_t pipe) {
    constexpr auto kToken = TokenType::kRegCsPriv;
    TokenBits bits = token_of(kToken);
    insert(bits, at(kToken, kPipe), pipe);
    insert(bits, at(kToken, kMe), raw_me(me));
    insert(bits, at(kToken, kAddress), address);
    insert(bits, at(kToken, kData), data);
    return emit(clock, bits, size_of(kToken));
}

bool Gfx9Writer::userdata(std::uint64_t clock, const Gfx9Wave& wave, std::uint32_t data) {
    constexpr auto kToken = TokenType::kShaderData;
    TokenBits bits = token_of(kToken);
    insert(bits, at(kToken, kSa), wave.sh);
    insert(bits, at(kToken, kCu), wave.cu);
    insert(bits, at(kToken, kSlot), wave.slot);
    insert(bits, at(kToken, kSimd), wave.simd);
    insert(bits, at(kToken, kData), data);
    return emit(clock, bits, size_of(kToken));
}

bool Gfx9Writer::misc(std::uint64_t clock, Gfx9Misc type, std::uint8_t sh) {
    return emit(clock, misc_token(type, 0, sh), size_of(TokenType::kMisc));
}

bool Gfx9Writer::event(std::uint64_t clock, std::uint8_t event_id, std::uint8_t stage,
                       std::uint8_t sh) {
    constexpr auto kToken = TokenType::kEventCs;
    TokenBits bits = token_of(kToken);
    insert(bits, at(kToken, kSa), sh);
    insert(bits, at(kToken, kStage), stage);
    insert(bits, at(kToken, kEventId), event_id);
    return emit(clock, bits, size_of(kToken));
}

bool Gfx9Writer::perf(std::uint64_t clock, std::uint8_t cu, std::uint8_t bank,
                      const std::array<std::uint16_t, 4>& counters, std::uint8_t sh) {
    constexpr auto kToken = TokenType::kPerf;
    TokenBits bits = token_of(kToken);
    insert(bits, at(kToken, kSa), sh);
    insert(bits, at(kToken, kCu), cu);
    insert(bits, at(kToken, kBank), bank);
    insert(bits, at(kToken, kCounter0), counters[0]);
    insert(bits, at(kToken, kCounter1), counters[1]);
    insert(bits, at(kToken, kCounter2), counters[2]);
    insert(bits, at(kToken, kCounter3), counters[3]);
    return emit(clock, bits, size_of(kToken));
}

} // namespace wavetap::sqtt
