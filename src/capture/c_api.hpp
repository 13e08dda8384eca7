// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/clock.hpp"
#include "capture/session.hpp"

#include <wavetap/wavetap.h>

#include <memory>
#include <vector>

namespace wavetap::capture {

/// A session of the C interface over any hubs: how other backends, and tests, come in. `clock` is
/// the one that the hubs use, and is kept as long as they live.
wavetap_session* wrap_session(std::unique_ptr<Clock> clock, std::unique_ptr<Session> session);

/// For giving agents to a session of wavetap_session_open().
const Clock& clock_of(wavetap_session* session);
/// Adds the hubs, and starts what is pending. Errors: kWrongState (it has agents), and the first of
/// the contexts'.
Result<void> attach_hubs(wavetap_session* session, std::vector<std::unique_ptr<AgentHub>> hubs);

/// Keeps the words of `error` for wavetap_last_error() on this thread; returns its status.
wavetap_status report(const Error& error) noexcept;

} // namespace wavetap::capture
