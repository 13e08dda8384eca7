// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "report/heat_map.hpp"

#include "report/format.hpp"

#include <algorithm>
#include <string_view>

namespace wavetap::report {

namespace {

constexpr std::string_view kSteps = ".:-=+*#%@"; // rising latency
constexpr std::size_t kMostColumns = 30;         // 3 characters each, and the engine's name

char cell_letter(const HeatCell& cell, std::uint64_t most) {
    if (cell.latency) {
        const std::uint64_t last = kSteps.size() - 1;
        return kSteps[most == 0 ? 0 : static_cast<std::size_t>(*cell.latency * last / most)];
    }
    if (cell.waves != 0) return 'o';
    return cell.requested ? 'x' : ' ';
}

std::string padded(std::string text, std::size_t width) {
    return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

} // namespace

std::vector<HeatMap> heat_maps(const HotSpots& spots) {
    std::vector<HeatMap> maps;
    for (const Coverage& coverage : spots.coverage) {
        HeatMap map;
        map.agent = coverage.agent;
        map.name = coverage.name;
        map.is_wgp = coverage.is_wgp;
        map.covered = coverage.with_detail;
        map.total = coverage.total;
        std::size_t engines = coverage.engines, columns = coverage.units_per_engine;
        std::uint32_t arrays = 1, per_array = 0;
        for (const CuRow& row : spots.by_cu) {
            if (row.agent != coverage.agent) continue;
            engines = std::max<std::size_t>(engines, row.se + 1);
            arrays = std::max(arrays, row.sa + 1);
            per_array = std::max(per_array, row.cu + 1);
        }
        per_array = std::max(per_array, (coverage.units_per_engine + arrays - 1) / arrays);
        for (const CuRow& row : spots.by_cu)
            if (row.agent == coverage.agent)
                columns = std::max<std::size_t>(columns, row.sa * per_array + row.cu + 1);
        map.engines.assign(engines, std::vector<HeatCell>(columns));
        for (const CuRow& row : spots.by_cu) {
            if (row.agent != coverage.agent) continue;
            HeatCell& cell = map.engines[row.se][row.sa * per_array + row.cu];
            cell.requested = row.requested;
            cell.waves = row.waves;
            if (row.sums.hits != 0) cell.latency = row.sums.latency;
        }
        maps.push_back(std::move(map));
    }
    return maps;
}

std::string to_text(const HeatMap& map) {
    const char* unit = map.is_wgp ? "WGP" : "CU";
    std::string text = agent_words(map.agent, map.name) + ": ";
    text += map.total == 0
                ? counted(map.covered, unit)
                : with_commas(map.covered) + "/" + with_commas(map.total) + " " + unit + "s";
    text += " with instruction detail\n";
    const std::size_t columns =
        std::min(kMostColumns, map.engines.empty() ? 0 : map.engines.front().size());
    if (columns == 0) return text;
    std::uint64_t most = 0;
    for (const auto& engine : map.engines)
        for (const HeatCell& cell : engine)
            most = std::max(most, cell.latency.value_or(0));
    text += padded(unit, 7);
    for (std::size_t i = 0; i < columns; ++i)
        text += padded(std::to_string(i), 3);
    text += "\n";
    for (std::size_t se = 0; se < map.engines.size(); ++se) {
        std::string line = "  SE" + padded(std::to_string(se), 3);
        for (std::size_t i = 0; i < columns; ++i)
            line += std::string("  ") + cell_letter(map.engines[se][i], most);
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    text += "  latency: '" + std::string(1, kSteps.front()) + "' least, '" +
            std::string(1, kSteps.back()) + "' " + with_commas(most) +
            " cycles; o waves without detail; x asked for, no wave\n";
    return text;
}

} // namespace wavetap::report
