// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/options.hpp"
#include "cli/trace_dir.hpp"
#include "report/health.hpp"

#include <fmt/core.h>

#include <memory>

namespace wavetap::cli {

namespace {

constexpr const char* kFooter = R"(Examples:
  wavetap health                          the newest trace
  wavetap health trace --strict           exit code 1 if anything is missing
  wavetap health trace --json)";

struct Options {
    std::vector<std::string> dirs;
    bool strict = false;
    unsigned threads = 0;
    JsonOption json;
};

Result<int> health(const Options& options) {
    WAVETAP_TRY(const std::vector<store::TraceFolder> folders, open_folders(options.dirs));
    report::CodeTable code;
    WAVETAP_TRY(const report::Health health, report::find_health(folders, code, options.threads));
    if (!options.json.on_stdout()) fmt::print("{}", report::to_text(health));
    if (options.json.wanted()) WAVETAP_CHECK_OK(write_json(options.json, report::to_json(health)));
    return options.strict && !health.good ? kNo : kGood;
}

} // namespace

void add_health(CLI::App& app, Session& session) {
    Command command(app, "health", "whether each shader engine recorded what it was asked for");
    const auto options = std::make_shared<Options>();
    command.option("DIR", options->dirs, "trace folders (default: the newest wavetap-*/)");
    command.flag("--strict", options->strict, "exit code 1 if anything is missing");
    command.threads_option(options->threads);
    command.json_option(options->json);
    command.footer(kFooter);
    command.callback([options, &session] {
        const Result<int> status = health(*options);
        session.status = status ? *status : fail(status.error(), kUsage);
    });
}

} // namespace wavetap::cli
