// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/session.hpp"
#include "pm4/packets.hpp"
#include "sqtt/gfx9.hpp"
#include "stream_driver.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <thread>
#include <vector>

// N-buffer streaming over the trace units of the software GPU, in model time: nothing is lost
// uncounted, chunks are in order, faults end in a status.

namespace wavetap::test {
namespace {

using capture::Chunk;
using capture::ContextHandle;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kNoToken = ~std::uint64_t{0};
constexpr std::uint64_t kHeaderBytes = 32; ///< of the header chunk

/// What one engine's segments say, joined and read token by token.
struct Stream {
    std::vector<std::byte> bytes;      ///< of the segment
    std::uint64_t next = kHeaderBytes; ///< where its next token begins
    std::uint64_t tokens = 0, dropped = 0, segments = 0, packet_losses = 0;
    std::uint64_t first = kNoToken, last = kNoToken;
    std::string fault;

    /// The bytes of a chunk; its first `read_offset` end a token of the chunk before. The unit does not say it of the
    /// buffer behind one that waits to be taken: there, at the end of a segment, it may be 0.
    void add(const Chunk& chunk, std::span<const std::byte> data) {
        for (; next < bytes.size(); next += size_at(next)) {
        }
        const std::uint64_t rest = bytes.empty() ? 0 : next - bytes.size();
        const bool end = (chunk.flags & capture::kChunkEnd) != 0;
        if (chunk.read_offset != rest && !(end && chunk.read_offset == 0))
            fault = "the read offset is not where a token begins";
        bytes.insert(bytes.end(), data.begin(), data.end());
    }
    std::uint64_t size_at(std::uint64_t at) const {
        return sqtt::kGfx9Rows[std::to_integer<unsigned>(bytes[at]) & 0xF].bits / 8;
    }
    void end_segment() {
        std::uint64_t at = kHeaderBytes;
        if (bytes.size() < at) fault = "a segment without a header chunk";
        while (at < bytes.size()) {
            const unsigned id = std::to_integer<unsigned>(bytes[at]) & 0xF;
            const std::uint64_t size = size_at(at);
            if (at + size > bytes.size()) fault = "a token is cut at the end of a segment";
            if (id == 12 && fault.empty()) take(at);
            if (id == 0 && (std::to_integer<unsigned>(bytes[at + 1]) >> 5) == 2) ++packet_losses;
            at += size;
        }
        bytes.clear();
        next = kHeaderBytes;
        ++segments;
    }
    void take(std::uint64_t at) {
        std::uint32_t value = 0;
        std::memcpy(&value, &bytes[at + 2], 4);
        if (last != kNoToken && value <= last) fault = "tokens are out of order";
        if (first == kNoToken) first = value;
        last = value;
        ++tokens;
    }
};

struct Client {
    std::map<std::uint32_t, Stream> streams;
    std::map<std::uint32_t, std::vector<Chunk>> waiting; ///< as ready: by index
    std::uint32_t next_index = 0;
    std::uint64_t chunks = 0, ends = 0, cpu_full = 0, gpu_full = 0, halted = 0, lost = 0, bytes = 0;
    std::chrono::microseconds delay{0};
    std::string fault;
    std::atomic<bool> stopped{false};
    Mutex mutex;     ///< as-ready handlers run at once
    CondVar counted; ///< with every chunk

    /// Waits until `reached`, which looks at the counts; false if that takes a minute.
    template <typename Predicate> bool wait(Predicate reached) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        MutexLock lock(mutex);
        return counted.wait_until(mutex, deadline, reached);
    }

    void take(const Chunk& chunk, std::span<const std::byte> data) {
        if (chunk.index != next_index) fault = "chunk indexes have a gap";
        ++next_index;
        Stream& stream = streams[chunk.engine];
        stream.add(chunk, data);
        if ((chunk.flags & capture::kChunkEnd) == 0) return;
        ++ends;
        stream.dropped += chunk.dropped;
        stream.end_segment();
    }
};

void count(Client& client, const Chunk& chunk) {
    ++client.chunks;
    client.bytes += chunk.data.size();
    if ((chunk.flags & capture::kChunkCpuBufferFull) != 0) ++client.cpu_full;
    if ((chunk.flags & capture::kChunkGpuBufferFull) != 0) ++client.gpu_full;
    if ((chunk.flags & capture::kChunkHalted) != 0) ++client.halted;
    if ((chunk.flags & capture::kChunkLost) != 0) ++client.lost;
    if (client.stopped) client.fault = "a callback after stop returned";
    client.counted.notify_all();
}

void receive(const Chunk& chunk, void* user) {
    auto* client = static_cast<Client*>(user);
    if (client->delay.count() != 0) std::this_thread::sleep_for(client->delay);
    MutexLock lock(client->mutex);
    count(*client, chunk);
    client->take(chunk, chunk.data);
}

/// Keeps copies and puts them in order at the end.
struct UnorderedClient : Client {
    std::map<std::uint32_t, std::pair<Chunk, std::vector<std::byte>>> kept;
    std::atomic<int> inside{0}, most_inside{0};
    const Count* stops = nullptr;
    std::uint64_t stops_before = 0;

