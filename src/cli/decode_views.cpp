// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/decode_views.hpp"

#include "base/units.hpp"
#include "decode/token_pieces.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

namespace wavetap::cli {

namespace {

using nlohmann::ordered_json;

void print_line(const ordered_json& object) {
    fmt::print("{}\n", object.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
}

// ---- tokens

void print_token(const sqtt::Token& token, sqtt::Generation generation, bool json) {
    const sqtt::TokenRow* row = sqtt::find_row(generation, token.type);
    const std::string name = sqtt::token_name(generation, token.type);
    ordered_json fields = ordered_json::object();
    std::string words;
    for (const sqtt::Field& field : row != nullptr ? row->fields : decltype(row->fields){}) {
        if (field.id == sqtt::FieldId::kNone || field.id == sqtt::FieldId::kPad ||
            field.id == sqtt::FieldId::kReserved)
            continue;
        const std::uint64_t value = token.field(field.bits);
        fields[sqtt::field_name(field.id)] = value;
        words += fmt::format(" {}={}", sqtt::field_name(field.id),
                             value < 10 ? std::to_string(value) : format_hex(value));
    }
    if (json) {
        print_line({{"type", "token"},
                    {"offset_bits", token.offset_bits},
                    {"bits", token.size_bits},
                    {"name", name},
                    {"delta", token.delta},
                    {"fields", std::move(fields)}});
    } else {
        fmt::print("{:>10}.{} {:<8} +{:<6}{}\n", token.offset_bits / 8, token.offset_bits % 8, name,
                   token.delta, words);
    }
}

// ---- events: everything that belongs to no single wave, by time

struct Event {
    std::uint64_t time;
    std::string name;
    ordered_json fields;
    std::size_t order = 0; ///< keeps those of one time in the order they were collected
};

void collect_code_objects(const decode::BlobRecords& records, std::vector<Event>& events) {
    for (const decode::CodeObjectEvent& object : records.code_objects) {
        ordered_json fields = {{"id", object.id}};
        if (!object.unload) {
            fields["address"] = object.address;
            fields["size"] = object.size;
            fields["from_start"] = object.from_start;
        }
        events.push_back({object.time, object.unload ? "code-object-unload" : "code-object-load",
                          std::move(fields)});
    }
}

std::vector<Event> collect_events(const decode::BlobRecords& records) {
    std::vector<Event> events;
    for (const decode::DispatchRecord& dispatch : records.dispatches)
        events.push_back({dispatch.time,
                          "dispatch",
                          {{"me", dispatch.me},
                           {"pipe", dispatch.pipe},
                           {"initiator", dispatch.initiator},
                           {"entry_pc", dispatch.entry.absolute},
                           {"threads", dispatch.threads},
                           {"rsrc1", dispatch.rsrc1},
                           {"rsrc2", dispatch.rsrc2},
                           {"packet_address", dispatch.packet_va},
                           {"offset_bytes", dispatch.offset_bytes}}});
    for (const decode::RealtimeRecord& sample : records.realtime)
        events.push_back({sample.time, "realtime", {{"counter", sample.counter}}});
    for (const decode::RegisterWrite& write : records.userdata_writes)
        events.push_back({write.time, "register", {{"reg", write.reg}, {"data", write.data}}});
    for (const decode::EventRecord& event : records.events) {
        if (event.kind == decode::EventKind::kCodeObjectLoad ||
            event.kind == decode::EventKind::kCodeObjectUnload)
            continue; // told in full below
        events.push_back({event.time,
                          decode::event_kind_name(event.kind),
                          {{"me", event.me},
                           {"pipe", event.pipe},
                           {"payload", event.payload},
                           {"offset_bytes", event.offset_bytes}}});
    }
    for (const decode::ShaderDataRecord& data : records.shader_data)
        events.push_back({data.time,
                          "shader-data",
                          {{"value", data.value},
                           {"sa", data.sa},
                           {"cu", data.cu},
                           {"simd", data.simd},
                           {"slot", data.slot},
                           {"immediate", data.immediate},
                           {"privileged", data.privileged}}});
    for (const decode::PerfRecord& sample : records.perf)
        events.push_back({sample.time,
                          "counters",
                          {{"cu", sample.cu},
                           {"bank", sample.bank},
                           {"c0", sample.counters[0]},
                           {"c1", sample.counters[1]},
                           {"c2", sample.counters[2]},
                           {"c3", sample.counters[3]}}});
    for (const decode::BlobRecords::OtherSimd& other : records.other_simd)
        events.push_back(
            {other.time,
             "other-simd",
             {{"category", decode::category_name(other.kind)}, {"cycles", other.cycles}}});
    collect_code_objects(records, events);
    for (std::size_t i = 0; i < events.size(); ++i)
        events[i].order = i;
    std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
        return std::tie(a.time, a.order) < std::tie(b.time, b.order);
    });
    return events;
}

std::string event_words(const ordered_json& fields) {
    std::string words;
    for (const auto& [name, value] : fields.items()) {
        const bool large = value.is_number_unsigned() && value.get<std::uint64_t>() >= 10;
        words += " " + name + "=" + (large ? format_hex(value.get<std::uint64_t>()) : value.dump());
    }
    return words;
}

void print_events(const decode::BlobRecords& records, bool json) {
    for (Event& event : collect_events(records)) {
        if (json) {
            ordered_json line = {{"type", "event"}, {"time", event.time}, {"name", event.name}};
            line.update(event.fields);
            print_line(line);
        } else {
            fmt::print("{:>10} {:<18}{}\n", event.time, event.name, event_words(event.fields));
        }
    }
}

// ---- waves and instructions

ordered_json wave_json(const decode::WaveRecord& wave, InstructionTexts& texts) {
    return {{"type", "wave"},
            {"start", wave.start},
            {"end", wave.end},
            {"sa", wave.sa},
            {"cu", wave.cu},
            {"simd", wave.simd},
            {"slot", wave.slot},
            {"me", wave.me},
            {"pipe", wave.pipe},
            {"count", wave.count},
            {"complete", wave.complete},
            {"start_seen", wave.start_seen},
            {"on_target", wave.on_target},
            {"entry_pc", wave.entry.absolute},
            {"code_object", wave.entry.code_object},
            {"kernel", texts.function(wave.entry)},
            {"instructions", wave.instructions.size()},
            {"with_pc", wave.with_pc},
            {"without_pc", wave.without_pc},
            {"lines_without_token", wave.lines_without_token}};
}

/// How badly the code fits, if it does; else nothing.
std::string misfit_words(const decode::WaveRecord& wave) {
    std::string words;
    if (wave.without_pc != 0) words += fmt::format(" {} without-pc", wave.without_pc);
    if (wave.lines_without_token != 0)
        words += fmt::format(" {} lines-without-token", wave.lines_without_token);
    return words;
}

/// gfx10 and later have shader arrays of WGPs; two of them may have a wave with all else equal.
std::string place_words(const decode::WaveRecord& wave, bool wgps) {
    const std::string words = fmt::format("simd {} slot {:>2}", wave.simd, wave.slot);
    return wgps ? fmt::format("sa {} wgp {:>2} {}", wave.sa, wave.cu, words)
                : fmt::format("cu {:>2} {}", wave.cu, words);
}

std::string kernel_words(const decode::WaveRecord& wave, InstructionTexts& texts) {
    const std::string kernel = texts.function(wave.entry);
    if (!kernel.empty()) return kernel;
    return wave.entry.absolute == 0 ? "?" : format_hex(wave.entry.absolute);
}

void print_wave(const decode::WaveRecord& wave, bool wgps, InstructionTexts& texts) {
    fmt::print("{:>10} {:>10} {} {:>7}{}{}{}{} {}\n", wave.start, wave.end, place_words(wave, wgps),
               wave.instructions.size(), wave.on_target ? " target" : "       ",
               wave.complete ? "" : " open", wave.start_seen ? "" : " start-not-seen",
               misfit_words(wave), kernel_words(wave, texts));
}

void print_waves(const decode::BlobRecords& records, bool json, InstructionTexts& texts) {
    const bool wgps = records.has_wgps();
    for (const decode::WaveRecord& wave : records.waves) {
        if (json) {
            print_line(wave_json(wave, texts));
        } else {
            print_wave(wave, wgps, texts);
        }
    }
}

void print_instruction(std::size_t wave, const decode::InstructionRecord& inst, bool json,
                       InstructionTexts& texts) {
    if (json) {
        print_line({{"type", "instruction"},
                    {"wave", wave},
                    {"time", inst.time},
                    {"duration", inst.duration},
                    {"stall", inst.stall},
                    {"category", decode::category_name(inst.category)},
                    {"pc", inst.pc.absolute},
                    {"elf_address", inst.pc.elf_address},
                    {"code_object", inst.pc.code_object},
                    {"text", texts.text(inst.pc)}});
        return;
    }
    const std::uint64_t address = inst.pc.code_object != 0 ? inst.pc.elf_address : inst.pc.absolute;
    fmt::print("{:>10} {:>6} {:>6} {:<6} {:>8} {}\n", inst.time, inst.duration, inst.stall,
               decode::category_name(inst.category), address == 0 ? "?" : format_hex(address),
               texts.text(inst.pc));
}

/// Of a wave with number `i`.
void print_instructions(const decode::WaveRecord& wave, bool wgps, std::size_t i, bool json,
                        InstructionTexts& texts) {
    if (wave.instructions.empty()) return;
    if (json) {
        ordered_json line = wave_json(wave, texts);
        line["wave"] = i;
        print_line(line);
    } else {
        fmt::print("wave {}: {}, {} to {},{} {}\n", i, place_words(wave, wgps), wave.start,
                   wave.end, misfit_words(wave), kernel_words(wave, texts));
        fmt::print("{:>10} {:>6} {:>6} {:<6} {:>8} {}\n", "time", "cycles", "stall", "class",
                   "address", "instruction");
    }
    for (const decode::InstructionRecord& inst : wave.instructions)
        print_instruction(i, inst, json, texts);
}

void print_diagnostics(const decode::BlobRecords& records, bool json) {
    for (const decode::Diagnostic& fault : records.diagnostics) {
        if (json) {
            print_line({{"type", "diagnostic"},
                        {"kind", fault.kind},
                        {"severity", fault.severity},
                        {"count", fault.count},
                        {"first_offset_bytes", fault.first_offset_bytes},
                        {"first_time", fault.first_time},
                        {"sentence", fault.sentence},
                        {"advice", fault.advice}});
        } else {
            fmt::print("{}: {} ({} times, first at byte {}, clock {}): {}\n", fault.severity,
                       fault.kind, fault.count, fault.first_offset_bytes, fault.first_time,
                       fault.text());
        }
    }
}

} // namespace

