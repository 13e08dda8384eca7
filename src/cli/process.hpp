// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "cli/gpu.hpp"

#include <string>
#include <vector>

// Starting programs. `argv[0]` without a slash is looked for in PATH.

namespace wavetap::cli {

/// Exit code for an error of the functions below: 127 (kNotFound), 126 (kUnavailable), else 125.
int exit_code_of(const Error& error);

/// Replaces this process. Returns only an error.
Error become(const std::vector<std::string>& argv, const Variables& variables);

struct RunOptions {
    Variables variables;           ///< added to the environment
    bool stdout_to_stderr = false; ///< the program prints on our stderr
};

/// Runs a program to its end; SIGINT, SIGTERM and SIGHUP sent to us alone are passed on to it (those
/// of a terminal reach it anyway). Returns its status, 128+n after signal n. There is no deadline.
Result<int> run_to_end(const std::vector<std::string>& argv, const RunOptions& options);

struct Captured {
    int status = 0;
    std::string out; ///< what it printed on stdout
};

/// Runs a helper program with stderr closed to /dev/null and collects what it prints. Errors: as
/// above, kTimeout (it is killed then).
Result<Captured> run_captured(const std::vector<std::string>& argv, const Variables& variables,
                              const Clock& clock, Duration limit);

} // namespace wavetap::cli
