// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "report/rcv.hpp"

#include "report/blob.hpp"
#include "report/hot_spots.hpp"
#include "store/files.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace wavetap::report {
namespace {

using json = nlohmann::ordered_json;

constexpr std::uint32_t kMostStall = 0xFFFF;
constexpr std::size_t kMostSourceBytes = std::size_t{4} << 20;

unsigned major_version(const std::string& generation) {
    if (generation == "gfx9") return 9;
    if (generation == "gfx10") return 10;
    return generation == "gfx11" ? 11 : 12;
}

/// The folder of one run.
class RunFolder {
  public:
    RunFolder(const std::string& dir, CodeTable& code) : dir_(dir), code_(code), spots_(code, 0) {}

    /// Some more records of an engine.
    Result<void> add(const Blob& blob) {
        process_ = blob.process;
        timing_ = blob.agent->timing;
        gfx_ = major_version(blob.records.generation);
        spots_.add_waves(blob);
        const std::string se = std::to_string(blob.se);
        for (const decode::WaveRecord& wave : blob.records.waves) {
            add_occupancy(se, wave);
            if (!wave.on_target || wave.instructions.empty()) continue;
            const unsigned number = numbers_[{wave.simd, wave.slot}]++;
            WAVETAP_CHECK_OK(add_wave(se, wave, number));
        }
        for (const decode::RealtimeRecord& sample : blob.records.realtime)
            realtime_["SE" + se].push_back({sample.time, sample.counter});
        const auto keep = [](auto& list, const auto& more) {
            list.insert(list.end(), more.begin(), more.end());
        };
        keep(rest_.other_simd, blob.records.other_simd);
        keep(rest_.shader_data, blob.records.shader_data);
        keep(rest_.perf, blob.records.perf);
        return {};
    }

    /// The end of an engine.
    Result<void> end(const Blob& blob) {
        process_ = blob.process;
        timing_ = blob.agent->timing;
        gfx_ = major_version(blob.records.generation);
        spots_.add(blob);
        const std::string se = std::to_string(blob.se);
        std::vector<OccupancyRow>& occupancy = occupancy_[se];
        std::sort(occupancy.begin(), occupancy.end());
        if (blob.records.counter_frequency_khz != 0)
            frequency_ = std::uint64_t{blob.records.counter_frequency_khz} * 1000;
        WAVETAP_CHECK_OK(add_other_simd(se, blob));
        WAVETAP_CHECK_OK(add_shader_data(se));
        WAVETAP_CHECK_OK(add_counters(se, blob));
        forget();
        return {};
    }
    /// The records of an engine that could not be read to its end.
    void forget() {
        rest_ = {};
        numbers_.clear();
    }

    Result<void> finish() {
        WAVETAP_CHECK_OK(write_code());
        WAVETAP_CHECK_OK(write_occupancy());
        json realtime = {{"metadata", {{"frequency", frequency_}}}};
        for (auto& [se, samples] : realtime_)
            realtime[se] = std::move(samples);
        WAVETAP_CHECK_OK(write("realtime.json", realtime));
        json counters = json::array();
        for (const std::string& name : counters_)
            counters.push_back(name);
        json names = {{"wave_filenames", waves_.empty() ? json::object() : json(waves_)},
                      {"gfxip", gfx_},
                      {"gfxv", gfx_ <= 9 ? "vega" : "navi"},
                      {"counter_names", std::move(counters)},
                      {"global_begin_time", 0},
                      {"version", "3.0.0"}};
        if (!other_simd_.empty()) names["other_simd_filenames"] = other_simd_;
        if (!shader_data_.empty()) names["shaderdata_filenames"] = shader_data_;
        WAVETAP_CHECK_OK(write("wavetap.json", {{"producer", "wavetap"}, {"timing", timing_}}));
        return write("filenames.json", names); // last: it makes the folder one of the viewer's
    }

  private:
    /// A wave comes or goes. By time; at one time ends before starts, as a slot must be free to be taken.
    struct OccupancyRow {
        std::uint64_t time = 0;
        bool begins = false;
        std::uint16_t cu = 0;
        std::uint8_t simd = 0, slot = 0;
        std::uint32_t kernel = 0;
        auto operator<=>(const OccupancyRow&) const = default;
    };

