// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace wavetap::softgpu::kfd {

/// Writes "wavetap-softgpu: MESSAGE\n" to stderr in one call. The preload front end has no caller
/// that could do it.
void report(const std::string& message);

/// The trace of driver calls, one line each. Thread safe; keeps one descriptor for ever.
class CallLog {
  public:
    /// "" = off. A file that cannot be opened is reported once and the log stays off.
    explicit CallLog(const std::string& path);
    bool on() const { return fd_ >= 0; }
    /// Adds time and thread and writes one line in one call.
    void line(const std::string& text) const;

  private:
    int fd_ = -1;
};

} // namespace wavetap::softgpu::kfd
