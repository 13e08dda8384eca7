// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/engine_base.hpp"
#include "decode/gfx9_waves.hpp"
#include "sqtt/gfx9.hpp"

#include <algorithm>

namespace wavetap::decode {
namespace {

using sqtt::FieldId;
using sqtt::Gfx9Misc;
using sqtt::Token;
using sqtt::TokenType;

template <TokenType kToken, FieldId kField> std::uint32_t get(const Token& token) {
    constexpr sqtt::BitRange kBits = sqtt::bits_of(sqtt::kGfx9Rows, kToken, kField);
    static_assert(kBits.width() <= 32);
    return static_cast<std::uint32_t>(sqtt::extract(token.bits, kBits));
}

class Gfx9Engine final : public EngineBase<sqtt::Generation::kGfx9, Gfx9Engine> {
  public:
    static constexpr std::uint64_t kUnit = Walk::kUnit;
    /// How far behind a reset of the clock its timestamp is looked for; real ones come within four
    /// tokens.
    static constexpr std::size_t kTimestampBytes = 64 * 1024;
    static constexpr std::size_t kLookAheadBytes =
        kTimestampBytes + sqtt::TokenColumns::kMarginBytes;

    explicit Gfx9Engine(const EngineSetup& setup)
        : EngineBase(setup, true), waves_(finisher_, diagnostics_) {
        waves_.set_issue_phase(setup.header.issue_phase);
    }

    std::uint64_t clocks_of(const Token& token) const { return kUnit * token.delta; }
    /// Starts, ends and user data have their place at the same bits.
    WaveWords place_of(const Token& token) const {
        constexpr auto kToken = TokenType::kWaveEnd;
        const std::uint32_t sa = get<kToken, FieldId::kSa>(token);
        const std::uint32_t cu = get<kToken, FieldId::kCu>(token);
        const std::uint32_t simd = get<kToken, FieldId::kSimd>(token);
        return WaveWords::place(sa, cu, simd, get<kToken, FieldId::kSlot>(token),
                                on_target(sa, cu, simd));
    }
    void take_occupancy(const Token& token, StreamPoint at, WaveWords where) {
        if (token.type == TokenType::kWaveStart)
            wave_start(token, at, where);
        else
            wave_end(at, where);
    }
    void take_instruction(const Token& token, StreamPoint at, bool last_of_clock);
    void take_rest(const Token& token, StreamPoint at);
    void finish_waves(StreamPoint end) {
        waves_.finish(end);
        totals_.instruction_tokens = waves_.totals().instruction_tokens;
        totals_.tokens_without_wave = waves_.totals().tokens_without_wave;
        totals_.issue_phase = waves_.issue_phase();
    }

  private:
    void time_reset(const Token& token);
    void misc(const Token& token, StreamPoint at);
    void reg(const Token& token, StreamPoint at);
    template <TokenType kToken> void reg_cs(const Token& token, StreamPoint at);
    void wave_start(const Token& token, StreamPoint at, WaveWords where);
    void wave_end(StreamPoint at, WaveWords where);
    void perf(const Token& token, StreamPoint at);
    WaveHead target(unsigned simd, unsigned slot, std::uint64_t time);
    bool on_target(std::uint32_t sa, std::uint32_t cu, std::uint32_t simd) const {
        return sa == 0 && cu == setup_.header.target_cu &&
               (setup_.header.simd_mask >> simd & 1) != 0;
    }

