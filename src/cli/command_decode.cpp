// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/task_pool.hpp"
#include "base/units.hpp"
#include "cli/decode_cut.hpp"
#include "cli/decode_views.hpp"
#include "cli/options.hpp"
#include "cli/trace_dir.hpp"
#include "decode/golden.hpp"

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
Records come as the trace is read, half a MiB at a time; within that they are in order of time.
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
    store::PieceReader reader;
    decode::Options options;
    const store::ProcessTrace* process = nullptr; ///< null for one file
};

Error at_input(Error error, const Input& input) {
    error.where = input.label + (error.where.empty() ? "" : ": " + error.where);
    return error;
}

void print_line(const nlohmann::ordered_json& line) {
    fmt::print("{}\n", line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

Result<void> show_scan(const Options& options, Input& input, bool with_label) {
    const auto begin = [&](const decode::BlobScan& scan) {
        if (options.json) {
            print_line({{"type", "blob"},
                        {"format", "wavetap-scan"},
                        {"version", 1},
                        {"file", input.label},
                        {"dispatches", scan.dispatches_total},
                        {"events", scan.events_total},
                        {"last_time", scan.last_time}});
        } else if (with_label) {
            fmt::print("== {}\n", input.label);
        }
    };
    const auto printed =
        print_scan(input.reader, {input.options.objects, std::nullopt}, options.json, begin);
    return printed ? printed : at_input(printed.error(), input);
}

Result<void> cut_file(const Options& options) {
    WAVETAP_TRY(const CutWish wish, parse_cut(options.cut));
    WAVETAP_TRY(store::PieceReader reader, store::PieceReader::open(options.input));
    const auto cut = write_cut(wish, reader, options.output);
    if (!cut) {
        Error error = cut.error();
        if (error.where.empty()) error.where = options.input;
        return error;
    }
    if (options.json)
        fmt::print("{}\n", nlohmann::ordered_json{{"format", "wavetap-cut"},
                                                  {"version", 1},
                                                  {"file", options.output},
                                                  {"bytes", cut->bytes()},
                                                  {"begin_time", cut->begin_time},
                                                  {"piece_offset_bytes", cut->preamble.size()},
                                                  {"from_offset_bytes", cut->begin_bits / 8}}
                               .dump());
    else
        fmt::print("{}: {} bytes, from byte {} of {}\n", options.output, cut->bytes(),
                   cut->begin_bits / 8, options.input);
    return {};
}

/// Decodes the next piece; true if it was the last one.
Result<bool> step(Input& input, decode::PieceDecoder& decoder) {
    WAVETAP_TRY(const auto piece, input.reader.next());
    if (const auto fed = decoder.feed(piece); !fed) return at_input(fed.error(), input);
    if (!input.reader.at_end()) return false;
    if (const auto ended = decoder.finish(); !ended) return at_input(ended.error(), input);
    return true;
}

/// One line that says what is in a blob, which is known when it was decoded whole.
Result<void> print_blob_line(Input& input) {
    decode::Options options = input.options;
    options.want_events = false;
    options.want_instructions = false; // counted all the same
    decode::PieceDecoder decoder(options);
    std::uint64_t waves = 0;
    for (bool done = false; !done;) {
        WAVETAP_TRY(done, step(input, decoder));
        waves += decoder.records().waves.size();
        decoder.drop();
    }
    const decode::BlobRecords& records = decoder.records();
    print_line({{"type", "blob"},
                {"format", "wavetap-decode"},
                {"version", 1},
                {"file", input.label},
                {"generation", records.generation},
                {"header", records.header},
                {"tokens", records.tokens_total},
                {"first_time", records.first_time},
                {"last_time", records.last_time},
                {"waves", waves},
                {"instructions", records.instructions}});
    input.reader.rewind();
    return {};
}

/// A small blob has no work for many.
unsigned useful_threads(const Options& options, const Input& input) {
    constexpr std::uint64_t kWorthAThread = 64 * 1024;
    return static_cast<unsigned>(std::min<std::uint64_t>(thread_count(options.threads),
                                                         input.reader.bytes() / kWorthAThread + 1));
}

Result<void> show_golden(Input& input) {
    decode::PieceDecoder decoder(input.options);
    for (bool done = false; !done;) {
        WAVETAP_TRY(done, step(input, decoder));
    }
    const std::string name = std::filesystem::path(input.label).filename().string();
    fmt::print("{}\n", decode::golden_json(decoder.records(), {name, -1, input.reader.bytes()}));
    return {};
}

/// Prints one blob piece by piece, so that none is whole in memory; the label is a line of its own
/// where there are several.
Result<void> show(const Options& options, Input& input, report::CodeTable& table, bool with_label) {
    if (options.scan) return show_scan(options, input, with_label);
    if (options.golden) return show_golden(input);
    if (options.json) WAVETAP_CHECK_OK(print_blob_line(input));
    const DecodeView view = options.view();
    input.options.want_events = view == DecodeView::kEvents;
    decode::PieceDecoder decoder(input.options);
    InstructionTexts texts(table, input.process);
    ViewPrinter printer(view, options.json, texts);
    bool begun = false;
    for (bool done = false; !done;) {
        WAVETAP_TRY(done, step(input, decoder));
        if (!begun) {
            if (!options.json && with_label) fmt::print("== {}\n", input.label);
            printer.begin(decoder.records());
        }
        begun = true;
        printer.part(decoder.records());
        decoder.drop();
    }
    if (view == DecodeView::kTokens)
        WAVETAP_CHECK_OK(print_tokens(input.reader, decoder.records().used_bytes, options.json));
    printer.end(decoder.records());
    return {};
}

Result<void> decode_file(const Options& options) {
    WAVETAP_TRY(store::PieceReader reader, store::PieceReader::open(options.input));
    Input input{options.input, std::move(reader), {}};
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
    input.options.threads = useful_threads(options, input);
    return show(options, input, table, false);
}

/// The blobs of a run: the segments of each engine, joined.
Result<std::vector<Input>> blobs_of(const store::ProcessTrace& process, const store::Run& run) {
    std::set<std::uint32_t> engines;
    for (const store::ChunkInfo& chunk : run.chunks)
        engines.insert(chunk.se);
    std::vector<Input> inputs;
    for (const std::uint32_t se : engines) {
        for (const store::Segment& segment : store::segments_of(run, se)) {
            WAVETAP_TRY(store::PieceReader reader, store::PieceReader::open(process, segment));
            inputs.push_back(
                {process.dir + "/" + segment.front()->file, std::move(reader), {}, &process});
        }
    }
    return inputs;
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
    for (const store::ProcessTrace& process : folder.processes) {
        table.add(process);
        for (const store::Run& run : process.runs) {
            const store::AgentInfo* agent = agent_of(process, run); // the reader has checked it
            WAVETAP_TRY(std::vector<Input> inputs, blobs_of(process, run));
            for (Input& input : inputs) {
                if (agent != nullptr) {
                    input.options.gfx = agent->name;
                    input.options.objects = table.loaded(process, agent->index);
                }
                input.options.threads = useful_threads(options, input);
                WAVETAP_CHECK_OK(show(options, input, table, true));
            }
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
    Command command(app, "decode", "print what a trace says, record by record");
    const auto options = std::make_shared<Options>();
    command.option("FILE.att|DIR", options->input,
                   "bytes of one shader engine, or a trace folder (default: the newest)");
    command.option("--code", options->code, "code object of FILE.att", "ELF");
    command.option("--base", options->base, "where it was loaded (default 0)", "ADDR");
    command.flag("--tokens", options->tokens, "the packets of the stream");
    command.flag("--events", options->events,
                 "dispatches, clocks, register writes, markers, counters");
    command.flag("--waves", options->waves, "waves (the default)");
    command.flag("--insts", options->insts, "instructions of the waves on the target");
    command.flag("--golden", options->golden, "one JSON object with everything");
    command.flag("--scan", options->scan, "dispatches and events only, without decoding waves");
    command.option("--cut", options->cut, "write a piece that decodes alone: needs -o",
                   "dispatch:N|time:A-B");
    command.option("-o", options->output, "the file that --cut writes", "FILE");
    command.threads_option(options->threads);
    command.flag("--json", options->json, "one JSON object a line");
    command.footer(kFooter);
    command.callback([options, &session] {
        if (const Result<void> done = decode(*options); !done)
            session.status = fail(done.error(), kUsage);
    });
}

} // namespace wavetap::cli
