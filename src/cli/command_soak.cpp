// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/clock.hpp"
#include "base/units.hpp"
#include "cli/gpu.hpp"
#include "cli/options.hpp"
#include "cli/plan.hpp"
#include "cli/process.hpp"
#include "cli/recording.hpp"
#include "cli/soak.hpp"
#include "cli/words.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <filesystem>
#include <memory>

namespace wavetap::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* kProgram = "wavetap-soak-program";
constexpr const char* kFooter = R"(Examples:
  wavetap soak --gpu soft:gfx90a --contexts 40 --buffer 2MiB,1MiB --app-queues 10
  wavetap soak --gpu soft:gfx90a --contexts 400 --buffer 1GiB,512MiB --app-queues 100 --json
  wavetap soak --agents 4 --contexts 400 --buffer 1MiB
Runs a small program of its own that opens the queues and launches one kernel again and again, records
it under N contexts with what really ran, and compares the two. Context i takes CU i mod 4, shader
engines 0x1 or 0x3 by turns, SIMD i mod 4 and the sizes of --buffer by turns; every ninth records no
instructions. With several agents the contexts are dealt out to them by turns, and the program launches
on all agents at once. The number of launches is contexts x window x rotations, so each context gets
--rotations turns: in device mode one trace of --window launches, in dispatch mode as many traces of one
launch. With --turns completions a context is started in the packet interceptor when its first launch
comes, and stopped on the runtime's handler thread when its last one has completed, both under one mutex;
a completion gate keeps the program waiting until then. The trace stays in the folder. WAVETAP_SOFTGPU_HBM (bytes of device memory) and
WAVETAP_SOFTGPU_QUEUES (most queues) set the limits of the software GPU.
With several --buffers (contexts take the counts of the list by turns, on one shader engine each, or on two
at once with --stream-engines) the program writes so many trace tokens that each of their runs fills its
buffers well over six times; every third of these contexts has a consumer that is too slow, and every third a
hub that is kept from looking for a while.
--no-sharing shows what sharing saves: it records once more with a queue and a buffer for each context,
into DIR-no-sharing, until the queues or the memory are used up, and prints both side by side.
Exit code 0 only if every context was captured in every rotation, no start was refused, and nothing is
missing, extra or different.)";

struct Options {
    std::string gpu = "soft:gfx90a", dir;
    std::string app_queues = "10", rotations = "1", agents = "1", turns = "launches";
    RecordOptions record;
    bool force = false, no_sharing = false;
    JsonOption json;
};

/// Everything that is settled before anything runs.
struct Setup {
    std::string gpu; ///< as parse_gpu() takes it
    TraceTarget target;
    Plan plan;
    SoakRun run;
};

/// With several buffers: what each context must suffer, and the work-groups of each of its launches,
/// which fill its buffers. Empty without.
std::vector<std::uint64_t> disturb(Plan& plan) {
    // A work-group is four waves, each of 512 words of 6 bytes; one of eight comes to an engine.
    constexpr std::uint64_t kGroupBytes = 4 * 512 * 6, kEngines = 8;
    constexpr std::uint64_t kFills = 20;
    constexpr std::uint64_t kSlowConsumer = 250, kBlindHub = 400; // percent of a fill
    std::vector<std::uint64_t> groups;
    std::uint64_t streaming = 0;
    for (PlannedContext& context : plan.contexts) {
        const auto engines = static_cast<std::uint64_t>(std::popcount(context.se_mask));
        const std::uint64_t part = context.buffer_bytes / engines;
        if (context.buffers == 1) {
            groups.push_back(2 * kEngines);
            continue;
        }
        if (streaming % 3 == 0) context.handler_slowness = kSlowConsumer * engines;
        if (streaming % 3 == 1) context.hub_stall = kBlindHub;
        ++streaming;
        groups.push_back(kEngines + kEngines * kFills * part / kGroupBytes / plan.window);
    }
    if (streaming == 0) groups.clear();
    return groups;
}

