// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "report/hot_spots.hpp"

#include "code/chip.hpp"
#include "report/source_text.hpp"
#include "report/timing.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace wavetap::report {
namespace {

struct PlaceHash {
    std::size_t operator()(const CodePlace& place) const noexcept {
        return std::hash<std::uint64_t>{}(place.elf_address * 0x9e3779b97f4a7c15ull + place.object);
    }
};

void add_to(Sums& sums, std::uint64_t latency, std::uint64_t stall, std::uint64_t idle) {
    ++sums.hits;
    sums.latency += latency;
    sums.stall += stall;
    sums.idle += idle;
    sums.longest = std::max(sums.longest, latency);
}

void add_to(Sums& sums, const Sums& more) {
    sums.hits += more.hits;
    sums.latency += more.latency;
    sums.stall += more.stall;
    sums.idle += more.idle;
    sums.longest = std::max(sums.longest, more.longest);
}

/// A kernel is known by where it starts; foreign and unknown ones are one row each.
using KernelKey = std::tuple<KernelKind, CodePlace>;
using CuKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;

template <class Rows> void give_shares(Rows& rows, std::uint64_t latency) {
    for (auto& row : rows)
        row.share =
            latency == 0 ? 0 : static_cast<double>(row.sums.latency) / static_cast<double>(latency);
}

template <class Rows> void sort_and_share(Rows& rows, std::uint64_t latency) {
    give_shares(rows, latency);
    // By falling latency; rows of equal latency keep their order.
    std::vector<std::size_t> order(rows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&rows](std::size_t a, std::size_t b) {
        return std::tuple(rows[b].sums.latency, a) < std::tuple(rows[a].sums.latency, b);
    });
    Rows sorted;
    sorted.reserve(rows.size());
    for (const std::size_t index : order)
        sorted.push_back(std::move(rows[index]));
    rows = std::move(sorted);
}

std::size_t own_position(const std::vector<code::SourceLine>& chain) {
    for (std::size_t i = 0; i < chain.size(); ++i)
        if (!chain[i].file.starts_with("/usr/") && !chain[i].file.starts_with("/opt/")) return i;
    return 0;
}

/// By falling latency; the same whatever the order in which waves came.
bool comes_first(const WaveRow& a, const WaveRow& b) {
    return std::tie(b.sums.latency, a.dir, a.run, a.se, a.segment, a.start, a.sa, a.cu, a.simd,
                    a.slot, a.end) < std::tie(a.sums.latency, b.dir, b.run, b.se, b.segment,
                                              b.start, b.sa, b.cu, b.simd, b.slot, b.end);
}

bool counts_in_wgps(const std::string& gfx) {
    const code::ChipRow* chip = code::find_chip(gfx);
    return chip != nullptr && chip->generation != "gfx9";
}

} // namespace

const char* kernel_kind_name(KernelKind kind) noexcept {
    switch (kind) {
    case KernelKind::kKernel:
        return "kernel";
    case KernelKind::kForeign:
        return "no-code-object";
    case KernelKind::kUnknown:
        return "unknown";
    }
    return "unknown";
}

struct HotSpotBuilder::Impl {
    CodeTable& code;
    HotSpots spots;
    std::set<std::string> timings;
    std::map<std::uint32_t, store::AgentInfo> agents;
    std::unordered_map<CodePlace, Sums, PlaceHash> instructions;
    std::map<KernelKey, KernelRow> kernels;
    std::map<CuKey, CuRow> cus;
    std::map<std::string, Fault> faults;
    std::set<std::uint32_t> wgp_agents; ///< whose streams say so, where the chip is not known
    std::size_t most_waves = kAllWaves;
    // Of the blob at hand.
    const store::Run* run = nullptr;
    const store::DispatchInfo* dispatch = nullptr;

    explicit Impl(CodeTable& table) : code(table) {}

    CuRow& cu(std::uint32_t agent, std::uint32_t se, std::uint32_t sa, std::uint32_t number) {
        CuRow& row = cus[{agent, se, sa, number}];
        row.agent = agent;
        row.se = se;
        row.sa = sa;
        row.cu = number;
        return row;
    }

    KernelRow& kernel_of(const Blob& blob, const decode::WaveRecord& wave) {
        const auto place = code.place(*blob.process, wave.entry);
        KernelKey key{wave.entry.absolute == 0 && wave.entry.code_object == 0
                          ? KernelKind::kUnknown
                          : KernelKind::kForeign,
                      {}};
        const code::Symbol* function = place ? code.function(*place) : nullptr;
        if (place)
            key = {KernelKind::kKernel,
                   {place->object, function != nullptr ? function->address : place->elf_address}};
        const auto [entry, is_new] = kernels.try_emplace(key);
        KernelRow& row = entry->second;
        if (!is_new) return row;
        row.kind = std::get<KernelKind>(key);
        // Code without symbols is known by its section; the folder may know better.
        const bool unnamed = function != nullptr && function->name.starts_with('.') &&
                             dispatch != nullptr && !dispatch->kernel.empty();
        if (unnamed) {
            row.name = row.demangled = dispatch->kernel;
        } else if (function != nullptr) {
            row.name = function->name;
            row.demangled = function->demangled;
        } else if (row.kind == KernelKind::kKernel) {
            row.name = row.demangled = "(no symbol)";
        } else {
            row.name = row.demangled =
                row.kind == KernelKind::kForeign ? "(in no code object)" : "(start not seen)";
        }
        return row;
    }

