// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/producer_explorer.hpp"

#include <algorithm>
#include <deque>

namespace wavetap::capture::exploration {

namespace {

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

} // namespace

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

std::string explore(const Bounds& bounds, const StepFunction& step) {
    return Explorer(bounds, step).run();
}

} // namespace wavetap::capture::exploration
