// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "store/files.hpp"
#include "store/pieces.hpp"
#include "store/trace_folder.hpp"
#include "tests/support/temp_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace wavetap::store {
namespace {

namespace fs = std::filesystem;

class StoreTest : public ::testing::Test {
  protected:
    void SetUp() override { dir_ = root_ / "trace"; }

    std::unique_ptr<FolderWriter> make_writer(int pid) {
        auto writer = FolderWriter::create(dir_, pid);
        EXPECT_TRUE(writer) << to_string(writer.error());
        return writer ? *std::move(writer) : nullptr;
    }
    TraceFolder open() {
        auto folder = open_folder(dir_);
        EXPECT_TRUE(folder) << to_string(folder.error());
        return folder ? *folder : TraceFolder{};
    }

    test::TempFolder root_;
    std::string dir_;
};

std::vector<std::byte> bytes_of(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

std::string slurp(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void spill(const std::string& path, std::string_view text) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

AgentInfo an_agent() {
    return {0, "gfx90a", 8, 14, 4, "modelled"};
}

ContextInfo a_context(std::uint32_t id) {
    ContextInfo context;
    context.id = id;
    context.se_mask = 3;
    context.cu = 2;
    context.simd_mask = 4;
    context.buffer_bytes = 1 << 20;
    context.buffers = 2;
    context.detail = false;
    context.mode = "dispatch";
    context.serialize_all = true;
    context.perf_counters = {{"SQ_WAVES", 4, 15}, {"SQ_INSTS", 25, 3}};
    context.perf_period = 5;
    context.perf_exclude_mask = 0xfffe;
    return context;
}

void write_a_trace(FolderWriter& writer) {
    ASSERT_TRUE(writer.agent(an_agent()));
    ASSERT_TRUE(writer.context(a_context(0)));
    CodeObjectInfo object;
    object.id = 5;
    object.load_base = 0x7f00'0000'1000;
    object.load_bytes = 0x3000;
    object.uri = "memory://7#offset=0";
    ASSERT_TRUE(writer.code_object(object, bytes_of("ELF bytes")));
    ASSERT_TRUE(writer.dispatch({1, 0, "saxpy(float*)", ~std::uint64_t{0}}));
    RunInfo run;
    run.first_dispatch = 1;
    ASSERT_TRUE(writer.begin_run(run));
    ChunkInfo chunk;
    chunk.se = 1;
    chunk.capacity_bytes = 4096;
    chunk.gpu_full = true;
    chunk.status = 0x80000001;
    chunk.dropped = 3;
    chunk.wptr = 77;
    chunk.index = 9;
    chunk.read_offset = 6;
    chunk.lost = true;
    chunk.end = false;
    ASSERT_TRUE(writer.chunk(chunk, bytes_of("first")));
    chunk.end = true;
    ASSERT_TRUE(writer.chunk(chunk, bytes_of("second")));
    run.last_dispatch = 2;
    run.end_counter = ~std::uint64_t{0};
    ASSERT_TRUE(writer.end_run(run));
    ASSERT_TRUE(writer.statistics(R"({"starts":1})"));
    ASSERT_TRUE(writer.note("warning", "a line\nof \"words\""));
}

TEST_F(StoreTest, WholeTrace_RoundTrips) {
    const auto writer = make_writer(42);
    write_a_trace(*writer);
    ASSERT_TRUE(writer->code_object_unloaded(5));
    ASSERT_TRUE(writer->finish());
    ASSERT_TRUE(writer->finish());
    spill(dir_ + "/truth-42.bin", "t");

    const TraceFolder folder = open();
    ASSERT_EQ(folder.processes.size(), 1u);
    const ProcessTrace& trace = folder.processes[0];
    EXPECT_EQ(trace.pid, 42);
    EXPECT_EQ(trace.dir, dir_ + "/proc-42");
    EXPECT_EQ(writer->process_dir(), trace.dir);
    EXPECT_TRUE(trace.complete);
    EXPECT_EQ(trace.truth_file, dir_ + "/truth-42.bin");
    EXPECT_EQ(trace.driver_file, "");
    ASSERT_EQ(trace.agents.size(), 1u);
    EXPECT_EQ(trace.agents[0].name, "gfx90a");
    EXPECT_EQ(trace.agents[0].cus_per_engine, 14u);
    EXPECT_EQ(trace.agents[0].timing, "modelled");
    ASSERT_EQ(trace.contexts.size(), 1u);
    EXPECT_EQ(trace.contexts[0].se_mask, 3u);
    EXPECT_EQ(trace.contexts[0].cu, 2u);
    EXPECT_EQ(trace.contexts[0].simd_mask, 4u);
    EXPECT_EQ(trace.contexts[0].buffer_bytes, std::uint64_t{1} << 20);
    EXPECT_EQ(trace.contexts[0].buffers, 2u);
    EXPECT_FALSE(trace.contexts[0].detail);
    EXPECT_EQ(trace.contexts[0].mode, "dispatch");
    EXPECT_TRUE(trace.contexts[0].serialize_all);
    ASSERT_EQ(trace.contexts[0].perf_counters.size(), 2u);
    EXPECT_EQ(trace.contexts[0].perf_counters[1].name, "SQ_INSTS");
    EXPECT_EQ(trace.contexts[0].perf_counters[1].id, 25u);
    EXPECT_EQ(trace.contexts[0].perf_counters[1].simd_mask, 3u);
    EXPECT_EQ(trace.contexts[0].perf_period, 5u);
    EXPECT_EQ(trace.contexts[0].perf_exclude_mask, 0xfffeu);
    ASSERT_EQ(trace.code_objects.size(), 1u);
    EXPECT_EQ(trace.code_objects[0].load_base, 0x7f00'0000'1000u);
    EXPECT_TRUE(trace.code_objects[0].unloaded);
    EXPECT_EQ(slurp(code_object_path(trace, trace.code_objects[0])), "ELF bytes");
    ASSERT_EQ(trace.dispatches.size(), 1u);
    EXPECT_EQ(trace.dispatches[0].kernel, "saxpy(float*)");
    EXPECT_EQ(trace.dispatches[0].external_correlation_id, ~std::uint64_t{0});
    ASSERT_EQ(trace.runs.size(), 1u);
    EXPECT_TRUE(trace.runs[0].complete);
    EXPECT_EQ(trace.runs[0].info.last_dispatch, 2u);
    EXPECT_EQ(trace.runs[0].info.end_counter, ~std::uint64_t{0});
    ASSERT_EQ(trace.runs[0].chunks.size(), 2u);
    EXPECT_EQ(trace.runs[0].chunks[0].file, "runs/0/se1.att");
    EXPECT_EQ(trace.runs[0].chunks[1].file, "runs/0/se1.2.att");
    EXPECT_EQ(trace.runs[0].chunks[1].status, 0x80000001u);
    EXPECT_TRUE(trace.runs[0].chunks[1].gpu_full);
    EXPECT_EQ(trace.runs[0].chunks[0].index, 9u);
    EXPECT_EQ(trace.runs[0].chunks[0].read_offset, 6u);
    EXPECT_TRUE(trace.runs[0].chunks[0].lost);
    EXPECT_FALSE(trace.runs[0].chunks[0].halted);
    const std::vector<Segment> segments = segments_of(trace.runs[0], 1);
    ASSERT_EQ(segments.size(), 1u) << "the first chunk has no END";
    EXPECT_EQ(read_segment(trace, segments[0]).value(), bytes_of("firstsecond"));
    EXPECT_TRUE(segments_of(trace.runs[0], 0).empty());
    EXPECT_EQ(read_chunk(trace, trace.runs[0].chunks[0]).value(), bytes_of("first"));
    EXPECT_EQ(read_chunk(trace, trace.runs[0].chunks[1]).value(), bytes_of("second"));
    EXPECT_EQ(trace.statistics_json, R"({"starts":1})");
    ASSERT_EQ(trace.notes.size(), 1u);
    EXPECT_EQ(trace.notes[0].second, "a line\nof \"words\"");
}

TEST_F(StoreTest, ProcessFolder_OpensAlone) {
    const auto writer = make_writer(42);
    write_a_trace(*writer);
    const auto folder = open_folder(writer->process_dir());
    ASSERT_TRUE(folder);
    ASSERT_EQ(folder->processes.size(), 1u);
    EXPECT_EQ(folder->processes[0].pid, 42);
}

TEST_F(StoreTest, CodeObjectWithoutBytes_HasNoFile) {
    const auto writer = make_writer(1);
    ASSERT_TRUE(writer->code_object({}, {}));
    const TraceFolder folder = open();
    EXPECT_EQ(folder.processes.at(0).code_objects.at(0).file, "");
    EXPECT_EQ(code_object_path(folder.processes[0], folder.processes[0].code_objects[0]), "");
}

TEST_F(StoreTest, SecondProgramOfOneProcess_HasItsOwnFolder) {
    const auto first = make_writer(9);
    const auto second = make_writer(9);
    EXPECT_EQ(first->process_dir(), dir_ + "/proc-9");
    EXPECT_EQ(second->process_dir(), dir_ + "/proc-9-2");
    EXPECT_EQ(open().processes.size(), 2u);
}

TEST_F(StoreTest, AfterFinish_WritesAreRefused) {
    const auto writer = make_writer(1);
    ASSERT_TRUE(writer->finish());
    const Result<void> late = writer->note("info", "late");
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::kWrongState);
}

TEST_F(StoreTest, WrongUse_IsRefusedAndDoesNotSpoilTheFolder) {
    const auto writer = make_writer(1);
    EXPECT_EQ(writer->statistics("[1]").error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(writer->note("fatal", "x").error().code, ErrorCode::kInvalidArgument);
    EXPECT_TRUE(writer->finish());
    EXPECT_TRUE(open().processes.at(0).complete);
}

TEST_F(StoreTest, EveryCutOfTheManifest_OpensAsIncomplete) {
    const auto writer = make_writer(42);
    write_a_trace(*writer);
    ASSERT_TRUE(writer->finish());
    const std::string path = dir_ + "/proc-42/manifest.jsonl";
    const std::string whole = slurp(path);
    ASSERT_TRUE(open().processes.at(0).complete);
    std::size_t runs_seen = 0;
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
        spill(path, whole.substr(0, bytes));
        const TraceFolder folder = open();
        ASSERT_EQ(folder.processes.size(), 1u);
        EXPECT_FALSE(folder.processes[0].complete) << bytes;
        EXPECT_EQ(folder.processes[0].pid, 42);
        runs_seen += folder.processes[0].runs.size();
    }
    EXPECT_GT(runs_seen, 0u);
}

TEST_F(StoreTest, KilledProcess_LeavesAReadableFolder) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        auto writer = FolderWriter::create(dir_, 77);
        if (!writer) ::_exit(1);
        write_a_trace(**writer);
        ::raise(SIGKILL);
        ::_exit(1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    const TraceFolder folder = open();
    ASSERT_EQ(folder.processes.size(), 1u);
    EXPECT_FALSE(folder.processes[0].complete);
    ASSERT_EQ(folder.processes[0].runs.size(), 1u);
    EXPECT_EQ(read_chunk(folder.processes[0], folder.processes[0].runs[0].chunks.at(0)).value(),
              bytes_of("first"));
}

TEST_F(StoreTest, ManyThreads_WriteWholeLines) {
    const auto writer = make_writer(1);
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&writer, t] {
            for (int i = 0; i < 100; ++i)
                EXPECT_TRUE(
                    writer->dispatch({static_cast<std::uint64_t>(i), 0,
                                      std::string(static_cast<std::size_t>(50 * t), 'k'), 0}));
        });
    }
    threads.clear();
    EXPECT_EQ(open().processes.at(0).dispatches.size(), 400u);
}

