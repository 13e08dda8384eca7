// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/producer.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>

// Explores every interleaving of a small world: the producer, engines that write a byte at a time, a
// GPU that carries commands out some time before it answers, a client that gives staging slots back
// in any order and stops at any moment, and failures. Each reachable state is checked for P1 to P7.

namespace wavetap::capture {
namespace {

using Kind = ProducerAction::Kind;
using Event = ProducerEvent;

constexpr std::uint32_t kMost = 2; ///< engines of the worlds here
constexpr std::uint64_t kCapacity = 2;

/// The trace unit of one engine.
struct Unit {
    bool armed = false, full = false;
    std::uint32_t active = 0, next = 0;
    std::uint64_t offset = 0;

    void start() {
        armed = true;
        full = false;
        active = 0;
        next = 1;
        offset = 0;
    }
    /// One byte; false: there was no room.
    bool write() {
        if (offset == kCapacity && !flip()) return false;
        ++offset;
        return true;
    }
    bool flip() {
        if (full) return false;
        full = true;
        active = next;
        offset = 0;
        return true;
    }
    EngineStatus status() const { return {full, armed, offset, 0}; }
    void name_next(std::uint32_t slot) {
        next = slot;
        full = false;
        if (offset == kCapacity) flip();
    }
};

struct World {
    ProducerState producer;
    std::array<Unit, kMost> units{};
    // The action that is out.
    bool out = false, executed = false;
    ProducerAction action;
    std::array<EngineStatus, kMost> answer{};
    // Monitors and what may still happen.
    std::uint32_t with_client = 0, filled = 0; ///< staging slots
    std::array<bool, kMost> open{};
    std::uint32_t next_index = 0;
    bool failed = false, finished = false;
    std::uint64_t produced = 0, delivered = 0;
    std::uint32_t writes_left = 0, failures_left = 0, halts_left = 0;
    std::string violation;
};

struct Bounds {
    std::uint32_t engines = 1, slots = 3, writes = 10, failures = 1, halts = 1;
    OverflowPolicy overflow = OverflowPolicy::kRestart;
    bool header = true;
};

using StepFunction =
    std::function<void(ProducerState&, const Event&, std::vector<ProducerAction>&)>;

/// What the world looks like, without what only counts upward.
std::string key_of(const World& w) {
    std::string key;
    const auto add = [&key](auto value) {
        key.append(reinterpret_cast<const char*>(&value), sizeof value);
    };
    const ProducerState& p = w.producer;
    add(p.phase);
    add(std::uint8_t(p.copy_out | p.drained_by_stop << 1 | p.stop_wanted << 2));
    add(p.cause);
    add(std::uint16_t(p.free_slots));
    add(std::uint8_t(p.swap_mask));
    add(std::uint8_t(p.copy_engine << 4 | p.copy_slot));
    for (std::uint32_t e = 0; e < p.config.engines; ++e) {
        add(std::uint8_t(p.engines[e].swaps % kRingSlots | p.engines[e].waiting << 2 |
                         p.engines[e].open << 4));
        for (const auto& waiting : p.engines[e].queue)
            add(std::uint8_t(waiting.output | waiting.bytes << 2 | waiting.last << 4 |
                             waiting.cpu_full << 5));
        const Unit& u = w.units[e];
        add(std::uint8_t(u.armed | u.full << 1 | u.active << 2 | u.next << 4));
        add(std::uint8_t(u.offset | w.open[e] << 4));
        const EngineStatus& s = w.answer[e];
        if (w.executed) add(std::uint8_t(s.flipped | s.running << 1 | s.bytes << 2));
    }
    add(std::uint8_t(w.out | w.executed << 1 | w.failed << 2 | w.finished << 3));
    add(std::uint8_t(w.writes_left));
    add(std::uint8_t(w.failures_left << 4 | w.halts_left));
    add(std::uint16_t(w.with_client));
    add(std::uint16_t(w.filled));
    return key;
}

class Explorer {
  public:
    Explorer(const Bounds& bounds, StepFunction step) : bounds_(bounds), step_(std::move(step)) {}

    /// The first violation, or "".
    std::string run();
    std::size_t states() const { return seen_.size(); }
    std::uint64_t flips = 0, cpu_full = 0, gpu_full = 0, halted = 0, ended = 0, failed = 0;

