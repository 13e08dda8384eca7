// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/verify_match.hpp"

#include "cli/verify_samples.hpp"
#include "cli/verify_waves.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace wavetap::cli {

using softgpu::TruthBlock;
using softgpu::TruthWave;

namespace {

std::uint64_t end_of(const TruthWave& wave) {
    return wave.end == 0 ? kNever : wave.end;
}

} // namespace

struct StretchComparison::Impl {
    Stretch stretch;
    VerifyContext& context;
    std::uint64_t most_bytes; ///< that may be left over or are read ahead
    std::optional<std::uint64_t> base;
    bool gfx9 = true;
    std::uint64_t waves = 0;   ///< of the trace, in all
    std::uint64_t newest = 0;  ///< latest end of a whole wave, clocks of the stream
    std::uint64_t settled = 0; ///< clock up to which settle() has come
    std::uint64_t waiting_bytes = 0, expected_bytes = 0;
    std::vector<decode::WaveRecord> traced; ///< wait
    std::vector<TruthWave> expected;        ///< wait
    std::vector<bool> taken;                ///< blocks of the log that were read
    SampleComparison samples;

    Impl(const Stretch& what, VerifyContext& where, std::uint64_t most)
        : stretch(what), context(where), most_bytes(most), taken(what.truth.log().blocks().size()),
          samples(stretch, where) {}

    bool is_mine(const TruthWave& wave) const {
        return wave.agent == stretch.truth.agent() && wave.se == stretch.se;
    }
    bool is_to_be_read(std::size_t block) const;
    Result<void> read_block(std::size_t block);
    /// Reads the waves of the stretch from blocks where one ends before `until`.
    Result<void> read_truth(std::uint64_t until);
    Result<void> settle_rest();
    /// Compares what ended before `until` (kNever: everything).
    Result<void> settle(std::uint64_t until);
    Result<void> stream_dropped(WaveComparison& comparison);
    bool is_over(const TruthWave& wave, std::uint64_t until) const;
};

bool StretchComparison::Impl::is_to_be_read(std::size_t block) const {
    const softgpu::TruthExtent& extent = stretch.truth.log().blocks()[block].waves;
    return !taken[block] && extent.count != 0 && extent.last_end >= stretch.interval.arm &&
           extent.first_start < stretch.interval.disarm;
}

Result<void> StretchComparison::Impl::read_block(std::size_t block) {
    const ArmedInterval& interval = stretch.interval;
    const softgpu::TruthLog& log = stretch.truth.log();
    taken[block] = true;
    const auto wanted = [&](const TruthWave& wave) {
        if (!is_mine(wave)) return false;
        const WaveClass its_class = classify(wave, interval);
        return its_class != WaveClass::kOutside && its_class != WaveClass::kDropped;
    };
    WAVETAP_TRY(std::vector<TruthWave> found, log.waves(log.blocks()[block], wanted));
    for (TruthWave& wave : found) {
        if (classify(wave, interval) != WaveClass::kClosed ||
            !has_instructions(stretch, context, wave))
            wave.instructions = {};
        expected_bytes += bytes_of(wave);
        expected.push_back(std::move(wave));
    }
    return {};
}

Result<void> StretchComparison::Impl::read_truth(std::uint64_t until) {
    const std::vector<TruthBlock>& blocks = stretch.truth.log().blocks();
    for (std::size_t i = 0; i < blocks.size(); ++i)
        if (is_to_be_read(i) && blocks[i].waves.first_end < until) WAVETAP_CHECK_OK(read_block(i));
    return {};
}

// The trace has ended: not more of the truth at a time than fits.
Result<void> StretchComparison::Impl::settle_rest() {
    const std::vector<TruthBlock>& blocks = stretch.truth.log().blocks();
    std::vector<std::uint64_t> rest(blocks.size() +
                                    1); // what ends before this is in none from there on
    rest.back() = std::min(stretch.interval.first_drop, stretch.interval.disarm);
    for (std::size_t i = blocks.size(); i-- > 0;)
        rest[i] = is_to_be_read(i) ? std::min(rest[i + 1], blocks[i].waves.first_end) : rest[i + 1];
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        if (!is_to_be_read(i)) continue;
        WAVETAP_CHECK_OK(read_block(i));
        const std::uint64_t until = rest[i + 1];
        if (expected_bytes <= 2 * most_bytes || until <= settled || until == kNever) continue;
        settled = until;
        WAVETAP_CHECK_OK(settle(until));
    }
    return settle(kNever);
}

// Closed waves that have ended; open ones whenever they may be found.
bool StretchComparison::Impl::is_over(const TruthWave& wave, std::uint64_t until) const {
    switch (classify(wave, stretch.interval)) {
    case WaveClass::kClosed:
        return end_of(wave) < until || until == kNever;
    case WaveClass::kOpenAtStart:
        return true;
    case WaveClass::kOpenAtEnd:
    case WaveClass::kCutByDrop:
        return until == kNever;
    case WaveClass::kDropped:
    case WaveClass::kOutside:
        break;
    }
    return false;
}

