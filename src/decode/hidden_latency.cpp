// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/hidden_latency.hpp"

#include <algorithm>
#include <limits>
#include <set>

namespace wavetap::decode {
namespace {

using Clock = std::int64_t;

struct Span {
    Clock begin = 0, end = 0;
};

/// When a pipe was busy: spans that do not overlap, by time, and the cycles before each.
class Busy {
  public:
    Busy() = default;
    explicit Busy(std::vector<Span> spans) : spans_(std::move(spans)) {
        Clock sum = 0;
        for (const Span& span : spans_) {
            before_.push_back(sum);
            sum += span.end - span.begin;
        }
        total_ = sum;
    }
    bool empty() const { return spans_.empty(); }
    const std::vector<Span>& spans() const { return spans_; }
    /// Busy cycles before `clock`.
    Clock until(Clock clock) const {
        const auto next =
            std::upper_bound(spans_.begin(), spans_.end(), clock,
                             [](Clock at, const Span& span) { return at < span.end; });
        if (next == spans_.end()) return total_;
        const Clock before = before_[static_cast<std::size_t>(next - spans_.begin())];
        return before + std::max<Clock>(0, clock - next->begin);
    }

  private:
    std::vector<Span> spans_;
    std::vector<Clock> before_;
    Clock total_ = 0;
};

/// What touches or overlaps in one pipe is done one after the other: lengths add up.
Busy in_sequence(std::vector<std::pair<Clock, Clock>> uses) {
    std::sort(uses.begin(), uses.end());
    std::vector<Span> spans;
    for (const auto& [begin, cycles] : uses) {
        if (spans.empty() || begin > spans.back().end)
            spans.push_back({begin, begin + cycles});
        else
            spans.back().end += cycles;
    }
    return Busy(std::move(spans));
}

Busy either(const Busy& left, const Busy& right) {
    std::vector<Span> all;
    std::merge(left.spans().begin(), left.spans().end(), right.spans().begin(), right.spans().end(),
               std::back_inserter(all),
               [](const Span& a, const Span& b) { return a.begin < b.begin; });
    std::vector<Span> spans;
    for (const Span& span : all) {
        if (span.end <= span.begin) continue;
        if (spans.empty() || span.begin > spans.back().end)
            spans.push_back(span);
        else
            spans.back().end = std::max(spans.back().end, span.end);
    }
    return Busy(std::move(spans));
}

struct Hidden {
    Clock idle = 0, stall = 0, issue = 0;
    Clock total() const { return idle + stall + issue; }
    Hidden waiting() const { return {idle, stall, 0}; }
};

const Hidden& larger(const Hidden& preferred, const Hidden& other) {
    return preferred.total() > other.total() ? preferred : other;
}

/// Idle from `last` to `time`, stalled until `time + stall`, issuing until `time + cycles`.
Hidden hidden_by(const Busy& busy, Clock last, Clock time, Clock stall, Clock cycles) {
    if (busy.empty()) return {};
    Hidden hidden;
    const Clock at_time = busy.until(time);
    const Clock at_issue = busy.until(time + stall);
    if (time > last) hidden.idle = at_time - busy.until(last);
    if (stall > 0) hidden.stall = at_issue - at_time;
    if (cycles > stall) hidden.issue = busy.until(time + cycles) - at_issue;
    return hidden;
}

enum class Pipe : std::uint8_t { kMatrix, kValu, kVectorMemory, kScalar, kNone };

Pipe pipe_of(Category category, bool is_matrix) {
    if (is_matrix) return Pipe::kMatrix;
    switch (category) {
    case Category::kValu:
        return Pipe::kValu;
    case Category::kLds:
    case Category::kVmem:
    case Category::kFlat:
        return Pipe::kVectorMemory;
    case Category::kSalu:
    case Category::kSmem:
        return Pipe::kScalar;
    default:
        return Pipe::kNone;
    }
}

Clock clock_of(std::uint64_t time) {
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<Clock>::max() / 4);
    return static_cast<Clock>(std::min(time, kMost));
}

} // namespace

