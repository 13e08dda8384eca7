// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/clock_for_test.hpp"
#include "capture/agent_hub.hpp"
#include "capture/fake_backend.hpp"
#include "capture/params.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

namespace wavetap::capture {

inline constexpr std::uint64_t kMiB = 1 << 20;

/// For tests of one hub on a fake GPU.
class HubTest : public ::testing::Test {
  protected:
    RunRequest make_request(std::uint32_t context, std::uint64_t bytes, std::uint64_t se_mask,
                            ChunkHandler handler, void* user) {
        TraceParams params;
        params.buffer_bytes = bytes;
        params.se_mask = se_mask;
        params.target_cu = context % 4;
        const auto valid = ValidatedParams::create(params, topology_);
        EXPECT_TRUE(valid) << to_string(valid.error());
        RunRequest made;
        made.context = context;
        made.config = valid->config();
        made.handler = handler;
        made.user = user;
        return made;
    }
    /// Ends the hub.
    void expect_nothing_held() {
        hub_.reset();
        EXPECT_EQ(gpu_.queues, 0);
        EXPECT_EQ(gpu_.device_blocks, 0);
        EXPECT_EQ(gpu_.host_blocks, 0);
        EXPECT_EQ(gpu_.device_bytes, 0);
        EXPECT_EQ(gpu_.freed_while_armed, 0u);
        EXPECT_FALSE(gpu_.armed);
    }

    AgentTopology topology_{"gfx90a", 1, 8, 14, 4};
    FakeGpu gpu_;
    ClockForTest clock_;
    std::unique_ptr<AgentHub> hub_;
};

} // namespace wavetap::capture
