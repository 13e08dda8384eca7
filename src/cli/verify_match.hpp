// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "cli/verify.hpp"
#include "cli/verify_truth.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace wavetap::cli {

/// What is compared.
struct Stretch {
    const AgentTruth& truth;
    const CodeRanges& code;
    std::uint32_t run = 0;
    std::uint32_t se = 0;
    ArmedInterval interval;
};

/// Ends are told in the order of the stream, whose clock may go back a little at a reset.
inline constexpr std::uint64_t kSlackClocks = 4096;

/// Compares one engine's stretch of a trace with the truth, in memory for what waits: records of either
/// side whose counterpart may still come. One thread; several comparisons are independent.
class StretchComparison {
  public:
    /// Adds to `context`. `most_waiting_bytes`: of the truth's records that are read at a time, about.
    StretchComparison(const Stretch& stretch, VerifyContext& context,
                      std::uint64_t most_waiting_bytes);
    ~StretchComparison();
    StretchComparison(const StretchComparison&) = delete;
    StretchComparison& operator=(const StretchComparison&) = delete;

    /// Some more waves, in the order in which they ended but for those of one call, and samples. Takes the
    /// waves.
    void add(decode::BlobRecords& records);
    std::uint64_t waiting_bytes() const; ///< of the trace's records, about
    /// Compares and forgets what ended well before the newest record, if the stream has told where it
    /// stands in time. Errors: of the truth log.
    Result<void> settle();
    /// No more records come. `first_drop`: nothing is expected behind this clock. Errors: of the truth log.
    Result<void> finish(std::uint64_t first_drop = kNever);

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

bool on_target(const store::ContextInfo& context, std::uint32_t cu, std::uint32_t simd);
void add_fault(VerifyContext& context, std::string text);

} // namespace wavetap::cli
