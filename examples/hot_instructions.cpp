// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// The ten instructions of a thread trace that took most clocks, with the C++ interface:
//     c++ -std=c++20 hot_instructions.cpp $(pkg-config --cflags --libs wavetap-decode) -o hot_instructions
//     ./hot_instructions se0.att kernel.elf 0x7f0000001000      (the last two: code and its address)
#include <wavetap/decode.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr std::uint64_t kObject = 1;

std::vector<std::byte> read(const char* path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> chars{std::istreambuf_iterator<char>(file), {}};
    const auto* first = reinterpret_cast<const std::byte*>(chars.data());
    return {first, first + chars.size()};
}

int fail(const wavetap::DecodeError& error) {
    std::fprintf(stderr, "status %d: %s\n", static_cast<int>(error.status), error.message.c_str());
    return 1;
}

/// A visitor: it wants waves and diagnostics, so nothing else is made for it.
struct HotInstructions {
    void wave(const wavetap_wave& wave) {
        ++waves;
        for (const wavetap_instruction& each : wavetap::instructions(wave)) {
            ++executions;
            clocks[each.pc.code_object == kObject ? each.pc.elf_address : 0] += each.duration;
        }
    }
    void diagnostic(const wavetap_diagnostic& fault) {
        std::printf("%s: %s, %llu times: %s %s\n", fault.severity, fault.kind,
                    static_cast<unsigned long long>(fault.count), fault.sentence, fault.advice);
    }
    std::uint64_t waves = 0, executions = 0;
    std::map<std::uint64_t, std::uint64_t> clocks; ///< by address; 0: no code known
};

} // namespace

int main(int argc, char** argv) {
    if (argc != 2 && argc != 4) {
        std::fprintf(stderr, "usage: hot_instructions FILE.att [CODE.elf ADDRESS]\n");
        return 2;
    }
    auto decoder = wavetap::Decoder::create();
    if (!decoder) return fail(decoder.error());
    if (argc == 4) {
        const std::uint64_t base = std::strtoull(argv[3], nullptr, 0);
        if (const auto loaded = decoder->load_code(kObject, base, read(argv[2])); !loaded)
            return fail(loaded.error());
    }
    HotInstructions hot;
    if (const auto done = decoder->decode(read(argv[1]), hot); !done) return fail(done.error());

    std::printf("%llu waves, %llu instructions\n", static_cast<unsigned long long>(hot.waves),
                static_cast<unsigned long long>(hot.executions));
    std::vector<std::pair<std::uint64_t, std::uint64_t>> rows; // clocks, address
    for (const auto& [address, clocks] : hot.clocks)
        rows.emplace_back(clocks, address);
    std::sort(rows.rbegin(), rows.rend());
    rows.resize(std::min<std::size_t>(rows.size(), 10));
    for (const auto& [clocks, address] : rows) {
        const auto text = decoder->text(kObject, address);
        std::printf("%12llu %#8llx %s\n", static_cast<unsigned long long>(clocks),
                    static_cast<unsigned long long>(address), text ? text->c_str() : "?");
    }
    return 0;
}
