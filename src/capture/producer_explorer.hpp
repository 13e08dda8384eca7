// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "capture/producer.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

// Explores every interleaving of a small world: the producer, engines that write a byte at a time, a
// GPU that carries commands out some time before it answers, a client that gives staging slots back
// in any order and stops at any moment, and failures. Each reachable state is checked for P1 to P7.

namespace wavetap::capture::exploration {

using Kind = ProducerAction::Kind;
using Event = ProducerEvent;

inline constexpr std::uint32_t kMost = 2; ///< engines of the worlds here
inline constexpr std::uint64_t kCapacity = 2;

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

Bounds bounds(std::uint32_t engines, std::uint32_t slots, std::uint32_t writes);
/// The first violation, or "".
std::string explore(const Bounds& bounds, const StepFunction& step = producer_step);

} // namespace wavetap::capture::exploration
