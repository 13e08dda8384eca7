// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "report/foreign.hpp"

#include "code/code_object.hpp"
#include "report/foreign_json.hpp"
#include "sqtt/header.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace wavetap::report {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 3;
constexpr std::size_t kMostFiles = 100'000;
constexpr std::string_view kEngineWord = "_shader_engine_";
constexpr std::string_view kObjectWord = "_code_object_id_";
constexpr std::string_view kResults = "_results.json";
constexpr std::string_view kMeta = "meta.json";

bool take_number(std::string_view text, std::uint64_t& out) {
    if (text.empty()) return false;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
    return code == std::errc() && end == text.data() + text.size();
}

/// The digits at the end of `text`.
std::string_view last_digits(std::string_view text) {
    std::size_t at = text.size();
    while (at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9')
        --at;
    return text.substr(at);
}

struct File {
    std::string relative; ///< to the folder that was named
    std::string name;
    std::uint64_t bytes = 0;
};

/// Regular files of the kinds we read, by path.
Result<std::vector<File>> list_files(const std::string& dir) {
    std::vector<File> files;
    std::error_code code;
    fs::recursive_directory_iterator entry(dir, code);
    for (const fs::recursive_directory_iterator end; !code && entry != end; entry.increment(code)) {
        if (entry.depth() >= kDeepest) entry.disable_recursion_pending();
        std::error_code ignored;
        if (!entry->is_regular_file(ignored)) continue;
        const fs::path& path = entry->path();
        const std::string extension = path.extension().string();
        static const std::set<std::string> kKinds{".att", ".out", ".hsaco", ".elf", ".co", ".o"};
        // The viewer's folder beside the traces has a JSON file for each wave.
        const std::string name = path.filename().string();
        if (!kKinds.contains(extension) && name != kMeta && !name.ends_with(kResults)) continue;
        const std::uint64_t bytes = entry->file_size(ignored);
        files.push_back({fs::relative(path, dir, ignored).string(), name, ignored ? 0 : bytes});
        if (files.size() > kMostFiles)
            return Error{ErrorCode::kInvalidArgument, "there are too many files to look through",
                         dir, "name the folder that holds the .att files"};
    }
    if (code) return Error{ErrorCode::kIo, "cannot read the folder: " + code.message(), dir, ""};
    std::sort(files.begin(), files.end(),
              [](const File& a, const File& b) { return a.relative < b.relative; });
    return files;
}

/// What the trace itself says about its target; nothing if there is no header.
std::optional<sqtt::Header> header_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::uint64_t raw = 0;
    file.read(reinterpret_cast<char*>(&raw), sizeof raw);
    if (!file) return std::nullopt;
    auto header = sqtt::parse_header(raw);
    return header ? std::optional(*header) : std::nullopt;
}

void take_target(store::ContextInfo& context, const std::string& path) {
    if (const auto header = header_of(path)) {
        context.cu = header->target_cu;
        context.simd_mask = header->simd_mask;
    }
}

std::string parent_of(const std::string& relative) {
    const std::size_t slash = relative.find_last_of('/');
    return slash == std::string::npos ? std::string() : relative.substr(0, slash + 1);
}

// ---- rocprofv3

struct Prefix {
    std::vector<std::pair<AttName, File>> traces;
    std::map<std::uint64_t, File> objects; ///< by id
    std::string gfx;                       ///< from the names of the objects
    std::string results;                   ///< relative path, or empty
    std::vector<std::string> notes;
};

/// PREFIX_GFX_code_object_id_ID.out -> prefix and id; false if the name has no id.
bool parse_object_name(const std::string& name, std::string& prefix, std::string& gfx,
                       std::uint64_t& id) {
    const std::string_view stem = std::string_view(name).substr(0, name.find_last_of('.'));
    const std::string_view digits = last_digits(stem);
    if (!take_number(digits, id)) return false;
    std::string_view front = stem.substr(0, stem.size() - digits.size());
    if (!front.ends_with(kObjectWord)) return false;
    front.remove_suffix(kObjectWord.size());
    const std::size_t underscore = front.find_last_of('_');
    if (underscore == std::string_view::npos) return false;
    gfx = front.substr(underscore + 1);
    prefix = front.substr(0, underscore);
    return true;
}

