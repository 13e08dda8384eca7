// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/engine.hpp"
#include "decode/gfx9_waves.hpp"
#include "decode/occupancy.hpp"
#include "decode/register_state.hpp"
#include "sqtt/fast_reader.hpp"
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

class Gfx9Engine {
  public:
    explicit Gfx9Engine(const EngineSetup& setup)
        : setup_(setup), sink_(*setup.sink), diagnostics_(*setup.diagnostics),
          stitcher_(setup.header, *setup.code, *setup.diagnostics),
          registers_(sqtt::Generation::kGfx9, *setup.code, *setup.sink),
          occupancy_(*setup.code, *setup.sink, *setup.diagnostics, true),
          waves_(setup.want_instructions ? &stitcher_ : nullptr, *setup.sink, *setup.diagnostics) {
        waves_.set_issue_phase(setup.header.issue_phase);
    }

    BlobTotals run();

  private:
    void token(const Token& token, StreamPoint at);
    bool time_reset(const Token& token);
    void misc(const Token& token, StreamPoint at);
    void reg(const Token& token, StreamPoint at);
    template <TokenType kToken> void reg_cs(const Token& token, StreamPoint at);
    void wave_start(const Token& token, StreamPoint at);
    void wave_end(const Token& token, StreamPoint at);
    void perf(const Token& token, StreamPoint at);
    template <TokenType kToken>
    WaveHead place(const Token& token, WaveHead::Queue queue = {}) const;
    WaveHead target(unsigned simd, unsigned slot, std::uint64_t time);
    bool on_target(std::uint32_t sa, std::uint32_t cu, std::uint32_t simd) const {
        return sa == 0 && cu == setup_.header.target_cu &&
               (setup_.header.simd_mask >> simd & 1) != 0;
    }
    void event(StreamPoint at, EventKind kind) {
        sink_.event({at.time, kind, 0, 0, false, 0, at.offset_bytes});
    }

    const EngineSetup& setup_;
    RecordSink& sink_;
    Diagnostics& diagnostics_;
    Stitcher stitcher_;
    RegisterState registers_;
    Occupancy occupancy_;
    Gfx9Waves waves_;
    BlobTotals totals_;
    std::uint64_t time_ = 0;
    std::int64_t base_ = 0; ///< of the absolute counter; negative if the counter was just reset
    std::uint64_t claimed_ = ~std::uint64_t{0}; ///< the timestamp that a reset has used
    std::uint64_t last_perf_ = 0;
};

BlobTotals Gfx9Engine::run() {
    using Reader = sqtt::FastReader<sqtt::Generation::kGfx9>;
    Reader reader(sqtt::lookup_table(sqtt::Generation::kGfx9), setup_.bytes, setup_.start_bits);
    bool first = true;
    reader.run([&](const Token& token) {
        ++totals_.tokens[static_cast<std::size_t>(token.type)];
        if (token.offset_bits == claimed_) return;
        time_ += sqtt::kGfx9ClocksPerUnit * std::uint64_t{token.delta};
        if (token.type == TokenType::kMisc) {
            const auto type = static_cast<Gfx9Misc>(get<TokenType::kMisc, FieldId::kType>(token));
            if (type == Gfx9Misc::kTimeReset) time_reset(token);
            if (first) totals_.first_time = time_;
            first = false;
            if (type > Gfx9Misc::kTimeReset) misc(token, {time_, token.offset_bits / 8});
            return;
        }
        if (first) totals_.first_time = time_;
        first = false;
        this->token(token, {time_, token.offset_bits / 8});
    });
    totals_.tokens[static_cast<std::size_t>(TokenType::kMisc)] += reader.padding();
    const StreamPoint end{time_, reader.offset_bits() / 8};
    if (reader.truncated()) {
        totals_.cut_tokens = 1;
        diagnostics_.add(Fault::kCutToken, end.offset_bytes, time_);
    }
    waves_.finish(end);
    occupancy_.finish(end);
    totals_.last_time = time_;
    totals_.instructions = waves_.totals().instructions;
    totals_.instructions_with_pc = waves_.totals().with_pc;
    totals_.instruction_tokens = waves_.totals().instruction_tokens;
    totals_.tokens_without_wave = waves_.totals().tokens_without_wave;
    totals_.wave_end_without_start = occupancy_.ends_without_start();
    totals_.counter_frequency_khz = registers_.counter_frequency_khz();
    totals_.issue_phase = waves_.issue_phase();
    return totals_;
}

// The counter of the deltas ran full; the absolute counter follows within a few tokens and counts
// from here on. The search ends at the next reset, so all searches together are linear.
bool Gfx9Engine::time_reset(const Token& token) {
    sqtt::TokenReader ahead(sqtt::Generation::kGfx9, setup_.bytes,
                            token.offset_bits + token.size_bits);
    for (Token next; ahead.next(next);) {
        if (next.type == TokenType::kMisc && get<TokenType::kMisc, FieldId::kType>(next) ==
                                                 static_cast<std::uint32_t>(Gfx9Misc::kTimeReset))
            break;
        if (next.type != TokenType::kTimestamp) continue;
        claimed_ = next.offset_bits;
        const auto value = static_cast<std::int64_t>(next.bits.low >> 16);
        if (!totals_.clock_base) {
            base_ = value - static_cast<std::int64_t>(time_) + 4;
            totals_.clock_base = static_cast<std::uint64_t>(base_);
        }
        if (value <= base_) {
            diagnostics_.add(Fault::kTimeBackwards, next.offset_bits / 8, time_);
            return true;
        }
        const std::uint64_t absolute =
            static_cast<std::uint64_t>(value - base_) & ~std::uint64_t{3};
        if (absolute + 4 < time_)
            diagnostics_.add(Fault::kTimeBackwards, next.offset_bits / 8, time_);
        time_ = absolute;
        return true;
    }
    diagnostics_.add(Fault::kResetWithoutTimestamp, token.offset_bits / 8, time_);
    return false;
}