Result<Setup> set_up(const Options& options) {
    Setup setup;
    // "gfx90a" alone is the software GPU: no other one has a truth log.
    const bool plain = !options.gpu.empty() && options.gpu.find(':') == std::string::npos;
    std::string gpu = plain ? "soft:" + options.gpu : options.gpu;
    WAVETAP_TRY(const std::uint64_t agents, number_option(options.agents, "--agents", 1, 16));
    WAVETAP_TRY(const SoftwareGpu parsed, parse_gpu(gpu));
    if (agents > 1 && parsed.chips.size() != 1)
        return Error{ErrorCode::kInvalidArgument, "--gpu names several chips already", "--agents",
                     "name one chip, or leave --agents out"};
    for (std::uint64_t i = 1; i < agents; ++i)
        gpu += "," + parsed.chips.front();
    setup.gpu = gpu;
    WAVETAP_TRY(setup.target, software_target(gpu, true));
    WAVETAP_TRY(setup.plan, make_plan(options.record, setup.target.chip));
    SoakRun& run = setup.run;
    run.groups = disturb(setup.plan);
    for (PlannedContext& context : setup.plan.contexts)
        context.detail = context.id % 9 != 8;
    const bool dispatch_mode = setup.plan.mode == "dispatch";
    setup.plan.every_launch = dispatch_mode;
    if (options.no_sharing && setup.plan.mode != "device")
        return Error{ErrorCode::kUnsupported, "contexts can be kept apart in device mode only",
                     "--no-sharing", "leave --mode out"};
    if (options.turns != "launches" && options.turns != "completions")
        return Error{ErrorCode::kInvalidArgument,
                     "'" + options.turns + "' is nothing that turns go by", "--turns",
                     "write launches or completions"};
    if (options.turns != "launches" && setup.plan.mode != "device")
        return Error{ErrorCode::kUnsupported, "in dispatch mode turns go by launches", "--turns",
                     "leave --mode out"};
    setup.plan.turns = run.turns = options.turns;
    WAVETAP_TRY(run.app_queues, number_option(options.app_queues, "--app-queues", 1, 1000));
    WAVETAP_TRY(run.rotations, number_option(options.rotations, "--rotations", 1, 1000));
    // Every agent gets as many launches as the one with the most contexts needs.
    run.agents = setup.target.chip.agents;
    const std::uint64_t most = (setup.plan.contexts.size() + run.agents - 1) / run.agents;
    run.runs = run.rotations * (dispatch_mode ? setup.plan.window : 1);
    run.launches = most * run.agents * setup.plan.window * run.rotations;
    if (run.launches > kMostSoakLaunches)
        return Error{ErrorCode::kInvalidArgument,
                     fmt::format("contexts x window x rotations is {}, more than {} launches",
                                 run.launches, kMostSoakLaunches),
                     "--window", ""};
    return setup;
}

Result<std::string> find_soak_program() {
    std::error_code code;
    const fs::path self = fs::read_symlink("/proc/self/exe", code);
    const fs::path path = self.parent_path() / kProgram;
    if (fs::exists(path, code)) return path.string();
    return Error{ErrorCode::kNotFound, std::string("the program ") + kProgram + " is missing",
                 self.parent_path().string(),
                 "it is built where libhsa-runtime-dev is installed: `./dev build release`"};
}

double seconds_since(const Clock& clock, TimePoint begin) {
    return std::chrono::duration<double>(clock.now() - begin).count();
}

/// Records; an error of starting leaves no folder.
Result<SoakAnswer> record(const Options& options, Setup& setup, const std::string& dir,
                          const std::vector<std::string>& program, const std::string& tool) {
    const SteadyClock clock;
    WAVETAP_TRY(const Variables variables,
                recording_variables(setup.plan, setup.target, tool, dir, true));
    const TimePoint begin = clock.now();
    const Result<int> status = run_to_end(program, {variables, options.json.on_stdout()});
    if (!status) {
        remove_unused_dir(dir);
        return status.error();
    }
    SoakAnswer answer;
    answer.run = setup.run;
    answer.record_seconds = seconds_since(clock, begin);
    WAVETAP_TRY(answer.summary, finish_recording(setup.plan, dir, program, *status));
    if (*status != 0)
        return Error{ErrorCode::kInternal, fmt::format("the program ended with {}", *status),
                     program.front(), "what it said stands above; the trace is in " + dir};
    const TimePoint recorded = clock.now();
    WAVETAP_TRY(const store::TraceFolder folder, store::open_folder(dir));
    WAVETAP_TRY(answer.verify, verify_folder(folder));
    answer.verify_seconds = seconds_since(clock, recorded);
    return answer;
}

/// Once more, every context with a queue and a buffer of its own, into DIR-no-sharing. Starts that
/// are refused are the answer, not an error.
Result<SoakApart> record_apart(const Options& options, Plan plan, const TraceTarget& target,
                               const std::string& dir, const std::vector<std::string>& program,
                               const std::string& tool) {
    plan.sharing = false;
    const std::string apart = dir + "-no-sharing";
    WAVETAP_CHECK_OK(prepare_trace_dir(apart, options.force));
    WAVETAP_TRY(const Variables variables, recording_variables(plan, target, tool, apart, false));
    WAVETAP_TRY(const int status, run_to_end(program, {variables, options.json.on_stdout()}));
    WAVETAP_TRY(Summary summary, finish_recording(plan, apart, program, status));
    if (status != 0)
        return Error{ErrorCode::kInternal, fmt::format("the program ended with {}", status),
                     program.front(), "what it said stands above; the trace is in " + apart};
    return soak_apart(std::move(summary));
}

