// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/task_pool.hpp"
#include "base/units.hpp"
#include "cli/decode_cut.hpp"
#include "cli/decode_views.hpp"
#include "cli/session.hpp"
#include "cli/trace_dir.hpp"
#include "decode/golden.hpp"
#include "store/files.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>

namespace wavetap::cli {

namespace {

constexpr const char* kFooter = R"(Examples:
  wavetap decode trace --insts                              every instruction of every traced wave
  wavetap decode se0.att --code kernel.elf --base 0x7f0000001000 --insts
  wavetap decode se0.att --tokens | head
  wavetap decode trace --waves --json > waves.jsonl
  wavetap decode se0.att --scan                             dispatches and events, the quick way
  wavetap decode se0.att --cut dispatch:0 -o first.att      one dispatch as a trace of its own
--json writes one object a line. --base is the address in memory of ELF address 0.)";

struct Options {
    std::string input, code, base, cut, output;
    bool tokens = false, events = false, waves = false, insts = false, golden = false;
    bool scan = false, json = false;
    unsigned threads = 0;

    int views() const {
        return tokens + events + waves + insts + golden + scan + (cut.empty() ? 0 : 1);
    }
    DecodeView view() const {
        if (tokens) return DecodeView::kTokens;
        if (events) return DecodeView::kEvents;
        return insts ? DecodeView::kInstructions : DecodeView::kWaves;
    }
};

struct Input {
    std::string label; ///< what a user calls it
    std::vector<std::byte> bytes;
    decode::Options options;
    const store::ProcessTrace* process = nullptr; ///< null for one file
};

Error at_input(Error error, const Input& input) {
    error.where = input.label + (error.where.empty() ? "" : ": " + error.where);
    return error;
}

Result<void> show_scan(const Options& options, const Input& input, bool with_label) {
    const auto scan = decode::scan_blob(input.bytes, {input.options.objects, std::nullopt});
    if (!scan) return at_input(scan.error(), input);
    if (options.json) {
        const nlohmann::ordered_json line = {{"type", "blob"},
                                             {"format", "wavetap-scan"},
                                             {"version", 1},
                                             {"file", input.label},
                                             {"dispatches", scan->dispatches.size()},
                                             {"events", scan->events.size()},
                                             {"last_time", scan->last_time}};
        fmt::print("{}\n",
                   line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    } else if (with_label) {
        fmt::print("== {}\n", input.label);
    }
    print_scan(*scan, options.json);
    return {};
}

Result<void> cut_file(const Options& options) {
    WAVETAP_TRY(const CutWish wish, parse_cut(options.cut));
    Input input;
    input.label = options.input;
    WAVETAP_TRY(input.bytes, store::read_file(options.input));
    const auto cut = write_cut(wish, input.bytes, options.output);
    if (!cut) return cut.error().where.empty() ? at_input(cut.error(), input) : cut.error();
    if (options.json)
        fmt::print("{}\n", nlohmann::ordered_json{{"format", "wavetap-cut"},
                                                  {"version", 1},
                                                  {"file", options.output},
                                                  {"bytes", cut->bytes.size()},
                                                  {"begin_time", cut->begin_time},
                                                  {"piece_offset_bytes", cut->slice_offset},
                                                  {"from_offset_bytes", cut->begin_bits / 8}}
                               .dump());
    else
        fmt::print("{}: {} bytes, from byte {} of {}\n", options.output, cut->bytes.size(),
                   cut->begin_bits / 8, options.input);
    return {};
}

using Decoded = std::optional<Result<decode::BlobRecords>>;

/// Prints one blob; the label is a line of its own where there are several.
Result<void> show(const Options& options, const Input& input, const Decoded& decoded,
                  report::CodeTable& table, bool with_label) {
    if (options.scan) return show_scan(options, input, with_label);
    const Result<decode::BlobRecords>& records = *decoded;
    if (!records) return at_input(records.error(), input);
    if (options.golden) {
        const std::string name = std::filesystem::path(input.label).filename().string();
        fmt::print("{}\n", decode::golden_json(*records, {name, -1, input.bytes.size()}));
        return {};
    }
    if (options.json) {
        const nlohmann::ordered_json line = {{"type", "blob"},
                                             {"format", "wavetap-decode"},
                                             {"version", 1},
                                             {"file", input.label},
                                             {"generation", records->generation},
                                             {"header", records->header},
                                             {"tokens", records->tokens_total},
                                             {"first_time", records->first_time},
                                             {"last_time", records->last_time},
                                             {"waves", records->waves.size()},
                                             {"instructions", records->instructions}};
        fmt::print("{}\n",
                   line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    } else if (with_label) {
        fmt::print("== {}\n", input.label);
    }
    InstructionTexts texts(table, input.process);
    print_view(options.view(), options.json, *records, input.bytes, texts);
    return {};
}

Result<void> decode_file(const Options& options) {
    Input input;
    input.label = options.input;
    WAVETAP_TRY(input.bytes, store::read_file(options.input));
    report::CodeTable table;
    if (!options.code.empty()) {
        WAVETAP_TRY(code::CodeObject object, code::CodeObject::load(options.code));
        std::uint64_t base = 0;
        if (!options.base.empty()) {
            WAVETAP_TRY(base, parse_number(options.base));
        }
        const std::uint32_t number = table.add_object(std::move(object), options.code);
        input.options.gfx = table.object(number).gfx();
        input.options.objects.push_back({&table.object(number), base, 0});
    }
    input.options.threads = options.threads;
    Decoded decoded;
    if (!options.scan) decoded.emplace(decode::decode_blob(input.bytes, input.options));
    return show(options, input, decoded, table, false);
}

/// The blobs of a run: the segments of each engine, joined.
Result<std::vector<Input>> blobs_of(const store::ProcessTrace& process, const store::Run& run) {
    std::set<std::uint32_t> engines;
    for (const store::ChunkInfo& chunk : run.chunks)
        engines.insert(chunk.se);
    std::vector<Input> inputs;
    for (const std::uint32_t se : engines) {
        for (const store::Segment& segment : store::segments_of(run, se)) {
            Input input;
            input.label = process.dir + "/" + segment.front()->file;
            WAVETAP_TRY(input.bytes, store::read_segment(process, segment));
            inputs.push_back(std::move(input));
        }
    }
    return inputs;
}

/// Decodes as many side by side as the pool has threads, and prints them in order.
Result<void> show_all(const Options& options, std::vector<Input>& inputs, report::CodeTable& table,
                      TaskPool& pool) {
    for (std::size_t first = 0; first < inputs.size(); first += pool.threads()) {
        const std::size_t count = std::min<std::size_t>(pool.threads(), inputs.size() - first);
        std::vector<Decoded> decoded(count);
        if (!options.scan)
            pool.for_each(count, [&](std::size_t i) {
                Input& input = inputs[first + i];
                input.options.threads = std::max(1U, pool.threads() / static_cast<unsigned>(count));
                decoded[i].emplace(decode::decode_blob(input.bytes, input.options));
            });
        for (std::size_t i = 0; i < count; ++i) {
            WAVETAP_CHECK_OK(show(options, inputs[first + i], decoded[i], table, true));
            decoded[i].reset();
            inputs[first + i].bytes = {};
        }
    }
    return {};
}

const store::AgentInfo* agent_of(const store::ProcessTrace& process, const store::Run& run) {
    for (const store::ContextInfo& context : process.contexts) {
        if (context.id != run.info.context) continue;
        for (const store::AgentInfo& agent : process.agents) {
            if (agent.index == context.agent) return &agent;
        }
    }
    return nullptr;
}

Result<void> decode_folder(const Options& options) {
    WAVETAP_TRY(const store::TraceFolder folder, open_one(options.input));
    report::CodeTable table;
    TaskPool pool(thread_count(options.threads));
    for (const store::ProcessTrace& process : folder.processes) {
        table.add(process);
        for (const store::Run& run : process.runs) {
            const store::AgentInfo* agent = agent_of(process, run); // the reader has checked it
            WAVETAP_TRY(std::vector<Input> inputs, blobs_of(process, run));
            for (Input& input : inputs) {
                input.process = &process;
                if (agent == nullptr) continue;
                input.options.gfx = agent->name;
                input.options.objects = table.loaded(process, agent->index);
            }
            WAVETAP_CHECK_OK(show_all(options, inputs, table, pool));
        }
    }
    for (const std::string& problem : table.problems())
        note(problem);
    return {};
}

Result<void> decode(const Options& options) {
    if (options.views() > 1)
        return Error{ErrorCode::kInvalidArgument, "more than one view was asked for", "",
                     "take one of --tokens, --events, --waves, --insts, --golden, --scan, --cut"};
    if (options.cut.empty() != options.output.empty())
        return Error{ErrorCode::kInvalidArgument, "--cut and -o go together", "",
                     "as in `--cut dispatch:0 -o piece.att`"};
    std::error_code code;
    const bool folder = options.input.empty() || std::filesystem::is_directory(options.input, code);
    if (folder && (!options.code.empty() || !options.base.empty()))
        return Error{ErrorCode::kInvalidArgument, "--code and --base are for one file", "",
                     "a trace folder names its own code objects"};
    if (!options.cut.empty()) {
        if (!folder) return cut_file(options);
        return Error{ErrorCode::kInvalidArgument, "--cut is for one file", options.input,
                     "name one .att file of the folder, or `wavetap export DIR --to att`"};
    }
    if (!options.base.empty() && options.code.empty())
        return Error{ErrorCode::kInvalidArgument, "--base without --code", "--base",
                     "add --code with the ELF file that was loaded there"};
    return folder ? decode_folder(options) : decode_file(options);
}

} // namespace

void add_decode(CLI::App& app, Session& session) {
    CLI::App* command = app.add_subcommand("decode", "print what a trace says, record by record");
    const auto options = std::make_shared<Options>();
    command->add_option("FILE.att|DIR", options->input,
                        "bytes of one shader engine, or a trace folder (default: the newest)");
    command->add_option("--code", options->code, "code object of FILE.att")->type_name("ELF");
    command->add_option("--base", options->base, "where it was loaded (default 0)")
        ->type_name("ADDR");
    command->add_flag("--tokens", options->tokens, "the packets of the stream");
    command->add_flag("--events", options->events, "dispatches, clocks, register writes, markers");
    command->add_flag("--waves", options->waves, "waves (the default)");
    command->add_flag("--insts", options->insts, "instructions of the waves on the target");
    command->add_flag("--golden", options->golden, "one JSON object with everything");
    command->add_flag("--scan", options->scan,
                      "dispatches and events only, without decoding waves");
    command->add_option("--cut", options->cut, "write a piece that decodes alone: needs -o")
        ->type_name("dispatch:N|time:A-B");
    command->add_option("-o", options->output, "the file that --cut writes")->type_name("FILE");
    add_threads_option(*command, options->threads);
    command->add_flag("--json", options->json, "one JSON object a line");
    command->footer(kFooter);
    command->callback([options, &session] {
        if (const Result<void> done = decode(*options); !done)
            session.status = fail(done.error(), kUsage);
    });
}

} // namespace wavetap::cli
