// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "report/speedscope.hpp"

#include "base/units.hpp"

#include <nlohmann/json.hpp>

#include <map>
#include <tuple>

namespace wavetap::report {
namespace {

using json = nlohmann::ordered_json;

class Frames {
  public:
    std::size_t of(const std::string& name, const std::string& file, std::uint32_t line) {
        const auto [found, is_new] = numbers_.emplace(std::tuple{name, file, line}, list_.size());
        if (is_new) {
            json frame = {{"name", name}};
            if (!file.empty()) {
                frame["file"] = file;
                frame["line"] = line;
            }
            list_.push_back(std::move(frame));
        }
        return found->second;
    }
    json take() { return std::move(list_); }

  private:
    std::map<std::tuple<std::string, std::string, std::uint32_t>, std::size_t> numbers_;
    json list_ = json::array();
};

std::string position(const code::SourceLine& line) {
    return line.file.substr(line.file.find_last_of('/') + 1) + ":" + std::to_string(line.line);
}

json stack_of(const InstructionRow& row, Frames& frames) {
    json stack = json::array();
    stack.push_back(frames.of(row.function.empty() ? "no function" : row.function, "", 0));
    for (auto line = row.source.rbegin(); line != row.source.rend(); ++line)
        stack.push_back(frames.of(position(*line), line->file, line->line));
    stack.push_back(frames.of(format_hex(row.place.elf_address) + " " + row.text, "", 0));
    return stack;
}

} // namespace

std::string to_speedscope(const HotSpots& spots) {
    Frames frames;
    json profiles = json::array();
    for (const bool stall : {false, true}) {
        json samples = json::array();
        json weights = json::array();
        std::uint64_t sum = 0;
        for (const InstructionRow& row : spots.by_instruction) {
            const std::uint64_t weight = stall ? row.sums.stall : row.sums.latency;
            if (weight == 0) continue;
            samples.push_back(stack_of(row, frames));
            weights.push_back(weight);
            sum += weight;
        }
        profiles.push_back({{"type", "sampled"},
                            {"name", std::string(stall ? "stall" : "latency") +
                                         ", shader clocks (" + spots.timing + ")"},
                            {"unit", "none"},
                            {"startValue", 0},
                            {"endValue", sum},
                            {"samples", std::move(samples)},
                            {"weights", std::move(weights)}});
    }
    const json file = {{"$schema", "https://www.speedscope.app/file-format-schema.json"},
                       {"exporter", "wavetap"},
                       {"name", "wavetap"},
                       {"activeProfileIndex", 0},
                       {"shared", {{"frames", frames.take()}}},
                       {"profiles", std::move(profiles)}};
    return file.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace wavetap::report
