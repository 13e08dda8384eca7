// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/decoder.hpp"
#include "report/code_table.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>

// How `wavetap decode` shows the records of one blob: text, or one JSON object a line.

namespace wavetap::cli {

enum class DecodeView : std::uint8_t { kTokens, kEvents, kWaves, kInstructions };

/// Finds the text of instructions; of a trace folder or of one file.
class InstructionTexts {
  public:
    /// `process` null: every code object of a Pc is number 0 of `table`.
    InstructionTexts(report::CodeTable& table, const store::ProcessTrace* process)
        : table_(table), process_(process) {}
    /// "" where no code is known.
    std::string text(const decode::Pc& pc);
    std::string function(const decode::Pc& pc);

  private:
    std::optional<report::CodePlace> place(const decode::Pc& pc) const;

    report::CodeTable& table_;
    const store::ProcessTrace* process_;
};

/// Prints to stdout. `bytes` are those that `records` came from.
void print_view(DecodeView view, bool json, const decode::BlobRecords& records,
                std::span<const std::byte> bytes, InstructionTexts& texts);

} // namespace wavetap::cli
