// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/long_trace.hpp"

#include "code/code_object.hpp"
#include "decode/decoder.hpp"
#include "softgpu/truth.hpp"
#include "store/files.hpp"
#include "store/pieces.hpp"
#include "store/trace_folder.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

// long_trace REAL.att CODE.elf BASE MEGABYTES DIR [truth]: a trace folder with one segment of the real
// kernel repeated, as the chunks of a capture with several buffers; with a truth log that agrees.

namespace {

using namespace wavetap;

int fail(const Error& error) {
    std::fprintf(stderr, "long_trace: %s\n", to_string(error).c_str());
    return 1;
}

/// To multiples of 4, as clocks of the software GPU are.
void round_timestamps(std::span<std::byte> real) {
    sqtt::TokenReader reader(sqtt::Generation::kGfx9, real, 64);
    std::vector<std::size_t> stamps;
    for (sqtt::Token token; reader.next(token);)
        if (token.type == sqtt::TokenType::kTimestamp) stamps.push_back(token.offset_bits / 8);
    for (const std::size_t at : stamps)
        real[at + 2] &= std::byte{0xFC};
}

Result<void> write(char** argv) {
    WAVETAP_TRY(std::vector<std::byte> real, store::read_file(argv[1]));
    round_timestamps(real);
    WAVETAP_TRY(const std::vector<std::byte> elf, store::read_file(argv[2]));
    const decode::LongTrace trace(sqtt::Generation::kGfx9, real);
    if (trace.empty()) return Error{ErrorCode::kCorrupt, "no kernel in the trace", argv[1], ""};
    WAVETAP_TRY(auto writer, store::FolderWriter::create(argv[5], 1));
    store::AgentInfo agent;
    agent.name = "gfx950";
    agent.shader_engines = 32;
    agent.cus_per_engine = 8;
    agent.simds_per_cu = 4;
    agent.timing = "hardware";
    WAVETAP_CHECK_OK(writer->agent(agent));
    store::ContextInfo context;
    std::uint64_t raw = 0;
    std::memcpy(&raw, real.data(), sizeof raw);
    WAVETAP_TRY(const sqtt::Header header, sqtt::parse_header(raw));
    context.cu = header.target_cu;
    context.buffers = 3;
    context.mode = "device";
    WAVETAP_CHECK_OK(writer->context(context));
    store::CodeObjectInfo object;
    object.id = 1;
    object.load_base = std::strtoull(argv[3], nullptr, 16);
    object.load_bytes = 1 << 20;
    WAVETAP_CHECK_OK(writer->code_object(object, elf));
    WAVETAP_CHECK_OK(writer->begin_run({}));
    const std::uint64_t wanted = std::strtoull(argv[4], nullptr, 10) * 1'000'000;
    std::vector<std::byte> bytes = trace.preamble();
    store::ChunkInfo chunk;
    std::uint64_t written = 0;
    for (std::uint64_t number = 0; !chunk.end || written == 0; ++number) {
        trace.append(number, bytes);
        chunk.end = written + bytes.size() >= wanted;
        if (!chunk.end && bytes.size() < 8'000'000) continue;
        WAVETAP_CHECK_OK(writer->chunk(chunk, bytes));
        written += bytes.size();
        bytes.clear();
        ++chunk.index;
        if (chunk.end) break;
    }
    WAVETAP_CHECK_OK(writer->end_run({}));
    return writer->finish();
}

/// A log of what the decoder finds: it shows nothing but what it costs to compare the two.
Result<void> write_truth(const std::string& dir) {
    WAVETAP_TRY(const store::TraceFolder folder, store::open_folder(dir));
    const store::ProcessTrace& process = folder.processes.at(0);
    const auto segments = store::segments_of(process.runs.at(0), 0);
    WAVETAP_TRY(store::PieceReader reader, store::PieceReader::open(process, segments.at(0)));
    const store::CodeObjectInfo& object = process.code_objects.at(0);
    WAVETAP_TRY(const code::CodeObject elf,
                code::CodeObject::load(store::code_object_path(process, object)));
    WAVETAP_TRY(auto writer, softgpu::TruthWriter::create(dir + "/truth-1.bin"));
    decode::Options options;
    options.gfx = process.agents.at(0).name;
    options.objects.push_back({&elf, object.load_base, object.id});
    decode::PieceDecoder decoder(options);
    writer->chip(0, options.gfx);
    std::uint64_t last = 0;
    while (!reader.at_end()) {
        WAVETAP_TRY(const auto piece, reader.next());
        WAVETAP_CHECK_OK(decoder.feed(piece));
        if (reader.at_end()) WAVETAP_CHECK_OK(decoder.finish());
        const decode::BlobRecords& records = decoder.records();
        const std::uint64_t base = records.clock_base.value_or(0);
        for (const decode::WaveRecord& wave : records.waves) {
            softgpu::TruthWave truth{0,
                                     0,
                                     0,
                                     wave.cu,
                                     wave.simd,
                                     wave.slot,
                                     wave.count,
                                     wave.entry.absolute,
                                     base + wave.start,
                                     base + wave.end,
                                     {}};
            for (const decode::InstructionRecord& each : wave.instructions) {
                const bool immediate = each.category == decode::Category::kImmed;
                truth.instructions.push_back(
                    {each.pc.absolute, base + each.time + each.stall - (immediate ? 4 : 0)});
            }
            std::sort(truth.instructions.begin(), truth.instructions.end(),
                      [](const auto& a, const auto& b) { return a.time < b.time; });
            last = std::max(last, truth.end);
            if (wave.complete && wave.start_seen) writer->wave(truth);
        }
        decoder.drop();
    }
    using Kind = softgpu::TruthTraceEvent::Kind;
    writer->trace_event({0, 0, Kind::kArm, 1, 0, 0, 0});
    writer->trace_event({0, 0, Kind::kDisarm, last + 1000, 0, 0, 0});
    return {};
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 6 && argc != 7) {
        std::fprintf(stderr, "usage: long_trace REAL.att CODE.elf BASE MEGABYTES DIR [truth]\n");
        return 2;
    }
    Result<void> done = write(argv);
    if (done && argc == 7) done = write_truth(argv[5]);
    return done ? 0 : fail(done.error());
}
