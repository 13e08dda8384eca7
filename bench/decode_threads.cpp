// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "code/code_object.hpp"
#include "decode/elf_source.hpp"
#include "decode/long_trace.hpp"
#include "decode/stream.hpp"
#include "decode_sums.hpp"
#include "sqtt/columns.hpp"
#include "sqtt/scan.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>

// One trace, one table: megabytes (10^6) a second of the layers and of 1 to N threads, cycles a
// token, peak memory. A program of its own that can be carried to another machine.

namespace {

using namespace wavetap;
using namespace wavetap::decode;
using Bytes = std::vector<std::byte>;

constexpr const char* kHelp = R"(usage: decode_threads FILE.att CODE.elf BASE [options]
  FILE.att   bytes of one shader engine; its kernel part is repeated
  CODE.elf   the code object that ran
  BASE       address in memory of ELF address 0
options:
  --mb N           length of the trace (default 64); 1000 for a long one
  --threads LIST   as 1,2,4,8,16 (the default)
  --part-kb N      bytes that a thread takes at a time (default: the decoder's)
  --rounds N       each figure is the best of N (default 3)
  --long-waves     leave out the waves that are not on the target (gfx10 and later)
)";

struct Settings {
    std::string file, code, threads = "1,2,4,8,16";
    std::uint64_t base = 0, mb = 64, part_kb = 0, rounds = 3;
    bool long_waves = false;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Of all threads of the process.
double processor_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return double(now.tv_sec) + double(now.tv_nsec) / 1e9;
}

template <class Work> double best_of(std::uint64_t rounds, Work&& work) {
    double best = 1e30;
    for (std::uint64_t i = 0; i < rounds; ++i) {
        const auto start = std::chrono::steady_clock::now();
        work();
        best = std::min(best, seconds_since(start));
    }
    return best;
}

std::uint64_t columns_items(sqtt::Generation generation, const Bytes& bytes) {
    sqtt::TokenColumns columns;
    sqtt::TokenColumns::Entry at{generation == sqtt::Generation::kGfx9 ? 64U : 0U, false};
    const std::uint64_t end = (bytes.size() - sqtt::TokenColumns::kMarginBytes) * 8;
    std::uint64_t items = 0;
    while (at.bits < end) {
        columns.read(generation, bytes, at, std::min(end, at.bits + 32 * 1024 * 8));
        at = columns.end();
        for (const auto& segment : columns.segments())
            for (const auto& lane : segment.lanes)
                items += lane.size();
    }
    return items;
}

/// Null where something is wrong; it has been said.
bool parse(int count, char** words, Settings& settings) {
    if (count < 4) return false;
    settings.file = words[1];
    settings.code = words[2];
    settings.base = std::strtoull(words[3], nullptr, 0);
    for (int i = 4; i < count; ++i) {
        const std::string word = words[i];
        const bool more = i + 1 < count;
        if (word == "--long-waves")
            settings.long_waves = true;
        else if (word == "--mb" && more)
            settings.mb = std::strtoull(words[++i], nullptr, 10);
        else if (word == "--threads" && more)
            settings.threads = words[++i];
        else if (word == "--part-kb" && more)
            settings.part_kb = std::strtoull(words[++i], nullptr, 10);
        else if (word == "--rounds" && more)
            settings.rounds = std::strtoull(words[++i], nullptr, 10);
        else
            return false;
    }
    return settings.mb != 0 && settings.rounds != 0;
}

class Bench {
  public:
    Bench(const Settings& settings, sqtt::Generation generation, Bytes bytes,
          const code::CodeObject& object)
        : settings_(settings), generation_(generation), bytes_(std::move(bytes)),
          object_(object), objects_{{&object, settings.base, 0}} {}

