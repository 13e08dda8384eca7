// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/session.hpp"
#include "decode/decoder.hpp"
#include "direct_backend.hpp"
#include "softgpu/truth.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <random>
#include <thread>
#include <vector>

// Capture and the chip model in one process, without driver or runtime, so that the sanitizers see
// all of it.

namespace wavetap::test {
namespace {

using capture::Chunk;
using capture::ContextHandle;
using softgpu::Rig;
namespace kernels = softgpu::kernels;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr auto kPatience = std::chrono::seconds(60);

struct Received {
    std::atomic<int> chunks{0};
    std::atomic<int> ends{0};
    std::atomic<bool> stopped{false}; ///< set by the client after stop returned
    std::atomic<int> late{0};
    std::map<std::uint32_t, std::vector<std::byte>> bytes; ///< by engine, last run
};
void receive(const Chunk& chunk, void* user) {
    auto* received = static_cast<Received*>(user);
    ++received->chunks;
    if ((chunk.flags & capture::kChunkEnd) != 0) ++received->ends;
    if (received->stopped) ++received->late;
    received->bytes[chunk.engine].assign(chunk.data.begin(), chunk.data.end());
}

class CaptureChipTest : public ::testing::Test {
  protected:
    CaptureChipTest() {
        path_ = (std::filesystem::path(testing::TempDir()) /
                 testing::UnitTest::GetInstance()->current_test_info()->name())
                    .string();
        auto writer = softgpu::TruthWriter::create(path_);
        EXPECT_TRUE(writer);
        writer_ = *std::move(writer);
        chip_ = std::make_unique<LiveChip>(Rig::small(), writer_.get());
        capture::AgentHub::Options options;
        options.engine.topology = {"gfx90a", 1, 2, 2, 4};
        auto backend = std::make_unique<DirectBackend>(*chip_);
        backend_ = backend.get();
        session_ = std::make_unique<capture::Session>();
        session_->add_agent(
            std::make_unique<capture::AgentHub>(std::move(backend), options, clock_));
        chip_->with([this](Rig& rig) {
            work_ = rig.add_kernel(kernels::kWork);
            queue_ = rig.add_queue(1);
        });
    }
    ContextHandle context(Received& received, std::uint64_t se_mask, std::uint64_t cu,
                          std::uint64_t simd_mask = 0xf, std::uint64_t bytes = kMiB) {
        const auto handle = session_->create();
        EXPECT_TRUE(handle);
        capture::TraceParams params;
        params.se_mask = se_mask;
        params.target_cu = cu;
        params.simd_mask = simd_mask;
        params.buffer_bytes = bytes;
        const auto configured = session_->configure(*handle, 0, params, receive, &received);
        EXPECT_TRUE(configured) << to_string(configured.error());
        return *handle;
    }
    struct Work {
        std::uint64_t output = 0, signal = 0;
    };
    static constexpr std::uint32_t kItems = 1024;
    Work make_work() {
        return chip_->with([](Rig& rig) {
            return Work{rig.allocate(kItems * 4), rig.add_signal(0)};
        });
    }
    /// 16 waves. The results are checked by check().
    void launch(const Work& work) {
        chip_->with([&](Rig& rig) {
            rig.write(work.signal + 8, std::int64_t{1});
            const std::uint64_t arguments = rig.allocate(16);
            rig.write(arguments, work.output);
            rig.write(arguments + 8, kItems);
            softgpu::Launch l;
            l.kernel = work_;
            l.grid = {kItems, 1, 1};
            l.group = {256, 1, 1};
            l.arguments = arguments;
            l.signal = work.signal;
            l.lds_bytes = 1024;
            rig.launch(queue_, l);
        });
    }
    void check(const Work& work) {
        ASSERT_TRUE(chip_->wait(std::chrono::steady_clock::now() + kPatience,
                                [&](Rig& rig) { return rig.value(work.signal) == 0; }));
        chip_->with([&](Rig& rig) {
            for (std::uint32_t i = 0; i < kItems; ++i)
                ASSERT_EQ(rig.read<std::uint32_t>(work.output + i * 4),
                          12 * (i % 256) + 3 * (i % 256 ^ 1));
        });
    }
    softgpu::Truth truth() {
        session_.reset();
        chip_.reset();
        writer_.reset();
        auto read = softgpu::read_truth(path_);
        EXPECT_TRUE(read);
        return *std::move(read);
    }

