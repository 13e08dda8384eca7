// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "tool/recorder.hpp"

#include "aqlprofile/packets.hpp"
#include "pm4/perf_counters.hpp"
#include "rocr/rocr_backend.hpp"

#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace wavetap::tool {

namespace {

/// For a call of the runtime that a late hub's thread is in, whatever the scale of other limits.
constexpr auto kLastCallLimit = std::chrono::seconds(2);

std::string line_of(const Error& error) {
    std::string line = to_string(error);
    if (!error.hint.empty()) line += "; hint: " + error.hint;
    return line;
}

/// `modelled`: for the software GPU, whose trace units go on when they are started after an overflow.
std::uint64_t end_on_full(const ContextConfig& config, bool modelled) {
    using Params = capture::TraceParams;
    if (config.on_full == "end") return Params::kFullEnds;
    if (config.on_full == "restart" || modelled) return Params::kFullRestarts;
    return Params::kFullAsChip;
}

capture::TraceParams params_of(const ContextConfig& config, bool modelled) {
    capture::TraceParams params;
    params.end_on_full = end_on_full(config, modelled);
    params.se_mask = config.se_mask;
    params.target_cu = config.cu;
    params.simd_mask = config.simd_mask;
    params.buffer_bytes = config.buffer_bytes;
    params.buffers = config.buffers;
    params.detail = config.detail ? 1 : 0;
    params.several_engines = config.several_engines ? 1 : 0;
    params.stream_rate = config.stream_rate;
    params.dispatch = config.mode == "dispatch" ? 1 : 0;
    params.serialize_all = config.serialize_all ? 1 : 0;
    params.perf_period = config.perf_period;
    params.perf_exclude_mask = config.perf_exclude_mask;
    params.perf_counter_count = config.perf_counters.size();
    const std::size_t kept = std::min(config.perf_counters.size(), params.perf_counters.size());
    for (std::size_t i = 0; i < kept; ++i)
        params.perf_counters[i] = {config.perf_counters[i].id, config.perf_counters[i].simd_mask};
    return params;
}

constexpr std::size_t kHeaderChunk = 32;

void wait_for(Duration time) {
    Mutex mutex;
    CondVar never;
    MutexLock lock(mutex);
    never.wait_until(mutex, std::chrono::steady_clock::now() + time, [] { return false; });
}

} // namespace

void Recorder::Pace::delay(capture::AgentHub& hub) {
    const TimePoint now = std::chrono::steady_clock::now();
    if (++chunks == 1) first = now;
    if (chunks == 2) {
        fill = now - first;
        const Duration time = fill * static_cast<std::int64_t>(stall) / 100;
        if (stall != 0) (void)hub.post([time] { wait_for(time); });
    }
    wait_for(fill * static_cast<std::int64_t>(slowness) / 100);
}

Result<std::unique_ptr<Recorder>> Recorder::create(const ToolConfig& config,
                                                   const rocr::HsaFunctions& hsa,
                                                   const std::vector<rocr::GpuAgent>& agents,
                                                   const Clock& clock) {
    std::shared_ptr<const aqlprofile::Library> library;
    if (config.packets == "aqlprofile") {
        WAVETAP_TRY(library, aqlprofile::Library::open(config.aqlprofile_library));
    }
    WAVETAP_TRY(auto folder, store::FolderWriter::create(config.dir, static_cast<int>(::getpid())));
    std::unique_ptr<Recorder> recorder(new Recorder(std::move(folder)));
    recorder->aqlprofile_ = std::move(library);
    recorder->modelled_ = config.timing == "modelled";
    for (std::size_t i = 0; i < agents.size(); ++i) {
        const capture::AgentTopology& topology = agents[i].topology;
        store::AgentInfo info;
        info.index = static_cast<std::uint32_t>(i);
        info.name = topology.gfx;
        info.shader_engines = capture::engine_count(topology);
        info.cus_per_engine = topology.cus_per_engine;
        info.simds_per_cu = topology.simds_per_cu;
        info.compute_units = topology.compute_units;
        info.timing = config.timing;
        WAVETAP_CHECK_OK(recorder->folder_->agent(info));
        recorder->agents_.emplace_back();
        recorder->add_hub(info.index, hsa, agents[i], clock);
    }
    std::vector<std::uint32_t> hubs; // of each context
    for (const ContextConfig& context : config.contexts) {
        const bool own = !config.sharing && context.agent < agents.size();
        hubs.push_back(own ? recorder->add_hub(context.agent, hsa, agents[context.agent], clock)
                           : context.agent);
    }
    bool any = false;
    for (std::size_t i = 0; i < hubs.size(); ++i) {
        if (auto added = recorder->add_context(config.contexts[i], hubs[i]); !added)
            recorder->error(added.error());
        else
            any = true;
    }
    if (!any)
        return Error{ErrorCode::kNotFound, "no context can be traced in this process", config.dir,
                     ""};
    return recorder;
}

