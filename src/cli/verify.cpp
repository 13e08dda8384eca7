// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/verify.hpp"

#include "base/task_pool.hpp"
#include "base/units.hpp"
#include "cli/verify_match.hpp"

#include <algorithm>
#include <iterator>
#include <map>
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
    ProcessVerifier(const store::ProcessTrace& process, const softgpu::TruthLog& truth,
                    const VerifySources& sources, VerifyReport& report)
        : process_(process), truth_(truth), sources_(sources), report_(report),
          pool_(thread_count(sources.threads)) {}

    Result<void> run();

  private:
    struct Agent {
        std::uint32_t index = 0;
        AgentTruth truth;
        CodeRanges code;
        std::vector<std::size_t> taken; ///< intervals used up, by engine
        std::vector<MatchedRun> runs;
    };

    /// One engine of one run, compared by any thread.
    struct Job {
        const Agent* agent = nullptr;
        const MatchedRun* run = nullptr;
        std::uint32_t se = 0;
        bool requested = true;
        unsigned threads = 1; ///< that decode
        VerifyContext found;  ///< what it adds to the run's context
        Result<void> outcome;
    };

    void add_contexts();
    Agent& agent(std::uint32_t index);
    void match_runs();
    void set_windows(Agent& agent) const;
    void add_jobs(const Agent& agent, const MatchedRun& run, std::vector<Job>& jobs) const;
    Result<void> verify_engines();
    Result<void> verify_engine(Job& job) const;
    Result<void> verify_unrequested_bytes(Job& job) const;
    Result<void> never_armed(Job& job) const;
    /// `segment` null: there are no bytes.
    Result<void> compare(Job& job, const ArmedInterval& interval, const Segment* segment) const;
    Result<void> read_dispatches();
    Result<void> count_target_waves();
    void judge(const Agent& agent);
    static void judge_samples(VerifyContext& context);
    void report_unrequested(const Agent& agent);

    const store::ProcessTrace& process_;
    const softgpu::TruthLog& truth_;
    const VerifySources& sources_;
    VerifyReport& report_;
    TaskPool pool_;
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
    Agent made{index, AgentTruth(truth_, index), {}, {}, {}};
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

std::string place_of(const store::Run& run, std::uint32_t se) {
    return "run " + std::to_string(run.info.id) + ", SE " + std::to_string(se) + ": ";
}

Result<void> ProcessVerifier::compare(Job& job, const ArmedInterval& interval,
                                      const Segment* segment) const {
    const store::Run& run = *job.run->run;
    StretchComparison comparison({job.agent->truth, job.agent->code, run.info.id, job.se, interval},
                                 job.found, sources_.most_waiting_bytes);
    std::uint64_t first_drop = kNever;
    Result<void> settled; // an error of the truth log is one of all
    if (segment != nullptr) {
        const auto take = [&](decode::BlobRecords& records, bool last) -> Result<void> {
            comparison.add(records);
            if (last && records.clock_base && broke_off(*segment))
                first_drop = *records.clock_base + records.last_time;
            if (last || comparison.waiting_bytes() <= sources_.most_waiting_bytes) return {};
            settled = comparison.settle();
            return settled;
        };
        const Result<void> decoded = sources_.decode(*segment, job.agent->index, job.threads, take);
        WAVETAP_CHECK_OK(settled);
        if (!decoded) {
            job.found.broken = true;
            add_fault(job.found, place_of(run, job.se) + to_string(decoded.error()));
        }
    }
    return comparison.finish(first_drop);
}

Result<void> ProcessVerifier::never_armed(Job& job) const {
    job.found.broken = true;
    add_fault(job.found,
              place_of(*job.run->run, job.se) + "the engine was never armed for this run");
    const std::vector<Segment> segments = segments_of(*job.run->run, job.se);
    return compare(job, {job.run->window.begin, job.run->window.end, kNever, 0},
                   segments.empty() ? nullptr : &segments.front());
}

Result<void> ProcessVerifier::verify_engine(Job& job) const {
    if (!job.requested) return verify_unrequested_bytes(job);
    const std::vector<ArmedInterval>& intervals = job.run->intervals.at(job.se);
    if (intervals.empty()) return never_armed(job);
    const std::vector<Segment> segments = segments_of(*job.run->run, job.se);
    if (segments.empty())
        add_fault(job.found,
                  place_of(*job.run->run, job.se) + "the folder has no bytes of this engine");
    for (std::size_t i = 0; i < std::max(segments.size(), intervals.size()); ++i)
        WAVETAP_CHECK_OK(compare(job, i < intervals.size() ? intervals[i] : kNothing,
                                 i < segments.size() ? &segments[i] : nullptr));
    return {};
}

// Whatever is in the bytes of an engine that nobody asked for is extra.
Result<void> ProcessVerifier::verify_unrequested_bytes(Job& job) const {
    job.found.broken = true;
    add_fault(job.found, "run " + std::to_string(job.run->run->info.id) +
                             ": the folder has bytes of SE " + std::to_string(job.se) +
                             ", which was not asked for");
    for (const Segment& segment : segments_of(*job.run->run, job.se))
        WAVETAP_CHECK_OK(compare(job, kNothing, &segment));
    return {};
}

