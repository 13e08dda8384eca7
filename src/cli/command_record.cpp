// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "aqlprofile/library.hpp"
#include "cli/gpu.hpp"
#include "cli/options.hpp"
#include "cli/plan.hpp"
#include "cli/probe.hpp"
#include "cli/process.hpp"
#include "cli/recording.hpp"
#include "cli/summary.hpp"

#include <fmt/core.h>

#include <cstdlib>
#include <memory>

namespace wavetap::cli {

namespace {

constexpr const char* kFooter = R"(Examples:
  wavetap record --gpu soft:gfx90a -- ./saxpy
  wavetap record --gpu soft:gfx90a --contexts 8 --buffer 64MiB -o trace -- ./matmul
  wavetap record --gpu soft:gfx90a --sweep cu --kernel matmul -- ./matmul
  wavetap record --gpu soft:gfx90a --contexts 300 --buffer 1MiB,64MiB --dry-run -- ./matmul
Without --contexts and --sweep there is one context: shader engine 0, CU 1, all SIMDs (gfx10 and later:
SIMD 0), 128 MiB. With --contexts N, context i takes CU i mod 4, shader engines 0x1 or 0x3 by turns and
SIMD i mod 4, except what --cu, --se or --simd fix; sizes of --buffer are taken by turns. Contexts take
turns every --window dispatches that match. In dispatch mode each trace holds one dispatch: the first
launch of each matching kernel in each context, or with --every-launch each of them. In device mode each
holds all that runs in a window.
With --packets aqlprofile, WAVETAP_AQLPROFILE names the library (default libhsa-amd-aqlprofile64.so).
Returns the program's exit code (128+n after signal n); 125 if wavetap failed or the program succeeded
and nothing was captured; 126 / 127 if the program cannot be executed / is not there.)";

struct Options {
    std::string gpu, dir;
    RecordOptions record;
    bool truth = false, dry_run = false, force = false, allow_empty = false;
    JsonOption json;
};

Result<TraceTarget> hardware_target() {
    if (!has_kernel_driver()) return no_gpu_error();
    WAVETAP_TRY(const ProbedRuntime runtime, probe_runtime({}));
    if (runtime.agents.empty()) return no_gpu_error();
    const ProbedAgent& agent = runtime.agents.front();
    TraceTarget target;
    target.chip.topology.gfx = agent.name;
    if (agent.shader_engines != 0) {
        target.chip.topology.engines_per_xcc = agent.shader_engines;
        target.chip.topology.cus_per_engine =
            (agent.compute_units + agent.shader_engines - 1) / agent.shader_engines;
    }
    if (agent.simds_per_cu != 0) target.chip.topology.simds_per_cu = agent.simds_per_cu;
    // Agents count in the runtime's order: those up to the first of another chip.
    target.chip.agents = 0;
    for (const ProbedAgent& one : runtime.agents) {
        if (one.name != agent.name) break;
        ++target.chip.agents;
    }
    return target;
}

/// Wrong use is 2; what the machine lacks is wavetap's failure.
int target_status(const Error& error) {
    const bool usage = error.where == "--gpu";
    return usage ? kUsage : kFailed;
}

Result<Summary> finish(const Options& options, const Plan& plan, const std::string& dir,
                       const std::vector<std::string>& program, int status) {
    WAVETAP_TRY(Summary summary, finish_recording(plan, dir, program, status));
    if (options.json.wanted()) WAVETAP_CHECK_OK(write_json(options.json, summary_json(summary)));
    return summary;
}

/// Looks at aqlprofile before anything runs. Errors: those of probe_aqlprofile(), and where it cannot
/// do what the plan says.
Result<void> check_aqlprofile(const Plan& plan) {
    WAVETAP_TRY(const ProbedAqlprofile found, probe_aqlprofile(plan.aqlprofile_library));
    for (const PlannedContext& context : plan.contexts)
        if (context.buffers > 1 && !found.rings) {
            aqlprofile::Library library;
            library.path = found.library;
            return aqlprofile::no_rings_error(library, "");
        }
    return {};
}

int dry_run(const Options& options, const Plan& plan, const ChipShape& chip) {
    if (!options.json.on_stdout()) fmt::print("{}", plan_text(plan, chip));
    if (!options.json.wanted()) return kGood;
    const Result<void> written = write_json(options.json, plan_json(plan, chip));
    return written ? kGood : fail(written.error(), kUsage);
}

int record(const Options& options, const std::vector<std::string>& program) {
    if (program.empty())
        return fail({ErrorCode::kInvalidArgument, "no program given", "",
                     "write it behind --, as in `wavetap record --gpu soft:gfx90a -- ./saxpy`"},
                    kUsage);
    const Result<TraceTarget> target =
        options.gpu.empty() ? hardware_target() : software_target(options.gpu, options.dry_run);
    if (!target) return fail(target.error(), target_status(target.error()));
    Result<Plan> plan = make_plan(options.record, target->chip);
    if (!plan) return fail(plan.error(), kUsage);
    if (const char* library = std::getenv(aqlprofile::kLibraryVariable); library != nullptr)
        plan->aqlprofile_library = library;
    if (options.truth && !target->chip.modelled)
        return fail({ErrorCode::kUnsupported, "only the software GPU can tell the truth", "--truth",
                     "add --gpu soft:gfx90a"},
                    kUsage);
    if (options.dry_run) return dry_run(options, *plan, target->chip);

    if (plan->packets == "aqlprofile")
        if (const Result<void> usable = check_aqlprofile(*plan); !usable)
            return fail(usable.error(), kFailed);
    const Result<std::string> tool = find_library(kToolLibrary);
    if (!tool) return fail(tool.error(), kFailed);
    const std::string dir = options.dir.empty() ? default_trace_dir(program.front()) : options.dir;
    if (const Result<void> made = prepare_trace_dir(dir, options.force); !made)
        return fail(made.error(), made.error().code == ErrorCode::kWrongState ? kUsage : kFailed);
    const Result<Variables> variables =
        recording_variables(*plan, *target, *tool, dir, options.truth);
    if (!variables) return fail(variables.error(), kFailed);

    const Result<int> status = run_to_end(program, {*variables, options.json.on_stdout()});
    if (!status) {
        remove_unused_dir(dir);
        return fail(status.error(), exit_code_of(status.error()));
    }
    const Result<Summary> summary = finish(options, *plan, dir, program, *status);
    if (!summary) return fail(summary.error(), *status != 0 ? *status : kFailed);
    fmt::print(stderr, "{}", summary_text(*summary));
    if (*status == 0 && summary->captured() == 0 && !options.allow_empty)
        return fail(nothing_captured(*summary), kFailed);
    return *status;
}

void add_trace_options(Command& command, RecordOptions& record) {
    const auto add = [&command](const char* name, std::string& value, const char* type,
                                const char* text) { command.option(name, value, text, type); };
    add("--agent", record.agents, "N[,N...]", "GPU agents to trace, from 0 (default all)");
    add("--mode", record.mode, "MODE",
        "dispatch (default): single dispatches; device: windows of dispatches (default with "
        "--buffers above 1)");
    add("--se", record.se, "MASK", "mask of shader engines, e.g. 0x3 (default 0x1)");
    add("--cu", record.cu, "N", "compute unit with instruction detail (default 1)");
    add("--simd", record.simd, "N[,N...]", "SIMD numbers, e.g. 0,2");
    add("--buffer", record.buffer, "SIZE[,SIZE...]",
        "size for all selected engines together, e.g. 64MiB, 1GiB; contexts take the sizes of a "
        "list by turns (default 128MiB)");
    add("--buffers", record.buffers, "N[,N...]",
        "buffers a context, 1 or 3..16: with several the trace is taken away while it goes on, and "
        "has no end (default 1; device mode)");
    add("--stream-rate", record.stream_rate, "SIZE",
        "with several buffers: bytes a second that an engine writes at most");
    add("--on-full", record.on_full, "WHAT",
        "several buffers, when the hardware had no room left: restart the trace; end the run, and "
        "leave the trace unit alone; chip: what is safe on it (default: gfx9 hardware ends, the "
        "software GPU restarts)");
    add("--contexts", record.contexts, "N", "number of trace contexts, 1..100000");
    add("--sweep", record.sweep, "se,cu,simd", "one context for each of what is listed");
    add("--window", record.window, "N", "dispatches before the next context's turn (default 2)");
    add("--kernel", record.kernel, "REGEX", "trace only kernels whose name has a match");
    add("--kernel-exclude", record.kernel_exclude, "REGEX", "and not those with this match");
    add("--packets", record.packets, "WHOSE",
        "who makes the packets that start and stop traces: wavetap (default), or aqlprofile for "
        "AMD's library");
    command.flag("--every-launch", record.every_launch,
                 "dispatch mode: trace each matching launch, not only a kernel's first one");
    command.flag("--serialize-all", record.serialize_all,
                 "dispatch mode: dispatches that are not traced run one at a time, too");
    command.flag("--stream-engines", record.stream_engines,
                 "several buffers: all engines of --se at once (silicon has not confirmed it)");
    command.flag("--no-detail", record.no_detail, "waves only, no instructions");
    command.option(
        "--perf-counter", record.perf_counters,
        "gfx9: sample a performance counter of the SQ on every CU, by name or number, e.g. "
        "SQ_WAVES or SQ_INSTS_VALU:0x3 (mask of SIMDs); a list, up to 8",
        "NAME,...");
    add("--perf-period", record.perf_period, "N",
        "time between samples, relative, 1..32 (default 10)");
    add("--perf-exclude", record.perf_exclude, "MASK", "CUs that are not sampled, bit i = CU i");
}

} // namespace

void add_record(CLI::App& app, Session& session) {
    Command command(app, "record", "run a program and trace its kernels");
    const auto options = std::make_shared<Options>();
    command.option("--gpu", options->gpu, "software GPU (default: the GPU of this machine)",
                   "soft:CHIP[,CHIP...]");
    add_trace_options(command, options->record);
    command.flag("--truth", options->truth,
                 "also keep what really ran, for `wavetap verify` (software GPU)");
    command.option("-o", options->dir, "trace folder (default wavetap-APP-N)", "DIR");
    command.flag("--force", options->force, "replace the trace in an existing folder");
    command.flag("--dry-run", options->dry_run, "print the contexts, run nothing");
    command.flag("--allow-empty", options->allow_empty,
                 "a trace in which nothing was captured is a success");
    command.json_option(options->json);
    command.footer(kFooter);
    command.callback([options, &session] { session.status = record(*options, session.program); });
}

} // namespace wavetap::cli
