// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "compat/abi.hpp"
#include "decode/records.hpp"

namespace wavetap::compat {

/// Type 0: the ABI has no such event, and it is not sent.
Event event_of(const decode::EventRecord& record);
/// `version`: of the stream's header from gfx10 on; 0 on gfx9.
Dispatch dispatch_of(const decode::DispatchRecord& record, unsigned version);

} // namespace wavetap::compat
