// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/engine_base.hpp"
#include "decode/part_occupancy.hpp"
#include "decode/part_tokens.hpp"
#include "decode/user_data.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace wavetap::decode {

/// What came out of a part, whichever generation it is of.
struct PartResults {
    static constexpr unsigned kChains = 9; ///< wave slots of the engine, then eight of the target's
    struct Joined {
        Diagnostics faults;
        std::uint64_t tokens_without_wave = 0;
    };

    std::size_t most_instructions = 0; ///< from prepare()
    // From build().
    PartSlots slots;
    WaveQueue waves;
    Joined built;
    // From join(); of chain 0 only the faults.
    std::array<Joined, kChains> joined;

    void clear_results() {
        slots.clear();
        waves.count = 0;
        built = {};
        joined = {};
    }
};

/// What the engines share that take a stream in parts. Tokens that neither are of a wave slot nor are an
/// instruction go through Derived's `rest(token, at, to)`; what they mean for waves `to` does at once
/// (ToStream) or writes down (ToPart). `Part` is a PartTokens and a PartResults. `Derived` has `lanes_`,
/// `waves_`, `context_` (friends of this), and
///   template <class To> void rest(const Token&, StreamPoint, To&)
///   static RegisterWrite register_write(const Token&)   of a REG token
template <sqtt::Generation kGen, class Derived, class Part>
class PartEngine : public EngineBase<kGen, Derived> {
    using Base = EngineBase<kGen, Derived>;

  public:
    using Base::Base;

    void take_rest(const sqtt::Token& token, StreamPoint at) {
        ToStream to{*this};
        this->derived().rest(token, at, to);
    }
    void take_loss(StreamPoint at) {
        ToStream to{*this};
        lost(at, to);
    }
    /// The caller may have loaded code since the piece before.
    void begin_piece() { find_entries(); }

    // For PartPipeline.
    static constexpr unsigned kChains = Part::kChains;
    void join(Part& part, unsigned chain, std::size_t thread) {
        if (chain == 0)
            occupancy_.join(part.slots, part.joined[0].faults);
        else
            part.join(chain, this->derived().waves_, finisher_, finisher_.stitcher(thread));
    }

  protected:
    using Base::diagnostics_;
    using Base::finisher_;
    using Base::occupancy_;
    using Base::registers_;
    using Base::setup_;
    using Base::sink_;
    using Base::time_;
    using typename Base::Columns;
    using typename Base::Item;
    using typename Base::Walk;
    using Mark = typename PartTokens<kGen>::Mark;

    struct RegisterWrite {
        std::uint32_t address = 0, data = 0;
    };

    /// What other tokens do to waves, done at once.
    struct ToStream {
        PartEngine& engine;

        void clock(std::uint64_t clocks) { engine.move_clock(clocks); }
        void clock_back() {}
        void entry(std::size_t queue, PcRef pc) {
            engine.entries_[queue] = pc;
            lanes().entries[queue] = pc;
        }
        void new_pc(StreamPoint at, unsigned slot, PcRef pc) { lanes().new_pc(at, slot, pc); }
        void save_context(StreamPoint at) { lanes().save_context(at); }
        void lost(StreamPoint at) {
            ++engine.losses_;
            lanes().packets_lost(at);
        }
        auto& lanes() { return engine.derived().lanes_; }
    };
    /// The same, written down.
    struct ToPart {
        PartEngine& engine;
        Part& part;
        typename Walk::Origin& origin;
        std::uint32_t position = 0;

        void clock(std::uint64_t clocks) {
            engine.time_ += clocks;
            origin.clock += clocks;
            part.marks.push_back({position, Mark::Kind::kClock, 0, {}, {}, clocks});
        }
        void clock_back() { part.clock_back = true; }
        void entry(std::size_t queue, PcRef pc) {
            engine.entries_[queue] = pc;
            part.marks.push_back(
                {position, Mark::Kind::kEntry, static_cast<std::uint8_t>(queue), {}, pc, 0});
        }
        void new_pc(StreamPoint at, unsigned slot, PcRef pc) {
            part.marks.push_back(
                {position, Mark::Kind::kNewPc, static_cast<std::uint8_t>(slot), at, pc, 0});
        }
        void save_context(StreamPoint at) {
            part.marks.push_back({position, Mark::Kind::kSaveContext, 0, at, {}, 0});
        }
        void lost(StreamPoint at) {
            ++engine.losses_;
            part.marks.push_back({position, Mark::Kind::kLost, 0, at, {}, 0});
        }
    };

