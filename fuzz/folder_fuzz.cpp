// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "fuzz/check.hpp"
#include "report/foreign.hpp"
#include "store/trace_folder.hpp"
#include "tests/support/temp_folder.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

// Folders of other tools. The first byte chooses between a rocprofv3 folder and a plain one; the text up
// to the first zero byte is a name of a trace file, the next one the JSON, the rest goes into the trace.

namespace {

namespace fs = std::filesystem;
using namespace wavetap;
using fuzz::check;

/// One folder for the whole run, removed at its end.
const fs::path& root() {
    static const test::TempFolder folder;
    static const fs::path path = folder.path();
    return path;
}

void write(const fs::path& path, std::string_view text) {
    std::ofstream(path, std::ios::binary) << text;
}

std::string_view take(std::string_view& rest) {
    const std::size_t end = std::min(rest.find('\0'), rest.size());
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return part;
}

/// A file name that stays in the folder.
std::string safe_name(std::string_view name) {
    std::string out(name.substr(0, 100));
    for (char& c : out) {
        if (c == '/' || static_cast<unsigned char>(c) < 32) c = '_';
    }
    return out.empty() || out == "." || out == ".." ? "x" : out;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    std::string_view rest(reinterpret_cast<const char*>(data + 1), size - 1);
    const std::string_view name = take(rest);
    const std::string_view json = take(rest);
    report::AttName parsed;
    const bool named = report::parse_att_name(name, parsed);
    const fs::path folder = root() / "trace";
    fs::create_directories(folder);
    const bool plain = (data[0] & 1) != 0;
    write(folder / (safe_name(name) + ((data[0] & 2) != 0 ? ".att" : "")), rest);
    if (plain) {
        write(folder / "se0.att", rest);
        write(folder / "code.elf", rest);
        write(folder / "meta.json", json);
    } else {
        write(folder / "42_77_shader_engine_0_5.att", rest);
        write(folder / "42_gfx950_code_object_id_3.out", rest);
        write(folder / (named ? parsed.prefix.substr(0, 20) : "42").append("_results.json").c_str(),
              json);
        write(folder / "42_results.json", json);
    }
    const auto opened = report::open_any(folder.string());
    if (opened) {
        for (const store::ProcessTrace& process : opened->processes) {
            for (const auto& run : process.runs) {
                for (const store::ChunkInfo& chunk : run.chunks)
                    (void)store::read_chunk(process, chunk);
            }
        }
    } else {
        check(!opened.error().message.empty());
    }
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    return 0;
}
