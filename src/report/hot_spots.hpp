// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "code/code_object.hpp"
#include "report/blob.hpp"
#include "report/code_table.hpp"
#include "store/trace_folder.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

// Where the time of the traced waves went. All times are shader clocks; latency = stall + issue.

namespace wavetap::report {

struct Sums {
    std::uint64_t hits = 0; ///< executions
    std::uint64_t latency = 0;
    std::uint64_t stall = 0;
    std::uint64_t idle = 0; ///< between the end of what came before and the first attempt to issue
    std::uint64_t longest = 0; ///< largest latency of one execution
    double mean_latency() const {
        return hits == 0 ? 0.0 : static_cast<double>(latency) / static_cast<double>(hits);
    }
};

struct InstructionRow {
    CodePlace place;
    std::string function;                 ///< for people; empty if no symbol covers it
    std::string text;                     ///< the instruction
    std::vector<code::SourceLine> source; ///< innermost first, then the call sites
    /// Index in `source` of the position to show: the innermost one outside system folders (/usr,
    /// /opt), so that a wrapper's header does not hide the program's own line.
    std::size_t shown = 0;
    std::string source_text; ///< of that position, if the file is here
    Sums sums;
    double share = 0; ///< of all latency, 0 to 1
};

struct LineRow {
    std::string file; ///< empty: instructions without a line
    std::uint32_t line = 0;
    std::string source_text;
    std::uint64_t instructions = 0; ///< different ones
    Sums sums;
    double share = 0;
};

enum class KernelKind : std::uint8_t {
    kKernel,  ///< a function of a recorded code object
    kForeign, ///< its code is in no recorded code object: runtime kernels, other programs
    kUnknown, ///< the stream does not tell where the wave started
};
const char* kernel_kind_name(KernelKind kind) noexcept; ///< "kernel", "no-code-object", "unknown"

struct KernelRow {
    KernelKind kind = KernelKind::kKernel;
    std::string name; ///< as in the code object
    std::string demangled;
    std::uint64_t waves = 0; ///< seen on the traced engines
    std::uint64_t waves_on_target = 0;
    std::uint64_t wave_cycles = 0; ///< lifetimes of complete target waves, summed
    Sums sums;
    double share = 0;
};

struct WaveRow {     ///< one wave with instruction detail
    std::string dir; ///< process folder
    std::uint32_t context = 0, run = 0, agent = 0, se = 0, segment = 0;
    std::uint32_t sa = 0; ///< shader array
    std::uint32_t cu = 0; ///< gfx10 and later: a WGP
    std::uint32_t simd = 0, slot = 0;
    std::uint64_t start = 0, end = 0;
    bool complete = true;
    std::string kernel;
    std::uint64_t dispatch = 0; ///< that its run traces; 0: not one alone, or unknown
    std::uint64_t external_correlation_id = 0; ///< of that dispatch; 0 = none
    Sums sums;
    double share = 0;
};

struct CuRow { ///< gfx10 and later: a WGP
    std::uint32_t agent = 0, se = 0, sa = 0, cu = 0;
    std::uint64_t waves = 0, waves_on_target = 0;
    bool requested = false; ///< some context asked for its detail
    Sums sums;
    double share = 0;
};

struct Coverage { ///< of one agent
    std::uint32_t agent = 0;
    std::string name;
    bool is_wgp = false;
    std::uint64_t total = 0;                         ///< working CUs or WGPs; 0 = not known
    std::uint32_t engines = 0, units_per_engine = 0; ///< places; some may be fused off
    std::uint64_t with_waves = 0;                    ///< where a wave started on a traced engine
    std::uint64_t with_detail = 0;                   ///< where instructions were recorded
    std::uint64_t requested = 0;
};

struct Fault { ///< a diagnostic of the decoder, summed over blobs
    std::string kind, severity, advice;
    std::uint64_t count = 0, blobs = 0;
};

struct ObjectRow { ///< by number of the CodeTable
    std::string uri, gfx;
};

struct HotSpots {
    std::vector<std::string> dirs;
    std::vector<ObjectRow> objects;
    std::string timing; ///< "modelled", "hardware" or "mixed"
    std::uint64_t processes = 0, contexts = 0, runs = 0, blobs = 0, bytes = 0;
    std::uint64_t waves = 0;
    std::uint64_t waves_on_target = 0; ///< on the CU and SIMD whose instructions are recorded
    std::uint64_t instructions = 0;
    std::uint64_t instructions_foreign = 0;    ///< executed in no recorded code object
    std::uint64_t instructions_without_pc = 0; ///< not matched to the program
    std::uint64_t latency = 0;                 ///< of all instructions: what a share refers to
    std::vector<Coverage> coverage;
    std::vector<Fault> faults;
    std::vector<std::string> problems; ///< unreadable chunks, missing code, notes of the recorder
    // Each by falling latency.
    std::vector<InstructionRow> by_instruction;
    std::vector<LineRow> by_line;
    std::vector<KernelRow> by_kernel;
    std::vector<WaveRow> by_wave; ///< as many as were asked for
    std::vector<CuRow> by_cu;     ///< by agent, engine and number
};

/// "agent 0 (gfx90a)".
std::string agent_words(std::uint32_t agent, const std::string& name);

inline constexpr std::size_t kAllWaves = ~std::size_t{0};

/// Adds up blobs. `code` outlives it. One thread.
class HotSpotBuilder {
  public:
    /// `most_waves`: rows of HotSpots::by_wave that are kept, those of the highest latency.
    explicit HotSpotBuilder(CodeTable& code, std::size_t most_waves = kAllWaves);
    ~HotSpotBuilder();
    /// Takes in what the manifests say; before the blobs of that folder.
    void add_folder(const store::TraceFolder& folder);
    /// The waves of a blob of which more will come.
    void add_waves(const Blob& blob);
    /// A blob: its waves, totals and diagnostics.
    void add(const Blob& blob);
    HotSpots finish();

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Everything in `folders`; `most_waves` as HotSpotBuilder's. Memory does not grow with the traces
/// unless that does. Errors: those of visit_waves().
Result<HotSpots> find_hot_spots(const std::vector<store::TraceFolder>& folders, CodeTable& code,
                                unsigned threads = 1, std::size_t most_waves = kAllWaves);

enum class View : std::uint8_t { kInstruction, kLine, kKernel, kWave, kCu };
/// "inst", "line", "kernel", "wave", "cu". Errors: kInvalidArgument naming the words.
Result<View> parse_view(std::string_view word);

/// At most 100 columns wide, with `rows` rows at most (0 = all); ends with a line feed.
std::string to_text(const HotSpots& spots, View view, std::size_t rows);
/// One JSON object: format "wavetap-report", version 1, the summary and all rows of the view.
std::string to_json(const HotSpots& spots, View view);

} // namespace wavetap::report