    void put_in_order() {
        for (const auto& [index, chunk] : kept)
            take(chunk.first, chunk.second);
    }
};
void receive_unordered(const Chunk& chunk, void* user) {
    auto* client = static_cast<UnorderedClient*>(user);
    const int inside = ++client->inside;
    // At first much slower than any producer: until the trace was stopped for want of a slot.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    const bool stopped =
        client->stops == nullptr || client->stops->wait_above(client->stops_before, deadline);
    if (client->delay.count() != 0) std::this_thread::sleep_for(client->delay);
    MutexLock lock(client->mutex);
    if (!stopped) client->fault = "the trace was not stopped for want of a slot";
    client->most_inside = std::max(client->most_inside.load(), inside);
    count(*client, chunk);
    client->kept[chunk.index] = {chunk, {chunk.data.begin(), chunk.data.end()}};
    --client->inside;
}

/// `armed_before`: the units wrote before this run, which a failed run had left armed.
void expect_complete(const Client& client, const StreamGpu& gpu, bool armed_before = false) {
    EXPECT_EQ(client.fault, "");
    std::uint64_t tokens = 0, dropped = 0;
    for (const auto& [engine, stream] : client.streams) {
        EXPECT_EQ(stream.fault, "") << "engine " << engine;
        EXPECT_TRUE(stream.bytes.empty()) << "engine " << engine << ": a segment without END";
        const std::uint64_t before = armed_before ? stream.first : 0;
        EXPECT_EQ(stream.tokens + stream.dropped, gpu.next_token[engine] - before)
            << "engine " << engine;
        tokens += stream.tokens + before;
        dropped += stream.dropped;
    }
    EXPECT_EQ(tokens + dropped, gpu.produced());
    EXPECT_EQ(client.lost, 0u);
}

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

/// A hub with one context over a StreamGpu whose time passes with every submission.
class HubTest : public ::testing::Test {
  protected:
    void open(capture::HubLimits limits = {}) {
        capture::AgentHub::Options options;
        options.engine.topology = stream_topology();
        options.engine.limits = limits;
        session_.add_agent(std::make_unique<capture::AgentHub>(
            std::make_unique<StreamBackend>(gpu_), options, clock_));
    }
    ContextHandle context(const capture::TraceParams& params, capture::ChunkHandler handler,
                          void* user) {
        const auto handle = session_.create();
        EXPECT_TRUE(handle);
        const auto configured = session_.configure(*handle, 0, params, handler, user);
        EXPECT_TRUE(configured) << to_string(configured.error());
        return *handle;
    }
    static capture::TraceParams params(std::uint64_t buffers, std::uint64_t bytes,
                                       std::uint64_t se_mask = 1) {
        capture::TraceParams made;
        made.buffers = buffers;
        made.buffer_bytes = bytes;
        made.se_mask = se_mask;
        made.several_engines = 1;
        return made;
    }
    /// The hub's thread alone uses gpu_ while a trace runs; this looks at what it has counted.
    void wait_for_chunks(Client& client, std::uint64_t chunks) {
        ASSERT_TRUE(client.wait([&] { return client.chunks >= chunks; }));
    }

