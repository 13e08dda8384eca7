// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/verify.hpp"
#include "code/code_object.hpp"
#include "store/pieces.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

namespace wavetap::cli {

namespace {

/// Code objects of one process, parsed once, for decode::Options.
struct LoadedCode {
    std::vector<std::unique_ptr<code::CodeObject>> objects;
    std::map<std::uint32_t, std::vector<decode::LoadedObject>> by_agent;
};

Result<LoadedCode> load_code(const store::ProcessTrace& process) {
    LoadedCode loaded;
    for (const store::CodeObjectInfo& info : process.code_objects) {
        if (info.file.empty()) continue;
        WAVETAP_TRY(code::CodeObject object, code::CodeObject::load(process.dir + "/" + info.file));
        loaded.objects.push_back(std::make_unique<code::CodeObject>(std::move(object)));
        loaded.by_agent[info.agent].push_back(
            {loaded.objects.back().get(), info.load_base, info.id});
    }
    return loaded;
}

std::string chip_of(const store::ProcessTrace& process, std::uint32_t agent) {
    for (const store::AgentInfo& info : process.agents)
        if (info.index == agent) return info.name;
    return "";
}

/// Piece by piece; a segment without bytes is not handed over.
Result<void> decode_segment(const store::ProcessTrace& process, const store::Segment& segment,
                            decode::Options options, const TakeRecords& take) {
    constexpr std::uint64_t kWorthAThread = 64 * 1024;
    WAVETAP_TRY(store::PieceReader reader, store::PieceReader::open(process, segment));
    if (reader.bytes() == 0) return {};
    options.threads = static_cast<unsigned>(
        std::min<std::uint64_t>(options.threads, reader.bytes() / kWorthAThread + 1));
    decode::PieceDecoder decoder(options);
    while (!reader.at_end()) {
        WAVETAP_TRY(const auto piece, reader.next());
        WAVETAP_CHECK_OK(decoder.feed(piece));
        if (reader.at_end()) WAVETAP_CHECK_OK(decoder.finish());
        WAVETAP_CHECK_OK(take(decoder.records(), reader.at_end()));
        decoder.drop();
    }
    return {};
}

} // namespace

Result<VerifyReport> verify_folder(const store::TraceFolder& folder, unsigned threads) {
    VerifyReport report;
    report.dir = folder.dir;
    bool any_truth = false;
    for (const store::ProcessTrace& process : folder.processes) {
        if (process.truth_file.empty()) {
            if (process.runs.empty()) continue;
            return Error{ErrorCode::kNotFound,
                         "there is no truth log of process " + std::to_string(process.pid),
                         folder.dir,
                         "only a trace from the software GPU recorded with --truth can be "
                         "verified"};
        }
        any_truth = true;
        WAVETAP_TRY(const softgpu::TruthLog truth, softgpu::TruthLog::open(process.truth_file));
        WAVETAP_TRY(const LoadedCode loaded, load_code(process));
        VerifySources sources;
        sources.threads = threads;
        sources.decode = [&](const store::Segment& segment, std::uint32_t agent,
                             unsigned decoding_threads, const TakeRecords& take) {
            decode::Options options;
            options.gfx = chip_of(process, agent);
            options.threads = decoding_threads;
            const auto objects = loaded.by_agent.find(agent);
            if (objects != loaded.by_agent.end()) options.objects = objects->second;
            return decode_segment(process, segment, options, take);
        };
        WAVETAP_CHECK_OK(verify_process(process, truth, sources, report));
    }
    if (!any_truth)
        return Error{ErrorCode::kNotFound, "there is no truth log in the folder", folder.dir,
                     "record with --gpu soft:gfx90a --truth"};
    return report;
}

} // namespace wavetap::cli
