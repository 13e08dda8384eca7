// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "aqlprofile/library.hpp"
#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "base/result.hpp"
#include "capture/session.hpp"
#include "rocr/agents.hpp"
#include "rocr/code_objects.hpp"
#include "rocr/runtime_gate.hpp"
#include "store/trace_folder.hpp"
#include "tool/config.hpp"
#include "tool/correlation.hpp"

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace wavetap::tool {

class Recorder;

/// The run of one traced dispatch; used by the recorder only.
struct LeasedRun {
    Recorder* recorder = nullptr;
    store::RunInfo info;
    bool begun = false;
};

/// The contexts of a configuration on a session, and the trace folder that their runs go to.
/// Resource; thread safe unless said otherwise.
class Recorder {
  public:
    /// Makes the folder, describes the agents in it, creates and configures the contexts; a context
    /// that is refused becomes a note and is left out. Errors: kIo, kNotFound (no usable context).
    static Result<std::unique_ptr<Recorder>> create(const ToolConfig& config,
                                                    const rocr::HsaFunctions& hsa,
                                                    const std::vector<rocr::GpuAgent>& agents,
                                                    const Clock& clock);

    capture::AgentHub& hub(std::uint32_t agent) { return session_.hub(agent); }
    /// To be passed before a hub's thread calls the runtime.
    rocr::RuntimeGate& gate() { return *gate_; }
    /// Usable contexts of an agent, in the order of the configuration.
    std::size_t contexts(std::uint32_t agent) const { return agents_[agent].contexts.size(); }
    std::vector<bool> watched_agents() const;

    /// Begins the run of the agent's `context`th context / ends the run that is in progress, if any. A
    /// failure becomes a note, and false; where a run is in progress it is a start that was refused.
    /// One call for an agent at a time; where that is not on its hub's thread, it waits for that.
    bool begin_run(std::uint32_t agent, std::size_t context, std::uint64_t first_dispatch);
    void end_run(std::uint32_t agent, std::uint64_t last_dispatch);

    /// Dispatch mode: what a lease of the agent's `context`th context needs. `run` receives its
    /// chunks, and must stay where it is until the lease has ended.
    Result<capture::RunRequest> lease_request(std::uint32_t agent, std::size_t context,
                                              LeasedRun& run) const;
    /// What is not traced while the agent's `context`th context has its turn runs alone, too.
    bool serializes_all(std::uint32_t agent, std::size_t context) const;
    /// On the hub's thread: begins and ends the run of one dispatch.
    void begin_lease(LeasedRun& run, std::uint64_t dispatch);
    void end_lease(LeasedRun& run, const Result<capture::RunSummary>& summary);

    /// Stores the object and marks it. Returns its id.
    std::uint64_t code_object_loaded(std::uint32_t agent, const rocr::LoadedCodeObject& object);
    void code_object_unloaded(std::uint32_t agent, std::uint64_t id);
    /// The agent has another queue.
    void queue_created() { correlation_.look(); }
    /// Numbers a dispatch of the calling thread, from 1.
    std::uint64_t dispatch(std::uint32_t agent, const std::string& kernel);
    std::uint64_t dispatches() const { return dispatches_.load(); }

    /// A line on stderr and a note in the folder; the same words only once.
    void error(const Error& error);
    void warning(const std::string& text);

    /// Closes the hubs, writes statistics and the end of the folder. A hub's thread that does not end
    /// in time calls the runtime no more. `rings`: of each agent.
    void finish(const std::vector<capture::RingCounts>& rings);

  private:
    /// For tests: a consumer, and a hub, that are slow by the measure of the run itself.
    struct Pace {
        std::uint64_t slowness = 0, stall = 0; ///< percent of `fill`
        std::uint64_t chunks = 0;              ///< of the run, so far
        TimePoint first{};                     ///< when the first one came
        Duration fill{};                       ///< between the first and the second one
        void delay(capture::AgentHub& hub);
    };
    struct Context {
        capture::ContextHandle handle;
        std::uint32_t id = 0; ///< of the configuration
        Recorder* recorder = nullptr;
        std::uint32_t agent = 0;
        bool serialize_all = false;
        Pace pace;
    };
    struct Agent {
        std::vector<std::unique_ptr<Context>> contexts;
        /// Hubs of the session that are on this GPU: one, or without sharing one more a context. The
        /// first has the agent's own index.
        std::vector<std::uint32_t> hubs;
        // Written by begin_run() and end_run() alone; while a run goes on, the threads that deliver
        // read what was written before the start.
        std::uint64_t refused = 0; ///< starts, beside those that hubs count
        Context* running = nullptr;
        store::RunInfo run;
        bool run_written = false; ///< under run_mutex_, once the start was asked for
    };

    explicit Recorder(std::unique_ptr<store::FolderWriter> folder) : folder_(std::move(folder)) {}
    /// Its index in the session.
    std::uint32_t add_hub(std::uint32_t agent, const rocr::HsaFunctions& hsa,
                          const rocr::GpuAgent& gpu, const Clock& clock);
    Result<void> add_context(const ContextConfig& config, std::uint32_t hub);
    /// Sums over the agent's hubs.
    capture::HubStatistics statistics_of(const Agent& agent);
    static void on_chunk(const capture::Chunk& chunk, void* user);
    void prepare_run(Agent& agent, Context* context, std::uint64_t first_dispatch);
    void write_run(Agent& agent);
    void close_run(store::RunInfo& run, const Result<capture::RunSummary>& summary);
    static void on_lease_chunk(const capture::Chunk& chunk, void* user);
    void store_chunk(std::uint32_t run, const capture::Chunk& chunk);
    void keep(Result<void> written);
    std::string statistics_json(const std::vector<capture::RingCounts>& rings);
    bool first_time(const std::string& text);

    std::unique_ptr<store::FolderWriter> folder_;
    std::shared_ptr<const aqlprofile::Library> aqlprofile_; ///< null: our own packets
    bool modelled_ = false; ///< the software GPU, as it says itself; set once
    std::shared_ptr<rocr::RuntimeGate> gate_ = std::make_shared<rocr::RuntimeGate>();
    std::vector<Agent> agents_;
    ExternalCorrelation correlation_;
    std::atomic<std::uint64_t> dispatches_{0};  ///< a counter
    std::atomic<std::uint32_t> next_run_{0};    ///< a counter
    std::atomic<std::uint64_t> next_object_{1}; ///< a counter
    std::atomic<bool> write_failed_{false};     ///< one line on stderr is enough
    Mutex run_mutex_;
    Mutex said_mutex_;
    std::set<std::string> said_ WAVETAP_GUARDED_BY(said_mutex_);
    capture::Session session_; ///< last: its hubs end before what their handlers use
};

} // namespace wavetap::tool
