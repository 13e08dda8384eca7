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
    std::string turns = "launches";    ///< or "completions"
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
    /// Starts of contexts that were refused, of all agents.
    std::uint64_t refused() const;
    /// Every context rotated and was captured, none was refused a start, each was verified, and nothing
    /// failed.
    bool good() const;
};

/// The same recording without sharing (soak --no-sharing): each context with a queue and a buffer of
/// its own.
struct SoakApart {
    Summary summary;
    /// What the contexts that did not start were told, each once, in the order of their starts.
    std::vector<std::string> refusals;
    bool good() const { return summary.captured() == summary.contexts.size(); }
};
SoakApart soak_apart(Summary summary);
/// Both side by side, and why the second one ended where it did.
std::string soak_compare_text(const SoakAnswer& shared, const SoakApart& apart);
/// soak_json() with a member "no_sharing".
std::string soak_compare_json(const SoakAnswer& shared, const SoakApart& apart);

/// Lines for people; the last one begins with "soak: good" or "soak: failed".
std::string soak_text(const SoakAnswer& answer);
/// The object of summary_json() as format "wavetap-soak", with what was verified.
std::string soak_json(const SoakAnswer& answer);

} // namespace wavetap::cli