std::optional<report::CodePlace> InstructionTexts::place(const decode::Pc& pc) const {
    if (process_ != nullptr) return table_.place(*process_, pc);
    if (pc.code_object == 0 || table_.size() == 0) return std::nullopt;
    return report::CodePlace{0, pc.elf_address};
}

std::string InstructionTexts::text(const decode::Pc& pc) {
    const auto found = place(pc);
    return found ? table_.instruction_text(*found) : "";
}

std::string InstructionTexts::function(const decode::Pc& pc) {
    const auto found = place(pc);
    const code::Symbol* symbol = found ? table_.function(*found) : nullptr;
    return symbol != nullptr ? symbol->demangled : "";
}

void ViewPrinter::begin(const decode::BlobRecords& records) const {
    if (view_ == DecodeView::kWaves && !json_)
        fmt::print("{:>10} {:>10} {:<{}} {:>7} {:>7}kernel\n", "start", "end", "place",
                   records.has_wgps() ? 26 : 20, "insts", "");
}

void ViewPrinter::part(const decode::BlobRecords& records) {
    switch (view_) {
    case DecodeView::kTokens:
        break;
    case DecodeView::kEvents:
        print_events(records, json_);
        break;
    case DecodeView::kWaves:
        print_waves(records, json_, *texts_);
        break;
    case DecodeView::kInstructions:
        for (const decode::WaveRecord& wave : records.waves)
            print_instructions(wave, records.has_wgps(), wave_++, json_, *texts_);
        break;
    }
}

void ViewPrinter::end(const decode::BlobRecords& records) const {
    print_diagnostics(records, json_);
}

Result<void> print_tokens(store::PieceReader& reader, std::uint64_t used_bytes, bool json) {
    reader.rewind();
    decode::TokenPieces tokens;
    // The last token may end with zeros, as may the header.
    constexpr std::uint64_t kLongestToken = 16;
    std::uint64_t left = used_bytes + kLongestToken;
    for (bool last = false; !last;) {
        WAVETAP_TRY(auto piece, reader.next());
        last = piece.empty() || piece.size() >= left;
        piece = piece.first(std::min<std::uint64_t>(piece.size(), left));
        left -= piece.size();
        WAVETAP_CHECK_OK(
            tokens.feed(piece, last, [&](const sqtt::Token& token, sqtt::Generation generation) {
                if (token.offset_bits < used_bytes * 8) print_token(token, generation, json);
            }));
    }
    return {};
}

} // namespace wavetap::cli
