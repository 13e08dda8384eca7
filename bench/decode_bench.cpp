// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "code/code_object.hpp"
#include "decode/elf_source.hpp"
#include "decode/engine.hpp"
#include "sqtt/columns.hpp"
#include "sqtt/reader.hpp"
#include "sqtt/scan.hpp"
#include "sqtt/test_data.hpp"

#include <benchmark/benchmark.h>

#include <cstring>

// Megabytes (10^6) per second of a long trace: the kernel part of a real one, first wave start to
// last wave end, repeated behind the real preamble, EXEC tokens left out, times going on. One
// thread. "scan" walks the tokens; "waves" stops at instructions without program counters; "full"
// gives every instruction its program counter.

namespace wavetap::decode {
namespace {

using sqtt::Generation;
using sqtt::Token;
using sqtt::TokenType;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kTraceBytes = 64'000'000;

struct Trace {
    Bytes bytes;
    std::vector<code::CodeObject> object;
    std::vector<LoadedObject> objects;
    std::uint64_t copies = 0;
};

std::uint8_t nibble(const Bytes& bytes, std::uint64_t position) {
    return std::to_integer<std::uint8_t>(bytes[position / 2] >> (position % 2 * 4)) & 0xF;
}

void append_nibbles(Bytes& out, std::uint64_t& used, const Bytes& from, std::uint64_t first,
                    std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i, ++used) {
        if (used % 2 == 0) out.push_back(std::byte{0});
        out.back() |= static_cast<std::byte>(nibble(from, first + i) << (used % 2 * 4));
    }
}

struct Cut {
    std::vector<Token> tokens;
    std::size_t first = 0, last = 0; ///< first wave start, last wave end
};

Cut cut(Generation generation, const Bytes& bytes) {
    Cut out;
    sqtt::TokenReader reader(generation, bytes, generation == Generation::kGfx9 ? 64 : 0);
    for (Token token; reader.next(token);)
        out.tokens.push_back(token);
    bool found = false;
    for (std::size_t i = 0; i < out.tokens.size(); ++i) {
        if (out.tokens[i].type == TokenType::kWaveStart && !found) {
            out.first = i;
            found = true;
        }
        if (out.tokens[i].type == TokenType::kWaveEnd) out.last = i;
    }
    return out;
}

void repeat_rdna(Trace& trace, Generation generation, const Bytes& real) {
    const Cut tokens = cut(generation, real);
    std::uint64_t used = 0;
    const auto copy = [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) {
            const Token& token = tokens.tokens[i];
            if (token.type == TokenType::kAluExec || token.type == TokenType::kVmemExec) continue;
            append_nibbles(trace.bytes, used, real, token.offset_bits / 4, token.size_bits / 4);
        }
    };
    copy(0, tokens.first);
    // Two copies together end on a byte; the rest is copied by the byte.
    used += used % 2;
    const std::size_t begin = trace.bytes.size();
    copy(tokens.first, tokens.last + 1);
    copy(tokens.first, tokens.last + 1);
    const Bytes pair(trace.bytes.begin() + static_cast<std::ptrdiff_t>(begin), trace.bytes.end());
    trace.copies = 2;
    while (trace.bytes.size() < kTraceBytes) {
        trace.bytes.insert(trace.bytes.end(), pair.begin(), pair.end());
        trace.copies += 2;
    }
}

void repeat_gfx9(Trace& trace, const Bytes& real) {
    const Cut tokens = cut(Generation::kGfx9, real);
    const auto at = [&](std::size_t i) { return tokens.tokens[i].offset_bits / 8; };
    const std::size_t begin = at(tokens.first), end = at(tokens.last) + 2;
    std::vector<std::pair<std::size_t, std::uint64_t>> stamps;
    std::uint64_t low = ~std::uint64_t{0}, high = 0;
    for (std::size_t i = tokens.first; i <= tokens.last; ++i) {
        if (tokens.tokens[i].type != TokenType::kTimestamp) continue;
        const std::uint64_t value = tokens.tokens[i].bits.low >> 16;
        stamps.emplace_back(at(i) - begin, value);
        low = std::min(low, value);
        high = std::max(high, value);
    }
    trace.bytes.assign(real.begin(), real.begin() + static_cast<std::ptrdiff_t>(begin));
    for (trace.copies = 0; trace.bytes.size() < kTraceBytes; ++trace.copies) {
        const std::size_t start = trace.bytes.size();
        trace.bytes.insert(trace.bytes.end(), real.begin() + static_cast<std::ptrdiff_t>(begin),
                           real.begin() + static_cast<std::ptrdiff_t>(end));
        for (const auto& [offset, value] : stamps) {
            const std::uint64_t moved = (value + trace.copies * (high - low + 4096)) << 16 | 1U;
            std::memcpy(trace.bytes.data() + start + offset, &moved, 8);
        }
    }
}

