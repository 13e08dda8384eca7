// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/verify.hpp"

#include "base/units.hpp"
#include "cli/verify_match.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace wavetap::cli {

namespace {

using softgpu::TruthWave;

/// The clocks between which a run alone is answerable for its engines: from the end of the agent's
/// previous run to the start of the next one.
struct Window {
    std::uint64_t begin = 0, end = kNever;
};

/// One run of a context with the armed intervals that belong to it.
struct MatchedRun {
    const store::Run* run = nullptr;
    std::size_t context = 0;                                       ///< index into the report
    std::map<std::uint32_t, std::vector<ArmedInterval>> intervals; ///< by engine
    Window window;
};

constexpr ArmedInterval kNothing{kNever, kNever, kNever, 0};

using store::Segment;
using store::segments_of;

/// The rest of the segment was written by the hardware and never reached the folder: the process was
/// killed between two chunks, or the bytes could not be fetched. What came later counts as dropped.
bool broke_off(const Segment& segment) {
    return !segment.back()->end || segment.back()->lost;
}

class ProcessVerifier {
  public:
    ProcessVerifier(const store::ProcessTrace& process, const softgpu::Truth& truth,
                    const VerifySources& sources, VerifyReport& report)
        : process_(process), truth_(truth), sources_(sources), report_(report) {}

    void run();

  private:
    struct Agent {
        std::uint32_t index = 0;
        TruthIndex truth;
        CodeRanges code;
        std::vector<std::size_t> taken; ///< intervals used up, by engine
        std::vector<MatchedRun> runs;
    };

    void add_contexts();
    Agent& agent(std::uint32_t index);
    void match_runs();
    void set_windows(Agent& agent) const;
    void verify_run(Agent& agent, const MatchedRun& run);
    void verify_engine(Agent& agent, const MatchedRun& run, std::uint32_t se);
    void verify_unrequested_bytes(Agent& agent, const MatchedRun& run);
    void compare(const Agent& agent, const MatchedRun& run, std::uint32_t se,
                 const ArmedInterval& interval, const std::optional<decode::BlobRecords>& records);
    void never_armed(Agent& agent, const MatchedRun& run, std::uint32_t se);
    std::optional<decode::BlobRecords> decode(const Agent& agent, const MatchedRun& run,
                                              std::uint32_t se, const Segment& segment);
    void count_target_waves(Agent& agent, VerifyContext& context, const Window& window) const;
    void judge(Agent& agent);
    static void judge_samples(VerifyContext& context);
    void report_unrequested(const Agent& agent);

