// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "tool/config.hpp"

#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>
#include <regex>

namespace wavetap::tool {

namespace {

using nlohmann::json;

constexpr std::uint64_t kMostPercent = 10'000;

Error bad_member(const std::string& where, const std::string& name, const char* wanted) {
    return Error{ErrorCode::kInvalidArgument, "member \"" + name + "\" is not " + wanted, where,
                 "the file is written by `wavetap record`"};
}

/// Reads members of one object; a missing one keeps the default unless it is required.
class Members {
  public:
    Members(const json& object, const std::string& where) : object_(object), where_(where) {}

    Result<void> number(const char* name, std::uint64_t& to) const {
        const auto found = object_.find(name);
        if (found == object_.end()) return {};
        if (!found->is_number_unsigned()) return bad_member(where_, name, "a whole number");
        to = found->get<std::uint64_t>();
        return {};
    }
    Result<void> number32(const char* name, std::uint32_t& to) const {
        std::uint64_t wide = to;
        WAVETAP_CHECK_OK(number(name, wide));
        if (wide > 0xffffffff) return bad_member(where_, name, "below 2^32");
        to = static_cast<std::uint32_t>(wide);
        return {};
    }
    Result<void> boolean(const char* name, bool& to) const {
        const auto found = object_.find(name);
        if (found == object_.end()) return {};
        if (!found->is_boolean()) return bad_member(where_, name, "true or false");
        to = found->get<bool>();
        return {};
    }
    Result<void> text(const char* name, std::string& to) const {
        const auto found = object_.find(name);
        if (found == object_.end()) return {};
        if (!found->is_string()) return bad_member(where_, name, "a string");
        to = found->get<std::string>();
        return {};
    }
    Result<void> regex(const char* name, std::string& to) const {
        WAVETAP_CHECK_OK(text(name, to));
        try {
            (void)std::regex(to);
        } catch (const std::regex_error&) {
            return bad_member(where_, name, "a regular expression");
        }
        return {};
    }

