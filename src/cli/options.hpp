// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "cli/session.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

// The command line, parsed by CLI11. Only options.cpp includes its header, which takes longer to compile than a whole
// command.

namespace wavetap::cli {

/// A subcommand while it is put together. The values must live until the command line is parsed.
class Command {
  public:
    Command(CLI::App& app, const char* name, const char* text);

    /// `names` as in the help: "-o", "--base", or "DIR" for what stands alone. `type`: the word for the value.
    void option(const char* names, std::string& value, const char* text, const char* type = "");
    void option(const char* names, std::vector<std::string>& values, const char* text);
    void option(const char* names, std::size_t& value, const char* text, const char* type);
    void required(const char* names, std::string& value, const char* text, const char* type);
    void flag(const char* names, bool& value, const char* text);
    /// --json[=FILE].
    void json_option(JsonOption& json);
    /// --threads N: that decode; 0 (the default): one for each processor.
    void threads_option(unsigned& threads);

    void footer(const char* text);
    void hide(); ///< not in the help
    /// What runs if this command was chosen and its options are good.
    void callback(std::function<void()> run);

  private:
    CLI::App* command_;
};

/// Parses what stands behind the program's name and runs the chosen subcommand; returns the exit code.
int run_command_line(std::vector<std::string> arguments);

} // namespace wavetap::cli
