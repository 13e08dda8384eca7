// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "store/manifest.hpp"

#include "store/files.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>

namespace wavetap::store {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::uint32_t kMostUnits = 4096; // engines, CUs, SIMDs: far over any chip
constexpr int kDeepest = 64;

std::string dump(const ordered_json& line) {
    return line.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

Error corrupt(std::string message) {
    return Error{ErrorCode::kCorrupt, std::move(message), "", ""};
}

/// Deep nesting would use up the stack of whoever walks the value.
bool too_deep(std::string_view text) {
    int depth = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string) {
            if (c == '\\') ++i;
            if (c == '"') in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            if (++depth > kDeepest) return true;
        } else if (c == '}' || c == ']') {
            --depth;
        }
    }
    return false;
}

/// Takes typed fields out of one line; the first fault is kept.
class Fields {
  public:
    explicit Fields(const json& object) : object_(object) {}

    template <class Number> void number(const char* name, Number& out, std::uint64_t most = 0) {
        const std::uint64_t limit = most != 0 ? most : std::numeric_limits<Number>::max();
        const json* value = find(name);
        if (value == nullptr) return;
        if (!value->is_number_unsigned()) return fail(name, "is not a whole number from 0");
        const auto read = value->get<std::uint64_t>();
        if (read > limit)
            return fail(
                name, ("is " + std::to_string(read) + ", over the limit " + std::to_string(limit)));
        out = static_cast<Number>(read);
    }
    void flag(const char* name, bool& out) {
        const json* value = find(name);
        if (value == nullptr) return;
        if (!value->is_boolean()) return fail(name, "is not true or false");
        out = value->get<bool>();
    }
    void text(const char* name, std::string& out) {
        const json* value = find(name);
        if (value == nullptr) return;
        if (!value->is_string()) return fail(name, "is not a string");
        out = value->get<std::string>();
    }
    void word(const char* name, std::string& out, std::initializer_list<std::string_view> words) {
        text(name, out);
        if (!fault_.empty()) return;
        if (std::find(words.begin(), words.end(), out) != words.end()) return;
        std::string known;
        for (const std::string_view word : words)
            known += (known.empty() ? "" : ", ") + std::string(word);
        fail(name, "is '" + out + "', not one of: " + known);
    }
    void file(const char* name, std::string& out, bool may_be_empty) {
        text(name, out);
        if (!fault_.empty() || (may_be_empty && out.empty())) return;
        if (!is_safe_relative_path(out))
            fail(name, "is '" + out + "', which does not stay below the process folder");
    }
    Result<void> result() const {
        if (fault_.empty()) return {};
        return corrupt(fault_);
    }

  private:
    const json* find(const char* name) {
        if (!fault_.empty()) return nullptr;
        const auto found = object_.find(name);
        if (found != object_.end()) return &*found;
        fail(name, "is missing");
        return nullptr;
    }
    void fail(const char* name, const std::string& what) {
        fault_ = "field '" + std::string(name) + "' " + what;
    }

    const json& object_;
    std::string fault_;
};

Run* find_run(ProcessTrace& trace, std::uint32_t id) {
    for (Run& run : trace.runs) {
        if (run.info.id == id) return &run;
    }
    return nullptr;
}

template <class Items> bool has_id(const Items& items, std::uint64_t id) {
    return std::any_of(items.begin(), items.end(), [&](const auto& item) { return item.id == id; });
}

bool has_agent(const ProcessTrace& trace, std::uint32_t index) {
    return std::any_of(trace.agents.begin(), trace.agents.end(),
                       [&](const AgentInfo& agent) { return agent.index == index; });
}

Result<void> read_folder(const json& line, ProcessTrace& trace) {
    std::uint32_t version = 0;
    std::uint32_t pid = 0;
    Fields fields(line);
    fields.number("version", version);
    fields.number("pid", pid, std::numeric_limits<int>::max());
    WAVETAP_CHECK_OK(fields.result());
    if (version != kManifestVersion)
        return Error{ErrorCode::kUnsupported,
                     "trace folder version " + std::to_string(version) + ", this program reads " +
                         std::to_string(kManifestVersion),
                     "", "use the wavetap that recorded it, or a newer one"};
    trace.pid = static_cast<int>(pid);
    return {};
}