  private:
    const json& object_;
    const std::string& where_;
};

Result<void> parse_counters(const json& object, const std::string& where,
                            std::vector<CounterConfig>& to) {
    const auto list = object.find("perf_counters");
    if (list == object.end()) return {};
    if (!list->is_array()) return bad_member(where, "perf_counters", "a list of objects");
    for (const json& item : *list) {
        if (!item.is_object()) return bad_member(where, "perf_counters", "a list of objects");
        CounterConfig counter;
        const Members members(item, where);
        WAVETAP_CHECK_OK(members.number("id", counter.id));
        WAVETAP_CHECK_OK(members.number("simd_mask", counter.simd_mask));
        to.push_back(counter);
    }
    return {};
}

Result<ContextConfig> parse_context(const json& object, const std::string& where) {
    if (!object.is_object()) return bad_member(where, "contexts", "a list of objects");
    ContextConfig context;
    const Members members(object, where);
    WAVETAP_CHECK_OK(members.number32("id", context.id));
    WAVETAP_CHECK_OK(members.number32("agent", context.agent));
    WAVETAP_CHECK_OK(members.number("se_mask", context.se_mask));
    WAVETAP_CHECK_OK(members.number("cu", context.cu));
    WAVETAP_CHECK_OK(members.number("simd_mask", context.simd_mask));
    WAVETAP_CHECK_OK(members.number("buffer_bytes", context.buffer_bytes));
    WAVETAP_CHECK_OK(members.number("buffers", context.buffers));
    WAVETAP_CHECK_OK(members.boolean("several_engines", context.several_engines));
    WAVETAP_CHECK_OK(members.number("stream_rate", context.stream_rate));
    WAVETAP_CHECK_OK(members.text("on_full", context.on_full));
    if (context.on_full != "restart" && context.on_full != "end" && context.on_full != "chip")
        return bad_member(where, "on_full", "\"restart\", \"end\" or \"chip\"");
    WAVETAP_CHECK_OK(members.number("handler_slowness", context.handler_slowness));
    WAVETAP_CHECK_OK(members.number("hub_stall", context.hub_stall));
    if (context.handler_slowness > kMostPercent || context.hub_stall > kMostPercent)
        return bad_member(where, "handler_slowness or hub_stall", "at most 10000 percent");
    WAVETAP_CHECK_OK(members.boolean("detail", context.detail));
    WAVETAP_CHECK_OK(members.boolean("serialize_all", context.serialize_all));
    WAVETAP_CHECK_OK(parse_counters(object, where, context.perf_counters));
    WAVETAP_CHECK_OK(members.number("perf_period", context.perf_period));
    WAVETAP_CHECK_OK(members.number("perf_exclude_mask", context.perf_exclude_mask));
    WAVETAP_CHECK_OK(members.text("mode", context.mode));
    if (context.mode != "device" && context.mode != "dispatch")
        return Error{ErrorCode::kUnsupported, "mode \"" + context.mode + "\" is not known", where,
                     "the modes are device and dispatch"};
    return context;
}

} // namespace

Result<ToolConfig> parse_config(const std::string& text, const std::string& where) {
    const json root = json::parse(text, nullptr, false);
    if (!root.is_object())
        return Error{ErrorCode::kInvalidArgument, "this is not a JSON object", where,
                     "the file is written by `wavetap record`"};
    ToolConfig config;
    const Members members(root, where);
    WAVETAP_CHECK_OK(members.text("dir", config.dir));
    if (config.dir.empty()) return bad_member(where, "dir", "the path of a folder");
    WAVETAP_CHECK_OK(members.number("window", config.window));
    if (config.window == 0) return bad_member(where, "window", "at least 1");
    WAVETAP_CHECK_OK(members.boolean("rotate", config.rotate));
    WAVETAP_CHECK_OK(members.boolean("sharing", config.sharing));
    WAVETAP_CHECK_OK(members.text("turns", config.turns));
    if (config.turns != "launches" && config.turns != "completions")
        return bad_member(where, "turns", "\"launches\" or \"completions\"");
    WAVETAP_CHECK_OK(members.boolean("every_launch", config.every_launch));
    WAVETAP_CHECK_OK(members.regex("kernel", config.kernel));
    WAVETAP_CHECK_OK(members.regex("kernel_exclude", config.kernel_exclude));
    WAVETAP_CHECK_OK(members.text("packets", config.packets));
    if (config.packets != "wavetap" && config.packets != "aqlprofile")
        return bad_member(where, "packets", "\"wavetap\" or \"aqlprofile\"");
    WAVETAP_CHECK_OK(members.text("aqlprofile_library", config.aqlprofile_library));
    WAVETAP_CHECK_OK(members.text("timing", config.timing));
    if (config.timing != "modelled" && config.timing != "hardware")
        return bad_member(where, "timing", "\"modelled\" or \"hardware\"");
    if (const auto scale = root.find("deadline_scale"); scale != root.end()) {
        if (!scale->is_number() || !(scale->get<double>() > 0))
            return bad_member(where, "deadline_scale", "a number above 0");
        config.deadline_scale = scale->get<double>();
    }
    const auto contexts = root.find("contexts");
    if (contexts == root.end() || !contexts->is_array() || contexts->empty())
        return bad_member(where, "contexts", "a list of at least one context");
    for (const json& object : *contexts) {
        WAVETAP_TRY(ContextConfig context, parse_context(object, where));
        if (!config.contexts.empty() && context.mode != config.contexts.front().mode)
            return Error{ErrorCode::kUnsupported, "contexts of both modes in one process", where,
                         "record them one after the other"};
        if (config.turns == "completions" &&
            (context.mode != "device" || context.samples_counters()))
            return Error{ErrorCode::kUnsupported,
                         "turns by completions are for device mode without counters", where,
                         "leave \"turns\" out"};
        config.contexts.push_back(std::move(context));
    }
    config.mode = config.contexts.front().mode;
    return config;
}

Result<ToolConfig> read_config(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (!file.is_open() || file.bad())
        return Error{ErrorCode::kIo, "the tool's configuration cannot be read", path,
                     "WAVETAP_TOOL_CONFIG names it; `wavetap record` sets that"};
    return parse_config(text, path);
}

} // namespace wavetap::tool
