// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "compat/abi_records.hpp"

#include "decode/dispatch_resources.hpp"

#include <algorithm>
#include <iterator>

namespace wavetap::compat {
namespace {

/// 0: the ABI has no such event.
std::int32_t event_number(decode::EventKind kind) {
    using decode::EventKind;
    switch (kind) {
    case EventKind::kPartialFlush:
        return 1;
    case EventKind::kBottomOfPipe:
        return 2;
    case EventKind::kSaveContext:
        return 3;
    case EventKind::kCacheFlush:
        return 5;
    case EventKind::kPacketsLost:
        return 6;
    case EventKind::kCodeObjectLoad:
        return 7;
    case EventKind::kCodeObjectUnload:
        return 8;
    case EventKind::kStallBegin:
        return 9;
    case EventKind::kStallEnd:
        return 10;
    case EventKind::kTraceFlush:
        return 11;
    case EventKind::kThrottleBegin:
        return 12;
    case EventKind::kThrottleEnd:
        return 13;
    case EventKind::kCacheRinse:
        return 16;
    case EventKind::kCounterSample:
        return 17;
    default:
        return 0;
    }
}

} // namespace

Event event_of(const decode::EventRecord& record, bool gfx9) {
    Event out;
    out.size = sizeof out;
    out.time = static_cast<std::int64_t>(record.time);
    const bool told = !record.by_write || (gfx9 && record.kind == decode::EventKind::kPartialFlush);
    out.type = told ? event_number(record.kind) : 0;
    out.me = record.me;
    out.pipe = record.pipe;
    out.flags = static_cast<std::uint16_t>((record.of_pipe ? kEventOfPipe : 0) |
                                           (record.at_bottom ? kEventAtBottom : 0));
    // The number of a cache-flush event is ours: the ABI has no payload for it.
    out.payload = record.kind == decode::EventKind::kCacheFlush ? 0 : record.payload;
    out.byte_offset = record.offset_bytes;
    return out;
}

Dispatch dispatch_of(const decode::DispatchRecord& record, unsigned version) {
    const decode::DispatchResources resources = decode::resources_of(record, version);
    Dispatch out;
    out.size = sizeof out;
    out.time = static_cast<std::int64_t>(record.time);
    out.me = record.me;
    out.pipe = record.pipe;
    out.user_sgprs = static_cast<std::uint16_t>(resources.user_sgprs);
    out.flags = (resources.invalidate_scalar_cache ? 1 : 0) |
                (resources.invalidate_vector_cache ? 2 : 0) | (resources.context_restore ? 4 : 0) |
                (resources.scratch ? 8 : 0);
    out.vgprs = resources.vgprs;
    out.sgprs = resources.sgprs;
    out.lds_bytes = resources.lds_bytes;
    std::copy(std::begin(record.threads), std::end(record.threads), std::begin(out.threads));
    out.packet = record.packet_va;
    out.byte_offset = record.offset_bytes;
    out.entry = record.entry.code_object != 0
                    ? Pc{record.entry.elf_address, record.entry.code_object}
                    : Pc{record.entry.absolute, 0};
    return out;
}

} // namespace wavetap::compat
