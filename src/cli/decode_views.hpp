// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/decoder.hpp"
#include "report/code_table.hpp"
#include "store/pieces.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
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

/// Prints a blob to stdout, part by part.
class ViewPrinter {
  public:
    ViewPrinter(DecodeView view, bool json, InstructionTexts& texts)
        : view_(view), json_(json), texts_(&texts) {}
    /// The line above the rows; the generation is known.
    void begin(const decode::BlobRecords& records) const;
    /// What was found in the next bytes. Tokens are not told here.
    void part(const decode::BlobRecords& records);
    /// The end: diagnostics.
    void end(const decode::BlobRecords& records) const;

  private:
    DecodeView view_;
    bool json_;
    InstructionTexts* texts_;
    std::size_t wave_ = 0; ///< number of the next one
};

/// Prints the tokens of a blob up to byte `used_bytes`, where the zero padding of its end begins.
Result<void> print_tokens(store::PieceReader& reader, std::uint64_t used_bytes, bool json);

} // namespace wavetap::cli
