// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/code_map.hpp"
#include "decode/instruction_list.hpp"
#include "sqtt/header.hpp"

#include <cstdint>
#include <vector>

namespace wavetap::decode {

/// Gives each instruction of a wave its program counter: walks the code from the wave's entry and
/// lets each token take the next line it can stand for. Reuses its memory from wave to wave.
class Stitcher {
  public:
    /// `max_pages`: of its LineCache.
    Stitcher(const sqtt::Header& header, CodeMap& code, std::size_t max_pages)
        : header_(header), code_(code, max_pages) {}

    /// May swap, lengthen or insert instructions where the rules of the format say so.
    void run(InstructionList& list, const AnchorList& anchors, std::vector<TimelinePiece>& timeline,
             std::uint64_t wave_start);

    /// gfx12 without tokens for s_barrier_wait: put an immediate where one must have been.
    bool insert_barrier_waits = false;

    // Results of the last run.
    std::vector<PcRef> pcs;
    std::vector<std::uint8_t> has_pc;
    std::vector<WaveRecord::ExcludedBarrierWait> barrier_waits;
    bool complete = false; ///< every instruction has a program counter, and none is a guess
    std::uint32_t lines_without_token = 0;
    std::uint32_t mismatches = 0; ///< instructions placed on a line of another kind
    std::uint64_t placed = 0;
    std::uint64_t without_pc =
        0;                      ///< instructions without one; traps, which have none, are left out
    std::uint64_t missing = 0;  ///< the same, but 0 for a wave without anchors
    std::vector<PcRef> unknown; ///< lines where the wave came to bytes that are no instruction

  private:
    void insert_waits(InstructionList& list, std::vector<TimelinePiece>& timeline,
                      std::uint64_t wave_start);
    struct Cursor;
    std::size_t run_plain(const InstructionList& list, Cursor& cursor, std::size_t i);
    bool run_in_page(const InstructionList& list, const LineCache::Slot* page, Cursor& cursor,
                     PcRef& at, std::size_t& next, unsigned& skipped);
    enum class Step : std::uint8_t { kPlaced, kNextLine, kGiveUp };
    Step step(InstructionList& list, Cursor& cursor, const CodeLine& line, std::size_t& i);
    void place(std::size_t i, PcRef pc);
    void forget(Cursor& cursor, std::size_t i);
    bool take_barrier(const InstructionList& list, Cursor& cursor, const CodeLine& line,
                      std::size_t& i);
    void stretch_matrix(InstructionList& list, std::size_t i);
    unsigned run_length(const InstructionList& list, std::size_t i, PcRef pc, std::size_t end);
    bool skips_barrier_wait(const InstructionList& list, const Cursor& cursor, const CodeLine& line,
                            std::size_t i);

    sqtt::Header header_;
    LineCache code_;
};

} // namespace wavetap::decode