    std::string path_;
    std::unique_ptr<softgpu::TruthWriter> writer_;
    SteadyClock clock_{20};
    std::unique_ptr<LiveChip> chip_;
    std::unique_ptr<capture::Session> session_;
    DirectBackend* backend_ = nullptr;
    std::uint64_t work_ = 0;
    Rig::Queue queue_;
};

TEST_F(CaptureChipTest, EveryWaveOfTheEngineIsInTheTrace) {
    Received received;
    const auto handle = context(received, 0b11, 1);
    ASSERT_TRUE(session_->start(handle));
    const Work work = make_work();
    launch(work);
    check(work);
    ASSERT_TRUE(session_->stop(handle));
    EXPECT_EQ(received.ends, 2);
    const softgpu::Truth log = truth();
    std::size_t waves = 0;
    for (std::uint32_t engine = 0; engine < 2; ++engine) {
        decode::Options options;
        options.gfx = "gfx90a";
        const auto records = decode::decode_blob(received.bytes[engine], options);
        ASSERT_TRUE(records) << to_string(records.error());
        std::size_t expected = 0, expected_on_target = 0, expected_instructions = 0;
        for (const auto& wave : log.waves) {
            if (wave.se != engine) continue;
            ++expected;
            if (wave.cu != 1) continue;
            ++expected_on_target;
            expected_instructions += wave.instructions.size();
        }
        std::size_t instructions = 0, on_target = 0;
        for (const auto& wave : records->waves) {
            EXPECT_TRUE(wave.cu == 1 || wave.instructions.empty());
            on_target += wave.cu == 1 ? 1 : 0;
            instructions += wave.instructions.size();
        }
        EXPECT_EQ(records->waves.size(), expected);
        EXPECT_EQ(on_target, expected_on_target);
        EXPECT_EQ(instructions, expected_instructions);
        EXPECT_GT(instructions, 0u);
        waves += expected;
    }
    EXPECT_EQ(waves, kItems / 64);
}

TEST_F(CaptureChipTest, BIsRefusedWhileARunsAndTheProgramNeverNotices) {
    Received a_received, b_received;
    const auto a = context(a_received, 1, 0), b = context(b_received, 3, 1);
    ASSERT_TRUE(session_->start(a));
    const Work work = make_work();
    launch(work);
    EXPECT_EQ(session_->start(b).error().code, ErrorCode::kBusy);
    check(work);
    ASSERT_TRUE(session_->stop(a));
    ASSERT_TRUE(session_->start(b));
    launch(work);
    check(work);
    ASSERT_TRUE(session_->stop(b));
    EXPECT_EQ(a_received.ends, 1);
    EXPECT_EQ(b_received.ends, 2);
    const auto statistics = session_->hub(0).statistics();
    EXPECT_EQ(statistics.queues_created, 1u);
    EXPECT_EQ(statistics.output_slots, 1u);
    EXPECT_EQ(statistics.refused, 1u);
}

TEST_F(CaptureChipTest, EightContextsInTurnWhileKernelsRun) {
    std::atomic<bool> more{true};
    std::thread application([&] {
        const Work work = make_work();
        while (more) {
            launch(work);
            check(work);
        }
    });
    Received received[8];
    std::vector<ContextHandle> handles;
    for (std::uint64_t i = 0; i < 8; ++i)
        handles.push_back(
            context(received[i], i % 2 == 0 ? 1 : 3, i % 2, 1u << (i % 4), (1 + i % 2) * kMiB));
    for (int round = 0; round < 3; ++round)
        for (std::size_t i = 0; i < 8; ++i) {
            received[i].stopped = false;
            ASSERT_TRUE(session_->start(handles[i]));
            const auto summary = session_->stop(handles[i]);
            received[i].stopped = true;
            ASSERT_TRUE(summary) << to_string(summary.error());
        }
    more = false;
    application.join();
    for (std::size_t i = 0; i < 8; ++i) {
        EXPECT_EQ(received[i].ends, i % 2 == 0 ? 3 : 6);
        EXPECT_EQ(received[i].late, 0);
    }
    EXPECT_EQ(session_->hub(0).statistics().output_bytes, 2 * kMiB);
}

TEST_F(CaptureChipTest, StormOfStartsStopsAndCodeObjects) {
    std::atomic<bool> more{true};
    std::thread application([&] {
        const Work work = make_work();
        for (int i = 0; i < 40 && more; ++i) {
            launch(work);
            check(work);
        }
    });
    std::vector<std::unique_ptr<Received>> received;
    std::vector<ContextHandle> handles;
    for (std::uint64_t i = 0; i < 40; ++i) {
        received.push_back(std::make_unique<Received>());
        handles.push_back(context(*received.back(), 1 + i % 3, i % 2));
    }
    std::atomic<int> runs{0}, wrong{0};
    std::vector<std::thread> clients;
    for (unsigned t = 0; t < 4; ++t)
        clients.emplace_back([&, t] {
            std::mt19937 random(t);
            for (std::uint64_t i = 0; i < 15; ++i) {
                const ContextHandle handle = handles[random() % handles.size()];
                const auto started = session_->start(handle);
                if (!started && started.error().code != ErrorCode::kBusy) ++wrong;
                const std::uint64_t id = t * 100 + i;
                if (!session_->hub(0).code_object_loaded({id, id << 16, 0x1000})) ++wrong;
                const auto stopped = session_->stop(handle);
                if (stopped && stopped->run != 0) ++runs;
                if (!stopped && stopped.error().code != ErrorCode::kBusy) ++wrong;
                if (i % 3 == 0 && !session_->hub(0).code_object_unloaded(id)) ++wrong;
            }
        });
    for (auto& client : clients)
        client.join();
    more = false;
    application.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(runs, 0);
    ASSERT_TRUE(session_->close());
    EXPECT_EQ(session_->hub(0).statistics().deadline_misses, 0u);
}

TEST_F(CaptureChipTest, AQueueThatStandsStillFailsTheHubWhichRebuildsIt) {
    capture::AgentHub::Options options;
    options.engine.limits.stop = std::chrono::seconds(2);
    options.engine.topology = {"gfx90a", 1, 2, 2, 4};
    auto backend = std::make_unique<DirectBackend>(*chip_);
    const DirectBackend& direct = *backend;
    const SteadyClock clock;
    capture::AgentHub hub(std::move(backend), options, clock);
    Received received;
    capture::RunRequest request;
    request.config.buffer_bytes = kMiB;
    request.config.se_mask = 1;
    request.handler = receive;
    request.user = &received;
    auto run = hub.start(request);
    ASSERT_TRUE(run) << to_string(run.error());
    const auto queue = direct.queue_for_test();
    ASSERT_TRUE(queue);
    chip_->with([&](Rig& rig) { rig.chip->suspend_queue(*queue, true); });
    const auto stopped = run->stop();
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().code, ErrorCode::kTimeout);
    EXPECT_EQ(hub.state(), capture::HubState::kFailed);
    EXPECT_EQ(received.ends, 1); // END | LOST
    run = hub.start(request);
    ASSERT_TRUE(run) << to_string(run.error());
    ASSERT_TRUE(run->stop());
    EXPECT_EQ(received.ends, 2);
    EXPECT_EQ(hub.statistics().queues_created, 2u);
    const Work work = make_work();
    launch(work);
    check(work);
}

} // namespace
} // namespace wavetap::test
