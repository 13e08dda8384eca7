// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "code/code_object.hpp"
#include "decode/elf_source.hpp"
#include "decode/long_trace.hpp"
#include "decode/stream.hpp"
#include "decode_sums.hpp"
#include "sqtt/columns.hpp"
#include "sqtt/scan.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <vector>

// One trace, one table: megabytes (10^6) a second of the layers, of one decode with 1 to N threads,
// and of as many decodes of one thread side by side: what the machine has to give. A program of its
// own that can be carried to another machine.

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
  --threads LIST   as 1,2,4,8,16 (the default); for each count N one decode with N threads, then
                   N decodes with one thread each at once: what the machine gives at most
  --part-kb N      bytes that a thread takes at a time (default: the decoder's)
  --rounds N       each figure is the best of N (default 3)
  --long-waves     leave out the waves that are not on the target (gfx10 and later)
Processor time and page faults are those of one decode; "x" is against the first count.
)";

struct Settings {
    std::string file, code, threads = "1,2,4,8,16";
    std::uint64_t base = 0, mb = 64, part_kb = 0, rounds = 3;
    bool long_waves = false;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// What all threads of the process used, those that have ended too.
struct Usage {
    double user = 0, system = 0; ///< seconds
    long faults = 0;             ///< of pages that needed no disk

    static Usage now() {
        rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        const auto seconds = [](const timeval& time) {
            return double(time.tv_sec) + double(time.tv_usec) / 1e6;
        };
        return {seconds(usage.ru_utime), seconds(usage.ru_stime), usage.ru_minflt};
    }
    Usage operator-(const Usage& before) const {
        return {user - before.user, system - before.system, faults - before.faults};
    }
    double total() const { return user + system; }
};

/// The best of some rounds, each by itself.
struct Timing {
    double seconds = 1e30;
    Usage usage{1e30, 0, 0}; ///< of the round with the least processor time
};

template <class Work> Timing timing_of(std::uint64_t rounds, Work&& work) {
    Timing best;
    for (std::uint64_t i = 0; i < rounds; ++i) {
        const Usage before = Usage::now();
        const auto start = std::chrono::steady_clock::now();
        work();
        best.seconds = std::min(best.seconds, seconds_since(start));
        const Usage used = Usage::now() - before;
        if (used.total() < best.usage.total()) best.usage = used;
    }
    return best;
}

template <class Work> double best_of(std::uint64_t rounds, Work&& work) {
    return timing_of(rounds, work).seconds;
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
        for (const char* at = settings_.threads.c_str(); *at != 0;) {
            char* end = nullptr;
            const auto threads = static_cast<unsigned>(std::strtoul(at, &end, 10));
            if (end == at || threads == 0) return 2;
            at = *end == ',' ? end + 1 : end;
            if (!together(threads) || (threads > 1 && !side_by_side(threads))) {
                std::printf("NOT THE SAME RECORDS\n");
                return 1;
            }
        }
        std::printf("shares of one thread: columns %.0f %%, waves %.0f %%, stitching %.0f %%\n",
                    100 * columns / one_, 100 * (waves - columns) / one_,
                    100 * (one_ - waves) / one_);
        return 0;
    }

  private:
    double mb() const { return double(bytes_.size()) / 1e6; }
    // One decode. False: the records are not those of the decode before.
    bool together(unsigned threads) {
        Sums sums;
        const Timing timing = timing_of(settings_.rounds, [&] { sums = decode(threads, true); });
        if (one_ == 0) {
            one_ = timing.seconds * threads;
            one_work_ = timing.usage.total();
        }
        line("full, " + std::to_string(threads) + " threads", timing.seconds, 1, &timing.usage);
        return same(sums);
    }
    // As many decodes of one thread, each of all bytes.
    bool side_by_side(unsigned count) {
        std::vector<Sums> sums(count);
        const Timing timing = timing_of(settings_.rounds, [&] {
            std::vector<std::thread> threads;
            for (unsigned i = 0; i < count; ++i)
                threads.emplace_back([this, &out = sums[i]] { out = decode(1, true); });
            for (std::thread& thread : threads)
                thread.join();
        });
        line("  " + std::to_string(count) + " decodes at once", timing.seconds, count,
             &timing.usage);
        return std::all_of(sums.begin(), sums.end(), [&](const Sums& one) { return same(one); });
    }
    bool same(const Sums& sums) {
        const std::array<std::uint64_t, 4> now{sums.with_pc, sums.stall, sums.waves,
                                               sums.occupancy};
        if (!first_) first_ = now;
        return *first_ == now;
    }
    // `decodes`: how often all bytes were decoded in that time. `usage`: of all; null: not said.
    void line(const std::string& name, double seconds, unsigned decodes = 1,
              const Usage* usage = nullptr) const {
        seconds /= decodes;
        std::printf("  %-28s %8.1f MB/s  %6.2f ns a token", name.c_str(), mb() / seconds,
                    seconds * 1e9 / double(tokens_));
        if (usage != nullptr)
            std::printf("  %5.2f x, processor time %.3f s user, %.3f s system (%.2f x), "
                        "%ld page faults",
                        one_ / seconds, usage->user / decodes, usage->system / decodes,
                        usage->total() / decodes / one_work_, usage->faults / decodes);
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
    double one_ = 0, one_work_ = 0; ///< time and processor time with the first count of threads
    std::optional<std::array<std::uint64_t, 4>> first_; ///< the records of it, see same()
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