// These are not kept, as there may be any number of them.
Result<void> StretchComparison::Impl::stream_dropped(WaveComparison& comparison) {
    const ArmedInterval& interval = stretch.interval;
    if (interval.first_drop >= interval.disarm) return {};
    const softgpu::TruthLog& log = stretch.truth.log();
    for (const TruthBlock& block : log.blocks()) {
        if (block.waves.last_end <= interval.first_drop ||
            block.waves.first_start >= interval.disarm)
            continue;
        WAVETAP_CHECK_OK(log.waves(block, [&](const TruthWave& wave) {
            if (is_mine(wave) && classify(wave, interval) == WaveClass::kDropped)
                comparison.drop(wave);
            return false;
        }));
    }
    return {};
}

Result<void> StretchComparison::Impl::settle(std::uint64_t until) {
    const bool all = until == kNever;
    std::vector<const TruthWave*> over; // by start, those of one clock as in the log
    for (const TruthWave& wave : expected)
        if (is_over(wave, until)) over.push_back(&wave);
    std::sort(over.begin(), over.end(), [](const TruthWave* a, const TruthWave* b) {
        return std::pair(a->start, a) < std::pair(b->start, b);
    });
    WaveComparison comparison(stretch, context, base.value_or(0), gfx9);
    for (const TruthWave* wave : over)
        comparison.expect(*wave);
    const std::uint64_t quiet = until - std::min(until, kSlackClocks);
    for (const decode::WaveRecord& wave : traced)
        comparison.add(wave, all || (wave.complete && wave.end + base.value_or(0) < quiet));
    comparison.match();
    if (all) WAVETAP_CHECK_OK(stream_dropped(comparison));
    if (all || comparison.left_bytes() > most_bytes) comparison.count(all);
    samples.add_waves(comparison.sampled(), until);

    std::vector<bool> done(expected.size());
    for (std::size_t i = 0; i < over.size(); ++i)
        done[static_cast<std::size_t>(over[i] - expected.data())] = comparison.expected_is_done(i);
    std::size_t number = 0;
    std::erase_if(expected, [&](const TruthWave&) { return done[number++]; });
    expected_bytes = waiting_bytes = 0;
    for (const TruthWave& wave : expected)
        expected_bytes += bytes_of(wave);
    number = 0;
    std::erase_if(traced, [&](const decode::WaveRecord& wave) {
        const std::size_t i = number++;
        if (!comparison.added_is_settled(i)) waiting_bytes += bytes_of(wave);
        return comparison.added_is_done(i);
    });
    return {};
}

StretchComparison::StretchComparison(const Stretch& stretch, VerifyContext& context,
                                     std::uint64_t most_waiting_bytes)
    : impl_(std::make_unique<Impl>(stretch, context, most_waiting_bytes)) {}
StretchComparison::~StretchComparison() = default;

void StretchComparison::add(decode::BlobRecords& records) {
    impl_->gfx9 = records.generation == "gfx9";
    impl_->base = records.clock_base;
    impl_->waves += records.waves.size();
    for (decode::WaveRecord& wave : records.waves) {
        if (wave.complete) impl_->newest = std::max(impl_->newest, wave.end);
        impl_->waiting_bytes += bytes_of(wave);
        impl_->traced.push_back(std::move(wave));
        impl_->traced.back().timeline = {};
    }
    impl_->samples.add(records.perf);
}

std::uint64_t StretchComparison::waiting_bytes() const {
    return impl_->waiting_bytes + impl_->samples.waiting_bytes();
}

Result<void> StretchComparison::settle() {
    Impl& impl = *impl_;
    if (!impl.base) return {};
    WAVETAP_CHECK_OK(impl.samples.settle(*impl.base));
    if (impl.newest < kSlackClocks) return {};
    const ArmedInterval& interval = impl.stretch.interval;
    // Waves that a loss or the end of the stretch cuts need all that there is.
    const std::uint64_t until =
        std::min({*impl.base + impl.newest - kSlackClocks, interval.first_drop, interval.disarm});
    if (until <= impl.settled) return {};
    impl.settled = until;
    WAVETAP_CHECK_OK(impl.read_truth(until));
    return impl.settle(until);
}

Result<void> StretchComparison::finish(std::uint64_t first_drop) {
    Impl& impl = *impl_;
    ArmedInterval& interval = impl.stretch.interval;
    interval.first_drop = std::min(interval.first_drop, first_drop);
    if (!impl.base && impl.waves != 0)
        add_fault(impl.context, "run " + std::to_string(impl.stretch.run) + ", SE " +
                                    std::to_string(impl.stretch.se) +
                                    ", the stream has no absolute timestamp, so its " +
                                    std::to_string(impl.waves) + " waves have no place in time");
    impl.context.apart.dropped_tokens += interval.dropped_tokens;
    WAVETAP_CHECK_OK(impl.settle_rest());
    return impl.samples.finish(impl.base.value_or(0));
}

bool on_target(const store::ContextInfo& context, std::uint32_t cu, std::uint32_t simd) {
    return cu == context.cu && simd < 32 && (context.simd_mask >> simd & 1) != 0;
}

void add_fault(VerifyContext& context, std::string text) {
    ++context.faults_total;
    if (context.faults.size() < kMaxVerifyFaults) context.faults.push_back(std::move(text));
}

} // namespace wavetap::cli
