// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "report/stats_csv.hpp"

#include <algorithm>
#include <vector>

namespace wavetap::report {
namespace {

std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"') result += '"';
        result += c == '\n' || c == '\r' ? ' ' : c;
    }
    return result + '"';
}

std::string source_chain(const InstructionRow& row) {
    std::string text;
    for (const code::SourceLine& line : row.source)
        text += (text.empty() ? "" : " -> ") + line.file + ":" + std::to_string(line.line);
    return text;
}

void add_row(std::string& csv, CodePlace place, const std::string& text, const Sums& sums,
             const std::string& source) {
    csv += std::to_string(place.object + 1) + ',' + std::to_string(place.elf_address) + ',' +
           quoted(text) + ',' + std::to_string(sums.hits) + ',' + std::to_string(sums.latency) +
           ',' + std::to_string(sums.stall) + ',' + std::to_string(sums.idle) + ',' +
           quoted(source) + '\n';
}

} // namespace

std::string to_stats_csv(const HotSpots& spots, const CodeTable& code) {
    std::vector<const InstructionRow*> rows;
    for (const InstructionRow& row : spots.by_instruction)
        rows.push_back(&row);
    std::sort(rows.begin(), rows.end(),
              [](const InstructionRow* a, const InstructionRow* b) { return a->place < b->place; });
    std::string csv = "CodeObj,Vaddr,Instruction,Hitcount,Latency,Stall,Idle,Source\n";
    const code::Symbol* current = nullptr;
    for (const InstructionRow* row : rows) {
        const code::Symbol* function = code.function(row->place);
        if (function != nullptr && function != current)
            add_row(csv, {row->place.object, function->address}, "; " + function->name, {},
                    function->demangled);
        current = function;
        add_row(csv, row->place, row->text, row->sums, source_chain(*row));
    }
    return csv;
}

} // namespace wavetap::report
