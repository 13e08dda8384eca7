// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/long_trace.hpp"

#include "store/files.hpp"
#include "store/trace_folder.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

// long_trace REAL.att CODE.elf BASE MEGABYTES DIR: a trace folder with one segment of the real kernel
// repeated, as the chunks of a capture with several buffers.

namespace {

using namespace wavetap;

int fail(const Error& error) {
    std::fprintf(stderr, "long_trace: %s\n", to_string(error).c_str());
    return 1;
}

Result<void> write(char** argv) {
    WAVETAP_TRY(const std::vector<std::byte> real, store::read_file(argv[1]));
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

} // namespace

int main(int argc, char** argv) {
    if (argc != 6) {
        std::fprintf(stderr, "usage: long_trace REAL.att CODE.elf BASE MEGABYTES DIR\n");
        return 2;
    }
    const Result<void> done = write(argv);
    return done ? 0 : fail(done.error());
}
