// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/clock.hpp"
#include "cli/gpu.hpp"
#include "cli/options.hpp"
#include "cli/probe.hpp"
#include "cli/process.hpp"
#include "pm4/thread_trace.hpp"

#include <dlfcn.h>
#include <fmt/core.h>
#include <llvm-c/Core.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace wavetap::cli {

namespace {

using nlohmann::ordered_json;

constexpr const char* kFooter = R"(Examples:
  wavetap doctor
  wavetap doctor --json=doctor.json
Exit code 1 if something that recording needs is missing; each such line names the command that
mends it.)";
constexpr const char* kSoftwareGpu = "soft:gfx90a";
/// Of every agent: what doctor sees, it sees through the runtime, and so does record.
constexpr const char* kBackend = "rocr";

/// Whose packets record takes, unless asked for AMD's.
const char* packets_of(const ProbedAgent& agent) {
    return pm4::generation_of(agent.name) != pm4::Generation::kUnknown ? "own" : "none";
}

/// One line of the answer. "ok", "missing" (needed), "absent" (of use, not needed), "info".
struct Check {
    std::string name;
    std::string status;
    std::string detail;
    std::string fix;
};

struct Findings {
    std::vector<Check> checks;
    std::vector<std::pair<std::string, ProbedAgent>> agents; ///< with "hardware" or "soft:…"
    bool good() const {
        for (const Check& check : checks) {
            if (check.status == "missing") return false;
        }
        return true;
    }
};

/// " (Debian PACKAGE VERSION)", or "" where dpkg does not know it.
std::string package_words(const std::string& package) {
    const SteadyClock clock;
    const auto answer = run_captured({"dpkg-query", "-W", "-f", "${Version}", package}, {}, clock,
                                     std::chrono::seconds(20));
    if (!answer || answer->status != 0 || answer->out.empty()) return "";
    return " (Debian " + package + " " + answer->out + ")";
}

Check runtime_check(const Result<ProbedRuntime>& runtime) {
    constexpr const char* kName = "HSA runtime";
    if (runtime) return {kName, "ok", runtime->library + package_words("libhsa-runtime64-1"), ""};
    if (runtime.error().code == ErrorCode::kNotFound)
        return {kName, "missing", runtime.error().message, "apt-get install libhsa-runtime64-1"};
    return {kName, "missing", to_string(runtime.error()),
            "apt-get install --reinstall libhsa-runtime64-1"};
}

Check hip_check() {
    constexpr const char* kLibrary = "libamdhip64.so.5";
    for (const char* folder : {"/usr/lib/x86_64-linux-gnu/", "/opt/rocm/lib/"}) {
        std::error_code code;
        const std::string path = std::string(folder) + kLibrary;
        if (std::filesystem::exists(path, code))
            return {"HIP runtime", "ok", path + package_words("libamdhip64-5"), ""};
    }
    return {"HIP runtime", "absent", std::string(kLibrary) + ": only HIP programs need it",
            "apt-get install libamdhip64-5"};
}

Check driver_check(const Result<ProbedRuntime>& runtime) {
    constexpr const char* kName = "kernel driver";
    if (!has_kernel_driver())
        return {kName, "absent", "there is no /dev/kfd: no AMD GPU can be used here",
                std::string("--gpu ") + kSoftwareGpu + " works without one"};
    if (::access("/dev/kfd", R_OK | W_OK) != 0)
        return {kName, "absent", "/dev/kfd is there, but this user may not open it",
                "usermod -a -G render,video $USER, and log in again"};
    if (runtime && !runtime->init_failure.empty())
        return {kName, "absent", "/dev/kfd is there, but " + runtime->init_failure,
                "dmesg | grep -i -e amdgpu -e kfd"};
    return {kName, "ok", "/dev/kfd", ""};
}

Check library_check(const char* name, const char* file) {
    const Result<std::string> path = find_library(file);
    if (path) return {name, "ok", *path, ""};
    return {name, "missing", to_string(path.error()), path.error().hint};
}

// Recording and reading do without it.
Check drop_in_check() {
    Check check = library_check("drop-in", "wavetap/compat/librocprof-trace-decoder.so");
    if (check.status == "missing") check.status = "absent";
    return check;
}