    const store::ProcessTrace& process_;
    const softgpu::Truth& truth_;
    const VerifySources& sources_;
    VerifyReport& report_;
    std::size_t first_context_ = 0;
    std::map<std::uint32_t, Agent> agents_;
};

void ProcessVerifier::add_contexts() {
    first_context_ = report_.contexts.size();
    for (const store::ContextInfo& info : process_.contexts) {
        VerifyContext context;
        context.pid = process_.pid;
        context.context = info;
        for (const store::AgentInfo& about : process_.agents) {
            if (about.index != info.agent) continue;
            context.chip = about.name;
            context.timing = about.timing;
        }
        report_.contexts.push_back(std::move(context));
        agent(info.agent);
    }
}

ProcessVerifier::Agent& ProcessVerifier::agent(std::uint32_t index) {
    const auto found = agents_.find(index);
    if (found != agents_.end()) return found->second;
    Agent made{index, TruthIndex(truth_, index), {}, {}, {}};
    for (const store::CodeObjectInfo& object : process_.code_objects)
        if (object.agent == index && !object.file.empty())
            made.code.add(object.load_base, object.load_bytes);
    return agents_.emplace(index, std::move(made)).first->second;
}

// The k-th time that an engine was armed belongs to the k-th run that asked for it.
void ProcessVerifier::match_runs() {
    std::vector<const store::Run*> runs;
    for (const store::Run& run : process_.runs)
        runs.push_back(&run);
    std::sort(runs.begin(), runs.end(),
              [](const store::Run* a, const store::Run* b) { return a->info.id < b->info.id; });
    for (const store::Run* run : runs) {
        const auto first = report_.contexts.begin() + static_cast<std::ptrdiff_t>(first_context_);
        const auto found =
            std::find_if(first, report_.contexts.end(), [&](const VerifyContext& context) {
                return context.context.id == run->info.context;
            });
        if (found == report_.contexts.end()) {
            report_.faults.push_back("process " + std::to_string(process_.pid) + ": run " +
                                     std::to_string(run->info.id) + " is of context " +
                                     std::to_string(run->info.context) +
                                     ", which the manifest does not have");
            continue;
        }
        ++found->runs;
        Agent& its_agent = agent(found->context.agent);
        MatchedRun matched;
        matched.run = run;
        matched.context = static_cast<std::size_t>(found - report_.contexts.begin());
        for (std::uint32_t se = 0; se < 64; ++se) {
            if ((found->context.se_mask >> se & 1) == 0) continue;
            if (its_agent.taken.size() <= se) its_agent.taken.resize(se + std::size_t{1});
            const std::vector<ArmedInterval>& all = its_agent.truth.intervals(se);
            std::size_t& taken = its_agent.taken[se];
            std::vector<ArmedInterval>& mine = matched.intervals[se];
            std::size_t wanted = std::max<std::size_t>(1, segments_of(*run, se).size());
            for (; wanted != 0 && taken < all.size(); --wanted)
                mine.push_back(all[taken++]);
        }
        its_agent.runs.push_back(std::move(matched));
    }
}

void ProcessVerifier::set_windows(Agent& agent) const {
    std::uint64_t end_of_previous = 0;
    for (MatchedRun& run : agent.runs) {
        run.window.begin = end_of_previous;
        for (const auto& [se, intervals] : run.intervals)
            for (const ArmedInterval& interval : intervals)
                end_of_previous = std::max(end_of_previous, interval.disarm);
    }
    std::uint64_t start_of_next = kNever;
    for (auto run = agent.runs.rbegin(); run != agent.runs.rend(); ++run) {
        run->window.end = start_of_next;
        for (const auto& [se, intervals] : run->intervals)
            for (const ArmedInterval& interval : intervals)
                start_of_next = std::min(start_of_next, interval.arm);
    }
}

std::optional<decode::BlobRecords> ProcessVerifier::decode(const Agent& agent,
                                                           const MatchedRun& run, std::uint32_t se,
                                                           const Segment& segment) {
    VerifyContext& context = report_.contexts[run.context];
    const std::string where =
        "run " + std::to_string(run.run->info.id) + ", SE " + std::to_string(se) + ": ";
    const auto failed = [&](const Error& error) {
        context.broken = true;
        add_fault(context, where + to_string(error));
    };
    std::vector<std::byte> bytes;
    for (const store::ChunkInfo* chunk : segment) {
        const auto part = sources_.read(*chunk);
        if (!part) {
            failed(part.error());
            return std::nullopt;
        }
        bytes.insert(bytes.end(), part->begin(), part->end());
    }
    if (bytes.empty()) return std::nullopt;
    auto records = sources_.decode(bytes, agent.index);
    if (!records) {
        failed(records.error());
        return std::nullopt;
    }
    return std::move(records).value();
}

void ProcessVerifier::never_armed(Agent& agent, const MatchedRun& run, std::uint32_t se) {
    VerifyContext& context = report_.contexts[run.context];
    context.broken = true;
    add_fault(context, "run " + std::to_string(run.run->info.id) + ", SE " + std::to_string(se) +
                           ": the engine was never armed for this run");
    const ArmedInterval interval{run.window.begin, run.window.end, kNever, 0};
    std::vector<Segment> segments = segments_of(*run.run, se);
    compare(agent, run, se, interval,
            segments.empty() ? std::nullopt : decode(agent, run, se, segments.front()));
}

void ProcessVerifier::verify_engine(Agent& agent, const MatchedRun& run, std::uint32_t se) {
    const std::vector<ArmedInterval>& intervals = run.intervals.at(se);
    if (intervals.empty()) {
        never_armed(agent, run, se);
        return;
    }
    VerifyContext& context = report_.contexts[run.context];
    const std::vector<Segment> segments = segments_of(*run.run, se);
    if (segments.empty())
        add_fault(context, "run " + std::to_string(run.run->info.id) + ", SE " +
                               std::to_string(se) + ": the folder has no bytes of this engine");
    for (std::size_t i = 0; i < std::max(segments.size(), intervals.size()); ++i) {
        std::optional<decode::BlobRecords> records;
        if (i < segments.size()) records = decode(agent, run, se, segments[i]);
        ArmedInterval interval = i < intervals.size() ? intervals[i] : kNothing;
        if (records && records->clock_base && broke_off(segments[i]))
            interval.first_drop =
                std::min(interval.first_drop, *records->clock_base + records->last_time);
        compare(agent, run, se, interval, records);
    }
}

void ProcessVerifier::verify_run(Agent& agent, const MatchedRun& run) {
    for (const auto& [se, intervals] : run.intervals)
        verify_engine(agent, run, se);
    verify_unrequested_bytes(agent, run);
}

// Whatever is in the bytes of an engine that nobody asked for is extra.
void ProcessVerifier::verify_unrequested_bytes(Agent& agent, const MatchedRun& run) {
    std::set<std::uint32_t> engines;
    for (const store::ChunkInfo& chunk : run.run->chunks)
        if (run.intervals.count(chunk.se) == 0) engines.insert(chunk.se);
    for (const std::uint32_t se : engines) {
        VerifyContext& context = report_.contexts[run.context];
        context.broken = true;
        add_fault(context, "run " + std::to_string(run.run->info.id) +
                               ": the folder has bytes of SE " + std::to_string(se) +
                               ", which was not asked for");
        for (const Segment& segment : segments_of(*run.run, se))
            compare(agent, run, se, kNothing, decode(agent, run, se, segment));
    }
}

void ProcessVerifier::compare(const Agent& agent, const MatchedRun& run, std::uint32_t se,
                              const ArmedInterval& interval,
                              const std::optional<decode::BlobRecords>& records) {
    StretchComparison{agent.truth, agent.code, run.run->info.id,
                      se,          interval,   records ? &*records : nullptr}
        .add_to(report_.contexts[run.context]);
}

void ProcessVerifier::count_target_waves(Agent& agent, VerifyContext& context,
                                         const Window& window) const {
    for (std::uint32_t se = 0; se < agent.truth.engines(); ++se) {
        if (se >= 64 || (context.context.se_mask >> se & 1) == 0) continue;
        for (const TruthWave* wave : agent.truth.waves(se, window.begin, window.end))
            if (wave->start >= window.begin && wave->end != 0 && wave->end < window.end &&
                on_target(context.context, wave->cu, wave->simd) &&
                agent.code.covers(wave->entry_pc))
                ++context.waves_on_target;
    }
}

void ProcessVerifier::judge(Agent& agent) {
    for (const MatchedRun& run : agent.runs)
        count_target_waves(agent, report_.contexts[run.context], run.window);
    for (std::size_t i = first_context_; i < report_.contexts.size(); ++i) {
        VerifyContext& context = report_.contexts[i];
        if (context.context.agent != agent.index) continue;
        if (context.runs == 0) count_target_waves(agent, context, Window{});
        judge_samples(context);
        const bool nothing = context.waves.expected == 0 ||
                             (context.context.detail && context.instructions.expected == 0);
        if (!nothing || context.waves_on_target == 0) continue;
        context.vacuous = true;
        add_fault(context, std::string(context.runs == 0 ? "the context never ran"
                                                         : "nothing was expected of the trace") +
                               ", although " + std::to_string(context.waves_on_target) +
                               " waves ran on its target");
    }
}

void ProcessVerifier::judge_samples(VerifyContext& context) {
    static constexpr std::string_view kMovedByEveryWave[] = {
        "SQ_WAVES",          "SQ_ITEMS",       "SQ_INSTS",          "SQ_BUSY_CYCLES",
        "SQ_BUSY_CU_CYCLES", "SQ_WAVE_CYCLES", "SQ_ACTIVE_INST_ANY"};
    const bool moved = std::ranges::any_of(context.context.perf_counters, [](const auto& counter) {
        return counter.simd_mask == 0xf &&
               std::ranges::find(kMovedByEveryWave, counter.name) != std::end(kMovedByEveryWave);
    });
    if (!moved || context.samples.expected != 0 || context.waves_sampled == 0) return;
    context.vacuous = true;
    add_fault(context, "no counter sample was expected of the trace, although " +
                           std::to_string(context.waves_sampled) + " waves ran where it samples");
}

void ProcessVerifier::report_unrequested(const Agent& agent) {
    for (std::uint32_t se = 0; se < agent.truth.engines(); ++se) {
        const std::size_t armed = agent.truth.intervals(se).size();
        const std::size_t taken = se < agent.taken.size() ? agent.taken[se] : 0;
        if (armed <= taken) continue;
        report_.unrequested += armed - taken;
        report_.faults.push_back("process " + std::to_string(process_.pid) + ", agent " +
                                 std::to_string(agent.index) + ": SE " + std::to_string(se) +
                                 " was armed " + std::to_string(armed - taken) +
                                 " times without a run that asked for it");
    }
}

void ProcessVerifier::run() {
    add_contexts();
    for (std::uint32_t i = 0; i < truth_.chips.size(); ++i)
        agent(i);
    match_runs();
    for (auto& [index, its_agent] : agents_) {
        set_windows(its_agent);
        for (const MatchedRun& matched : its_agent.runs)
            verify_run(its_agent, matched);
        judge(its_agent);
        report_unrequested(its_agent);
    }
    if (truth_.truncated)
        report_.notes.push_back("process " + std::to_string(process_.pid) +
                                ": the truth log ends inside a record; the process was killed");
    if (!process_.complete)
        report_.notes.push_back("process " + std::to_string(process_.pid) +
                                ": the manifest has no last line; the process was killed");
}

} // namespace

