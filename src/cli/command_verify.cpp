// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/options.hpp"
#include "cli/trace_dir.hpp"
#include "cli/verify.hpp"

#include <fmt/core.h>

#include <memory>

namespace wavetap::cli {

namespace {

constexpr const char* kFooter = R"(Examples:
  wavetap record --gpu soft:gfx90a --truth -o trace -- ./matmul
  wavetap verify trace
Needs a trace that was recorded with --truth on the software GPU. Exit code 1 if anything is missing,
extra or different, or if nothing was expected although waves ran on the target.)";

struct Options {
    std::string dir;
    unsigned threads = 0;
    JsonOption json;
};

Result<int> verify(const Options& options) {
    WAVETAP_TRY(const store::TraceFolder folder, open_one(options.dir));
    WAVETAP_TRY(const VerifyReport report, verify_folder(folder, options.threads));
    if (!options.json.on_stdout()) fmt::print("{}", verify_text(report));
    if (options.json.wanted()) WAVETAP_CHECK_OK(write_json(options.json, verify_json(report)));
    return report.good() ? kGood : kNo;
}

} // namespace

void add_verify(CLI::App& app, Session& session) {
    Command command(app, "verify", "compare a trace with what really ran");
    const auto options = std::make_shared<Options>();
    command.option("DIR", options->dir, "trace folder (default: the newest wavetap-*/)");
    command.threads_option(options->threads);
    command.json_option(options->json);
    command.footer(kFooter);
    command.callback([options, &session] {
        const Result<int> status = verify(*options);
        session.status = status ? *status : fail(status.error(), kUsage);
    });
}

} // namespace wavetap::cli