TEST_F(StoreTest, ManyThreads_WriteChunksOfManyRuns_EachIntoItsOwnFile) {
    const auto writer = make_writer(1);
    std::vector<std::jthread> threads;
    for (std::uint32_t t = 0; t < 4; ++t) {
        threads.emplace_back([&writer, t] {
            for (std::uint32_t i = 0; i < 50; ++i) {
                // Two threads a run, and the runs change all the time.
                ChunkInfo chunk;
                chunk.run = i % 3 + 10 * (t / 2);
                EXPECT_TRUE(
                    writer->chunk(chunk, bytes_of(std::to_string(t) + "-" + std::to_string(i))));
            }
        });
    }
    threads.clear();
    std::size_t files = 0;
    std::set<std::string> contents;
    for (const auto& file : fs::recursive_directory_iterator(dir_)) {
        if (file.path().extension() != ".att") continue;
        std::ifstream stream(file.path());
        std::stringstream text;
        text << stream.rdbuf();
        contents.insert(text.str());
        ++files;
    }
    EXPECT_EQ(files, 200u);
    EXPECT_EQ(contents.size(), 200u);
}

TEST_F(StoreTest, CorruptLine_IsNamedWithFileAndLine) {
    const auto writer = make_writer(42);
    write_a_trace(*writer);
    const std::string path = dir_ + "/proc-42/manifest.jsonl";
    std::string text = slurp(path);
    const std::size_t second = text.find('\n') + 1;
    spill(path, text.replace(second, 1, "?"));
    const auto folder = open_folder(dir_);
    ASSERT_FALSE(folder);
    EXPECT_EQ(folder.error().code, ErrorCode::kCorrupt);
    EXPECT_EQ(folder.error().message, "not a JSON object");
    EXPECT_EQ(folder.error().where, path + ":2");
    EXPECT_NE(folder.error().hint, "");
}