std::uint32_t Recorder::add_hub(std::uint32_t agent, const rocr::HsaFunctions& hsa,
                                const rocr::GpuAgent& gpu, const Clock& clock) {
    capture::AgentHub::Options options;
    options.engine.topology = gpu.topology;
    if (aqlprofile_ != nullptr)
        options.engine.packets = aqlprofile::packet_maker(aqlprofile_, gpu.agent.handle);
    options.thread_name = "wavetap-hub-" + std::to_string(agent);
    const std::uint32_t index = session_.add_agent(std::make_unique<capture::AgentHub>(
        std::make_unique<rocr::RocrBackend>(hsa, gpu, gate_), options, clock));
    agents_[agent].hubs.push_back(index);
    return index;
}

Result<void> Recorder::add_context(const ContextConfig& config, std::uint32_t hub) {
    const std::string where = "context " + std::to_string(config.id);
    if (config.agent >= agents_.size())
        return Error{ErrorCode::kNotFound,
                     "there is no GPU agent " + std::to_string(config.agent) + " in this process",
                     where, "the runtime shows " + std::to_string(agents_.size())};
    if (aqlprofile_ != nullptr && config.buffers > 1 && !aqlprofile_->has_rings())
        return aqlprofile::no_rings_error(*aqlprofile_, where);
    auto context = std::make_unique<Context>();
    context->id = config.id;
    context->agent = config.agent;
    context->recorder = this;
    context->serialize_all = config.serialize_all;
    context->pace.slowness = config.handler_slowness;
    context->pace.stall = config.hub_stall;
    WAVETAP_TRY(context->handle, session_.create());
    if (auto configured = session_.configure(context->handle, hub, params_of(config, modelled_),
                                             on_chunk, context.get());
        !configured) {
        (void)session_.destroy(context->handle);
        configured.error().where = where + ", " + configured.error().where;
        return configured;
    }
    store::ContextInfo info;
    info.id = config.id;
    info.agent = config.agent;
    info.se_mask = config.se_mask;
    info.cu = static_cast<std::uint32_t>(config.cu);
    info.simd_mask = static_cast<std::uint32_t>(config.simd_mask);
    info.buffer_bytes = config.buffer_bytes;
    info.buffers = static_cast<std::uint32_t>(config.buffers);
    info.detail = config.detail;
    info.mode = config.mode;
    info.serialize_all = config.serialize_all;
    if (config.samples_counters()) {
        info.perf_period = static_cast<std::uint32_t>(config.perf_period);
        info.perf_exclude_mask = static_cast<std::uint32_t>(config.perf_exclude_mask);
        for (const CounterConfig& counter : config.perf_counters) {
            const auto id = static_cast<std::uint32_t>(counter.id);
            info.perf_counters.push_back(
                {std::string(pm4::counter_name(session_.hub(hub).topology().gfx, id)), id,
                 static_cast<std::uint32_t>(counter.simd_mask)});
        }
    }
    WAVETAP_CHECK_OK(folder_->context(info));
    agents_[config.agent].contexts.push_back(std::move(context));
    return {};
}

std::vector<bool> Recorder::watched_agents() const {
    std::vector<bool> watched;
    for (const Agent& agent : agents_)
        watched.push_back(!agent.contexts.empty());
    return watched;
}

bool Recorder::begin_run(std::uint32_t index, std::size_t context_index,
                         std::uint64_t first_dispatch) {
    Agent& agent = agents_[index];
    Context* context = agent.contexts[context_index].get();
    if (agent.running != nullptr) {
        ++agent.refused;
        error({ErrorCode::kBusy,
               "context " + std::to_string(context->id) + " did not start: context " +
                   std::to_string(agent.running->id) + " is still running",
               "dispatch " + std::to_string(first_dispatch), ""});
        return false;
    }
    // With several buffers chunks may come before start returns.
    prepare_run(agent, context, first_dispatch);
    context->pace.chunks = 0;
    context->pace.fill = {};
    if (auto started = session_.start(context->handle); !started) {
        agent.running = nullptr;
        std::uint32_t next = agent.run.id + 1; // the number goes back unless it is too late
        next_run_.compare_exchange_strong(next, agent.run.id);
        started.error().message =
            "context " + std::to_string(context->id) + " did not start: " + started.error().message;
        error(started.error());
        return false;
    }
    write_run(agent);
    return true;
}

void Recorder::prepare_run(Agent& agent, Context* context, std::uint64_t first_dispatch) {
    agent.running = context;
    agent.run = {};
    agent.run.id = next_run_.fetch_add(1);
    agent.run.context = context->id;
    agent.run.first_dispatch = first_dispatch;
    agent.run_written = false;
}

