// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/part_engine.hpp"
#include "decode/part_pipeline.hpp"
#include "decode/rdna_part.hpp"
#include "sqtt/rdna.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

namespace wavetap::decode {
namespace {

using sqtt::FieldId;
using sqtt::Generation;
using sqtt::Token;
using sqtt::TokenType;

template <Generation kGen>
class RdnaEngine final : public PartEngine<kGen, RdnaEngine<kGen>, RdnaPart<kGen>> {
    using Base = PartEngine<kGen, RdnaEngine<kGen>, RdnaPart<kGen>>;
    friend Base;
    using Lanes = RdnaLanes<kGen, Occupancy>;

  public:
    static constexpr std::size_t kLookAheadBytes = sqtt::TokenColumns::kMarginBytes;
    /// gfx1250: which wave a VALU token is of depends on all tokens before it.
    static constexpr bool kInParts = kGen != Generation::kGfx1250;

    explicit RdnaEngine(const EngineSetup& setup)
        : Base(setup, false), state_(setup.header), context_{&finisher_, &diagnostics_, 0},
          waves_(setup.header, context_), lanes_(state_, occupancy_, waves_, sink_, diagnostics_) {
        if (kInParts) this->make_part_slots();
    }

    std::uint64_t clocks_of(const Token& token) const {
        if constexpr (kGen == Generation::kGfx1250) {
            if (token.type == TokenType::kValu)
                return sqtt::kValuClocks[get<TokenType::kValu, FieldId::kWaveTime>(token)];
        }
        return token.delta;
    }
    WaveWords place_of(const Token& token) const { return lanes_.place_of(token); }
    void take_occupancy(const Token& token, StreamPoint at, WaveWords where) {
        lanes_.take_occupancy(token, at, where);
    }
    [[gnu::always_inline]] bool quick(TokenType type, std::uint32_t bits, std::uint64_t time,
                                      bool nothing_waits) {
        return lanes_.quick(type, bits, time, nothing_waits);
    }
    void take_instruction(const Token& token, StreamPoint at, bool nothing_waits) {
        lanes_.take_instruction(token, at, nothing_waits);
    }
    void finish_waves(StreamPoint end);

    sqtt::TokenColumns::Entry run_parts(std::span<const std::byte> bytes,
                                        sqtt::TokenColumns::Entry at, std::uint64_t stop_bits) {
        if (!kInParts || !this->feed_.together(at, stop_bits))
            return this->feed_.run(*this, bytes, at, stop_bits);
        if (!pipeline_)
            pipeline_ = std::make_unique<PartPipeline<kGen, RdnaEngine>>(*setup_.pool,
                                                                         this->feed_.part_bits());
        return pipeline_->run(*this, bytes, at, stop_bits);
    }

    // For PartPipeline.
    using Part = RdnaPart<kGen>;
    static constexpr bool kChecksParts = false;
    bool prepare(Part& part, const sqtt::TokenColumns& columns, const sqtt::TokenColumns* next,
                 bool first);
    bool build(Part& part, std::size_t thread) {
        return part.build(*part_slots_[thread], finisher_, finisher_.stitcher(thread));
    }
    void deliver(Part& part);
    void redo(const Part& part) {
        part.walk(lanes_, [] { return false; });
    }
    void take_singly(const Part& part, const sqtt::TokenColumns& columns);
    void end_parts() { lanes_.entries = entries_; }

  private:
    using Base::diagnostics_;
    using Base::entries_;
    using Base::find_entries;
    using Base::finisher_;
    using Base::occupancy_;
    using Base::part_slots_;
    using Base::registers_;
    using Base::setup_;
    using Base::sink_;
    using Base::time_;
    using Base::totals_;
    using typename Base::Columns;
    using Fields = RdnaFields<kGen>;

    template <TokenType kToken, FieldId kField> static std::uint64_t wide(const Token& token) {
        return Fields::template wide<kToken, kField>(token);
    }
    template <TokenType kToken, FieldId kField> static std::uint32_t get(const Token& token) {
        return Fields::template get<kToken, kField>(token);
    }

    static typename Base::RegisterWrite register_write(const Token& token) {
        return {get<TokenType::kReg, FieldId::kAddress>(token),
                get<TokenType::kReg, FieldId::kData>(token)};
    }
    template <class To> void rest(const Token& token, StreamPoint at, To& to);
    template <class To> void timestamp(const Token& token, StreamPoint at, To& to);
    template <class To> void reg(const Token& token, StreamPoint at, To& to);
    template <class To> void misc(const Token& token, StreamPoint at, To& to);
    void reg_init(const Token& token, StreamPoint at);
    template <TokenType kToken> void shader_data(const Token& token, StreamPoint at);
    template <TokenType kToken> void event_token(const Token& token, StreamPoint at);
    [[gnu::noinline, gnu::cold]] void new_header(const Token& token, StreamPoint at);
    struct Head;
    Head head_of(const Columns& columns) const;
    void slices_of(Part& part, const Columns& columns, const Columns* next, bool first);
    static QueueKey queue(std::uint32_t me, std::uint32_t pipe) {
        return {static_cast<std::uint8_t>(me), static_cast<std::uint8_t>(pipe),
                static_cast<std::uint8_t>((me & 1) * 4 + (pipe & 3))};
    }

