// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/hub_state.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

namespace wavetap::capture {
namespace {

using S = HubState;
using E = HubEvent;

// The whole table, written independently of the code: what is not listed is refused.
TEST(HubStateTest, EveryPairOfStateAndEvent) {
    const std::map<std::pair<S, E>, S> allowed = {
        {{S::kIdle, E::kStart}, S::kStarting},
        {{S::kFailed, E::kStart}, S::kStarting},
        {{S::kStarting, E::kStartRetired}, S::kRunning},
        {{S::kStarting, E::kStartRefused}, S::kIdle},
        {{S::kStarting, E::kLeasesOpened}, S::kLeasing},
        {{S::kLeasing, E::kStop}, S::kDraining},
        {{S::kStarting, E::kGpuLost}, S::kFailed},
        {{S::kRunning, E::kStop}, S::kDraining},
        {{S::kDraining, E::kDrained}, S::kIdle},
        {{S::kDraining, E::kGpuLost}, S::kFailed},
    };
    int seen = 0;
    for (const S state : kHubStates)
        for (const E event : kHubEvents) {
            const auto next = next_state(state, event);
            const auto row = allowed.find({state, event});
            EXPECT_EQ(next.has_value(), row != allowed.end()) << hub_state_name(state);
            if (next && row != allowed.end()) {
                EXPECT_EQ(*next, row->second);
            }
            ++seen;
        }
    EXPECT_EQ(seen, 42);
}

// All event sequences up to length 12: two runs never overlap, a run that began can always end,
// and a start is possible again from every state.
TEST(HubStateTest, NoSequenceOverlapsRunsOrLocksTheAgent) {
    std::set<std::pair<S, bool>> frontier = {{S::kIdle, false}}, all = frontier;
    for (int depth = 0; depth < 12; ++depth) {
        std::set<std::pair<S, bool>> next_frontier;
        for (const auto& [state, owned] : frontier)
            for (const E event : kHubEvents) {
                const auto next = next_state(state, event);
                if (!next) continue;
                if (event == E::kStart) {
                    EXPECT_FALSE(owned);
                }
                const bool now_owned = *next != S::kIdle && *next != S::kFailed;
                next_frontier.insert({*next, now_owned});
            }
        all.insert(next_frontier.begin(), next_frontier.end());
        frontier = next_frontier;
    }
    EXPECT_EQ(all.size(), 6u);
    for (const auto& start : all) {
        std::set<S> reached = {start.first};
        for (int depth = 0; depth < 5; ++depth)
            for (const S state : std::set<S>(reached))
                for (const E event : kHubEvents)
                    if (const auto next = next_state(state, event)) reached.insert(*next);
        EXPECT_TRUE(reached.count(S::kLeasing)) << hub_state_name(start.first);
        EXPECT_TRUE(reached.count(S::kRunning)) << hub_state_name(start.first);
        EXPECT_TRUE(reached.count(S::kIdle)) << hub_state_name(start.first);
    }
}

} // namespace
} // namespace wavetap::capture
