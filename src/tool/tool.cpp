// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "tool/tool.hpp"

#include "rocr/counter_enable.hpp"
#include "tool/completion_turns.hpp"
#include "tool/dispatch_tracer.hpp"
#include "tool/switcher.hpp"

#include <cstdlib>

namespace wavetap::tool {

namespace {

/// As long as a stop, a delivery and the hub's end may take together.
constexpr auto kFinishLimit = std::chrono::seconds(30);

double deadline_scale(const ToolConfig& config) {
    double scale = config.deadline_scale;
    if (const char* text = std::getenv("WAVETAP_DEADLINE_SCALE")) {
        const double wanted = std::strtod(text, nullptr);
        if (wanted > 0) scale = wanted;
    }
    return scale;
}

} // namespace

Tool::Tool(rocr::HsaTable table, ToolConfig config, std::vector<rocr::GpuAgent> agents,
           rocr::CodeObjectReader reader, double scale)
    : table_(std::move(table)), config_(std::move(config)), agents_(std::move(agents)),
      reader_(std::move(reader)), clock_(scale), kernels_(config_.kernel, config_.kernel_exclude) {}

Result<std::unique_ptr<Tool>> Tool::create(rocr::HsaTable table, const std::string& config_path) {
    WAVETAP_TRY(ToolConfig config, read_config(config_path));
    WAVETAP_TRY(auto agents, rocr::find_gpu_agents(table.functions()));
    WAVETAP_TRY(auto reader, rocr::CodeObjectReader::create(table.functions()));
    const double scale = deadline_scale(config);
    std::unique_ptr<Tool> tool(
        new Tool(std::move(table), std::move(config), std::move(agents), std::move(reader), scale));
    const rocr::HsaFunctions& hsa = tool->table_.functions();
    WAVETAP_TRY(tool->recorder_, Recorder::create(tool->config_, hsa, tool->agents_, tool->clock_));
    const std::size_t agent_count = tool->agents_.size();
    if (tool->config_.mode == "dispatch")
        tool->tracer_ = std::make_unique<DispatchTracer>(hsa, *tool->recorder_, tool->kernels_,
                                                         tool->config_, agent_count, tool->clock_);
    else if (tool->config_.turns == "completions")
        tool->tracer_ = std::make_unique<CompletionTurns>(hsa, *tool->recorder_, tool->kernels_,
                                                          tool->config_, agent_count, scale);
    else
        tool->tracer_ = tool->make_switcher();
    tool->interceptor_ = std::make_unique<rocr::QueueInterceptor>(
        hsa, tool->agents_, tool->recorder_->watched_agents(), tool->tracer_->hooks(),
        tool->clock_);
    tool->tracer_->set_interceptor(tool->interceptor_.get());
    return tool;
}

// The start stream enables the counters of the hub's queue only.
std::unique_ptr<Tracer> Tool::make_switcher() const {
    const rocr::HsaFunctions& hsa = table_.functions();
    auto switcher = std::make_unique<Switcher>(hsa, *recorder_, kernels_, config_, agents_.size());
    std::vector<bool> wanted(agents_.size());
    for (const ContextConfig& context : config_.contexts)
        if (context.samples_counters() && context.agent < wanted.size())
            wanted[context.agent] = true;
    for (std::uint32_t i = 0; i < wanted.size(); ++i) {
        if (!wanted[i]) continue;
        const auto enable = rocr::make_counter_enable(hsa, agents_[i]);
        if (enable)
            switcher->set_counter_enable(i, *enable);
        else
            recorder_->error(enable.error());
    }
    return switcher;
}

hsa_status_t Tool::freeze(hsa_executable_t executable, const char* options) {
    const hsa_status_t status = table_.functions().executable_freeze(executable, options);
    if (status != HSA_STATUS_SUCCESS || finalized_.load() || !in_own_process()) return status;
    guard([&] { note_executable(executable); });
    return status;
}

void Tool::note_executable(hsa_executable_t executable) {
    const auto objects = reader_.code_objects(executable);
    if (!objects) {
        recorder_->error(objects.error());
        return;
    }
    std::vector<std::pair<std::uint32_t, std::uint64_t>> ids;
    for (const rocr::LoadedCodeObject& object : *objects) {
        const int agent = rocr::index_of(agents_, object.agent);
        if (agent < 0) continue;
        const auto index = static_cast<std::uint32_t>(agent);
        if (const auto kernels = reader_.kernels(executable, object.agent))
            kernels_.add(*kernels);
        else
            recorder_->error(kernels.error());
        ids.emplace_back(index, recorder_->code_object_loaded(index, object));
    }
    MutexLock lock(mutex_);
    executables_[executable.handle] = std::move(ids);
}

hsa_status_t Tool::destroy(hsa_executable_t executable) {
    std::vector<std::pair<std::uint32_t, std::uint64_t>> ids;
    if (!finalized_.load() && in_own_process()) {
        MutexLock lock(mutex_);
        if (const auto found = executables_.find(executable.handle); found != executables_.end()) {
            ids = std::move(found->second);
            executables_.erase(found);
        }
    }
    // Before the memory can be used again.
    for (const auto& [agent, id] : ids)
        guard([&] { recorder_->code_object_unloaded(agent, id); });
    return table_.functions().executable_destroy(executable);
}

void Tool::finalize() {
    if (!in_own_process() || finalized_.exchange(true)) return;
    interceptor_->stop();
    guard([this] { tracer_->finish(clock_.deadline_after(kFinishLimit)); });
    guard([this] {
        const std::uint64_t failures = interceptor_->failures() + failures_.load();
        if (failures != 0)
            recorder_->warning("no host memory " + std::to_string(failures) +
                               " times: dispatches or code objects are missing");
    });
    guard([this] {
        std::vector<capture::RingCounts> rings;
        for (std::uint32_t i = 0; i < agents_.size(); ++i)
            rings.push_back(interceptor_->ring_counts(i));
        recorder_->finish(rings);
    });
}

} // namespace wavetap::tool
