// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "report/foreign_json.hpp"

#include "base/units.hpp"
#include "store/files.hpp"

#include <nlohmann/json.hpp>

#include <string_view>

namespace wavetap::report {
namespace {

using json = nlohmann::json;

Error corrupt(const std::string& what, const std::string& path) {
    return Error{ErrorCode::kCorrupt, what, path, "copy the folder whole, or record again"};
}

Result<json> read_json(const std::string& path) {
    WAVETAP_TRY(const std::vector<std::byte> bytes, store::read_file(path));
    const auto* text = reinterpret_cast<const char*>(bytes.data());
    json value = json::parse(text, text + bytes.size(), nullptr, false);
    if (value.is_discarded()) {
        const bool cut =
            bytes.empty() || (text[bytes.size() - 1] != '}' && text[bytes.size() - 1] != '\n');
        return corrupt(cut ? "this is no JSON; it seems to be cut off" : "this is no JSON", path);
    }
    if (!value.is_object()) return corrupt("this is JSON, but no object", path);
    return value;
}

const json* member(const json& value, const char* name) {
    if (!value.is_object()) return nullptr;
    const auto found = value.find(name);
    return found == value.end() ? nullptr : &*found;
}

std::uint64_t number(const json* value) {
    if (value == nullptr) return 0;
    if (value->is_number_unsigned()) return value->get<std::uint64_t>();
    if (value->is_number_integer()) return static_cast<std::uint64_t>(value->get<std::int64_t>());
    if (const json* inner = member(*value, "handle")) return number(inner);
    return 0;
}

std::uint32_t small(const json* value) {
    return static_cast<std::uint32_t>(number(value));
}

std::string text(const json* value) {
    return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

/// Names stand as texts or inside objects, by version.
void collect_names(const json& value, std::string_view suffix, std::vector<std::string>& names) {
    if (value.is_string()) {
        const auto& path = value.get_ref<const std::string&>();
        if (!std::string_view(path).ends_with(suffix)) return;
        names.push_back(path.substr(path.find_last_of('/') + 1));
    } else if (value.is_structured()) {
        for (const json& inner : value)
            collect_names(inner, suffix, names);
    }
}

void read_agents(const json& tool, RocprofResults& results) {
    const json* agents = member(tool, "agents");
    if (agents == nullptr || !agents->is_array()) return;
    for (const json& each : *agents) {
        ForeignAgent agent;
        agent.handle = number(member(each, "id"));
        agent.name = text(member(each, "name"));
        if (!agent.name.starts_with("gfx")) continue; // a processor
        agent.cus = small(member(each, "cu_count"));
        agent.shader_engines = small(member(each, "num_shader_banks"));
        agent.simds_per_cu = small(member(each, "simd_per_cu"));
        agent.modelled = text(member(each, "timing")) == "modelled";
        results.agents.push_back(std::move(agent));
    }
}

} // namespace

Result<RocprofResults> read_results(const std::string& path) {
    WAVETAP_TRY(const json value, read_json(path));
    const json* tools = member(value, "rocprofiler-sdk-tool");
    if (tools == nullptr || !tools->is_array() || tools->empty())
        return corrupt("this is no results file of rocprofv3: it has no \"rocprofiler-sdk-tool\"",
                       path);
    RocprofResults results;
    for (const json& tool : *tools) {
        if (const json* strings = member(tool, "strings")) {
            if (const json* names = member(*strings, "att_filenames"))
                collect_names(*names, ".att", results.att_files);
        }
        read_agents(tool, results);
        const json* objects = member(tool, "code_objects");
        if (objects == nullptr) continue;
        if (!objects->is_array()) return corrupt("\"code_objects\" is no list", path);
        for (const json& each : *objects) {
            ForeignObject object;
            object.id = number(member(each, "code_object_id"));
            if (object.id == 0) return corrupt("a code object has no \"code_object_id\"", path);
            object.load_base = number(member(each, "load_base"));
            object.load_bytes = number(member(each, "load_size"));
            object.uri = text(member(each, "uri"));
            if (const json* agent = member(each, "agent_id")) object.agent = number(agent);
            results.objects.push_back(std::move(object));
        }
    }
    return results;
}

Result<PlainMeta> read_meta(const std::string& path) {
    WAVETAP_TRY(const json value, read_json(path));
    PlainMeta meta;
    meta.gfx = text(member(value, "arch"));
    meta.kernel = text(member(value, "kernel_name"));
    const json* base = member(value, "load_base");
    if (base == nullptr) return meta;
    if (base->is_number_unsigned()) {
        meta.load_base = base->get<std::uint64_t>();
        return meta;
    }
    const auto parsed = base->is_string() ? parse_number(base->get_ref<const std::string&>())
                                          : Result<std::uint64_t>(Error{});
    if (!parsed) return corrupt("\"load_base\" is no address", path);
    meta.load_base = *parsed;
    return meta;
}

} // namespace wavetap::report
