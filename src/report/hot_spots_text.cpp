// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/units.hpp"
#include "report/format.hpp"
#include "report/heat_map.hpp"
#include "report/hot_spots.hpp"
#include "report/timing.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace wavetap::report {
namespace {

using Align = Table::Align;

constexpr std::size_t kMostProblems = 8;

std::string position(const InstructionRow& row) {
    if (row.source.empty()) return "";
    const code::SourceLine& line = row.source[row.shown];
    return base_name(line.file) + ":" + std::to_string(line.line);
}

std::string unit_of(bool is_wgp) {
    return is_wgp ? "WGP" : "CU";
}

bool any_wgp(const HotSpots& spots) {
    return std::any_of(spots.coverage.begin(), spots.coverage.end(),
                       [](const Coverage& coverage) { return coverage.is_wgp; });
}

std::string coverage_line(const Coverage& coverage) {
    const std::string unit = unit_of(coverage.is_wgp);
    return agent_words(coverage.agent, coverage.name) + ": detail on " +
           (coverage.total == 0 ? counted(coverage.with_detail, unit)
                                : with_commas(coverage.with_detail) + " of " +
                                      with_commas(coverage.total) + " " + unit + "s") +
           ", " + with_commas(coverage.requested) + " requested, waves seen on " +
           with_commas(coverage.with_waves) + "\n";
}

std::string summary(const HotSpots& spots) {
    std::string text = timing_line(spots.timing);
    text += counted(spots.contexts, "context") + ", " + counted(spots.runs, "run") + ", " +
            counted(spots.blobs, "engine recording") + ", " + with_commas(spots.bytes) + " bytes\n";
    for (const Coverage& coverage : spots.coverage)
        text += coverage_line(coverage);
    text += counted(spots.waves, "wave") + " seen, " + with_commas(spots.waves_on_target) +
            " on a target; " + counted(spots.instructions, "instruction") + ", latency " +
            with_commas(spots.latency) + " cycles\n";
    if (spots.instructions_foreign != 0)
        text += wrapped(counted(spots.instructions_foreign, "instruction") +
                            " of code in no recorded code object (runtime kernels, other programs)",
                        2);
    if (spots.instructions_without_pc != 0)
        text += wrapped(counted(spots.instructions_without_pc, "instruction") +
                            " could not be matched to a line of the program",
                        2);
    for (const Fault& fault : spots.faults) {
        if (fault.severity == "info") continue;
        text += wrapped(fault.severity + ": " + fault.kind + " x " + with_commas(fault.count) +
                            " in " + counted(fault.blobs, "recording") + ". " + fault.advice,
                        2);
    }
    for (std::size_t i = 0; i < std::min(spots.problems.size(), kMostProblems); ++i)
        text += wrapped("note: " + spots.problems[i], 2);
    if (spots.problems.size() > kMostProblems)
        text += "note: and " + std::to_string(spots.problems.size() - kMostProblems) +
                " more; see --json\n";
    return text;
}

std::vector<std::string> cells_of(const Sums& sums, double share) {
    return {as_percent(share), with_commas(sums.hits), with_commas(sums.latency),
            with_one_decimal(sums.mean_latency()), with_commas(sums.stall)};
}

std::vector<Table::Column> columns_then(std::vector<Table::Column> more) {
    std::vector<Table::Column> columns = {{"share"}, {"hits"}, {"latency"}, {"mean"}, {"stall"}};
    for (Table::Column& column : more)
        columns.push_back(std::move(column));
    return columns;
}

std::vector<std::string> joined(std::vector<std::string> cells, std::vector<std::string> more) {
    for (std::string& cell : more)
        cells.push_back(std::move(cell));
    return cells;
}

/// The lines that the rows above point at, each once, in the order of the rows.
std::string source_legend(const std::vector<const InstructionRow*>& rows) {
    std::set<std::string> seen;
    std::string text;
    for (const InstructionRow* row : rows) {
        const std::string place = position(*row);
        if (row->source_text.empty() || !seen.insert(place).second) continue;
        text += cut("  " + place + "  " + row->source_text, kTextColumns) + "\n";
    }
    return text.empty() ? "" : "source lines:\n" + text;
}

std::string instruction_table(const HotSpots& spots, std::size_t rows) {
    std::map<std::string, std::vector<const InstructionRow*>> functions;
    std::vector<std::string> order;
    std::map<std::string, double> shares;
    for (const InstructionRow& row : spots.by_instruction)
        shares[row.function] += row.share;
    for (std::size_t i = 0; i < std::min(rows, spots.by_instruction.size()); ++i) {
        const InstructionRow& row = spots.by_instruction[i];
        auto& list = functions[row.function];
        if (list.empty()) order.push_back(row.function);
        list.push_back(&row);
    }
    std::string text;
    for (const std::string& name : order) {
        const auto& list = functions[name];
        text += "\n" +
                cut((name.empty() ? "(no symbol)" : name) + ": " + as_percent(shares[name]) +
                        " of all latency",
                    kTextColumns) +
                "\n";
        const bool any_source = std::any_of(list.begin(), list.end(),
                                            [](const auto* row) { return !row->source.empty(); });
        std::vector<Table::Column> more = {{"address"}, {"instruction", Align::kLeft}};
        if (any_source) {
            more[1].flexible = true;
            more.push_back({"source", Align::kLeft});
        }
        Table table(columns_then(std::move(more)));
        for (const InstructionRow* row : list)
            table.row(joined(cells_of(row->sums, row->share),
                             {format_hex(row->place.elf_address), row->text, position(*row)}));
        text += table.text() + source_legend(list);
    }
    return text;
}

std::string line_table(const HotSpots& spots, std::size_t rows) {
    Table table(columns_then({{"source", Align::kLeft, 28}, {"text", Align::kLeft}}));
    for (std::size_t i = 0; i < std::min(rows, spots.by_line.size()); ++i) {
        const LineRow& row = spots.by_line[i];
        const std::string place =
            row.file.empty() ? "(no line)" : base_name(row.file) + ":" + std::to_string(row.line);
        table.row(joined(cells_of(row.sums, row.share), {cut_front(place, 28), row.source_text}));
    }
    return "\n" + table.text();
}

std::string kernel_table(const HotSpots& spots, std::size_t rows) {
    Table table(columns_then({{"waves"}, {"target"}, {"cycles/wave"}, {"kernel", Align::kLeft}}));
    for (std::size_t i = 0; i < std::min(rows, spots.by_kernel.size()); ++i) {
        const KernelRow& row = spots.by_kernel[i];
        const double mean = row.waves_on_target == 0 ? 0
                                                     : static_cast<double>(row.wave_cycles) /
                                                           static_cast<double>(row.waves_on_target);
        table.row(joined(cells_of(row.sums, row.share),
                         {with_commas(row.waves), with_commas(row.waves_on_target),
                          with_one_decimal(mean), row.demangled}));
    }
    return "\n" + table.text();
}

std::string wave_table(const HotSpots& spots, std::size_t rows) {
    // gfx10 and later have shader arrays, which gfx9 has not.
    const bool arrays = any_wgp(spots);
    Table table(columns_then({{"run"},
                              {arrays ? "SE/SA/WGP/SIMD/slot" : "SE/CU/SIMD/slot", Align::kLeft},
                              {"start"},
                              {"cycles"},
                              {"kernel", Align::kLeft}}));
    for (std::size_t i = 0; i < std::min(rows, spots.by_wave.size()); ++i) {
        const WaveRow& row = spots.by_wave[i];
        const std::string place = std::to_string(row.se) + "/" +
                                  (arrays ? std::to_string(row.sa) + "/" : "") +
                                  std::to_string(row.cu) + "/" + std::to_string(row.simd) + "/" +
                                  std::to_string(row.slot);
        const std::string cycles =
            row.complete ? with_commas(row.end - row.start) : std::string("open");
        table.row(
            joined(cells_of(row.sums, row.share),
                   {std::to_string(row.run), place, with_commas(row.start), cycles, row.kernel}));
    }
    return "\n" + table.text();
}

std::string cu_table(const HotSpots& spots, std::size_t rows) {
    const bool any_sa = std::any_of(spots.by_cu.begin(), spots.by_cu.end(),
                                    [](const CuRow& row) { return row.sa != 0; });
    std::vector<Table::Column> more = {{"agent"}, {"SE"}};
    if (any_sa) more.push_back({"SA"});
    for (const std::string& head :
         {unit_of(any_wgp(spots)), std::string("waves"), std::string("target")})
        more.push_back({head});
    more.push_back({"requested", Align::kLeft});
    Table table(columns_then(std::move(more)));
    for (std::size_t i = 0; i < std::min(rows, spots.by_cu.size()); ++i) {
        const CuRow& row = spots.by_cu[i];
        std::vector<std::string> cells = {std::to_string(row.agent), std::to_string(row.se)};
        if (any_sa) cells.push_back(std::to_string(row.sa));
        cells = joined(std::move(cells),
                       {std::to_string(row.cu), with_commas(row.waves),
                        with_commas(row.waves_on_target), row.requested ? "yes" : "no"});
        table.row(joined(cells_of(row.sums, row.share), std::move(cells)));
    }
    return "\n" + table.text();
}

} // namespace

