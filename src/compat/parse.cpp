// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "compat/parse.hpp"

#include "compat/abi_sink.hpp"
#include "compat/isa_source.hpp"
#include "decode/elf_source.hpp"
#include "decode/engine.hpp"

#include <cstring>
#include <optional>

namespace wavetap::compat {
namespace {

Status status_of(const Error& error) {
    return error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kUnsupported
               ? kInvalidShaderData
               : kError;
}

Status decode(const Job& job, std::span<const std::byte> bytes, Said& said) {
    std::uint64_t raw = 0;
    if (bytes.size() < sizeof raw) return kInvalidShaderData;
    std::memcpy(&raw, bytes.data(), sizeof raw);
    const Result<sqtt::Header> header = sqtt::parse_header(raw);
    if (!header) return status_of(header.error());

    std::vector<decode::LoadedObject> objects;
    std::optional<IsaSource> callback;
    std::optional<decode::ElfSource> elf;
    decode::CodeSource* source = nullptr;
    if (job.isa != nullptr) {
        const bool gfx12 = header->generation != sqtt::Generation::kGfx9 && header->version >= 4;
        source = &callback.emplace(job.isa, job.isa_user, gfx12);
    } else if (!job.code.empty()) {
        for (const GivenCode& given : job.code)
            objects.push_back({given.object.get(), given.load_address, given.id});
        auto created = decode::ElfSource::create(job.code.front().object->gfx(), objects);
        if (!created) return status_of(created.error());
        source = &elf.emplace(std::move(*created));
    }
    decode::CodeMap code(source, objects);
    decode::Diagnostics diagnostics;
    AbiSink sink({job.record, job.record_user, job.wanted, job.hidden_latency}, code, *header,
                 said);
    decode::StreamOptions options;
    options.insert_barrier_waits = true;
    const auto totals = decode::decode_stream(bytes, options, code, sink, diagnostics);
    if (!totals) return status_of(totals.error());
    sink.finish(diagnostics, totals->counter_frequency_khz);
    return kSuccess;
}

std::span<const std::byte> span_of(const std::uint8_t* data, std::uint64_t size) {
    return std::as_bytes(std::span(data, static_cast<std::size_t>(size)));
}

} // namespace

Status parse_buffer(const Job& job, const std::uint8_t* data, std::uint64_t size) {
    Said said;
    return decode(job, span_of(data, size), said);
}

Status parse_buffers(const Job& job, SeDataCallback next, void* next_user) {
    Said said;
    for (;;) {
        std::uint8_t* data = nullptr;
        std::uint64_t size = 0;
        if (next(&data, &size, next_user) == 0) return kSuccess;
        if (data == nullptr || size == 0) return kInvalidShaderData;
        const Status status = decode(job, span_of(data, size), said);
        if (status != kSuccess) return status;
    }
}

} // namespace wavetap::compat
