// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "softgpu/truth.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace wavetap::softgpu {

/// Between which clocks some records lie. What has no end ends at ~0.
struct TruthExtent {
    std::uint64_t count = 0;
    std::uint64_t first_start = ~std::uint64_t{0}, first_end = ~std::uint64_t{0};
    std::uint64_t last_end = 0;

    void add(std::uint64_t start, std::uint64_t end) {
        ++count;
        first_start = std::min(first_start, start);
        first_end = std::min(first_end, end);
        last_end = std::max(last_end, end);
    }
};

/// A stretch of a truth log, about 64 KiB of the file.
struct TruthBlock {
    std::uint64_t offset = 0, bytes = 0; ///< in the file; 0 in memory
    std::uint64_t dispatches = 0;
    TruthExtent waves;
    TruthExtent samples; ///< of the clocks of their tokens
};

/// A truth log whose dispatches, waves and samples stay in the file until they are asked for: memory
/// for its trace events and a few bytes for each 64 KiB. Movable resource. Reading is thread safe.
class TruthLog {
  public:
    /// Reads the file once. Errors: those of read_truth().
    static Result<TruthLog> open(const std::string& path);
    /// One that is in memory.
    explicit TruthLog(Truth truth);
    TruthLog(TruthLog&&) noexcept;
    TruthLog& operator=(TruthLog&&) noexcept;
    ~TruthLog();

    /// What does not grow with what ran: chips, trace events, how engines sampled.
    const Truth& about() const;
    /// In the order of the file.
    const std::vector<TruthBlock>& blocks() const;

    // Records of a block, in the order of the file. Errors: kIo, kCorrupt (the file has changed).

    Result<void> dispatches(const TruthBlock& block,
                            const std::function<void(const TruthDispatch&)>& take) const;
    /// The waves that `wanted` says yes to; it sees them without instructions, which are read for
    /// those only.
    Result<std::vector<TruthWave>> waves(const TruthBlock& block,
                                         const std::function<bool(const TruthWave&)>& wanted) const;
    Result<void> samples(const TruthBlock& block,
                         const std::function<void(const TruthSample&)>& take) const;

  private:
    TruthLog();
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace wavetap::softgpu