    void add_wave(const Blob& blob, const decode::WaveRecord& wave) {
        if (blob.run != run) dispatch = store::dispatch_of(*blob.process, blob.run->info);
        run = blob.run;
        KernelRow& kernel = kernel_of(blob, wave);
        CuRow& place = cu(blob.agent->index, blob.se, wave.sa, wave.cu);
        const bool on_target = wave.on_target || !wave.instructions.empty();
        for (std::uint64_t* waves : {&spots.waves, &kernel.waves, &place.waves})
            ++*waves;
        if (!on_target) return;
        for (std::uint64_t* waves :
             {&spots.waves_on_target, &kernel.waves_on_target, &place.waves_on_target})
            ++*waves;
        if (wave.complete && wave.end >= wave.start) kernel.wave_cycles += wave.end - wave.start;

        WaveRow row;
        row.dir = blob.process->dir;
        row.context = blob.context->id;
        row.run = blob.run->info.id;
        row.agent = blob.agent->index;
        row.se = blob.se;
        row.segment = blob.segment;
        row.sa = wave.sa;
        row.cu = wave.cu;
        row.simd = wave.simd;
        row.slot = wave.slot;
        row.start = wave.start;
        row.end = wave.end;
        row.complete = wave.complete;
        row.kernel = kernel.demangled;
        if (dispatch != nullptr) row.dispatch = dispatch->dispatch;
        if (dispatch != nullptr) row.external_correlation_id = dispatch->external_correlation_id;
        std::uint64_t busy_until = wave.start;
        for (const decode::InstructionRecord& instruction : wave.instructions) {
            const std::uint64_t idle =
                instruction.time > busy_until ? instruction.time - busy_until : 0;
            busy_until = std::max(busy_until, instruction.time + instruction.duration);
            add_to(row.sums, instruction.duration, instruction.stall, idle);
            add_instruction(blob, instruction, idle);
        }
        add_to(kernel.sums, row.sums);
        add_to(place.sums, row.sums);
        spots.latency += row.sums.latency;
        spots.instructions += row.sums.hits;
        if (most_waves == 0) return;
        spots.by_wave.push_back(std::move(row));
        constexpr std::size_t kSpare = 4096;
        if (most_waves < kAllWaves - kSpare && spots.by_wave.size() >= most_waves + kSpare)
            keep_most();
    }

    void keep_most() {
        if (spots.by_wave.size() <= most_waves) return;
        const auto end = spots.by_wave.begin() + static_cast<std::ptrdiff_t>(most_waves);
        std::nth_element(spots.by_wave.begin(), end, spots.by_wave.end(), comes_first);
        spots.by_wave.erase(end, spots.by_wave.end());
    }

    void add_instruction(const Blob& blob, const decode::InstructionRecord& instruction,
                         std::uint64_t idle) {
        if (instruction.pc.code_object == 0) {
            ++(instruction.pc.absolute == 0 ? spots.instructions_without_pc
                                            : spots.instructions_foreign);
            return;
        }
        const auto place = code.place(*blob.process, instruction.pc);
        if (!place) {
            ++spots.instructions_foreign;
            return;
        }
        add_to(instructions[*place], instruction.duration, instruction.stall, idle);
    }

    void fill_instructions() {
        SourceText source;
        for (const auto& [place, sums] : instructions) {
            InstructionRow row;
            row.place = place;
            row.sums = sums;
            const code::Symbol* function = code.function(place);
            if (function != nullptr) row.function = function->demangled;
            row.text = code.instruction_text(place);
            row.source = code.object(place.object).source_chain(place.elf_address);
            row.shown = own_position(row.source);
            if (!row.source.empty())
                row.source_text =
                    source.line(row.source[row.shown].file, row.source[row.shown].line);
            spots.by_instruction.push_back(std::move(row));
        }
        std::sort(
            spots.by_instruction.begin(), spots.by_instruction.end(),
            [](const InstructionRow& a, const InstructionRow& b) { return a.place < b.place; });
    }

