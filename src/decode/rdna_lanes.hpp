// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/lane_walk.hpp"
#include "decode/rdna_ops.hpp"
#include "decode/rdna_waves.hpp"
#include "sqtt/rdna.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace wavetap::decode {

template <sqtt::Generation> constexpr const auto& kRdnaRowsOf = sqtt::kGfx10Rows;
template <> constexpr const auto& kRdnaRowsOf<sqtt::Generation::kGfx11> = sqtt::kGfx11Rows;
template <> constexpr const auto& kRdnaRowsOf<sqtt::Generation::kGfx12> = sqtt::kGfx12Rows;
template <> constexpr const auto& kRdnaRowsOf<sqtt::Generation::kGfx1250> = sqtt::kGfx1250Rows;

/// Fields of the tokens of gfx10 to gfx1250.
template <sqtt::Generation kGen> struct RdnaFields {
    /// The bits of a field, or none where the generation lacks token or field.
    static consteval sqtt::BitRange bits_or_none(sqtt::TokenType type, sqtt::FieldId id) {
        for (const sqtt::TokenRow& row : kRdnaRowsOf<kGen>) {
            if (row.type == type) return row.find(id).bits;
        }
        return {};
    }
    template <sqtt::TokenType kToken, sqtt::FieldId kField>
    static std::uint64_t wide(const sqtt::Token& token) {
        constexpr sqtt::BitRange kBits = bits_or_none(kToken, kField);
        return sqtt::extract(token.bits, kBits);
    }
    template <sqtt::TokenType kToken, sqtt::FieldId kField>
    static std::uint32_t get(const sqtt::Token& token) {
        static_assert(bits_or_none(kToken, kField).width() <= 32);
        return static_cast<std::uint32_t>(wide<kToken, kField>(token));
    }
};

/// What a stream says besides wave slots and instructions and that these must know.
struct RdnaState {
    sqtt::Header header;
    OpTable ops{};
    /// By INST code, then VALU, IMM1 and any other token.
    std::array<QuickOp, std::tuple_size_v<OpTable> + 3> quick{};
    static constexpr unsigned kValu = std::tuple_size_v<OpTable>, kImm1 = kValu + 1,
                              kNone = kImm1 + 1;

    /// By sa, SIMD and WGP as they lie in tokens, see RdnaLanes::place(); slots left out.
    std::array<WaveWords, 128> places{};

    explicit RdnaState(const sqtt::Header& from) { set(from); }
    void set(const sqtt::Header& from) {
        header = from;
        ops = make_op_table(from);
        for (std::size_t i = 0; i < ops.size(); ++i)
            quick[i] = {ops[i].kind == OpKind::kNormal ? QuickOp::Kind::kNormal
                                                       : QuickOp::Kind::kOther,
                        ops[i].category, ops[i].cycles};
        quick[kValu] = {QuickOp::Kind::kNormal, Category::kValu, 1};
        quick[kImm1] = {QuickOp::Kind::kImmediate, Category::kImmed, 1};
        for (std::uint32_t i = 0; i < places.size(); ++i) {
            const std::uint32_t sa = i & 1, simd = i >> 1 & 3, cu = i >> 3;
            places[i] = WaveWords::place(sa, cu, simd, 0, on_target(sa, cu, simd));
        }
    }
    bool on_target(std::uint32_t sa, std::uint32_t cu, std::uint32_t simd) const {
        return sa == header.target_sa && cu == header.target_cu &&
               (header.simd_mask >> simd & 1) != 0;
    }
};

/// Something that happens to waves of the target and waits for the end of its clock.
enum class HeldKind : std::uint8_t {
    kInstruction,
    kStart,
    kEnd,
    kSave,
    kRestore,
    kNewPc,
    kSaveContext,
};
template <bool kAny> struct HeldTokens {
    static constexpr std::size_t kMax = kAny ? 64 : 1;
    struct Held {
        std::uint64_t low = 0; ///< of an instruction token
        std::uint64_t offset_bytes = 0;
        HeldKind kind = HeldKind::kInstruction;
        sqtt::TokenType type = sqtt::TokenType::kUnknown;
        std::uint8_t slot = 0;
    };
    std::size_t count = 0;
    std::uint64_t time = 0;
    std::array<Held, kMax> tokens;
    std::array<WaveHead, kMax> heads; ///< of a start
    std::array<PcRef, kMax> pcs;      ///< of a NEWPC
};

