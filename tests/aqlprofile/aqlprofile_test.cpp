// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "aqlprofile/packets.hpp"
#include "capture/fake_backend.hpp"
#include "capture/hub_engine.hpp"
#include "pm4/packets.hpp"
#include "sqtt/gfx9.hpp"
#include "stream_driver.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

// The adapter to aqlprofile against a stand-in that replays recorded packets (standin.cpp).

namespace wavetap::test {
namespace {

using aqlprofile::Library;
using aqlprofile::Packets;
using capture::FakeBackend;
using capture::FakeGpu;
using testing::HasSubstr;

constexpr std::uint64_t kMiB = 1 << 20;
const pm4::TraceTopology kChip{"gfx90a", 1, 8, 14};

std::filesystem::path data_folder() {
    const char* set = std::getenv("WAVETAP_DATA");
    return set != nullptr && *set != '\0' ? set : WAVETAP_DATA_DEFAULT;
}

/// What the stand-in does, for one test.
class AqlprofileTest : public testing::Test {
  protected:
    void SetUp() override {
        const auto cases = data_folder() / "pm4-golden" / "gfx90a";
        if (!std::filesystem::exists(cases)) {
            if (std::getenv("CI") != nullptr || std::filesystem::exists(data_folder()))
                FAIL() << "no recorded streams in " << cases;
            GTEST_SKIP() << "no recorded streams in " << cases;
        }
        cases_of("aug25_");
        no_fault();
        log_ = testing::TempDir() + "/standin-" + std::to_string(::getpid()) + ".log";
        std::filesystem::remove(log_);
        ::setenv("WAVETAP_STANDIN_LOG", log_.c_str(), 1);
        before_ = all_live();
    }
    void TearDown() override {
        if (log_.empty()) return;
        for (const char* name : {"CASES", "FAULT", "LOG"})
            ::unsetenv((std::string("WAVETAP_STANDIN_") + name).c_str());
        std::filesystem::remove(log_);
    }

