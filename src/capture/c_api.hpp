// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/c_interface.hpp"
#include "base/clock.hpp"
#include "capture/session.hpp"

#include <wavetap/wavetap.h>

#include <memory>
#include <vector>

namespace wavetap::capture {

/// A session of the C interface over any hubs: how other backends, and tests, come in. `clock` is
/// the one that the hubs use, and is kept as long as they live.
wavetap_session* wrap_session(std::unique_ptr<Clock> clock, std::unique_ptr<Session> session,
                              double deadline_scale = 1.0);
/// As given to wrap_session().
double deadline_scale_of(wavetap_session* session);
Session& session_of(wavetap_session* session);
/// To be asked before anything else is done with a session. Errors: kInvalidArgument (null),
/// kWrongState (the session of a process of which this one is a forked child).
Result<void> check_session(const wavetap_session* session);
/// The session could not be given its agents: from now on its contexts are configured and started with
/// this error.
void fail_attach(wavetap_session* session, const Error& error);
/// Called once in wavetap_session_close(), first.
void set_close_hook(wavetap_session* session, void (*hook)(wavetap_session* session));

/// For giving agents to a session of wavetap_session_open().
const Clock& clock_of(wavetap_session* session);
/// What attach_hubs() does once the hubs are there.
Result<void> start_pending(wavetap_session* session);
/// Adds the hubs, and starts what is pending. Errors: kWrongState (it has agents), and the first of
/// the contexts'.
Result<void> attach_hubs(wavetap_session* session, std::vector<std::unique_ptr<AgentHub>> hubs);

/// Of this thread, for wavetap_last_error().
LastError& last_error() noexcept;
/// As LastError::guard().
template <class Call> wavetap_status guarded(Call call) noexcept {
    return last_error().guard(call);
}

} // namespace wavetap::capture