    RdnaState state_;
    WaveContext context_;
    RdnaWaves waves_;
    Lanes lanes_;
    bool moved_ = false; ///< a header in the stream named another target
    std::unique_ptr<PartPipeline<kGen, RdnaEngine>> pipeline_;
};

template <Generation kGen> void RdnaEngine<kGen>::finish_waves(StreamPoint end) {
    lanes_.flush();
    waves_.finish(end);
    for (const TokenType type :
         {TokenType::kInst, TokenType::kValu, TokenType::kImm1, TokenType::kImmediate})
        totals_.instruction_tokens += totals_.tokens[static_cast<std::size_t>(type)];
    totals_.tokens_without_wave = context_.tokens_without_wave;
}

template <Generation kGen>
template <class To>
void RdnaEngine<kGen>::timestamp(const Token& token, StreamPoint at, To& to) {
    constexpr auto kToken = TokenType::kTimestamp;
    const std::uint64_t value = wide<kToken, FieldId::kValue>(token);
    if constexpr (kGen == Generation::kGfx10) {
        const std::uint32_t type = get<kToken, FieldId::kType>(token);
        if (type == 1) to.clock(value);
        if (type == 2) sink_.realtime({at.time, value});
    } else {
        const bool realtime = get<kToken, FieldId::kRealtime>(token) != 0;
        const bool packets_lost = get<kToken, FieldId::kPacketsLost>(token) != 0;
        if (realtime) {
            if (!packets_lost) sink_.realtime({at.time, value});
            return;
        }
        to.clock(value);
        if (packets_lost) this->lost({time_, at.offset_bytes}, to);
    }
}

template <Generation kGen>
template <class To>
void RdnaEngine<kGen>::reg(const Token& token, StreamPoint at, To& to) {
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
    if (address == kUserdata2)
        find_entries(); // code may have been loaded
    else if (address == kPgmLo || address == kPgmHi)
        to.entry(key.index, setup_.code->attribute(registers_.entry_address(key.index)));
}

template <Generation kGen> void RdnaEngine<kGen>::reg_init(const Token& token, StreamPoint at) {
    constexpr auto kToken = TokenType::kRegInit;
    const std::uint32_t data = get<kToken, FieldId::kData>(token);
    if (get<kToken, FieldId::kType>(token) != 2 || (data & 1) == 0) return;
    registers_.dispatch(
        at, queue(get<kToken, FieldId::kMe>(token), get<kToken, FieldId::kPipe>(token)), data);
}

template <Generation kGen>
template <class To>
void RdnaEngine<kGen>::misc(const Token& token, StreamPoint at, To& to) {
    constexpr auto kToken = TokenType::kMisc;
    std::uint32_t flags = get<kToken, FieldId::kFlags>(token);
    if constexpr (kGen == Generation::kGfx1250) {
        // The reserved bit of the older layout is not there.
        flags = (flags & 3) | (flags >> 2) << 3;
        if (get<kToken, FieldId::kClusterFirst>(token) != 0 ||
            get<kToken, FieldId::kClusterLast>(token) != 0) {
            lanes_.cluster = static_cast<std::uint8_t>(get<kToken, FieldId::kCluster>(token));
            lanes_.cluster_ends = get<kToken, FieldId::kClusterLast>(token) != 0;
        }
    }
    if (flags == 0) return;
    const auto has = [flags](unsigned bit) { return (flags >> bit & 1) != 0; };
    if (has(sqtt::kMiscLostOrSample)) {
        if (kGen == Generation::kGfx10)
            this->lost(at, to);
        else
            this->event(at, EventKind::kCounterSample);
    }
    if (has(sqtt::kMiscRinse)) this->event(at, EventKind::kCacheRinse);
    if (has(sqtt::kMiscSaveContext)) {
        this->event(at, EventKind::kSaveContext);
        to.save_context(at);
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
    head.set(lanes_.template place<kToken>(token));
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
                                               : RegisterState::EventSource::kTokenOfPipe);
}

template <Generation kGen> void RdnaEngine<kGen>::new_header(const Token& token, StreamPoint at) {
    if (token.offset_bits == setup_.header_offset_bits || token.bits.low == state_.header.raw)
        return;
    const auto parsed = sqtt::parse_header(token.bits.low);
    diagnostics_.add(Fault::kHeaderChanged, at.offset_bytes, at.time);
    if (!parsed || parsed->generation != kGen) return;
    lanes_.flush();
    moved_ = true;
    state_.set(*parsed);
}

template <Generation kGen>
template <class To>
void RdnaEngine<kGen>::rest(const Token& token, StreamPoint at, To& to) {
    switch (token.type) {
    case TokenType::kTimestamp:
        timestamp(token, at, to);
        break;
    case TokenType::kNewPc: {
        if (get<TokenType::kNewPc, FieldId::kError>(token) != 0)
            diagnostics_.add(Fault::kErrorPc, at.offset_bytes, at.time);
        const std::uint64_t pc = wide<TokenType::kNewPc, FieldId::kPc>(token) << 2;
        to.new_pc(at, get<TokenType::kNewPc, FieldId::kSlot>(token),
                  setup_.code->attribute(pc & ((std::uint64_t{1} << 48) - 1)));
        break;
    }
    case TokenType::kReg:
        reg(token, at, to);
        break;
    case TokenType::kRegInit:
        reg_init(token, at);
        break;
    case TokenType::kMisc:
        misc(token, at, to);
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

/// The tokens at the beginning of a part that belong to the clock that the part before ended with.
template <Generation kGen> struct RdnaEngine<kGen>::Head {
    std::array<std::size_t, Columns::kLanes> items{};
    bool whole = false; ///< more than can be told apart: the part before must be known
};

template <Generation kGen>
typename RdnaEngine<kGen>::Head RdnaEngine<kGen>::head_of(const Columns& columns) const {
    Head head;
    if constexpr (!Lanes::kHoldsTokens) return head;
    if (columns.segments().empty() || columns.segments()[0].clocks == 0) {
        head.whole = true;
        return head;
    }
    const auto& lanes = columns.segments()[0].lanes;
    for (unsigned lane = 0; lane < Columns::kLanes; ++lane) {
        const auto end = std::find_if(lanes[lane].begin(), lanes[lane].end(),
                                      [](const auto item) { return item.clocks != 0; });
        head.items[lane] = static_cast<std::size_t>(end - lanes[lane].begin());
    }
    head.whole = head.items[Columns::kRest] != 0;
    return head;
}

// With the clock at which each begins; that is found out later for all but the first.
template <Generation kGen>
void RdnaEngine<kGen>::slices_of(Part& part, const Columns& columns, const Columns* next,
                                 bool first) {
    const Head head = head_of(columns);
    for (const auto& segment : columns.segments())
        part.slices.push_back({this->origin_of(columns), segment.lanes, 0});
    if (Lanes::kHoldsTokens && !head.whole && !part.slices.empty()) {
        auto& lanes = part.slices[0].lanes;
        typename Base::Walk::Lanes before{};
        for (unsigned lane = 0; lane < Columns::kLanes; ++lane) {
            before[lane] = lanes[lane].first(head.items[lane]);
            lanes[lane] = lanes[lane].subspan(head.items[lane]);
        }
        // The first part of all comes behind tokens that were taken singly.
        if (first) {
            this->take_segment(part.slices[0].origin, before);
            lanes_.flush();
        }
    }
    if (!Lanes::kHoldsTokens) return;
    const Head more = next == nullptr ? Head{} : head_of(*next);
    part.keep_held = next == nullptr || more.whole;
    part.take_more = !part.keep_held;
    if (!part.take_more) return;
    typename Base::Walk::Lanes behind{};
    for (unsigned lane = 0; lane < Columns::kLanes; ++lane)
        behind[lane] = next->segments()[0].lanes[lane].first(more.items[lane]);
    part.slices.push_back({this->origin_of(*next), behind, 0});
}

template <Generation kGen>
bool RdnaEngine<kGen>::prepare(Part& part, const sqtt::TokenColumns& columns,
                               const sqtt::TokenColumns* next, bool first) {
    this->count(columns);
    part.begin(state_);
    slices_of(part, columns, next, first);
    if (moved_ || head_of(columns).whole || this->may_change_code(columns)) return false;
    this->prepare_rest(part, columns);
    return true;
}

template <Generation kGen>
void RdnaEngine<kGen>::take_singly(const Part& part, const sqtt::TokenColumns& columns) {
    this->take_slices(part, columns);
    if (!part.keep_held) lanes_.flush();
}

template <Generation kGen> void RdnaEngine<kGen>::deliver(Part& part) {
    this->deliver_results(part);
    for (const auto& record : part.others)
        sink_.other_simd(record);
    if (part.keep_held) lanes_.take_held(part.lanes->held());
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
