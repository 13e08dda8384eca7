// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/result.hpp"

namespace wavetap {

const char* error_code_name(ErrorCode code) noexcept {
    switch (code) {
    case ErrorCode::kInvalidArgument:
        return "invalid-argument";
    case ErrorCode::kWrongState:
        return "wrong-state";
    case ErrorCode::kWouldDeadlock:
        return "would-deadlock";
    case ErrorCode::kBusy:
        return "busy";
    case ErrorCode::kLimit:
        return "limit";
    case ErrorCode::kNotFound:
        return "not-found";
    case ErrorCode::kUnavailable:
        return "unavailable";
    case ErrorCode::kIo:
        return "io";
    case ErrorCode::kTimeout:
        return "timeout";
    case ErrorCode::kCorrupt:
        return "corrupt";
    case ErrorCode::kUnsupported:
        return "unsupported";
    case ErrorCode::kInternal:
        return "internal";
    }
    return "internal";
}

std::string to_string(const Error& error) {
    if (error.where.empty()) return error.message;
    return error.message + " (" + error.where + ")";
}

} // namespace wavetap