TEST_F(StoreTest, ChangedChunkFiles_AreRefused) {
    const auto writer = make_writer(42);
    write_a_trace(*writer);
    const TraceFolder folder = open();
    const ProcessTrace& trace = folder.processes.at(0);
    const ChunkInfo& chunk = trace.runs.at(0).chunks.at(0);
    const std::string path = trace.dir + "/" + chunk.file;
    for (const char* text : {"firs", "", "first!"}) {
        spill(path, text);
        const auto bytes = read_chunk(trace, chunk);
        ASSERT_FALSE(bytes) << text;
        EXPECT_EQ(bytes.error().code, ErrorCode::kCorrupt);
        EXPECT_EQ(bytes.error().where, path);
    }
    fs::remove(path);
    EXPECT_EQ(read_chunk(trace, chunk).error().code, ErrorCode::kCorrupt);
    ASSERT_EQ(::mkfifo(path.c_str(), 0644), 0);
    EXPECT_EQ(read_chunk(trace, chunk).error().code, ErrorCode::kIo); // and does not hang
}

TEST_F(StoreTest, PieceReader_GivesTheJoinedBytesOfASegment) {
    std::string long_text(3 * PieceReader::kPieceBytes + 5, 'x');
    for (std::size_t i = 0; i < long_text.size(); i += 7)
        long_text[i] = static_cast<char>('a' + i % 26);
    const auto writer = make_writer(1);
    ASSERT_TRUE(writer->agent(an_agent()));
    ContextInfo context;
    context.mode = "device";
    ASSERT_TRUE(writer->context(context));
    ASSERT_TRUE(writer->begin_run({}));
    ChunkInfo chunk;
    chunk.end = false;
    ASSERT_TRUE(writer->chunk(chunk, bytes_of("first")));
    ASSERT_TRUE(writer->chunk(chunk, {}));
    ASSERT_TRUE(writer->chunk(chunk, bytes_of(long_text)));
    chunk.end = true;
    ASSERT_TRUE(writer->chunk(chunk, bytes_of("last")));
    ASSERT_TRUE(writer->finish());
    const TraceFolder folder = open();
    const ProcessTrace& process = folder.processes.at(0);
    const Segment segment = segments_of(process.runs.at(0), 0).at(0);
    ASSERT_EQ(segment.size(), 4u);
    const auto whole = read_segment(process, segment);
    ASSERT_TRUE(whole);
    auto opened = PieceReader::open(process, segment);
    ASSERT_TRUE(opened) << to_string(opened.error());
    PieceReader reader = *std::move(opened);
    EXPECT_EQ(reader.bytes(), whole->size());
    for (unsigned again = 0; again < 2; ++again) {
        std::vector<std::byte> joined;
        while (!reader.at_end()) {
            const auto piece = reader.next();
            ASSERT_TRUE(piece);
            ASSERT_FALSE(piece->empty());
            EXPECT_LE(piece->size(), PieceReader::kPieceBytes);
            joined.insert(joined.end(), piece->begin(), piece->end());
        }
        EXPECT_EQ(joined, *whole);
        const auto behind = reader.next();
        ASSERT_TRUE(behind);
        EXPECT_TRUE(behind->empty());
        reader.rewind();
    }
    // What is wrong with a file is said before its bytes are read, in the words of read_segment().
    const std::string path = process.dir + "/" + segment[2]->file;
    spill(path, "short");
    for (const bool there : {true, false}) {
        if (!there) fs::remove(path);
        const auto refused = PieceReader::open(process, segment);
        const auto unread = read_segment(process, segment);
        ASSERT_FALSE(refused);
        ASSERT_FALSE(unread);
        EXPECT_EQ(refused.error().code, ErrorCode::kCorrupt);
        EXPECT_EQ(to_string(refused.error()), to_string(unread.error()));
    }
    const auto nothing = PieceReader::open(path);
    ASSERT_FALSE(nothing);
    EXPECT_EQ(nothing.error().code, ErrorCode::kNotFound);
    const auto no_file = PieceReader::open(dir_);
    ASSERT_FALSE(no_file);
    EXPECT_EQ(no_file.error().code, ErrorCode::kIo);
}

