// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/c_api.hpp"
#include "rocr/agents.hpp"
#include "rocr/rocr_backend.hpp"

#include <exception>
#include <new>
#include <vector>

using namespace wavetap;

namespace {

/// One hub for each agent of the table.
Result<std::vector<std::unique_ptr<capture::AgentHub>>> make_hubs(void* table, const Clock& clock) {
    if (table == nullptr)
        return Error{ErrorCode::kInvalidArgument, "api_table is null", "",
                     "hand over the first argument of the tool's OnLoad"};
    WAVETAP_TRY(const rocr::HsaTable known, rocr::HsaTable::open(table));
    WAVETAP_TRY(const auto agents, rocr::find_gpu_agents(known.functions()));
    std::vector<std::unique_ptr<capture::AgentHub>> hubs;
    for (const rocr::GpuAgent& agent : agents) {
        capture::AgentHub::Options options;
        options.engine.topology = agent.topology;
        hubs.push_back(std::make_unique<capture::AgentHub>(
            std::make_unique<rocr::RocrBackend>(known.functions(), agent,
                                                std::make_shared<rocr::RuntimeGate>()),
            options, clock));
    }
    return hubs;
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
    return capture::wrap_session(std::move(clock), std::move(session));
}

/// Runs `call`, which returns Result<void>; nothing passes the boundary but a status.
template <class Call> wavetap_status guarded(Call call) noexcept {
    try {
        const Result<void> done = call();
        return done ? WAVETAP_STATUS_SUCCESS : capture::report(done.error());
    } catch (const std::bad_alloc&) {
        return capture::report({ErrorCode::kLimit, "out of host memory", "", ""});
    } catch (const std::exception& exception) {
        return capture::report({ErrorCode::kInternal, exception.what(), "", ""});
    }
}

} // namespace

extern "C" wavetap_status wavetap_session_open_hsa(void* api_table, double deadline_scale,
                                                   wavetap_session** session) {
    return guarded([&]() -> Result<void> {
        if (session == nullptr)
            return Error{ErrorCode::kInvalidArgument, "session is null", "", ""};
        WAVETAP_TRY(*session, open_hsa(api_table, deadline_scale));
        return {};
    });
}

extern "C" wavetap_status wavetap_session_attach_hsa(wavetap_session* session, void* api_table) {
    return guarded([&]() -> Result<void> {
        if (session == nullptr)
            return Error{ErrorCode::kInvalidArgument, "session is null", "", ""};
        WAVETAP_TRY(auto hubs, make_hubs(api_table, capture::clock_of(session)));
        return capture::attach_hubs(session, std::move(hubs));
    });
}
