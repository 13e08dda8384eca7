// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace wavetap::report {

/// Lines of source files, each file read once at its first question. Resource; one thread.
class SourceText {
  public:
    /// The line without blanks at its ends; empty if the file is not here, is no regular file, is
    /// over 16 MiB, or has no such line.
    const std::string& line(const std::string& file, std::uint32_t number);

  private:
    std::map<std::string, std::vector<std::string>> files_;
    std::string none_;
};

} // namespace wavetap::report
