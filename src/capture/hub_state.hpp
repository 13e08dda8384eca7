// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

namespace wavetap::capture {

enum class HubState : std::uint8_t {
    kIdle,     ///< nobody owns the agent
    kStarting, ///< a context owns the agent; its start has not retired
    kRunning,  ///< the trace unit is armed
    kLeasing,  ///< a dispatch-mode owner holds the agent; its leases run one after the other
    kDraining, ///< stop was submitted, or chunks are being delivered
    kFailed,   ///< the GPU did not answer; the next start rebuilds the queue first
};
inline constexpr HubState kHubStates[] = {HubState::kIdle,     HubState::kStarting,
                                          HubState::kRunning,  HubState::kLeasing,
                                          HubState::kDraining, HubState::kFailed};

enum class HubEvent : std::uint8_t {
    kStart,        ///< a client asks for the agent
    kStartRetired, ///< the start packet completed
    kLeasesOpened, ///< the memory of leases is in place
    kStartRefused, ///< no memory or no queue: nothing reached the GPU
    kStop,         ///< the owner stops, or its token was dropped
    kDrained,      ///< the last chunk was delivered
    kGpuLost,      ///< a submission failed or missed its deadline
};
inline constexpr HubEvent kHubEvents[] = {
    HubEvent::kStart, HubEvent::kStartRetired, HubEvent::kLeasesOpened, HubEvent::kStartRefused,
    HubEvent::kStop,  HubEvent::kDrained,      HubEvent::kGpuLost};

/// The state after `event`, or nothing if the event is refused in `state`.
constexpr std::optional<HubState> next_state(HubState state, HubEvent event) {
    switch (state) {
    case HubState::kIdle:
    case HubState::kFailed:
        if (event == HubEvent::kStart) return HubState::kStarting;
        break;
    case HubState::kStarting:
        if (event == HubEvent::kStartRetired) return HubState::kRunning;
        if (event == HubEvent::kLeasesOpened) return HubState::kLeasing;
        if (event == HubEvent::kStartRefused) return HubState::kIdle;
        if (event == HubEvent::kGpuLost) return HubState::kFailed;
        break;
    case HubState::kRunning:
    case HubState::kLeasing:
        if (event == HubEvent::kStop) return HubState::kDraining;
        break;
    case HubState::kDraining:
        if (event == HubEvent::kDrained) return HubState::kIdle;
        if (event == HubEvent::kGpuLost) return HubState::kFailed;
        break;
    }
    return std::nullopt;
}

/// "running".
const char* hub_state_name(HubState state) noexcept;

} // namespace wavetap::capture
