// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <cstdlib>
#include <source_location>

namespace wavetap::fuzz {

/// Ends the program if `good` is false, naming the line.
inline void check(bool good, std::source_location at = std::source_location::current()) {
    if (good) return;
    std::fprintf(stderr, "ERROR: %s:%u does not hold\n", at.file_name(),
                 static_cast<unsigned>(at.line()));
    std::abort();
}

} // namespace wavetap::fuzz
