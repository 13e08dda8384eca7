// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <string>
#include <vector>

namespace CLI {
class App;
}

// What every subcommand shares: its arguments, the exit codes, and how errors are printed.

namespace wavetap::cli {

inline constexpr int kGood = 0;
inline constexpr int kNo = 1;    ///< the answer is no
inline constexpr int kUsage = 2; ///< wrong use or unreadable input
inline constexpr int kFailed = 125;
inline constexpr int kNotExecutable = 126;
inline constexpr int kNoSuchProgram = 127;

/// One call of wavetap.
struct Session {
    std::vector<std::string> program; ///< what stands behind "--"
    int status = kGood;               ///< exit code, set by the chosen subcommand
};

/// Prints "wavetap: error: …" and "hint: …" on stderr; returns `status`.
int fail(const Error& error, int status);
/// Prints "wavetap: note: …" on stderr.
void note(const std::string& text);

/// Value of --json[=FILE] (Command::json_option).
struct JsonOption {
    std::string file; ///< "" = no JSON, "-" = on stdout
    bool wanted() const { return !file.empty(); }
    bool on_stdout() const { return file == "-"; }
};
/// Writes `text`, ended by a line feed, where the option says. Errors: kIo.
Result<void> write_json(const JsonOption& json, const std::string& text);

// One function a subcommand, in its own file: adds it to `app`; `session` outlives the parse.
void add_probe(CLI::App& app, Session& session); ///< the child of doctor, hidden
void add_doctor(CLI::App& app, Session& session);
void add_run(CLI::App& app, Session& session);
void add_env(CLI::App& app, Session& session);
void add_record(CLI::App& app, Session& session);
void add_health(CLI::App& app, Session& session);
void add_verify(CLI::App& app, Session& session);
void add_soak(CLI::App& app, Session& session);
void add_report(CLI::App& app, Session& session);
void add_decode(CLI::App& app, Session& session);
void add_export(CLI::App& app, Session& session);

} // namespace wavetap::cli
