// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/clock.hpp"
#include "capture/session.hpp"

#include <wavetap/wavetap.h>

#include <memory>

namespace wavetap::capture {

/// A session of the C interface over any hubs: how other backends, and tests, come in. `clock` is
/// the one that the hubs use, and is kept as long as they live.
wavetap_session* wrap_session(std::unique_ptr<Clock> clock, std::unique_ptr<Session> session);

/// Keeps the words of `error` for wavetap_last_error() on this thread; returns its status.
wavetap_status report(const Error& error) noexcept;

} // namespace wavetap::capture
