// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/verify_waves.hpp"

#include "base/units.hpp"

#include <algorithm>
#include <utility>

namespace wavetap::cli {

namespace {

using softgpu::TruthInstruction;
using softgpu::TruthWave;

/// The token format counts time in fours.
constexpr std::uint64_t quad(std::uint64_t clock) {
    return clock & ~std::uint64_t{3};
}

std::string place(std::uint32_t cu, std::uint32_t simd, std::uint32_t slot) {
    return "CU " + std::to_string(cu) + " SIMD " + std::to_string(simd) + " slot " +
           std::to_string(slot);
}

std::string place(const TruthWave& wave) {
    return place(wave.cu, wave.simd, wave.slot);
}
std::string place(const decode::WaveRecord& wave) {
    return place(wave.cu, wave.simd, wave.slot);
}

/// Issue clock of a decoded instruction, relative to its blob. On gfx9 an immediate's stall ends
/// four clocks behind its token (format notes, section 8.4).
std::uint64_t issue_time(const decode::InstructionRecord& instruction, bool gfx9) {
    const std::uint64_t time = instruction.time + instruction.stall;
    return gfx9 && instruction.category == decode::Category::kImmed && time >= 4 ? time - 4 : time;
}

} // namespace

std::uint64_t bytes_of(const TruthWave& wave) {
    return sizeof wave + wave.instructions.size() * sizeof(TruthInstruction);
}

std::uint64_t bytes_of(const decode::WaveRecord& wave) {
    return sizeof wave + wave.instructions.size() * sizeof(decode::InstructionRecord);
}

WaveClass classify(const TruthWave& wave, const ArmedInterval& interval) {
    const bool ended = wave.end != 0;
    if (interval.arm >= interval.disarm) return WaveClass::kOutside;
    if (wave.start >= interval.disarm || (ended && wave.end < interval.arm))
        return WaveClass::kOutside;
    if (wave.start > interval.first_drop) return WaveClass::kDropped;
    if (wave.start < interval.arm) return WaveClass::kOpenAtStart;
    if (ended && wave.end < std::min(interval.first_drop, interval.disarm))
        return WaveClass::kClosed;
    return interval.first_drop < interval.disarm ? WaveClass::kCutByDrop : WaveClass::kOpenAtEnd;
}

bool has_instructions(const Stretch& stretch, const VerifyContext& context, const TruthWave& wave) {
    return context.context.detail && on_target(context.context, wave.cu, wave.simd) &&
           stretch.code.covers(wave.entry_pc) &&
           !stretch.truth.dispatched_before(wave, stretch.interval.arm);
}

void WaveComparison::expect(const TruthWave& wave) {
    const bool closed = classify(wave, interval_) == WaveClass::kClosed;
    (closed ? closed_ : open_).push_back({&wave, expected_is_done_.size()});
    expected_is_done_.push_back(false);
}

void WaveComparison::finish_closed(const Expected& expected) {
    const TruthWave& wave = *expected.wave;
    expected_is_done_[expected.number] = true;
    ++context_.waves.expected;
    if (!stretch_.code.covers(wave.entry_pc))
        ++context_.apart.without_code;
    else if (!knows_entry(wave))
        ++context_.apart.without_entry;
    const store::ContextInfo& asked = context_.context;
    const bool excluded = (asked.perf_exclude_mask >> (wave.cu & 31) & 1) != 0;
    if (!asked.perf_counters.empty() && !excluded) sampled_.push_back(wave.start);
}

void WaveComparison::finish_open(const Expected& expected) {
    expected_is_done_[expected.number] = true;
    count_open(*expected.wave);
}

void WaveComparison::add(const decode::WaveRecord& record, bool settled) {
    traced_.push_back({&record, record.start + base_, record.end + base_, settled, false});
}

void WaveComparison::match_exact() {
    std::multimap<std::tuple<std::uint64_t, unsigned, unsigned, unsigned>, TracedWave*> by_key;
    for (TracedWave& traced : traced_) {
        const decode::WaveRecord& record = *traced.record;
        if (record.sa == 0)
            by_key.emplace(std::tuple(traced.start, record.cu, record.simd, record.slot), &traced);
    }
    std::vector<Expected> left;
    for (const Expected& expected : closed_) {
        const TruthWave* wave = expected.wave;
        const auto found =
            by_key.find(std::tuple(quad(wave->start), wave->cu, wave->simd, wave->slot));
        if (found == by_key.end()) {
            left.push_back(expected);
            continue;
        }
        finish_closed(expected);
        compare_wave(*wave, *found->second);
        by_key.erase(found);
    }
    closed_ = std::move(left);
}

// A wave with the right times in another place: one wave that differs, not one missing and one
// extra.
void WaveComparison::match_moved() {
    std::multimap<std::pair<std::uint64_t, std::uint64_t>, TracedWave*> by_time;
    for (TracedWave& traced : traced_)
        if (!traced.taken && traced.record->complete)
            by_time.emplace(std::pair(traced.start, traced.end), &traced);
    std::vector<Expected> left;
    for (const Expected& expected : closed_) {
        const TruthWave* wave = expected.wave;
        const auto found = by_time.find(std::pair(quad(wave->start), quad(wave->end)));
        if (found == by_time.end()) {
            left.push_back(expected);
            continue;
        }
        finish_closed(expected);
        TracedWave& moved = *found->second;
        by_time.erase(found);
        moved.taken = true;
        ++context_.waves.differing;
        fault("the wave that started at clock " + std::to_string(wave->start) + " ran on " +
              place(*wave) + ", the trace says " + place(*moved.record));
        if (has_instructions(*wave))
            compare_instructions(*wave, moved);
        else
            count_foreign(moved);
    }
    closed_ = std::move(left);
}

void WaveComparison::compare_wave(const TruthWave& wave, TracedWave& traced) {
    traced.taken = true;
    const decode::WaveRecord& record = *traced.record;
    std::string wrong;
    if (!record.complete)
        wrong = "has no end in the trace, it ended at clock " + std::to_string(wave.end);
    else if (traced.end != quad(wave.end))
        wrong = "ended at clock " + std::to_string(wave.end) + ", the trace says " +
                std::to_string(traced.end);
    else if (record.count != wave.threads)
        wrong = "had " + std::to_string(wave.threads) + " work-items, the trace says " +
                std::to_string(record.count);
    else if (record.entry.absolute != wave.entry_pc &&
             (knows_entry(wave) || record.entry.absolute != 0))
        wrong = "began at " + format_hex(wave.entry_pc) + ", the trace says " +
                format_hex(record.entry.absolute);
    if (wrong.empty()) {
        ++context_.waves.matched;
    } else {
        ++context_.waves.differing;
        fault("the wave of " + place(wave) + " that started at clock " +
              std::to_string(wave.start) + " " + wrong);
    }
    if (has_instructions(wave))
        compare_instructions(wave, traced);
    else
        count_foreign(traced);
}

// Instructions may be there for the target only.
void WaveComparison::count_foreign(const TracedWave& traced) {
    const decode::WaveRecord& record = *traced.record;
    if (record.instructions.empty()) return;
    if (context_.context.detail && on_target(context_.context, record.cu, record.simd)) return;
    context_.instructions.extra += record.instructions.size();
    fault("the trace has " + std::to_string(record.instructions.size()) +
          " instructions of a wave on " + place(record) + ", which is not the target");
}

void WaveComparison::compare_instructions(const TruthWave& wave, const TracedWave& traced) {
    VerifyTally& tally = context_.instructions;
    struct Decoded {
        std::uint64_t clock;
        std::size_t index;
        std::uint64_t pc;
    };
    std::vector<Decoded> decoded;
    for (const decode::InstructionRecord& instruction : traced.record->instructions)
        decoded.push_back(
            {base_ + issue_time(instruction, gfx9_), decoded.size(), instruction.pc.absolute});
    std::sort(decoded.begin(), decoded.end(), [](const Decoded& a, const Decoded& b) {
        return std::pair(a.clock, a.index) < std::pair(b.clock, b.index);
    });
    tally.expected += wave.instructions.size();
    bool reported = false;
    const auto report = [&](const std::string& text) {
        if (!std::exchange(reported, true))
            fault("wave of " + place(wave) + " from clock " + std::to_string(wave.start) + ": " +
                  text);
        else
            ++context_.faults_total;
    };
    auto got = decoded.begin();
    for (const TruthInstruction& instruction : wave.instructions) {
        for (; got != decoded.end() && got->clock < quad(instruction.time); ++got) {
            ++tally.extra;
            report("nothing issued at clock " + std::to_string(got->clock) + ", the trace has " +
                   format_hex(got->pc));
        }
        if (got == decoded.end() || got->clock != quad(instruction.time)) {
            ++tally.missing;
            report(format_hex(instruction.pc) + " issued at clock " +
                   std::to_string(instruction.time) + " is not in the trace");
            continue;
        }
        if (got->pc == instruction.pc) {
            ++tally.matched;
        } else {
            ++tally.differing;
            report(format_hex(instruction.pc) + " issued at clock " +
                   std::to_string(instruction.time) + ", the trace says " + format_hex(got->pc));
        }
        ++got;
    }
    for (; got != decoded.end(); ++got) {
        ++tally.extra;
        report("nothing issued at clock " + std::to_string(got->clock) + ", the trace has " +
               format_hex(got->pc));
    }
}

void WaveComparison::all_instructions_missing(const TruthWave& wave) {
    context_.instructions.expected += wave.instructions.size();
    context_.instructions.missing += wave.instructions.size();
}

// Waves that the stretch shows only in part may be in the trace, but nothing may be there that is
// not one of them.
bool WaveComparison::may_be(const TruthWave& wave, const TracedWave& traced) const {
    const decode::WaveRecord& record = *traced.record;
    const bool ends_inside = wave.end != 0 && wave.end < interval_.disarm;
    // Of a wave that began while tokens were dropped only the end is there.
    if (wave.start > interval_.first_drop && !record.start_seen)
        return !record.complete || (ends_inside && traced.end == quad(wave.end));
    if (wave.start < interval_.arm && record.start_seen) return false;
    if (wave.start < interval_.arm)
        return !record.complete || (ends_inside && traced.end == quad(wave.end));
    if (traced.start != quad(wave.start) || record.count != wave.threads) return false;
    // Behind a loss an end may be that of a later wave in the same place, whose start was dropped.
    const bool cut = interval_.first_drop < interval_.disarm &&
                     (wave.end == 0 || wave.end >= interval_.first_drop);
    const bool unsure = cut && traced.end >= quad(interval_.first_drop);
    if (record.complete && !unsure && !(ends_inside && traced.end == quad(wave.end))) return false;
    return record.entry.absolute == wave.entry_pc ||
           (!knows_entry(wave) && record.entry.absolute == 0);
}

// Whether the trace has the wave.
bool WaveComparison::absorb(const TruthWave& wave) {
    const auto here = by_place_.find(std::tuple(wave.cu, wave.simd, wave.slot));
    if (here == by_place_.end()) return false;
    std::vector<TracedWave*>& candidates = here->second;
    const auto found = std::find_if(candidates.begin(), candidates.end(),
                                    [&](const TracedWave* each) { return may_be(wave, *each); });
    if (found == candidates.end()) return false;
    (*found)->taken = true;
    count_foreign(**found);
    candidates.erase(found);
    return true;
}

void WaveComparison::match() {
    match_exact();
    for (TracedWave& traced : traced_) {
        const decode::WaveRecord& record = *traced.record;
        if (!traced.taken && traced.settled && record.sa == 0)
            by_place_[std::tuple(record.cu, record.simd, record.slot)].push_back(&traced);
    }
    std::erase_if(open_, [this](const Expected& open) {
        const bool found = absorb(*open.wave);
        if (found) finish_open(open);
        return found;
    });
}

std::uint64_t WaveComparison::left_bytes() const {
    std::uint64_t bytes = 0;
    for (const Expected& expected : closed_)
        bytes += bytes_of(*expected.wave);
    for (const TracedWave& traced : traced_)
        if (!traced.taken && traced.settled) bytes += bytes_of(*traced.record);
    return bytes;
}

void WaveComparison::count_open(const TruthWave& wave) {
    switch (classify(wave, interval_)) {
    case WaveClass::kOpenAtStart:
        ++context_.apart.open_at_start;
        break;
    case WaveClass::kOpenAtEnd:
        ++context_.apart.open_at_end;
        break;
    case WaveClass::kCutByDrop:
    case WaveClass::kDropped:
        ++context_.apart.dropped;
        break;
    case WaveClass::kOutside:
    case WaveClass::kClosed:
        break;
    }
}

void WaveComparison::drop(const TruthWave& wave) {
    count_open(wave);
    absorb(wave);
}

void WaveComparison::count(bool open_too) {
    counted_ = true;
    match_moved();
    if (open_too)
        for (const Expected& open : open_)
            finish_open(open);
    for (const Expected& expected : closed_) {
        const TruthWave* wave = expected.wave;
        finish_closed(expected);
        ++context_.waves.missing;
        fault("the wave of " + place(*wave) + " from clock " + std::to_string(wave->start) +
              " to " + std::to_string(wave->end) + " is not in the trace");
        if (has_instructions(*wave)) all_instructions_missing(*wave);
    }
    closed_.clear();
    for (const TracedWave& traced : traced_) {
        if (traced.taken || !traced.settled) continue;
        // Killed while armed: waves that ran then never came into the truth log.
        if (interval_.disarm == kNever && interval_.arm != kNever && !traced.record->complete) {
            ++context_.apart.open_at_end;
            count_foreign(traced);
            continue;
        }
        ++context_.waves.extra;
        context_.instructions.extra += traced.record->instructions.size();
        fault("no wave ran on " + place(*traced.record) + " from clock " +
              std::to_string(traced.start) + ", the trace has one");
    }
}

} // namespace wavetap::cli
