// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "sqtt/evidence.hpp"
#include "sqtt/header.hpp"
#include "sqtt/reader.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <regex>
#include <string>
#include <vector>

// usage: sqtt_tables evidence TRACES [--like PAGE]
//        sqtt_tables dictionary
// Prints docs/formats/evidence.md or fuzz/tokens.dict. TRACES holds CHIP/TRACE/se*.att of real
// hardware; with --like only the traces that an earlier page lists are counted.

namespace {

namespace fs = std::filesystem;
using namespace wavetap::sqtt;

constexpr const char* kChips[] = {"gfx950", "gfx1100", "gfx1200"};

std::vector<char> read_file(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> traces_in(const fs::path& root) {
    std::vector<std::string> traces;
    for (const char* chip : kChips) {
        if (!fs::exists(root / chip)) continue;
        for (const auto& entry : fs::directory_iterator(root / chip))
            traces.push_back(std::string(chip) + "/" + entry.path().filename().string());
    }
    std::sort(traces.begin(), traces.end());
    return traces;
}

std::vector<std::string> traces_of_page(const fs::path& page) {
    const auto chars = read_file(page);
    const std::string text(chars.begin(), chars.end());
    const std::regex trace("`(gfx[0-9]+/[A-Za-z0-9_]+)`");
    std::vector<std::string> traces;
    for (std::sregex_iterator it(text.begin(), text.end(), trace), end; it != end; ++it)
        traces.push_back((*it)[1]);
    return traces;
}

bool count_blob(const fs::path& path, SiliconCounts& counts) {
    const auto chars = read_file(path);
    std::uint64_t raw = 0;
    if (chars.size() < sizeof raw) return false;
    std::memcpy(&raw, chars.data(), sizeof raw);
    const auto header = parse_header(raw);
    if (!header) return false;
    const Generation generation = header->generation;
    TokenReader reader(generation, std::as_bytes(std::span(chars)),
                       generation == Generation::kGfx9 ? 64 : 0);
    for (Token token; reader.next(token);)
        ++counts.tokens[static_cast<std::size_t>(generation)][static_cast<std::size_t>(token.type)];
    ++counts.blobs;
    return true;
}

/// What the tables claim about silicon must be what the traces show.
bool agrees_with_tables(const SiliconCounts& counts) {
    bool good = true;
    for (const Generation generation :
         {Generation::kGfx9, Generation::kGfx11, Generation::kGfx12}) {
        for (const TokenRow& row : token_rows(generation)) {
            const bool seen = counts.of(generation, row.type) != 0;
            if (seen == (row.evidence == Evidence::kSilicon)) continue;
            std::fprintf(stderr, "%s %s: its row says \"%s\", the traces hold %s\n",
                         generation_name(generation), row.name, evidence_name(row.evidence),
                         seen ? "some" : "none");
            good = false;
        }
    }
    return good;
}

int evidence(const fs::path& root, const std::optional<fs::path>& page) {
    SiliconCounts counts;
    counts.traces = page ? traces_of_page(*page) : traces_in(root);
    if (counts.traces.empty()) {
        std::fprintf(stderr, "no traces: %s has no CHIP/TRACE folders, or the page lists none\n",
                     root.c_str());
        return 1;
    }
    for (const std::string& trace : counts.traces) {
        std::size_t blobs = 0;
        if (fs::exists(root / trace)) {
            for (const auto& entry : fs::directory_iterator(root / trace)) {
                if (entry.path().extension() != ".att") continue;
                if (!count_blob(entry.path(), counts)) {
                    std::fprintf(stderr, "%s: no thread trace\n", entry.path().c_str());
                    return 1;
                }
                ++blobs;
            }
        }
        if (blobs == 0) {
            std::fprintf(stderr, "%s: no blobs in %s\n", trace.c_str(), root.c_str());
            return 77;
        }
    }
    std::fputs(evidence_markdown(counts).c_str(), stdout);
    return agrees_with_tables(counts) ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "dictionary" && argc == 2) {
        std::fputs(fuzz_dictionary().c_str(), stdout);
        return 0;
    }
    if (what == "evidence" && argc == 3) return evidence(argv[2], {});
    if (what == "evidence" && argc == 5 && std::string(argv[3]) == "--like")
        return evidence(argv[2], argv[4]);
    std::fprintf(stderr, "usage: sqtt_tables evidence TRACES [--like PAGE] | dictionary\n");
    return 2;
}
