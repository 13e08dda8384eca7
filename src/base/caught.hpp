// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <exception>
#include <new>
#include <utility>

namespace wavetap {

/// An error with words if there is memory for them, else with fewer.
inline Error brief_error(ErrorCode code, const char* words) noexcept {
    try {
        return Error{code, words, "", ""};
    } catch (...) {
        return Error{code, "", "", ""};
    }
}

/// In a catch block: what the exception becomes; kLimit where memory was short, else kInternal.
inline Error caught_error() noexcept {
    try {
        throw;
    } catch (const std::bad_alloc&) {
        return brief_error(ErrorCode::kLimit, "no host memory");
    } catch (const std::exception& exception) {
        return brief_error(ErrorCode::kInternal, exception.what());
    } catch (...) {
        return brief_error(ErrorCode::kInternal, "an exception");
    }
}

/// What `call` returns, a Result; an exception becomes its error.
template <class Call> auto caught(Call&& call) noexcept -> decltype(call()) {
    try {
        return std::forward<Call>(call)();
    } catch (...) {
        return caught_error();
    }
}

} // namespace wavetap
