// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "compat/abi.hpp"

#include <cstdint>

namespace wavetap::compat {

/// Which records a caller wants; at first all of them, in arrays.
class Wanted {
  public:
    bool has(RecordType type) const { return (types_ >> type & 1) != 0; }
    bool immediate(RecordType type) const { return (immediate_ >> type & 1) != 0; }

    /// kInvalidArgument, and nothing changes, if the filter is malformed: a size of another
    /// version, a type that does not exist or comes twice, a flag that the type does not have.
    Status set(const RecordFilter& filter) {
        if (filter.size < sizeof(RecordFilter) || filter.count > kRecordTypes ||
            (filter.count != 0 && filter.records == nullptr))
            return kInvalidArgument;
        Wanted next;
        next.types_ = 0;
        for (std::uint64_t i = 0; i < filter.count; ++i) {
            const RecordRequest& request = filter.records[i];
            if (request.size != sizeof(RecordRequest) || request.type < 0 ||
                request.type >= kRecordTypes)
                return kInvalidArgument;
            const std::uint32_t bit = 1U << request.type;
            if ((next.types_ & bit) != 0) return kInvalidArgument;
            const std::uint32_t known = (kCanBeImmediate & bit) != 0 ? kImmediate : 0U;
            if ((request.flags & ~known) != 0) return kInvalidArgument;
            next.types_ |= bit;
            if ((request.flags & kImmediate) != 0) next.immediate_ |= bit;
        }
        *this = next;
        return kSuccess;
    }

  private:
    // 11 means markers in the versions that have filters; there are none here.
    static constexpr std::uint32_t kCanBeImmediate =
        1U << kOccupancy | 1U << kShaderData | 1U << kRealtime | 1U << kHiddenLatency;
    std::uint32_t types_ = (1U << kRecordTypes) - 1;
    std::uint32_t immediate_ = 0;
};

} // namespace wavetap::compat
