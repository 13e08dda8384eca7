// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/session.hpp"

#include "base/task_pool.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace wavetap::cli {

int fail(const Error& error, int status) {
    fmt::print(stderr, "wavetap: error: {}\n", to_string(error));
    if (!error.hint.empty()) fmt::print(stderr, "hint: {}\n", error.hint);
    return status;
}

void note(const std::string& text) {
    fmt::print(stderr, "wavetap: note: {}\n", text);
}

void add_json_option(CLI::App& command, JsonOption& json) {
    command.add_flag("--json{-}", json.file, "print JSON, or write it to FILE");
}

void add_threads_option(CLI::App& command, unsigned& threads) {
    command
        .add_option("--threads", threads,
                    "threads that decode (default: one for each processor); changes no output")
        ->type_name("N")
        ->check(CLI::Range(0U, TaskPool::kMaxThreads));
}

Result<void> write_json(const JsonOption& json, const std::string& text) {
    std::FILE* out = json.on_stdout() ? stdout : std::fopen(json.file.c_str(), "w");
    bool good = out != nullptr;
    if (good) {
        good = std::fwrite(text.data(), 1, text.size(), out) == text.size();
        if (!text.ends_with('\n')) good = std::fputc('\n', out) != EOF && good;
        good = (out == stdout ? std::fflush(out) : std::fclose(out)) == 0 && good;
    }
    if (good) return {};
    return Error{ErrorCode::kIo, "cannot write the JSON: " + std::generic_category().message(errno),
                 json.on_stdout() ? "stdout" : json.file, ""};
}

} // namespace wavetap::cli