void ProcessVerifier::add_jobs(const Agent& agent, const MatchedRun& run,
                               std::vector<Job>& jobs) const {
    const auto add = [&](std::uint32_t se, bool requested) {
        Job job{&agent, &run, se, requested, 1, {}, {}};
        job.found.context = report_.contexts[run.context].context;
        jobs.push_back(std::move(job));
    };
    for (const auto& [se, intervals] : run.intervals)
        add(se, true);
    std::set<std::uint32_t> others;
    for (const store::ChunkInfo& chunk : run.run->chunks)
        if (run.intervals.count(chunk.se) == 0) others.insert(chunk.se);
    for (const std::uint32_t se : others)
        add(se, false);
}

// Side by side, and told in the order of agents, runs and engines.
Result<void> ProcessVerifier::verify_engines() {
    std::vector<Job> jobs;
    for (const auto& [index, its_agent] : agents_)
        for (const MatchedRun& run : its_agent.runs)
            add_jobs(its_agent, run, jobs);
    // What few engines leave idle decodes inside of them.
    const auto count = static_cast<unsigned>(std::min<std::size_t>(jobs.size(), pool_.threads()));
    for (Job& job : jobs)
        job.threads = pool_.threads() / std::max(1U, count);
    pool_.for_each(jobs.size(), [&](std::size_t i) { jobs[i].outcome = verify_engine(jobs[i]); });
    for (const Job& job : jobs) {
        WAVETAP_CHECK_OK(job.outcome);
        VerifyContext& context = report_.contexts[job.run->context];
        context.waves += job.found.waves;
        context.instructions += job.found.instructions;
        context.samples += job.found.samples;
        context.waves_sampled += job.found.waves_sampled;
        context.apart += job.found.apart;
        context.broken |= job.found.broken;
        for (const std::string& fault : job.found.faults)
            add_fault(context, fault);
        context.faults_total += job.found.faults_total - job.found.faults.size();
    }
    return {};
}

Result<void> ProcessVerifier::read_dispatches() {
    const auto take = [this](const softgpu::TruthDispatch& dispatch) {
        const auto found = agents_.find(dispatch.agent);
        if (found != agents_.end()) found->second.truth.add(dispatch);
    };
    for (const softgpu::TruthBlock& block : truth_.blocks())
        WAVETAP_CHECK_OK(truth_.dispatches(block, take));
    return {};
}

// In one pass over the truth log: which contexts' targets ran waves while they alone were
// answerable.
Result<void> ProcessVerifier::count_target_waves() {
    struct Asked {
        Window window;
        VerifyContext* context;
    };
    struct AgentAsked {
        std::vector<Asked> runs; ///< neither the starts nor the ends of their windows go back
        std::vector<Asked> never_ran;
    };
    std::map<std::uint32_t, AgentAsked> asked;
    for (auto& [index, its_agent] : agents_) {
        for (const MatchedRun& run : its_agent.runs)
            asked[index].runs.push_back({run.window, &report_.contexts[run.context]});
        for (std::size_t i = first_context_; i < report_.contexts.size(); ++i)
            if (report_.contexts[i].context.agent == index && report_.contexts[i].runs == 0)
                asked[index].never_ran.push_back({Window{}, &report_.contexts[i]});
    }
    const auto count_one = [&](const TruthWave& wave, const Asked& each) {
        const store::ContextInfo& context = each.context->context;
        if (wave.se < 64 && (context.se_mask >> wave.se & 1) != 0 &&
            on_target(context, wave.cu, wave.simd) &&
            agents_.at(wave.agent).code.covers(wave.entry_pc))
            ++each.context->waves_on_target;
    };
    const auto count = [&](const TruthWave& wave) {
        const auto found = asked.find(wave.agent);
        if (found == asked.end() || wave.end == 0) return false;
        const std::vector<Asked>& runs = found->second.runs;
        auto each = std::partition_point(
            runs.begin(), runs.end(), [&](const Asked& run) { return run.window.end <= wave.end; });
        for (; each != runs.end() && each->window.begin <= wave.start; ++each)
            count_one(wave, *each);
        for (const Asked& never : found->second.never_ran)
            count_one(wave, never);
        return false;
    };
    for (const softgpu::TruthBlock& block : truth_.blocks())
        WAVETAP_CHECK_OK(truth_.waves(block, count));
    return {};
}

void ProcessVerifier::judge(const Agent& agent) {
    for (std::size_t i = first_context_; i < report_.contexts.size(); ++i) {
        VerifyContext& context = report_.contexts[i];
        if (context.context.agent != agent.index) continue;
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

Result<void> ProcessVerifier::run() {
    add_contexts();
    for (std::uint32_t i = 0; i < truth_.about().chips.size(); ++i)
        agent(i);
    WAVETAP_CHECK_OK(read_dispatches());
    match_runs();
    for (auto& [index, its_agent] : agents_)
        set_windows(its_agent);
    WAVETAP_CHECK_OK(verify_engines());
    WAVETAP_CHECK_OK(count_target_waves());
    for (const auto& [index, its_agent] : agents_) {
        judge(its_agent);
        report_unrequested(its_agent);
    }
    if (truth_.about().truncated)
        report_.notes.push_back("process " + std::to_string(process_.pid) +
                                ": the truth log ends inside a record; the process was killed");
    if (!process_.complete)
        report_.notes.push_back("process " + std::to_string(process_.pid) +
                                ": the manifest has no last line; the process was killed");
    return {};
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

Result<void> verify_process(const store::ProcessTrace& process, const softgpu::TruthLog& truth,
                            const VerifySources& sources, VerifyReport& report) {
    return ProcessVerifier(process, truth, sources, report).run();
}

} // namespace wavetap::cli
