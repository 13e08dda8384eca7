// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/options.hpp"
#include "cli/trace_dir.hpp"
#include "cli/words.hpp"
#include "report/att_folder.hpp"
#include "report/hot_spots.hpp"
#include "report/perfetto.hpp"
#include "report/rcv.hpp"
#include "report/speedscope.hpp"
#include "report/stats_csv.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

namespace wavetap::cli {

namespace {

constexpr const char* kFooter = R"(Examples:
  wavetap export trace --to perfetto -o trace.json    waves and instructions, for ui.perfetto.dev
  wavetap export trace --to csv -o stats.csv          the table of rocprofv3's stats_*.csv
  wavetap export trace --to speedscope -o flame.json  flame graph, for speedscope.app
  wavetap export trace --to rcv -o ui                 folders for ROCprof Compute Viewer
  wavetap export trace --to att -o raw                .att, .out and results.json as of rocprofv3
`-o -` writes the first three to stdout. Nothing that is there is overwritten.)";

struct Options {
    std::vector<std::string> dirs;
    std::string to, output;
    bool no_instructions = false;
};

/// A new file, or stdout for "-".
class Output {
  public:
    explicit Output(const std::string& path) : path_(path) {}
    ~Output() {
        if (file_ != nullptr && file_ != stdout) std::fclose(file_);
    }
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;

    Result<void> write(std::string_view text) {
        if (file_ == nullptr) {
            file_ = path_ == "-" ? stdout : std::fopen(path_.c_str(), "wx");
            if (file_ == nullptr) return fault("cannot make the file");
        }
        if (std::fwrite(text.data(), 1, text.size(), file_) != text.size())
            return fault("cannot write");
        return {};
    }
    Result<void> close() {
        if (file_ == nullptr) return {};
        const bool good = (file_ == stdout ? std::fflush(file_) : std::fclose(file_)) == 0;
        file_ = nullptr;
        if (!good) return fault("cannot write");
        return {};
    }

  private:
    Error fault(const std::string& what) const {
        return Error{errno == EEXIST ? ErrorCode::kWrongState : ErrorCode::kIo,
                     what + ": " + std::generic_category().message(errno), path_, ""};
    }
    std::string path_;
    std::FILE* file_ = nullptr;
};

Result<void> export_file(const Options& options, const std::vector<store::TraceFolder>& folders) {
    report::CodeTable code;
    Output output(options.output);
    if (options.to == "perfetto") {
        report::PerfettoOptions perfetto;
        perfetto.instructions = !options.no_instructions;
        WAVETAP_CHECK_OK(report::write_perfetto(
            folders, code, perfetto, [&](std::string_view text) { return output.write(text); }));
        return output.close();
    }
    WAVETAP_TRY(const report::HotSpots spots, report::find_hot_spots(folders, code, 1, 0));
    WAVETAP_CHECK_OK(output.write(options.to == "csv" ? report::to_stats_csv(spots, code)
                                                      : report::to_speedscope(spots)));
    for (const std::string& problem : spots.problems)
        note(problem);
    return output.close();
}

Result<void> export_folder(const Options& options, const std::vector<store::TraceFolder>& folders) {
    if (options.output == "-")
        return Error{ErrorCode::kInvalidArgument, "--to " + options.to + " makes a folder", "-o -",
                     "name the folder with -o"};
    if (options.to == "att") {
        WAVETAP_TRY(const std::size_t traces, report::write_att_folder(folders, options.output));
        fmt::print("{}: {}\n", options.output, count_of(traces, "trace"));
        return {};
    }
    report::CodeTable code;
    WAVETAP_TRY(const auto written, report::write_rcv(folders, code, options.output));
    for (const std::string& folder : written)
        fmt::print("{}\n", folder);
    return {};
}

Result<void> run_export(const Options& options) {
    const bool file = options.to == "csv" || options.to == "perfetto" || options.to == "speedscope";
    if (!file && options.to != "rcv" && options.to != "att")
        return Error{ErrorCode::kInvalidArgument, "there is no format '" + options.to + "'", "--to",
                     "take csv, perfetto, speedscope, rcv or att"};
    WAVETAP_TRY(const std::vector<store::TraceFolder> folders, open_folders(options.dirs));
    return file ? export_file(options, folders) : export_folder(options, folders);
}

} // namespace

void add_export(CLI::App& app, Session& session) {
    Command command(app, "export", "write what other tools open");
    const auto options = std::make_shared<Options>();
    command.option("DIR", options->dirs, "trace folders (default: the newest wavetap-*/)");
    command.required("--to", options->to, "csv, perfetto, speedscope, rcv or att", "FORMAT");
    command.required("-o", options->output, "the file or folder to make", "PATH");
    command.flag("--no-instructions", options->no_instructions,
                 "perfetto: waves only, a much smaller file");
    command.footer(kFooter);
    command.callback([options, &session] {
        if (const Result<void> done = run_export(*options); !done)
            session.status = fail(done.error(), kUsage);
    });
}

} // namespace wavetap::cli
