// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "capture/hub_engine.hpp"
#include "stream_gpu.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

// capture::HubEngine over a StreamGpu, driven in model time: for tests and benchmarks.

namespace wavetap::test {

inline capture::AgentTopology stream_topology() {
    return {"gfx90a", 1, StreamGpu::kEngines, 14, 4};
}

inline capture::RunRequest stream_request(std::uint32_t buffers, std::uint64_t bytes,
                                          std::uint64_t se_mask, capture::ChunkHandler handler,
                                          void* user) {
    capture::TraceParams params;
    params.buffers = buffers;
    params.buffer_bytes = bytes;
    params.se_mask = se_mask;
    params.several_engines = 1;
    const auto valid = capture::ValidatedParams::create(params, stream_topology());
    EXPECT_TRUE(valid) << to_string(valid.error());
    capture::RunRequest made;
    made.config = valid->config();
    made.buffers = buffers;
    made.handler = handler;
    made.user = user;
    return made;
}

/// HubEngine driven in model time.
class StreamDriver {
  public:
    explicit StreamDriver(StreamGpu& gpu, capture::PacketSourceMaker packets = {},
                          const capture::HubLimits& limits = {})
        : gpu_(gpu), clock_(gpu) {
        capture::HubEngine::Options options;
        options.topology = stream_topology();
        options.limits = limits;
        options.packets = std::move(packets);
        engine_.emplace(std::make_unique<StreamBackend>(gpu), options, clock_, log_, silenced_);
        engine_->on_delivery([] {});
    }
    void start(const capture::RunRequest& request) {
        capture::SlotPlan plan;
        plan.add(capture::requirement_of(request));
        const auto started = engine_->start(request, plan, 1);
        ASSERT_TRUE(started) << to_string(started.error());
    }
    /// Until the engines have written so much in all.
    void run_until_produced(std::uint64_t bytes) {
        while (gpu_.produced() * StreamGpu::kTokenBytes < bytes) {
            const auto wait =
                std::chrono::duration<double, std::nano>(engine_->next_poll() - clock_.now());
            // Small steps, so that a unit without room is not written to in vain for long.
            gpu_.advance(std::clamp(wait.count(), 1.0, 2000.0));
            engine_->poll();
        }
    }
    Result<capture::RunSummary> stop() { return engine_->stop(true); }
    const capture::HubStatistics& statistics() const { return engine_->statistics(); }
    capture::HubEngine& engine() { return *engine_; }
    capture::MarkerLog& log() { return log_; }

  private:
    StreamGpu& gpu_;
    ModelClock clock_;
    capture::MarkerLog log_;
    std::atomic<bool> silenced_{false};
    std::optional<capture::HubEngine> engine_;
};

} // namespace wavetap::test