    Gfx9Waves waves_;
    std::int64_t clock_base_ = 0; ///< of the absolute counter; negative if it was just reset
    std::uint64_t claimed_ = ~std::uint64_t{0}; ///< the timestamp that a reset has used
    std::uint64_t last_perf_ = 0;
};

// The counter of the deltas ran full; the absolute counter follows within a few tokens and counts
// from here on. The search ends at the next reset, so all searches together are linear.
void Gfx9Engine::time_reset(const Token& token) {
    constexpr std::uint64_t kMiscBits = 16;
    const std::uint64_t begin = token.offset_bits - origin_bits_ + kMiscBits;
    const std::size_t end = std::min<std::uint64_t>(bytes_.size(), begin / 8 + kTimestampBytes);
    sqtt::TokenReader ahead(sqtt::Generation::kGfx9, bytes_.first(end), begin);
    for (Token next; ahead.next(next);) {
        if (next.type == TokenType::kMisc && get<TokenType::kMisc, FieldId::kType>(next) ==
                                                 static_cast<std::uint32_t>(Gfx9Misc::kTimeReset))
            break;
        if (next.type != TokenType::kTimestamp) continue;
        claimed_ = next.offset_bits + origin_bits_;
        const auto value = static_cast<std::int64_t>(next.bits.low >> 16);
        if (!totals_.clock_base) {
            clock_base_ = value - static_cast<std::int64_t>(time_) + 4;
            totals_.clock_base = static_cast<std::uint64_t>(clock_base_);
        }
        if (value <= clock_base_) {
            diagnostics_.add(Fault::kTimeBackwards, claimed_ / 8, time_);
            return;
        }
        const std::uint64_t absolute =
            static_cast<std::uint64_t>(value - clock_base_) & ~std::uint64_t{3};
        if (absolute + 4 < time_) diagnostics_.add(Fault::kTimeBackwards, claimed_ / 8, time_);
        move_clock(absolute - time_);
        return;
    }
    diagnostics_.add(Fault::kResetWithoutTimestamp, token.offset_bits / 8, time_);
}

void Gfx9Engine::misc(const Token& token, StreamPoint at) {
    switch (static_cast<Gfx9Misc>(get<TokenType::kMisc, FieldId::kType>(token))) {
    case Gfx9Misc::kTime:
        break;
    case Gfx9Misc::kTimeReset:
        time_reset(token);
        break;
    case Gfx9Misc::kPacketLost:
        event(at, EventKind::kPacketsLost);
        diagnostics_.add(Fault::kPacketsLost, at.offset_bytes, at.time);
        occupancy_.packets_lost();
        waves_.packets_lost(at);
        break;
    case Gfx9Misc::kSurfaceSync:
        event(at, EventKind::kSurfaceSync);
        break;
    case Gfx9Misc::kStallBegin:
        event(at, EventKind::kStallBegin);
        break;
    case Gfx9Misc::kStallEnd:
        event(at, EventKind::kStallEnd);
        break;
    case Gfx9Misc::kSaveContext:
        event(at, EventKind::kSaveContext);
        waves_.save_context();
        break;
    case Gfx9Misc::kShootDown:
        event(at, EventKind::kShootDown);
        break;
    }
}

QueueKey queue_of(std::uint32_t me_raw, std::uint32_t pipe) {
    const auto me = static_cast<std::uint8_t>((me_raw + 1) & 1);
    return {me, static_cast<std::uint8_t>(pipe), static_cast<std::uint8_t>(me * 4 + pipe)};
}

void Gfx9Engine::reg(const Token& token, StreamPoint at) {
    constexpr auto kToken = TokenType::kReg;
    if (get<kToken, FieldId::kDropped>(token) != 0)
        diagnostics_.add(Fault::kRegistersDropped, at.offset_bytes, at.time);
    if (get<kToken, FieldId::kOp>(token) == 0) return;
    registers_.write_other(
        at, queue_of(get<kToken, FieldId::kMe>(token), get<kToken, FieldId::kPipe>(token)),
        get<kToken, FieldId::kAddress>(token), get<kToken, FieldId::kData>(token));
}

template <TokenType kToken> void Gfx9Engine::reg_cs(const Token& token, StreamPoint at) {
    registers_.write_compute(
        at, queue_of(get<kToken, FieldId::kMe>(token), get<kToken, FieldId::kPipe>(token)),
        get<kToken, FieldId::kAddress>(token), get<kToken, FieldId::kData>(token));
}

inline void Gfx9Engine::wave_start(const Token& token, StreamPoint at, WaveWords where) {
    constexpr auto kToken = TokenType::kWaveStart;
    const WaveWords words = where.from(
        get<kToken, FieldId::kMe>(token), get<kToken, FieldId::kPipe>(token),
        get<kToken, FieldId::kCount>(token), get<kToken, FieldId::kThreadGroup>(token), 0);
    if (words.slot() >= sqtt::kGfx9SlotsPerIssue)
        diagnostics_.add(Fault::kSlotOutOfRange, at.offset_bytes, at.time);
    const PcRef entry =
        setup_.code->attribute(registers_.entry_address((words.me() & 1U) * 4U + words.pipe()));
    if (words.count() > 64) {
        if (words.on_target())
            waves_.switch_context(at, words.simd(), words.slot());
        else if (occupancy_.taken(words))
            occupancy_.set_entry(words, entry);
        else
            occupancy_.start(at, words, entry, true);
        return;
    }
    occupancy_.start(at, words, entry, true);
    if (words.on_target()) waves_.start(at, occupancy_.head(words));
}

inline void Gfx9Engine::wave_end(StreamPoint at, WaveWords where) {
    if (where.on_target()) {
        if (!waves_.live(where.simd(), where.slot())) {
            // The wave ran before the trace began and issued nothing since.
            if (!occupancy_.taken(where)) occupancy_.end_without_start(at, where);
            return;
        }
        if (!waves_.end(at, where.simd(), where.slot())) return; // it is in a trap and goes on
        occupancy_.end(at, where);
        return;
    }
    if (!occupancy_.end(at, where)) occupancy_.end_without_start(at, where);
}

WaveHead Gfx9Engine::target(unsigned simd, unsigned slot, std::uint64_t time) {
    WaveHead head;
    head.cu = setup_.header.target_cu;
    head.simd = static_cast<std::uint8_t>(simd);
    head.slot = static_cast<std::uint8_t>(slot);
    head.on_target = true;
    head.start = time;
    head.start_seen = false;
    return head;
}

void Gfx9Engine::perf(const Token& token, StreamPoint at) {
    constexpr auto kToken = TokenType::kPerf;
    if (get<kToken, FieldId::kSa>(token) != 0) return;
    PerfRecord record;
    record.cu = static_cast<std::uint8_t>(get<kToken, FieldId::kCu>(token));
    const std::uint64_t lag = 4ULL * record.cu;
    record.time = at.time > lag ? at.time - lag : 0;
    record.bank = static_cast<std::uint8_t>(get<kToken, FieldId::kBank>(token));
    record.counters[0] = static_cast<std::uint16_t>(get<kToken, FieldId::kCounter0>(token));
    record.counters[1] = static_cast<std::uint16_t>(get<kToken, FieldId::kCounter1>(token));
    record.counters[2] = static_cast<std::uint16_t>(get<kToken, FieldId::kCounter2>(token));
    record.counters[3] = static_cast<std::uint16_t>(get<kToken, FieldId::kCounter3>(token));
    const std::uint64_t interval = registers_.perf_interval();
    if (interval != 0 && last_perf_ != 0 && record.time > last_perf_ + interval) {
        PerfRecord zero;
        zero.time = last_perf_ + interval;
        zero.cu = record.cu;
        zero.bank = record.bank;
        sink_.perf(zero);
    }
    last_perf_ = record.time;
    sink_.perf(record);
}

inline void Gfx9Engine::take_instruction(const Token& token, StreamPoint at,
                                         bool /*last_of_clock*/) {
    if (token.type == TokenType::kIssue) {
        constexpr auto kToken = TokenType::kIssue;
        waves_.issue(at, get<kToken, FieldId::kSimd>(token), get<kToken, FieldId::kStates>(token));
        return;
    }
    constexpr auto kToken = TokenType::kInst;
    const unsigned simd = get<kToken, FieldId::kSimd>(token);
    const unsigned slot = get<kToken, FieldId::kSlot>(token);
    const unsigned type = get<kToken, FieldId::kType>(token);
    if (waves_.live(simd, slot)) return waves_.inst(at, simd, slot, type);
    WaveHead head = target(simd, slot, at.time);
    head.ordinal = at.offset_bytes;
    waves_.inst_without_wave(at, head);
}

void Gfx9Engine::take_rest(const Token& token, StreamPoint at) {
    switch (token.type) {
    case TokenType::kMisc:
        misc(token, at);
        break;
    case TokenType::kTimestamp:
        // It was applied at the reset, and moves the clock no further.
        if (token.offset_bits == claimed_) {
            constexpr auto kDelta = sqtt::row_of(sqtt::kGfx9Rows, TokenType::kTimestamp).delta;
            move_clock(0 - kUnit * sqtt::extract(token.bits, kDelta));
        }
        break;
    case TokenType::kReg:
        reg(token, at);
        break;
    case TokenType::kRegCs:
        reg_cs<TokenType::kRegCs>(token, at);
        break;
    case TokenType::kRegCsPriv:
        reg_cs<TokenType::kRegCsPriv>(token, at);
        break;
    case TokenType::kEvent:
    case TokenType::kEventCs:
    case TokenType::kEventGfx1:
        registers_.event(at, {}, get<TokenType::kEventCs, FieldId::kEventId>(token));
        break;
    case TokenType::kNewPc: {
        constexpr auto kToken = TokenType::kNewPc;
        constexpr auto kPc = sqtt::bits_of(sqtt::kGfx9Rows, kToken, FieldId::kPc);
        if (get<kToken, FieldId::kError>(token) != 0)
            diagnostics_.add(Fault::kErrorPc, at.offset_bytes, at.time);
        const std::uint64_t pc = sqtt::extract(token.bits, kPc) << 2;
        waves_.inst_pc(get<kToken, FieldId::kSimd>(token), get<kToken, FieldId::kSlot>(token),
                       setup_.code->attribute(pc));
        break;
    }
    case TokenType::kShaderData: {
        WaveHead head;
        head.set(place_of(token));
        sink_.shader_data({at.time, get<TokenType::kShaderData, FieldId::kData>(token), head.sa,
                           head.cu, head.simd, head.slot, false, false});
        break;
    }
    case TokenType::kPerf:
        perf(token, at);
        break;
    default:
        break; // WAVE_ALLOC; a timestamp that no reset claimed
    }
}

} // namespace

std::unique_ptr<Engine> make_gfx9_engine(const EngineSetup& setup) {
    return std::make_unique<Gfx9Engine>(setup);
}

} // namespace wavetap::decode