/// Traces name the prefix; the other files are those that begin with one.
std::map<std::string, Prefix> sort_files(const std::vector<File>& files) {
    std::map<std::string, Prefix> prefixes;
    for (const File& file : files) {
        AttName name;
        if (parse_att_name(file.name, name))
            prefixes[parent_of(file.relative) + name.prefix].traces.emplace_back(name, file);
    }
    for (const File& file : files) {
        const std::string folder = parent_of(file.relative);
        if (file.name.ends_with(kResults)) {
            const auto found =
                prefixes.find(folder + file.name.substr(0, file.name.size() - kResults.size()));
            if (found != prefixes.end()) found->second.results = file.relative;
            continue;
        }
        if (!file.name.ends_with(".out")) continue;
        std::string prefix, gfx;
        std::uint64_t id = 0;
        if (!parse_object_name(file.name, prefix, gfx, id)) {
            for (auto& [name, each] : prefixes)
                each.notes.push_back(
                    file.relative + ": the name of a code object ends with _code_object_id_ID.out");
            continue;
        }
        const auto found = prefixes.find(folder + prefix);
        if (found == prefixes.end()) continue;
        found->second.gfx = gfx;
        if (!found->second.objects.emplace(id, file).second)
            found->second.notes.push_back(file.relative + ": there is another code object " +
                                          std::to_string(id));
    }
    return prefixes;
}

/// An object whose agent is not told may be on any of those that were traced.
void add_object(const store::CodeObjectInfo& info, std::optional<std::uint32_t> agent,
                store::ProcessTrace& process) {
    for (const store::AgentInfo& each : process.agents) {
        if (agent && *agent != each.index) continue;
        process.code_objects.push_back(info);
        process.code_objects.back().agent = each.index;
    }
}

/// `agents`: those that were traced, by handle.
void add_objects(const Prefix& prefix, const RocprofResults& results,
                 const std::map<std::string, std::uint32_t>& agents, store::ProcessTrace& process) {
    constexpr std::uint32_t kNotTraced = ~0U;
    const auto agent_of = [&](std::uint64_t handle) -> std::optional<std::uint32_t> {
        const auto traced = agents.find(std::to_string(handle));
        if (traced != agents.end()) return traced->second;
        const bool known =
            std::any_of(results.agents.begin(), results.agents.end(),
                        [&](const ForeignAgent& each) { return each.handle == handle; });
        return known ? std::optional(kNotTraced) : std::nullopt;
    };
    std::set<std::uint64_t> described;
    for (const ForeignObject& each : results.objects) {
        if (!described.insert(each.id).second) continue;
        store::CodeObjectInfo info;
        info.id = each.id;
        info.load_base = each.load_base;
        info.load_bytes = each.load_bytes;
        info.uri = each.uri;
        const auto file = prefix.objects.find(each.id);
        if (file != prefix.objects.end()) info.file = file->second.relative;
        add_object(info, each.agent ? agent_of(*each.agent) : std::nullopt, process);
    }
    for (const auto& [id, file] : prefix.objects) {
        if (described.contains(id)) continue;
        store::CodeObjectInfo info;
        info.id = id;
        info.uri = file.name;
        info.file = file.relative;
        add_object(info, std::nullopt, process);
    }
}

/// Numbers of agents, by the folder of their process (one machine) and their handle: processes that
/// trace the same one share its number, and those that do not have numbers of their own.
using AgentNumbers = std::map<std::pair<std::string, std::string>, std::uint32_t>;

class RocprofProcess {
  public:
    RocprofProcess(const std::string& dir, const std::string& name, const Prefix& prefix,
                   AgentNumbers& numbers)
        : prefix_(prefix), machine_(parent_of(name)), numbers_(numbers) {
        process_.dir = dir;
        process_.name = name;
        process_.complete = true;
        std::uint64_t pid = 0;
        if (take_number(name.substr(name.find_last_of('/') + 1), pid))
            process_.pid = static_cast<int>(pid);
        for (const std::string& note : prefix.notes)
            process_.notes.emplace_back("warning", note);
    }

    Result<store::ProcessTrace> read() {
        RocprofResults results;
        if (!prefix_.results.empty()) {
            WAVETAP_TRY(results, read_results(process_.dir + "/" + prefix_.results));
        } else if (!prefix_.objects.empty()) {
            process_.notes.emplace_back(
                "info", "there is no _results.json: code is placed by the markers of the stream");
        }
        std::set<std::string> present;
        for (const auto& [name, file] : prefix_.traces) {
            present.insert(file.name);
            add(name, file, results);
        }
        for (const std::string& name : results.att_files) {
            AttName parts;
            if (present.insert(name).second && parse_att_name(name, parts))
                process_.notes.emplace_back("warning", name + " is listed in " + prefix_.results +
                                                           " and is not there");
        }
        for (auto& [dispatch, run] : runs_) {
            run.info.id = static_cast<std::uint32_t>(process_.runs.size());
            for (store::ChunkInfo& chunk : run.chunks)
                chunk.run = run.info.id;
            process_.runs.push_back(std::move(run));
        }
        add_objects(prefix_, results, agents_, process_);
        return std::move(process_);
    }

