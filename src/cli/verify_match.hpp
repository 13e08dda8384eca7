// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "cli/verify.hpp"

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

// Compares one engine's stretch of a trace with the truth.

namespace wavetap::cli {

inline constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

/// While an engine's trace unit was on. What happens at clock t is recorded if arm <= t < disarm
/// and t comes before the first token that found the buffer full.
struct ArmedInterval {
    std::uint64_t arm = 0;
    std::uint64_t disarm = kNever;
    std::uint64_t first_drop = kNever;
    std::uint64_t dropped_tokens = 0;
};

/// Where code objects of the manifest lie in memory.
class CodeRanges {
  public:
    void add(std::uint64_t begin, std::uint64_t bytes);
    bool covers(std::uint64_t address) const;

  private:
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges_; ///< first, end
};

/// One agent's part of a truth log, by engine.
class TruthIndex {
  public:
    TruthIndex(const softgpu::Truth& truth, std::uint32_t agent);

    std::uint32_t engines() const { return static_cast<std::uint32_t>(waves_.size()); }
    const std::vector<ArmedInterval>& intervals(std::uint32_t se) const;
    /// Waves of an engine by start; at least all those that lie in [begin, end) in part.
    std::span<const softgpu::TruthWave* const> waves(std::uint32_t se, std::uint64_t begin,
                                                     std::uint64_t end) const;
    /// How an engine was set up to sample in [begin, end).
    std::vector<const softgpu::TruthSampling*> samplings(std::uint32_t se, std::uint64_t begin,
                                                         std::uint64_t end) const;
    /// Samples of performance counters of an engine, as the log has them.
    std::span<const softgpu::TruthSample* const> samples(std::uint32_t se) const;
    /// Clock of the wave's dispatch; its start if the log does not know.
    std::uint64_t dispatch_time(const softgpu::TruthWave& wave) const;

  private:
    void grow(std::uint32_t se);
    std::vector<std::vector<ArmedInterval>> intervals_;
    std::vector<std::vector<const softgpu::TruthWave*>> waves_;
    std::vector<std::vector<const softgpu::TruthSampling*>> samplings_;
    std::vector<std::vector<const softgpu::TruthSample*>> samples_;
    /// Latest end of the waves up to here, as waves_.
    std::vector<std::vector<std::uint64_t>> latest_end_;
    std::unordered_map<std::uint64_t, std::uint64_t> dispatch_times_;
};

/// One comparison; adds to `context`. `records` may be null: then everything expected is missing.
struct StretchComparison {
    const TruthIndex& truth;
    const CodeRanges& code;
    std::uint32_t run = 0;
    std::uint32_t se = 0;
    ArmedInterval interval;
    const decode::BlobRecords* records = nullptr;

    void add_to(VerifyContext& context) const;

  private:
    void compare_sampling(VerifyContext& context) const;
    void compare_samples(VerifyContext& context) const;
};

bool on_target(const store::ContextInfo& context, std::uint32_t cu, std::uint32_t simd);
void add_fault(VerifyContext& context, std::string text);

} // namespace wavetap::cli