TEST_F(StoreTest, PieceReader_SaysThatAFileWasShortenedMeanwhile) {
    const std::string path = root_ / "file";
    spill(path, std::string(2 * PieceReader::kPieceBytes, 'x'));
    auto reader = PieceReader::open(path);
    ASSERT_TRUE(reader);
    ASSERT_TRUE(reader->next());
    fs::resize_file(path, PieceReader::kPieceBytes + 10);
    const auto piece = reader->next();
    ASSERT_FALSE(piece);
    EXPECT_EQ(piece.error().code, ErrorCode::kCorrupt);
}

TEST_F(StoreTest, HugeByteCount_ReadsOnlyWhatIsThere) {
    const auto writer = make_writer(42);
    write_a_trace(*writer);
    const TraceFolder folder = open();
    ChunkInfo chunk = folder.processes.at(0).runs.at(0).chunks.at(0);
    chunk.bytes = ~std::uint64_t{0};
    EXPECT_EQ(read_chunk(folder.processes[0], chunk).error().code, ErrorCode::kCorrupt);
}

TEST_F(StoreTest, NoTrace_IsNotFound) {
    const auto missing = open_folder(dir_);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
    EXPECT_EQ(missing.error().where, dir_);
    fs::create_directories(dir_ + "/proc-x");
    fs::create_directories(dir_ + "/proc-1x");
    fs::create_directories(dir_ + "/proc-1-");
    const auto empty = open_folder(dir_);
    ASSERT_FALSE(empty);
    EXPECT_EQ(empty.error().code, ErrorCode::kNotFound);
    spill(root_ / "file", "x");
    const auto file = open_folder(root_ / "file");
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code, ErrorCode::kNotFound);
    EXPECT_EQ(file.error().message, "this is not a folder");
    EXPECT_NE(file.error().hint.find("`wavetap decode`"), std::string::npos) << file.error().hint;
}

