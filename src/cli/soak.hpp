// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "cli/summary.hpp"
#include "cli/verify.hpp"

#include <cstdint>
#include <string>
#include <vector>

// What `wavetap soak` found, and how it says so.

namespace wavetap::cli {

inline constexpr std::uint64_t kMostSoakLaunches = 100'000'000;

struct SoakRun {
    std::uint64_t agents = 1;
    std::uint64_t app_queues = 0; ///< that the program opened on each agent
    std::uint64_t rotations = 1;  ///< turns that every context must have had
    std::uint64_t runs = 1;       ///< that every context must have had in these turns
    std::uint64_t launches = 0;
    std::vector<std::uint64_t> groups; ///< of each context's launches; empty: the usual kernel
};

/// Flips that every turn of a context with several buffers must show.
inline constexpr std::uint64_t kLeastFlips = 6;

struct SoakAnswer {
    SoakRun run;
    Summary summary;     ///< of the recording
    VerifyReport verify; ///< of the same folder
    double record_seconds = 0, verify_seconds = 0;

    /// Contexts that ran at least `run.runs` times.
    std::uint64_t rotated() const;
    /// Contexts with several buffers, and those of them that flipped often enough.
    std::uint64_t streaming() const;
    std::uint64_t flipped() const;
    /// Every context rotated and was captured, each was verified, and nothing failed.
    bool good() const;
};

/// Lines for people; the last one begins with "soak: good" or "soak: failed".
std::string soak_text(const SoakAnswer& answer);
/// The object of summary_json() as format "wavetap-soak", with what was verified.
std::string soak_json(const SoakAnswer& answer);

} // namespace wavetap::cli