VerifyTally& VerifyTally::operator+=(const VerifyTally& other) {
    expected += other.expected;
    matched += other.matched;
    missing += other.missing;
    extra += other.extra;
    differing += other.differing;
    return *this;
}

VerifyApart& VerifyApart::operator+=(const VerifyApart& other) {
    open_at_start += other.open_at_start;
    open_at_end += other.open_at_end;
    dropped += other.dropped;
    dropped_tokens += other.dropped_tokens;
    without_code += other.without_code;
    without_entry += other.without_entry;
    return *this;
}

VerifyTally VerifyReport::total() const {
    VerifyTally sum;
    for (const VerifyContext& context : contexts) {
        sum += context.waves;
        sum += context.instructions;
        sum += context.samples;
    }
    return sum;
}

std::uint64_t VerifyReport::failed() const {
    const VerifyTally sum = total();
    return std::min(sum.expected, sum.missing + sum.differing + sum.extra + unrequested);
}

bool VerifyReport::good() const {
    return expected() != 0 && unrequested == 0 && faults.empty() &&
           std::all_of(contexts.begin(), contexts.end(),
                       [](const VerifyContext& context) { return context.good(); });
}

void verify_process(const store::ProcessTrace& process, const softgpu::Truth& truth,
                    const VerifySources& sources, VerifyReport& report) {
    ProcessVerifier(process, truth, sources, report).run();
}

} // namespace wavetap::cli