Result<void> read_agent(const json& line, ProcessTrace& trace) {
    AgentInfo agent;
    Fields fields(line);
    fields.number("index", agent.index);
    fields.text("name", agent.name);
    fields.number("shader_engines", agent.shader_engines, kMostUnits);
    fields.number("cus_per_engine", agent.cus_per_engine, kMostUnits);
    fields.number("simds_per_cu", agent.simds_per_cu, kMostUnits);
    if (line.contains("compute_units")) fields.number("compute_units", agent.compute_units);
    fields.word("timing", agent.timing, {"modelled", "hardware"});
    WAVETAP_CHECK_OK(fields.result());
    if (has_agent(trace, agent.index))
        return corrupt("agent " + std::to_string(agent.index) + " appears twice");
    trace.agents.push_back(std::move(agent));
    return {};
}

Result<void> read_perf_counters(const json& line, ContextInfo& context) {
    if (!line.contains("perf_counters")) return {};
    if (!line["perf_counters"].is_array()) return corrupt("field 'perf_counters' is not a list");
    for (const json& item : line["perf_counters"]) {
        if (!item.is_object()) return corrupt("field 'perf_counters' is not a list of objects");
        PerfCounterInfo counter;
        Fields fields(item);
        fields.text("name", counter.name);
        fields.number("id", counter.id);
        fields.number("simd_mask", counter.simd_mask);
        WAVETAP_CHECK_OK(fields.result());
        context.perf_counters.push_back(std::move(counter));
    }
    Fields fields(line);
    fields.number("perf_period", context.perf_period);
    fields.number("perf_exclude_mask", context.perf_exclude_mask);
    return fields.result();
}

Result<void> read_context(const json& line, ProcessTrace& trace) {
    ContextInfo context;
    Fields fields(line);
    fields.number("id", context.id);
    fields.number("agent", context.agent);
    fields.number("se_mask", context.se_mask);
    fields.number("cu", context.cu, kMostUnits);
    fields.number("simd_mask", context.simd_mask);
    fields.number("buffer_bytes", context.buffer_bytes);
    fields.number("buffers", context.buffers);
    fields.flag("detail", context.detail);
    fields.word("mode", context.mode, {"device", "dispatch"});
    if (line.contains("serialize_all")) fields.flag("serialize_all", context.serialize_all);
    WAVETAP_CHECK_OK(fields.result());
    WAVETAP_CHECK_OK(read_perf_counters(line, context));
    if (!has_agent(trace, context.agent))
        return corrupt("context " + std::to_string(context.id) + " names agent " +
                       std::to_string(context.agent) + ", which no line before it describes");
    if (has_id(trace.contexts, context.id))
        return corrupt("context " + std::to_string(context.id) + " appears twice");
    trace.contexts.push_back(std::move(context));
    return {};
}

Result<void> read_code_object(const json& line, ProcessTrace& trace) {
    CodeObjectInfo object;
    Fields fields(line);
    fields.number("id", object.id);
    fields.number("agent", object.agent);
    fields.number("load_base", object.load_base);
    fields.number("load_bytes", object.load_bytes);
    fields.text("uri", object.uri);
    fields.file("file", object.file, true);
    WAVETAP_CHECK_OK(fields.result());
    if (has_id(trace.code_objects, object.id))
        return corrupt("code object " + std::to_string(object.id) + " appears twice");
    trace.code_objects.push_back(std::move(object));
    return {};
}

Result<void> read_code_object_unloaded(const json& line, ProcessTrace& trace) {
    std::uint64_t id = 0;
    Fields fields(line);
    fields.number("id", id);
    WAVETAP_CHECK_OK(fields.result());
    for (CodeObjectInfo& object : trace.code_objects) {
        if (object.id != id) continue;
        object.unloaded = true;
        return {};
    }
    return corrupt("code object " + std::to_string(id) + " was unloaded but never loaded");
}

Result<void> read_dispatch(const json& line, ProcessTrace& trace) {
    DispatchInfo dispatch;
    Fields fields(line);
    fields.number("dispatch", dispatch.dispatch);
    fields.number("agent", dispatch.agent);
    fields.text("kernel", dispatch.kernel);
    if (line.contains("external_correlation_id"))
        fields.number("external_correlation_id", dispatch.external_correlation_id);
    WAVETAP_CHECK_OK(fields.result());
    trace.dispatches.push_back(std::move(dispatch));
    return {};
}

Result<RunInfo> run_info(const json& line) {
    RunInfo info;
    Fields fields(line);
    fields.number("run", info.id);
    fields.number("context", info.context);
    fields.number("first_dispatch", info.first_dispatch);
    fields.number("last_dispatch", info.last_dispatch);
    fields.number("start_counter", info.start_counter);
    fields.number("end_counter", info.end_counter);
    WAVETAP_CHECK_OK(fields.result());
    return info;
}