  private:
    std::uint32_t agent_of(const AttName& name, const RocprofResults& results) {
        const std::uint32_t number = numbers_
                                         .emplace(std::pair(machine_, name.agent),
                                                  static_cast<std::uint32_t>(numbers_.size()))
                                         .first->second;
        const auto [found, is_new] = agents_.emplace(name.agent, number);
        if (!is_new) return found->second;
        store::AgentInfo agent;
        agent.index = found->second;
        agent.name = prefix_.gfx;
        agent.timing = "hardware";
        for (const ForeignAgent& each : results.agents) {
            if (std::to_string(each.handle) != name.agent) continue;
            agent.name = each.name;
            agent.shader_engines = each.shader_engines;
            agent.compute_units = each.cus;
            agent.simds_per_cu = each.simds_per_cu;
            if (each.modelled) agent.timing = "modelled";
        }
        process_.agents.push_back(agent);
        store::ContextInfo context;
        context.id = found->second;
        context.agent = found->second;
        context.se_mask = 0;
        context.mode = "dispatch";
        process_.contexts.push_back(context);
        return found->second;
    }

    void add(const AttName& name, const File& file, const RocprofResults& results) {
        const std::uint32_t agent = agent_of(name, results);
        store::ContextInfo& context =
            *std::find_if(process_.contexts.begin(), process_.contexts.end(),
                          [agent](const store::ContextInfo& each) { return each.agent == agent; });
        if (name.se < 64) context.se_mask |= std::uint64_t{1} << name.se;
        take_target(context, process_.dir + "/" + file.relative);
        const auto [found, is_new] = runs_.try_emplace({agent, name.dispatch});
        store::Run& run = found->second;
        if (is_new) {
            run.info.context = agent;
            run.info.first_dispatch = run.info.last_dispatch = name.dispatch;
            run.complete = true;
        }
        store::ChunkInfo chunk;
        chunk.se = name.se;
        chunk.file = file.relative;
        chunk.bytes = file.bytes;
        run.chunks.push_back(chunk);
    }

    const Prefix& prefix_;
    const std::string machine_;
    AgentNumbers& numbers_;
    store::ProcessTrace process_;
    std::map<std::string, std::uint32_t> agents_; ///< by handle
    std::map<std::pair<std::uint32_t, std::uint64_t>, store::Run> runs_;
};

// ---- plain

bool is_code(const std::string& name) {
    return name.ends_with(".elf") || name.ends_with(".hsaco") || name.ends_with(".co") ||
           name.ends_with(".out") || name.ends_with(".o");
}

/// code.elf, or the only one.
Result<std::optional<File>> choose_code(const std::string& dir, const std::vector<File>& files) {
    std::vector<File> found;
    for (const File& file : files) {
        if (file.relative != file.name || !is_code(file.name)) continue;
        if (file.name == "code.elf") return std::optional(file);
        found.push_back(file);
    }
    if (found.empty()) return std::optional<File>();
    if (found.size() == 1) return std::optional(found.front());
    return Error{ErrorCode::kCorrupt,
                 "there are " + std::to_string(found.size()) +
                     " code objects and none is called code.elf: " + found[0].name + ", " +
                     found[1].name,
                 dir, "call the one that ran code.elf"};
}

