// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "compat/abi.hpp"
#include "decode/records.hpp"

namespace wavetap::compat {

/// Type 0: the ABI has no such event, and it is not sent. Of the events that register writes name it
/// has one, the partial flush of gfx9; the others are there for EVENT tokens, which would say the same
/// once more.
Event event_of(const decode::EventRecord& record, bool gfx9);
/// `version`: of the stream's header from gfx10 on; 0 on gfx9.
Dispatch dispatch_of(const decode::DispatchRecord& record, unsigned version);

} // namespace wavetap::compat
