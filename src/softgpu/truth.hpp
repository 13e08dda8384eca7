// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

// What really ran on the software GPU: every wave on the chip, traced or not, with every executed
// instruction, and when each shader engine's trace unit was armed. One file a process. Times are
// shader clocks of the model since the chip was made. The writer knows nothing of captures.

namespace wavetap::softgpu {

struct TruthInstruction {
    std::uint64_t pc = 0;   ///< absolute address
    std::uint64_t time = 0; ///< clock at which it issued (multiple of 4)
};

struct TruthWave {
    std::uint32_t agent = 0;    ///< index of the chip in the process
    std::uint64_t dispatch = 0; ///< TruthDispatch::id
    std::uint16_t se = 0;       ///< global shader engine
    std::uint16_t cu = 0;
    std::uint16_t simd = 0;
    std::uint16_t slot = 0;
    std::uint32_t threads = 0; ///< active work-items at the start, 1..64
    std::uint64_t entry_pc = 0;
    std::uint64_t start = 0; ///< clock of the wave-start token
    std::uint64_t end = 0;   ///< clock of the wave-end token; 0 = still open when the log ended
    std::vector<TruthInstruction> instructions;
};

struct TruthDispatch {
    std::uint32_t agent = 0;
    std::uint64_t id = 0; ///< counts from 1 in each agent
    std::uint64_t entry_pc = 0;
    std::uint64_t queue = 0; ///< driver queue id
    std::uint64_t time = 0;
    std::uint32_t workgroups = 0;
};

/// A trace unit went on or off, or dropped tokens.
struct TruthTraceEvent {
    enum class Kind : std::uint8_t { kArm, kDisarm, kDrop };
    std::uint32_t agent = 0;
    std::uint16_t se = 0;
    Kind kind = Kind::kArm;
    std::uint64_t time = 0;
    std::uint64_t buffer_va = 0;    ///< kArm
    std::uint64_t buffer_bytes = 0; ///< kArm
    std::uint64_t count = 0;        ///< kDrop: tokens; kDisarm: bytes written
};

/// A sample of performance counters that the trace unit put into its stream, or dropped for want of
/// room.
struct TruthSample {
    std::uint32_t agent = 0;
    std::uint16_t se = 0;
    std::uint8_t cu = 0, bank = 0;
    std::uint64_t latched = 0; ///< events before this clock are in it
    std::array<std::uint16_t, 4> counters{};

    /// Of its PERF token.
    std::uint64_t token_clock() const { return latched + 4ULL * cu; }
};

/// An engine's trace unit began to sample performance counters, set up like this.
struct TruthSampling {
    std::uint32_t agent = 0;
    std::uint16_t se = 0;
    std::uint64_t time = 0;
    std::uint32_t period = 0;                ///< 1..32
    std::uint32_t cu_mask = 0;               ///< bit i: CU i is sampled
    std::array<std::uint32_t, 8> counters{}; ///< number | SIMD mask << 24; 0: none
};

/// Appends records; every record is complete on disk when its call returns to the OS (no user-space
/// buffer beyond one record batch; flush() empties it). Not thread safe: called under the chip's
/// owner lock.
class TruthWriter {
  public:
    static Result<std::unique_ptr<TruthWriter>> create(const std::string& path);
    ~TruthWriter();
    void chip(std::uint32_t agent, const std::string& name);
    void dispatch(const TruthDispatch& dispatch);
    void wave(const TruthWave& wave);
    void trace_event(const TruthTraceEvent& event);
    void sampling(const TruthSampling& sampling);
    void sample(const TruthSample& sample);
    void flush();

  private:
    TruthWriter();
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

struct Truth {
    std::vector<std::string> chips; ///< by agent
    std::vector<TruthDispatch> dispatches;
    std::vector<TruthWave> waves;
    std::vector<TruthTraceEvent> trace_events;
    std::vector<TruthSampling> samplings;
    std::vector<TruthSample> samples;
    bool truncated = false; ///< the file ends inside a record (a killed process)
};

/// Errors: kIo, kCorrupt (with the offset).
Result<Truth> read_truth(const std::string& path);

} // namespace wavetap::softgpu
