// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "report/format.hpp"

#include "base/units.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace wavetap::report {
namespace {

constexpr std::size_t kLeastFlexible = 16;

bool is_continuation(char c) {
    return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

/// Byte offset of code point `index`.
std::size_t offset_of(std::string_view text, std::size_t index) {
    std::size_t offset = 0;
    while (offset < text.size()) {
        if (!is_continuation(text[offset])) {
            if (index == 0) return offset;
            --index;
        }
        ++offset;
    }
    return offset;
}

} // namespace

std::string with_commas(std::uint64_t value) {
    std::string digits = std::to_string(value);
    for (std::ptrdiff_t at = std::ssize(digits) - 3; at > 0; at -= 3)
        digits.insert(static_cast<std::size_t>(at), ",");
    return digits;
}

std::string as_percent(double share) {
    return fmt::format("{:.1f}%", share * 100);
}

std::string with_one_decimal(double value) {
    const auto tenths = static_cast<std::uint64_t>(value * 10 + 0.5);
    return with_commas(tenths / 10) + "." + std::to_string(tenths % 10);
}

std::string counted(std::uint64_t count, std::string_view noun) {
    return with_commas(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string cut(std::string_view text, std::size_t columns) {
    if (width_of(text) <= columns) return std::string(text);
    if (columns == 0) return "";
    return std::string(text.substr(0, offset_of(text, columns - 1))) + "…";
}

std::string cut_front(std::string_view text, std::size_t columns) {
    const std::size_t width = width_of(text);
    if (width <= columns) return std::string(text);
    if (columns == 0) return "";
    return "…" + std::string(text.substr(offset_of(text, width - columns + 1)));
}

std::string base_name(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

std::string trimmed(std::string_view text) {
    std::string result;
    for (const char c : text)
        result += c == '\t' || c == '\r' ? ' ' : c;
    const std::size_t first = result.find_first_not_of(' ');
    if (first == std::string::npos) return "";
    return result.substr(first, result.find_last_not_of(' ') - first + 1);
}

std::string wrapped(std::string_view text, std::size_t indent) {
    std::string result;
    std::size_t used = 0;
    for (const std::string_view word : split(text, ' ')) {
        if (word.empty()) continue;
        const std::size_t width = width_of(word);
        if (used != 0 && used + 1 + width > kTextColumns) {
            result += '\n' + std::string(indent, ' ');
            used = indent;
        } else if (used != 0) {
            result += ' ';
            ++used;
        }
        result += word;
        used += width;
    }
    return result + '\n';
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::row(std::vector<std::string> cells) {
    cells.resize(columns_.size());
    rows_.push_back(std::move(cells));
}

std::string Table::text() const {
    std::vector<std::size_t> widths;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
        std::size_t width = width_of(columns_[c].head);
        for (const auto& row : rows_)
            width = std::max(width, width_of(row[c]));
        if (columns_[c].most != 0) width = std::min(width, columns_[c].most);
        widths.push_back(width);
    }
    std::size_t total = 2 * (widths.size() - 1);
    for (const std::size_t width : widths)
        total += width;
    for (std::size_t c = 0; c < columns_.size(); ++c)
        if (columns_[c].flexible && total > kTextColumns && widths[c] > kLeastFlexible) {
            const std::size_t less = std::min(total - kTextColumns, widths[c] - kLeastFlexible);
            widths[c] -= less;
            total -= less;
        }
    std::string result;
    const auto add = [&](const std::vector<std::string>& cells) {
        std::string line;
        std::size_t used = 0;
        for (std::size_t c = 0; c < cells.size(); ++c) {
            if (c != 0) line += "  ";
            used += c == 0 ? 0 : 2;
            const bool last = c + 1 == cells.size();
            const std::size_t room = kTextColumns > used ? kTextColumns - used : 0;
            const std::string cell = cut(cells[c], last ? room : widths[c]);
            const std::size_t pad = widths[c] - std::min(widths[c], width_of(cell));
            if (columns_[c].align == Align::kRight) line.append(pad, ' ');
            line += cell;
            if (columns_[c].align == Align::kLeft && !last) line.append(pad, ' ');
            used += widths[c];
        }
        while (!line.empty() && line.back() == ' ')
            line.pop_back();
        result += line + '\n';
    };
    std::vector<std::string> heads;
    for (const Column& column : columns_)
        heads.push_back(column.head);
    add(heads);
    for (const auto& row : rows_)
        add(row);
    return result;
}

} // namespace wavetap::report
