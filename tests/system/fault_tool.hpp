// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

/// Calls of ROCr that can be made to fail. Those that give something back fail without doing it.
enum FaultKind {
    kFaultQueueCreate,
    kFaultSignalCreate,
    kFaultAllocate,
    kFaultAllowAccess,
    kFaultCopy,
    kFaultQueueDestroy,
    kFaultSignalDestroy,
    kFaultFree,
    kFaultSessionKinds, ///< those above are what a session of the C interface calls
    kFaultInterceptCreate = kFaultSessionKinds,
    kFaultInterceptRegister,
    kFaultAsyncHandler,
    kFaultDiscovery, ///< those from here on find agents and pools
    kFaultIterateAgents = kFaultDiscovery,
    kFaultAgentInfo,
    kFaultIteratePools,
    kFaultPoolInfo,
    kFaultKinds
};
