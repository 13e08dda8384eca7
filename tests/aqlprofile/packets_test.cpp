// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "aqlprofile_fixture.hpp"

// Loading the library; the packets that it makes; its failures.

namespace wavetap::test {
namespace {

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
pm4::TraceConfig counters() {
    pm4::TraceConfig config;
    config.target_cu = 2;
    config.buffer_bytes = 64 * kMiB;
    config.counters.push_back({4, 0xf});
    config.counters.push_back({0x1a, 0xf});
    config.counter_rate = 3;
    config.counter_cu_mask = 0xffff;
    return config;
}

TEST_F(AqlprofileTest, TheStreamsWorkOnTheSlotsOfTheHub) {
    struct Row {
        const char* cases;
        pm4::Dialect dialect;
        pm4::TraceConfig config;
    };
    const Row rows[] = {{"aug25_", pm4::Dialect::kAug25, detail()},
                        {"aug25_", pm4::Dialect::kAug25, occupancy()},
                        {"aug25_", pm4::Dialect::kAug25, all_engines()},
                        {"aug25_", pm4::Dialect::kAug25, counters()},
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

} // namespace
} // namespace wavetap::test
