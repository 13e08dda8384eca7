// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/records.hpp"

namespace wavetap::decode {

const char* category_name(Category category) noexcept {
    switch (category) {
    case Category::kSmem:
        return "SMEM";
    case Category::kSalu:
        return "SALU";
    case Category::kVmem:
        return "VMEM";
    case Category::kFlat:
        return "FLAT";
    case Category::kLds:
        return "LDS";
    case Category::kValu:
        return "VALU";
    case Category::kJump:
        return "JUMP";
    case Category::kNext:
        return "NEXT";
    case Category::kImmed:
        return "IMMED";
    case Category::kTrap:
        return "TRAP";
    case Category::kMsg:
        return "MSG";
    case Category::kBvh:
        return "BVH";
    }
    return "?";
}

const char* wave_state_name(WaveState state) noexcept {
    switch (state) {
    case WaveState::kEmpty:
        return "EMPTY";
    case WaveState::kIdle:
        return "IDLE";
    case WaveState::kExec:
        return "EXEC";
    case WaveState::kWait:
        return "WAIT";
    case WaveState::kStall:
        return "STALL";
    }
    return "?";
}

const char* event_kind_name(EventKind kind) noexcept {
    switch (kind) {
    case EventKind::kPartialFlush:
        return "partial-flush";
    case EventKind::kCacheFlush:
        return "cache-flush";
    case EventKind::kBottomOfPipe:
        return "bottom-of-pipe";
    case EventKind::kTraceStart:
        return "trace-start";
    case EventKind::kTraceStop:
        return "trace-stop";
    case EventKind::kTraceMarker:
        return "trace-marker";
    case EventKind::kTraceFlush:
        return "trace-flush";
    case EventKind::kTraceFinish:
        return "trace-finish";
    case EventKind::kOtherEvent:
        return "event";
    case EventKind::kSaveContext:
        return "save-context";
    case EventKind::kPacketsLost:
        return "packets-lost";
    case EventKind::kStallBegin:
        return "stall-begin";
    case EventKind::kStallEnd:
        return "stall-end";
    case EventKind::kThrottleBegin:
        return "throttle-begin";
    case EventKind::kThrottleEnd:
        return "throttle-end";
    case EventKind::kSurfaceSync:
        return "surface-sync";
    case EventKind::kShootDown:
        return "shoot-down";
    case EventKind::kCacheRinse:
        return "cache-rinse";
    case EventKind::kCounterSample:
        return "counter-sample";
    case EventKind::kCodeObjectLoad:
        return "code-object-load";
    case EventKind::kCodeObjectUnload:
        return "code-object-unload";
    }
    return "?";
}

} // namespace wavetap::decode
