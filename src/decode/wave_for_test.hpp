// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/engine.hpp"
#include "decode/written_for_test.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// One wave on the target, token by token, with a listing of the code it runs. Test code only.

namespace wavetap::decode::test_waves {

using sqtt::Generation;

inline constexpr std::uint64_t kHere = 0x1000, kThere = 0x2000; ///< of code

/// Lines of four bytes each at absolute addresses.
class Listing final : public CodeSource {
  public:
    explicit Listing(std::vector<std::string> here, std::vector<std::string> there = {})
        : here_(std::move(here)), there_(std::move(there)) {}
    CodeLine fetch(std::uint64_t, std::uint64_t address) override {
        const auto& lines = address < kThere ? here_ : there_;
        const std::uint64_t line = (address - (address < kThere ? kHere : kThere)) / 4;
        return line < lines.size() ? line_from_text(lines[line], 4, true) : CodeLine{};
    }
    bool knows(std::uint64_t) const override { return true; }

  private:
    std::vector<std::string> here_, there_;
};

/// The wave of slot 0, from its start at kHere on. Every token comes `gap` clocks after the one before.
class Wave {
  public:
    explicit Wave(Generation generation, std::uint64_t header = 0) : generation_(generation) {
        static constexpr std::uint64_t kHeaders[] = {sqtt::Gfx9Header{}.encode(), 0x111, 0x68900191,
                                                     0x0113100868700211, 0x0000000000000291};
        if (header == 0) header = kHeaders[static_cast<std::size_t>(generation)];
        if (generation == Generation::kGfx9) {
            sink_.data.resize(8);
            std::memcpy(sink_.data.data(), &header, 8);
            gfx9_.emplace(sink_);
            EXPECT_TRUE(gfx9_->reg_cs(next(), 0xC, kHere >> 8));
            EXPECT_TRUE(gfx9_->wave_start(next(), {}));
        } else {
            rdna_.emplace(generation, sink_);
            EXPECT_TRUE(rdna_->header(header));
            EXPECT_TRUE(rdna_->reg_cs(next(), 0xC, kHere >> 8));
            EXPECT_TRUE(rdna_->wave_start(next(), {}, 127));
        }
    }
    void put(Category category) {
        if (gfx9_) return put_gfx9(category);
        static const std::map<Category, std::uint16_t> kOps{
            {Category::kSalu, 0}, {Category::kSmem, 1},  {Category::kJump, 3},
            {Category::kNext, 4}, {Category::kVmem, 36}, {Category::kLds, 41}};
        if (category == Category::kValu)
            EXPECT_TRUE(rdna_->valu(next(), 0));
        else if (category == Category::kImmed)
            EXPECT_TRUE(rdna_->immediate(next(), 0));
        else
            EXPECT_TRUE(rdna_->inst(next(), 0, kOps.at(category)));
    }
    void put(std::initializer_list<Category> categories) {
        for (const Category category : categories)
            put(category);
    }
    /// A scalar instruction that sets the program counter; where to is told by arrive().
    void jump() {
        if (!gfx9_) {
            EXPECT_TRUE(rdna_->inst(next(), 0, 5));
            return;
        }
        issue(sqtt::Gfx9Issue::kInstruction);
        name(sqtt::Gfx9Inst::kPc);
    }
    void arrive(std::uint64_t pc) {
        EXPECT_TRUE(gfx9_ ? gfx9_->inst_pc(next(), 0, 0, pc) : bool(rdna_->new_pc(next(), 0, pc)));
    }
    void lose() {
        if (gfx9_)
            EXPECT_TRUE(gfx9_->misc(next(), sqtt::Gfx9Misc::kPacketLost));
        else
            EXPECT_TRUE(rdna_->packets_lost(next()));
    }
    void end() {
        if (gfx9_) put(Category::kMsg);
        EXPECT_TRUE(gfx9_ ? gfx9_->wave_end(next(), {}) : bool(rdna_->wave_end(next(), {})));
        if (!rdna_) return;
        EXPECT_TRUE(rdna_->finish());
    }
    void issue(sqtt::Gfx9Issue state) {
        std::array<sqtt::Gfx9Issue, sqtt::kGfx9SlotsPerIssue> states{};
        states[0] = state;
        EXPECT_TRUE(gfx9_->issue(next(), 0, states));
    }
    void name(sqtt::Gfx9Inst type) { EXPECT_TRUE(gfx9_->inst(clock += 4, 0, 0, type)); }
    std::uint64_t next() { return clock += gap; }
    sqtt::Gfx9Writer& gfx9() { return *gfx9_; }
    sqtt::RdnaWriter& rdna() { return *rdna_; }
    const test::Bytes& bytes() const { return sink_.data; }
    Generation generation() const { return generation_; }