void Gfx9Engine::misc(const Token& token, StreamPoint at) {
    switch (static_cast<Gfx9Misc>(get<TokenType::kMisc, FieldId::kType>(token))) {
    case Gfx9Misc::kTime:
    case Gfx9Misc::kTimeReset:
        break;
    case Gfx9Misc::kPacketLost:
        event(at, EventKind::kPacketsLost);
        diagnostics_.add(Fault::kPacketsLost, at.offset_bytes, at.time);
        occupancy_.packets_lost();
        waves_.packets_lost();
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

template <TokenType kToken>
WaveHead Gfx9Engine::place(const Token& token, WaveHead::Queue queue) const {
    const std::uint32_t sa = get<kToken, FieldId::kSa>(token);
    const std::uint32_t cu = get<kToken, FieldId::kCu>(token);
    const std::uint32_t simd = get<kToken, FieldId::kSimd>(token);
    WaveHead head;
    head.place(sa, cu, simd, get<kToken, FieldId::kSlot>(token), on_target(sa, cu, simd), queue);
    return head;
}

void Gfx9Engine::wave_start(const Token& token, StreamPoint at) {
    constexpr auto kToken = TokenType::kWaveStart;
    WaveHead::Queue from;
    from.me = get<kToken, FieldId::kMe>(token);
    from.pipe = get<kToken, FieldId::kPipe>(token);
    from.count = get<kToken, FieldId::kCount>(token);
    from.workgroup = get<kToken, FieldId::kThreadGroup>(token);
    WaveHead head = place<kToken>(token, from);
    if (head.slot >= sqtt::kGfx9SlotsPerIssue)
        diagnostics_.add(Fault::kSlotOutOfRange, at.offset_bytes, at.time);
    const std::uint64_t entry = registers_.entry_address((head.me & 1U) * 4U + head.pipe);
    if (head.count > 64) {
        if (head.on_target)
            waves_.switch_context(at, head.simd, head.slot);
        else if (occupancy_.find(head) != nullptr)
            occupancy_.set_entry(head, entry);
        else
            occupancy_.start(at, head, entry, true);
        return;
    }
    occupancy_.start(at, head, entry, true);
    if (head.on_target) waves_.start(at, head);
}

void Gfx9Engine::wave_end(const Token& token, StreamPoint at) {
    const WaveHead head = place<TokenType::kWaveEnd>(token);
    if (head.on_target) {
        if (!waves_.live(head.simd, head.slot)) {
            // The wave ran before the trace began and issued nothing since.
            if (occupancy_.find(head) == nullptr) occupancy_.end_without_start(at, head);
            return;
        }
        if (!waves_.end(at, head.simd, head.slot)) return; // it is in a trap and goes on
        occupancy_.end(at, head);
        return;
    }
    if (!occupancy_.end(at, head)) occupancy_.end_without_start(at, head);
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

void Gfx9Engine::token(const Token& token, StreamPoint at) {
    switch (token.type) {
    case TokenType::kReg:
        reg(token, at);
        break;
    case TokenType::kRegCs:
        reg_cs<TokenType::kRegCs>(token, at);
        break;
    case TokenType::kRegCsPriv:
        reg_cs<TokenType::kRegCsPriv>(token, at);
        break;
    case TokenType::kWaveStart:
        wave_start(token, at);
        break;
    case TokenType::kWaveEnd:
        wave_end(token, at);
        break;
    case TokenType::kEvent:
    case TokenType::kEventCs:
    case TokenType::kEventGfx1:
        registers_.event(at, {}, get<TokenType::kEventCs, FieldId::kEventId>(token));
        break;
    case TokenType::kInst: {
        constexpr auto kToken = TokenType::kInst;
        const unsigned simd = get<kToken, FieldId::kSimd>(token);
        const unsigned slot = get<kToken, FieldId::kSlot>(token);
        WaveHead head = target(simd, slot, at.time);
        if (!waves_.live(simd, slot)) head.ordinal = occupancy_.next_ordinal();
        waves_.inst(at, head, get<kToken, FieldId::kType>(token));
        break;
    }
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
    case TokenType::kIssue: {
        constexpr auto kToken = TokenType::kIssue;
        waves_.issue(at, get<kToken, FieldId::kSimd>(token), get<kToken, FieldId::kStates>(token));
        break;
    }
    case TokenType::kShaderData: {
        const WaveHead head = place<TokenType::kShaderData>(token);
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

BlobTotals decode_gfx9(const EngineSetup& setup) {
    return Gfx9Engine(setup).run();
}

} // namespace wavetap::decode
