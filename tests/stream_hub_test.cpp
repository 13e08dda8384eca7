// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/clock_for_test.hpp"
#include "capture/session.hpp"
#include "stream_client.hpp"
#include "stream_driver.hpp"

#include <algorithm>
#include <utility>

// N-buffer streaming through a hub: contexts that take turns, slow and stuck consumers, a GPU that
// does not answer.

namespace wavetap::test {
namespace {

using capture::Chunk;
using capture::ContextHandle;

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

    ClockForTest clock_;
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

TEST_F(HubTest, AHandlerThatDoesNotReturnIsLeftAlone) {
    capture::HubLimits limits;
    limits.request = std::chrono::milliseconds(300);
    open(limits);
    constexpr double kEnough = 200;
    clock_.scale = kEnough;
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
    clock_.scale = 1;
    const auto summary = session_.stop(handle);
    clock_.scale = kEnough;
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