const Trace& trace_of(Generation generation) {
    static std::array<Trace, sqtt::kGenerationCount> traces;
    Trace& trace = traces[static_cast<std::size_t>(generation)];
    if (!trace.bytes.empty()) return trace;
    const std::string arch = generation == Generation::kGfx9    ? "gfx950"
                             : generation == Generation::kGfx11 ? "gfx1100"
                                                                : "gfx1200";
    const auto folder = test::data_folder() / "traces" / arch / "gemm_0";
    const Bytes real = test::read_bytes(folder / "se0.att");
    auto object = code::CodeObject::load(folder / "code.elf");
    if (real.empty() || !object) return trace;
    trace.object.push_back(std::move(*object));
    const std::uint64_t base = generation == Generation::kGfx9    ? 0x200002006000
                               : generation == Generation::kGfx11 ? 0x200001006000
                                                                  : 0x200001006000;
    trace.objects.push_back({trace.object.data(), base, 0});
    if (generation == Generation::kGfx9)
        repeat_gfx9(trace, real);
    else
        repeat_rdna(trace, generation, real);
    return trace;
}

class Sums final : public RecordSink {
  public:
    void wave(const WaveView& view) override {
        ++waves;
        instructions += view.instructions.size();
        for (std::size_t i = 0; i < view.has_pc.size(); ++i) {
            with_pc += view.has_pc[i];
            stall += view.instructions.stalls[i];
        }
    }
    std::uint64_t waves = 0, instructions = 0, with_pc = 0, stall = 0;
};

void scan(benchmark::State& state, Generation generation) {
    const Trace& trace = trace_of(generation);
    if (trace.bytes.empty()) return state.SkipWithError("no real traces: set WAVETAP_DATA");
    std::uint64_t tokens = 0;
    for (auto _ : state) {
        tokens =
            sqtt::scan_tokens(generation, trace.bytes, generation == Generation::kGfx9 ? 64 : 0)
                .tokens;
        benchmark::DoNotOptimize(tokens);
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * trace.bytes.size()));
    state.counters["tokens"] = benchmark::Counter(static_cast<double>(tokens),
                                                  benchmark::Counter::kIsIterationInvariantRate);
}

void columns(benchmark::State& state, Generation generation) {
    const Trace& trace = trace_of(generation);
    if (trace.bytes.empty()) return state.SkipWithError("no real traces: set WAVETAP_DATA");
    sqtt::TokenColumns columns;
    std::uint64_t items = 0;
    constexpr std::uint64_t kPart = 64 * 1024 * 8;
    for (auto _ : state) {
        sqtt::TokenColumns::Entry at{generation == Generation::kGfx9 ? 64U : 0U, false};
        const std::uint64_t end = (trace.bytes.size() - 32) * 8;
        items = 0;
        while (at.bits < end) {
            columns.read(generation, trace.bytes, at, std::min(end, at.bits + kPart));
            at = columns.end();
            for (const auto& segment : columns.segments())
                for (const auto& lane : segment.lanes)
                    items += lane.size();
        }
        benchmark::DoNotOptimize(items);
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * trace.bytes.size()));
    state.counters["items"] = benchmark::Counter(static_cast<double>(items),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

void decode(benchmark::State& state, Generation generation, bool full) {
    const Trace& trace = trace_of(generation);
    if (trace.bytes.empty()) return state.SkipWithError("no real traces: set WAVETAP_DATA");
    Sums sums;
    for (auto _ : state) {
        auto source = ElfSource::create(trace.objects[0].object->gfx(), trace.objects);
        if (!source) return state.SkipWithError("no disassembler");
        CodeMap code(&*source, trace.objects);
        Diagnostics diagnostics;
        sums = {};
        StreamOptions options;
        options.want_instructions = full;
        const auto totals = decode_stream(trace.bytes, options, code, sums, diagnostics);
        if (!totals) return state.SkipWithError("not decoded");
        if (full && sums.with_pc != sums.instructions)
            return state.SkipWithError("instructions without a program counter");
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * trace.bytes.size()));
    state.counters["instructions"] = benchmark::Counter(
        static_cast<double>(sums.instructions), benchmark::Counter::kIsIterationInvariantRate);
    state.counters["waves"] = static_cast<double>(sums.waves);
}

BENCHMARK_CAPTURE(scan, gfx9, Generation::kGfx9)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(scan, gfx11, Generation::kGfx11)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(scan, gfx12, Generation::kGfx12)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(columns, gfx9, Generation::kGfx9)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(columns, gfx11, Generation::kGfx11)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(columns, gfx12, Generation::kGfx12)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decode, gfx9_waves, Generation::kGfx9, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decode, gfx11_waves, Generation::kGfx11, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decode, gfx12_waves, Generation::kGfx12, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decode, gfx9_full, Generation::kGfx9, true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decode, gfx11_full, Generation::kGfx11, true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decode, gfx12_full, Generation::kGfx12, true)->Unit(benchmark::kMillisecond);

} // namespace
} // namespace wavetap::decode
