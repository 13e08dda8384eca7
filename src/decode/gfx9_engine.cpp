// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/gfx9_part.hpp"
#include "decode/part_engine.hpp"
#include "decode/part_pipeline.hpp"
#include "sqtt/gfx9.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <vector>

namespace wavetap::decode {
namespace {

using sqtt::FieldId;
using sqtt::Gfx9Misc;
using sqtt::Token;
using sqtt::TokenType;

class Gfx9Engine final : public PartEngine<sqtt::Generation::kGfx9, Gfx9Engine, Gfx9Part> {
    friend PartEngine;

  public:
    static constexpr std::uint64_t kUnit = Walk::kUnit;
    static constexpr unsigned kMaxBanks = 4;
    /// How far behind a reset of the clock its timestamp is looked for; real ones come within four
    /// tokens.
    static constexpr std::size_t kTimestampBytes = 64 * 1024;
    static constexpr std::size_t kLookAheadBytes =
        kTimestampBytes + sqtt::TokenColumns::kMarginBytes;

    explicit Gfx9Engine(const EngineSetup& setup)
        : PartEngine(setup, true), context_{&finisher_, &diagnostics_, 0}, waves_(context_),
          lanes_(setup_.header, occupancy_, waves_, diagnostics_) {
        waves_.set_issue_phase(setup.header.issue_phase);
        make_part_slots();
    }

    std::uint64_t clocks_of(const Token& token) const { return kUnit * token.delta; }
    WaveWords place_of(const Token& token) const { return lanes_.place_of(token); }
    void take_occupancy(const Token& token, StreamPoint at, WaveWords where) {
        lanes_.take_occupancy(token, at, where);
    }
    void take_instruction(const Token& token, StreamPoint at, bool last_of_clock) {
        lanes_.take_instruction(token, at, last_of_clock);
    }
    void finish_waves(StreamPoint end) {
        waves_.finish(end);
        end_samples();
        totals_.instruction_tokens = totals_.tokens[static_cast<std::size_t>(TokenType::kInst)];
        totals_.tokens_without_wave = context_.tokens_without_wave;
        totals_.issue_phase = waves_.issue_phase();
    }

    Entry run_parts(std::span<const std::byte> bytes, Entry at, std::uint64_t stop_bits) {
        if (!feed_.together(at, stop_bits)) return feed_.run(*this, bytes, at, stop_bits);
        if (!pipeline_) pipeline_ = std::make_unique<Pipeline>(*setup_.pool, feed_.part_bits());
        place_known_ = false;
        return pipeline_->run(*this, bytes, at, stop_bits);
    }

    // For PartPipeline.
    using Part = Gfx9Part;
    static constexpr bool kChecksParts = true;
    bool prepare(Part& part, const Columns& columns, const Columns* next, bool first);
    bool build(Part& part, std::size_t thread) {
        return part.build(phase_hint_.load(std::memory_order_relaxed), *part_slots_[thread],
                          finisher_, finisher_.stitcher(thread));
    }
    bool check(const Part& part);
    void deliver(Part& part) { deliver_results(part); }
    void redo(const Part& part);
    void take_singly(const Part& part, const Columns& columns);
    void end_parts();

  private:
    using Pipeline = PartPipeline<sqtt::Generation::kGfx9, Gfx9Engine>;
    template <TokenType kToken, FieldId kField> static std::uint32_t get(const Token& token) {
        return gfx9_field<kToken, kField>(token);
    }
    static RegisterWrite register_write(const Token& token) {
        return {get<TokenType::kReg, FieldId::kAddress>(token),
                get<TokenType::kReg, FieldId::kData>(token)};
    }
    template <class To> void rest(const Token& token, StreamPoint at, To& to);
    template <class To> void time_reset(const Token& token, To& to);
    template <class To> void misc(const Token& token, StreamPoint at, To& to);
    void reg(const Token& token, StreamPoint at);
    template <TokenType kToken, class To> void reg_cs(const Token& token, StreamPoint at, To& to);
    void perf(const Token& token, StreamPoint at);
    void add_zero(const PerfRecord& last, std::uint64_t interval);
    void end_samples();
    void take_over();

    WaveContext context_;
    Gfx9Waves waves_;
    Gfx9Lanes<Occupancy, Gfx9Waves> lanes_;
    std::int64_t clock_base_ = 0; ///< of the absolute counter; negative if it was just reset
    std::uint64_t claimed_ = ~std::uint64_t{0}; ///< the timestamp that a reset has used
    std::map<unsigned, PerfRecord> last_perf_;  ///< of each CU and bank

