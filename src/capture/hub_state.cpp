// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/hub_state.hpp"

namespace wavetap::capture {

const char* hub_state_name(HubState state) noexcept {
    switch (state) {
    case HubState::kIdle:
        return "idle";
    case HubState::kStarting:
        return "starting";
    case HubState::kRunning:
        return "running";
    case HubState::kLeasing:
        return "leasing";
    case HubState::kDraining:
        return "draining";
    case HubState::kFailed:
        return "failed";
    }
    return "?";
}

} // namespace wavetap::capture
