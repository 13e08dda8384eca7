// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/engine.hpp"
#include "decode/finisher.hpp"
#include "decode/lane_walk.hpp"
#include "decode/occupancy.hpp"
#include "decode/register_state.hpp"
#include "decode/token_feed.hpp"

namespace wavetap::decode {

/// What the engines of all generations share: the clock, the pieces of the stream, and the stages
/// around the waves. `Derived` has
///   void take_occupancy(const Token&, StreamPoint, WaveWords)    by lane: as LaneWalk calls them
///   void take_instruction(const Token&, StreamPoint, bool)
///   WaveWords place_of(const Token&)
///   void take_rest(const Token&, StreamPoint)
///   void take_loss(StreamPoint)
///   std::uint64_t clocks_of(const Token&)   how far it moves the clock
///   void finish_waves(StreamPoint)
///   kLookAheadBytes
template <sqtt::Generation kGen, class Derived> class EngineBase : public Engine {
  public:
    explicit EngineBase(const EngineSetup& setup, bool quiet_on_target)
        : setup_(setup), sink_(*setup.sink), diagnostics_(*setup.diagnostics),
          finisher_(setup.header, *setup.code, *setup.sink, *setup.diagnostics, setup.pool,
                    setup.want_instructions, setup.insert_barrier_waits),
          registers_(kGen, *setup.code, *setup.sink, setup.diagnostics),
          occupancy_(*setup.code, *setup.sink, *setup.diagnostics, quiet_on_target),
          feed_(setup.pool, setup.part_bytes) {
        setup_.code->before_change = [this] { drain(); };
    }
    ~EngineBase() override { setup_.code->before_change = nullptr; }
    EngineBase(const EngineBase&) = delete;
    EngineBase& operator=(const EngineBase&) = delete;

    std::uint64_t consume(std::span<const std::byte> bytes, std::uint64_t start_bits,
                          std::uint64_t origin, bool last) override {
        if constexpr (requires { derived().begin_piece(); }) derived().begin_piece();
        bytes_ = bytes;
        origin_bits_ = origin * 8;
        const std::size_t behind =
            last ? sqtt::TokenColumns::kMarginBytes : Derived::kLookAheadBytes;
        const std::uint64_t stop =
            bytes.size() > behind ? std::uint64_t{bytes.size() - behind} * 8 : 0;
        Entry at{start_bits, after_ext_};
        if (!first_seen_) at = read_singly(at, stop, true);
        if constexpr (requires { derived().run_parts(bytes, at, stop); })
            at = derived().run_parts(bytes, at, stop);
        else
            at = feed_.run(*this, bytes, at, stop);
        if (last) at = read_singly(at, std::uint64_t{bytes.size()} * 8, false);
        after_ext_ = at.after_ext;
        end_bits_ = origin_bits_ + at.bits;
        drain();
        return at.bits;
    }

    std::optional<std::uint64_t> clock_base() const override { return totals_.clock_base; }

    void gap() override {
        const StreamPoint end = end_piece();
        derived().take_loss(end);
        drain();
    }

    BlobTotals finish() override {
        const StreamPoint end = end_piece();
        derived().finish_waves(end);
        occupancy_.finish(end);
        totals_.last_time = time_;
        totals_.instructions = finisher_.instructions();
        totals_.instructions_with_pc = finisher_.with_pc();
        totals_.wave_end_without_start = occupancy_.ends_without_start();
        totals_.counter_frequency_khz = registers_.counter_frequency_khz();
        return totals_;
    }

    // For TokenFeed.
    void part(const sqtt::TokenColumns& part) {
        count(part);
        for (const auto& segment : part.segments()) {
            take_segment(origin_of(part), segment.lanes);
            time_ = walk_.origin().clock + std::uint64_t{segment.clocks} * Walk::kUnit;
        }
    }
    void begin_round() { finisher_.begin_round(); }
    void end_round() { finisher_.end_round(); }

  protected:
    using Columns = sqtt::TokenColumns;
    using Entry = Columns::Entry;
    using Item = Columns::Item;

    Derived& derived() { return *static_cast<Derived*>(this); }
    /// The clock jumps, by a timestamp.
    void move_clock(std::uint64_t clocks) {
        time_ += clocks;
        walk_.move_clock(clocks);
    }
    void event(StreamPoint at, EventKind kind) {
        sink_.event({at.time, kind, 0, 0, false, 0, at.offset_bytes});
    }
    /// Hands over everything that was found so far.
    void drain() {
        occupancy_.flush();
        finisher_.flush();
    }

    using Walk = LaneWalk<kGen>;

    void count(const sqtt::TokenColumns& part) {
        for (std::size_t i = 0; i < totals_.tokens.size(); ++i)
            totals_.tokens[i] += part.counts()[i];
    }
    typename Walk::Origin origin_of(const sqtt::TokenColumns& part) const {
        return {reinterpret_cast<const unsigned char*>(bytes_.data()), part.origin_bits(),
                origin_bits_, time_};
    }
    /// Takes the tokens of a segment one after the other.
    void take_segment(const typename Walk::Origin& origin, const typename Walk::Lanes& lanes) {
        walk_.begin(origin, lanes);
        for (const Item item : lanes[Columns::kRest]) {
            walk_.run_to(derived(), item.position());
            const sqtt::Token token = walk_.origin().template token<true>(item);
            const StreamPoint at = walk_.origin().point(item, token);
            time_ = at.time;
            derived().take_rest(token, at);
        }
        walk_.run_to(derived(), ~std::uint32_t{0});
    }

    const EngineSetup setup_;
    RecordSink& sink_;
    Diagnostics& diagnostics_;
    WaveFinisher finisher_;
    RegisterState registers_;
    Occupancy occupancy_;
    BlobTotals totals_;
    TokenFeed<kGen> feed_;
    std::span<const std::byte> bytes_; ///< of the piece
    std::uint64_t origin_bits_ = 0;    ///< of the piece
    std::uint64_t time_ = 0;           ///< clock of the token in hand
    Walk walk_;                        ///< through the segment in hand

  private:
    // What the last piece cuts is lost.
    StreamPoint end_piece() {
        const StreamPoint end{time_, end_bits_ / 8};
        if (truncated_) {
            ++totals_.cut_tokens;
            diagnostics_.add(Fault::kCutToken, end.offset_bytes, time_);
        }
        truncated_ = after_ext_ = false;
        return end;
    }
    void take(const sqtt::Token& token) {
        const StreamPoint at{time_, token.offset_bits / 8};
        switch (sqtt::lane_of(token.type)) {
        case Columns::kOccupancy:
            return derived().take_occupancy(token, at, derived().place_of(token));
        case Columns::kInstruction:
            return derived().take_instruction(token, at, false);
        case Columns::kRest:
            return derived().take_rest(token, at);
        case Columns::kNobody:
            return;
        }
    }
    static bool is_padding(const sqtt::Token& token) {
        return kGen == sqtt::Generation::kGfx9
                   ? token.type == sqtt::TokenType::kMisc && token.bits.low == 0
                   : token.type == sqtt::TokenType::kNop;
    }
    // The beginning, up to the first token with a time, and the end, where tokens may be cut.
    Entry read_singly(Entry entry, std::uint64_t stop, bool to_first) {
        constexpr bool kExtends =
            kGen == sqtt::Generation::kGfx12 || kGen == sqtt::Generation::kGfx1250;
        sqtt::TokenReader reader(kGen, bytes_, entry.bits, entry.after_ext);
        bool ext = entry.after_ext;
        for (sqtt::Token token; reader.offset_bits() < stop && reader.next(token);) {
            ++totals_.tokens[static_cast<std::size_t>(token.type)];
            ext = kExtends && (token.type == sqtt::TokenType::kWaveStartExt ||
                               token.type == sqtt::TokenType::kExtension);
            const std::uint64_t clocks = derived().clocks_of(token);
            token.offset_bits += origin_bits_;
            time_ += clocks;
            take(token);
            if (!first_seen_ && token.type != sqtt::TokenType::kHeader && !is_padding(token)) {
                totals_.first_time = time_;
                first_seen_ = true;
                if (to_first) break;
            }
        }
        truncated_ = reader.truncated();
        return {reader.offset_bits(), ext};
    }

    std::uint64_t end_bits_ = 0;
    bool after_ext_ = false;
    bool first_seen_ = false;
    bool truncated_ = false;
};

} // namespace wavetap::decode