Result<void> read_run_begin(const json& line, ProcessTrace& trace) {
    WAVETAP_TRY(const RunInfo info, run_info(line));
    if (!has_id(trace.contexts, info.context))
        return corrupt("run " + std::to_string(info.id) + " names context " +
                       std::to_string(info.context) + ", which no line before it describes");
    if (find_run(trace, info.id) != nullptr)
        return corrupt("run " + std::to_string(info.id) + " begins twice");
    trace.runs.push_back(Run{info, false, {}});
    return {};
}

Result<void> read_run_end(const json& line, ProcessTrace& trace) {
    WAVETAP_TRY(const RunInfo info, run_info(line));
    Run* run = find_run(trace, info.id);
    if (run == nullptr) return corrupt("run " + std::to_string(info.id) + " ends before it begins");
    if (run->complete) return corrupt("run " + std::to_string(info.id) + " ends twice");
    if (run->info.context != info.context)
        return corrupt("run " + std::to_string(info.id) + " ends in another context");
    run->info = info;
    run->complete = true;
    return {};
}

Result<void> read_chunk_line(const json& line, ProcessTrace& trace) {
    ChunkInfo chunk;
    Fields fields(line);
    fields.number("run", chunk.run);
    fields.number("se", chunk.se, kMostUnits);
    fields.file("file", chunk.file, false);
    fields.number("bytes", chunk.bytes);
    fields.number("capacity_bytes", chunk.capacity_bytes);
    fields.flag("gpu_full", chunk.gpu_full);
    fields.flag("cpu_full", chunk.cpu_full);
    fields.flag("end", chunk.end);
    fields.number("status", chunk.status);
    fields.number("dropped", chunk.dropped);
    fields.number("wptr", chunk.wptr);
    // Not in folders of version 0.1.
    if (line.contains("index")) fields.number("index", chunk.index);
    if (line.contains("read_offset")) fields.number("read_offset", chunk.read_offset);
    if (line.contains("lost")) fields.flag("lost", chunk.lost);
    if (line.contains("halted")) fields.flag("halted", chunk.halted);
    WAVETAP_CHECK_OK(fields.result());
    Run* run = find_run(trace, chunk.run);
    if (run == nullptr)
        return corrupt("a chunk of run " + std::to_string(chunk.run) + " before that run begins");
    run->chunks.push_back(std::move(chunk));
    return {};
}

Result<void> read_statistics(const json& line, ProcessTrace& trace) {
    const auto value = line.find("statistics");
    if (value == line.end() || !value->is_object())
        return corrupt("field 'statistics' is not an object");
    trace.statistics_json = value->dump();
    return {};
}

Result<void> read_note(const json& line, ProcessTrace& trace) {
    std::string severity;
    std::string text;
    Fields fields(line);
    fields.word("severity", severity, {"info", "warning", "error"});
    fields.text("text", text);
    WAVETAP_CHECK_OK(fields.result());
    trace.notes.emplace_back(std::move(severity), std::move(text));
    return {};
}

Result<void> read_finish(const json&, ProcessTrace& trace) {
    trace.complete = true;
    return {};
}

struct Kind {
    std::string_view name;
    Result<void> (*read)(const json&, ProcessTrace&);
};

constexpr std::array kKinds = {
    Kind{"folder", read_folder},
    Kind{"agent", read_agent},
    Kind{"context", read_context},
    Kind{"code_object", read_code_object},
    Kind{"code_object_unloaded", read_code_object_unloaded},
    Kind{"dispatch", read_dispatch},
    Kind{"run_begin", read_run_begin},
    Kind{"chunk", read_chunk_line},
    Kind{"run_end", read_run_end},
    Kind{"statistics", read_statistics},
    Kind{"note", read_note},
    Kind{"finish", read_finish},
};

std::string run_line(const char* type, const RunInfo& run) {
    return dump({{"type", type},
                 {"run", run.id},
                 {"context", run.context},
                 {"first_dispatch", run.first_dispatch},
                 {"last_dispatch", run.last_dispatch},
                 {"start_counter", run.start_counter},
                 {"end_counter", run.end_counter}});
}

} // namespace

std::string folder_line(int pid) {
    return dump({{"type", "folder"},
                 {"format", "wavetap-trace"},
                 {"version", kManifestVersion},
                 {"pid", pid}});
}

