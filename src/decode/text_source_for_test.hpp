// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/code_map.hpp"

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace wavetap::decode {

/// Lines of code from a listing: hex address, size, text.
class TextSource final : public CodeSource {
  public:
    TextSource(const std::filesystem::path& path, bool is_gfx12) {
        std::ifstream file(path);
        for (std::string row; std::getline(file, row);) {
            std::istringstream words(row);
            std::string address, size, text;
            words >> address >> size;
            std::getline(words >> std::ws, text);
            lines_[std::stoull(address, nullptr, 16)] =
                line_from_text(text, static_cast<std::uint32_t>(std::stoul(size)), is_gfx12);
        }
    }
    CodeLine fetch(std::uint64_t, std::uint64_t address) override {
        const auto line = lines_.find(address);
        return line == lines_.end() ? CodeLine{} : line->second;
    }
    bool knows(std::uint64_t) const override { return true; }

  private:
    std::map<std::uint64_t, CodeLine> lines_;
};

} // namespace wavetap::decode
