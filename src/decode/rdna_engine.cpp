// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/engine_base.hpp"
#include "decode/rdna_ops.hpp"
#include "decode/rdna_waves.hpp"
#include "sqtt/rdna.hpp"

#include <algorithm>
#include <array>

namespace wavetap::decode {
namespace {

using sqtt::FieldId;
using sqtt::Generation;
using sqtt::Token;
using sqtt::TokenType;

template <Generation> constexpr const auto& kRowsOf = sqtt::kGfx10Rows;
template <> constexpr const auto& kRowsOf<Generation::kGfx11> = sqtt::kGfx11Rows;
template <> constexpr const auto& kRowsOf<Generation::kGfx12> = sqtt::kGfx12Rows;
template <> constexpr const auto& kRowsOf<Generation::kGfx1250> = sqtt::kGfx1250Rows;

/// The bits of a field, or none where the generation lacks token or field.
template <Generation kGen> consteval sqtt::BitRange bits_or_none(TokenType type, FieldId id) {
    for (const sqtt::TokenRow& row : kRowsOf<kGen>) {
        if (row.type == type) return row.find(id).bits;
    }
    return {};
}

// Codes of WSTART.count that mean a context switch.
enum class CountKind : std::uint8_t { kNormal, kSave, kRestore, kIgnored };
CountKind kind_of_count(unsigned count) {
    if (count < 66 || count > 89) return CountKind::kNormal;
    switch (count) {
    case 66:
    case 67:
    case 70:
    case 71:
        return CountKind::kSave;
    case 68:
    case 69:
    case 72:
    case 73:
    case 74:
    case 75:
        return CountKind::kRestore;
    default:
        return CountKind::kIgnored;
    }
}

/// gfx1250: VALU tokens name their wave by its place among those used last.
class RecentSlots {
  public:
    /// The slot at `place`, moved to the front; -1 if nothing was there yet.
    int use(unsigned place) {
        const int slot = slots_[place];
        std::rotate(slots_.begin(), slots_.begin() + place, slots_.begin() + place + 1);
        return slot;
    }
    void touch(unsigned slot) {
        const auto found = std::find(slots_.begin(), slots_.end(), static_cast<int>(slot));
        const auto last = found == slots_.end() ? slots_.end() - 1 : found;
        std::rotate(slots_.begin(), last, last + 1);
        slots_[0] = static_cast<int>(slot);
    }