// The line that opens the run, before its first chunk: whoever comes first.
void Recorder::write_run(Agent& agent) {
    MutexLock lock(run_mutex_);
    if (agent.run_written) return;
    agent.run_written = true;
    keep(folder_->begin_run(agent.run));
}

void Recorder::end_run(std::uint32_t index, std::uint64_t last_dispatch) {
    Agent& agent = agents_[index];
    if (agent.running == nullptr) return;
    agent.run.last_dispatch = last_dispatch;
    close_run(agent.run, session_.stop(agent.running->handle));
    agent.running = nullptr;
}

Result<capture::RunRequest> Recorder::lease_request(std::uint32_t agent, std::size_t index,
                                                    LeasedRun& run) const {
    const Context& context = *agents_[agent].contexts[index];
    WAVETAP_TRY(capture::RunRequest request, session_.request(context.handle));
    run.recorder = context.recorder;
    run.info.context = context.id;
    request.handler = on_lease_chunk;
    request.user = &run;
    return request;
}

bool Recorder::serializes_all(std::uint32_t agent, std::size_t index) const {
    const auto& contexts = agents_[agent].contexts;
    return index < contexts.size() && contexts[index]->serialize_all;
}

void Recorder::begin_lease(LeasedRun& run, std::uint64_t dispatch) {
    run.info.id = next_run_.fetch_add(1);
    run.info.first_dispatch = run.info.last_dispatch = dispatch;
    run.begun = true;
    keep(folder_->begin_run(run.info));
}

void Recorder::end_lease(LeasedRun& run, const Result<capture::RunSummary>& summary) {
    if (run.begun) close_run(run.info, summary);
}

void Recorder::close_run(store::RunInfo& run, const Result<capture::RunSummary>& summary) {
    if (summary) {
        run.start_counter = summary->start_counter;
        run.end_counter = summary->end_counter;
    } else {
        Error incomplete = summary.error();
        incomplete.message = "run " + std::to_string(run.id) + " of context " +
                             std::to_string(run.context) + " is incomplete: " + incomplete.message;
        error(incomplete);
    }
    keep(folder_->end_run(run));
}

void Recorder::on_chunk(const capture::Chunk& chunk, void* user) {
    auto* context = static_cast<Context*>(user);
    Recorder& recorder = *context->recorder;
    if (context->pace.slowness + context->pace.stall != 0 && chunk.data.size() > kHeaderChunk)
        context->pace.delay(recorder.hub(context->agent));
    Agent& agent = recorder.agents_[context->agent];
    recorder.write_run(agent);
    recorder.store_chunk(agent.run.id, chunk);
}

void Recorder::on_lease_chunk(const capture::Chunk& chunk, void* user) {
    const auto* run = static_cast<LeasedRun*>(user);
    run->recorder->store_chunk(run->info.id, chunk);
}

void Recorder::store_chunk(std::uint32_t run, const capture::Chunk& chunk) {
    store::ChunkInfo info;
    info.run = run;
    info.se = chunk.engine;
    info.capacity_bytes = chunk.capacity_bytes;
    info.gpu_full = (chunk.flags & capture::kChunkGpuBufferFull) != 0;
    info.cpu_full = (chunk.flags & capture::kChunkCpuBufferFull) != 0;
    info.end = (chunk.flags & capture::kChunkEnd) != 0;
    info.status = chunk.status;
    info.dropped = chunk.dropped;
    info.wptr = chunk.wptr;
    info.index = chunk.index;
    info.read_offset = chunk.read_offset;
    info.lost = (chunk.flags & capture::kChunkLost) != 0;
    info.halted = (chunk.flags & capture::kChunkHalted) != 0;
    keep(folder_->chunk(info, chunk.data));
    const std::string where =
        "run " + std::to_string(info.run) + ", engine " + std::to_string(info.se);
    if ((chunk.flags & capture::kChunkLost) != 0) warning("trace bytes were lost (" + where + ")");
    if ((chunk.flags & capture::kChunkWriteError) != 0)
        warning("the trace unit met an unmapped address (" + where + ")");
}

std::uint64_t Recorder::code_object_loaded(std::uint32_t agent,
                                           const rocr::LoadedCodeObject& object) {
    const std::uint64_t id = next_object_.fetch_add(1);
    store::CodeObjectInfo info;
    info.id = id;
    info.agent = agent;
    info.load_base = object.load_delta;
    info.load_bytes = object.load_bytes;
    info.uri = object.uri;
    keep(folder_->code_object(info, object.elf));
    // The marker names the same base as the folder: address - base = ELF address.
    const capture::CodeObject marker{id, object.load_delta,
                                     object.load_bytes + (object.load_base - object.load_delta)};
    for (const std::uint32_t hub : agents_[agent].hubs)
        if (auto marked = session_.hub(hub).code_object_loaded(marker); !marked)
            warning(line_of(marked.error()));
    return id;
}

