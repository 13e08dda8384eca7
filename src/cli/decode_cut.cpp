// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/decode_cut.hpp"

#include "base/units.hpp"
#include "store/files.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace wavetap::cli {
namespace {

using nlohmann::ordered_json;

Error bad_wish(std::string_view text) {
    return Error{ErrorCode::kInvalidArgument, "cannot read '" + std::string(text) + "'", "--cut",
                 "take dispatch:N (from 0) or time:A-B (shader clocks)"};
}

ordered_json dispatch_json(std::uint64_t index, const decode::DispatchExtent& extent) {
    const decode::DispatchRecord& record = extent.record;
    return {{"type", "dispatch"},          {"index", index},
            {"time", record.time},         {"me", record.me},
            {"pipe", record.pipe},         {"entry_pc", record.entry.absolute},
            {"threads", record.threads},   {"offset_bytes", record.offset_bytes},
            {"waves", extent.waves},       {"waves_ended", extent.waves_ended},
            {"end_time", extent.end_time}, {"end_offset_bytes", (extent.end_bits + 7) / 8}};
}

void print_dispatch(std::uint64_t index, const decode::DispatchExtent& extent) {
    const decode::DispatchRecord& record = extent.record;
    fmt::print("{:>10} dispatch:{:<9} entry={} work-group={}x{}x{} queue={}.{} waves={}{} until={} "
               "bytes={}-{}\n",
               record.time, index, format_hex(record.entry.absolute), record.threads[0],
               record.threads[1], record.threads[2], record.me, record.pipe, extent.waves,
               extent.waves_ended == extent.waves
                   ? ""
                   : fmt::format(" ({} open)", extent.waves - extent.waves_ended),
               extent.end_time, record.offset_bytes, (extent.end_bits + 7) / 8);
}

void print_event(const decode::EventRecord& event, bool json) {
    if (json) {
        fmt::print("{}\n", ordered_json{{"type", "event"},
                                        {"time", event.time},
                                        {"name", decode::event_kind_name(event.kind)},
                                        {"me", event.me},
                                        {"pipe", event.pipe},
                                        {"payload", event.payload},
                                        {"offset_bytes", event.offset_bytes}}
                               .dump());
        return;
    }
    fmt::print("{:>10} {:<18} queue={}.{} payload={} byte={}\n", event.time,
               decode::event_kind_name(event.kind), event.me, event.pipe, format_hex(event.payload),
               event.offset_bytes);
}

void print_window(const decode::BlobScan& scan, bool json) {
    std::size_t event = 0;
    const auto events_before = [&](std::uint64_t time) {
        for (; event < scan.events.size() && scan.events[event].time < time; ++event)
            print_event(scan.events[event], json);
    };
    for (std::size_t i = 0; i < scan.dispatches.size(); ++i) {
        events_before(scan.dispatches[i].record.time);
        if (json)
            fmt::print("{}\n", dispatch_json(scan.first_dispatch + i, scan.dispatches[i]).dump());
        else
            print_dispatch(scan.first_dispatch + i, scan.dispatches[i]);
    }
    events_before(~std::uint64_t{0});
}

} // namespace

Result<CutWish> parse_cut(std::string_view text) {
    CutWish wish;
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return bad_wish(text);
    const std::string_view kind = text.substr(0, colon);
    const std::string_view rest = text.substr(colon + 1);
    const auto number = [&](std::string_view word) { return parse_number(word); };
    if (kind == "dispatch") {
        const auto index = number(rest);
        if (!index) return bad_wish(text);
        wish.dispatch = *index;
        return wish;
    }
    const std::size_t dash = rest.find('-');
    if (kind != "time" || dash == std::string_view::npos) return bad_wish(text);
    const auto begin = number(rest.substr(0, dash));
    const auto end = number(rest.substr(dash + 1));
    if (!begin || !end || *begin >= *end) return bad_wish(text);
    wish.is_dispatch = false;
    wish.begin = *begin;
    wish.end = *end;
    return wish;
}

Result<decode::CutPlan> write_cut(const CutWish& wish, store::PieceReader& reader,
                                  const std::string& path) {
    PieceSource source(reader);
    auto plan = wish.is_dispatch ? decode::plan_dispatch(source, wish.dispatch, {})
                                 : decode::plan_window(source, wish.begin, wish.end, {});
    if (!plan) return plan;
    WAVETAP_TRY(store::NewFile file, store::NewFile::create(path));
    WAVETAP_CHECK_OK(decode::write_plan(
        source, *plan, [&](std::span<const std::byte> bytes) { return file.write(bytes); }));
    WAVETAP_CHECK_OK(file.finish());
    return plan;
}

Result<void> print_scan(store::PieceReader& reader, const decode::ScanOptions& options, bool json,
                        const std::function<void(const decode::BlobScan&)>& begin) {
    PieceSource source(reader);
    std::uint64_t records = 0; // of the blob
    decode::ScanWindow window{0, kScanAtATime};
    do {
        WAVETAP_TRY(const decode::BlobScan scan, decode::scan_blob(source, options, window));
        if (window.first == 0) begin(scan);
        print_window(scan, json);
        records = scan.dispatches_total + scan.events_total;
        window.first += window.most;
    } while (window.first < records);
    return {};
}

} // namespace wavetap::cli
