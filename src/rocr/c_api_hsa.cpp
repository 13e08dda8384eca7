// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/c_api.hpp"
#include "rocr/agents.hpp"
#include "rocr/interception.hpp"
#include "rocr/rocr_backend.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

using namespace wavetap;

namespace {

using Hubs = std::vector<std::unique_ptr<capture::AgentHub>>;

/// A session that waits for ROCr to load this library as a tool; in a forked child it may be the
/// parent's, which is none here.
struct Waiting {
    Mutex mutex;
    wavetap_session* session WAVETAP_GUARDED_BY(mutex) = nullptr;
    wavetap_intercept_options options WAVETAP_GUARDED_BY(mutex){};
};

Waiting& waiting() {
    static auto* waiting = new Waiting; // ROCr may come after static objects have gone
    return *waiting;
}

Hubs make_hubs(const rocr::HsaFunctions& hsa, const std::vector<rocr::GpuAgent>& agents,
               const Clock& clock) {
    Hubs hubs;
    for (const rocr::GpuAgent& agent : agents) {
        capture::AgentHub::Options options;
        options.engine.topology = agent.topology;
        hubs.push_back(std::make_unique<capture::AgentHub>(
            std::make_unique<rocr::RocrBackend>(hsa, agent, std::make_shared<rocr::RuntimeGate>()),
            options, clock));
    }
    return hubs;
}

/// One hub for each agent of the table.
Result<Hubs> make_hubs(void* table, const Clock& clock) {
    if (table == nullptr)
        return Error{ErrorCode::kInvalidArgument, "api_table is null", "",
                     "hand over the first argument of the tool's OnLoad"};
    // Its functions are those of the runtime; in the table stand ours.
    if (const auto* seen = rocr::Interception::existing())
        return make_hubs(seen->functions(), seen->agents(), clock);
    WAVETAP_TRY(const rocr::HsaTable known, rocr::HsaTable::open(table));
    WAVETAP_TRY(const auto agents, rocr::find_gpu_agents(known.functions()));
    return make_hubs(known.functions(), agents, clock);
}

Result<wavetap_session*> open_hsa(void* table, double deadline_scale) {
    if (!(deadline_scale > 0))
        return Error{ErrorCode::kInvalidArgument, "deadline_scale is not above 0", "", ""};
    auto clock = std::make_unique<SteadyClock>(deadline_scale);
    WAVETAP_TRY(auto hubs, make_hubs(table, *clock));
    auto session = std::make_unique<capture::Session>();
    for (auto& hub : hubs)
        session->add_agent(std::move(hub));
    (void)session->attach();
    return capture::wrap_session(std::move(clock), std::move(session), deadline_scale);
}

Error null_session() {
    return Error{ErrorCode::kInvalidArgument, "session is null", "", ""};
}

Result<wavetap_intercept_options> options_of(const wavetap_intercept_options* given) {
    wavetap_intercept_options known{};
    known.size = sizeof known;
    if (given == nullptr) return known;
    WAVETAP_CHECK_OK(copy_in(known, *given, "wavetap_intercept_options",
                             "set it to sizeof(wavetap_intercept_options)"));
    return known;
}

rocr::CodeObjectHandler code_object_handler(const wavetap_intercept_options& options) {
    if (options.code_object == nullptr) return {};
    return [options](const rocr::CodeObjectEvent& event) {
        wavetap_code_object out{};
        out.size = sizeof out;
        out.agent = event.agent;
        out.unloaded = event.object == nullptr ? 1 : 0;
        out.id = event.id;
        out.uri = "";
        if (event.object != nullptr) {
            out.load_address = event.object->load_delta;
            out.bytes = event.object->load_bytes;
            out.uri = event.object->uri.c_str();
            out.elf_bytes = event.object->elf.size();
            if (out.elf_bytes != 0) out.elf = event.object->elf.data();
        }
        try {
            options.code_object(&out, options.user);
        } catch (...) { // of a client that does not keep to its word
            return;
        }
    };
}

/// Hands what `seen` sees to the session, which may have no agents yet.
Result<void> bind(wavetap_session* session, rocr::Interception& seen,
                  const wavetap_intercept_options& options) {
    capture::Session& inner = capture::session_of(session);
    const bool attached = inner.agents() != 0;
    if (!seen.in_own_process())
        return Error{ErrorCode::kUnavailable,
                     "ROCr was started before the fork, and makes no queues in this child", "",
                     "fork first, or start another program (exec) in the child"};
    if (!seen.free())
        return Error{ErrorCode::kWrongState, "another session has the dispatches of this process",
                     "", "one session in a process can have them"};
    if (!attached)
        for (auto& hub : make_hubs(seen.functions(), seen.agents(), capture::clock_of(session)))
            inner.add_agent(std::move(hub));
    WAVETAP_CHECK_OK(seen.bind(inner, code_object_handler(options)));
    return attached ? Result<void>() : capture::start_pending(session);
}

Result<void> intercept_table(wavetap_session* session, void* table,
                             const wavetap_intercept_options& options) {
    if (table == nullptr)
        return Error{ErrorCode::kInvalidArgument, "api_table is null", "",
                     "hand over the first argument of the tool's OnLoad"};
    WAVETAP_TRY(rocr::Interception * seen,
                rocr::Interception::install(table, capture::deadline_scale_of(session)));
    return bind(session, *seen, options);
}

/// ROCr is in this process and was started.
bool runtime_is_up() {
    void* library = dlopen("libhsa-runtime64.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) return false;
    const auto info =
        reinterpret_cast<decltype(&hsa_system_get_info)>(dlsym(library, "hsa_system_get_info"));
    std::uint16_t version = 0;
    const bool up = info != nullptr && info(HSA_SYSTEM_INFO_VERSION_MAJOR, &version) !=
                                           HSA_STATUS_ERROR_NOT_INITIALIZED;
    dlclose(library);
    return up;
}

/// Makes hsa_init load this library as a tool, before others.
Result<void> name_as_tool() {
    constexpr const char* kVariable = "HSA_TOOLS_LIB";
    Dl_info here{};
    if (dladdr(reinterpret_cast<void*>(&wavetap_session_intercept), &here) == 0 ||
        here.dli_fname == nullptr)
        return Error{ErrorCode::kUnavailable, "libwavetap.so does not know its own path", "",
                     "set HSA_TOOLS_LIB to it"};
    std::string tools = here.dli_fname;
    if (tools.find(' ') != std::string::npos) tools = '"' + tools + '"';
    if (const char* others = std::getenv(kVariable); others != nullptr && *others != 0) {
        if (std::strstr(others, here.dli_fname) != nullptr) return {};
        tools += std::string(" ") + others;
    }
    if (setenv(kVariable, tools.c_str(), 1) != 0)
        return Error{ErrorCode::kLimit, "no memory for the environment", kVariable, ""};
    return {};
}

void stop_waiting(wavetap_session* session) {
    MutexLock lock(waiting().mutex);
    if (waiting().session == session) waiting().session = nullptr;
}

Result<void> wait_for_runtime(wavetap_session* session, const wavetap_intercept_options& options) {
    if (runtime_is_up())
        return Error{ErrorCode::kUnavailable,
                     "ROCr is up and did not load wavetap as a tool, so queues cannot be watched",
                     "",
                     "call it before the first call of HIP or hsa_init, or set "
                     "HSA_TOOLS_LIB=libwavetap.so"};
    if (capture::session_of(session).agents() != 0)
        return Error{ErrorCode::kWrongState, "the session has its agents already", "", ""};
    {
        MutexLock lock(waiting().mutex);
        if (waiting().session != nullptr && capture::check_session(waiting().session))
            return Error{ErrorCode::kWrongState, "another session waits for the dispatches", "",
                         "one session in a process can have them"};
        waiting().session = session;
        waiting().options = options;
    }
    capture::set_close_hook(session, stop_waiting);
    auto named = name_as_tool();
    if (!named) stop_waiting(session);
    return named;
}

void finalize() {
    if (auto* seen = rocr::Interception::existing()) seen->finalize();
}

/// ROCr has loaded this library as a tool.
void load(void* table) {
    if (rocr::Interception::existing() != nullptr) return; // hsa_init after hsa_shut_down
    wavetap_session* session = nullptr;
    wavetap_intercept_options options{};
    {
        MutexLock lock(waiting().mutex);
        session = std::exchange(waiting().session, nullptr);
        options = waiting().options;
    }
    if (session != nullptr && !capture::check_session(session)) session = nullptr;
    const double scale = session != nullptr ? capture::deadline_scale_of(session) : 1.0;
    const auto seen = rocr::Interception::install(table, scale);
    if (seen) std::atexit(finalize); // HIP never shuts ROCr down
    if (session == nullptr) return;
    Result<void> bound = seen ? bind(session, **seen, options) : Result<void>(seen.error());
    // What a pending context met is its own affair.
    if (!bound && capture::session_of(session).agents() == 0)
        capture::fail_attach(session, bound.error());
}

} // namespace

extern "C" wavetap_status wavetap_session_open_hsa(void* api_table, double deadline_scale,
                                                   wavetap_session** session) {
    return capture::guarded([&]() -> Result<void> {
        if (session == nullptr) return null_session();
        WAVETAP_TRY(*session, open_hsa(api_table, deadline_scale));
        return {};
    });
}

extern "C" wavetap_status wavetap_session_attach_hsa(wavetap_session* session, void* api_table) {
    return capture::guarded([&]() -> Result<void> {
        WAVETAP_CHECK_OK(capture::check_session(session));
        WAVETAP_TRY(auto hubs, make_hubs(api_table, capture::clock_of(session)));
        return capture::attach_hubs(session, std::move(hubs));
    });
}

extern "C" wavetap_status wavetap_session_intercept_hsa(wavetap_session* session, void* api_table,
                                                        const wavetap_intercept_options* options) {
    return capture::guarded([&]() -> Result<void> {
        WAVETAP_CHECK_OK(capture::check_session(session));
        WAVETAP_TRY(const auto known, options_of(options));
        return intercept_table(session, api_table, known);
    });
}

extern "C" wavetap_status wavetap_session_intercept(wavetap_session* session,
                                                    const wavetap_intercept_options* options) {
    return capture::guarded([&]() -> Result<void> {
        WAVETAP_CHECK_OK(capture::check_session(session));
        WAVETAP_TRY(const auto known, options_of(options));
        if (auto* seen = rocr::Interception::existing()) return bind(session, *seen, known);
        return wait_for_runtime(session, known);
    });
}

// What ROCr looks for in a library that HSA_TOOLS_LIB names.

extern "C" WAVETAP_API bool OnLoad(void* table, std::uint64_t, std::uint64_t, const char* const*) {
    (void)capture::guarded([&]() -> Result<void> {
        load(table);
        return {};
    });
    return true; // the session has the error
}

extern "C" WAVETAP_API void OnUnload() {
    finalize();
}
