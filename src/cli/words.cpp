// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/words.hpp"

#include "base/units.hpp"

#include <fmt/core.h>

#include <utility>

namespace wavetap::cli {

std::string count_of(std::uint64_t count, std::string_view thing) {
    std::string text = grouped(count) + " " + std::string(thing);
    if (count == 1) return text;
    const bool hisses = thing.ends_with("ch") || thing.ends_with("s");
    return text + (hisses ? "es" : "s");
}

std::string grouped(std::uint64_t value) {
    std::string text = std::to_string(value);
    for (std::size_t from_end = 3; from_end < text.size(); from_end += 4)
        text.insert(text.size() - from_end, ",");
    return text;
}

std::string size_text(std::uint64_t bytes) {
    for (const auto& [unit, name] :
         {std::pair{kGiB, "GiB"}, std::pair{kMiB, "MiB"}, std::pair{kKiB, "KiB"}}) {
        if (bytes >= unit)
            return fmt::format("{:.1f} {}", static_cast<double>(bytes) / static_cast<double>(unit),
                               name);
    }
    return fmt::format("{} B", bytes);
}

std::string bits_text(std::uint64_t mask) {
    std::string text;
    for (unsigned bit = 0; bit < 64; ++bit) {
        if ((mask >> bit & 1) == 0) continue;
        const unsigned first = bit;
        while (bit < 63 && (mask >> (bit + 1) & 1) != 0)
            ++bit;
        if (!text.empty()) text += ",";
        text += std::to_string(first);
        if (bit != first) text += (bit == first + 1 ? "," : "-") + std::to_string(bit);
    }
    return text.empty() ? "-" : text;
}

} // namespace wavetap::cli
