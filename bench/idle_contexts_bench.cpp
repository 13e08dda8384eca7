// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/session.hpp"

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

// What a configured context that never runs costs: resident memory of the process, no GPU.

namespace wavetap::capture {
namespace {

/// Idle contexts reach no backend: every call is an error and is counted.
class UntouchedBackend final : public Backend {
  public:
    explicit UntouchedBackend(std::uint64_t& calls) : calls_(calls) {}
    const char* name() const override { return "untouched"; }
    Result<void> create_queue() override { return touched(); }
    Result<void> destroy_queue() override { return touched(); }
    Result<DeviceMemory> allocate_device(std::uint64_t) override { return touched(); }
    Result<HostMemory> allocate_host(std::uint64_t) override { return touched(); }
    void free_device(const DeviceMemory&) override { ++calls_; }
    void free_host(const HostMemory&) override { ++calls_; }
    Result<Ticket> submit(std::span<const CommandBuffer>, TimePoint) override { return touched(); }
    Result<void> wait(Ticket, TimePoint) override { return touched(); }
    Result<void> copy_to_host(const HostMemory&, std::uint64_t, std::uint64_t, std::uint64_t,
                              TimePoint) override {
        return touched();
    }
    std::uint64_t counter() override { return 0; }

  private:
    Error touched() {
        ++calls_;
        return Error{ErrorCode::kUnavailable, "an idle context needs no GPU", "", ""};
    }
    std::uint64_t& calls_;
};

/// Bytes; 0 if the kernel does not tell.
double resident_bytes() {
    unsigned long pages = 0, resident = 0;
    std::FILE* file = std::fopen("/proc/self/statm", "r");
    if (file == nullptr) return 0;
    if (std::fscanf(file, "%lu %lu", &pages, &resident) != 2) resident = 0;
    std::fclose(file);
    return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

void ignore(const Chunk&, void*) {}

bool configure_all(Session& session, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
        const Result<ContextHandle> context = session.create();
        if (!context) return false;
        TraceParams params;
        params.se_mask = i % 2 == 0 ? 0x1 : 0x3;
        params.target_cu = static_cast<std::uint64_t>(i % 4);
        params.simd_mask = 1u << (i % 4);
        params.buffer_bytes = i % 2 == 0 ? 1ull << 30 : 512ull << 20;
        if (!session.configure(*context, 0, params, ignore, nullptr)) return false;
    }
    return true;
}

void idle_contexts(benchmark::State& state) {
    const SteadyClock clock;
    std::uint64_t backend_calls = 0;
    double rss_per_context = 0;
    for (auto _ : state) {
        Session session;
        AgentHub::Options options;
        options.engine.topology.gfx = "gfx90a";
        session.add_agent(std::make_unique<AgentHub>(
            std::make_unique<UntouchedBackend>(backend_calls), options, clock));
        const double before = resident_bytes();
        if (!configure_all(session, state.range(0))) state.SkipWithError("a context was refused");
        const double after = resident_bytes();
        rss_per_context = (after - before) / static_cast<double>(state.range(0));
        state.counters["counted_bytes_per_context"] =
            static_cast<double>(session.host_bytes_per_context());
        state.counters["threads"] = static_cast<double>(session.hub(0).statistics().threads);
    }
    state.counters["rss_bytes_per_context"] = rss_per_context;
    state.counters["backend_calls"] = static_cast<double>(backend_calls);
    state.counters["contexts_per_second"] = benchmark::Counter(
        static_cast<double>(state.range(0)) * static_cast<double>(state.iterations()),
        benchmark::Counter::kIsRate);
}
// One iteration: a second one would find the first one's pages still resident.
BENCHMARK(idle_contexts)->Arg(100'000)->Iterations(1)->Unit(benchmark::kMillisecond);

} // namespace
} // namespace wavetap::capture