int compare(const Options& options, const Setup& setup, const std::string& dir,
            const std::vector<std::string>& program, const std::string& tool,
            const SoakAnswer& answer) {
    const Result<SoakApart> apart =
        record_apart(options, setup.plan, setup.target, dir, program, tool);
    if (!apart) return fail(apart.error(), kNo);
    fmt::print(options.json.on_stdout() ? stderr : stdout, "{}", soak_compare_text(answer, *apart));
    if (options.json.wanted()) {
        if (const auto written = write_json(options.json, soak_compare_json(answer, *apart));
            !written)
            return fail(written.error(), kUsage);
    }
    return answer.good() && apart->good() ? kGood : kNo;
}

int soak(const Options& options) {
    Result<Setup> setup = set_up(options);
    if (!setup) return fail(setup.error(), kUsage);
    Result<TraceTarget> target = software_target(setup->gpu, false);
    if (!target) return fail(target.error(), kFailed);
    setup->target = std::move(*target);
    const Result<std::string> tool = find_library(kToolLibrary);
    if (!tool) return fail(tool.error(), kFailed);
    const Result<std::string> found = find_soak_program();
    if (!found) return fail(found.error(), kFailed);
    const std::string dir = options.dir.empty() ? default_trace_dir("soak") : options.dir;
    if (const Result<void> made = prepare_trace_dir(dir, options.force); !made)
        return fail(made.error(), made.error().code == ErrorCode::kWrongState ? kUsage : kFailed);

    std::vector<std::string> program = {*found, fmt::format("{}", setup->run.app_queues),
                                        fmt::format("{}", setup->run.launches),
                                        fmt::format("{}", setup->run.agents)};
    if (!setup->run.groups.empty()) {
        program.push_back(fmt::format("{}", setup->plan.window));
        program.push_back(fmt::format("{}", fmt::join(setup->run.groups, ",")));
    }
    const Result<SoakAnswer> answer = record(options, *setup, dir, program, *tool);
    if (!answer) return fail(answer.error(), kNo);
    fmt::print(options.json.on_stdout() ? stderr : stdout, "{}", soak_text(*answer));
    if (options.no_sharing) return compare(options, *setup, dir, program, *tool, *answer);
    if (options.json.wanted()) {
        if (const auto written = write_json(options.json, soak_json(*answer)); !written)
            return fail(written.error(), kUsage);
    }
    return answer->good() ? kGood : kNo;
}

} // namespace

void add_soak(CLI::App& app, Session& session) {
    Command command(app, "soak", "test many contexts with a program of its own");
    const auto options = std::make_shared<Options>();
    options->record.contexts = "400";
    const auto add = [&](const char* name, std::string& value, const char* type, const char* text) {
        command.option(name, value, text, type);
    };
    add("--gpu", options->gpu, "soft:CHIP", "software GPU (default soft:gfx90a)");
    add("--agents", options->agents, "N", "so many agents of that chip (default 1)");
    add("--contexts", options->record.contexts, "N", "number of trace contexts (default 400)");
    add("--mode", options->record.mode, "MODE", "device (default) or dispatch");
    add("--buffer", options->record.buffer, "SIZE[,SIZE...]",
        "sizes that the contexts take by turns (default 128MiB)");
    add("--buffers", options->record.buffers, "N[,N...]",
        "buffers that the contexts take by turns, 1 or 3..16 (default 1)");
    command.flag("--stream-engines", options->record.stream_engines,
                 "several buffers: both shader engines of a context at once");
    add("--app-queues", options->app_queues, "N", "queues that the program opens (default 10)");
    add("--window", options->record.window, "N",
        "dispatches before the next context's turn (default 2)");
    add("--turns", options->turns, "WHAT",
        "what a context's turn begins and ends with: launches (default) or completions");
    add("--rotations", options->rotations, "N", "turns of every context (default 1)");
    add("-o", options->dir, "DIR", "trace folder (default wavetap-soak-N)");
    command.flag("--no-sharing", options->no_sharing,
                 "then again with a queue and a buffer for each context, and compare");
    command.flag("--force", options->force, "replace the trace in an existing folder");
    command.json_option(options->json);
    command.footer(kFooter);
    command.callback([options, &session] {
        if (options->record.mode.empty()) options->record.mode = "device";
        session.status = soak(*options);
    });
}

} // namespace wavetap::cli