    template <class To> void lost(StreamPoint at, To& to) {
        this->event(at, EventKind::kPacketsLost);
        diagnostics_.add(Fault::kPacketsLost, at.offset_bytes, at.time);
        to.lost(at);
    }

    /// For engines that build parts.
    void make_part_slots() {
        const std::size_t threads = setup_.pool == nullptr ? 1 : setup_.pool->threads();
        for (std::size_t i = 0; threads > 1 && i < threads; ++i)
            part_slots_.push_back(std::make_unique<PartOccupancy>(*setup_.code));
    }
    void find_entries() {
        for (std::size_t i = 0; i < entries_.size(); ++i)
            entries_[i] =
                setup_.code->attribute(registers_.entry_address(static_cast<unsigned>(i)));
        this->derived().lanes_.entries = entries_;
    }

    /// A header, or a marker that may load or unload code.
    bool may_change_code(const Columns& columns) const {
        const auto& queues = registers_.values().queues;
        const bool waits = std::any_of(queues.begin(), queues.end(),
                                       [](const auto& queue) { return queue.code_word != 0; });
        const typename Walk::Origin origin = this->origin_of(columns);
        for (const auto& segment : columns.segments()) {
            for (const Item item : segment.lanes[Columns::kRest]) {
                if (item.type() == sqtt::TokenType::kHeader) return true;
                if (item.type() != sqtt::TokenType::kReg) continue;
                const RegisterWrite write =
                    Derived::register_write(origin.template token<true>(item));
                if (write.address != kUserdata2) continue;
                if (waits || (write.data & 0xFF) == kCodeObject) return true;
            }
        }
        return false;
    }
    /// Takes the third lane of a part whose slices are there, and goes on to its end.
    void prepare_rest(Part& part, const Columns& columns) {
        part.entries = entries_;
        part.slots.losses = losses_;
        for (std::size_t i = 0; i < part.slices.size(); ++i) {
            auto& slice = part.slices[i];
            slice.origin.clock = time_;
            typename Walk::Origin origin = slice.origin;
            ToPart to{*this, part, origin};
            for (const Item item : slice.lanes[Columns::kRest]) {
                to.position = item.position();
                const sqtt::Token token = origin.template token<true>(item);
                const StreamPoint at = origin.point(item, token);
                time_ = at.time;
                this->derived().rest(token, at, to);
            }
            slice.marks_end = part.marks.size();
            end_slice(origin, columns, i);
        }
        part.most_instructions = kLeastInstructions + columns.bytes();
    }
    /// Takes a part that is not prepared, token by token.
    void take_slices(const Part& part, const Columns& columns) {
        this->derived().lanes_.entries = entries_;
        for (std::size_t i = 0; i < part.slices.size(); ++i) {
            typename Walk::Origin origin = part.slices[i].origin;
            origin.clock = time_;
            this->take_segment(origin, part.slices[i].lanes);
            end_slice(this->walk_.origin(), columns, i);
        }
    }
    void deliver_results(Part& part) {
        this->drain();
        part.slots.send(sink_);
        finisher_.emit(part.waves);
        const auto add = [this](const PartResults::Joined& joined) {
            diagnostics_.merge(joined.faults);
            this->derived().context_.tokens_without_wave += joined.tokens_without_wave;
        };
        add(part.built);
        for (const auto& joined : part.joined)
            add(joined);
    }

    std::array<PcRef, 8> entries_{};                         ///< where `rest` has got to
    std::uint32_t losses_ = 0;                               ///< likewise
    std::vector<std::unique_ptr<PartOccupancy>> part_slots_; ///< of each thread

  private:
    /// A part with more of them is taken token by token, so that its memory is bounded.
    static constexpr std::size_t kLeastInstructions = 4096;

    // A slice behind the last segment is of the part that follows and ends with its clock.
    void end_slice(const typename Walk::Origin& origin, const Columns& columns, std::size_t i) {
        time_ = origin.clock;
        if (i < columns.segments().size())
            time_ += std::uint64_t{columns.segments()[i].clocks} * Walk::kUnit;
    }
};

} // namespace wavetap::decode