    /// Row by row, since there are two for each wave.
    Result<void> write_occupancy() {
        constexpr std::size_t kWriteBytes = std::size_t{1} << 20;
        WAVETAP_TRY(store::NewFile file, store::NewFile::create(dir_ + "/occupancy.json"));
        std::string text = "{";
        for (const auto& [se, rows] : occupancy_) {
            text += "\"" + se + "\":[";
            for (std::size_t i = 0; i < rows.size(); ++i) {
                const OccupancyRow& row = rows[i];
                text += fmt::format("{}[{},{},{},{},{},{}]", i == 0 ? "" : ",", row.time, row.cu,
                                    row.simd, row.slot, row.begins ? 1 : 0, row.kernel);
                if (text.size() < kWriteBytes) continue;
                WAVETAP_CHECK_OK(file.write(text));
                text.clear();
            }
            text += "],";
        }
        json kernels = json::object();
        for (const auto& [name, id] : kernels_)
            kernels[std::to_string(id)] = name;
        text += "\"dispatches\":" + kernels.dump(-1, ' ', false, json::error_handler_t::replace) +
                ",\"version\":\"3.0.0\"}\n";
        WAVETAP_CHECK_OK(file.write(text));
        return file.finish();
    }

    Result<void> write(const std::string& name, const json& value) {
        const std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
        return store::write_new_file(dir_ + "/" + name, std::as_bytes(std::span(text)));
    }

    /// The number that joins instructions and code rows; 0 = the code is not known.
    std::uint32_t line_of(const decode::Pc& pc) {
        const auto place = code_.place(*process_, pc);
        if (!place) return 0;
        return lines_.emplace(*place, static_cast<std::uint32_t>(lines_.size() + 1)).first->second;
    }

    std::uint32_t kernel_of(const decode::Pc& entry) {
        const auto place = code_.place(*process_, entry);
        const code::Symbol* function = place ? code_.function(*place) : nullptr;
        if (function == nullptr) return 0;
        return kernels_
            .emplace(function->demangled, static_cast<std::uint32_t>(kernels_.size() + 1))
            .first->second;
    }

    static unsigned cu_of(const decode::WaveRecord& wave) { return wave.sa << 7 | wave.cu; }

    void add_occupancy(const std::string& se, const decode::WaveRecord& wave) {
        const std::uint32_t kernel = kernel_of(wave.entry);
        const auto cu = static_cast<std::uint16_t>(cu_of(wave));
        std::vector<OccupancyRow>& rows = occupancy_[se];
        rows.push_back({wave.start_seen ? wave.start : 0, true, cu, wave.simd, wave.slot, kernel});
        if (wave.complete) rows.push_back({wave.end, false, cu, wave.simd, wave.slot, kernel});
    }

    Result<void> add_wave(const std::string& se, const decode::WaveRecord& wave, unsigned number) {
        json instructions = json::array();
        std::uint64_t stitched = 0;
        for (const decode::InstructionRecord& each : wave.instructions) {
            const std::uint32_t line = line_of(each.pc);
            stitched += line != 0;
            instructions.push_back({each.time, static_cast<unsigned>(each.category) + 1,
                                    std::min(each.stall, kMostStall), each.duration, line});
        }
        json timeline = json::array();
        for (const auto& [state, clocks] : wave.timeline)
            timeline.push_back({static_cast<unsigned>(state), clocks});
        const std::string name =
            fmt::format("se{}_sm{}_sl{}_wv{}.json", se, wave.simd, wave.slot, number);
        const std::uint64_t end = std::max(wave.start, wave.end);
        waves_[se][std::to_string(wave.simd)][std::to_string(wave.slot)][std::to_string(number)] = {
            name, wave.start, end};
        return write(name, {{"name", "SE" + se},
                            {"duration", end - wave.start},
                            {"num_stitched", stitched},
                            {"num_insts", wave.instructions.size()},
                            {"wave",
                             {{"cu", cu_of(wave)},
                              {"id", number},
                              {"simd", wave.simd},
                              {"slot", wave.slot},
                              {"begin", wave.start},
                              {"end", end},
                              {"dispatcher", wave.me << 4 | wave.pipe},
                              {"workgroup_id", wave.workgroup},
                              {"cluster_id", wave.cluster},
                              {"instructions", std::move(instructions)},
                              {"timeline", std::move(timeline)},
                              {"waitcnt", json::array()}}}});
    }

