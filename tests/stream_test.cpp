// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "pm4/packets.hpp"
#include "stream_client.hpp"
#include "stream_driver.hpp"

#include <algorithm>

// N-buffer streaming over the trace units of the software GPU, in model time: nothing is lost
// uncounted, chunks are in order, faults end in a status.

namespace wavetap::test {
namespace {

using capture::Chunk;

TEST(Streaming, DeliversEveryTokenInOrder) {
    StreamGpu gpu(10);
    Client client;
    StreamDriver engine(gpu);
    engine.start(stream_request(4, kMiB, 1, receive, &client));
    engine.run_until_produced(12 * kMiB);
    const auto summary = engine.stop();
    ASSERT_TRUE(summary) << to_string(summary.error());
    client.stopped = true;
    expect_complete(client, gpu);
    EXPECT_GE(summary->flips, 11u);
    EXPECT_EQ(summary->bytes_lost, 0u);
    EXPECT_EQ(summary->bytes_delivered, client.bytes);
    EXPECT_EQ(summary->chunks, client.chunks);
    // One copy for each delivered byte but the synthetic header chunks.
    EXPECT_EQ(gpu.copied_bytes, client.bytes - 32 * client.streams[0].segments);
    EXPECT_EQ(engine.statistics().flips, summary->flips);
}

TEST(Streaming, ATraceUsesItsOwnSizeInLargerSlots) {
    StreamGpu gpu(10);
    Client client;
    StreamDriver engine(gpu);
    const auto small = stream_request(3, kMiB, 1, receive, &client);
    capture::SlotPlan plan;
    plan.add({4 * kMiB, 4});
    plan.add(capture::requirement_of(small));
    ASSERT_TRUE(engine.engine().start(small, plan, 1));
    engine.run_until_produced(8 * kMiB);
    ASSERT_TRUE(engine.stop());
    expect_complete(client, gpu);
    EXPECT_GE(engine.statistics().flips, 7u) << "the trace's size decides, not the slot's";
    EXPECT_EQ(engine.statistics().staging_bytes, 16 * kMiB);
}

TEST(Streaming, NothingWrittenIsOneHeaderAndOneEnd) {
    StreamGpu gpu(0);
    Client client;
    StreamDriver engine(gpu);
    engine.start(stream_request(3, kMiB, 1, receive, &client));
    const auto summary = engine.stop();
    ASSERT_TRUE(summary);
    EXPECT_EQ(client.ends, 1u);
    EXPECT_EQ(summary->flips, 0u);
}

TEST(Streaming, SeveralEnginesAtOnce) {
    StreamGpu gpu(5);
    Client client;
    StreamDriver engine(gpu);
    engine.start(stream_request(16, 2 * kMiB, 0x0f, receive, &client));
    engine.run_until_produced(32 * kMiB);
    ASSERT_TRUE(engine.stop());
    expect_complete(client, gpu);
    EXPECT_EQ(client.streams.size(), 4u);
    EXPECT_GE(engine.statistics().flips, 4u * 14);
}

// Model-time rates. What is lost is counted by the hardware, token for token.
TEST(Streaming, KeepsUpOrCountsTheLossAtEveryRate) {
    for (const double rate : {10.0, 60.0, 200.0}) {
        StreamGpu gpu(rate);
        Client client;
        StreamDriver engine(gpu);
        engine.start(stream_request(16, kMiB, 1, receive, &client));
        engine.run_until_produced(16 * kMiB);
        ASSERT_TRUE(engine.stop());
        expect_complete(client, gpu);
        const auto& statistics = engine.statistics();
        EXPECT_GT(statistics.flips, 5u) << rate;
        if (rate <= 10) {
            EXPECT_EQ(client.streams[0].dropped, 0u) << rate;
            EXPECT_EQ(statistics.gpu_full, 0u) << rate;
        }
        if (rate >= 200) {
            EXPECT_GT(statistics.gpu_full, 0u) << "copies of 50 GB/s cannot keep up";
            EXPECT_GT(client.gpu_full, 0u);
        }
    }
}

// The unit goes off by itself, as gfx11's may. What it had written is delivered, and a new segment has the code objects
// of now, not of the start.
TEST(Streaming, AUnitThatWentOffIsStartedAgain) {
    StreamGpu gpu(10);
    Client client;
    StreamDriver engine(gpu);
    engine.log().load({1, 0x10000, 0x1000});
    engine.start(stream_request(4, kMiB, 1, receive, &client));
    const std::size_t words = gpu.markers.size();
    EXPECT_EQ(engine.statistics().markers, 1u);
    EXPECT_GT(words, 0u);
    engine.run_until_produced(3 * kMiB);
    engine.log().load({2, 0x20000, 0x2000});
    ASSERT_TRUE(gpu.units[0]->write_register(pm4::gfx9::kSqThreadTraceMode, 0,
                                             static_cast<std::uint64_t>(gpu.ns * 1.7)));
    engine.run_until_produced(6 * kMiB);
    const auto summary = engine.stop();
    ASSERT_TRUE(summary) << to_string(summary.error());
    expect_complete(client, gpu);
    EXPECT_EQ(client.halted, 1u);
    EXPECT_EQ(client.ends, 2u);
    EXPECT_EQ(client.streams[0].segments, 2u);
    EXPECT_EQ(summary->gaps, 1u);
    EXPECT_EQ(engine.statistics().halted, 1u);
    EXPECT_EQ(engine.statistics().markers, 1u + 2);
    EXPECT_EQ(std::count(gpu.markers.begin() + static_cast<std::ptrdiff_t>(words),
                         gpu.markers.end(), 0x2000u),
              1);
}

#ifndef __SANITIZE_THREAD__ // a minute of copying, and no thread but those of the other tests
constexpr std::uint64_t kBoundary = std::uint64_t{4} << 30;

/// Keeps the last chunks of a run with one buffer.
struct Tail {
    std::uint64_t bytes = 0, ends = 0;
    std::vector<std::byte> last;
};
void receive_tail(const Chunk& chunk, void* user) {
    auto* tail = static_cast<Tail*>(user);
    tail->bytes += chunk.data.size();
    if ((chunk.flags & capture::kChunkEnd) != 0) ++tail->ends;
    if (tail->bytes > kBoundary - 2 * kMiB)
        tail->last.insert(tail->last.end(), chunk.data.begin(), chunk.data.end());
}

// The write pointer is set a megabyte below 4 GiB, since nobody wants to wait for it to get there.
TEST(Streaming, FiveGibibytesWhoseWritePointerPassesFour) {
    StreamGpu gpu(10);
    Tail tail;
    StreamDriver engine(gpu);
    engine.start(stream_request(1, std::uint64_t{5} << 30, 1, receive_tail, &tail));
    ASSERT_TRUE(gpu.units[0]->write_register(pm4::gfx9::kSqThreadTraceWptr,
                                             static_cast<std::uint32_t>((kBoundary - kMiB) / 32),
                                             static_cast<std::uint64_t>(gpu.ns * 1.7)));
    const std::uint32_t first = gpu.next_token[0];
    gpu.advance(3.0 * kMiB / gpu.rate);
    const auto summary = engine.stop();
    ASSERT_TRUE(summary) << to_string(summary.error());
    EXPECT_FALSE(summary->gpu_full);
    EXPECT_GT(summary->bytes_delivered, kBoundary + kMiB);
    EXPECT_EQ(summary->bytes_delivered, tail.bytes);
    EXPECT_EQ(tail.ends, 1u);
    // Every token before and behind the boundary is there.
    const std::uint64_t begin = tail.last.size() - (tail.bytes - 8 - (kBoundary - kMiB));
    std::uint32_t expected = first;
    for (std::uint64_t at = begin; at < tail.last.size();) {
        const unsigned id = std::to_integer<unsigned>(tail.last[at]) & 0xF;
        if (id == 12) {
            std::uint32_t value = 0;
            std::memcpy(&value, &tail.last[at + 2], 4);
            ASSERT_EQ(value, expected++) << at;
        }
        at += sqtt::kGfx9Rows[id].bits / 8;
    }
    EXPECT_EQ(expected, gpu.next_token[0]);
}
#endif

// A GPU whose trace unit must not be touched after an overflow, as hardware is reported to be.
TEST(Streaming, AUnitThatBreaksAfterAnOverflowIsLeftAloneWhereTheRunEnds) {
    for (const auto policy :
         {capture::OverflowPolicy::kEndRun, capture::OverflowPolicy::kRestart}) {
        const bool ends = policy == capture::OverflowPolicy::kEndRun;
        StreamGpu gpu(10);
        gpu.breaks_after_overflow = true;
        Client client;
        capture::HubLimits limits;
        limits.query = limits.stop = std::chrono::milliseconds(50);
        StreamDriver engine(gpu, {}, limits);
        auto request = stream_request(3, kMiB, 1, receive, &client);
        request.overflow = policy;
        engine.start(request);
        engine.run_until_produced(2 * kMiB);
        gpu.advance(1e6); // the hub comes late, and finds the unit full
        engine.run_until_produced(16 * kMiB);
        const auto summary = engine.stop();
        ASSERT_FALSE(summary);
        EXPECT_EQ(summary.error().code, ends ? ErrorCode::kLimit : ErrorCode::kTimeout);
        EXPECT_EQ(engine.statistics().deadline_misses, ends ? 0u : 1u);
        EXPECT_EQ(client.ends, 1u);
        EXPECT_TRUE(engine.engine().gpu_lost());
        // Either way a new queue mends it.
        gpu.rate = 1;
        Client again;
        engine.start(stream_request(3, kMiB, 1, receive, &again));
        const auto good = engine.stop();
        EXPECT_TRUE(good) << to_string(good.error());
        EXPECT_EQ(engine.statistics().queues_created, 2u);
        EXPECT_FALSE(gpu.any_armed());
    }
}

TEST(Streaming, OverflowCanEndTheRun) {
    StreamGpu gpu(200);
    Client client;
    StreamDriver engine(gpu);
    auto ending = stream_request(3, kMiB, 1, receive, &client);
    ending.overflow = capture::OverflowPolicy::kEndRun;
    engine.start(ending);
    engine.run_until_produced(32 * kMiB);
    EXPECT_TRUE(engine.engine().streaming());
    const std::uint64_t submissions = gpu.submissions;
    const auto summary = engine.stop();
    ASSERT_FALSE(summary);
    EXPECT_EQ(summary.error().code, ErrorCode::kLimit);
    EXPECT_EQ(gpu.submissions, submissions) << "the trace unit was touched after the overflow";
    EXPECT_EQ(client.ends, 1u);
    EXPECT_EQ(client.gpu_full, 1u);
    EXPECT_TRUE(engine.engine().gpu_lost());
    // The next start rebuilds the queue and disarms first.
    gpu.rate = 1;
    Client again;
    engine.start(stream_request(3, kMiB, 1, receive, &again));
    EXPECT_TRUE(engine.stop());
    EXPECT_EQ(engine.statistics().queues_created, 2u);
    EXPECT_FALSE(gpu.any_armed());
}

// Whatever call fails: a status, no second END and no missing one, and a later run is whole.
TEST(StreamingFaults, EveryCallFailsOnce) {
    std::uint64_t failed_starts = 0, failed_runs = 0, n = 1;
    for (bool reached = true; reached; ++n) {
        StreamGpu gpu(10);
        {
            Client client, again;
            StreamDriver driver(gpu);
            const auto request = stream_request(3, kMiB, 1, receive, &client);
            capture::SlotPlan plan;
            plan.add(capture::requirement_of(request));
            gpu.fail_at = n;
            const auto started = driver.engine().start(request, plan, 1);
            if (!started) {
                ++failed_starts;
                EXPECT_EQ(started.error().code, ErrorCode::kUnavailable) << n;
            } else {
                driver.run_until_produced(2 * kMiB + 65536);
                const auto summary = driver.stop();
                client.stopped = true;
                EXPECT_EQ(client.fault, "") << n;
                EXPECT_EQ(client.ends, 1u) << n << ": one END, whatever happened";
                if (!summary) {
                    ++failed_runs;
                    EXPECT_EQ(client.lost, 1u) << n;
                }
            }
            reached = gpu.calls.load() >= n;
            gpu.fail_at = 0;
            gpu.next_token = {};
            driver.start(stream_request(3, kMiB, 1, receive, &again));
            driver.run_until_produced(gpu.produced() * StreamGpu::kTokenBytes + kMiB + 65536);
            const auto good = driver.stop();
            ASSERT_TRUE(good) << n << ": " << to_string(good.error());
            expect_complete(again, gpu, true);
        }
        EXPECT_EQ(gpu.freed_in_use, 0u) << n;
        EXPECT_EQ(gpu.blocks, 0) << n;
        EXPECT_EQ(gpu.queues, 0) << n;
    }
    // A slot that is refused once is asked for a second time, for this context alone.
    EXPECT_GE(failed_starts, 5u) << "queue, control block, swap streams, submit, wait";
    EXPECT_GE(failed_runs, 12u);
}

} // namespace
} // namespace wavetap::test
