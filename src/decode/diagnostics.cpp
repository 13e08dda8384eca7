// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/diagnostics.hpp"

namespace wavetap::decode {
namespace {

struct Row {
    Fault fault;
    const char* kind;
    const char* severity;
    const char* advice;
};

constexpr std::array<Row, kFaultCount> kRows{{
    {Fault::kPacketsLost, "packets-lost", "data-loss",
     "The trace unit dropped tokens here; trace fewer engines or SIMDs, or use a larger buffer."},
    {Fault::kRegistersDropped, "registers-dropped", "data-loss",
     "Register writes before this point are missing; a kernel's address may be stale."},
    {Fault::kUnknownToken, "unknown-token", "error",
     "The bytes are damaged or the chip is newer than this decoder; records after it may be "
     "wrong."},
    {Fault::kCutToken, "cut-token", "info",
     "The last token of the buffer is incomplete; it was left out."},
    {Fault::kEndWithoutStart, "end-without-start", "info",
     "A wave was running when the trace began; it has no start time."},
    {Fault::kStartOfLiveWave, "start-of-live-wave", "data-loss",
     "A wave slot was started again without an end; the end token is missing."},
    {Fault::kUnfinishedWave, "unfinished-wave", "info",
     "A wave was still running when the trace ended; its last instructions are missing."},
    {Fault::kTokenWithoutWave, "token-without-wave", "info",
     "Instructions of a wave that started before the trace have no program counter."},
    {Fault::kUnknownInstructionCode, "unknown-instruction-code", "error",
     "The instruction code is not in this generation's table; it was left out."},
    {Fault::kUnidentifiedIssue, "unidentified-issue", "data-loss",
     "An instruction was issued but the token that says what it was is missing."},
    {Fault::kQueueOverflow, "issue-queue-overflow", "error",
     "More instructions wait for their kind than a wave can have in flight; the bytes are "
     "damaged."},
    {Fault::kResetWithoutTimestamp, "reset-without-timestamp", "error",
     "A time reset has no timestamp behind it; times after it are too small."},
    {Fault::kTimeBackwards, "time-backwards", "error",
     "An absolute timestamp lies before the time already reached; times jump back there."},
    {Fault::kSlotOutOfRange, "slot-out-of-range", "error",
     "A token names a wave slot that the chip does not have; it was left out."},
    {Fault::kErrorPc, "error-pc", "error", "The hardware marked a program counter as invalid."},
    {Fault::kNoCodeObject, "no-code-object", "info",
     "No code object covers a kernel's address; give it with --code and --base."},
    {Fault::kUnknownInstruction, "unknown-instruction", "error",
     "Bytes of the code object are no instruction that the disassembler knows."},
    {Fault::kStitchIncomplete, "stitch-incomplete", "data-loss",
     "Instructions of a wave do not fit the code from here on; they have no program counter."},
    {Fault::kLinesWithoutToken, "lines-without-token", "data-loss",
     "Lines of code were stepped over to fit the tokens; the program counters behind are a guess."},
    {Fault::kNearestChip, "nearest-chip", "info",
     "The disassembler lacks this chip; the nearest chip's tables were used."},
    {Fault::kHeaderChanged, "header-changed", "info",
     "A header inside the stream names another target; later detail belongs to that."},
}};

consteval bool in_order() {
    for (std::size_t i = 0; i < kRows.size(); ++i) {
        if (static_cast<std::size_t>(kRows[i].fault) != i) return false;
    }
    return true;
}
static_assert(in_order());

} // namespace

std::vector<Diagnostic> Diagnostics::list() const {
    std::vector<Diagnostic> out;
    for (std::size_t i = 0; i < kRows.size(); ++i) {
        const Entry& entry = entries_[i];
        if (entry.count == 0) continue;
        out.push_back({kRows[i].kind, kRows[i].severity, kRows[i].advice, entry.count,
                       entry.first_offset, entry.first_time});
    }
    return out;
}

} // namespace wavetap::decode