void HiddenLatency::begin_wave(std::uint8_t simd, std::uint64_t start) {
    waves_.push_back({simd, clock_of(start), {}});
}

void HiddenLatency::add(Category category, std::uint64_t time, std::uint32_t duration,
                        std::uint32_t stall, Place place, bool is_matrix) {
    if (waves_.empty()) return;
    const auto [number, is_new] =
        numbers_.emplace(place, static_cast<std::uint32_t>(places_.size()));
    if (is_new) places_.push_back(place);
    waves_.back().instructions.push_back(
        {clock_of(time), std::max(duration, stall), stall, number->second, category, is_matrix});
}

void HiddenLatency::add_other_simd(std::uint64_t time, std::uint32_t cycles) {
    if (cycles != 0) other_simd_.emplace_back(clock_of(time), cycles);
}

void HiddenLatency::finish_simd(std::uint8_t simd, std::vector<Row>& rows) const {
    std::vector<std::pair<Clock, Clock>> uses[4];
    uses[static_cast<std::size_t>(Pipe::kVectorMemory)] = other_simd_;
    for (const Wave& wave : waves_) {
        if (wave.simd != simd) continue;
        for (const Instruction& inst : wave.instructions) {
            const Pipe pipe = pipe_of(inst.category, inst.is_matrix);
            if (pipe == Pipe::kNone) continue;
            const Clock cycles = Clock{inst.cycles} - inst.stall;
            uses[static_cast<std::size_t>(pipe)].emplace_back(inst.time + inst.stall, cycles);
            if (pipe == Pipe::kMatrix)
                uses[static_cast<std::size_t>(Pipe::kValu)].emplace_back(inst.time + inst.stall,
                                                                         cycles * 3 / 4);
        }
    }
    const Busy matrix = in_sequence(std::move(uses[0]));
    const Busy valu = in_sequence(std::move(uses[1]));
    const Busy memory = in_sequence(std::move(uses[2]));
    const Busy scalar = in_sequence(std::move(uses[3]));
    const Busy math = either(valu, matrix);
    const Busy vector = either(math, memory);
    const Busy all = either(vector, scalar);

    std::vector<Sums> sums(places_.size());
    std::vector<bool> seen(places_.size());
    for (const Wave& wave : waves_) {
        if (wave.simd != simd) continue;
        Clock last = wave.start;
        for (const Instruction& inst : wave.instructions) {
            const auto by = [&](const Busy& busy) {
                return hidden_by(busy, last, inst.time, inst.stall, inst.cycles);
            };
            Hidden hidden;
            switch (pipe_of(inst.category, inst.is_matrix)) {
            case Pipe::kMatrix:
                hidden = larger(by(valu).waiting(), by(matrix).waiting());
                break;
            case Pipe::kValu:
                hidden = larger(by(valu).waiting(), by(matrix));
                break;
            case Pipe::kVectorMemory:
                hidden = larger(by(math), by(memory).waiting());
                break;
            case Pipe::kScalar:
                hidden = larger(by(vector), by(scalar).waiting());
                break;
            case Pipe::kNone:
                hidden = by(all);
                break;
            }
            last = inst.time + inst.cycles;
            Sums& sum = sums[inst.place];
            seen[inst.place] = true;
            sum.idle += hidden.idle;
            sum.stall += hidden.stall;
            sum.issue += hidden.issue;
        }
    }
    for (const auto& [place, number] : numbers_) {
        if (seen[number] && place != Place{})
            rows.push_back(
                {simd, place, sums[number].idle, sums[number].stall, sums[number].issue});
    }
}

std::vector<HiddenLatency::Row> HiddenLatency::finish() {
    std::set<std::uint8_t> simds;
    for (const Wave& wave : waves_)
        simds.insert(wave.simd);
    std::vector<Row> rows;
    for (const std::uint8_t simd : simds)
        finish_simd(simd, rows);
    *this = {};
    return rows;
}

} // namespace wavetap::decode