std::string agent_words(std::uint32_t agent, const std::string& name) {
    return "agent " + std::to_string(agent) + " (" + (name.empty() ? "unknown chip" : name) + ")";
}

Result<View> parse_view(std::string_view word) {
    if (word == "inst") return View::kInstruction;
    if (word == "line") return View::kLine;
    if (word == "kernel") return View::kKernel;
    if (word == "wave") return View::kWave;
    if (word == "cu") return View::kCu;
    return Error{ErrorCode::kInvalidArgument, "no view '" + std::string(word) + "'", "",
                 "one of: inst, line, kernel, wave, cu"};
}

std::string to_text(const HotSpots& spots, View view, std::size_t rows) {
    if (rows == 0) rows = static_cast<std::size_t>(-1);
    std::string text = summary(spots);
    if (spots.instructions == 0 && view != View::kKernel && view != View::kCu)
        return text + wrapped("no instruction was recorded: no wave ran on a target; see "
                              "`wavetap health`",
                              2);
    switch (view) {
    case View::kInstruction:
        return text + instruction_table(spots, rows);
    case View::kLine:
        return text + line_table(spots, rows);
    case View::kKernel:
        return text + kernel_table(spots, rows);
    case View::kWave:
        return text + wave_table(spots, rows);
    case View::kCu:
        for (const HeatMap& map : heat_maps(spots))
            text += "\n" + to_text(map);
        return text + cu_table(spots, rows);
    }
    return text;
}

} // namespace wavetap::report
