// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The trace folder (docs/formats/trace-folder.md).
//
//   DIR/summary.json                    written by `wavetap record` at the end
//   DIR/proc-PID/manifest.jsonl         one JSON object a line, appended as things happen
//                                       (proc-PID-2, …: later programs of the same process, exec)
//   DIR/proc-PID/code/ID.elf            code objects, byte for byte as loaded
//   DIR/proc-PID/runs/RUN/seN.att       raw bytes exactly as the hardware wrote them (gfx9: behind
//                                       the 8-byte software header)
//   DIR/truth-PID.bin, DIR/driver-PID.json   written by the software GPU
//
// A process that was killed leaves a folder whose manifest lacks its last line; it is readable up
// to the last complete line.

namespace wavetap::store {

struct AgentInfo {
    std::uint32_t index = 0; ///< in the order of the runtime; truth uses the same
    std::string name;        ///< "gfx90a"
    std::uint32_t shader_engines = 0, cus_per_engine = 0, simds_per_cu = 0;
    std::string timing;              ///< "modelled" or "hardware"
    std::uint32_t compute_units = 0; ///< working ones; 0 = unknown (harvested ones are not counted)
};

/// A performance counter whose samples are in the traces of a context (gfx9).
struct PerfCounterInfo {
    std::string name; ///< "SQ_WAVES"
    std::uint32_t id = 0, simd_mask = 0xf;
};

struct ContextInfo {
    std::uint32_t id = 0;
    std::uint32_t agent = 0;
    std::uint64_t se_mask = 1;
    std::uint32_t cu = 1;
    std::uint32_t simd_mask = 0xf; ///< as SIMD numbers: bit i = SIMD i, on every chip
    std::uint64_t buffer_bytes = 0;
    std::uint32_t buffers = 1;
    bool detail = true;
    std::string mode{};         ///< "device" or "dispatch"
    bool serialize_all = false; ///< dispatch mode: what was not traced ran alone, too
    /// In the order of the samples: the first four are bank 0, the others bank 1.
    std::vector<PerfCounterInfo> perf_counters{};
    std::uint32_t perf_period = 0;       ///< 1..32 with counters
    std::uint32_t perf_exclude_mask = 0; ///< bit i: no samples of CU i
};

struct CodeObjectInfo {
    std::uint64_t id = 0; ///< as in the markers
    std::uint32_t agent = 0;
    std::uint64_t load_base = 0; ///< absolute = load_base + ELF address
    std::uint64_t load_bytes = 0;
    std::string uri;
    std::string file; ///< below the process folder; empty if the bytes were not available
    bool unloaded = false;
};

/// A kernel that was launched.
struct DispatchInfo {
    std::uint64_t dispatch = 0; ///< counts from 1 in the process
    std::uint32_t agent = 0;
    std::string kernel;
    /// What the launching thread had pushed (wavetap.h); 0 = nothing.
    std::uint64_t external_correlation_id = 0;
};

struct RunInfo {
    std::uint32_t id = 0; ///< counts from 0 in each process, in order of start
    std::uint32_t context = 0;
    std::uint64_t first_dispatch = 0,
                  last_dispatch = 0;                  ///< tool's count of dispatches; 0 = unknown
    std::uint64_t start_counter = 0, end_counter = 0; ///< constant GPU counter, 0 = unknown
};

/// Raw bytes of one shader engine of one run: all of them, or with N buffers a part. The parts up to
/// one with `end`, joined, are a segment: a stream that decodes alone.
struct ChunkInfo {
    std::uint32_t run = 0;
    std::uint32_t se = 0;
    std::string file;                 ///< below the process folder; chosen by the writer
    std::uint64_t bytes = 0;          ///< with the software header; set by the writer
    std::uint64_t capacity_bytes = 0; ///< of this engine's part of the buffer
    bool gpu_full = false, cpu_full = false, end = true;
    std::uint32_t status = 0, dropped = 0, wptr = 0; ///< raw registers read back at stop
    bool lost = false;             ///< with `end`: the rest of the segment could not be fetched
    bool halted = false;           ///< with `end`: the trace unit went off by itself
    std::uint32_t index = 0;       ///< counts from 0 in the run, over all engines
    std::uint32_t read_offset = 0; ///< where the first whole token begins
};

/// Appends to one process folder. Resource; thread safe. Every call is on disk (in the page cache)
/// when it returns: nothing is lost if the process is killed later. Files are complete before the
/// manifest names them. Errors of every call: kIo with the path (the first one is kept and every
/// later call returns it, so that a full disk leaves no half line in the middle), kWrongState after
/// finish(), kInvalidArgument for what the reader would refuse.
class FolderWriter {
  public:
    /// Makes DIR (with parents) and DIR/proc-PID. Errors: kIo with the path.
    static Result<std::unique_ptr<FolderWriter>> create(const std::string& dir, int pid);
    ~FolderWriter();
    FolderWriter(const FolderWriter&) = delete;
    FolderWriter& operator=(const FolderWriter&) = delete;
    const std::string& process_dir() const; ///< DIR/proc-PID
    Result<void> agent(const AgentInfo& agent);
    Result<void> context(const ContextInfo& context);
    /// `elf` may be empty: the bytes were not available. `object.file` is chosen by the writer.
    Result<void> code_object(const CodeObjectInfo& object, std::span<const std::byte> elf);
    Result<void> code_object_unloaded(std::uint64_t id);
    Result<void> dispatch(const DispatchInfo& dispatch);
    Result<void> begin_run(const RunInfo& run);
    /// The chunks of one engine of one run are told apart by their order: seN.att, seN.2.att, …
    Result<void> chunk(const ChunkInfo& chunk, std::span<const std::byte> bytes);
    Result<void> end_run(const RunInfo& run);
    /// Free-form counters of the capture engine ("agents" of the JSON contract), as one JSON object.
    Result<void> statistics(const std::string& json_object);
    /// A worded note for the user (a refused start, a failed run), shown by readers.
    /// `severity`: "info", "warning" or "error".
    Result<void> note(std::string_view severity, std::string_view text);
    /// Writes the last line; a second call does nothing.
    Result<void> finish();

