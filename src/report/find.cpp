// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "report/health.hpp"
#include "report/hot_spots.hpp"
#include "report/timing.hpp"

#include <set>
#include <utility>

namespace wavetap::report {
namespace {

/// Engines that a run was asked to record and that delivered no chunk.
void add_silent_engines(const store::ProcessTrace& process, Health& health) {
    for (const store::Run& run : process.runs) {
        for (const store::ContextInfo& context : process.contexts) {
            if (context.id != run.info.context) continue;
            std::uint64_t silent = context.se_mask;
            for (const store::ChunkInfo& chunk : run.chunks)
                if (chunk.se < 64) silent &= ~(std::uint64_t{1} << chunk.se);
            for (std::uint32_t se = 0; se < 64; ++se) {
                if ((silent >> se & 1) == 0) continue;
                EngineHealth engine;
                engine.dir = process.dir;
                engine.context = context.id;
                engine.run = run.info.id;
                engine.agent = context.agent;
                engine.se = se;
                engine.cu = context.cu;
                engine.simd_mask = context.simd_mask;
                engine.detail = context.detail;
                engine.stop = run.complete ? StopReason::kNothing : StopReason::kKilled;
                engine.advice.push_back(
                    run.complete ? "This engine delivered nothing; `wavetap doctor` tells whether "
                                   "it exists."
                                 : "The program ended before this run delivered anything.");
                health.engines.push_back(std::move(engine));
            }
        }
    }
}

void add_idle_contexts(const store::ProcessTrace& process, Health& health) {
    for (const store::ContextInfo& context : process.contexts) {
        bool ran = false;
        for (const store::Run& run : process.runs)
            ran |= run.info.context == context.id;
        if (!ran)
            health.problems.push_back("process " + std::to_string(process.pid) + ": context " +
                                      std::to_string(context.id) +
                                      " never ran: the program launched too few kernels for it");
    }
}

} // namespace

Result<HotSpots> find_hot_spots(const std::vector<store::TraceFolder>& folders, CodeTable& code,
                                unsigned threads, std::size_t most_waves) {
    HotSpotBuilder builder(code, most_waves);
    for (const store::TraceFolder& folder : folders) {
        builder.add_folder(folder);
        WAVETAP_CHECK_OK(visit_waves(
            folder, code, [&](const Blob& blob) { builder.add_waves(blob); },
            [&](const Blob& blob) { builder.add(blob); }, threads));
    }
    return builder.finish();
}

Result<Health> find_health(const std::vector<store::TraceFolder>& folders, CodeTable& code,
                           unsigned threads) {
    Health health;
    std::set<std::string> timings;
    for (const store::TraceFolder& folder : folders) {
        health.dirs.push_back(folder.dir);
        const auto at_end = [&](const Blob& blob) {
            if (blob.segment == 0)
                health.engines.push_back(judge(blob));
            else
                add_segment(health.engines.back(), judge(blob));
        };
        WAVETAP_CHECK_OK(visit_waves(folder, code, {}, at_end, threads));
        for (const store::ProcessTrace& process : folder.processes) {
            for (const store::AgentInfo& agent : process.agents)
                timings.insert(agent.timing);
            add_silent_engines(process, health);
            add_idle_contexts(process, health);
            for (std::string& problem : process_problems(process))
                health.problems.push_back(std::move(problem));
        }
    }
    for (const std::string& problem : code.problems())
        health.problems.push_back(problem);
    health.timing = timing_word(timings);
    if (health.engines.empty())
        health.problems.push_back("nothing was recorded: no run of any context");
    health.good = health.problems.empty();
    for (const EngineHealth& engine : health.engines)
        health.good = health.good && engine.good();
    return health;
}

} // namespace wavetap::report
