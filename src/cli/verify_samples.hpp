// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "cli/verify_match.hpp"

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

namespace wavetap::cli {

/// Compares the samples of performance counters of one stretch. Borrows everything.
class SampleComparison {
  public:
    SampleComparison(const Stretch& stretch, VerifyContext& context)
        : stretch_(stretch), context_(context), taken_(stretch.truth.log().blocks().size()) {}

    /// Some more of the trace, about in the order of their clocks.
    void add(const std::vector<decode::PerfRecord>& records);
    std::uint64_t waiting_bytes() const { return traced_.size() * sizeof(decode::PerfRecord); }
    /// Starts of closed waves whose CU the context samples; the stretch goes on until `until` at least
    /// (kNever: nothing is said).
    void add_waves(const std::vector<std::uint64_t>& starts, std::uint64_t until);
    /// Compares and forgets what lies well before the newest sample. Errors: of the truth log.
    Result<void> settle(std::uint64_t base);
    /// No more records come. Errors: of the truth log.
    Result<void> finish(std::uint64_t base);

  private:
    /// Clock of a sample and its place; readers take 4 clocks a CU off a token's clock, so that all
    /// samples of one moment have the same time.
    using Key = std::tuple<std::uint64_t, unsigned, unsigned>;
    using Traced = std::multimap<Key, decode::PerfRecord>;

    Result<void> settle(std::uint64_t base, std::uint64_t until);
    void compare(const softgpu::TruthSample& sample, Traced& traced);
    void compare_sampling();
    void count_waves(std::uint64_t until);
    void fault(const std::string& text) {
        add_fault(context_, "run " + std::to_string(stretch_.run) + ", SE " +
                                std::to_string(stretch_.se) + ": " + text);
    }
    static std::string place(const Key& key);

    const Stretch& stretch_;
    VerifyContext& context_;
    std::uint64_t newest_ = 0;                   ///< clock of the stream
    std::uint64_t settled_ = 0;                  ///< clock up to which settle() has come
    std::vector<decode::PerfRecord> traced_;     ///< wait
    std::vector<softgpu::TruthSample> expected_; ///< wait
    std::vector<bool> taken_;                    ///< blocks of the log that were read
    std::vector<std::uint64_t> wave_starts_;     ///< not yet known to be sampled
};

} // namespace wavetap::cli