/// The tokens of wave slots and of instructions, for a whole stream or for a part of it. `Slots` is
/// Occupancy or PartOccupancy.
template <sqtt::Generation kGen, class Slots> class RdnaLanes {
    using Token = sqtt::Token;
    using TokenType = sqtt::TokenType;
    using FieldId = sqtt::FieldId;
    using Generation = sqtt::Generation;

  public:
    /// Tokens of one clock wait for a WAVERDY of that clock.
    static constexpr bool kHoldsTokens = kGen == Generation::kGfx10 || kGen == Generation::kGfx11;

    /// All are borrowed. Of the sink only other_simd() is called.
    RdnaLanes(const RdnaState& state, Slots& slots, RdnaWaves& waves, RecordSink& sink,
              Diagnostics& diagnostics)
        : state_(&state), slots_(&slots), waves_(&waves), sink_(&sink), diagnostics_(&diagnostics) {
    }

    /// Entry of the kernel that was last set up on each queue.
    std::array<PcRef, 8> entries{};
    /// gfx1250: the cluster that starts now.
    std::uint8_t cluster = 0;
    bool cluster_ends = false;

    // For LaneWalk.
    WaveWords place_of(const Token& token) const {
        // Both kinds of starts have the place at the same bits.
        return token.type == TokenType::kWaveEnd ? place<TokenType::kWaveEnd>(token)
                                                 : place<TokenType::kWaveStart>(token);
    }
    void take_occupancy(const Token& token, StreamPoint at, WaveWords where) {
        if (token.type == TokenType::kWaveStart)
            wave_start<TokenType::kWaveStart>(token, at, where);
        else if (token.type == TokenType::kWaveEnd)
            wave_end(at, where);
        else
            wave_start<TokenType::kWaveStartExt>(token, at, where);
    }
    void take_instruction(const Token& token, StreamPoint at, bool nothing_waits) {
        if constexpr (kHoldsTokens) {
            if (held_.count != 0 && held_.time != at.time) flush();
            if (held_.count != 0 || !nothing_waits || token.type == TokenType::kWaveReady)
                return hold(token, at);
        }
        instruction_token(token, at);
    }
    [[gnu::always_inline]] bool quick(TokenType type, std::uint32_t bits, std::uint64_t time,
                                      bool nothing_waits) {
        // Which wave a VALU token of gfx1250 is of depends on those before.
        if constexpr (kGen == Generation::kGfx1250) return false;
        if constexpr (kHoldsTokens) {
            if (held_.count != 0 || !nothing_waits) return false;
        }
        static constexpr auto kCodes = codes();
        const Code& code = kCodes[static_cast<std::size_t>(type)];
        const std::uint32_t op = (bits >> kOpBits.lo & code.op_mask) + code.first;
        return waves_->quick(time, bits >> code.slot_shift & 31, state_->quick[op]);
    }

    // What other tokens do to the waves of the target.
    void new_pc(StreamPoint at, unsigned slot, PcRef pc) {
        if constexpr (kHoldsTokens) {
            Held& held = add(at, HeldKind::kNewPc);
            held.slot = static_cast<std::uint8_t>(slot);
            held_.pcs[static_cast<std::size_t>(&held - held_.tokens.data())] = pc;
        } else {
            waves_->new_pc(at, slot, pc);
        }
    }
    void save_context(StreamPoint at) {
        if constexpr (kHoldsTokens)
            add(at, HeldKind::kSaveContext);
        else
            waves_->save_context();
    }
    void packets_lost(StreamPoint) {
        flush();
        slots_->packets_lost();
        waves_->packets_lost();
    }

    /// No WAVERDY can come any more for the tokens that wait.
    void flush();
    /// Takes over what waits there.
    void take_held(const HeldTokens<kHoldsTokens>& held) {
        flush();
        held_ = held;
    }
    const HeldTokens<kHoldsTokens>& held() const { return held_; }

    template <TokenType kToken> WaveWords place(const Token& token) const {
        constexpr sqtt::BitRange kSa = bits<kToken, FieldId::kSa>(),
                                 kCu = bits<kToken, FieldId::kCu>(),
                                 kSimd = bits<kToken, FieldId::kSimd>();
        if constexpr (kCu.width() == 0) {
            return state_->places[0];
        } else {
            static_assert(kSa.width() == 1 && kSimd.width() == 2 && kCu.width() <= 4 &&
                          kSimd.lo == kSa.hi + 1 && kCu.lo == kSimd.hi + 1);
            constexpr std::uint64_t kMask = (1U << (3 + kCu.width())) - 1;
            WaveWords words = state_->places[token.bits.low >> kSa.lo & kMask];
            words.first |= std::uint64_t{get<kToken, FieldId::kSlot>(token)} << 24;
            return words;
        }
    }

  private:
    template <TokenType kToken, FieldId kField> static consteval sqtt::BitRange bits() {
        return RdnaFields<kGen>::bits_or_none(kToken, kField);
    }
    template <TokenType kToken, FieldId kField> static std::uint32_t get(const Token& token) {
        return RdnaFields<kGen>::template get<kToken, kField>(token);
    }

    using Held = typename HeldTokens<kHoldsTokens>::Held;
    Held& add(StreamPoint at, HeldKind kind) {
        if (held_.count != 0 && (held_.time != at.time || held_.count == held_.kMax)) flush();
        held_.time = at.time;
        // Field by field: a wider copy would wait for the narrow stores that made the token.
        Held& held = held_.tokens[held_.count++];
        held.offset_bytes = at.offset_bytes;
        held.kind = kind;
        return held;
    }
    /// How a token says which QuickOp it is, and of which slot; without branches.
    struct Code {
        std::uint32_t op_mask = 0;
        std::uint32_t first = RdnaState::kNone;
        std::uint32_t slot_shift = 0;
    };
    static constexpr sqtt::BitRange kOpBits =
        RdnaFields<kGen>::bits_or_none(TokenType::kInst, FieldId::kOp);
    static consteval Code code_of(TokenType type, unsigned op_mask, unsigned first) {
        return {op_mask, first, RdnaFields<kGen>::bits_or_none(type, FieldId::kSlot).lo};
    }
    static consteval std::array<Code, sqtt::kTokenTypeCount> codes() {
        std::array<Code, sqtt::kTokenTypeCount> out{};
        out[static_cast<std::size_t>(TokenType::kInst)] =
            code_of(TokenType::kInst, (1U << kOpBits.width()) - 1, 0);
        out[static_cast<std::size_t>(TokenType::kValu)] =
            code_of(TokenType::kValu, 0, RdnaState::kValu);
        out[static_cast<std::size_t>(TokenType::kImm1)] =
            code_of(TokenType::kImm1, 0, RdnaState::kImm1);
        return out;
    }
    // WAVERDY belongs to the clock before its own and so before the other tokens of that clock.
    [[gnu::noinline]] void hold(const Token& token, StreamPoint at) {
        if (token.type == TokenType::kWaveReady) {
            if (held_.count == held_.kMax) flush();
            return instruction_token(token, {at.time > 0 ? at.time - 1 : 0, at.offset_bytes});
        }
        Held& held = add(at, HeldKind::kInstruction);
        held.low = token.bits.low;
        held.type = token.type;
    }
    void on_target(StreamPoint at, HeldKind kind, const WaveHead& head) {
        if constexpr (kHoldsTokens) {
            const Held& held = add(at, kind);
            held_.heads[static_cast<std::size_t>(&held - held_.tokens.data())] = head;
        } else {
            apply(at, kind, head);
        }
    }
    void apply(StreamPoint at, HeldKind kind, const WaveHead& head) {
        if (kind == HeldKind::kStart)
            waves_->start(at, head);
        else if (kind == HeldKind::kSave)
            waves_->save(at, head);
        else
            waves_->restore(at, head);
    }
    template <TokenType kToken>
    void wave_start(const Token& token, StreamPoint at, WaveWords where);
    void wave_end(StreamPoint at, WaveWords where);
    void instruction_token(const Token& token, StreamPoint at);
    void instruction(const Token& token, StreamPoint at);
    void valu(const Token& token, StreamPoint at);

    /// Codes of WSTART.count that mean a context switch.
    enum class CountKind : std::uint8_t { kNormal, kSave, kRestore, kIgnored };
    static CountKind kind_of_count(unsigned count) {
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

    const RdnaState* state_;
    Slots* slots_;
    RdnaWaves* waves_;
    RecordSink* sink_;
    Diagnostics* diagnostics_;
    RecentSlots recent_;
    HeldTokens<kHoldsTokens> held_;
};

template <sqtt::Generation kGen, class Slots> void RdnaLanes<kGen, Slots>::flush() {
    const std::size_t count = std::exchange(held_.count, 0);
    for (std::size_t i = 0; i < count; ++i) {
        const Held& held = held_.tokens[i];
        const StreamPoint at{held_.time, held.offset_bytes};
        switch (held.kind) {
        case HeldKind::kInstruction: {
            Token token;
            token.type = held.type;
            token.bits.low = held.low;
            instruction_token(token, at);
            break;
        }
        case HeldKind::kStart:
        case HeldKind::kSave:
        case HeldKind::kRestore:
            apply(at, held.kind, held_.heads[i]);
            break;
        case HeldKind::kEnd:
            waves_->end(at, held.slot);
            break;
        case HeldKind::kNewPc:
            waves_->new_pc(at, held.slot, held_.pcs[i]);
            break;
        case HeldKind::kSaveContext:
            waves_->save_context();
            break;
        }
    }
}

template <sqtt::Generation kGen, class Slots>
template <sqtt::TokenType kToken>
[[gnu::always_inline]] inline void
RdnaLanes<kGen, Slots>::wave_start(const Token& token, StreamPoint at, WaveWords where) {
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
        where.from(me, pipe, get<kToken, FieldId::kCount>(token), workgroup, cluster);
    const CountKind kind = kind_of_count(words.count());
    const PcRef entry = entries[(me & 1U) * 4U + (pipe & 3U)];
    if (kind == CountKind::kNormal) [[likely]] {
        if (cluster_ends) cluster = 0;
        cluster_ends = false;
        slots_->start(at, words, entry, is_ext);
        if (words.on_target()) on_target(at, HeldKind::kStart, slots_->head(words));
    } else if (kind == CountKind::kSave) {
        slots_->pause(at, words);
        if (words.on_target()) {
            WaveHead head;
            head.set(words);
            on_target(at, HeldKind::kSave, head);
        }
    } else if (kind == CountKind::kRestore) {
        slots_->resume(at, words, entry);
        if (words.on_target()) on_target(at, HeldKind::kRestore, slots_->head(words));
    }
}

template <sqtt::Generation kGen, class Slots>
[[gnu::always_inline]] inline void RdnaLanes<kGen, Slots>::wave_end(StreamPoint at,
                                                                    WaveWords where) {
    if (!slots_->end(at, where)) slots_->end_without_start(at, where);
    if (!where.on_target()) return;
    if constexpr (kHoldsTokens)
        add(at, HeldKind::kEnd).slot = static_cast<std::uint8_t>(where.slot());
    else
        waves_->end(at, where.slot());
}

template <sqtt::Generation kGen, class Slots>
void RdnaLanes<kGen, Slots>::instruction(const Token& token, StreamPoint at) {
    constexpr auto kToken = TokenType::kInst;
    const std::uint32_t slot = get<kToken, FieldId::kSlot>(token);
    const std::uint32_t code = get<kToken, FieldId::kOp>(token);
    const OpRow& op = state_->ops[code];
    if constexpr (kGen == Generation::kGfx1250) {
        if (code >= sqtt::kFirstListedOp && code <= sqtt::kLastListedOp) recent_.touch(slot);
    }
    if (op.kind == OpKind::kOther) {
        sink_->other_simd({at.time, op.category, op.cycles});
    } else if (op.kind == OpKind::kUnknown) {
        diagnostics_->add(Fault::kUnknownInstructionCode, at.offset_bytes, at.time);
    } else if (op.kind != OpKind::kIgnored) {
        waves_->instruction(at, slot, op);
    }
}

template <sqtt::Generation kGen, class Slots>
void RdnaLanes<kGen, Slots>::valu(const Token& token, StreamPoint at) {
    static constexpr OpRow kValu{OpKind::kNormal, Category::kValu, OpSource::kReal, 1};
    if constexpr (kGen == Generation::kGfx1250) {
        const int slot =
            recent_.use(sqtt::kValuPlaces[get<TokenType::kValu, FieldId::kWaveTime>(token)]);
        if (slot >= 0)
            waves_->instruction(at, static_cast<unsigned>(slot), kValu);
        else
            diagnostics_->add(Fault::kTokenWithoutWave, at.offset_bytes, at.time);
    } else {
        waves_->instruction(at, get<TokenType::kValu, FieldId::kSlot>(token), kValu);
    }
}

template <sqtt::Generation kGen, class Slots>
[[gnu::noinline]] void RdnaLanes<kGen, Slots>::instruction_token(const Token& token,
                                                                 StreamPoint at) {
    switch (token.type) {
    case TokenType::kValu:
        valu(token, at);
        break;
    case TokenType::kInst:
        instruction(token, at);
        break;
    case TokenType::kImm1:
        waves_->immediate(at, get<TokenType::kImm1, FieldId::kSlot>(token));
        break;
    case TokenType::kImmediate: {
        std::uint32_t mask = get<TokenType::kImmediate, FieldId::kMask>(token);
        for (unsigned slot = 0; mask != 0; ++slot, mask >>= 1) {
            if ((mask & 1) != 0) waves_->immediate(at, slot);
        }
        break;
    }
    case TokenType::kWaveReady: {
        std::uint32_t mask = get<TokenType::kWaveReady, FieldId::kMask>(token);
        for (unsigned slot = 0; mask != 0; ++slot, mask >>= 1) {
            if ((mask & 1) != 0) waves_->ready(at, slot);
        }
        break;
    }
    default:
        break;
    }
}

} // namespace wavetap::decode
