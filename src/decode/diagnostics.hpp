// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/records.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace wavetap::decode {

/// Everything that can be wrong with a stream; one row each in diagnostics.cpp.
enum class Fault : std::uint8_t {
    kPacketsLost,
    kRegistersDropped,
    kUnknownToken,
    kCutToken,
    kEndWithoutStart,
    kStartOfLiveWave,
    kUnfinishedWave,
    kTokenWithoutWave,
    kUnknownInstructionCode,
    kUnidentifiedIssue,
    kQueueOverflow,
    kResetWithoutTimestamp,
    kTimeBackwards,
    kSlotOutOfRange,
    kTargetOutOfRange,
    kErrorPc,
    kNoCodeObject,
    kUnknownPc,
    kUnknownInstruction,
    kStitchIncomplete,
    kLinesWithoutToken,
    kLineMismatch,
    kNearestChip,
    kHeaderChanged,
    kTooManyObjects,
};
inline constexpr std::size_t kFaultCount = static_cast<std::size_t>(Fault::kTooManyObjects) + 1;

/// What the table says of a fault, with a count of 0.
Diagnostic describe(Fault fault);

/// Counts faults; constant memory.
class Diagnostics {
  public:
    void add(Fault fault, std::uint64_t offset_bytes, std::uint64_t time, std::uint64_t count = 1) {
        Entry& entry = entries_[static_cast<std::size_t>(fault)];
        if (entry.count == 0 || offset_bytes < entry.first_offset ||
            (offset_bytes == entry.first_offset && time < entry.first_time))
            entry = {entry.count, offset_bytes, time};
        entry.count += count;
    }
    /// Adds what others counted; the order does not matter.
    void merge(const Diagnostics& other) {
        for (std::size_t i = 0; i < kFaultCount; ++i) {
            const Entry& entry = other.entries_[i];
            if (entry.count != 0)
                add(static_cast<Fault>(i), entry.first_offset, entry.first_time, entry.count);
        }
    }
    std::uint64_t count(Fault fault) const {
        return entries_[static_cast<std::size_t>(fault)].count;
    }
    /// The faults that occurred, in table order.
    std::vector<Diagnostic> list() const;

  private:
    struct Entry {
        std::uint64_t count = 0;
        std::uint64_t first_offset = 0;
        std::uint64_t first_time = 0;
    };
    std::array<Entry, kFaultCount> entries_{};
};

} // namespace wavetap::decode
