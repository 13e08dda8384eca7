// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "tests/stream_driver.hpp"

#include <benchmark/benchmark.h>

#include <atomic>

// N-buffer streaming in model time: what is lost at each rate of the trace unit, for each speed of the
// copy engine. One engine, four megabytes a buffer; the consumer takes no time. Loss, flips and copies
// are exact and the same on every machine; the time shown is that of the model program.
// usage: build/release/bin/stream_bench

namespace wavetap::test {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kProduced = 256 * kMiB;

struct Taken {
    std::atomic<std::uint64_t> bytes{0}, dropped{0};
};
void take(const capture::Chunk& chunk, void* user) {
    auto* taken = static_cast<Taken*>(user);
    taken->bytes += chunk.data.size();
    taken->dropped += chunk.dropped;
}

void stream_at_rate(benchmark::State& state) {
    for (auto _ : state) {
        StreamGpu gpu(static_cast<double>(state.range(0)));
        gpu.copy_rate = static_cast<double>(state.range(1));
        Taken taken;
        std::optional<StreamDriver> driver(std::in_place, gpu);
        auto request =
            stream_request(static_cast<std::uint32_t>(state.range(2)), 4 * kMiB, 1, take, &taken);
        request.stream_rate = static_cast<std::uint64_t>(state.range(0)) * 1'000'000'000;
        driver->start(request);
        const double begin = gpu.ns, disarmed = gpu.disarmed_ns;
        driver->run_until_produced(kProduced);
        const auto summary = driver->stop();
        if (!summary) {
            state.SkipWithError(to_string(summary.error()).c_str());
            return;
        }
        const auto& statistics = driver->statistics();
        const auto produced = static_cast<double>(gpu.produced());
        state.counters["lost_%"] = 100 * static_cast<double>(taken.dropped.load()) / produced;
        state.counters["flips"] = static_cast<double>(statistics.flips);
        state.counters["pauses"] = static_cast<double>(statistics.cpu_full + statistics.gpu_full);
        state.counters["paused_%"] = 100 * (gpu.disarmed_ns - disarmed) / (gpu.ns - begin);
        state.counters["model_us"] = (gpu.ns - begin) / 1000;
        // Of what the hardware wrote; the header chunks are made by software.
        state.counters["copies_per_byte"] =
            static_cast<double>(gpu.copied_bytes) /
            static_cast<double>(taken.bytes.load() - 32 * (statistics.gaps + 1));
    }
}
BENCHMARK(stream_at_rate)
    ->ArgNames({"GB/s", "copy_GB/s", "N"})
    ->ArgsProduct({{10, 60, 200}, {25, 50, 400}, {4}})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

} // namespace
} // namespace wavetap::test