    void fill_lines() {
        std::map<std::pair<std::string, std::uint32_t>, LineRow> lines;
        for (const InstructionRow& instruction : spots.by_instruction) {
            const code::SourceLine position = instruction.source.empty()
                                                  ? code::SourceLine{}
                                                  : instruction.source[instruction.shown];
            LineRow& row = lines[{position.file, position.line}];
            row.file = position.file;
            row.line = position.line;
            row.source_text = instruction.source_text;
            ++row.instructions;
            add_to(row.sums, instruction.sums);
        }
        for (auto& [key, row] : lines)
            spots.by_line.push_back(std::move(row));
    }

    void fill_coverage() {
        for (const auto& [index, agent] : agents) {
            Coverage coverage;
            coverage.agent = index;
            coverage.name = agent.name;
            coverage.is_wgp = counts_in_wgps(agent.name) || wgp_agents.contains(index);
            coverage.total = agent.compute_units != 0
                                 ? agent.compute_units
                                 : std::uint64_t{agent.shader_engines} * agent.cus_per_engine;
            coverage.engines = agent.shader_engines;
            coverage.units_per_engine = agent.cus_per_engine;
            if (coverage.is_wgp) coverage.total /= 2;
            if (coverage.is_wgp) coverage.units_per_engine = (agent.cus_per_engine + 1) / 2;
            for (const auto& [key, row] : cus) {
                if (row.agent != index) continue;
                coverage.with_waves += row.waves != 0;
                coverage.with_detail += row.sums.hits != 0;
                coverage.requested += row.requested;
            }
            spots.coverage.push_back(std::move(coverage));
        }
    }
};

HotSpotBuilder::HotSpotBuilder(CodeTable& code, std::size_t most_waves)
    : impl_(std::make_unique<Impl>(code)) {
    impl_->most_waves = most_waves;
}
HotSpotBuilder::~HotSpotBuilder() = default;

void HotSpotBuilder::add_folder(const store::TraceFolder& folder) {
    HotSpots& spots = impl_->spots;
    spots.dirs.push_back(folder.dir);
    for (const store::ProcessTrace& process : folder.processes) {
        ++spots.processes;
        spots.contexts += process.contexts.size();
        spots.runs += process.runs.size();
        for (const store::AgentInfo& agent : process.agents) {
            impl_->timings.insert(agent.timing);
            impl_->agents.emplace(agent.index, agent);
        }
        for (const store::ContextInfo& context : process.contexts) {
            if (!context.detail) continue;
            for (std::uint32_t se = 0; se < 64; ++se)
                if ((context.se_mask >> se & 1) != 0)
                    impl_->cu(context.agent, se, 0, context.cu).requested = true;
        }
        for (const std::string& problem : process_problems(process))
            spots.problems.push_back(problem);
    }
}

void HotSpotBuilder::add_waves(const Blob& blob) {
    if (blob.records.has_wgps()) impl_->wgp_agents.insert(blob.agent->index);
    for (const decode::WaveRecord& wave : blob.records.waves)
        impl_->add_wave(blob, wave);
}

void HotSpotBuilder::add(const Blob& blob) {
    HotSpots& spots = impl_->spots;
    ++spots.blobs;
    spots.bytes += blob.bytes;
    if (blob.error) spots.problems.push_back(blob_name(blob) + ": " + to_string(*blob.error));
    add_waves(blob);
    for (const decode::Diagnostic& diagnostic : blob.records.diagnostics) {
        Fault& fault = impl_->faults[diagnostic.kind];
        fault.kind = diagnostic.kind;
        fault.severity = diagnostic.severity;
        fault.advice = diagnostic.text();
        fault.count += diagnostic.count;
        ++fault.blobs;
    }
}

HotSpots HotSpotBuilder::finish() {
    HotSpots spots;
    Impl& impl = *impl_;
    impl.spots.timing = timing_word(impl.timings);
    for (const std::string& problem : impl.code.problems())
        impl.spots.problems.push_back(problem);
    impl.fill_instructions();
    impl.fill_lines();
    impl.fill_coverage();
    for (std::uint32_t i = 0; i < impl.code.size(); ++i)
        impl.spots.objects.push_back({impl.code.uri(i), impl.code.object(i).gfx()});
    for (auto& [key, row] : impl.kernels)
        impl.spots.by_kernel.push_back(std::move(row));
    for (auto& [key, row] : impl.cus)
        impl.spots.by_cu.push_back(row);
    for (auto& [kind, fault] : impl.faults)
        impl.spots.faults.push_back(std::move(fault));
    const std::uint64_t latency = impl.spots.latency;
    sort_and_share(impl.spots.by_instruction, latency);
    sort_and_share(impl.spots.by_line, latency);
    sort_and_share(impl.spots.by_kernel, latency);
    impl.keep_most();
    std::sort(impl.spots.by_wave.begin(), impl.spots.by_wave.end(), comes_first);
    give_shares(impl.spots.by_wave, latency);
    give_shares(impl.spots.by_cu, latency);
    std::swap(spots, impl.spots);
    return spots;
}

} // namespace wavetap::report
