// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "decode/decoder.hpp"
#include "softgpu/truth_log.hpp"
#include "store/trace_folder.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// `wavetap verify`: does a trace say what really ran? (docs/verify.md)
//
// What has to be in it is chosen from the software GPU's truth log by what was asked for (the
// manifest), never by the trace's own header or by registers. Times are absolute shader clocks on
// both sides; nothing is fitted.

namespace wavetap::cli {

/// expected = matched + missing + differing; extra ones come on top.
struct VerifyTally {
    std::uint64_t expected = 0, matched = 0, missing = 0, extra = 0, differing = 0;

    bool good() const { return missing == 0 && extra == 0 && differing == 0; }
    VerifyTally& operator+=(const VerifyTally& other);
};

/// What cannot be compared, in waves unless a name says otherwise.
struct VerifyApart {
    std::uint64_t open_at_start = 0; ///< began before the engine was armed
    std::uint64_t open_at_end = 0;   ///< ended after it was disarmed, or never
    std::uint64_t dropped = 0;       ///< began or ended after the unit ran out of buffer
    std::uint64_t dropped_tokens = 0;
    /// Closed waves of a kernel in no code object of the manifest (the runtime's own kernels):
    /// occupancy is compared, instructions are not.
    std::uint64_t without_code = 0;
    /// Closed waves of a dispatch that began before the engine was armed: the stream cannot tell
    /// their entry address. The rest of the occupancy is compared, instructions are not.
    std::uint64_t without_entry = 0;

    VerifyApart& operator+=(const VerifyApart& other);
};

struct VerifyContext {
    int pid = 0;
    store::ContextInfo context;
    std::string chip;   ///< "gfx90a"
    std::string timing; ///< of the agent: "modelled", "hardware"
    std::uint64_t runs = 0;
    VerifyTally waves;        ///< of the whole engines
    VerifyTally instructions; ///< of waves on the target CU and SIMDs
    VerifyTally samples;      ///< of performance counters, each with its four values
    VerifyApart apart;
    /// Waves with known code that ran on the target while nothing else was traced: what an expected
    /// count of 0 is measured by.
    std::uint64_t waves_on_target = 0;
    /// Waves on sampled CUs that ran long enough before the end for a sample.
    std::uint64_t waves_sampled = 0;
    /// Nothing was expected although waves ran on the target, or no sample although counters that
    /// every wave moves were asked for.
    bool vacuous = false;
    bool broken = false;             ///< an engine was never armed, or bytes could not be read
    std::vector<std::string> faults; ///< the first kMaxVerifyFaults, worded
    std::uint64_t faults_total = 0;

    bool good() const {
        return waves.good() && instructions.good() && samples.good() && !vacuous && !broken;
    }
};
inline constexpr std::size_t kMaxVerifyFaults = 8;

struct VerifyReport {
    std::string dir;
    std::vector<VerifyContext> contexts;
    std::uint64_t unrequested = 0;   ///< times that an engine was armed which nobody asked for
    std::vector<std::string> faults; ///< that belong to no context
    std::vector<std::string> notes;

    /// Waves, instructions and samples of all contexts.
    VerifyTally total() const;
    std::uint64_t expected() const { return total().expected; }
    /// Missing, differing and extra records and engines; at most expected(), since an extra record
    /// counts against one that was expected.
    std::uint64_t failed() const;
    std::uint64_t passed() const { return expected() - failed(); }
    /// All contexts are good, no engine was armed unasked, and there was something to verify.
    bool good() const;
};

/// Takes the waves and samples that were decoded since the last call; `last`: these are the last ones,
/// and the records have the totals.
using TakeRecords = std::function<Result<void>(decode::BlobRecords& records, bool last)>;

/// How segments are decoded; verify_folder() reads them from the folder.
struct VerifySources {
    /// Hands the segment over; not at all if it has no bytes. Several threads call it. Errors: also those
    /// of `take`.
    std::function<Result<void>(const store::Segment&, std::uint32_t agent, unsigned threads,
                               const TakeRecords& take)>
        decode;
    unsigned threads = 1; ///< that compare engines and decode; 0: one for each processor
    /// Records of one engine that wait to be compared, before what ended long ago is settled.
    std::uint64_t most_waiting_bytes = std::uint64_t{4} << 20;
};

/// One process against its truth; appends to the report, which is the same for any number of threads.
/// Errors: those of reading the truth log.
Result<void> verify_process(const store::ProcessTrace& process, const softgpu::TruthLog& truth,
                            const VerifySources& sources, VerifyReport& report);

/// Errors: kNotFound (no truth log), kIo / kCorrupt (truth log or code object).
/// `threads`: as VerifySources::threads.
Result<VerifyReport> verify_folder(const store::TraceFolder& folder, unsigned threads = 1);

/// Lines for people; the last one is "N passed, M failed".
std::string verify_text(const VerifyReport& report);
/// One JSON object, format "wavetap-verify", version 1, ended by a line feed.
std::string verify_json(const VerifyReport& report);

} // namespace wavetap::cli