void Recorder::code_object_unloaded(std::uint32_t agent, std::uint64_t id) {
    for (const std::uint32_t hub : agents_[agent].hubs)
        if (auto marked = session_.hub(hub).code_object_unloaded(id); !marked)
            warning(line_of(marked.error()));
    keep(folder_->code_object_unloaded(id));
}

std::uint64_t Recorder::dispatch(std::uint32_t agent, const std::string& kernel) {
    const std::uint64_t number = dispatches_.fetch_add(1) + 1;
    keep(folder_->dispatch({number, agent, kernel, correlation_.current()}));
    return number;
}

void Recorder::keep(Result<void> written) {
    if (written || write_failed_.exchange(true)) return;
    std::fprintf(stderr, "wavetap: error: %s\n", line_of(written.error()).c_str());
}

bool Recorder::first_time(const std::string& text) {
    constexpr std::size_t kMostTexts = 10'000;
    MutexLock lock(said_mutex_);
    return said_.size() < kMostTexts && said_.insert(text).second;
}

void Recorder::error(const Error& error) {
    if (!first_time(line_of(error))) return;
    std::fprintf(stderr, "wavetap: error: %s\n", line_of(error).c_str());
    keep(folder_->note("error", line_of(error)));
}

void Recorder::warning(const std::string& text) {
    if (first_time(text)) keep(folder_->note("warning", text));
}

capture::HubStatistics Recorder::statistics_of(const Agent& agent) {
    using Statistics = capture::HubStatistics;
    constexpr std::uint64_t Statistics::*kNumbers[] = {&Statistics::runs,
                                                       &Statistics::queues_created,
                                                       &Statistics::output_slots,
                                                       &Statistics::output_bytes,
                                                       &Statistics::staging_bytes,
                                                       &Statistics::control_bytes,
                                                       &Statistics::threads,
                                                       &Statistics::starts,
                                                       &Statistics::stops,
                                                       &Statistics::refused,
                                                       &Statistics::serialized,
                                                       &Statistics::flips,
                                                       &Statistics::bytes_delivered,
                                                       &Statistics::bytes_lost,
                                                       &Statistics::gaps,
                                                       &Statistics::markers,
                                                       &Statistics::deadline_misses};
    if (agent.hubs.size() == 1) return session_.hub(agent.hubs.front()).statistics();
    Statistics sum;
    for (const std::uint32_t hub : agent.hubs) {
        const Statistics one = session_.hub(hub).statistics();
        for (const auto number : kNumbers)
            sum.*number += one.*number;
    }
    return sum;
}

std::string Recorder::statistics_json(const std::vector<capture::RingCounts>& rings) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (std::uint32_t i = 0; i < agents_.size(); ++i) {
        const capture::HubStatistics s = statistics_of(agents_[i]);
        if (agents_[i].contexts.empty() && s.starts == 0) continue;
        const capture::AgentHub& hub = session_.hub(agents_[i].hubs.front());
        list.push_back({{"agent", i},
                        {"backend", hub.backend_name()},
                        {"packets", hub.packets_name()},
                        {"contexts", agents_[i].contexts.size()},
                        {"runs", s.runs},
                        {"queues_created", s.queues_created},
                        {"output_slots", s.output_slots},
                        {"output_bytes", s.output_bytes},
                        {"staging_bytes", s.staging_bytes},
                        {"control_bytes", s.control_bytes},
                        {"host_bytes_per_idle_context",
                         session_.host_bytes_per_context() + sizeof(Context) + sizeof(void*)},
                        {"threads", s.threads},
                        {"starts", s.starts},
                        {"stops", s.stops},
                        {"refused", s.refused + agents_[i].refused},
                        {"serialized", s.serialized},
                        {"flips", s.flips},
                        {"bytes_delivered", s.bytes_delivered},
                        {"bytes_lost", s.bytes_lost},
                        {"gaps", s.gaps},
                        {"cpu_full", s.cpu_full},
                        {"gpu_full", s.gpu_full},
                        {"halted", s.halted},
                        {"markers", s.markers},
                        {"deadline_misses", s.deadline_misses},
                        {"ring_waits", rings[i].waits},
                        {"ring_crowded", rings[i].crowded},
                        {"ring_full", rings[i].full}});
    }
    return nlohmann::ordered_json{{"agents", list}}.dump();
}

void Recorder::finish(const std::vector<capture::RingCounts>& rings) {
    // Before the hubs give their resources back, so that the numbers are those of the run.
    const std::string statistics = statistics_json(rings);
    if (auto closed = session_.close(); !closed) {
        error(closed.error());
        (void)gate_->close(SteadyClock().deadline_after(kLastCallLimit));
    }
    keep(folder_->statistics(statistics));
    keep(folder_->finish());
}

} // namespace wavetap::tool
