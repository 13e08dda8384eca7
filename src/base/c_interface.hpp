// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/caught.hpp"
#include "base/result.hpp"

#include <wavetap/wavetap.h>

#include <cstring>
#include <string>
#include <utility>

// What the C interfaces of all libraries share.

namespace wavetap {

wavetap_status status_of(ErrorCode code) noexcept;
/// As wavetap_status_name().
const char* status_name(wavetap_status status) noexcept;

/// What the last call that failed had to say, in one line. Each library has one for each thread.
class LastError {
  public:
    void keep(const char* words) noexcept;
    /// Keeps the words of `error`; returns its status. Only its kind, if there is no memory.
    wavetap_status report(const Error& error) noexcept;
    /// Runs `call`, which returns Result<void>; nothing passes the boundary but a status.
    template <class Call> wavetap_status guard(Call&& call) noexcept {
        const Result<void> done = caught(std::forward<Call>(call));
        return done ? WAVETAP_STATUS_SUCCESS : report(done.error());
    }
    /// "" before the first.
    const char* words() const noexcept { return words_; }

  private:
    char words_[512] = "";
};

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

} // namespace wavetap
