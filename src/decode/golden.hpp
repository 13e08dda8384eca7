// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/decoder.hpp"

#include <cstdint>
#include <string>

namespace wavetap::decode {

/// What the records themselves do not know about the file.
struct GoldenInfo {
    std::string blob;         ///< file name
    std::int64_t engine = -1; ///< shader engine; -1: taken from a name "seN.att", else left out
    std::uint64_t bytes = 0;  ///< size of the file
};

/// One JSON object (one line, no newline at the end) with the keys of the golden files of real
/// traces: header, token counts, waves with instructions, dispatches, register writes, …
/// Program counters of instructions are ELF addresses where a code object covers them.
std::string golden_json(const BlobRecords& records, const GoldenInfo& info);

} // namespace wavetap::decode
