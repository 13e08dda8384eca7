// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "report/blob.hpp"
#include "report/code_table.hpp"
#include "store/trace_folder.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// Whether each shader engine recorded what it was asked for, and if not, why.

namespace wavetap::report {

enum class StopReason : std::uint8_t {
    kEnd,     ///< stopped by request, nothing missing
    kGpuFull, ///< the hardware ran out of buffer: the end of the run is missing
    kCpuFull, ///< nobody took filled buffers in time: something in the middle is missing
    kHalted,  ///< the trace unit went off by itself: something in the middle is missing
    kLost,    ///< bytes that the hardware wrote could not be fetched
    kKilled,  ///< the process ended before the run did
    kNothing, ///< the run ended and this engine delivered no chunk
};
const char* stop_reason_name(StopReason reason) noexcept; ///< "end", "full", "overrun", …

struct Loss {         ///< tokens that the hardware or the stream lost
    std::string kind; ///< word of the decoder's diagnostic
    std::string advice;
    std::uint64_t count = 0;
    std::uint64_t first_offset_bytes = 0;
    std::uint64_t first_time = 0; ///< shader clocks
};

/// One shader engine in one run of a context.
struct EngineHealth {
    std::string dir; ///< process folder
    std::uint32_t context = 0, run = 0, agent = 0, se = 0;
    std::uint32_t cu = 0, simd_mask = 0; ///< the target that was asked for
    bool is_wgp = false;                 ///< `cu` is the number of a WGP (gfx10 and later)
    bool detail = true;
    std::uint32_t buffers = 1;
    std::uint64_t segments = 1; ///< more than 1: a trace with several buffers paused
    std::uint64_t bytes = 0, capacity_bytes = 0, zero_tail_bytes = 0;
    std::uint32_t status = 0, dropped = 0; ///< registers read back at the stop
    std::uint64_t tokens = 0;
    std::uint64_t waves = 0;           ///< started on this engine
    std::uint64_t waves_on_target = 0; ///< with instruction detail
    std::uint64_t waves_foreign = 0;   ///< in no recorded code object (runtime, other programs)
    std::uint64_t waves_open = 0;      ///< no end was seen
    std::uint64_t instructions = 0, instructions_with_pc = 0;
    StopReason stop = StopReason::kEnd;
    std::vector<Loss> losses;
    std::optional<std::string> error; ///< the bytes could not be read or decoded
    std::vector<std::string> advice;  ///< sentences about everything else than `losses`
    bool good() const { return advice.empty() && losses.empty(); }
};

struct Health {
    std::vector<std::string> dirs;
    std::string timing; ///< "modelled", "hardware" or "mixed"
    std::vector<EngineHealth> engines;
    std::vector<std::string> problems; ///< of whole processes: killed, missing code, notes
    bool good = true;                  ///< for `health --strict`
};

/// Judges one blob.
EngineHealth judge(const Blob& blob);
/// Adds a further segment of the same engine and run.
void add_segment(EngineHealth& health, const EngineHealth& segment);

/// Everything in `folders`; memory does not grow with the traces. Errors: those of visit_waves().
Result<Health> find_health(const std::vector<store::TraceFolder>& folders, CodeTable& code,
                           unsigned threads = 1);

/// At most 100 columns wide; ends with a line feed.
std::string to_text(const Health& health);
/// One JSON object: format "wavetap-health", version 1.
std::string to_json(const Health& health);

} // namespace wavetap::report