  private:
    std::array<int, 5> slots_{-1, -1, -1, -1, -1};
};

template <Generation kGen> class RdnaEngine final : public EngineBase<kGen, RdnaEngine<kGen>> {
    using Base = EngineBase<kGen, RdnaEngine<kGen>>;

  public:
    static constexpr std::uint64_t kUnit = 1;
    static constexpr std::size_t kLookAheadBytes = sqtt::TokenColumns::kMarginBytes;

    explicit RdnaEngine(const EngineSetup& setup)
        : Base(setup, false), header_(setup.header), ops_(make_op_table(setup.header)),
          waves_(setup.header, finisher_, diagnostics_) {}

    std::uint64_t clocks_of(const Token& token) const {
        if constexpr (kGen == Generation::kGfx1250) {
            if (token.type == TokenType::kValu)
                return sqtt::kValuClocks[get<TokenType::kValu, FieldId::kWaveTime>(token)];
        }
        return token.delta;
    }
    WaveWords place_of(const Token& token) const {
        // Both kinds of starts have the place at the same bits.
        return token.type == TokenType::kWaveEnd ? place<TokenType::kWaveEnd>(token)
                                                 : place<TokenType::kWaveStart>(token);
    }
    void take_occupancy(const Token& token, WaveWords where);
    void take_instruction(const Token& token, bool last_of_clock);
    void take_rest(const Token& token);
    void finish_waves(StreamPoint end);

  private:
    using Base::diagnostics_;
    using Base::finisher_;
    using Base::occupancy_;
    using Base::registers_;
    using Base::setup_;
    using Base::sink_;
    using Base::time_;
    using Base::totals_;

    // Tokens of one clock wait for a WAVERDY of that clock.
    static constexpr bool kHoldsTokens = kGen == Generation::kGfx10 || kGen == Generation::kGfx11;
    static constexpr std::size_t kMaxHeld = 64;
    struct Held {
        std::uint64_t low = 0;
        std::uint64_t offset_bits = 0;
        std::uint8_t high = 0;
        TokenType type = TokenType::kUnknown;
    };

    template <TokenType kToken, FieldId kField> static std::uint64_t wide(const Token& token) {
        constexpr sqtt::BitRange kBits = bits_or_none<kGen>(kToken, kField);
        return sqtt::extract(token.bits, kBits);
    }
    template <TokenType kToken, FieldId kField> static std::uint32_t get(const Token& token) {
        static_assert(bits_or_none<kGen>(kToken, kField).width() <= 32);
        return static_cast<std::uint32_t>(wide<kToken, kField>(token));
    }

    void timestamp(const Token& token, StreamPoint at);
    static bool can_pass(const Token& token);
    void hold(const Token& token);
    void flush();
    void token(const Token& token, StreamPoint at);
    void instruction_token(const Token& token, StreamPoint at);
    bool on_target(std::uint32_t sa, std::uint32_t cu, std::uint32_t simd) const {
        return sa == header_.target_sa && cu == header_.target_cu &&
               (header_.simd_mask >> simd & 1) != 0;
    }
    template <TokenType kToken> WaveWords place(const Token& token) const;
    void occupancy(const Token& token, StreamPoint at, WaveWords where);
    template <TokenType kToken>
    void wave_start(const Token& token, StreamPoint at, WaveWords where);
    void wave_end(StreamPoint at, WaveWords where);
    void instruction(const Token& token, StreamPoint at);
    void valu(const Token& token, StreamPoint at);
    void reg(const Token& token, StreamPoint at);
    void reg_init(const Token& token, StreamPoint at);
    void misc(const Token& token, StreamPoint at);
    template <TokenType kToken> void shader_data(const Token& token, StreamPoint at);
    template <TokenType kToken> void event_token(const Token& token, StreamPoint at);
    [[gnu::noinline, gnu::cold]] void new_header(const Token& token, StreamPoint at);
    void lost(StreamPoint at);
    static QueueKey queue(std::uint32_t me, std::uint32_t pipe) {
        return {static_cast<std::uint8_t>(me), static_cast<std::uint8_t>(pipe),
                static_cast<std::uint8_t>((me & 1) * 4 + (pipe & 3))};
    }

    sqtt::Header header_;
    OpTable ops_;
    RdnaWaves waves_;
    RecentSlots recent_;
    std::array<Held, kMaxHeld> held_;
    std::size_t held_count_ = 0;
    std::uint64_t held_time_ = 0;
    bool held_in_order_ = false; ///< a held token that no other may pass
    std::uint8_t cluster_ = 0;
    bool cluster_ends_ = false;
};

template <Generation kGen>
inline void RdnaEngine<kGen>::take_occupancy(const Token& token, WaveWords where) {
    if constexpr (kHoldsTokens) {
        if (held_in_order_ || where.on_target()) return hold(token);
    }
    occupancy(token, this->at(token), where);
}

template <Generation kGen>
inline void RdnaEngine<kGen>::occupancy(const Token& token, StreamPoint at, WaveWords where) {
    if (token.type == TokenType::kWaveStart)
        wave_start<TokenType::kWaveStart>(token, at, where);
    else if (token.type == TokenType::kWaveEnd)
        wave_end(at, where);
    else
        wave_start<TokenType::kWaveStartExt>(token, at, where);
}

template <Generation kGen>
inline void RdnaEngine<kGen>::take_instruction(const Token& token, bool last_of_clock) {
    if constexpr (kHoldsTokens) {
        if (held_count_ != 0 && held_time_ != time_) flush();
        // Alone in its clock it has nothing to wait for.
        if (held_count_ != 0 || !last_of_clock || token.type == TokenType::kWaveReady)
            return hold(token);
    }
    instruction_token(token, this->at(token));
}

template <Generation kGen> void RdnaEngine<kGen>::take_rest(const Token& token) {
    if (token.type == TokenType::kTimestamp) return timestamp(token, this->at(token));
    if constexpr (kHoldsTokens) {
        if (held_in_order_ || !can_pass(token)) return hold(token);
    }
    this->token(token, this->at(token));
}

template <Generation kGen> void RdnaEngine<kGen>::finish_waves(StreamPoint end) {
    flush();
    waves_.finish(end);
    for (const TokenType type :
         {TokenType::kInst, TokenType::kValu, TokenType::kImm1, TokenType::kImmediate})
        totals_.instruction_tokens += totals_.tokens[static_cast<std::size_t>(type)];
    totals_.tokens_without_wave = waves_.totals().tokens_without_wave;
}

// WAVERDY belongs to the clock before its own and so before the other tokens of that clock. What
// waits for it are the tokens of the target's waves; others need not, unless a token is held that
// they must not overtake.
template <Generation kGen> bool RdnaEngine<kGen>::can_pass(const Token& token) {
    switch (token.type) {
    case TokenType::kReg:
    case TokenType::kRegInit:
    case TokenType::kEvent:
    case TokenType::kEventSync:
    case TokenType::kShaderData:
    case TokenType::kShaderDataShort:
        return true;
    case TokenType::kMisc:
        return get<TokenType::kMisc, FieldId::kFlags>(token) == 0;
    default:
        return false;
    }
}

template <Generation kGen> inline void RdnaEngine<kGen>::hold(const Token& token) {
    if (held_count_ != 0 && (held_time_ != time_ || held_count_ == kMaxHeld)) flush();
    if (token.type == TokenType::kWaveReady) {
        this->token(token, {time_ > 0 ? time_ - 1 : 0, token.offset_bits / 8});
        return;
    }
    held_time_ = time_;
    // Field by field: a wider copy would wait for the narrow stores that made the token.
    Held& held = held_[held_count_++];
    held.low = token.bits.low;
    held.high = token.bits.high;
    held.type = token.type;
    held.offset_bits = token.offset_bits;
    switch (token.type) {
    case TokenType::kValu:
    case TokenType::kInst:
    case TokenType::kImm1:
    case TokenType::kImmediate:
        break;
    default:
        held_in_order_ = true;
    }
}

template <Generation kGen> void RdnaEngine<kGen>::flush() {
    for (std::size_t i = 0; i < held_count_; ++i) {
        Token token;
        token.type = held_[i].type;
        token.bits.low = held_[i].low;
        token.bits.high = held_[i].high;
        token.offset_bits = held_[i].offset_bits;
        this->token(token, {held_time_, token.offset_bits / 8});
    }
    held_count_ = 0;
    held_in_order_ = false;
}

template <Generation kGen> void RdnaEngine<kGen>::lost(StreamPoint at) {
    this->event(at, EventKind::kPacketsLost);
    diagnostics_.add(Fault::kPacketsLost, at.offset_bytes, at.time);
    occupancy_.packets_lost();
    waves_.packets_lost();
}

template <Generation kGen> void RdnaEngine<kGen>::timestamp(const Token& token, StreamPoint at) {
    constexpr auto kToken = TokenType::kTimestamp;
    const std::uint64_t value = wide<kToken, FieldId::kValue>(token);
    if constexpr (kGen == Generation::kGfx10) {
        const std::uint32_t type = get<kToken, FieldId::kType>(token);
        if (type == 1) this->move_clock(value);
        if (type == 2) sink_.realtime({at.time, value});
    } else {
        const bool realtime = get<kToken, FieldId::kRealtime>(token) != 0;
        const bool packets_lost = get<kToken, FieldId::kPacketsLost>(token) != 0;
        if (realtime) {
            if (!packets_lost) sink_.realtime({at.time, value});
            return;
        }
        this->move_clock(value);
        if (!packets_lost) return;
        flush();
        lost({time_, at.offset_bytes});
    }
}

template <Generation kGen>
template <TokenType kToken>
inline WaveWords RdnaEngine<kGen>::place(const Token& token) const {
    const std::uint32_t sa = get<kToken, FieldId::kSa>(token);
    const std::uint32_t cu = get<kToken, FieldId::kCu>(token);
    const std::uint32_t simd = get<kToken, FieldId::kSimd>(token);
    return WaveWords::place(sa, cu, simd, get<kToken, FieldId::kSlot>(token),
                            on_target(sa, cu, simd));
}

template <Generation kGen>
template <TokenType kToken>
inline void RdnaEngine<kGen>::wave_start(const Token& token, StreamPoint at, WaveWords where) {
    bool is_ext = false;
    std::uint32_t workgroup = 0;
    if constexpr (kToken == TokenType::kWaveStartExt &&
                  (kGen == Generation::kGfx12 || kGen == Generation::kGfx1250)) {
        is_ext = get<kToken, FieldId::kExtIsLds>(token) == 0;
        if (is_ext) workgroup = get<kToken, FieldId::kWorkgroup>(token);
    }
    const std::uint32_t me = get<kToken, FieldId::kMe>(token);
    const std::uint32_t pipe = get<kToken, FieldId::kPipe>(token);
    const WaveWords words =
        where.from(me, pipe, get<kToken, FieldId::kCount>(token), workgroup, cluster_);
    const CountKind kind = kind_of_count(words.count());
    const std::uint64_t entry = registers_.entry_address((me & 1U) * 4U + (pipe & 3U));
    if (kind == CountKind::kNormal) [[likely]] {
        if (cluster_ends_) cluster_ = 0;
        cluster_ends_ = false;
        occupancy_.start(at, words, entry, is_ext);
        if (words.on_target()) waves_.start(at, occupancy_.head(words));
    } else if (kind == CountKind::kSave) {
        occupancy_.pause(at, words);
        if (words.on_target()) {
            WaveHead head;
            head.set(words);
            waves_.save(at, head);
        }
    } else if (kind == CountKind::kRestore) {
        occupancy_.resume(at, words, entry);
        if (words.on_target()) waves_.restore(at, occupancy_.head(words));
    }
}

template <Generation kGen> inline void RdnaEngine<kGen>::wave_end(StreamPoint at, WaveWords where) {
    if (!occupancy_.end(at, where)) occupancy_.end_without_start(at, where);
    if (where.on_target()) waves_.end(at, where.slot());
}

template <Generation kGen> void RdnaEngine<kGen>::instruction(const Token& token, StreamPoint at) {
    constexpr auto kToken = TokenType::kInst;
    const std::uint32_t slot = get<kToken, FieldId::kSlot>(token);
    const std::uint32_t code = get<kToken, FieldId::kOp>(token);
    const OpRow& op = ops_[code];
    if constexpr (kGen == Generation::kGfx1250) {
        if (code >= sqtt::kFirstListedOp && code <= sqtt::kLastListedOp) recent_.touch(slot);
    }
    if (op.kind == OpKind::kOther) {
        sink_.other_simd({at.time, op.category, op.cycles});
    } else if (op.kind == OpKind::kUnknown) {
        diagnostics_.add(Fault::kUnknownInstructionCode, at.offset_bytes, at.time);
    } else if (op.kind != OpKind::kIgnored) {
        waves_.instruction(at, slot, op);
    }
}

template <Generation kGen> void RdnaEngine<kGen>::valu(const Token& token, StreamPoint at) {
    static constexpr OpRow kValu{OpKind::kNormal, Category::kValu, OpSource::kReal, 1};
    if constexpr (kGen == Generation::kGfx1250) {
        const int slot =
            recent_.use(sqtt::kValuPlaces[get<TokenType::kValu, FieldId::kWaveTime>(token)]);
        if (slot >= 0)
            waves_.instruction(at, static_cast<unsigned>(slot), kValu);
        else
            diagnostics_.add(Fault::kTokenWithoutWave, at.offset_bytes, at.time);
    } else {
        waves_.instruction(at, get<TokenType::kValu, FieldId::kSlot>(token), kValu);
    }
}

template <Generation kGen> void RdnaEngine<kGen>::reg(const Token& token, StreamPoint at) {
    constexpr auto kToken = TokenType::kReg;
    if (get<kToken, FieldId::kDropped>(token) != 0)
        diagnostics_.add(Fault::kRegistersDropped, at.offset_bytes, at.time);
    const QueueKey key =
        queue(get<kToken, FieldId::kMe>(token), get<kToken, FieldId::kPipe>(token));
    const std::uint32_t address = get<kToken, FieldId::kAddress>(token);
    const std::uint32_t data = get<kToken, FieldId::kData>(token);
    // gfx10 sets the bit on user-data writes too.
    const bool user_data = kGen == Generation::kGfx10 && address >= 0xC340 && address <= 0xC343;
    if (get<kToken, FieldId::kCsSpace>(token) != 0 && !user_data)
        registers_.write_compute(at, key, address, data);
    else
        registers_.write_other(at, key, address, data);
}

template <Generation kGen> void RdnaEngine<kGen>::reg_init(const Token& token, StreamPoint at) {
    constexpr auto kToken = TokenType::kRegInit;
    const std::uint32_t data = get<kToken, FieldId::kData>(token);
    if (get<kToken, FieldId::kType>(token) != 2 || (data & 1) == 0) return;
    registers_.dispatch(
        at, queue(get<kToken, FieldId::kMe>(token), get<kToken, FieldId::kPipe>(token)), data);
}

template <Generation kGen> void RdnaEngine<kGen>::misc(const Token& token, StreamPoint at) {
    constexpr auto kToken = TokenType::kMisc;
    std::uint32_t flags = get<kToken, FieldId::kFlags>(token);
    if constexpr (kGen == Generation::kGfx1250) {
        // The reserved bit of the older layout is not there.
        flags = (flags & 3) | (flags >> 2) << 3;
        if (get<kToken, FieldId::kClusterFirst>(token) != 0 ||
            get<kToken, FieldId::kClusterLast>(token) != 0) {
            cluster_ = static_cast<std::uint8_t>(get<kToken, FieldId::kCluster>(token));
            cluster_ends_ = get<kToken, FieldId::kClusterLast>(token) != 0;
        }
    }
    if (flags == 0) return;
    const auto has = [flags](unsigned bit) { return (flags >> bit & 1) != 0; };
    if (has(sqtt::kMiscLostOrSample)) {
        if (kGen == Generation::kGfx10)
            lost(at);
        else
            this->event(at, EventKind::kCounterSample);
    }
    if (has(sqtt::kMiscRinse)) this->event(at, EventKind::kCacheRinse);
    if (has(sqtt::kMiscSaveContext)) {
        this->event(at, EventKind::kSaveContext);
        waves_.save_context();
    }
    if (has(sqtt::kMiscStallBegin)) this->event(at, EventKind::kStallBegin);
    if (has(sqtt::kMiscStallEnd)) this->event(at, EventKind::kStallEnd);
    if (has(sqtt::kMiscThrottleBegin)) this->event(at, EventKind::kThrottleBegin);
    if (has(sqtt::kMiscThrottleEnd)) this->event(at, EventKind::kThrottleEnd);
}

template <Generation kGen>
template <TokenType kToken>
void RdnaEngine<kGen>::shader_data(const Token& token, StreamPoint at) {
    if (get<kToken, FieldId::kExec>(token) != 0) return; // a report of the EXEC population
    WaveHead head;
    head.set(place<kToken>(token));
    sink_.shader_data({at.time, get<kToken, FieldId::kData>(token), head.sa, head.cu, head.simd,
                       head.slot, kToken == TokenType::kShaderDataShort,
                       get<kToken, FieldId::kKind>(token) != 0});
}

template <Generation kGen>
template <TokenType kToken>
void RdnaEngine<kGen>::event_token(const Token& token, StreamPoint at) {
    registers_.event(
        at, queue(get<kToken, FieldId::kMe>(token), get<kToken, FieldId::kPipe>(token)),
        get<kToken, FieldId::kEventId>(token),
        get<kToken, FieldId::kBop>(token) != 0 ? RegisterState::EventSource::kTokenAtBottom
                                               : RegisterState::EventSource::kToken);
}

template <Generation kGen> void RdnaEngine<kGen>::new_header(const Token& token, StreamPoint at) {
    if (token.offset_bits == setup_.header_offset_bits || token.bits.low == header_.raw) return;
    const auto parsed = sqtt::parse_header(token.bits.low);
    diagnostics_.add(Fault::kHeaderChanged, at.offset_bytes, at.time);
    if (!parsed || parsed->generation != kGen) return;
    header_ = *parsed;
    ops_ = make_op_table(header_);
}

template <Generation kGen>
inline void RdnaEngine<kGen>::instruction_token(const Token& token, StreamPoint at) {
    switch (token.type) {
    case TokenType::kValu:
        valu(token, at);
        break;
    case TokenType::kInst:
        instruction(token, at);
        break;
    case TokenType::kImm1:
        waves_.immediate(at, get<TokenType::kImm1, FieldId::kSlot>(token));
        break;
    case TokenType::kImmediate: {
        std::uint32_t mask = get<TokenType::kImmediate, FieldId::kMask>(token);
        for (unsigned slot = 0; mask != 0; ++slot, mask >>= 1) {
            if ((mask & 1) != 0) waves_.immediate(at, slot);
        }
        break;
    }
    case TokenType::kWaveReady: {
        std::uint32_t mask = get<TokenType::kWaveReady, FieldId::kMask>(token);
        for (unsigned slot = 0; mask != 0; ++slot, mask >>= 1) {
            if ((mask & 1) != 0) waves_.ready(at, slot);
        }
        break;
    }
    default:
        break;
    }
}

template <Generation kGen> void RdnaEngine<kGen>::token(const Token& token, StreamPoint at) {
    switch (token.type) {
    case TokenType::kValu:
    case TokenType::kInst:
    case TokenType::kImm1:
    case TokenType::kImmediate:
    case TokenType::kWaveReady:
        instruction_token(token, at);
        break;
    case TokenType::kNewPc: {
        if (get<TokenType::kNewPc, FieldId::kError>(token) != 0)
            diagnostics_.add(Fault::kErrorPc, at.offset_bytes, at.time);
        const std::uint64_t pc = wide<TokenType::kNewPc, FieldId::kPc>(token) << 2;
        waves_.new_pc(at, get<TokenType::kNewPc, FieldId::kSlot>(token),
                      setup_.code->attribute(pc & ((std::uint64_t{1} << 48) - 1)));
        break;
    }
    case TokenType::kWaveStart:
    case TokenType::kWaveStartExt:
    case TokenType::kWaveEnd:
        occupancy(token, at, place_of(token));
        break;
    case TokenType::kReg:
        reg(token, at);
        break;
    case TokenType::kRegInit:
        reg_init(token, at);
        break;
    case TokenType::kMisc:
        misc(token, at);
        break;
    case TokenType::kShaderData:
        shader_data<TokenType::kShaderData>(token, at);
        break;
    case TokenType::kShaderDataShort:
        shader_data<TokenType::kShaderDataShort>(token, at);
        break;
    case TokenType::kEvent:
        event_token<TokenType::kEvent>(token, at);
        break;
    case TokenType::kEventSync:
        event_token<TokenType::kEventSync>(token, at);
        break;
    case TokenType::kHeader:
        new_header(token, at);
        break;
    default:
        diagnostics_.add(Fault::kUnknownToken, at.offset_bytes, at.time);
        break;
    }
}

} // namespace

std::unique_ptr<Engine> make_rdna_engine(const EngineSetup& setup) {
    switch (setup.header.generation) {
    case Generation::kGfx9:
    case Generation::kGfx10:
        break;
    case Generation::kGfx11:
        return std::make_unique<RdnaEngine<Generation::kGfx11>>(setup);
    case Generation::kGfx12:
        return std::make_unique<RdnaEngine<Generation::kGfx12>>(setup);
    case Generation::kGfx1250:
        return std::make_unique<RdnaEngine<Generation::kGfx1250>>(setup);
    }
    return std::make_unique<RdnaEngine<Generation::kGfx10>>(setup);
}

} // namespace wavetap::decode
