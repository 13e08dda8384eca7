// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/verify_match.hpp"

#include "base/units.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace wavetap::cli {

namespace {

using softgpu::TruthInstruction;
using softgpu::TruthWave;

/// The token format counts time in fours.
constexpr std::uint64_t quad(std::uint64_t clock) {
    return clock & ~std::uint64_t{3};
}

enum class WaveClass : std::uint8_t {
    kOutside,
    kClosed,
    kOpenAtStart,
    kOpenAtEnd,
    kCutByDrop, ///< its start may be in the trace, its end is not for sure
    kDropped,
};

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

/// A wave of the trace with absolute clocks.
struct TracedWave {
    const decode::WaveRecord* record = nullptr;
    std::uint64_t start = 0, end = 0;
    bool taken = false;
};

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

class Comparison {
  public:
    Comparison(const StretchComparison& stretch, VerifyContext& context)
        : stretch_(stretch), context_(context), interval_(stretch.interval) {}

    void run();

  private:
    void count_sampled(const TruthWave& wave);
    void load_traced();
    void match_exact();
    void match_moved();
    void absorb_open();
    bool may_be(const TruthWave& wave, const TracedWave& traced) const;
    void count_foreign(const TracedWave& traced);
    void count_leftovers();
    void compare_wave(const TruthWave& wave, TracedWave& traced);
    void compare_instructions(const TruthWave& wave, const TracedWave& traced);
    void all_instructions_missing(const TruthWave& wave);
    bool knows_entry(const TruthWave& wave) const {
        return stretch_.truth.dispatch_time(wave) >= interval_.arm;
    }
    bool has_instructions(const TruthWave& wave) const {
        return context_.context.detail && on_target(context_.context, wave.cu, wave.simd) &&
               stretch_.code.covers(wave.entry_pc) && knows_entry(wave);
    }
    std::string where() const {
        return "run " + std::to_string(stretch_.run) + ", SE " + std::to_string(stretch_.se) + ", ";
    }
    void fault(std::string text) { add_fault(context_, where() + std::move(text)); }

