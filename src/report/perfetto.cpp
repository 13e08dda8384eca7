// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "report/perfetto.hpp"

#include "base/units.hpp"
#include "report/blob.hpp"
#include "report/timing.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace wavetap::report {
namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t kWriteBytes = std::size_t{1} << 20;

std::string dump(const json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Clocks as microseconds of the format, one clock a nanosecond.
std::string microseconds(std::int64_t clocks) {
    const bool negative = clocks < 0;
    const std::uint64_t size =
        negative ? 0 - static_cast<std::uint64_t>(clocks) : static_cast<std::uint64_t>(clocks);
    return fmt::format("{}{}.{:03}", negative ? "-" : "", size / 1000, size % 1000);
}

std::uint32_t track_of(const decode::WaveRecord& wave) {
    return std::uint32_t{wave.sa} << 20 | std::uint32_t{wave.cu} << 12 |
           std::uint32_t{wave.simd} << 6 | wave.slot;
}

class Writer {
  public:
    Writer(CodeTable& code, const PerfettoOptions& options, const TextSink& sink)
        : code_(code), options_(options), sink_(sink) {}

    Result<void> open() { return sink_("{\"displayTimeUnit\":\"ns\",\"traceEvents\":["); }

    Result<void> close(const std::string& timing) {
        const json metadata = {{"producer", "wavetap"},
                               {"timing", timing},
                               {"time_unit", "1 shader clock shown as 1 ns"}};
        return sink_("\n],\"otherData\":" + dump(metadata) + "}\n");
    }

    /// Some more waves of an engine; what comes before its absolute clock waits for it.
    Result<void> add(const Blob& blob) {
        const decode::BlobRecords& records = blob.records;
        if (records.generation == "gfx9" && !records.clock_base) {
            early_.insert(early_.end(), records.waves.begin(), records.waves.end());
            return {};
        }
        return add_waves(blob, records.waves);
    }

    /// The end of an engine.
    Result<void> end(const Blob& blob) {
        WAVETAP_CHECK_OK(add_waves(blob, {}));
        begun_ = false;
        return {};
    }

  private:
    Result<void> add_waves(const Blob& blob, const std::vector<decode::WaveRecord>& waves) {
        text_.clear();
        if (!begun_) {
            begun_ = true;
            ++process_;
            // Engines with absolute clocks stand on one time line; others begin at zero.
            shift_ = 0;
            if (blob.records.clock_base) {
                if (!origin_) origin_ = blob.records.clock_base;
                shift_ = static_cast<std::int64_t>(*blob.records.clock_base - *origin_);
            }
            name("process_name", 0,
                 fmt::format("{} run {} SE {} ({})", blob.agent->name, blob.run->info.id, blob.se,
                             blob.agent->timing));
            named_.clear();
        }
        const std::vector<decode::WaveRecord> early = std::exchange(early_, {});
        for (const auto* list : {&early, &waves}) {
            for (const decode::WaveRecord& wave : *list) {
                if (named_.insert(track_of(wave)).second)
                    name("thread_name", track_of(wave),
                         fmt::format("CU {} SIMD {} slot {}", wave.cu, wave.simd, wave.slot));
                add_wave(blob, wave);
                if (text_.size() < kWriteBytes) continue;
                WAVETAP_CHECK_OK(sink_(text_));
                text_.clear();
            }
        }
        return sink_(text_);
    }

    void event(const std::string& line) {
        text_ += first_ ? "\n" : ",\n";
        text_ += line;
        first_ = false;
    }

    void name(const char* kind, std::uint32_t track, const std::string& value) {
        event(dump({{"ph", "M"},
                    {"name", kind},
                    {"pid", process_},
                    {"tid", track},
                    {"args", {{"name", value}}}}));
    }

    void slice(std::uint32_t track, std::int64_t start, std::uint64_t clocks,
               const std::string& quoted_name, const json& arguments) {
        event(fmt::format(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":{},"args":{}}})",
                          process_, track, microseconds(start),
                          microseconds(static_cast<std::int64_t>(clocks)), quoted_name,
                          dump(arguments)));
    }

    void add_wave(const Blob& blob, const decode::WaveRecord& wave) {
        const auto place = code_.place(*blob.process, wave.entry);
        const code::Symbol* function = place ? code_.function(*place) : nullptr;
        const std::uint64_t end = std::max(wave.start, wave.end);
        slice(track_of(wave), shift_ + static_cast<std::int64_t>(wave.start), end - wave.start,
              dump(function != nullptr ? function->demangled : "wave"),
              {{"entry", format_hex(wave.entry.absolute)}, {"complete", wave.complete}});
        if (!options_.instructions) return;
        std::uint64_t from = wave.start;
        for (std::size_t i = 0; i < wave.instructions.size(); ++i) {
            const decode::InstructionRecord& now = wave.instructions[i];
            std::uint64_t until = now.time + now.duration;
            if (i + 1 < wave.instructions.size())
                until = std::min(until, wave.instructions[i + 1].time);
            if (wave.complete) until = std::min(until, end);
            const std::uint64_t start = std::max(from, now.time);
            if (until < start) continue;
            slice(track_of(wave), shift_ + static_cast<std::int64_t>(start), until - start,
                  instruction_name(blob, now),
                  {{"pc", format_hex(now.pc.absolute)},
                   {"latency", now.duration},
                   {"stall", now.stall}});
            from = until;
        }
    }

    const std::string& instruction_name(const Blob& blob, const decode::InstructionRecord& record) {
        const auto place = code_.place(*blob.process, record.pc);
        const std::pair<std::optional<CodePlace>, decode::Category> key{
            place, place ? decode::Category{} : record.category};
        const auto found = names_.find(key);
        if (found != names_.end()) return found->second;
        std::string text = decode::category_name(record.category);
        if (place) text = code_.instruction_text(*place);
        return names_.emplace(key, dump(text)).first->second;
    }

    CodeTable& code_;
    const PerfettoOptions& options_;
    const TextSink& sink_;
    std::map<std::pair<std::optional<CodePlace>, decode::Category>, std::string> names_;
    std::string text_;
    std::optional<std::uint64_t> origin_;
    std::uint32_t process_ = 0;
    // Of the engine that is being written.
    bool begun_ = false;
    std::int64_t shift_ = 0;
    std::set<std::uint32_t> named_;
    std::vector<decode::WaveRecord> early_;
    bool first_ = true;
};

} // namespace

Result<void> write_perfetto(const std::vector<store::TraceFolder>& folders, CodeTable& code,
                            const PerfettoOptions& options, const TextSink& sink) {
    Writer writer(code, options, sink);
    std::set<std::string> timings;
    WAVETAP_CHECK_OK(writer.open());
    for (const store::TraceFolder& folder : folders) {
        for (const store::ProcessTrace& process : folder.processes)
            for (const store::AgentInfo& agent : process.agents)
                timings.insert(agent.timing);
        Result<void> outcome;
        const auto add = [&](const Blob& blob) {
            if (outcome) outcome = writer.add(blob);
        };
        const auto end = [&](const Blob& blob) {
            if (outcome) outcome = writer.end(blob);
        };
        WAVETAP_CHECK_OK(visit_waves(folder, code, add, end));
        WAVETAP_CHECK_OK(std::move(outcome));
    }
    return writer.close(timing_word(timings));
}

} // namespace wavetap::report