    std::uint64_t clock = 1000;
    std::uint64_t gap = 40;

  private:
    void put_gfx9(Category category) {
        using sqtt::Gfx9Inst;
        if (category == Category::kImmed) return issue(sqtt::Gfx9Issue::kImmediate);
        static const std::map<Category, Gfx9Inst> kTypes{
            {Category::kSalu, Gfx9Inst::kSalu},  {Category::kSmem, Gfx9Inst::kSmemRead},
            {Category::kJump, Gfx9Inst::kJump},  {Category::kNext, Gfx9Inst::kNext},
            {Category::kValu, Gfx9Inst::kValu},  {Category::kLds, Gfx9Inst::kLds},
            {Category::kMsg, Gfx9Inst::kMessage}};
        issue(sqtt::Gfx9Issue::kInstruction);
        name(kTypes.at(category));
    }
    Generation generation_;
    test::VectorSink sink_;
    std::optional<sqtt::Gfx9Writer> gfx9_;
    std::optional<sqtt::RdnaWriter> rdna_;
};

/// What the decoder made of it.
struct Seen {
    std::string pcs; ///< "SALU@1000 VALU@? …"
    bool stitched = false;
    WaveHead head;
    InstructionList list;
    std::vector<WaveRecord::ExcludedBarrierWait> barrier_waits;
    std::vector<OccupancyRecord> occupancy;
    std::map<std::string, std::uint64_t> faults; ///< count of each

    bool operator==(const Seen& other) const {
        return pcs == other.pcs && stitched == other.stitched && faults == other.faults;
    }
};

class SeenSink final : public RecordSink {
  public:
    void wave(const WaveView& view) override {
        if (!view.head.on_target) return;
        const InstructionList& list = view.instructions;
        for (std::size_t i = 0; i < list.size(); ++i) {
            char pc[32] = "?";
            if (view.has_pc[i] != 0)
                std::snprintf(pc, sizeof pc, "%llx",
                              static_cast<unsigned long long>(view.pcs[i].address));
            seen.pcs += (i == 0 ? "" : " ") +
                        std::string(category_name(static_cast<Category>(list.categories[i]))) +
                        "@" + pc;
        }
        seen.stitched = view.stitched;
        seen.head = view.head;
        seen.list = list;
        seen.barrier_waits.assign(view.excluded_barrier_waits.begin(),
                                  view.excluded_barrier_waits.end());
    }
    void occupancies(std::span<const OccupancyRecord> records) override {
        seen.occupancy.insert(seen.occupancy.end(), records.begin(), records.end());
    }
    Seen seen;
};

/// The same for one thread and for three that take sixteen bytes each.
inline Seen decode(const Wave& wave, Listing code_lines) {
    std::vector<Seen> both;
    for (const unsigned threads : {1U, 3U}) {
        CodeMap code(&code_lines, {});
        Diagnostics diagnostics;
        SeenSink sink;
        StreamOptions options;
        options.threads = threads;
        options.part_bytes = threads == 1 ? 0 : 16;
        EXPECT_TRUE(decode_stream(wave.bytes(), options, code, sink, diagnostics));
        for (const Diagnostic& each : diagnostics.list())
            sink.seen.faults[each.kind] = each.count;
        both.push_back(std::move(sink.seen));
    }
    EXPECT_TRUE(both[0] == both[1]) << both[1].pcs;
    return both[0];
}

} // namespace wavetap::decode::test_waves