    Result<void> add_other_simd(const std::string& se, const Blob& blob) {
        const auto& records = rest_.other_simd;
        if (records.empty()) return {};
        json rows = json::array();
        for (const auto& record : records)
            rows.push_back({record.time, record.cycles, static_cast<unsigned>(record.kind) + 1});
        const std::string name = "other_simd_se" + se + "_0.json";
        const std::uint64_t begin = records.front().time;
        const std::uint64_t end = records.back().time + records.back().cycles;
        other_simd_[se].push_back({name, begin, end});
        return write(name, {{"type", "OTHER_SIMD_INSTRUCTIONS"},
                            {"begin_time", begin},
                            {"end_time", end},
                            {"wgp", blob.records.header_fields.contains("DWGP")
                                        ? blob.records.header_fields.at("DWGP")
                                        : 0},
                            {"instructions_schema", {"time", "duration", "category"}},
                            {"instructions_count", rows.size()},
                            {"instructions", std::move(rows)}});
    }

    Result<void> add_shader_data(const std::string& se) {
        const auto& records = rest_.shader_data;
        if (records.empty()) return {};
        json rows = json::array();
        for (const auto& record : records)
            rows.push_back({record.time, record.value, record.sa << 7 | record.cu, record.simd,
                            record.slot, (record.immediate ? 1 : 0) | (record.privileged ? 2 : 0)});
        const std::string name = "shaderdata_" + se + "_0.json";
        shader_data_[se].push_back({name, records.front().time, records.back().time});
        return write(name, {{"begin_time", records.front().time},
                            {"end_time", records.back().time},
                            {"records_count", rows.size()},
                            {"records", std::move(rows)}});
    }

    Result<void> add_counters(const std::string& se, const Blob& blob) {
        if (rest_.perf.empty()) return {};
        // One list for all engines: that of the first context that samples.
        if (counters_.empty() && blob.context != nullptr)
            for (const store::PerfCounterInfo& counter : blob.context->perf_counters)
                counters_.push_back(counter.name);
        json rows = json::array();
        for (const decode::PerfRecord& each : rest_.perf)
            rows.push_back({each.time, each.counters[0], each.counters[1], each.counters[2],
                            each.counters[3], each.cu, each.bank});
        return write("se" + se + "_perfcounter.json", {{"data", std::move(rows)}});
    }

    Result<void> write_code() {
        std::map<CodePlace, const InstructionRow*> rows;
        const HotSpots spots = spots_.finish();
        for (const InstructionRow& row : spots.by_instruction)
            rows.emplace(row.place, &row);
        json code = json::array();
        code.push_back({"; code that is not known", 0, 0, "", 0, 0, 0, 0, 0, 0});
        const code::Symbol* current = nullptr;
        std::uint32_t label = static_cast<std::uint32_t>(lines_.size()) + 1;
        std::set<std::string> sources;
        for (const auto& [place, line] : lines_) {
            const code::Symbol* function = code_.function(place);
            if (function != nullptr && function != current)
                code.push_back({"; " + function->name, 0, label++, function->demangled,
                                place.object + 1, function->address, 0, 0, 0, 0});
            current = function;
            const auto found = rows.find(place);
            const Sums sums = found == rows.end() ? Sums{} : found->second->sums;
            std::string source;
            if (found != rows.end()) {
                for (const code::SourceLine& each : found->second->source) {
                    source += (source.empty() ? "" : " -> ") + each.file + ":" +
                              std::to_string(each.line);
                    sources.insert(each.file);
                }
            }
            code.push_back({code_.instruction_text(place), 0, line, source, place.object + 1,
                            place.elf_address, sums.hits, sums.latency, sums.stall, sums.idle});
        }
        WAVETAP_CHECK_OK(write("code.json", {{"version", "3.0.0"},
                                             {"header", "ISA, _, LineNumber, Source, Codeobj, "
                                                        "Vaddr, Hit, Latency, Stall, Idle"},
                                             {"code", std::move(code)}}));
        return write_sources(sources);
    }

