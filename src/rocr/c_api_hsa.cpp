// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/c_api.hpp"
#include "rocr/agents.hpp"
#include "rocr/rocr_backend.hpp"

#include <new>

using namespace wavetap;

namespace {

Result<wavetap_session*> open_hsa(void* table, double deadline_scale) {
    if (!(deadline_scale > 0))
        return Error{ErrorCode::kInvalidArgument, "deadline_scale is not above 0", "", ""};
    WAVETAP_TRY(const rocr::HsaTable known, rocr::HsaTable::open(table));
    WAVETAP_TRY(const auto agents, rocr::find_gpu_agents(known.functions()));
    auto clock = std::make_unique<SteadyClock>(deadline_scale);
    auto session = std::make_unique<capture::Session>();
    for (const rocr::GpuAgent& agent : agents) {
        capture::AgentHub::Options options;
        options.engine.topology = agent.topology;
        session->add_agent(std::make_unique<capture::AgentHub>(
            std::make_unique<rocr::RocrBackend>(known.functions(), agent), options, *clock));
    }
    return capture::wrap_session(std::move(clock), std::move(session));
}

} // namespace

extern "C" wavetap_status wavetap_session_open_hsa(void* api_table, double deadline_scale,
                                                   wavetap_session** session) {
    try {
        if (session == nullptr)
            return capture::report({ErrorCode::kInvalidArgument, "session is null", "", ""});
        if (api_table == nullptr)
            return capture::report({ErrorCode::kInvalidArgument, "api_table is null", "",
                                    "hand over the first argument of the tool's OnLoad"});
        auto opened = open_hsa(api_table, deadline_scale);
        if (!opened) return capture::report(opened.error());
        *session = *opened;
        return WAVETAP_STATUS_SUCCESS;
    } catch (const std::bad_alloc&) {
        return capture::report({ErrorCode::kLimit, "out of host memory", "", ""});
    }
}
