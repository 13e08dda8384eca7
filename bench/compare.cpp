// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// Times two libraries with the C ABI of rocprof-trace-decoder on the same long traces in one run: one
// that is named, and wavetap's. usage:
//   compare --decoder OTHER.so [--ours OURS.so] [--mb N] [--rounds N] [--code ELF --base ADDR]
//           FILE.att...
// Each FILE.att is repeated to N megabytes (10^6; default 64). Both libraries get instruction text
// from the same cache, filled from ELF. A round decodes with one library, then with the other; the
// best round counts. Prints MB/s, the ratio, and what each library delivered; ends with status 1 if
// the counts of waves or instructions differ.

#include "base/units.hpp"
#include "code/code_object.hpp"
#include "code/disassembler.hpp"
#include "compat/abi.hpp"
#include "decode/long_trace.hpp"
#include "sqtt/header.hpp"

#include <dlfcn.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

namespace {

using namespace wavetap;
using namespace wavetap::compat;

using Bytes = std::vector<std::byte>;
using ParseData = Status (*)(SeDataCallback, RecordCallback, IsaCallback, void*);

struct Options {
    std::string other, ours, code;
    std::uint64_t base = 0;
    std::uint64_t megabytes = 64, rounds = 3;
    std::vector<std::string> files;
};

struct Counts {
    std::uint64_t waves = 0, instructions = 0, with_pc = 0, occupancy = 0, events = 0,
                  dispatches = 0;
};

/// Text of the program, disassembled once.
class Program {
  public:
    static std::optional<Program> load(const std::string& path, std::uint64_t base) {
        Program program;
        if (path.empty()) return program;
        auto object = code::CodeObject::load(path);
        if (!object) {
            std::fprintf(stderr, "%s\n", to_string(object.error()).c_str());
            return std::nullopt;
        }
        auto disassembler = code::Disassembler::create(object->gfx());
        if (!disassembler) {
            std::fprintf(stderr, "%s\n", to_string(disassembler.error()).c_str());
            return std::nullopt;
        }
        for (const code::Symbol& function : object->functions()) {
            for (std::uint64_t at = function.address;
                 at < function.address + function.size_bytes;) {
                const auto line = disassembler->decode(object->bytes_at(at), at);
                if (!line || line->size_bytes == 0) {
                    at += 4;
                    continue;
                }
                program.lines_.emplace(base + at, Line{line->text, line->size_bytes});
                at += line->size_bytes;
            }
        }
        return program;
    }
    Status text(char* out, std::uint64_t* size_bytes, std::uint64_t* room, Pc pc) const {
        const auto found = lines_.find(pc.address);
        if (found == lines_.end()) return kInvalidArgument;
        const Line& line = found->second;
        const bool fits = line.text.size() <= *room;
        *room = line.text.size();
        if (!fits) return kOutOfResources;
        std::memcpy(out, line.text.data(), line.text.size());
        *size_bytes = line.size_bytes;
        return kSuccess;
    }

  private:
    struct Line {
        std::string text;
        std::uint64_t size_bytes = 0;
    };
    std::unordered_map<std::uint64_t, Line> lines_;
};

struct Job {
    Bytes* bytes = nullptr;
    const Program* program = nullptr;
    std::uint64_t left = 0;
    Counts counts;
};

std::uint64_t next_buffer(std::uint8_t** data, std::uint64_t* size, void* user) {
    auto* job = static_cast<Job*>(user);
    *data = reinterpret_cast<std::uint8_t*>(job->bytes->data());
    *size = job->left;
    return std::exchange(job->left, 0);
}

Status isa(char* text, std::uint64_t* size_bytes, std::uint64_t* room, Pc pc, void* user) {
    return static_cast<Job*>(user)->program->text(text, size_bytes, room, pc);
}

Status record(RecordType type, void* records, std::uint64_t count, void* user) {
    Counts& counts = static_cast<Job*>(user)->counts;
    switch (type) {
    case kOccupancy:
        counts.occupancy += count;
        break;
    case kEvent:
        counts.events += count;
        break;
    case kDispatch:
        counts.dispatches += count;
        break;
    case kWave: {
        const auto* waves = static_cast<const Wave*>(records);
        counts.waves += count;
        for (std::uint64_t i = 0; i < count; ++i) {
            counts.instructions += waves[i].instruction_count;
            for (std::uint64_t j = 0; j < waves[i].instruction_count; ++j)
                counts.with_pc += waves[i].instructions[j].pc.address != 0;
        }
        break;
    }
    default:
        break;
    }
    return kSuccess;
}

struct Library {
    std::string name;
    ParseData parse = nullptr;
    double best_seconds = 0;
    Counts counts;
};

bool open_library(const std::string& path, Library& library) {
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        std::fprintf(stderr, "compare: %s\n", dlerror());
        return false;
    }
    library.name = path;
    library.parse = reinterpret_cast<ParseData>(dlsym(handle, "rocprof_trace_decoder_parse_data"));
    if (library.parse != nullptr) return true;
    std::fprintf(stderr, "compare: %s has no rocprof_trace_decoder_parse_data\n", path.c_str());
    return false;
}

