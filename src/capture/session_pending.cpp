// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/session.hpp"

#include <algorithm>
#include <utility>

// Contexts of a session that has no agents yet.

namespace wavetap::capture {

namespace {

Error no_context() {
    return Error{ErrorCode::kNotFound, "no such context", "", "it may have been destroyed"};
}

} // namespace

bool Session::is_noted(ContextHandle context) const {
    return std::any_of(noted_.begin(), noted_.end(),
                       [context](const Noted& noted) { return noted.context == context; });
}

Result<void> Session::note(const Noted& noted) {
    for (const Noted& other : noted_)
        if (other.context == noted.context && other.agent == noted.agent)
            return Error{ErrorCode::kWrongState,
                         "the context is already configured for agent " +
                             std::to_string(noted.agent),
                         "", ""};
    try {
        noted_.push_back(noted);
    } catch (const std::bad_alloc&) {
        return Error{ErrorCode::kLimit, "no memory for another context", "", ""};
    }
    return {};
}

Result<void> Session::wish(ContextHandle context, Record& record) {
    if (!is_noted(context))
        return Error{ErrorCode::kWrongState, "the context is not configured", "", ""};
    if (record.wanted) return {};
    try {
        std::erase(wishes_, context); // an older wish that was taken back
        wishes_.push_back(context);
    } catch (const std::bad_alloc&) {
        return Error{ErrorCode::kLimit, "no memory for another context", "", ""};
    }
    record.wanted = true;
    return {};
}

void Session::forget(ContextHandle context) {
    std::erase_if(noted_, [context](const Noted& noted) { return noted.context == context; });
    std::erase(wishes_, context);
}

Result<bool> Session::pending(ContextHandle context) const {
    MutexLock lock(mutex_);
    const Record* record = find(context);
    if (record == nullptr) return no_context();
    return record->wanted;
}

std::vector<Session::Failure> Session::attach() {
    std::vector<Noted> noted;
    std::vector<ContextHandle> wishes;
    {
        MutexLock lock(mutex_);
        attached_ = true;
        noted = std::exchange(noted_, {});
        wishes = std::exchange(wishes_, {});
    }
    std::vector<Failure> failures;
    const auto fail = [&failures](ContextHandle context, Error error) {
        // Destroyed meanwhile: nobody waits for it.
        if (error.code != ErrorCode::kNotFound || !error.where.empty() ||
            error.message != no_context().message)
            failures.push_back({context, std::move(error)});
    };
    for (const Noted& one : noted)
        if (auto done = configure(one); !done) fail(one.context, std::move(done.error()));
    for (const ContextHandle context : wishes) {
        {
            MutexLock lock(mutex_);
            Record* record = find(context);
            if (record == nullptr || !std::exchange(record->wanted, false)) continue;
        }
        if (auto started = start(context); !started) fail(context, std::move(started.error()));
    }
    return failures;
}

} // namespace wavetap::capture
