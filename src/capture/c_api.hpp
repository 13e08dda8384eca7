// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/caught.hpp"
#include "base/clock.hpp"
#include "capture/session.hpp"

#include <wavetap/wavetap.h>

#include <cstring>
#include <memory>
#include <string>
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

/// Keeps the words of `error` for wavetap_last_error() on this thread; returns its status.
wavetap_status report(const Error& error) noexcept;

/// Runs `call`, which returns Result<void>; nothing passes the boundary but a status.
template <class Call> wavetap_status guarded(Call call) noexcept {
    const Result<void> done = caught(call);
    return done ? WAVETAP_STATUS_SUCCESS : report(done.error());
}

/// Copies as much of a struct that begins with its size as its caller knows; `known` keeps the rest.
/// `name` and `advice` are for the words. Errors: kInvalidArgument (a size that is not known).
template <class T>
Result<void> copy_in(T& known, const T& given, const std::string& name, const char* advice) {
    if (given.size < sizeof given.size || given.size > sizeof known)
        return Error{ErrorCode::kInvalidArgument,
                     "size " + std::to_string(given.size) + " of " + name + " is not known", "",
                     advice};
    std::memcpy(static_cast<void*>(&known), &given, given.size);
    return {};
}

} // namespace wavetap::capture
