// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/diagnostics.hpp"

namespace wavetap::decode {
namespace {

struct Row {
    Fault fault;
    const char* kind;
    const char* severity;
    const char* sentence;
    const char* advice;
};

constexpr std::array<Row, kFaultCount> kRows{{
    {Fault::kPacketsLost, "packets-lost", "data-loss",
     "The trace unit dropped tokens here, or a chunk of it is missing.",
     "Trace fewer engines or SIMDs, or use a larger buffer."},
    {Fault::kRegistersDropped, "registers-dropped", "data-loss",
     "Register writes before this point are missing.",
     "A kernel's address may be stale here; the next dispatch sets it again."},
    {Fault::kUnknownToken, "unknown-token", "error", "Bytes are no token of this generation.",
     "The bytes are damaged or the chip is newer than this decoder; records after it may be "
     "wrong."},
    {Fault::kCutToken, "cut-token", "info",
     "The last token of the buffer is incomplete; it was left out.",
     "A buffer that was filled to its end looks so; use a larger one to see what came after."},
    {Fault::kEndWithoutStart, "end-without-start", "info",
     "A wave was running when the trace began; it has no start time.",
     "Start the trace before the kernel to see its waves whole."},
    {Fault::kStartOfLiveWave, "start-of-live-wave", "data-loss",
     "A wave slot was started again without an end; the end token is missing.",
     "Tokens were lost before; trace fewer engines or SIMDs, or use a larger buffer."},
    {Fault::kUnfinishedWave, "unfinished-wave", "info",
     "A wave was still running when the trace ended; its last instructions are missing.",
     "Stop the trace after the kernel, or use a larger buffer."},
    {Fault::kTokenWithoutWave, "token-without-wave", "info",
     "Instructions of a wave that started before the trace have no program counter.",
     "Start the trace before the kernel to see its waves whole."},
    {Fault::kUnknownInstructionCode, "unknown-instruction-code", "error",
     "An instruction code is not in this generation's table; it was left out.",
     "The bytes are damaged or the chip is newer than this decoder."},
    {Fault::kUnidentifiedIssue, "unidentified-issue", "data-loss",
     "An instruction was issued but the token that says what it was is missing.",
     "The instruction was left out; look for lost packets before it."},
    {Fault::kQueueOverflow, "issue-queue-overflow", "error",
     "More instructions wait for their kind than a wave can have in flight.",
     "The bytes are damaged; program counters behind it are missing until the next known one."},
    {Fault::kResetWithoutTimestamp, "reset-without-timestamp", "error",
     "A time reset has no timestamp behind it.", "Times after it are too small."},
    {Fault::kTimeBackwards, "time-backwards", "error",
     "An absolute timestamp lies before the time already reached.",
     "Times jump back there; compare times only on one side of it."},
    {Fault::kSlotOutOfRange, "slot-out-of-range", "error",
     "A token names a wave slot that the chip does not have.",
     "The bytes are damaged; records near it may be wrong."},
    {Fault::kTargetOutOfRange, "target-out-of-range", "error",
     "The header names a CU that no token can name; no wave has instructions.",
     "Some tools put the shader engine's number over the CU's; correct bits 20 to 24 of the "
     "header."},
    {Fault::kErrorPc, "error-pc", "error", "The hardware marked a program counter as invalid.",
     "Instructions behind it may be placed wrongly until the next known one."},
    {Fault::kNoCodeObject, "no-code-object", "info",
     "Instructions ran at an address that no code object with bytes covers; they have no program "
     "counter.",
     "Give the code object with --code and --base; an address of 0 was set before the trace "
     "began."},
    {Fault::kUnknownPc, "unknown-program-counter", "data-loss",
     "Where a wave was is not known: it jumped and the token that says where to is missing, or "
     "tokens were lost.",
     "Its instructions have no program counter up to the next one that the trace tells."},
    {Fault::kUnknownInstruction, "unknown-instruction", "error",
     "Bytes of the code object are no instruction that the disassembler knows.",
     "Program counters end there; check that the code object is the one that ran."},
    {Fault::kStitchIncomplete, "stitch-incomplete", "data-loss",
     "Instructions of a wave do not fit the code from here on; they have no program counter.",
     "Check that the code object is the one that ran, at the address given."},
    {Fault::kLinesWithoutToken, "lines-without-token", "data-loss",
     "Lines of code were stepped over to fit the tokens.",
     "The program counters behind them are a guess."},
    {Fault::kLineMismatch, "line-mismatch", "data-loss",
     "A token was given to a line of code of another kind: immediates came out of order.",
     "The program counters of these instructions are a guess; count them as near, not as exact."},
    {Fault::kNearestChip, "nearest-chip", "info",
     "The disassembler lacks this chip; the nearest chip's tables were used.",
     "Instructions that only this chip has are counted as unknown."},
    {Fault::kHeaderChanged, "header-changed", "info",
     "A header inside the stream names another target.", "Later detail belongs to that target."},
    {Fault::kTooManyObjects, "too-many-code-objects", "data-loss",
     "The stream loads more code objects than are kept (65,536); this one is not known.",
     "Instructions in it have no program counter; trace a shorter time."},
}};

consteval bool in_order() {
    for (std::size_t i = 0; i < kRows.size(); ++i) {
        if (static_cast<std::size_t>(kRows[i].fault) != i) return false;
    }
    return true;
}
static_assert(in_order());

} // namespace

Diagnostic describe(Fault fault) {
    const Row& row = kRows[static_cast<std::size_t>(fault)];
    return {row.kind, row.severity, row.advice, 0, 0, 0, row.sentence};
}

std::vector<Diagnostic> Diagnostics::list() const {
    std::vector<Diagnostic> out;
    for (std::size_t i = 0; i < kRows.size(); ++i) {
        const Entry& entry = entries_[i];
        if (entry.count == 0) continue;
        out.push_back({kRows[i].kind, kRows[i].severity, kRows[i].advice, entry.count,
                       entry.first_offset, entry.first_time, kRows[i].sentence});
    }
    return out;
}

} // namespace wavetap::decode
