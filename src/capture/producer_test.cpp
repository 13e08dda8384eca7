// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/producer_explorer.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace wavetap::capture::exploration {
namespace {

TEST(ProducerExploration, OneEngineThreeStagingSlots) {
    Explorer explorer(bounds(1, 3, 13), producer_step);
    EXPECT_EQ(explorer.run(), "");
    // Every kind of end was reached.
    EXPECT_GT(explorer.states(), 10'000u);
    EXPECT_GT(explorer.flips, 0u);
    EXPECT_GT(explorer.cpu_full, 0u);
    EXPECT_GT(explorer.gpu_full, 0u);
    EXPECT_GT(explorer.halted, 0u);
    EXPECT_GT(explorer.ended, 0u);
    EXPECT_GT(explorer.failed, 0u);
}

TEST(ProducerExploration, OneEngineFourStagingSlots) {
    EXPECT_EQ(explore(bounds(1, 4, 13)), "");
}

TEST(ProducerExploration, TwoEnginesThreeStagingSlots) {
    Bounds two = bounds(2, 3, 8);
    two.failures = 1;
    two.halts = 0;
    EXPECT_EQ(explore(two), "");
}

TEST(ProducerExploration, OverflowEndsTheRun) {
    Bounds ending = bounds(1, 3, 12);
    ending.overflow = OverflowPolicy::kEndRun;
    Explorer explorer(ending, producer_step);
    EXPECT_EQ(explorer.run(), "");
    EXPECT_GT(explorer.gpu_full, 0u);
}

TEST(ProducerExploration, WithoutHeaderChunks) {
    Bounds bare = bounds(1, 3, 10);
    bare.header = false;
    EXPECT_EQ(explore(bare), "");
}

// A producer with one thing wrong: the exploration must name what it breaks.
struct Mutant {
    const char* name;
    const char* property;
    StepFunction step;
};

template <class Change> StepFunction with_actions(Change change) {
    return [change](ProducerState& state, const Event& event, std::vector<ProducerAction>& out) {
        producer_step(state, event, out);
        change(state, event, out);
    };
}

std::vector<Mutant> mutants() {
    std::vector<Mutant> all;
    all.push_back({"forgets END", "P1", with_actions([](auto&, auto&, auto& out) {
                       for (auto& action : out)
                           action.last = action.kind == Kind::kPublish ? false : action.last;
                   })});
    all.push_back({"sends END twice", "P1", with_actions([](auto& state, auto&, auto& out) {
                       if (out.empty() || out.back().kind != Kind::kFinished) return;
                       ProducerAction end;
                       end.kind = Kind::kEnd;
                       end.index = state.next_index++;
                       out.insert(out.end() - 1, end);
                   })});
    all.push_back({"skips an index", "P2", with_actions([](auto& state, auto&, auto& out) {
                       for (const auto& action : out)
                           if (action.kind == Kind::kPublish) ++state.next_index;
                   })});
    all.push_back({"copies before the swap", "P3",
                   [](ProducerState& state, const Event& event, std::vector<ProducerAction>& out) {
                       if (event.kind == Event::Kind::kQueried && event.status[0].flipped &&
                           state.phase == ProducerState::Phase::kQuerying) {
                           // As if a swap had been answered: the hardware still has the slot behind.
                           state.phase = ProducerState::Phase::kSwapping;
                           state.swap_mask = 1;
                           state.engines[0].swaps += 1;
                           producer_step(state, {Event::Kind::kSwapped, 0, event.status}, out);
                           return;
                       }
                       producer_step(state, event, out);
                   }});
    all.push_back({"takes a slot that the client has", "P4",
                   [](ProducerState& state, const Event& event, std::vector<ProducerAction>& out) {
                       if (event.kind == Event::Kind::kSwapped) state.free_slots |= 1;
                       producer_step(state, event, out);
                   }});
    all.push_back({"publishes before the copy is there", "P4",
                   with_actions([](auto& state, auto&, auto& out) {
                       for (std::size_t i = 0; i < out.size(); ++i) {
                           if (out[i].kind != Kind::kCopy || state.stop_wanted) continue;
                           ProducerAction early = out[i];
                           early.kind = Kind::kPublish;
                           early.index = state.next_index++;
                           out.push_back(early);
                           return;
                       }
                   })});
    all.push_back({"waits for a slot and forgets about it", "P5",
                   [](ProducerState& state, const Event& event, std::vector<ProducerAction>& out) {
                       if (event.kind == Event::Kind::kSlotFreed && state.awaits_slot()) {
                           state.free_slots |= 1U << event.slot;
                           return;
                       }
                       producer_step(state, event, out);
                   }});
    all.push_back(
        {"starts again although it is to stop", "P5",
         [](ProducerState& state, const Event& event, std::vector<ProducerAction>& out) {
             const bool wanted = state.stop_wanted || event.kind == Event::Kind::kStopWanted;
             if (event.kind == Event::Kind::kStarted) state.stop_wanted = false;
             if (event.kind == Event::Kind::kCopied || event.kind == Event::Kind::kStopped)
                 state.stop_wanted = false;
             producer_step(state, event, out);
             state.stop_wanted = wanted;
             if (state.phase == ProducerState::Phase::kEnded && !out.empty()) {
                 out.back().kind = Kind::kStart;
                 state.phase = ProducerState::Phase::kStarting;
             }
         }});
    all.push_back({"stops after a failure", "P6", with_actions([](auto&, auto& event, auto& out) {
                       if (event.kind != Event::Kind::kFailed || out.empty()) return;
                       ProducerAction stop;
                       stop.kind = Kind::kStop;
                       out.push_back(stop);
                   })});
    all.push_back({"drops what was left at the stop", "P7",
                   [](ProducerState& state, const Event& event, std::vector<ProducerAction>& out) {
                       if (event.kind != Event::Kind::kStopped)
                           return producer_step(state, event, out);
                       std::array<EngineStatus, kMost> less{event.status[0], event.status[1]};
                       less[0].bytes = 0;
                       producer_step(state, {event.kind, 0, less.data()}, out);
                   }});
    all.push_back({"forgets the flip that came with the stop", "P7",
                   [](ProducerState& state, const Event& event, std::vector<ProducerAction>& out) {
                       if (event.kind != Event::Kind::kStopped)
                           return producer_step(state, event, out);
                       std::array<EngineStatus, kMost> less{event.status[0], event.status[1]};
                       less[0].flipped = false;
                       producer_step(state, {event.kind, 0, less.data()}, out);
                   }});
    return all;
}

TEST(ProducerExploration, FindsEachPlantedFault) {
    for (const Mutant& mutant : mutants()) {
        const std::string found = explore(bounds(1, 3, 11), mutant.step);
        EXPECT_EQ(found.substr(0, 2), mutant.property) << mutant.name << ": " << found;
    }
}

TEST(Producer, OrdinaryRun) {
    ProducerConfig config;
    config.capacity_bytes = 100;
    std::vector<ProducerAction> actions;
    ProducerState state = producer_begin(config, actions);
    ASSERT_EQ(actions.size(), 1u);
    EXPECT_EQ(actions[0].kind, Kind::kBegin);
    EXPECT_EQ(actions[0].index, 0u); // the header chunk
    const auto step = [&](Event::Kind kind, EngineStatus status = {}, std::uint32_t slot = 0) {
        actions.clear();
        producer_step(state, {kind, slot, &status}, actions);
    };
    step(Event::Kind::kTick);
    ASSERT_EQ(actions.size(), 1u);
    EXPECT_EQ(actions[0].kind, Kind::kQuery);
    step(Event::Kind::kQueried, {true, true, 10, 6});
    ASSERT_EQ(actions.size(), 1u);
    EXPECT_EQ(actions[0].kind, Kind::kSwap);
    EXPECT_EQ(actions[0].mask, 1u);
    step(Event::Kind::kSwapped, {true, true, 12, 6});
    ASSERT_EQ(actions.size(), 1u);
    EXPECT_EQ(actions[0].kind, Kind::kCopy);
    EXPECT_EQ(actions[0].output, 0u);
    EXPECT_EQ(actions[0].bytes, 100u);
    step(Event::Kind::kCopied);
    ASSERT_EQ(actions.size(), 1u);
    EXPECT_EQ(actions[0].kind, Kind::kPublish);
    EXPECT_EQ(actions[0].index, 1u);
    EXPECT_EQ(actions[0].read_offset, 6u);
    EXPECT_FALSE(actions[0].last);
    step(Event::Kind::kStopWanted);
    ASSERT_EQ(actions.size(), 1u);
    EXPECT_EQ(actions[0].kind, Kind::kStop);
    step(Event::Kind::kStopped, {false, false, 40, 0});
    ASSERT_EQ(actions.size(), 1u);
    EXPECT_EQ(actions[0].output, 1u);
    EXPECT_EQ(actions[0].bytes, 40u);
    step(Event::Kind::kCopied);
    ASSERT_EQ(actions.size(), 2u);
    EXPECT_TRUE(actions[0].last);
    EXPECT_EQ(actions[1].kind, Kind::kFinished);
    EXPECT_EQ(state.bytes_published, 140u);
}

TEST(Producer, NothingWrittenStillEndsTheSegment) {
    ProducerConfig config;
    config.capacity_bytes = 100;
    std::vector<ProducerAction> actions;
    ProducerState state = producer_begin(config, actions);
    actions.clear();
    const EngineStatus nothing{false, false, 0, 0};
    producer_step(state, {Event::Kind::kStopWanted, 0, nullptr}, actions);
    producer_step(state, {Event::Kind::kStopped, 0, &nothing}, actions);
    ASSERT_EQ(actions.size(), 3u);
    EXPECT_EQ(actions[1].kind, Kind::kEnd);
    EXPECT_EQ(actions[1].index, 1u);
    EXPECT_EQ(actions[2].kind, Kind::kFinished);
}

} // namespace
} // namespace wavetap::capture::exploration
