// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/records.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace wavetap::decode {

/// Cycles of waiting that cost nothing, because another pipe of the SIMD was busy meanwhile.
///
/// The rules are those of AMD's open decoder, so that figures compare. Each SIMD has four pipes:
/// matrix, VALU, vector memory (LDS, VMEM, FLAT) and scalar (SALU, SMEM). An instruction keeps its
/// pipe busy from its issue to its end; intervals of one pipe that touch are added up; a matrix
/// instruction also keeps the VALU busy for three quarters of its time; what other SIMDs do in vector
/// memory counts for every SIMD. For each instruction the time before it (idle), its stall and its
/// issue are intersected with what was busy:
///   matrix           its own pipe or VALU, issue left out
///   VALU             its own pipe (issue left out), or the matrix pipe if that is more
///   vector memory    VALU and matrix, or its own pipe (issue left out) if that is more
///   scalar           VALU, matrix and vector memory, or its own pipe likewise
///   all others       everything
///
/// Keeps every instruction until finish(): 24 bytes each.
class HiddenLatency {
  public:
    /// Where an instruction stands: code object id and address; {0, 0}: not known.
    using Place = std::pair<std::uint64_t, std::uint64_t>;
    struct Row {
        std::uint8_t simd = 0;
        Place place;
        std::int64_t idle = 0, stall = 0, issue = 0; ///< hidden cycles, summed
    };

    void begin_wave(std::uint8_t simd, std::uint64_t start);
    /// Of the wave begun last, in order of time.
    void add(Category category, std::uint64_t time, std::uint32_t duration, std::uint32_t stall,
             Place place, bool is_matrix);
    void add_other_simd(std::uint64_t time, std::uint32_t cycles);
    /// By SIMD, code object and address; places that are not known are left out. Afterwards it is
    /// empty again.
    std::vector<Row> finish();

  private:
    struct Instruction {
        std::int64_t time = 0;
        std::uint32_t cycles = 0; ///< stall included
        std::uint32_t stall = 0;
        std::uint32_t place = 0;
        Category category = Category::kSalu;
        bool is_matrix = false;
    };
    struct Wave {
        std::uint8_t simd = 0;
        std::int64_t start = 0;
        std::vector<Instruction> instructions;
    };
    struct Sums {
        std::int64_t idle = 0, stall = 0, issue = 0;
    };
    void finish_simd(std::uint8_t simd, std::vector<Row>& rows) const;

    std::vector<Wave> waves_;
    std::vector<std::pair<std::int64_t, std::int64_t>> other_simd_; ///< time, cycles
    std::map<Place, std::uint32_t> numbers_;
    std::vector<Place> places_;
};

} // namespace wavetap::decode
