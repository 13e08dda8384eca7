// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace wavetap::softgpu::kfd {

/// Who made a queue, as the driver sees it.
enum class Owner : std::uint8_t { kApplication, kRuntime, kWavetap };

/// By the outermost frame of this thread's stack that is not the C library, the C++ library, the
/// loader or the software GPU itself: a thread of wavetap's own libraries is kWavetap.
Owner owner_of_this_thread();

/// What the driver counted on one agent.
struct AgentCounters {
    std::uint64_t queues_created[3] = {}; ///< by Owner
    std::uint32_t queues_live = 0, queues_peak = 0;
    std::uint64_t vram_bytes = 0, vram_peak_bytes = 0;
};

/// What the driver counted. A value; owner lock.
struct Counters {
    std::uint32_t queues_live = 0;
    std::uint32_t queues_peak = 0;
    std::uint64_t queues_created[3] = {}; ///< by Owner
    std::uint64_t vram_bytes = 0;
    std::uint64_t vram_peak_bytes = 0;
    std::uint64_t buffer_objects_peak = 0;
    std::uint64_t ioctls = 0;
    std::uint64_t instructions = 0; ///< issued by all waves of all agents
    std::uint64_t clock = 0;        ///< furthest shader clock of an agent
    std::vector<AgentCounters> agents;
};

std::string to_json(const Counters& counters);

/// Replaces FOLDER/driver-PID.json atomically (a temporary file and a rename). Errors: kIo.
Result<void> write_counters(const std::string& folder, const Counters& counters);

} // namespace wavetap::softgpu::kfd
