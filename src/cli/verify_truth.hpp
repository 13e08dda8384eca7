// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "softgpu/truth_log.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

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

/// Numbers by id, in memory for the ranges of ids that have the same one.
class IdRanges {
  public:
    static constexpr std::uint64_t kNone = ~std::uint64_t{0};

    void set(std::uint64_t id, std::uint64_t number);
    std::uint64_t get(std::uint64_t id) const; ///< kNone: never set

  private:
    std::map<std::uint64_t, std::uint64_t> from_; ///< first id of a range, its number
};

/// One agent's part of a truth log.
class AgentTruth {
  public:
    /// `log` outlives it. The dispatches are told after that, one by one.
    AgentTruth(const softgpu::TruthLog& log, std::uint32_t agent);
    void add(const softgpu::TruthDispatch& dispatch);

    const softgpu::TruthLog& log() const { return *log_; }
    std::uint32_t agent() const { return agent_; }
    /// Of the engines that were ever armed; others have none.
    std::uint32_t engines() const { return static_cast<std::uint32_t>(intervals_.size()); }
    const std::vector<ArmedInterval>& intervals(std::uint32_t se) const;
    /// How an engine was set up to sample in [begin, end).
    std::span<const softgpu::TruthSampling* const> samplings(std::uint32_t se, std::uint64_t begin,
                                                             std::uint64_t end) const;
    /// Whether the wave's dispatch (the wave itself if the log does not know it) began before `edge`:
    /// 0, kNever, or a clock at which an engine was armed or disarmed.
    bool dispatched_before(const softgpu::TruthWave& wave, std::uint64_t edge) const;

  private:
    const softgpu::TruthLog* log_;
    std::uint32_t agent_;
    std::vector<std::vector<ArmedInterval>> intervals_;
    std::vector<std::vector<const softgpu::TruthSampling*>> samplings_; ///< by engine and time
    std::vector<std::uint64_t> edges_; ///< of the intervals, sorted
    IdRanges dispatches_;              ///< how many edges came before or with each
};

} // namespace wavetap::cli
