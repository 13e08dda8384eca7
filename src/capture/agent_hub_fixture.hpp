// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "capture/hub_fixture.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

namespace wavetap::capture {

/// Keeps what is delivered.
class AgentHubTest : public HubTest {
  protected:
    struct Received {
        std::vector<Chunk> chunks;
        std::vector<std::vector<std::byte>> data;
        std::atomic<int> count{0};
    };
    static void receive(const Chunk& chunk, void* user) {
        auto* received = static_cast<Received*>(user);
        received->chunks.push_back(chunk);
        received->data.emplace_back(chunk.data.begin(), chunk.data.end());
        ++received->count;
    }
    /// Limits so short that a test can wait for them; those of the client's side stay long.
    static HubLimits hasty() {
        HubLimits limits;
        limits.start = limits.stop = limits.copy = limits.marker = std::chrono::milliseconds(50);
        return limits;
    }
    void make(const HubLimits& limits = {}, std::uint64_t landing_limit = 32 * kMiB) {
        hub_.reset();
        AgentHub::Options options;
        options.engine.topology = topology_;
        options.engine.landing_limit = landing_limit;
        options.engine.limits = limits;
        hub_ = std::make_unique<AgentHub>(std::make_unique<FakeBackend>(gpu_), options, clock_);
    }
    RunRequest request(std::uint32_t context, std::uint64_t bytes = kMiB,
                       std::uint64_t se_mask = 1) {
        return make_request(context, bytes, se_mask, receive, &received_);
    }

    Received received_;
};

} // namespace wavetap::capture
