// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/c_interface.hpp"

#include <new>

namespace wavetap {

wavetap_status status_of(ErrorCode code) noexcept {
    switch (code) {
    case ErrorCode::kInvalidArgument:
        return WAVETAP_STATUS_INVALID_ARGUMENT;
    case ErrorCode::kWrongState:
        return WAVETAP_STATUS_WRONG_STATE;
    case ErrorCode::kWouldDeadlock:
        return WAVETAP_STATUS_WOULD_DEADLOCK;
    case ErrorCode::kBusy:
        return WAVETAP_STATUS_BUSY;
    case ErrorCode::kLimit:
        return WAVETAP_STATUS_LIMIT;
    case ErrorCode::kNotFound:
        return WAVETAP_STATUS_NOT_FOUND;
    case ErrorCode::kUnavailable:
        return WAVETAP_STATUS_UNAVAILABLE;
    case ErrorCode::kIo:
        return WAVETAP_STATUS_IO;
    case ErrorCode::kTimeout:
        return WAVETAP_STATUS_TIMEOUT;
    case ErrorCode::kCorrupt:
        return WAVETAP_STATUS_CORRUPT;
    case ErrorCode::kUnsupported:
        return WAVETAP_STATUS_UNSUPPORTED;
    case ErrorCode::kInternal:
        return WAVETAP_STATUS_INTERNAL;
    }
    return WAVETAP_STATUS_INTERNAL;
}

const char* status_name(wavetap_status status) noexcept {
    if (status == WAVETAP_STATUS_SUCCESS) return "success";
    for (int code = 0; code <= static_cast<int>(ErrorCode::kInternal); ++code)
        if (status_of(static_cast<ErrorCode>(code)) == status)
            return error_code_name(static_cast<ErrorCode>(code));
    return "unknown";
}

void LastError::keep(const char* words) noexcept {
    std::strncpy(words_, words, sizeof words_ - 1);
    words_[sizeof words_ - 1] = '\0';
}

wavetap_status LastError::report(const Error& error) noexcept {
    try {
        std::string words = to_string(error);
        if (!error.hint.empty()) words += "; " + error.hint;
        keep(words.c_str());
    } catch (const std::bad_alloc&) {
        keep(error_code_name(error.code));
    }
    return status_of(error.code);
}

} // namespace wavetap