    std::unique_ptr<Pipeline> pipeline_;
    Gfx9RunUp run_up_;                         ///< of the part that is prepared next
    bool stream_known_ = false;                ///< `waves_` stands where that part begins
    Gfx9Place place_;                          ///< where the part begins that is checked next
    bool place_known_ = false;                 ///< otherwise `waves_` says it
    std::atomic<std::uint32_t> phase_hint_{0}; ///< the newest one known: a guess, whoever reads it
};

// The counter of the deltas ran full; the absolute counter follows within a few tokens and counts
// from here on. The search ends at the next reset, so all searches together are linear.
template <class To> void Gfx9Engine::time_reset(const Token& token, To& to) {
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
        if (absolute < time_) to.clock_back();
        to.clock(absolute - time_);
        return;
    }
    diagnostics_.add(Fault::kResetWithoutTimestamp, token.offset_bits / 8, time_);
}

template <class To> void Gfx9Engine::misc(const Token& token, StreamPoint at, To& to) {
    switch (static_cast<Gfx9Misc>(get<TokenType::kMisc, FieldId::kType>(token))) {
    case Gfx9Misc::kTime:
        break;
    case Gfx9Misc::kTimeReset:
        time_reset(token, to);
        break;
    case Gfx9Misc::kPacketLost:
        lost(at, to);
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
        to.save_context(at);
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
    const std::uint32_t address = get<kToken, FieldId::kAddress>(token);
    registers_.write_other(
        at, queue_of(get<kToken, FieldId::kMe>(token), get<kToken, FieldId::kPipe>(token)), address,
        get<kToken, FieldId::kData>(token));
    if (address == kUserdata2) find_entries(); // code may have been loaded
}

template <TokenType kToken, class To>
void Gfx9Engine::reg_cs(const Token& token, StreamPoint at, To& to) {
    const QueueKey key =
        queue_of(get<kToken, FieldId::kMe>(token), get<kToken, FieldId::kPipe>(token));
    const std::uint32_t address = get<kToken, FieldId::kAddress>(token);
    registers_.write_compute(at, key, address, get<kToken, FieldId::kData>(token));
    if (address == kPgmLo || address == kPgmHi)
        to.entry(key.index, setup_.code->attribute(registers_.entry_address(key.index)));
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
    const unsigned row = record.cu * kMaxBanks + record.bank;
    const auto [last, first] = last_perf_.try_emplace(row, record);
    if (interval != 0 && !first && record.time > last->second.time + interval)
        add_zero(last->second, interval);
    last->second = record;
    sink_.perf(record);
}

// Counters that stay at zero send nothing.
void Gfx9Engine::add_zero(const PerfRecord& last, std::uint64_t interval) {
    PerfRecord zero;
    zero.time = last.time + interval;
    zero.cu = last.cu;
    zero.bank = last.bank;
    sink_.perf(zero);
}

void Gfx9Engine::end_samples() {
    const std::uint64_t interval = registers_.perf_interval();
    if (interval == 0) return;
    for (const auto& [row, last] : last_perf_)
        add_zero(last, interval);
}

template <class To> void Gfx9Engine::rest(const Token& token, StreamPoint at, To& to) {
    switch (token.type) {
    case TokenType::kMisc:
        misc(token, at, to);
        break;
    case TokenType::kTimestamp:
        // It was applied at the reset, and moves the clock no further.
        if (token.offset_bits == claimed_) {
            constexpr auto kDelta = sqtt::row_of(sqtt::kGfx9Rows, TokenType::kTimestamp).delta;
            to.clock(0 - kUnit * sqtt::extract(token.bits, kDelta));
        }
        break;
    case TokenType::kReg:
        reg(token, at);
        break;
    case TokenType::kRegCs:
        reg_cs<TokenType::kRegCs>(token, at, to);
        break;
    case TokenType::kRegCsPriv:
        reg_cs<TokenType::kRegCsPriv>(token, at, to);
        break;
    case TokenType::kEvent:
    case TokenType::kEventCs:
    case TokenType::kEventGfx1:
        registers_.event(at, {}, get<TokenType::kEventCs, FieldId::kEventId>(token),
                         RegisterState::EventSource::kToken);
        break;
    case TokenType::kNewPc: {
        constexpr auto kToken = TokenType::kNewPc;
        constexpr auto kPc = sqtt::bits_of(sqtt::kGfx9Rows, kToken, FieldId::kPc);
        if (get<kToken, FieldId::kError>(token) != 0)
            diagnostics_.add(Fault::kErrorPc, at.offset_bytes, at.time);
        const std::uint64_t pc = sqtt::extract(token.bits, kPc) << 2;
        const std::uint32_t simd = get<kToken, FieldId::kSimd>(token);
        to.new_pc(at, simd * Gfx9Place::kSlots + get<kToken, FieldId::kSlot>(token),
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

bool Gfx9Engine::prepare(Part& part, const Columns& columns, const Columns* /*next*/, bool first) {
    count(columns);
    part.clear();
    for (const auto& segment : columns.segments())
        part.slices.push_back({origin_of(columns), segment.lanes, 0});
    if (may_change_code(columns)) return false;
    part.header = &setup_.header;
    part.begin_time = time_;
    part.place_known = first || stream_known_;
    if (part.place_known) {
        if (!part.place) part.place = std::make_unique<Gfx9Place>();
        waves_.tell(*part.place);
    }
    stream_known_ = false;
    std::swap(part.run_up, run_up_);
    prepare_rest(part, columns);
    part.end_time = time_;
    run_up_.take(part, setup_.header);
    if (part.clock_back) run_up_.clear();
    return true;
}

bool Gfx9Engine::check(const Part& part) {
    if (!place_known_) waves_.tell(place_); // all before this part is joined
    place_known_ = true;
    const bool right = part.check(place_);
    phase_hint_.store(place_.phase, std::memory_order_relaxed);
    return right;
}

// The stream's waves go on where parts were joined.
void Gfx9Engine::take_over() {
    if (place_known_) waves_.set_phase(place_.phase);
    place_known_ = false;
}

void Gfx9Engine::redo(const Part& part) {
    take_over();
    part.walk(lanes_, [] { return false; });
}

void Gfx9Engine::take_singly(const Part& part, const Columns& columns) {
    take_over();
    take_slices(part, columns);
    stream_known_ = true;
    run_up_.clear();
}

void Gfx9Engine::end_parts() {
    take_over();
    lanes_.entries = entries_;
    run_up_.clear();
}

} // namespace

std::unique_ptr<Engine> make_gfx9_engine(const EngineSetup& setup) {
    return std::make_unique<Gfx9Engine>(setup);
}

} // namespace wavetap::decode
