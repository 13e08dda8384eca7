// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "capture/backend.hpp"
#include "rocr/agents.hpp"
#include "rocr/hsa_table.hpp"

namespace wavetap::rocr {

/// A command buffer that lets a queue of `agent` count its dispatches' waves in performance counters
/// from then on (gfx9; pm4/perf_counters.hpp). Host memory of a page, which stays for ever: queues may
/// come to it until the process ends. Errors: kUnsupported (chip), kLimit, kUnavailable.
Result<capture::CommandBuffer> make_counter_enable(const HsaFunctions& hsa, const GpuAgent& agent);

} // namespace wavetap::rocr