Result<store::TraceFolder> open_plain(const std::string& dir, const std::vector<File>& files) {
    store::ProcessTrace process;
    process.dir = dir;
    process.complete = true;
    store::ContextInfo context;
    context.se_mask = 0;
    context.mode = "dispatch";
    store::Run run;
    run.complete = true;
    std::set<std::uint64_t> engines;
    for (const File& file : files) {
        if (file.relative != file.name || !file.name.ends_with(".att")) continue;
        const std::string_view stem = std::string_view(file.name).substr(0, file.name.size() - 4);
        std::uint64_t se = 0;
        if (!take_number(last_digits(stem), se) || se >= 64)
            return Error{ErrorCode::kCorrupt,
                         "the name does not end with the number of a shader engine",
                         dir + "/" + file.name, "call it se0.att, se1.att, …"};
        if (!engines.insert(se).second)
            return Error{ErrorCode::kCorrupt,
                         "there are two traces of shader engine " + std::to_string(se),
                         dir + "/" + file.name,
                         "keep the launches of a kernel in folders of their "
                         "own"};
        context.se_mask |= std::uint64_t{1} << se;
        if (engines.size() == 1) take_target(context, dir + "/" + file.name);
        store::ChunkInfo chunk;
        chunk.se = static_cast<std::uint32_t>(se);
        chunk.file = file.name;
        chunk.bytes = file.bytes;
        run.chunks.push_back(chunk);
    }
    PlainMeta meta;
    const bool has_meta = std::any_of(files.begin(), files.end(),
                                      [](const File& file) { return file.relative == kMeta; });
    if (has_meta) {
        WAVETAP_TRY(meta, read_meta(dir + "/meta.json"));
    }
    WAVETAP_TRY(const std::optional<File> code, choose_code(dir, files));
    if (code) {
        if (meta.gfx.empty()) {
            const auto loaded = code::CodeObject::load(dir + "/" + code->name);
            if (loaded) meta.gfx = loaded->gfx(); // else told where it is read for its code
        }
        store::CodeObjectInfo object;
        object.id = 1;
        object.load_base = meta.load_base;
        object.uri = code->name;
        object.file = code->name;
        process.code_objects.push_back(object);
        if (meta.load_base == 0)
            process.notes.emplace_back("warning", "there is no meta.json with a load_base: "
                                                  "addresses may not be found in " +
                                                      code->name);
    } else {
        process.notes.emplace_back("warning", "there is no code object in the folder: "
                                              "instructions have no addresses and no text");
    }
    store::AgentInfo agent;
    agent.name = meta.gfx;
    agent.timing = "hardware";
    process.agents.push_back(agent);
    process.contexts.push_back(context);
    if (!meta.kernel.empty()) {
        process.dispatches.push_back({1, 0, meta.kernel, 0});
        run.info.first_dispatch = run.info.last_dispatch = 1;
    }
    process.runs.push_back(std::move(run));
    store::TraceFolder folder;
    folder.dir = dir;
    folder.processes.push_back(std::move(process));
    return folder;
}

} // namespace

bool parse_att_name(std::string_view name, AttName& out) {
    if (!name.ends_with(".att")) return false;
    name.remove_suffix(4);
    const std::size_t word = name.rfind(kEngineWord);
    if (word == std::string_view::npos) return false;
    const std::string_view tail = name.substr(word + kEngineWord.size());
    const std::size_t underscore = tail.find('_');
    std::uint64_t se = 0;
    if (underscore == std::string_view::npos || !take_number(tail.substr(0, underscore), se) ||
        se > 1023 || !take_number(tail.substr(underscore + 1), out.dispatch))
        return false;
    const std::string_view front = name.substr(0, word);
    const std::string_view agent = last_digits(front);
    if (agent.empty()) return false;
    std::string_view prefix = front.substr(0, front.size() - agent.size());
    if (!prefix.empty()) {
        if (prefix.back() != '_') return false;
        prefix.remove_suffix(1);
    }
    out.prefix = prefix;
    out.agent = agent;
    out.se = static_cast<std::uint32_t>(se);
    return true;
}

Result<store::TraceFolder> open_foreign(const std::string& dir) {
    WAVETAP_TRY(const std::vector<File> files, list_files(dir));
    const std::map<std::string, Prefix> prefixes = sort_files(files);
    if (!prefixes.empty()) {
        store::TraceFolder folder;
        folder.dir = dir;
        AgentNumbers numbers;
        for (const auto& [name, prefix] : prefixes) {
            WAVETAP_TRY(auto process, RocprofProcess(dir, name, prefix, numbers).read());
            folder.processes.push_back(std::move(process));
        }
        for (const File& file : files) {
            AttName name;
            if (file.name.ends_with(".att") && !parse_att_name(file.name, name))
                folder.processes.front().notes.emplace_back(
                    "warning", file.relative + " is left out: its name does not end with "
                                               "_AGENT_shader_engine_SE_DISPATCH.att");
        }
        return folder;
    }
    for (const File& file : files) {
        if (!file.name.ends_with(".att")) continue;
        if (file.name.find(kEngineWord) != std::string::npos)
            return Error{ErrorCode::kCorrupt,
                         "the name does not end with _AGENT_shader_engine_SE_DISPATCH.att",
                         dir + "/" + file.relative,
                         "give the file the name that rocprofv3 gave it"};
        if (file.relative == file.name) return open_plain(dir, files);
    }
    return Error{ErrorCode::kNotFound, "there is no trace in this folder", dir,
                 "it should hold proc-PID folders (`wavetap record`), "
                 "*_shader_engine_SE_DISPATCH.att (rocprofv3) or seN.att files"};
}

Result<store::TraceFolder> open_any(const std::string& dir) {
    auto ours = store::open_folder(dir);
    std::error_code code;
    if (ours || ours.error().code != ErrorCode::kNotFound || !fs::is_directory(dir, code))
        return ours;
    return open_foreign(dir);
}

} // namespace wavetap::report
