// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "report/att_folder.hpp"

#include "store/files.hpp"
#include "store/pieces.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <set>

namespace wavetap::report {
namespace {

using json = nlohmann::ordered_json;

class ProcessWriter {
  public:
    ProcessWriter(const store::ProcessTrace& process, const std::string& dir)
        : process_(process), dir_(dir) {}

    Result<std::size_t> write() {
        for (const store::Run& run : process_.runs)
            WAVETAP_CHECK_OK(write_run(run));
        WAVETAP_CHECK_OK(write_objects());
        json agents = json::array();
        for (const store::AgentInfo& agent : process_.agents)
            agents.push_back({{"id", {{"handle", agent.index + 1}}},
                              {"name", agent.name},
                              {"cu_count", agent.compute_units},
                              {"num_shader_banks", agent.shader_engines},
                              {"simd_per_cu", agent.simds_per_cu},
                              {"timing", agent.timing}});
        const json results = {{"rocprofiler-sdk-tool",
                               {{{"metadata", {{"pid", process_.pid}, {"producer", "wavetap"}}},
                                 {"agents", std::move(agents)},
                                 {"strings", {{"att_filenames", std::move(names_)}}},
                                 {"code_objects", std::move(objects_)}}}}};
        const std::string text = results.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
        WAVETAP_CHECK_OK(store::write_new_file(
            fmt::format("{}/{}_results.json", dir_, process_.pid), std::as_bytes(std::span(text))));
        return traces_;
    }

  private:
    std::uint32_t agent_of(const store::Run& run) const {
        for (const store::ContextInfo& context : process_.contexts) {
            if (context.id == run.info.context) return context.agent;
        }
        return 0;
    }

    Result<void> write_run(const store::Run& run) {
        const std::uint32_t agent = agent_of(run);
        std::set<std::uint32_t> engines;
        for (const store::ChunkInfo& chunk : run.chunks)
            engines.insert(chunk.se);
        std::vector<std::uint64_t> dispatches; // by segment
        for (const std::uint32_t se : engines) {
            const auto segments = store::segments_of(run, se);
            for (std::size_t i = 0; i < segments.size(); ++i) {
                if (i == dispatches.size()) dispatches.push_back(free_number(agent, run));
                WAVETAP_CHECK_OK(write_segment(agent, se, dispatches[i], segments[i]));
            }
        }
        return {};
    }

    /// The run's dispatch, or the next number that is not taken.
    std::uint64_t free_number(std::uint32_t agent, const store::Run& run) {
        std::uint64_t number =
            run.info.first_dispatch != 0 ? run.info.first_dispatch : std::uint64_t{run.info.id} + 1;
        while (!used_.insert({agent, number}).second)
            ++number;
        return number;
    }

    Result<void> write_segment(std::uint32_t agent, std::uint32_t se, std::uint64_t dispatch,
                               const store::Segment& segment) {
        WAVETAP_TRY(store::PieceReader reader, store::PieceReader::open(process_, segment));
        if (reader.bytes() == 0) return {};
        const std::string name =
            fmt::format("{}_{}_shader_engine_{}_{}.att", process_.pid, agent + 1, se, dispatch);
        WAVETAP_TRY(store::NewFile file, store::NewFile::create(dir_ + "/" + name));
        while (!reader.at_end()) {
            WAVETAP_TRY(const auto piece, reader.next());
            WAVETAP_CHECK_OK(file.write(piece));
        }
        WAVETAP_CHECK_OK(file.finish());
        names_.push_back({{"key", dispatch}, {"value", name}});
        ++traces_;
        return {};
    }

    Result<void> write_objects() {
        std::set<std::uint64_t> written;
        for (const store::CodeObjectInfo& object : process_.code_objects) {
            objects_.push_back({{"code_object_id", object.id},
                                {"load_base", object.load_base},
                                {"load_size", object.load_bytes},
                                {"load_delta", object.load_base},
                                {"uri", object.uri},
                                {"agent_id", {{"handle", object.agent + 1}}}});
            const std::string from = store::code_object_path(process_, object);
            if (from.empty() || object.file.empty() || !written.insert(object.id).second) continue;
            auto bytes = store::read_file(from);
            if (!bytes) return bytes.error();
            std::string gfx = "gfx";
            for (const store::AgentInfo& agent : process_.agents) {
                if (agent.index == object.agent && !agent.name.empty()) gfx = agent.name;
            }
            WAVETAP_CHECK_OK(store::write_new_file(
                fmt::format("{}/{}_{}_code_object_id_{}.out", dir_, process_.pid, gfx, object.id),
                *bytes));
        }
        return {};
    }

    const store::ProcessTrace& process_;
    const std::string& dir_;
    std::set<std::pair<std::uint32_t, std::uint64_t>> used_; ///< agent, dispatch
    json names_ = json::array();
    json objects_ = json::array();
    std::size_t traces_ = 0;
};

} // namespace

Result<std::size_t> write_att_folder(const std::vector<store::TraceFolder>& folders,
                                     const std::string& dir) {
    std::set<int> pids;
    for (const store::TraceFolder& folder : folders) {
        for (const store::ProcessTrace& process : folder.processes) {
            if (!pids.insert(process.pid).second)
                return Error{ErrorCode::kInvalidArgument,
                             "two recorded processes have the id " + std::to_string(process.pid),
                             process.dir, "export them one by one"};
        }
    }
    WAVETAP_CHECK_OK(store::make_directories(dir));
    std::size_t traces = 0;
    for (const store::TraceFolder& folder : folders) {
        for (const store::ProcessTrace& process : folder.processes) {
            WAVETAP_TRY(const std::size_t written, ProcessWriter(process, dir).write());
            traces += written;
        }
    }
    return traces;
}

} // namespace wavetap::report