  private:
    void each_successor(const World& world, const std::function<void(World&&)>& visit);
    void apply(World& world, const Event& event);
    void act(World& world, const ProducerAction& action);
    static bool is_command(Kind kind) {
        return kind == Kind::kQuery || kind == Kind::kSwap || kind == Kind::kCopy ||
               kind == Kind::kStop || kind == Kind::kStart;
    }
    void check(World& world) const;
    void execute(World& world) const;
    void answer(World& world, bool fails);
    int steps_to_end(const World& world, int depth);

    Bounds bounds_;
    StepFunction step_;
    std::unordered_set<std::string> seen_;
    std::unordered_map<std::string, int> ends_in_;
};

void Explorer::act(World& w, const ProducerAction& action) {
    const auto violated = [&w](const char* what) {
        if (w.violation.empty()) w.violation = what;
    };
    const auto use_index = [&] {
        if (action.index != w.next_index) violated("P2: a chunk index has a gap");
        ++w.next_index;
    };
    if (is_command(action.kind)) {
        if (w.failed && action.kind != Kind::kCopy) violated("P6: a command after a failure");
        if (w.out) violated("two commands are out");
        w.out = true;
        w.executed = false;
        w.action = action;
    }
    switch (action.kind) {
    case Kind::kCopy: {
        const std::uint32_t slot = 1U << action.slot;
        if ((w.with_client & slot) != 0) violated("P4: a copy into a slot that the client has");
        break;
    }
    case Kind::kPublish: {
        const std::uint32_t slot = 1U << action.slot;
        use_index();
        if ((w.with_client & slot) != 0 || (w.filled & slot) == 0)
            violated("P4: a slot was published that is not filled or that the client has");
        w.filled &= ~slot;
        w.with_client |= slot;
        if (!w.open[action.engine]) violated("P1: a chunk outside of a segment");
        if (action.last) w.open[action.engine] = false;
        w.delivered += action.bytes;
        break;
    }
    case Kind::kBegin:
        if (bounds_.header) use_index();
        if (w.open[action.engine]) violated("P1: a segment without an END");
        w.open[action.engine] = true;
        break;
    case Kind::kEnd:
        use_index();
        if (!w.open[action.engine]) violated("P1: a second END");
        w.open[action.engine] = false;
        break;
    case Kind::kFinished:
        w.finished = true;
        break;
    default:
        break;
    }
}

void Explorer::apply(World& w, const Event& event) {
    std::vector<ProducerAction> actions;
    step_(w.producer, event, actions);
    if (w.producer.phase == ProducerState::Phase::kFailed) w.failed = true;
    for (const ProducerAction& action : actions)
        act(w, action);
    check(w);
}

void Explorer::check(World& w) const {
    const auto violated = [&w](const char* what) {
        if (w.violation.empty()) w.violation = what;
    };
    if (w.out && w.action.kind == Kind::kCopy) {
        const Unit& unit = w.units[w.action.engine];
        if (unit.armed && (unit.active == w.action.output || unit.next == w.action.output))
            violated("P3: a copy from a slot that the hardware may write");
    }
    if (!w.finished) return;
    for (std::uint32_t e = 0; e < bounds_.engines; ++e)
        if (w.open[e]) violated("P1: the run is over without an END");
    const std::uint64_t accounted = w.delivered + w.producer.bytes_lost;
    if (w.failed ? accounted > w.produced : accounted != w.produced)
        violated("P7: bytes delivered and lost are not those written");
}

// The GPU carries out what is out.
void Explorer::execute(World& w) const {
    w.executed = true;
    for (std::uint32_t e = 0; e < bounds_.engines; ++e) {
        Unit& unit = w.units[e];
        w.answer[e] = unit.status();
        if (w.action.kind == Kind::kSwap && (w.action.mask >> e & 1) != 0)
            unit.name_next(
                static_cast<std::uint32_t>((w.producer.engines[e].swaps + 2) % kRingSlots));
        if (w.action.kind == Kind::kStop) unit.armed = false;
        if (w.action.kind == Kind::kStart) unit.start();
    }
    if (w.action.kind == Kind::kCopy) w.filled |= 1U << w.action.slot;
}

void Explorer::answer(World& w, bool fails) {
    w.out = false;
    Event event;
    event.status = w.answer.data();
    switch (w.action.kind) {
    case Kind::kQuery:
        event.kind = Event::Kind::kQueried;
        break;
    case Kind::kSwap:
        event.kind = Event::Kind::kSwapped;
        break;
    case Kind::kCopy:
        event.kind = Event::Kind::kCopied;
        break;
    case Kind::kStop:
        event.kind = Event::Kind::kStopped;
        break;
    default:
        event.kind = Event::Kind::kStarted;
        break;
    }
    if (fails) event.kind = Event::Kind::kFailed;
    w.executed = false;
    apply(w, event);
}

void Explorer::each_successor(const World& world, const std::function<void(World&&)>& visit) {
    if (world.out && !world.executed) {
        World next = world;
        execute(next);
        check(next);
        visit(std::move(next));
    }
    if (world.out && world.executed) {
        World next = world;
        answer(next, false);
        visit(std::move(next));
    }
    if (world.out && world.failures_left > 0) {
        World next = world;
        --next.failures_left;
        answer(next, true);
        visit(std::move(next));
    }
    for (std::uint32_t slot = 0; slot < bounds_.slots; ++slot) {
        if ((world.with_client >> slot & 1) == 0) continue;
        World next = world;
        next.with_client &= ~(1U << slot);
        Event event{Event::Kind::kSlotFreed, slot, nullptr};
        apply(next, event);
        visit(std::move(next));
    }
    for (std::uint32_t e = 0; e < bounds_.engines; ++e) {
        if (!world.units[e].armed) continue;
        if (world.writes_left > 0) {
            World next = world;
            --next.writes_left;
            if (next.units[e].write()) ++next.produced;
            check(next);
            visit(std::move(next));
        }
        if (world.halts_left > 0) {
            World next = world;
            --next.halts_left;
            next.units[e].armed = false;
            visit(std::move(next));
        }
    }
    if (!world.out && !world.finished) {
        World next = world;
        apply(next, {Event::Kind::kTick, 0, nullptr});
        visit(std::move(next));
    }
    if (!world.producer.stop_wanted) {
        World next = world;
        apply(next, {Event::Kind::kStopWanted, 0, nullptr});
        visit(std::move(next));
    }
}

// P5: once a stop is wanted, every path without further writes ends, and within so many steps. A
// cycle shows as a depth that no path may have.
int Explorer::steps_to_end(const World& world, int depth) {
    constexpr int kTooMany = 100;
    if (world.finished) return 0;
    if (depth > kTooMany) return kTooMany;
    std::string key = key_of(world);
    if (const auto known = ends_in_.find(key); known != ends_in_.end()) return known->second;
    int longest = -1;
    each_successor(world, [&](World&& next) {
        if (next.writes_left != world.writes_left || next.halts_left != world.halts_left) return;
        if (key_of(next) == key) return; // a tick that changed nothing
        longest = std::max(longest, steps_to_end(next, depth + 1));
    });
    const int steps = longest < 0 ? kTooMany : std::min(kTooMany, longest + 1);
    ends_in_.emplace(std::move(key), steps);
    return steps;
}

std::string Explorer::run() {
    World first;
    first.writes_left = bounds_.writes;
    first.failures_left = bounds_.failures;
    first.halts_left = bounds_.halts;
    ProducerConfig config;
    config.engines = bounds_.engines;
    config.staging_slots = bounds_.slots;
    config.capacity_bytes = kCapacity;
    config.header = bounds_.header;
    config.overflow = bounds_.overflow;
    std::vector<ProducerAction> actions;
    first.producer = producer_begin(config, actions);
    for (const ProducerAction& action : actions)
        act(first, action);
    for (std::uint32_t e = 0; e < bounds_.engines; ++e)
        first.units[e].start();

    std::deque<World> frontier{first};
    seen_.insert(key_of(first));
    std::string violation = first.violation;
    while (!frontier.empty() && violation.empty()) {
        const World world = std::move(frontier.front());
        frontier.pop_front();
        if (world.finished) {
            ++(world.failed ? failed : ended);
            flips += world.producer.flips;
            cpu_full += world.producer.cpu_full;
            gpu_full += world.producer.gpu_full;
            halted += world.producer.halted;
        }
        if (world.producer.stop_wanted && steps_to_end(world, 0) >= 100) {
            return "P5: a stop does not end";
        }
        each_successor(world, [&](World&& next) {
            if (!next.violation.empty() && violation.empty()) violation = next.violation;
            if (seen_.insert(key_of(next)).second) frontier.push_back(std::move(next));
        });
    }
    return violation;
}

Bounds bounds(std::uint32_t engines, std::uint32_t slots, std::uint32_t writes) {
    Bounds made;
    made.engines = engines;
    made.slots = slots;
    made.writes = writes;
    return made;
}

std::string explore(const Bounds& bounds, const StepFunction& step = producer_step) {
    return Explorer(bounds, step).run();
}

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
} // namespace wavetap::capture
