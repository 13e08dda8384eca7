// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "pm4/thread_trace.hpp"
#include "softgpu/chip_for_test.hpp"

#include <benchmark/benchmark.h>

// Wave-instructions per second of the software GPU: a whole gfx90a, one kernel of loops, tracing
// off, with waves only, and with instruction detail of one CU in every engine.

namespace wavetap::softgpu {
namespace {

enum Tracing : std::int64_t { kOff, kOccupancy, kDetail };

void trace(Rig& rig, Rig::Queue& queue, const ChipSpec& spec, bool detail) {
    pm4::TraceTopology topology;
    topology.gfx = "gfx90a";
    topology.engines_per_xcc = spec.shader_engines;
    pm4::TraceConfig config;
    config.se_mask = (std::uint64_t{1} << spec.shader_engines) - 1;
    config.buffer_bytes = std::uint64_t{64} << 20;
    config.detail = detail;
    pm4::TraceMemory memory;
    memory.control_va = rig.allocate(pm4::control_bytes(topology, config.dialect), 256);
    memory.output_va = 0x7f4000000000;
    rig.space.map(memory.output_va, config.buffer_bytes);
    const auto words = pm4::build_start(topology, config, memory);
    const std::uint64_t done = rig.add_signal();
    if (words) rig.commands(queue, *words, done, true);
    rig.run_until(done);
}

void spin(benchmark::State& state) {
    const auto spec = chip_spec("gfx90a");
    if (!spec) {
        state.SkipWithError("no gfx90a");
        return;
    }
    std::uint64_t instructions = 0;
    for (auto _ : state) {
        state.PauseTiming();
        Rig rig(*spec);
        auto queue = rig.add_queue();
        if (state.range(0) != kOff) trace(rig, queue, *spec, state.range(0) == kDetail);
        const std::uint64_t done = rig.add_signal();
        rig.launch(queue, {.kernel = rig.add_kernel(kernels::kSpin),
                           .grid = {256 * 880, 1, 1},
                           .group = {256, 1, 1},
                           .arguments = 100,
                           .signal = done});
        state.ResumeTiming();
        if (!rig.run_until(done, 1'000'000'000)) state.SkipWithError("the kernel does not end");
        instructions += rig.chip->instructions();
    }
    state.counters["wave-instructions"] =
        benchmark::Counter(static_cast<double>(instructions), benchmark::Counter::kIsRate);
}
BENCHMARK(spin)
    ->ArgName("trace")
    ->Arg(kOff)
    ->Arg(kOccupancy)
    ->Arg(kDetail)
    ->Unit(benchmark::kMillisecond);

} // namespace
} // namespace wavetap::softgpu