TEST_F(StoreTest, FolderThatCannotBeMade_IsWorded) {
    spill(root_ / "file", "x");
    const auto writer = FolderWriter::create(root_ / "file/trace", 1);
    ASSERT_FALSE(writer);
    EXPECT_EQ(writer.error().code, ErrorCode::kIo);
    EXPECT_EQ(writer.error().where, root_ / "file/trace");
}

TEST_F(StoreTest, Summary_IsReplacedWhole) {
    fs::create_directories(dir_);
    ASSERT_TRUE(write_summary(dir_, "{\"a\":1}"));
    ASSERT_TRUE(write_summary(dir_, "{}"));
    EXPECT_EQ(slurp(dir_ + "/summary.json"), "{}");
    EXPECT_EQ(std::distance(fs::directory_iterator(dir_), fs::directory_iterator()), 1);
    EXPECT_EQ(write_summary(root_ / "none", "{}").error().code, ErrorCode::kIo);
}

TEST_F(StoreTest, ClearFolder_LeavesWhatIsNotOurs) {
    const auto writer = make_writer(42);
    write_a_trace(*writer);
    ASSERT_TRUE(write_summary(dir_, "{}"));
    for (const char* name : {"truth-42.bin", "driver-42.json", "notes.txt", "truth-.bin"})
        spill(dir_ + "/" + name, "x");
    ASSERT_TRUE(clear_folder(dir_));
    std::vector<std::string> left;
    for (const auto& entry : fs::directory_iterator(dir_))
        left.push_back(entry.path().filename());
    std::sort(left.begin(), left.end());
    EXPECT_EQ(left, (std::vector<std::string>{"notes.txt", "truth-.bin"}));
}

} // namespace
} // namespace wavetap::store
