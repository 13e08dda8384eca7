// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/soak.hpp"
#include "cli/words.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace wavetap::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMostRefusals = 4;

std::uint64_t number(const ordered_json& object, const char* name) {
    return object.is_object() ? object.value(name, std::uint64_t{0}) : 0;
}

struct Column {
    std::uint64_t captured = 0, contexts = 0, queues = 0, slots = 0, threads = 0, refused = 0;
    std::uint64_t output_bytes = 0, device_peak = 0, ioctls = 0, objects = 0;
};

Column column_of(const Summary& summary) {
    Column column;
    column.captured = summary.captured();
    column.contexts = summary.contexts.size();
    for (const ordered_json& agent : ordered_json::parse(summary.agents_json)) {
        column.slots += number(agent, "output_slots");
        column.output_bytes += number(agent, "output_bytes");
        column.threads += number(agent, "threads");
        column.refused += number(agent, "refused");
    }
    const ordered_json driver = ordered_json::parse(summary.driver_json);
    if (driver.is_object() && driver.contains("queues_by_owner"))
        column.queues = number(driver["queues_by_owner"], "wavetap");
    column.device_peak = number(driver, "vram_peak_bytes");
    column.ioctls = number(driver, "ioctls");
    column.objects = number(driver, "buffer_objects_peak");
    return column;
}

} // namespace

SoakApart soak_apart(Summary summary) {
    SoakApart apart;
    for (const auto& [severity, text] : summary.notes)
        if (severity == "error" && text.find("did not start") != std::string::npos)
            apart.refusals.push_back(text);
    apart.summary = std::move(summary);
    return apart;
}

std::string soak_compare_text(const SoakAnswer& shared, const SoakApart& apart) {
    const Column a = column_of(shared.summary), b = column_of(apart.summary);
    std::string text = fmt::format("\n  {:<26} {:>14} {:>22}\n", "", "shared", "of each context");
    const auto row = [&text](const char* name, const std::string& left, const std::string& right) {
        text += fmt::format("  {:<26} {:>14} {:>22}\n", name, left, right);
    };
    row("contexts captured", fmt::format("{}/{}", a.captured, a.contexts),
        fmt::format("{}/{}", b.captured, b.contexts));
    row("starts refused", grouped(a.refused), grouped(b.refused));
    row("wavetap's queues (driver)", grouped(a.queues), grouped(b.queues));
    row("output buffers", grouped(a.slots), grouped(b.slots));
    row("  their bytes", size_text(a.output_bytes), size_text(b.output_bytes));
    row("device memory (driver)", size_text(a.device_peak), size_text(b.device_peak));
    row("buffer objects (driver)", grouped(a.objects), grouped(b.objects));
    row("ioctls of the whole run", grouped(a.ioctls), grouped(b.ioctls));
    row("threads", grouped(a.threads), grouped(b.threads));
    for (std::size_t i = 0; i < std::min(apart.refusals.size(), kMostRefusals); ++i)
        text += "  ! " + apart.refusals[i] + "\n";
    if (apart.refusals.size() > kMostRefusals)
        text += fmt::format("  ! … and {} more\n", apart.refusals.size() - kMostRefusals);
    text += fmt::format("soak: without sharing {}: {}/{} contexts captured\n",
                        apart.good() ? "good" : "failed", b.captured, b.contexts);
    return text;
}

std::string soak_compare_json(const SoakAnswer& shared, const SoakApart& apart) {
    const Column column = column_of(apart.summary);
    ordered_json object = ordered_json::parse(soak_json(shared));
    object["no_sharing"] = {{"good", apart.good()},
                            {"captured", column.captured},
                            {"refused", column.refused},
                            {"refusals", apart.refusals},
                            {"agents", ordered_json::parse(apart.summary.agents_json)},
                            {"driver", ordered_json::parse(apart.summary.driver_json)}};
    return object.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

} // namespace wavetap::cli
