// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/options.hpp"
#include "cli/trace_dir.hpp"
#include "report/hot_spots.hpp"

#include <fmt/core.h>

#include <memory>

namespace wavetap::cli {

namespace {

constexpr const char* kFooter = R"(Examples:
  wavetap report                          instructions of the newest trace
  wavetap report trace --by line
  wavetap report run1 run2 --by cu --json=report.json
Several folders are added up. `--by wave` needs memory for the waves that it lists: with --json or
--rows 0 these are all. Times are shader clocks; from the software GPU they are modelled.)";

struct Options {
    std::vector<std::string> dirs;
    std::string by = "inst";
    std::size_t rows = 20;
    unsigned threads = 0;
    JsonOption json;
};

Result<void> report(const Options& options) {
    WAVETAP_TRY(const report::View view, report::parse_view(options.by));
    WAVETAP_TRY(const std::vector<store::TraceFolder> folders, open_folders(options.dirs));
    report::CodeTable code;
    // JSON has every wave, the text only as many as it shows.
    const bool all = options.rows == 0 || options.json.wanted();
    const std::size_t most_waves = view != report::View::kWave ? 0
                                   : all                       ? report::kAllWaves
                                                               : options.rows;
    WAVETAP_TRY(const report::HotSpots spots,
                report::find_hot_spots(folders, code, options.threads, most_waves));
    if (!options.json.on_stdout()) fmt::print("{}", report::to_text(spots, view, options.rows));
    if (options.json.wanted())
        WAVETAP_CHECK_OK(write_json(options.json, report::to_json(spots, view)));
    return {};
}

} // namespace

void add_report(CLI::App& app, Session& session) {
    Command command(app, "report", "hot spots, and which CUs were seen");
    const auto options = std::make_shared<Options>();
    command.option("DIR", options->dirs, "trace folders (default: the newest wavetap-*/)");
    command.option("--by", options->by, "what a row is: inst, line, kernel, wave or cu", "VIEW");
    command.option("--rows", options->rows, "rows of the text, 0 = all (default 20)", "N");
    command.threads_option(options->threads);
    command.json_option(options->json);
    command.footer(kFooter);
    command.callback([options, &session] {
        if (const Result<void> done = report(*options); !done)
            session.status = fail(done.error(), kUsage);
    });
}

} // namespace wavetap::cli