bool decode_once(Library& library, Bytes& bytes, const Program& program) {
    Job job{&bytes, &program, bytes.size(), {}};
    const auto start = std::chrono::steady_clock::now();
    const Status status = library.parse(next_buffer, record, isa, &job);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (status != kSuccess) {
        std::fprintf(stderr, "compare: %s gives status %d\n", library.name.c_str(), status);
        return false;
    }
    if (library.best_seconds == 0 || took.count() < library.best_seconds)
        library.best_seconds = took.count();
    library.counts = job.counts;
    return true;
}

void print(const char* who, const Library& library, std::size_t bytes) {
    const Counts& c = library.counts;
    std::printf(
        "  %-6s %8.1f MB/s  waves %llu  instructions %llu (with pc %llu)  occupancy %llu  "
        "events %llu  dispatches %llu  %s\n",
        who, static_cast<double>(bytes) / library.best_seconds / 1e6,
        static_cast<unsigned long long>(c.waves), static_cast<unsigned long long>(c.instructions),
        static_cast<unsigned long long>(c.with_pc), static_cast<unsigned long long>(c.occupancy),
        static_cast<unsigned long long>(c.events), static_cast<unsigned long long>(c.dispatches),
        library.name.c_str());
}

/// 0: equal counts, 1: they differ, 2: could not be compared.
int compare(const std::string& path, const Options& options, const Program& program) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> chars{std::istreambuf_iterator<char>(file), {}};
    Bytes real(chars.size());
    std::memcpy(real.data(), chars.data(), chars.size());
    std::uint64_t raw = 0;
    std::memcpy(&raw, real.data(), std::min<std::size_t>(real.size(), sizeof raw));
    const auto header = sqtt::parse_header(raw);
    if (real.size() < sizeof raw || !header) {
        std::fprintf(stderr, "compare: %s is no thread trace\n", path.c_str());
        return 2;
    }
    const decode::LongTrace maker(header->generation, real);
    if (maker.empty()) {
        std::fprintf(stderr, "compare: no wave starts and ends in %s\n", path.c_str());
        return 2;
    }
    Bytes trace = maker.preamble();
    std::uint64_t bodies = 0;
    while (trace.size() < options.megabytes * 1'000'000)
        maker.append(bodies++, trace);
    const std::uint64_t copies = bodies * maker.copies_in_body();
    std::printf("%s: %s, %llu copies, %.1f MB\n", path.c_str(),
                sqtt::generation_name(header->generation), static_cast<unsigned long long>(copies),
                static_cast<double>(trace.size()) / 1e6);
    Library other, ours;
    if (!open_library(options.other, other) || !open_library(options.ours, ours)) return 2;
    for (std::uint64_t round = 0; round < options.rounds; ++round) {
        if (!decode_once(other, trace, program)) return 2;
        if (!decode_once(ours, trace, program)) return 2;
    }
    print("other", other, trace.size());
    print("ours", ours, trace.size());
    const bool equal = other.counts.waves == ours.counts.waves &&
                       other.counts.instructions == ours.counts.instructions;
    std::printf("  ratio %.2f, counts %s\n", other.best_seconds / ours.best_seconds,
                equal ? "equal" : "DIFFER");
    return equal ? 0 : 1;
}

bool parse_options(int argc, char** argv, Options& options) {
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (!word.starts_with("--")) {
            options.files.push_back(word);
            continue;
        }
        if (i + 1 >= argc) return false;
        const std::string value = argv[++i];
        const auto number = parse_number(value);
        if (word == "--decoder")
            options.other = value;
        else if (word == "--ours")
            options.ours = value;
        else if (word == "--code")
            options.code = value;
        else if (word == "--base" && number)
            options.base = *number;
        else if (word == "--mb" && number && *number > 0)
            options.megabytes = *number;
        else if (word == "--rounds" && number && *number > 0)
            options.rounds = *number;
        else
            return false;
    }
    return !options.other.empty() && !options.files.empty();
}

} // namespace

int main(int argc, char** argv) {
    Options options;
    if (!parse_options(argc, argv, options)) {
        std::fprintf(stderr, "usage: compare --decoder OTHER.so [--ours OURS.so] [--mb N] "
                             "[--rounds N] [--code ELF --base ADDR] FILE.att...\n");
        return 2;
    }
    if (options.ours.empty()) {
        const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
        options.ours = here / "../lib/wavetap/compat/librocprof-trace-decoder.so";
    }
    const auto program = Program::load(options.code, options.base);
    if (!program) return 2;
    int status = 0;
    for (const std::string& file : options.files)
        status = std::max(status, compare(file, options, *program));
    return status;
}