    static void cases_of(const char* prefix) { ::setenv("WAVETAP_STANDIN_CASES", prefix, 1); }
    static void fault(const char* word) { ::setenv("WAVETAP_STANDIN_FAULT", word, 1); }
    static void no_fault() { ::unsetenv("WAVETAP_STANDIN_FAULT"); }
    std::string log() const {
        std::ifstream file(log_);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    static std::shared_ptr<const Library> library(const char* path = STANDIN_RINGS_LIBRARY) {
        auto opened = Library::open(path);
        EXPECT_TRUE(opened) << to_string(opened.error());
        return opened ? *opened : nullptr;
    }
    /// Handles that the stand-in still has, of this test.
    std::uint64_t live() const { return all_live() - before_; }
    static std::uint64_t all_live() {
        void* opened = ::dlopen(STANDIN_RINGS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
        const auto ask =
            reinterpret_cast<std::uint64_t (*)()>(::dlsym(opened, "wavetap_standin_live"));
        return ask();
    }

    std::string log_;
    std::uint64_t before_ = 0; ///< handles that an earlier test's library forgot
};

/// The configuration of a recorded case.
pm4::TraceConfig detail() {
    pm4::TraceConfig config;
    config.buffer_bytes = 96 * kMiB;
    return config;
}
pm4::TraceConfig occupancy() {
    pm4::TraceConfig config;
    config.se_mask = 2;
    config.target_cu = 0;
    config.detail = false;
    config.buffer_bytes = 64 * kMiB;
    return config;
}
pm4::TraceConfig all_engines() {
    pm4::TraceConfig config;
    config.se_mask = 0xff;
    config.target_cu = 3;
    config.simd_mask = 5;
    config.clock_markers = false;
    config.buffer_bytes = 256 * kMiB;
    return config;
}

std::vector<std::uint32_t> words_of(const Packets& packets, const capture::CommandBuffer& buffer) {
    std::vector<std::uint32_t> words(buffer.dwords);
    std::memcpy(words.data(), packets.words(buffer), words.size() * 4);
    return words;
}

/// The address of the control block that a stop stream writes.
std::uint64_t control_of(const std::vector<std::uint32_t>& stop, const pm4::TraceConfig& config) {
    const auto engine = static_cast<std::uint32_t>(std::countr_zero(config.se_mask));
    pm4::Parser parser(stop);
    for (auto next = parser.next(); next && *next; next = parser.next())
        if ((*next)->opcode == pm4::Opcode::kCopyData &&
            (*next)->body[1] == pm4::gfx9::kSqThreadTraceStatus)
            return ((*next)->body[3] | std::uint64_t{(*next)->body[4]} << 32) -
                   pm4::engine_entry_offset(config.dialect, engine);
    return 0;
}
/// The address of the first engine's part that a start stream names.
std::uint64_t base_of(const std::vector<std::uint32_t>& start) {
    std::uint64_t va = 0;
    pm4::Parser parser(start);
    for (auto next = parser.next(); next && *next; next = parser.next()) {
        if ((*next)->opcode != pm4::Opcode::kSetUconfigReg) continue;
        const std::uint32_t reg = pm4::kUconfigBase + ((*next)->body[0] & 0xffff);
        if (reg == pm4::gfx9::kSqThreadTraceBase) va = std::uint64_t{(*next)->body[1]} << 12;
        if (reg == pm4::gfx9::kSqThreadTraceBase2)
            return va | std::uint64_t{(*next)->body[1]} << 44;
    }
    return va;
}

/// A GPU with one output slot of 512 MiB, and the adapter on it.
struct Bench {
    explicit Bench(std::shared_ptr<const Library> library) : backend(gpu) {
        slots.slots[0] = *backend.allocate_device(512 * kMiB);
        packets.emplace(backend, kChip, std::move(library), aqlprofile::Agent{77});
        EXPECT_TRUE(packets->ensure());
    }
    ~Bench() {
        packets->release();
        EXPECT_EQ(gpu.host_blocks, 0);
    }
    FakeGpu gpu;
    FakeBackend backend;
    capture::OutputSlots slots;
    std::optional<Packets> packets;
};

// --- the library ---

TEST_F(AqlprofileTest, ALibraryThatIsNotThereIsWords) {
    const auto opened = Library::open("/nowhere/libhsa-amd-aqlprofile64.so");
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::kNotFound);
    EXPECT_THAT(opened.error().message, HasSubstr("aqlprofile cannot be loaded"));
    EXPECT_EQ(opened.error().where, "/nowhere/libhsa-amd-aqlprofile64.so");
    EXPECT_THAT(opened.error().hint, HasSubstr("WAVETAP_AQLPROFILE"));
    const std::string text = testing::TempDir() + "/not-a-library.so";
    std::ofstream(text) << "text\n";
    const auto wrong = Library::open(text);
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, ErrorCode::kNotFound);
    std::filesystem::remove(text);
}

TEST_F(AqlprofileTest, AMissingFunctionIsNamed) {
    const auto opened = Library::open(STANDIN_NO_MARKER_LIBRARY);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(opened.error().message, HasSubstr("aqlprofile_att_codeobj_marker"));
    EXPECT_THAT(opened.error().where, HasSubstr("no_marker"));
}

TEST_F(AqlprofileTest, AnotherVersionIsRefused) {
    const auto opened = Library::open(STANDIN_VERSION_2_LIBRARY);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(opened.error().message, HasSubstr("version 2.0.0 of aqlprofile is not known"));
    fault("version");
    const auto silent = Library::open(STANDIN_RINGS_LIBRARY);
    ASSERT_FALSE(silent);
    EXPECT_THAT(silent.error().message, HasSubstr("does not tell its version: 0x1000"));
}

TEST_F(AqlprofileTest, BothFormsOfTheVersionCallAreUnderstood) {
    const auto rings = library(), plain = library(STANDIN_PLAIN_LIBRARY);
    EXPECT_EQ(rings->version.major, 1u);
    EXPECT_EQ(plain->version.major, 1u);
    EXPECT_TRUE(rings->has_rings());
    EXPECT_FALSE(plain->has_rings());
}

// --- packets ---

// Recorded words with moved addresses are what our own builder makes for those addresses: the slot
// got to its place, and so did the control block.
TEST_F(AqlprofileTest, TheStreamsWorkOnTheSlotsOfTheHub) {
    struct Row {
        const char* cases;
        pm4::Dialect dialect;
        pm4::TraceConfig config;
    };
    const Row rows[] = {{"aug25_", pm4::Dialect::kAug25, detail()},
                        {"aug25_", pm4::Dialect::kAug25, occupancy()},
                        {"aug25_", pm4::Dialect::kAug25, all_engines()},
                        {"jun25_", pm4::Dialect::kJun25, detail()},
                        {"r26_", pm4::Dialect::kRead26, detail()}};
    for (const Row& row : rows) {
        cases_of(row.cases);
        Bench bench(library());
        const auto streams = bench.packets->streams(row.config, bench.slots);
        ASSERT_TRUE(streams) << row.cases << to_string(streams.error());
        const auto stop = words_of(*bench.packets, streams->stop);
        pm4::TraceConfig theirs = row.config;
        theirs.dialect = row.dialect;
        const pm4::TraceMemory memory{bench.slots.va(0), control_of(stop, theirs), {}};
        EXPECT_EQ(words_of(*bench.packets, streams->start),
                  *pm4::build_start(kChip, theirs, memory))
            << row.cases;
        EXPECT_EQ(stop, *pm4::build_stop(kChip, theirs, memory)) << row.cases;
        EXPECT_EQ(streams->start.cache_policy, 1) << "as it made it";
    }
}

TEST_F(AqlprofileTest, MemoryIsGivenAsAskedForAndTakenBack) {
    Bench bench(library());
    const std::int64_t before = bench.gpu.host_blocks;
    ASSERT_TRUE(bench.packets->streams(detail(), bench.slots));
    EXPECT_EQ(log(), "allocate 512 flags 7 -> 0\nallocate 100663296 flags 17 -> 0\n"
                     "allocate 1024 flags 19 -> 0\ncreated " +
                         log().substr(log().rfind(' ') + 1));
    EXPECT_EQ(bench.gpu.host_blocks, before + 2) << "control block and command memory";
    EXPECT_EQ(bench.gpu.device_blocks, 1) << "no device memory but the hub's slot";
    const std::string log_before = log();
    ASSERT_TRUE(bench.packets->streams(occupancy(), bench.slots));
    EXPECT_EQ(bench.gpu.host_blocks, before + 4);
    EXPECT_EQ(bench.gpu.device_blocks, 1) << "both contexts share the slot";
    ASSERT_TRUE(bench.packets->streams(detail(), bench.slots));
    EXPECT_EQ(bench.packets->sets(), 2u) << "warm: nothing is made again";
    EXPECT_GT(bench.packets->bytes(), 0u);
    bench.packets->release();
    EXPECT_EQ(bench.gpu.host_blocks, 0);
    EXPECT_EQ(bench.gpu.device_blocks, 1);
    EXPECT_EQ(live(), 0u);
}

TEST_F(AqlprofileTest, OldSetsMakeRoom) {
    Bench bench(library());
    capture::OutputSlots slots = bench.slots;
    for (std::uint64_t i = 0; i < Packets::kMostSets + 10; ++i) {
        slots.slots[0].va = bench.slots.va(0) + i * 4096; // as if the slot had been made anew
        ASSERT_TRUE(bench.packets->streams(detail(), slots));
    }
    EXPECT_EQ(bench.packets->sets(), Packets::kMostSets);
    EXPECT_EQ(live(), Packets::kMostSets);
    EXPECT_EQ(bench.gpu.host_blocks, static_cast<std::int64_t>(2 * Packets::kMostSets + 1));
}

TEST_F(AqlprofileTest, MarkersAreThoseOfOurBuilder) {
    Bench bench(library());
    const pm4::CodeObjectMarker markers[] = {{5, 0x7f1234560000, 0x2a000, false, true},
                                             {9, 0x7f0000001000, 0x123456789, false, false},
                                             {0x123456789abcdef0, 0x1000, 0x2000, false, false},
                                             {7, 0, 0, true, false}};
    std::vector<std::uint32_t> words, expected;
    for (const pm4::CodeObjectMarker& marker : markers) {
        const auto added = bench.packets->append_marker(marker, words);
        ASSERT_TRUE(added) << to_string(added.error());
        const auto built = pm4::build_marker(kChip, marker);
        expected.insert(expected.end(), built.begin(), built.end());
    }
    EXPECT_EQ(words, expected);
    EXPECT_EQ(bench.gpu.host_blocks, 1) << "markers need no memory of the GPU";
    EXPECT_EQ(live(), 0u);
}

// --- what can go wrong ---

struct FaultRow {
    const char* word;
    const char* message;
};

TEST_F(AqlprofileTest, EveryFailureOfMakingPacketsIsWordsAndLeavesNothing) {
    const FaultRow rows[] = {
        {"create", "aqlprofile answered 0x1000 (a general error)"},
        {"late_failure", "aqlprofile answered 0x1000"},
        {"extra_device", "asks for output slot 2 of a trace with 1"},
        {"big_device", "bytes of output slot 0, which has"},
        {"big_host", "bytes of host memory"},
        {"no_flags", "neither side may use"},
        {"odd_packet", "form that is not known: word 5 is 0xb, not 0xa"},
        {"foreign_packet", "runs memory that it did not ask for"},
        {"wild_copy", "from or to memory that it did not ask for"},
    };
    for (const FaultRow& row : rows) {
        Bench bench(library());
        capture::OutputSlots slots = bench.slots;
        slots.slots[0].bytes = 96 * kMiB;
        const std::int64_t before = bench.gpu.host_blocks;
        const std::uint64_t handles = live();
        fault(row.word);
        const auto streams = bench.packets->streams(detail(), slots);
        no_fault();
        ASSERT_FALSE(streams) << row.word;
        EXPECT_THAT(streams.error().message, HasSubstr(row.message)) << row.word;
        EXPECT_THAT(streams.error().where, testing::Not(testing::IsEmpty())) << row.word;
        EXPECT_THAT(streams.error().hint, HasSubstr("leave out --packets aqlprofile")) << row.word;
        EXPECT_EQ(bench.packets->sets(), 0u) << row.word;
        EXPECT_EQ(bench.gpu.host_blocks, before) << row.word;
        // What the library itself forgets, only the library could give back.
        EXPECT_EQ(live(), handles + (std::string(row.word) == "late_failure" ? 1 : 0)) << row.word;
        EXPECT_TRUE(bench.packets->streams(detail(), slots)) << row.word << ": works again";
    }
}

TEST_F(AqlprofileTest, WhatALibraryForgetsAfterAFailureIsFreed) {
    Bench bench(library());
    const std::int64_t before = bench.gpu.host_blocks;
    bench.gpu.fail_at[FakeGpu::kHost] = bench.gpu.calls[FakeGpu::kHost] + 2;
    fault("leak_on_failure");
    ASSERT_FALSE(bench.packets->streams(detail(), bench.slots));
    EXPECT_EQ(bench.gpu.host_blocks, before);
}

TEST_F(AqlprofileTest, EveryAllocationMayFail) {
    for (std::uint64_t n = 1; n <= 2; ++n) {
        Bench bench(library());
        const std::int64_t before = bench.gpu.host_blocks;
        bench.gpu.fail_at[FakeGpu::kHost] = bench.gpu.calls[FakeGpu::kHost] + n;
        const auto streams = bench.packets->streams(detail(), bench.slots);
        ASSERT_FALSE(streams) << n;
        EXPECT_THAT(streams.error().message, HasSubstr("injected failure of host allocation"));
        EXPECT_EQ(streams.error().where, "aqlprofile's request for memory");
        EXPECT_EQ(bench.gpu.host_blocks, before) << n;
        EXPECT_TRUE(bench.packets->streams(detail(), bench.slots)) << n << ": works again";
    }
}

TEST_F(AqlprofileTest, ParametersThatTheLibraryRefusesAreWords) {
    Bench bench(library());
    pm4::TraceConfig config = detail();
    config.buffer_bytes = 95 * kMiB;
    const auto refused = bench.packets->streams(config, bench.slots);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(refused.error().message, HasSubstr("0x1001 (invalid argument)"));
    EXPECT_EQ(refused.error().where, "aqlprofile_att_create_packets");
    config = detail();
    config.se_mask = 1ull << 32;
    EXPECT_THAT(bench.packets->streams(config, bench.slots).error().message,
                HasSubstr("shader engines 0 to 31"));
}

TEST_F(AqlprofileTest, MarkerFailuresAreWords) {
    const FaultRow rows[] = {{"marker", "aqlprofile answered 0x1000"},
                             {"big_marker", "1048576 bytes for a code-object marker"},
                             {"odd_packet", "form that is not known"},
                             {"foreign_packet", "memory that it did not ask for"}};
    for (const FaultRow& row : rows) {
        Bench bench(library());
        fault(row.word);
        std::vector<std::uint32_t> words;
        const auto added = bench.packets->append_marker({5, 0x1000, 0x1000, false, true}, words);
        no_fault();
        ASSERT_FALSE(added) << row.word;
        EXPECT_THAT(added.error().message, HasSubstr(row.message));
        EXPECT_TRUE(words.empty()) << row.word;
        EXPECT_EQ(live(), 0u) << row.word;
    }
}

// --- runs ---

struct Delivered {
    struct One {
        std::uint32_t engine = 0, flags = 0;
        std::uint64_t bytes = 0, header = 0, capacity = 0;
    };
    std::vector<One> chunks;
};
void deliver(const capture::Chunk& chunk, void* user) {
    Delivered::One one{chunk.engine, chunk.flags, chunk.data.size(), 0, chunk.capacity_bytes};
    if (chunk.data.size() >= 8) std::memcpy(&one.header, chunk.data.data(), 8);
    static_cast<Delivered*>(user)->chunks.push_back(one);
}

/// A hub's engine on a GPU that writes what `gpu` says.
struct Hub {
    explicit Hub(std::shared_ptr<const Library> library) {
        auto owned = std::make_unique<FakeBackend>(gpu);
        capture::HubEngine::Options options;
        options.topology = {"gfx90a", 1, 8, 14, 4, 0, 100'000'000};
        options.packets = aqlprofile::packet_maker(std::move(library), 77);
        engine.emplace(std::move(owned), options, clock, log, silenced);
        engine->on_delivery([] {});
    }
    /// The lease that was begun has run: its data are delivered.
    Result<capture::RunSummary> end_lease() {
        engine->retire_lease({});
        std::optional<Result<capture::RunSummary>> ended;
        while (!ended) {
            if (engine->deliver_lease(ended)) continue;
            if (!engine->wait_for_lease_handler(clock.deadline_after(std::chrono::seconds(10))))
                return Error{ErrorCode::kTimeout, "the lease does not end", "", ""};
        }
        return std::move(*ended);
    }
    capture::RunRequest request(pm4::TraceConfig config) {
        capture::RunRequest made;
        made.config = std::move(config);
        made.handler = deliver;
        made.user = &delivered;
        return made;
    }
    Result<void> start(const pm4::TraceConfig& config) {
        const capture::RunRequest made = request(config);
        capture::SlotPlan plan;
        plan.add(capture::requirement_of(made));
        return engine->start(made, plan, ++run);
    }
    FakeGpu gpu;
    SteadyClock clock;
    capture::MarkerLog log;
    std::atomic<bool> silenced{false};
    Delivered delivered;
    std::uint64_t run = 0;
    std::optional<capture::HubEngine> engine;
};

// The read-back table of the recorded experiments (iterate_data.json): bytes, clamping, flags.
TEST_F(AqlprofileTest, ReadBackSaysWhatTheLibrarySays) {
    struct Row {
        std::uint32_t status, wptr;
        std::uint64_t bytes;
        std::uint32_t flags;
    };
    const std::uint64_t capacity = 96 * kMiB - 63 * 4096;
    const Row rows[] = {
        {0, 0x100, 0x2000, 0},
        {0, 0, 0, 0},
        {0x80000000, 0x100, 0x2000, capture::kChunkGpuBufferFull},
        {0x10000000, 0x100, 0x2000, capture::kChunkWriteError},
        {0, 0x3fffffff, capacity, capture::kChunkGpuBufferFull},
        {0, 0xc0000100, 0x2000, 0}, // bits of a read offset
    };
    for (const Row& row : rows) {
        Hub hub(library(STANDIN_PLAIN_LIBRARY));
        const auto started = hub.start(detail());
        ASSERT_TRUE(started) << to_string(started.error());
        hub.gpu.status = row.status;
        hub.gpu.wptr = row.wptr;
        const auto summary = hub.engine->stop(true);
        ASSERT_TRUE(summary) << to_string(summary.error());
        std::uint64_t bytes = 0;
        for (const Delivered::One& chunk : hub.delivered.chunks)
            bytes += chunk.bytes;
        EXPECT_EQ(bytes, row.bytes + 8) << std::hex << row.wptr;
        ASSERT_FALSE(hub.delivered.chunks.empty());
        EXPECT_EQ(hub.delivered.chunks.front().header, 0x1f8011u);
        EXPECT_EQ(hub.delivered.chunks.front().capacity, capacity);
        EXPECT_EQ(hub.delivered.chunks.back().flags, row.flags | capture::kChunkEnd);
        EXPECT_EQ(summary->gpu_full, (row.flags & capture::kChunkGpuBufferFull) != 0);
    }
}

TEST_F(AqlprofileTest, EverySelectedEngineIsDelivered) {
    Hub hub(library(STANDIN_PLAIN_LIBRARY));
    ASSERT_TRUE(hub.start(all_engines()));
    hub.gpu.wptr = 0x40;
    ASSERT_TRUE(hub.engine->stop(true));
    ASSERT_EQ(hub.delivered.chunks.size(), 8u);
    for (std::uint32_t engine = 0; engine < 8; ++engine) {
        const Delivered::One& chunk = hub.delivered.chunks[engine];
        EXPECT_EQ(chunk.engine, engine);
        EXPECT_EQ(chunk.bytes, 0x800u + 8);
        EXPECT_EQ(chunk.header >> 26, engine);
        EXPECT_EQ(chunk.flags, capture::kChunkEnd);
    }
}

TEST_F(AqlprofileTest, EveryFailureOfReadBackIsWordsAndARunEnds) {
    const FaultRow rows[] = {{"iterate", "aqlprofile answered 0x1000"},
                             {"silent_engine", "says nothing of shader engine 0"},
                             {"wrong_size", "bytes that it did not copy"},
                             {"wild_read", "from or to memory that it did not ask for"}};
    for (const FaultRow& row : rows) {
        Hub hub(library());
        ASSERT_TRUE(hub.start(detail()));
        hub.gpu.wptr = 0x100;
        fault(row.word);
        const auto summary = hub.engine->stop(true);
        no_fault();
        ASSERT_FALSE(summary) << row.word;
        EXPECT_THAT(summary.error().message, HasSubstr(row.message)) << row.word;
        ASSERT_EQ(hub.delivered.chunks.size(), 1u) << "one END";
        EXPECT_EQ(hub.delivered.chunks[0].flags, capture::kChunkEnd | capture::kChunkLost);
        EXPECT_FALSE(hub.engine->gpu_lost()) << "the GPU did all it was told";
        ASSERT_TRUE(hub.start(detail())) << row.word;
        EXPECT_TRUE(hub.engine->stop(true)) << row.word;
        hub.engine->shut_down();
        EXPECT_EQ(hub.gpu.host_blocks, 0) << row.word;
        EXPECT_EQ(hub.gpu.device_blocks, 0) << row.word;
        EXPECT_EQ(live(), 0u) << row.word;
    }
}

// The n-th call of each kind into the backend fails, for every n that a run makes.
TEST_F(AqlprofileTest, EveryCallOfARunMayFail) {
    for (int call = 0; call < FakeGpu::kCalls; ++call) {
        for (std::uint64_t n = 1;; ++n) {
            Hub hub(library());
            hub.log.load({5, 0x1000, 0x1000});
            hub.gpu.fail_at[call] = n;
            hub.gpu.wptr = 0x100;
            auto result = hub.start(detail());
            if (result)
                if (auto stopped = hub.engine->stop(true); !stopped)
                    result = std::move(stopped.error());
            const bool reached = hub.gpu.calls[call] >= n;
            EXPECT_TRUE(result.has_value() || reached) << call << " " << n;
            hub.gpu.no_faults();
            hub.delivered.chunks.clear();
            const auto again = hub.start(detail());
            ASSERT_TRUE(again) << call << " " << n << ": " << to_string(again.error());
            ASSERT_TRUE(hub.engine->stop(true));
            EXPECT_EQ(hub.delivered.chunks.size(), 1u);
            hub.engine->shut_down();
            EXPECT_EQ(hub.gpu.queues, 0) << call << " " << n;
            EXPECT_EQ(hub.gpu.host_blocks, 0) << call << " " << n;
            EXPECT_EQ(hub.gpu.device_blocks, 0) << call << " " << n;
            EXPECT_EQ(live(), 0u) << call << " " << n;
            if (!reached) break;
        }
    }
}

/// The words at `buffer`, without NOPs behind the last packet.
std::vector<std::uint32_t> executed_words(const capture::CommandBuffer& buffer) {
    const auto* begin = reinterpret_cast<const std::uint32_t*>(buffer.va);
    std::vector<std::uint32_t> words(begin, begin + buffer.dwords), executed;
    pm4::Parser parser(words);
    for (auto next = parser.next(); next && *next; next = parser.next()) {
        if ((*next)->opcode == pm4::Opcode::kNop) continue;
        executed.push_back((*next)->header);
        executed.insert(executed.end(), (*next)->body.begin(), (*next)->body.end());
    }
    return executed;
}

TEST_F(AqlprofileTest, LeasesRunTheWordsOfTheLibrary) {
    Hub hub(library(STANDIN_PLAIN_LIBRARY));
    hub.log.load({5, 0x1000, 0x1000});
    const auto streams = hub.engine->open_leases();
    ASSERT_TRUE(streams) << to_string(streams.error());
    const capture::RunRequest request = hub.request(detail());
    capture::SlotPlan plan;
    plan.add(capture::requirement_of(request));
    for (int i = 0; i < 3; ++i) {
        const auto begun = hub.engine->begin_lease(request, plan, ++hub.run);
        ASSERT_TRUE(begun) << to_string(begun.error());
        const auto start = executed_words(streams->start), stop = executed_words(streams->stop);
        pm4::TraceConfig theirs = detail();
        theirs.dialect = pm4::Dialect::kAug25;
        const pm4::TraceMemory memory{base_of(start), control_of(stop, theirs), {}};
        auto expected = *pm4::build_start(kChip, theirs, memory);
        const auto marker = pm4::build_marker(kChip, {5, 0x1000, 0x1000, false, true});
        expected.insert(expected.end(), marker.begin(), marker.end());
        EXPECT_EQ(start, expected);
        EXPECT_EQ(stop, *pm4::build_stop(kChip, theirs, memory));
        hub.gpu.wptr = 0x20;
        ASSERT_TRUE(hub.end_lease());
        EXPECT_TRUE(executed_words(streams->start).empty()) << "between leases nothing runs";
    }
    EXPECT_EQ(hub.delivered.chunks.size(), 3u);
    hub.engine->close_leases(false);
    hub.engine->shut_down();
    EXPECT_EQ(hub.gpu.host_blocks, 0);
}

TEST_F(AqlprofileTest, EveryAllocationOfALeaseMayFail) {
    for (const auto call : {FakeGpu::kHost, FakeGpu::kDevice, FakeGpu::kCopy}) {
        for (std::uint64_t n = 1;; ++n) {
            Hub hub(library());
            hub.gpu.fail_at[call] = n;
            hub.gpu.wptr = 0x20;
            const capture::RunRequest request = hub.request(detail());
            capture::SlotPlan plan;
            plan.add(capture::requirement_of(request));
            const auto lease = [&]() -> Result<void> {
                WAVETAP_TRY(const auto opened, hub.engine->open_leases());
                (void)opened;
                WAVETAP_CHECK_OK(hub.engine->begin_lease(request, plan, ++hub.run));
                WAVETAP_TRY(const auto summary, hub.end_lease());
                (void)summary;
                return {};
            };
            const auto first = lease();
            const bool reached = hub.gpu.calls[call] >= n;
            EXPECT_TRUE(first.has_value() || reached) << call << " " << n;
            hub.gpu.no_faults();
            const auto second = lease();
            EXPECT_TRUE(second) << call << " " << n;
            hub.engine->close_leases(false);
            hub.engine->shut_down();
            EXPECT_EQ(hub.gpu.host_blocks, 0) << call << " " << n;
            EXPECT_EQ(hub.gpu.device_blocks, 0) << call << " " << n;
            EXPECT_EQ(live(), 0u) << call << " " << n;
            if (!reached) break;
        }
    }
}

// --- several buffers ---

TEST_F(AqlprofileTest, WithoutMultiBufferFunctionsSeveralBuffersAreRefused) {
    Hub hub(library(STANDIN_PLAIN_LIBRARY));
    capture::RunRequest request = hub.request(detail());
    request.buffers = request.config.buffers = 3;
    request.config.buffer_bytes = 64 * kMiB;
    capture::SlotPlan plan;
    plan.add(capture::requirement_of(request));
    const auto started = hub.engine->start(request, plan, 1);
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(started.error().message, HasSubstr("aqlprofile_att_get_buffer_packets"));
    EXPECT_THAT(started.error().hint, HasSubstr("use one buffer"));
}

// Twice around the ring, and once around all of its swap packets; less where code is instrumented.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kRounds = 2, kRing = 200 * kMiB, kLongRing = 200 * kMiB;
#else
constexpr std::uint64_t kRounds = 2, kRing = 200 * kMiB, kLongRing = 450 * kMiB;
#endif

/// Reads one engine's tokens as its chunks come: they carry growing numbers, with no gap.
struct Client {
    std::vector<std::byte> rest; ///< of a token that goes on in the next chunk
    std::uint64_t tokens = 0, ends = 0;
    std::uint32_t next_index = 0, first = 0, last = 0;
    std::string fault;

