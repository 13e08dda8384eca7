// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "code/code_object.hpp"
#include "decode/elf_source.hpp"
#include "decode/engine.hpp"
#include "decode/long_trace.hpp"
#include "decode_sums.hpp"
#include "sqtt/columns.hpp"
#include "sqtt/scan.hpp"
#include "sqtt/test_data.hpp"

#include <benchmark/benchmark.h>

// Megabytes (10^6) per second of a long trace: the kernel part of a real one, first wave start to
// last wave end, repeated behind the real preamble, EXEC tokens left out, times going on. One
// thread. "scan" walks the tokens; "waves" stops at instructions without program counters; "full"
// gives every instruction its program counter.

namespace wavetap::decode {
namespace {

using sqtt::Generation;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kTraceBytes = 64'000'000;

struct Trace {
    Bytes bytes;
    std::vector<code::CodeObject> object;
    std::vector<LoadedObject> objects;
};

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
    trace.bytes = LongTrace(generation, real).make(kTraceBytes);
    return trace;
}

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