    const StretchComparison& stretch_;
    VerifyContext& context_;
    const ArmedInterval& interval_;
    std::vector<const TruthWave*> closed_;
    std::vector<const TruthWave*> open_;
    std::vector<TracedWave> traced_;
    std::uint64_t base_ = 0;
    bool gfx9_ = true;
};

// Waves that counters cannot have missed: a sample of their CU was taken behind their start.
void Comparison::count_sampled(const TruthWave& wave) {
    constexpr std::uint64_t kMostCus = 16;
    const store::ContextInfo& asked = context_.context;
    const std::uint64_t longest = (1 + kMostCus) * 8 * asked.perf_period + 4 * kMostCus;
    const bool excluded = (asked.perf_exclude_mask >> (wave.cu & 31) & 1) != 0;
    if (asked.perf_counters.empty() || excluded) return;
    if (wave.start + longest < std::min(interval_.disarm, interval_.first_drop))
        ++context_.waves_sampled;
}

void Comparison::load_traced() {
    const decode::BlobRecords* records = stretch_.records;
    if (records == nullptr) return;
    gfx9_ = records->generation == "gfx9";
    if (!records->clock_base && !records->waves.empty())
        fault("the stream has no absolute timestamp, so its " +
              std::to_string(records->waves.size()) + " waves have no place in time");
    base_ = records->clock_base.value_or(0);
    for (const decode::WaveRecord& wave : records->waves)
        traced_.push_back({&wave, wave.start + base_, wave.end + base_, false});
}

void Comparison::match_exact() {
    std::multimap<std::tuple<std::uint64_t, unsigned, unsigned, unsigned>, TracedWave*> by_key;
    for (TracedWave& traced : traced_) {
        const decode::WaveRecord& record = *traced.record;
        if (record.sa == 0)
            by_key.emplace(std::tuple(traced.start, record.cu, record.simd, record.slot), &traced);
    }
    std::vector<const TruthWave*> left;
    for (const TruthWave* wave : closed_) {
        const auto found =
            by_key.find(std::tuple(quad(wave->start), wave->cu, wave->simd, wave->slot));
        if (found == by_key.end()) {
            left.push_back(wave);
            continue;
        }
        compare_wave(*wave, *found->second);
        by_key.erase(found);
    }
    closed_ = std::move(left);
}

// A wave with the right times in another place: one wave that differs, not one missing and one
// extra.
void Comparison::match_moved() {
    std::multimap<std::pair<std::uint64_t, std::uint64_t>, TracedWave*> by_time;
    for (TracedWave& traced : traced_)
        if (!traced.taken && traced.record->complete)
            by_time.emplace(std::pair(traced.start, traced.end), &traced);
    std::vector<const TruthWave*> left;
    for (const TruthWave* wave : closed_) {
        const auto found = by_time.find(std::pair(quad(wave->start), quad(wave->end)));
        if (found == by_time.end()) {
            left.push_back(wave);
            continue;
        }
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

void Comparison::compare_wave(const TruthWave& wave, TracedWave& traced) {
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
void Comparison::count_foreign(const TracedWave& traced) {
    const decode::WaveRecord& record = *traced.record;
    if (record.instructions.empty()) return;
    if (context_.context.detail && on_target(context_.context, record.cu, record.simd)) return;
    context_.instructions.extra += record.instructions.size();
    fault("the trace has " + std::to_string(record.instructions.size()) +
          " instructions of a wave on " + place(record) + ", which is not the target");
}

void Comparison::compare_instructions(const TruthWave& wave, const TracedWave& traced) {
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

void Comparison::all_instructions_missing(const TruthWave& wave) {
    context_.instructions.expected += wave.instructions.size();
    context_.instructions.missing += wave.instructions.size();
}

// Waves that the stretch shows only in part may be in the trace, but nothing may be there that is
// not one of them.
bool Comparison::may_be(const TruthWave& wave, const TracedWave& traced) const {
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

void Comparison::absorb_open() {
    std::map<std::tuple<unsigned, unsigned, unsigned>, std::vector<TracedWave*>> by_place;
    for (TracedWave& traced : traced_) {
        const decode::WaveRecord& record = *traced.record;
        if (!traced.taken && record.sa == 0)
            by_place[std::tuple(record.cu, record.simd, record.slot)].push_back(&traced);
    }
    for (const TruthWave* wave : open_) {
        const auto here = by_place.find(std::tuple(wave->cu, wave->simd, wave->slot));
        if (here == by_place.end()) continue;
        std::vector<TracedWave*>& candidates = here->second;
        const auto found =
            std::find_if(candidates.begin(), candidates.end(),
                         [&](const TracedWave* traced) { return may_be(*wave, *traced); });
        if (found == candidates.end()) continue;
        (*found)->taken = true;
        count_foreign(**found);
        candidates.erase(found);
    }
}

void Comparison::count_leftovers() {
    for (const TruthWave* wave : closed_) {
        ++context_.waves.missing;
        fault("the wave of " + place(*wave) + " from clock " + std::to_string(wave->start) +
              " to " + std::to_string(wave->end) + " is not in the trace");
        if (has_instructions(*wave)) all_instructions_missing(*wave);
    }
    for (const TracedWave& traced : traced_) {
        if (traced.taken) continue;
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

void Comparison::run() {
    for (const TruthWave* wave :
         stretch_.truth.waves(stretch_.se, interval_.arm, interval_.disarm)) {
        switch (classify(*wave, interval_)) {
        case WaveClass::kOutside:
            continue;
        case WaveClass::kClosed:
            closed_.push_back(wave);
            count_sampled(*wave);
            if (!stretch_.code.covers(wave->entry_pc))
                ++context_.apart.without_code;
            else if (!knows_entry(*wave))
                ++context_.apart.without_entry;
            continue;
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
        }
        open_.push_back(wave);
    }
    context_.apart.dropped_tokens += interval_.dropped_tokens;
    context_.waves.expected += closed_.size();
    load_traced();
    match_exact();
    absorb_open();
    match_moved();
    count_leftovers();
}

} // namespace

void CodeRanges::add(std::uint64_t begin, std::uint64_t bytes) {
    ranges_.emplace_back(begin, begin + bytes);
}

bool CodeRanges::covers(std::uint64_t address) const {
    return std::any_of(ranges_.begin(), ranges_.end(), [&](const auto& range) {
        return address >= range.first && address < range.second;
    });
}

void TruthIndex::grow(std::uint32_t se) {
    if (waves_.size() > se) return;
    waves_.resize(se + std::size_t{1});
    samplings_.resize(se + std::size_t{1});
    samples_.resize(se + std::size_t{1});
    intervals_.resize(se + std::size_t{1});
}

TruthIndex::TruthIndex(const softgpu::Truth& truth, std::uint32_t agent) {
    for (const softgpu::TruthDispatch& dispatch : truth.dispatches)
        if (dispatch.agent == agent) dispatch_times_[dispatch.id] = dispatch.time;
    for (const TruthWave& wave : truth.waves) {
        if (wave.agent != agent) continue;
        grow(wave.se);
        waves_[wave.se].push_back(&wave);
    }
    for (const softgpu::TruthSampling& sampling : truth.samplings) {
        if (sampling.agent != agent) continue;
        grow(sampling.se);
        samplings_[sampling.se].push_back(&sampling);
    }
    for (const softgpu::TruthSample& sample : truth.samples) {
        if (sample.agent != agent) continue;
        grow(sample.se);
        samples_[sample.se].push_back(&sample);
    }
    for (const softgpu::TruthTraceEvent& event : truth.trace_events) {
        if (event.agent != agent) continue;
        grow(event.se);
        std::vector<ArmedInterval>& intervals = intervals_[event.se];
        if (event.kind == softgpu::TruthTraceEvent::Kind::kArm) {
            intervals.push_back({event.time, kNever, kNever, 0});
            continue;
        }
        if (intervals.empty() || intervals.back().disarm != kNever) continue;
        if (event.kind == softgpu::TruthTraceEvent::Kind::kDisarm) {
            intervals.back().disarm = event.time;
        } else {
            intervals.back().first_drop = std::min(intervals.back().first_drop, event.time);
            intervals.back().dropped_tokens += event.count;
        }
    }
    latest_end_.resize(waves_.size());
    for (std::size_t se = 0; se < waves_.size(); ++se) {
        std::sort(waves_[se].begin(), waves_[se].end(), [](const TruthWave* a, const TruthWave* b) {
            return std::pair(a->start, a) < std::pair(b->start, b);
        });
        std::uint64_t latest = 0;
        for (const TruthWave* wave : waves_[se]) {
            latest = std::max(latest, wave->end == 0 ? kNever : wave->end);
            latest_end_[se].push_back(latest);
        }
    }
}

const std::vector<ArmedInterval>& TruthIndex::intervals(std::uint32_t se) const {
    static const std::vector<ArmedInterval> kNone;
    return se < intervals_.size() ? intervals_[se] : kNone;
}

std::span<const TruthWave* const> TruthIndex::waves(std::uint32_t se, std::uint64_t begin,
                                                    std::uint64_t end) const {
    if (se >= waves_.size()) return {};
    const auto& latest = latest_end_[se];
    const std::span<const TruthWave* const> all(waves_[se]);
    const auto first = static_cast<std::size_t>(
        std::lower_bound(latest.begin(), latest.end(), begin) - latest.begin());
    const auto last =
        static_cast<std::size_t>(std::lower_bound(all.begin(), all.end(), end,
                                                  [](const TruthWave* wave, std::uint64_t clock) {
                                                      return wave->start < clock;
                                                  }) -
                                 all.begin());
    return first < last ? all.subspan(first, last - first) : std::span<const TruthWave* const>();
}

std::vector<const softgpu::TruthSampling*>
TruthIndex::samplings(std::uint32_t se, std::uint64_t begin, std::uint64_t end) const {
    std::vector<const softgpu::TruthSampling*> found;
    if (se >= samplings_.size()) return found;
    for (const softgpu::TruthSampling* sampling : samplings_[se])
        if (sampling->time >= begin && sampling->time < end) found.push_back(sampling);
    return found;
}

std::span<const softgpu::TruthSample* const> TruthIndex::samples(std::uint32_t se) const {
    if (se >= samples_.size()) return {};
    return samples_[se];
}

std::uint64_t TruthIndex::dispatch_time(const TruthWave& wave) const {
    const auto found = dispatch_times_.find(wave.dispatch);
    return found == dispatch_times_.end() ? wave.start : found->second;
}

void StretchComparison::add_to(VerifyContext& context) const {
    Comparison(*this, context).run();
    compare_sampling(context);
    compare_samples(context);
}

bool on_target(const store::ContextInfo& context, std::uint32_t cu, std::uint32_t simd) {
    return cu == context.cu && simd < 32 && (context.simd_mask >> simd & 1) != 0;
}

void add_fault(VerifyContext& context, std::string text) {
    ++context.faults_total;
    if (context.faults.size() < kMaxVerifyFaults) context.faults.push_back(std::move(text));
}

} // namespace wavetap::cli