    void take(const capture::Chunk& chunk) {
        if (chunk.index != next_index++) fault = "chunk indexes have a gap";
        if (chunk.index == 0) {
            if (chunk.data.size() != 32) fault = "no header chunk";
            return;
        }
        if (chunk.read_offset != 0 && rest.empty()) fault = "a read offset behind whole tokens";
        rest.insert(rest.end(), chunk.data.begin(), chunk.data.end());
        std::size_t at = 0;
        while (at < rest.size()) {
            const unsigned id = std::to_integer<unsigned>(rest[at]) & 0xF;
            const std::size_t size = sqtt::kGfx9Rows[id].bits / 8;
            if (at + size > rest.size()) break;
            if (id == 12) number(&rest[at + 2]);
            at += size;
        }
        rest.erase(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(at));
        if ((chunk.flags & capture::kChunkEnd) == 0) return;
        ++ends;
        if (!rest.empty()) fault = "a token is cut at the end";
    }
    void number(const std::byte* at) {
        std::uint32_t value = 0;
        std::memcpy(&value, at, 4);
        if (tokens == 0) first = value;
        if (tokens != 0 && value != last + 1 && fault.empty())
            fault = "token " + std::to_string(value) + " behind " + std::to_string(last);
        last = value;
        ++tokens;
    }
};
void receive(const capture::Chunk& chunk, void* user) {
    static_cast<Client*>(user)->take(chunk);
}

capture::RunRequest ring_request(std::uint64_t se_mask, Client& client) {
    return stream_request(4, 64 * kMiB, se_mask, receive, &client);
}

TEST_F(AqlprofileTest, SeveralBuffersDeliverEveryTokenInOrder) {
    cases_of("r26_");
    StreamGpu gpu(10);
    {
        StreamDriver driver(gpu, aqlprofile::packet_maker(library(), 77));
        for (std::uint64_t round = 1; round <= kRounds; ++round) {
            Client client;
            const std::uint64_t before = gpu.produced();
            driver.start(ring_request(1, client));
            driver.run_until_produced(round * kRing);
            const auto summary = driver.stop();
            ASSERT_TRUE(summary) << to_string(summary.error());
            EXPECT_GE(summary->flips, kRing / (64 * kMiB));
            EXPECT_EQ(summary->bytes_lost, 0u);
            EXPECT_EQ(client.fault, "");
            EXPECT_EQ(client.ends, 1u);
            EXPECT_EQ(client.tokens, gpu.produced() - before);
        }
        EXPECT_EQ(gpu.freed_in_use, 0u);
    }
    EXPECT_EQ(gpu.blocks, 0);
    EXPECT_EQ(live(), 0u);
}

TEST_F(AqlprofileTest, SeveralBuffersOfAllRecordedKinds) {
    for (const auto& [cases, bytes] : {std::pair{"r26v3_", kLongRing}, {"r26v4_", kRing}}) {
        cases_of(cases);
        StreamGpu gpu(10);
        Client client;
        StreamDriver driver(gpu, aqlprofile::packet_maker(library(), 77));
        driver.start(ring_request(1, client));
        driver.run_until_produced(bytes);
        const auto summary = driver.stop();
        ASSERT_TRUE(summary) << cases << to_string(summary.error());
        EXPECT_GE(summary->flips, bytes / (64 * kMiB));
        EXPECT_EQ(client.fault, "");
        EXPECT_EQ(client.tokens, gpu.produced());
    }
}

TEST_F(AqlprofileTest, FailuresOfSeveralBuffersAreWords) {
    const FaultRow at_start[] = {{"buffer_packets", "aqlprofile answered 0x1000"},
                                 {"odd_swaps", "made 2 swap packets for 3 buffers"}};
    const FaultRow later[] = {{"buffer_status", "aqlprofile answered 0x1000"},
                              {"wrong_order", "in an order that is not known"}};
    cases_of("r26_");
    for (const FaultRow& row : at_start) {
        StreamGpu gpu(10);
        Hub hub(library());
        Client client;
        const capture::RunRequest request = ring_request(1, client);
        capture::SlotPlan plan;
        plan.add(capture::requirement_of(request));
        fault(row.word);
        const auto started = hub.engine->start(request, plan, 1);
        no_fault();
        ASSERT_FALSE(started) << row.word;
        EXPECT_THAT(started.error().message, HasSubstr(row.message));
        EXPECT_EQ(live(), 0u);
    }
    for (const FaultRow& row : later) {
        StreamGpu gpu(10);
        Client client;
        StreamDriver driver(gpu, aqlprofile::packet_maker(library(), 77));
        driver.start(ring_request(1, client));
        fault(row.word);
        driver.run_until_produced(70 * kMiB);
        no_fault();
        const auto summary = driver.stop();
        ASSERT_FALSE(summary) << row.word;
        EXPECT_THAT(summary.error().message, HasSubstr(row.message)) << row.word;
        EXPECT_EQ(client.ends, 1u) << row.word;
    }
    // A run that broke off leaves the library's count of swaps behind; the next one is right.
    StreamGpu gpu(10);
    Client client;
    StreamDriver driver(gpu, aqlprofile::packet_maker(library(), 77));
    driver.start(ring_request(1, client));
    driver.run_until_produced(70 * kMiB);
    fault("buffer_status");
    driver.run_until_produced(90 * kMiB);
    no_fault();
    ASSERT_FALSE(driver.stop());
    Client second;
    driver.start(ring_request(1, second));
    driver.run_until_produced(230 * kMiB);
    const auto summary = driver.stop();
    ASSERT_TRUE(summary) << to_string(summary.error());
    EXPECT_EQ(second.fault, "");
    EXPECT_EQ(second.last + 1, gpu.produced()) << "every token from the second start on";
}

// The library has counted a swap that was never executed.
TEST_F(AqlprofileTest, ARunThatBrokeOffAtASwapIsForgotten) {
    cases_of("r26_");
    StreamGpu gpu(10);
    StreamDriver driver(gpu, aqlprofile::packet_maker(library(), 77));
    Client first, second;
    driver.start(ring_request(1, first));
    gpu.hang = StreamGpu::kSwap;
    driver.run_until_produced(70 * kMiB);
    gpu.hang = 0;
    const auto broken = driver.stop();
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().code, ErrorCode::kTimeout);
    driver.start(ring_request(1, second));
    driver.run_until_produced(210 * kMiB);
    const auto summary = driver.stop();
    ASSERT_TRUE(summary) << to_string(summary.error());
    EXPECT_EQ(second.fault, "");
    EXPECT_GE(summary->flips, 2u);
    EXPECT_EQ(second.last + 1, gpu.produced());
}

TEST_F(AqlprofileTest, EveryCallOfARingsStartMayFail) {
    cases_of("r26_");
    for (std::uint64_t n = 1;; ++n) {
        StreamGpu gpu(10);
        bool started = false;
        {
            StreamDriver driver(gpu, aqlprofile::packet_maker(library(), 77));
            Client client;
            const capture::RunRequest request = ring_request(1, client);
            capture::SlotPlan plan;
            plan.add(capture::requirement_of(request));
            gpu.fail_at = n;
            started = driver.engine().start(request, plan, 1).has_value();
            gpu.fail_at = 0;
            if (!started) {
                const auto again = driver.engine().start(request, plan, 2);
                ASSERT_TRUE(again) << n << ": " << to_string(again.error());
            }
            EXPECT_TRUE(driver.stop()) << n;
            EXPECT_EQ(client.ends, 1u) << n;
        }
        EXPECT_EQ(gpu.blocks, 0) << n;
        EXPECT_EQ(gpu.queues, 0) << n;
        EXPECT_EQ(live(), 0u) << n;
        if (started) break;
        ASSERT_LT(n, 100u);
    }
}

TEST_F(AqlprofileTest, OneEngineStreams) {
    cases_of("r26_");
    Hub hub(library());
    Client client;
    const capture::RunRequest request = ring_request(3, client);
    capture::SlotPlan plan;
    plan.add(capture::requirement_of(request));
    const auto started = hub.engine->start(request, plan, 1);
    ASSERT_FALSE(started);
    EXPECT_THAT(started.error().message, HasSubstr("streams one shader engine"));
}

} // namespace
} // namespace wavetap::test