    /// A tree by the parts of the paths; the leaves name copies of the files that are here.
    Result<void> write_sources(const std::set<std::string>& files) {
        json tree = json::object();
        unsigned number = 0;
        for (const std::string& file : files) {
            const std::filesystem::path path(file);
            std::error_code code;
            const auto size = std::filesystem::file_size(path, code);
            if (code || size > kMostSourceBytes) continue;
            const auto bytes = store::read_file(file);
            if (!bytes) continue;
            const std::string name =
                "source_" + std::to_string(number++) + "_" + path.filename().string();
            WAVETAP_CHECK_OK(store::write_new_file(dir_ + "/" + name, *bytes));
            json* node = &tree;
            for (const auto& part : path)
                node = &(*node)[part.string()];
            *node = name;
        }
        return write("snapshots.json", tree);
    }

    std::string dir_;
    CodeTable& code_;
    HotSpotBuilder spots_;
    const store::ProcessTrace* process_ = nullptr;
    std::string timing_;
    unsigned gfx_ = 9;
    std::uint64_t frequency_ = 100'000'000;
    std::map<CodePlace, std::uint32_t> lines_;
    std::map<std::string, std::uint32_t> kernels_;
    std::map<std::string, std::vector<OccupancyRow>> occupancy_;
    std::map<std::string, std::vector<json>> realtime_, other_simd_, shader_data_;
    std::vector<std::string> counters_; ///< names, in the order of the samples
    // Of the engine that is being read.
    decode::BlobRecords rest_;                                  ///< what is written at its end
    std::map<std::pair<unsigned, unsigned>, unsigned> numbers_; ///< waves by SIMD and slot
    std::map<std::string, std::map<std::string, std::map<std::string, std::map<std::string, json>>>>
        waves_; ///< engine, SIMD, slot, number
};

/// Makes one folder a run and segment: each segment has a clock of its own.
class Writer {
  public:
    Writer(CodeTable& code, const std::string& dir) : code_(code), dir_(dir) {}

    Result<void> add(const Blob& blob) {
        WAVETAP_TRY(RunFolder * folder, folder_of(blob));
        return folder->add(blob);
    }
    Result<void> end(const Blob& blob) {
        if (blob.error) { // `health` tells of it
            if (const auto open = open_.find(blob.segment); open != open_.end())
                open->second->forget();
            return {};
        }
        WAVETAP_TRY(RunFolder * folder, folder_of(blob));
        return folder->end(blob);
    }
    Result<void> finish() {
        for (const auto& [segment, folder] : open_)
            WAVETAP_CHECK_OK(folder->finish());
        open_.clear();
        run_ = nullptr;
        return {};
    }
    std::vector<std::string> folders() const { return folders_; }

  private:
    Result<RunFolder*> folder_of(const Blob& blob) {
        if (blob.run != run_) {
            WAVETAP_CHECK_OK(finish());
            run_ = blob.run;
        }
        std::unique_ptr<RunFolder>& folder = open_[blob.segment];
        if (!folder) {
            const std::uint64_t dispatch = blob.run->info.first_dispatch != 0
                                               ? blob.run->info.first_dispatch
                                               : std::uint64_t{blob.run->info.id} + 1;
            const std::string name =
                fmt::format("{}/ui_output_agent_{}_dispatch_{}", dir_, blob.agent->index, dispatch);
            std::string unique = name;
            for (unsigned i = 2; !used_.insert(unique).second; ++i)
                unique = name + "_" + std::to_string(i);
            WAVETAP_CHECK_OK(store::make_directories(unique));
            folders_.push_back(unique);
            folder = std::make_unique<RunFolder>(unique, code_);
        }
        return folder.get();
    }

    CodeTable& code_;
    std::string dir_;
    const store::Run* run_ = nullptr;
    std::map<std::uint32_t, std::unique_ptr<RunFolder>> open_; ///< of the run, by segment
    std::set<std::string> used_;
    std::vector<std::string> folders_;
};

} // namespace

Result<std::vector<std::string>> write_rcv(const std::vector<store::TraceFolder>& folders,
                                           CodeTable& code, const std::string& dir) {
    Writer writer(code, dir);
    for (const store::TraceFolder& folder : folders) {
        Result<void> outcome;
        const auto add = [&](const Blob& blob) {
            if (outcome) outcome = writer.add(blob);
        };
        const auto end = [&](const Blob& blob) {
            if (outcome) outcome = writer.end(blob);
        };
        WAVETAP_CHECK_OK(visit_pieces(folder, code, add, end));
        WAVETAP_CHECK_OK(std::move(outcome));
        WAVETAP_CHECK_OK(writer.finish());
    }
    return writer.folders();
}

} // namespace wavetap::report
