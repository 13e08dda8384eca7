// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "capture/agent_hub.hpp"

#include <cstddef>
#include <span>
#include <vector>

// One context on several agents: its starts and stops run on the hubs' threads at the same time.

namespace wavetap::capture {

/// Starts requests[i] on hubs[i], all at once. On success every agent is armed, and the tokens are
/// in the order of the hubs. On any failure nothing is left running, no chunk was delivered, and the
/// error is that of the first hub that refused (its `where` names the agent's place in the list).
/// A caller on the thread of one of the hubs carries that one out itself, first. May throw for want of
/// memory; then nothing was started.
/// Precondition: the hubs are distinct. Errors: those of AgentHub::start, kTimeout.
Result<std::vector<RunningTrace>> start_together(std::span<AgentHub* const> hubs,
                                                 std::span<const RunRequest> requests);

struct TogetherSummary {
    RunSummary total; ///< sums; run and start_counter of the first agent
    Result<void> outcome;
};
/// Stops and delivers all of them at once; as RunningTrace::stop(), for the whole list. An error of
/// one agent does not keep the others from being stopped. Precondition: the caller is in no chunk handler
/// of these hubs. Takes the tokens; may throw for want of memory, then they are left as they are.
TogetherSummary stop_together(std::span<AgentHub* const> hubs, std::vector<RunningTrace>& tokens);

} // namespace wavetap::capture
