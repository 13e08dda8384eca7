// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "aqlprofile_fixture.hpp"

// Runs with several buffers.

namespace wavetap::test {
namespace {

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

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define WAVETAP_INSTRUMENTED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WAVETAP_INSTRUMENTED
#endif
#endif
// Twice around the ring, and once around all of its swap packets; less where code is instrumented.
#ifdef WAVETAP_INSTRUMENTED
constexpr std::uint64_t kRounds = 2, kRing = 80 * kMiB, kLongRing = 140 * kMiB;
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