    int run() {
        const bool gfx9 = generation_ == sqtt::Generation::kGfx9;
        std::uint64_t tokens = 0, items = 0;
        const double scan = best_of(settings_.rounds, [&] {
            tokens = sqtt::scan_tokens(generation_, bytes_, gfx9 ? 64 : 0).tokens;
        });
        tokens_ = tokens;
        std::printf("%s: %.1f MB, %.2f bytes a token\n", sqtt::generation_name(generation_), mb(),
                    double(bytes_.size()) / double(tokens));
        line("token boundaries (scan)", scan);
        const double columns =
            best_of(settings_.rounds, [&] { items = columns_items(generation_, bytes_); });
        line("boundaries, clocks, lanes", columns);
        const double waves = best_of(settings_.rounds, [&] { decode(1, false); });
        line("waves, no program counters", waves);
        double one = 0;
        for (const char* at = settings_.threads.c_str(); *at != 0;) {
            char* end = nullptr;
            const auto threads = static_cast<unsigned>(std::strtoul(at, &end, 10));
            if (end == at || threads == 0) return 2;
            at = *end == ',' ? end + 1 : end;
            Sums sums;
            double work = 1e30;
            const double time = best_of(settings_.rounds, [&] {
                const double before = processor_seconds();
                sums = decode(threads, true);
                work = std::min(work, processor_seconds() - before);
            });
            if (one == 0) one = time * threads;
            if (one_work_ == 0) one_work_ = work;
            if (!first_) first_ = sums.with_pc + sums.stall + sums.waves + sums.occupancy;
            line("full, " + std::to_string(threads) + " threads", time, one / time, work);
            if (first_ != sums.with_pc + sums.stall + sums.waves + sums.occupancy) {
                std::printf("NOT THE SAME RECORDS\n");
                return 1;
            }
        }
        std::printf("shares of one thread: columns %.0f %%, waves %.0f %%, stitching %.0f %%\n",
                    100 * columns / one, 100 * (waves - columns) / one, 100 * (one - waves) / one);
        return 0;
    }

  private:
    double mb() const { return double(bytes_.size()) / 1e6; }
    void line(const std::string& name, double seconds, double times = 0, double work = 0) const {
        std::printf("  %-28s %8.1f MB/s  %6.2f ns a token", name.c_str(), mb() / seconds,
                    seconds * 1e9 / double(tokens_));
        if (times != 0)
            std::printf("  %5.2f x, processor time %.3f s (%.2f x)", times, work, work / one_work_);
        std::printf("\n");
        std::fflush(stdout);
    }
    Sums decode(unsigned threads, bool full) const {
        auto source = ElfSource::create(object_.gfx(), objects_);
        if (!source) std::exit(1);
        CodeMap code(&*source, objects_);
        Diagnostics diagnostics;
        Sums sums;
        StreamOptions options;
        options.want_instructions = full;
        options.threads = threads;
        options.part_bytes = static_cast<std::size_t>(settings_.part_kb * 1024);
        const auto totals = decode_stream(bytes_, options, code, sums, diagnostics);
        if (!totals) std::exit(1);
        return sums;
    }

    Settings settings_;
    sqtt::Generation generation_;
    Bytes bytes_;
    const code::CodeObject& object_;
    std::vector<LoadedObject> objects_;
    std::uint64_t tokens_ = 1;
    double one_work_ = 0; ///< processor time with the first count of threads
    std::optional<std::uint64_t> first_;
};

} // namespace

int main(int count, char** words) {
    Settings settings;
    if (!parse(count, words, settings)) {
        std::fputs(kHelp, stderr);
        return 2;
    }
    std::ifstream file(settings.file, std::ios::binary);
    const std::vector<char> chars{std::istreambuf_iterator<char>(file), {}};
    const auto real = std::as_bytes(std::span(chars));
    const auto header = StreamDecoder::read_header(real);
    const auto object = code::CodeObject::load(settings.code);
    if (!header || !object) {
        std::fprintf(stderr, "%s\n", to_string(header ? object.error() : header.error()).c_str());
        return 1;
    }
    const LongTrace trace(header->generation, real, settings.long_waves);
    if (trace.empty()) {
        std::fprintf(stderr, "%s: no wave starts in it\n", settings.file.c_str());
        return 1;
    }
    return Bench(settings, header->generation,
                 trace.make(static_cast<std::size_t>(settings.mb * 1'000'000)), *object)
        .run();
}
