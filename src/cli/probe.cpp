// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/probe.hpp"

#include "aqlprofile/library.hpp"
#include "base/clock.hpp"
#include "cli/options.hpp"
#include "cli/process.hpp"

#include <dlfcn.h>
#include <fmt/core.h>
#include <link.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <memory>

namespace wavetap::cli {

namespace {

using nlohmann::json;

constexpr const char* kProbeCommand = "probe-runtime";
constexpr const char* kAqlprofileCommand = "probe-aqlprofile";
constexpr const char* kProbeMark = "wavetap-probe: ";
constexpr const char* kRuntime = "libhsa-runtime64.so.1";
constexpr std::chrono::seconds kLimit{60};

// The few pieces of the HSA interface (1.1, binary stable) that the question needs. An agent handle
// is a structure of one 64-bit word.
struct Agent {
    std::uint64_t handle;
};
enum : int {
    kAgentName = 0,
    kAgentQueuesMax = 12,
    kAgentDevice = 17,
    kAgentComputeUnits = 0xA002,
    kAgentSimdsPerCu = 0xA00B,
    kAgentShaderEngines = 0xA00C,
    kDeviceGpu = 1,
};

struct Hsa {
    int (*init)() = nullptr;
    int (*shut_down)() = nullptr;
    int (*iterate_agents)(int (*)(Agent, void*), void*) = nullptr;
    int (*agent_info)(Agent, int, void*) = nullptr;
};

template <class Function> bool find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    return function != nullptr;
}

bool load(void* library, Hsa& hsa) {
    return find(library, "hsa_init", hsa.init) && find(library, "hsa_shut_down", hsa.shut_down) &&
           find(library, "hsa_iterate_agents", hsa.iterate_agents) &&
           find(library, "hsa_agent_get_info", hsa.agent_info);
}

struct Walk {
    const Hsa* hsa;
    json agents = json::array();
};

int visit(Agent agent, void* data) {
    Walk& walk = *static_cast<Walk*>(data);
    int device = 0;
    walk.hsa->agent_info(agent, kAgentDevice, &device);
    if (device != kDeviceGpu) return 0;
    const auto number = [&](int attribute) {
        std::uint32_t value = 0;
        walk.hsa->agent_info(agent, attribute, &value);
        return value;
    };
    char name[64] = {};
    walk.hsa->agent_info(agent, kAgentName, name);
    walk.agents.push_back({{"name", name},
                           {"compute_units", number(kAgentComputeUnits)},
                           {"shader_engines", number(kAgentShaderEngines)},
                           {"simds_per_cu", number(kAgentSimdsPerCu)},
                           {"queues_max", number(kAgentQueuesMax)}});
    return 0;
}

std::string path_of(void* library) {
    struct link_map* map = nullptr;
    if (::dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return kRuntime;
    std::error_code code;
    const auto path = std::filesystem::canonical(map->l_name, code);
    return code ? map->l_name : path.string();
}

json answer() {
    void* library = ::dlopen(kRuntime, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return {{"missing", ::dlerror()}};
    Hsa hsa;
    json result = {{"library", path_of(library)}};
    if (!load(library, hsa)) return {{"missing", "the library lacks functions of HSA 1.1"}};
    if (const int status = hsa.init(); status != 0) {
        result["init_failure"] = fmt::format("hsa_init returned {:#x}", status);
        return result;
    }
    Walk walk{&hsa, json::array()};
    hsa.iterate_agents(visit, &walk);
    result["agents"] = std::move(walk.agents);
    hsa.shut_down();
    return result;
}

json aqlprofile_answer(const std::string& name) {
    const auto library = aqlprofile::Library::open(name);
    if (!library) {
        const Error& error = library.error();
        return {{"message", error.message}, {"where", error.where}, {"hint", error.hint}};
    }
    const aqlprofile::Version& version = (*library)->version;
    return {{"library", (*library)->path},
            {"version", fmt::format("{}.{}.{}", version.major, version.minor, version.patch)},
            {"rings", (*library)->has_rings()}};
}

/// What the child wrote behind the mark; the libraries may print lines of their own before.
json answer_of(const Captured& child) {
    const std::size_t begin = child.out.rfind(kProbeMark);
    if (begin == std::string::npos) return {};
    return json::parse(child.out.substr(begin + std::string(kProbeMark).size()), nullptr, false);
}

/// The child is this program, so that its answer has the fields that answer() writes.
ProbedRuntime runtime_of(const json& object) {
    ProbedRuntime runtime;
    runtime.library = object.value("library", "");
    runtime.init_failure = object.value("init_failure", "");
    for (const json& agent : object.value("agents", json::array()))
        runtime.agents.push_back({agent.value("name", ""), agent.value("compute_units", 0u),
                                  agent.value("shader_engines", 0u),
                                  agent.value("simds_per_cu", 0u), agent.value("queues_max", 0u)});
    return runtime;
}

} // namespace

Result<ProbedRuntime> probe_runtime(const Variables& variables) {
    const SteadyClock clock;
    WAVETAP_TRY(const Captured child,
                run_captured({"/proc/self/exe", kProbeCommand}, variables, clock, kLimit));
    const json object = answer_of(child);
    if (child.status != 0 || !object.is_object())
        return Error{ErrorCode::kUnavailable,
                     "the HSA runtime ended the program with status " +
                         std::to_string(child.status),
                     kRuntime, ""};
    if (object.contains("missing"))
        return Error{ErrorCode::kNotFound, object.value("missing", ""), kRuntime, ""};
    return runtime_of(object);
}

Result<ProbedAqlprofile> probe_aqlprofile(const std::string& library) {
    const SteadyClock clock;
    WAVETAP_TRY(const Captured child,
                run_captured({"/proc/self/exe", kAqlprofileCommand, library}, {}, clock, kLimit));
    const json object = answer_of(child);
    if (child.status != 0 || !object.is_object())
        return Error{ErrorCode::kUnavailable,
                     "aqlprofile ended the program with status " + std::to_string(child.status),
                     library.empty() ? "libhsa-amd-aqlprofile64.so" : library,
                     "leave out --packets aqlprofile: wavetap makes its own packets"};
    if (object.contains("message"))
        return Error{ErrorCode::kUnsupported, object.value("message", ""),
                     object.value("where", ""), object.value("hint", "")};
    return ProbedAqlprofile{object.value("library", ""), object.value("version", ""),
                            object.value("rings", false)};
}

void add_probe(CLI::App& app, Session& session) {
    const auto name = std::make_shared<std::string>();
    Command aqlprofile(app, kAqlprofileCommand, "asked by record");
    aqlprofile.hide();
    aqlprofile.option("library", *name, "path or name");
    aqlprofile.callback([name, &session] {
        fmt::print("{}{}\n", kProbeMark, aqlprofile_answer(*name).dump());
        session.status = kGood;
    });
    Command command(app, kProbeCommand, "asked by doctor");
    command.hide();
    command.callback([&session] {
        fmt::print("{}{}\n", kProbeMark, answer().dump());
        session.status = kGood;
    });
}

} // namespace wavetap::cli
