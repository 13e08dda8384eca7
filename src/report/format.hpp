// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Small helpers of the text writers.

namespace wavetap::report {

inline constexpr std::size_t kTextColumns = 100;

/// 1234567 -> "1,234,567".
std::string with_commas(std::uint64_t value);
/// 0.3412 -> "34.1%".
std::string as_percent(double share);
/// One decimal and commas: "1,234.5".
std::string with_one_decimal(double value);
/// "1 wave", "2 waves".
std::string counted(std::uint64_t count, std::string_view noun);
/// Cut to `columns` code points, with "…" at the cut.
std::string cut(std::string_view text, std::size_t columns);
/// The same, cut in front: of a path the end matters.
std::string cut_front(std::string_view text, std::size_t columns);
/// Last part of a path.
std::string base_name(std::string_view path);
/// Blanks at both ends removed, tabs to one blank.
std::string trimmed(std::string_view text);
/// Words of `text` broken into lines of at most kTextColumns, later lines indented.
std::string wrapped(std::string_view text, std::size_t indent);

/// A text table. Numbers are right-aligned; the last column takes what is left of the line.
class Table {
  public:
    enum class Align : std::uint8_t { kLeft, kRight };
    struct Column {
        std::string head;
        Align align = Align::kRight;
        std::size_t most = 0; ///< cut at this width; 0 = never (the last column: at the line's end)
        bool flexible = false; ///< gives way (down to 16) when the row would be too long
    };
    explicit Table(std::vector<Column> columns);
    void row(std::vector<std::string> cells);
    bool empty() const { return rows_.empty(); }
    std::string text() const;

  private:
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

} // namespace wavetap::report