  private:
    FolderWriter();
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

struct Run {
    RunInfo info;
    bool complete = false; ///< an end_run line exists
    std::vector<ChunkInfo> chunks;
};

struct ProcessTrace {
    int pid = 0;
    std::string dir;       ///< the process folder
    std::string name;      ///< tells processes of one `dir` apart; empty in our own folders
    bool complete = false; ///< the last line was written: the process was not killed
    std::vector<AgentInfo> agents;
    std::vector<ContextInfo> contexts;
    std::vector<CodeObjectInfo> code_objects;
    std::vector<DispatchInfo> dispatches;
    std::vector<Run> runs;
    std::string statistics_json;                            ///< last one, or empty
    std::vector<std::pair<std::string, std::string>> notes; ///< severity, text
    std::string truth_file, driver_file;                    ///< full paths; empty if absent
};

/// The dispatch that the run traces, if it is one and the folder names it.
const DispatchInfo* dispatch_of(const ProcessTrace& process, const RunInfo& run);

struct TraceFolder {
    std::string dir;
    std::vector<ProcessTrace> processes;
};

/// `dir` may also be one process folder. Errors: kNotFound (no such folder, or no process in it),
/// kCorrupt (file and line), kUnsupported (a newer format), kIo.
Result<TraceFolder> open_folder(const std::string& dir);
/// Chunks of one engine up to an END (the last segment of a killed process has none), in order.
/// Borrows the run.
using Segment = std::vector<const ChunkInfo*>;
std::vector<Segment> segments_of(const Run& run, std::uint32_t se);
/// The joined bytes of a segment. Errors: those of read_chunk().
Result<std::vector<std::byte>> read_segment(const ProcessTrace& process, const Segment& segment);
/// Whether the file of a chunk is there and has its size. Errors: those of read_chunk().
Result<void> check_chunk(const ProcessTrace& process, const ChunkInfo& chunk);
/// All bytes of a chunk. Errors: kIo, kCorrupt when the file has another size than the manifest says.
Result<std::vector<std::byte>> read_chunk(const ProcessTrace& process, const ChunkInfo& chunk);
/// Full path of a code object's file; empty if its bytes were not available.
std::string code_object_path(const ProcessTrace& process, const CodeObjectInfo& object);

/// Writes DIR/summary.json whole or not at all (rename). Errors: kIo.
Result<void> write_summary(const std::string& dir, std::string_view json);
/// Removes what a trace folder holds (summary.json, proc-*, truth-*.bin, driver-*.json) and nothing
/// else. Errors: kIo.
Result<void> clear_folder(const std::string& dir);

} // namespace wavetap::store
