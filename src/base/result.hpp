// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace wavetap {

/// What kind of thing went wrong; the class decides who can act on it.
enum class ErrorCode : unsigned char {
    // The caller.
    kInvalidArgument, ///< a value outside its documented range
    kWrongState,      ///< the call does not fit the object's state
    kWouldDeadlock,   ///< the call waits for something its own thread must do
    // Busy or at a limit: try again later.
    kBusy,  ///< another context holds the agent
    kLimit, ///< no queue, slot or memory left
    // The environment.
    kNotFound,    ///< file, symbol, agent or package missing
    kUnavailable, ///< the runtime or driver refused
    kIo,          ///< reading or writing failed
    kTimeout,     ///< a deadline passed
    // The stream or file.
    kCorrupt,     ///< bytes that no writer of the format makes
    kUnsupported, ///< a chip, version or instruction we do not know
    // Our own bug.
    kInternal,
};

/// The word used for `code` in messages and JSON, e.g. "invalid-argument".
const char* error_code_name(ErrorCode code) noexcept;

/// One failure in one line: what, where, and what to do.
struct Error {
    ErrorCode code = ErrorCode::kInternal;
    std::string message; ///< what went wrong, naming the value and the limit
    std::string where;   ///< file, offset, address or call; may be empty
    std::string hint;    ///< what the user can do; may be empty
};

/// "MESSAGE (WHERE)", without the hint.
std::string to_string(const Error& error);

/// Value or Error, member names as in std::expected (absent in gcc 12's C++20 mode).
template <class T> class [[nodiscard]] Result {
  public:
    Result(T value)
        : state_(std::in_place_index<0>, std::move(value)) {
    } // NOLINT: implicit as in std::expected
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {} // NOLINT

    bool has_value() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }
    /// Precondition of these: has_value().
    T& value() & { return *std::get_if<0>(&state_); }
    const T& value() const& { return *std::get_if<0>(&state_); }
    T&& value() && { return std::move(*std::get_if<0>(&state_)); }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T&& operator*() && { return std::move(*this).value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }
    /// Precondition: !has_value().
    Error& error() { return *std::get_if<1>(&state_); }
    const Error& error() const { return *std::get_if<1>(&state_); }

  private:
    std::variant<T, Error> state_;
};

template <> class [[nodiscard]] Result<void> {
  public:
    Result() = default;
    Result(Error error) : error_(std::move(error)) {} // NOLINT
    bool has_value() const noexcept { return !error_.has_value(); }
    explicit operator bool() const noexcept { return has_value(); }
    Error& error() { return *error_; }
    const Error& error() const { return *error_; }

  private:
    std::optional<Error> error_;
};

} // namespace wavetap

#define WAVETAP_CONCAT_(a, b) a##b
#define WAVETAP_CONCAT(a, b) WAVETAP_CONCAT_(a, b)

/// WAVETAP_TRY(auto x, call()): x = value, or return the error.
#define WAVETAP_TRY(declaration, expression)                                                       \
    auto WAVETAP_CONCAT(result_, __LINE__) = (expression);                                         \
    if (!WAVETAP_CONCAT(result_, __LINE__))                                                        \
        return std::move(WAVETAP_CONCAT(result_, __LINE__).error());                               \
    declaration = *std::move(WAVETAP_CONCAT(result_, __LINE__))

/// WAVETAP_CHECK_OK(call()): for Result<void>; returns the error.
#define WAVETAP_CHECK_OK(expression)                                                               \
    do {                                                                                           \
        if (auto check_ok_result = (expression); !check_ok_result)                                 \
            return std::move(check_ok_result.error());                                             \
    } while (false)
