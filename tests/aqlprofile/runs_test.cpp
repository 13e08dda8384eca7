// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "aqlprofile_fixture.hpp"

// Runs and leases with one buffer.

namespace wavetap::test {
namespace {

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

} // namespace
} // namespace wavetap::test
