// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "report/hot_spots.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// Shader engine x CU (gfx10 and later: WGP) of each agent: where instructions were recorded, and
// where their latency went. What `report --by cu` shows above its table.

namespace wavetap::report {

struct HeatCell {
    bool requested = false;
    std::uint64_t waves = 0;
    std::optional<std::uint64_t> latency; ///< nothing: no instruction of this CU was recorded
};

struct HeatMap { ///< of one agent
    std::uint32_t agent = 0;
    std::string name;
    bool is_wgp = false;
    std::uint64_t covered = 0, total = 0;       ///< with instruction detail, of all working ones
    std::vector<std::vector<HeatCell>> engines; ///< by engine and number
};

/// Shader arrays of an engine stand side by side.
std::vector<HeatMap> heat_maps(const HotSpots& spots);
/// "104/104 CUs with instruction detail", the map and its legend; at most 100 columns.
std::string to_text(const HeatMap& map);

} // namespace wavetap::report