std::string agent_line(const AgentInfo& agent) {
    return dump({{"type", "agent"},
                 {"index", agent.index},
                 {"name", agent.name},
                 {"shader_engines", agent.shader_engines},
                 {"cus_per_engine", agent.cus_per_engine},
                 {"simds_per_cu", agent.simds_per_cu},
                 {"compute_units", agent.compute_units},
                 {"timing", agent.timing}});
}

std::string context_line(const ContextInfo& context) {
    ordered_json line = {{"type", "context"},
                         {"id", context.id},
                         {"agent", context.agent},
                         {"se_mask", context.se_mask},
                         {"cu", context.cu},
                         {"simd_mask", context.simd_mask},
                         {"buffer_bytes", context.buffer_bytes},
                         {"buffers", context.buffers},
                         {"detail", context.detail},
                         {"mode", context.mode},
                         {"serialize_all", context.serialize_all}};
    if (!context.perf_counters.empty()) {
        line["perf_counters"] = ordered_json::array();
        for (const PerfCounterInfo& counter : context.perf_counters)
            line["perf_counters"].push_back(
                {{"name", counter.name}, {"id", counter.id}, {"simd_mask", counter.simd_mask}});
        line["perf_period"] = context.perf_period;
        line["perf_exclude_mask"] = context.perf_exclude_mask;
    }
    return dump(line);
}

std::string code_object_line(const CodeObjectInfo& object) {
    return dump({{"type", "code_object"},
                 {"id", object.id},
                 {"agent", object.agent},
                 {"load_base", object.load_base},
                 {"load_bytes", object.load_bytes},
                 {"uri", object.uri},
                 {"file", object.file}});
}

std::string code_object_unloaded_line(std::uint64_t id) {
    return dump({{"type", "code_object_unloaded"}, {"id", id}});
}

std::string dispatch_line(const DispatchInfo& dispatch) {
    ordered_json line = {{"type", "dispatch"},
                         {"dispatch", dispatch.dispatch},
                         {"agent", dispatch.agent},
                         {"kernel", dispatch.kernel}};
    if (dispatch.external_correlation_id != 0)
        line["external_correlation_id"] = dispatch.external_correlation_id;
    return dump(line);
}

std::string run_begin_line(const RunInfo& run) {
    return run_line("run_begin", run);
}

std::string run_end_line(const RunInfo& run) {
    return run_line("run_end", run);
}

std::string chunk_line(const ChunkInfo& chunk) {
    return dump({{"type", "chunk"},
                 {"run", chunk.run},
                 {"se", chunk.se},
                 {"file", chunk.file},
                 {"bytes", chunk.bytes},
                 {"capacity_bytes", chunk.capacity_bytes},
                 {"gpu_full", chunk.gpu_full},
                 {"cpu_full", chunk.cpu_full},
                 {"end", chunk.end},
                 {"status", chunk.status},
                 {"dropped", chunk.dropped},
                 {"wptr", chunk.wptr},
                 {"index", chunk.index},
                 {"read_offset", chunk.read_offset},
                 {"lost", chunk.lost},
                 {"halted", chunk.halted}});
}

Result<std::string> statistics_line(std::string_view json_object) {
    ordered_json value =
        too_deep(json_object) ? ordered_json() : ordered_json::parse(json_object, nullptr, false);
    if (!value.is_object())
        return Error{ErrorCode::kInvalidArgument, "statistics are not a JSON object", "", ""};
    return dump({{"type", "statistics"}, {"statistics", std::move(value)}});
}

std::string note_line(std::string_view severity, std::string_view text) {
    return dump({{"type", "note"}, {"severity", severity}, {"text", text}});
}

std::string finish_line() {
    return dump({{"type", "finish"}});
}

Result<void> apply_line(std::string_view line, std::uint64_t number, ProcessTrace& trace) {
    if (too_deep(line)) return corrupt("nested too deeply");
    const json object = json::parse(line, nullptr, false);
    if (!object.is_object()) return corrupt("not a JSON object");
    std::string type;
    Fields fields(object);
    fields.text("type", type);
    WAVETAP_CHECK_OK(fields.result());
    if ((type == "folder") != (number == 1))
        return corrupt(number == 1 ? "the first line is not of type 'folder'"
                                   : "a second line of type 'folder'");
    for (const Kind& kind : kKinds) {
        if (kind.name == type) return kind.read(object, trace);
    }
    return corrupt("unknown type '" + type + "'");
}

} // namespace wavetap::store