void probe_software_gpu(Findings& findings) {
    Check check = library_check("software GPU", kSoftwareGpuLibrary);
    if (check.status == "ok") {
        const Result<SoftwareGpu> gpu = parse_gpu(kSoftwareGpu);
        const Result<Variables> variables =
            gpu ? software_gpu_variables(*gpu) : Result<Variables>(gpu.error());
        const Result<ProbedRuntime> runtime =
            variables ? probe_runtime(*variables) : Result<ProbedRuntime>(variables.error());
        if (!runtime) {
            check = {check.name, "missing", to_string(runtime.error()),
                     "see the line of the HSA runtime"};
        } else if (runtime->agents.empty()) {
            const std::string why =
                runtime->init_failure.empty() ? "" : ": " + runtime->init_failure;
            check = {check.name, "missing",
                     "the runtime does not see it" + why + " (" + check.detail + ")",
                     "build or install wavetap whole: `./dev build release`, or `cmake --install`"};
        } else {
            check.detail = std::string(kSoftwareGpu) + ", " + check.detail;
            for (const ProbedAgent& agent : runtime->agents)
                findings.agents.emplace_back(kSoftwareGpu, agent);
        }
    }
    findings.checks.push_back(std::move(check));
}

std::string limit_text(int resource) {
    struct rlimit limit = {};
    if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return "unknown";
    return limit.rlim_cur == RLIM_INFINITY ? "no limit" : std::to_string(limit.rlim_cur);
}

Findings examine() {
    Findings findings;
    findings.checks.push_back({"wavetap", "ok", WAVETAP_VERSION, ""});
    const Result<ProbedRuntime> runtime = probe_runtime({});
    findings.checks.push_back(runtime_check(runtime));
    if (runtime) {
        for (const ProbedAgent& agent : runtime->agents)
            findings.agents.emplace_back("hardware", agent);
    }
    findings.checks.push_back(hip_check());
    findings.checks.push_back(driver_check(runtime));
    probe_software_gpu(findings);
    findings.checks.push_back(library_check("trace tool", kToolLibrary));
    unsigned version[3] = {};
    LLVMGetVersion(&version[0], &version[1], &version[2]);
    findings.checks.push_back({"disassembler", "ok",
                               fmt::format("LLVM {}.{}.{}", version[0], version[1], version[2]),
                               ""});
    findings.checks.push_back({"decoder", "ok", "gfx9, gfx10, gfx11, gfx12, gfx1250", ""});
    findings.checks.push_back(drop_in_check());
    findings.checks.push_back(
        {"limits", "info",
         fmt::format("open files {}, locked bytes {}, processes {}", limit_text(RLIMIT_NOFILE),
                     limit_text(RLIMIT_MEMLOCK), limit_text(RLIMIT_NPROC)),
         ""});
    return findings;
}

void print_text(const Findings& findings) {
    for (const Check& check : findings.checks) {
        fmt::print("{:<8} {:<14} {}\n", check.status, check.name, check.detail);
        if (!check.fix.empty()) fmt::print("{:<8} {:<14} -> {}\n", "", "", check.fix);
    }
    for (const auto& [source, agent] : findings.agents)
        fmt::print("{:<8} {:<14} {} ({}): {} compute units, {} shader engines, {} SIMDs a unit, at "
                   "most {} queues; backend {}, packets {}\n",
                   "info", "agent", agent.name, source, agent.compute_units, agent.shader_engines,
                   agent.simds_per_cu, agent.queues_max, kBackend, packets_of(agent));
    if (findings.agents.empty()) fmt::print("{:<8} {:<14} none\n", "info", "agent");
    fmt::print("\n{}\n", findings.good() ? "ready: wavetap record --gpu soft:gfx90a -- APP"
                                         : "something that recording needs is missing");
}

std::string json_text(const Findings& findings) {
    ordered_json checks = ordered_json::array();
    for (const Check& check : findings.checks)
        checks.push_back({{"name", check.name},
                          {"status", check.status},
                          {"detail", check.detail},
                          {"fix", check.fix}});
    ordered_json agents = ordered_json::array();
    for (const auto& [source, agent] : findings.agents)
        agents.push_back({{"name", agent.name},
                          {"source", source},
                          {"compute_units", agent.compute_units},
                          {"shader_engines", agent.shader_engines},
                          {"simds_per_cu", agent.simds_per_cu},
                          {"queues_max", agent.queues_max},
                          {"backend", kBackend},
                          {"packets", packets_of(agent)}});
    const ordered_json object = {{"format", "wavetap-doctor"},
                                 {"version", 1},
                                 {"good", findings.good()},
                                 {"checks", std::move(checks)},
                                 {"agents", std::move(agents)}};
    return object.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

int doctor(const JsonOption& json) {
    const Findings findings = examine();
    if (!json.on_stdout()) print_text(findings);
    if (json.wanted()) {
        if (const Result<void> written = write_json(json, json_text(findings)); !written)
            return fail(written.error(), kUsage);
    }
    return findings.good() ? kGood : kNo;
}

} // namespace

void add_doctor(CLI::App& app, Session& session) {
    Command command(app, "doctor", "show what is here, what is missing and how to mend it");
    const auto json = std::make_shared<JsonOption>();
    command.json_option(*json);
    command.footer(kFooter);
    command.callback([json, &session] { session.status = doctor(*json); });
}

} // namespace wavetap::cli