    SteadyClock clock_;
    StreamGpu gpu_{20};
    capture::Session session_;
};

TEST_F(HubTest, SlowConsumerLosesNothingUncounted) {
    const struct {
        std::uint64_t se_mask, buffers;
        bool as_ready;
    } rows[] = {{1, 3, false}, {1, 16, false}, {0xf, 4, false}, {1, 3, true}, {0xf, 16, true}};
    open();
    gpu_.rate = 4; // the hardware's own slots never are what is short
    for (const auto& row : rows) {
        UnorderedClient client;
        client.delay = std::chrono::milliseconds(5);
        client.stops = &gpu_.stops;
        client.stops_before = gpu_.stops.load();
        auto wanted = params(row.buffers, kMiB, row.se_mask);
        wanted.as_ready = row.as_ready ? 1 : 0;
        const ContextHandle handle = context(wanted, receive_unordered, &client);
        gpu_.next_token = {};
        ASSERT_TRUE(session_.start(handle));
        wait_for_chunks(client, 40);
        const auto summary = session_.stop(handle);
        ASSERT_TRUE(summary) << to_string(summary.error());
        client.stopped = true;
        client.put_in_order();
        expect_complete(client, gpu_);
        EXPECT_EQ(summary->bytes_lost, 0u);
        EXPECT_GT(client.cpu_full, 0u) << row.se_mask << " " << row.buffers;
        if (!row.as_ready)
            EXPECT_EQ(client.most_inside.load(), 1);
        else
            EXPECT_GT(client.most_inside.load(), 1);
        const auto statistics = session_.hub(0).statistics();
        EXPECT_LE(statistics.threads, 1 + row.buffers + (row.buffers == 3 ? 13 : 0));
        EXPECT_TRUE(session_.destroy(handle));
    }
}

TEST_F(HubTest, ContextsOfEveryBufferCountTakeTurns) {
    open();
    std::vector<std::unique_ptr<Client>> clients;
    std::vector<ContextHandle> handles;
    for (const std::uint64_t buffers : {1, 3, 4, 16})
        for (const std::uint64_t bytes : {kMiB, 2 * kMiB}) {
            clients.push_back(std::make_unique<Client>());
            handles.push_back(context(params(buffers, bytes), receive, clients.back().get()));
        }
    for (std::size_t round = 0; round < 2; ++round) {
        for (std::size_t i = 0; i < handles.size(); ++i) {
            Client& client = *clients[i];
            client.next_index = 0;
            client.streams.clear();
            const std::uint64_t chunks = client.chunks;
            gpu_.next_token = {};
            ASSERT_TRUE(session_.start(handles[i]));
            if (i >= 2) wait_for_chunks(client, chunks + 8);
            ASSERT_TRUE(session_.stop(handles[i]));
            if (i >= 2) expect_complete(client, gpu_);
        }
    }
    const auto statistics = session_.hub(0).statistics();
    EXPECT_EQ(statistics.queues_created, 1u);
    EXPECT_EQ(statistics.output_slots, 3u);
    EXPECT_EQ(statistics.threads, 2u) << "the hub's thread and one that delivers in order";
    EXPECT_GE(statistics.flips, 2u * 6 * 6);
    EXPECT_EQ(statistics.bytes_lost, 0u);
}

TEST_F(HubTest, StopAndStartInAHandlerAreRefused) {
    open();
    struct Reentrant {
        capture::Session* session;
        ContextHandle handle;
        int refused = 0, other = 0;
        Client client;
    } reentrant{&session_, {}, {}, {}, {}};
    const auto handler = [](const Chunk& chunk, void* user) {
        auto* r = static_cast<Reentrant*>(user);
        const auto stopped = r->session->stop(r->handle);
        const bool refused = !stopped && (stopped.error().code == ErrorCode::kWouldDeadlock);
        {
            MutexLock lock(r->client.mutex);
            ++(refused ? r->refused : r->other);
            count(r->client, chunk);
        }
        // Code that is loaded in a handler waits for nobody.
        (void)r->session->hub(0).code_object_loaded({7, 0x1000, 0x1000});
    };
    reentrant.handle = context(params(3, kMiB), handler, &reentrant);
    ASSERT_TRUE(session_.start(reentrant.handle));
    EXPECT_TRUE(reentrant.client.wait([&] { return reentrant.refused >= 5; }));
    ASSERT_TRUE(session_.stop(reentrant.handle));
    EXPECT_EQ(reentrant.other, 0);
}

// A stop that is refused in a handler is no stop: another thread's stop, at that time, is not told that one is under way.
TEST_F(HubTest, ARefusedStopHindersNoOther) {
    open();
    struct Reentrant {
        capture::Session* session;
        ContextHandle handle;
        std::atomic<int> other{0}, calls{0};
    } reentrant{&session_, {}, {}, {}};
    const auto handler = [](const Chunk&, void* user) {
        auto* r = static_cast<Reentrant*>(user);
        ++r->calls;
        r->calls.notify_all();
        for (int i = 0; i < 5000; ++i) {
            const auto stopped = r->session->stop(r->handle);
            if (stopped || stopped.error().code != ErrorCode::kWouldDeadlock) ++r->other;
        }
    };
    reentrant.handle = context(params(4, kMiB), handler, &reentrant);
    for (int i = 1; i <= 20; ++i) {
        const int before = reentrant.calls;
        ASSERT_TRUE(session_.start(reentrant.handle));
        reentrant.calls.wait(before);
        const auto stopped = session_.stop(reentrant.handle);
        ASSERT_TRUE(stopped) << i << ": " << to_string(stopped.error());
    }
    EXPECT_EQ(reentrant.other, 0);
}

TEST_F(HubTest, TokenDroppedWhileStreamingDisarms) {
    open();
    Client client;
    const ContextHandle handle = context(params(4, kMiB), receive, &client);
    ASSERT_TRUE(session_.start(handle));
    wait_for_chunks(client, 4);
    // Closing the session delivers; destroying it with the run in progress must not hang.
    ASSERT_TRUE(session_.close());
    EXPECT_FALSE(gpu_.any_armed());
    EXPECT_EQ(gpu_.freed_in_use, 0u);
    EXPECT_EQ(gpu_.blocks, 0);
    EXPECT_EQ(gpu_.queues, 0);
}

// Query, swap, stop and copy never answered: the deadline holds, exactly one END, nothing that the
// GPU may still use is freed, and the next start works on a new queue.
TEST_F(HubTest, WhatIsNeverAnsweredEndsAtTheDeadline) {
    capture::HubLimits limits;
    limits.query = limits.stop = limits.copy = limits.start = std::chrono::milliseconds(100);
    open(limits);
    std::uint64_t rebuilt = 1;
    for (const std::uint32_t hang :
         {StreamGpu::kQuery, StreamGpu::kSwap, StreamGpu::kCopy, StreamGpu::kStop}) {
        Client client;
        const ContextHandle handle = context(params(3, kMiB), receive, &client);
        gpu_.next_token = {};
        ASSERT_TRUE(session_.start(handle));
        wait_for_chunks(client, 3);
        gpu_.hang = hang;
        const auto begin = std::chrono::steady_clock::now();
        EXPECT_TRUE(hang == StreamGpu::kStop || client.wait([&] { return client.lost != 0; }));
        const auto summary = session_.stop(handle);
        ASSERT_FALSE(summary) << hang;
        EXPECT_EQ(summary.error().code, ErrorCode::kTimeout) << hang;
        EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
        EXPECT_EQ(client.lost, 1u) << hang;
        EXPECT_EQ(client.fault, "") << hang;
        EXPECT_EQ(session_.hub(0).state(), capture::HubState::kFailed);
        gpu_.hang = 0;
        Client again;
        const ContextHandle other = context(params(3, kMiB), receive, &again);
        gpu_.next_token = {};
        ASSERT_TRUE(session_.start(other)) << hang;
        wait_for_chunks(again, 4);
        ASSERT_TRUE(session_.stop(other)) << hang;
        expect_complete(again, gpu_, true);
        EXPECT_EQ(session_.hub(0).statistics().queues_created, ++rebuilt);
        EXPECT_EQ(gpu_.freed_in_use, 0u) << hang;
        EXPECT_TRUE(session_.destroy(handle));
        EXPECT_TRUE(session_.destroy(other));
    }
    EXPECT_EQ(session_.hub(0).statistics().deadline_misses, 4u);
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

TEST_F(HubTest, AHandlerThatDoesNotReturnIsLeftAlone) {
    capture::HubLimits limits;
    limits.request = std::chrono::milliseconds(300);
    limits.close = std::chrono::milliseconds(300);
    open(limits);
    struct Stuck {
        std::atomic<bool> release{false};
        std::atomic<int> calls{0};
    };
    auto stuck = std::make_shared<Stuck>();
    const auto handler = [](const Chunk&, void* user) {
        auto* s = static_cast<Stuck*>(user);
        ++s->calls;
        s->release.wait(false);
    };
    const ContextHandle handle = context(params(3, kMiB), handler, stuck.get());
    ASSERT_TRUE(session_.start(handle));
    const auto summary = session_.stop(handle);
    ASSERT_FALSE(summary);
    EXPECT_EQ(summary.error().code, ErrorCode::kTimeout);
    stuck->release = true;
    stuck->release.notify_all();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    Client client;
    const ContextHandle other = context(params(3, kMiB), receive, &client);
    Result<void> started;
    do { // until the handler has returned, and the hub's thread has noticed
        started = session_.start(other);
    } while (!started && std::chrono::steady_clock::now() < deadline);
    ASSERT_TRUE(started) << to_string(started.error());
    wait_for_chunks(client, 3);
    ASSERT_TRUE(session_.stop(other));
}

} // namespace
} // namespace wavetap::test
