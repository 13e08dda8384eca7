// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "sqtt/table.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace wavetap::sqtt {

/// Tokens counted in traces of real hardware.
struct SiliconCounts {
    std::array<std::array<std::uint64_t, kTokenTypeCount>, kGenerationCount> tokens{};
    std::vector<std::string> traces; ///< "gfx1100/gemm_0", what was counted
    std::uint64_t blobs = 0;

    std::uint64_t of(Generation generation, TokenType type) const {
        return tokens[static_cast<std::size_t>(generation)][static_cast<std::size_t>(type)];
    }
};

/// True for tokens that the software GPU's trace unit writes (it models gfx90a).
bool model_writes(Generation generation, TokenType type) noexcept;

/// docs/formats/evidence.md: for every token of every generation, how we know it.
std::string evidence_markdown(const SiliconCounts& counts);

/// fuzz/tokens.dict: every token of every generation and the headers, in libFuzzer's format.
std::string fuzz_dictionary();

} // namespace wavetap::sqtt
