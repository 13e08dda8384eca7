// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// Storms: eight threads start and stop 400 contexts on four chips while code objects come and go,
// handlers call back in, kernels run and, at the end, everything is closed under them. Over the direct
// backend, so that ThreadSanitizer and AddressSanitizer see all of it.
// WAVETAP_STORM_ROUNDS: rounds (default 4); `ctest -L long` runs 200.
#include "capture/session.hpp"
#include "tests/direct_backend.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace wavetap::test {
namespace {

using capture::Chunk;
using capture::ContextHandle;
using capture::Session;
using softgpu::Rig;

constexpr std::uint32_t kAgents = 4;
constexpr std::uint32_t kContexts = 400;
constexpr std::uint32_t kThreads = 8;
constexpr std::uint32_t kSteps = 40; ///< of a thread and a round
constexpr auto kPatience = std::chrono::seconds(120);

int rounds() {
    const char* text = std::getenv("WAVETAP_STORM_ROUNDS");
    const int wanted = text != nullptr ? std::atoi(text) : 0;
    return wanted > 0 ? wanted : 4;
}

struct Client {
    Session* session = nullptr;
    ContextHandle context;
    std::atomic<int> depth{0};     ///< handlers of this context that are inside
    std::atomic<bool> quiet{true}; ///< nothing may come: it does not run
    std::atomic<int> late{0}, chunks{0};
};

/// Re-entrant: every call from inside gets a status, and none of them waits for this handler.
void receive(const Chunk&, void* user) {
    auto& client = *static_cast<Client*>(user);
    ++client.depth;
    ++client.chunks;
    if (client.quiet) ++client.late;
    (void)client.session->running(client.context);
    (void)client.session->stop(client.context);
    (void)client.session->contexts_of(0);
    --client.depth;
}

/// What a call may say in a storm.
bool expected(ErrorCode code) {
    return code == ErrorCode::kBusy || code == ErrorCode::kWouldDeadlock ||
           code == ErrorCode::kWrongState || code == ErrorCode::kNotFound;
}

class Storm {
  public:
    Storm() {
        for (std::uint32_t i = 0; i < kAgents; ++i) {
            chips_.push_back(std::make_unique<LiveChip>(Rig::small()));
            capture::AgentHub::Options options;
            options.engine.topology = {"gfx90a", 1, 2, 2, 4};
            session_.add_agent(std::make_unique<capture::AgentHub>(
                std::make_unique<DirectBackend>(*chips_.back()), options, clock_));
        }
        for (std::uint32_t i = 0; i < kContexts; ++i)
            add_client(i);
    }

    /// One round: all threads, then everything closed, in the last one while they are at it.
    void round(int number, bool close_under_them) {
        steps_ = 0;
        std::vector<std::jthread> threads;
        for (std::uint32_t t = 0; t < kThreads; ++t)
            threads.emplace_back([this, t, number] { work(t, number); });
        std::jthread kernels([this] { run_kernels(); });
        if (close_under_them) {
            for (std::uint32_t now = 0; now < kThreads * kSteps / 2; now = steps_.load())
                steps_.wait(now);
            EXPECT_TRUE(session_.close());
        }
        threads.clear();
        kernels.join();
        if (close_under_them) return;
        for (auto& client : clients_)
            (void)session_.stop(client->context);
        for (std::uint32_t i = 0; i < kAgents; ++i)
            EXPECT_EQ(session_.hub(i).state(), capture::HubState::kIdle);
    }

    void check(int rounds) {
        EXPECT_EQ(wrong_, 0) << "statuses that no storm explains";
        int late = 0, inside = 0;
        for (const auto& client : clients_) {
            late += client->late;
            inside += client->depth;
        }
        EXPECT_EQ(late, 0) << "chunks that came after the stop had returned";
        EXPECT_EQ(inside, 0);
        EXPECT_GT(runs_, rounds);
        for (std::uint32_t i = 0; i < kAgents; ++i) {
            const auto statistics = session_.hub(i).statistics();
            EXPECT_GT(statistics.runs, 0U);
            EXPECT_EQ(statistics.queues_created, 1U);
            EXPECT_EQ(statistics.deadline_misses, 0U);
            EXPECT_EQ(statistics.threads, 0U); // closed
            EXPECT_EQ(statistics.output_bytes, 0U);
        }
        std::cout << "storm: " << rounds << " rounds, " << runs_ << " runs of " << kContexts
                  << " contexts on " << kAgents << " agents\n";
    }

  private:
    void add_client(std::uint32_t i) {
        clients_.push_back(std::make_unique<Client>());
        Client& client = *clients_.back();
        client.session = &session_;
        client.context = *session_.create();
        capture::TraceParams params;
        params.se_mask = 1 + i % 3;
        params.target_cu = i % 2;
        params.buffer_bytes = 1 << 20;
        params.buffers = std::array{1, 3, 4, 16}[i / kThreads % 4];
        params.several_engines = 1;
        params.as_ready = i / kThreads % 3 == 0;
        // Every tenth spans two agents, every hundredth all four.
        const std::uint32_t spans = i % 100 == 99 ? kAgents : i % 10 == 9 ? 2 : 1;
        for (std::uint32_t k = 0; k < spans; ++k)
            EXPECT_TRUE(
                session_.configure(client.context, (i + k) % kAgents, params, receive, &client));
    }

    void work(std::uint32_t thread, int number) {
        std::mt19937 random(thread + 1000 * static_cast<std::uint32_t>(number));
        const std::uint64_t base = (std::uint64_t{thread} << 32) + 1;
        for (std::uint32_t i = 0; i < kSteps; ++i, step()) {
            // A client is one thread's own, so that "quiet" is known; agents are everybody's.
            Client& client = *clients_[random() % (kContexts / kThreads) * kThreads + thread];
            client.quiet = false;
            note(session_.start(client.context));
            const std::uint32_t agent = random() % kAgents;
            note(session_.hub(agent).code_object_loaded({base + i, (base + i) << 12, 0x1000}));
            const auto stopped = session_.stop(client.context);
            if (stopped) client.quiet = true;
            if (stopped && stopped->run != 0) ++runs_;
            if (!stopped && !expected(stopped.error().code)) ++wrong_;
            if (i % 3 != 0) note(session_.hub(agent).code_object_unloaded(base + i));
        }
    }
    void step() {
        ++steps_;
        steps_.notify_all();
    }
    void note(const Result<void>& result) {
        if (!result && !expected(result.error().code)) {
            ++wrong_;
            std::cerr << to_string(result.error()) << "\n";
        }
    }

    /// On every chip a kernel, again and again, as an application's.
    void run_kernels() {
        for (auto& chip : chips_) {
            std::uint64_t signal = 0;
            chip->with([&](Rig& rig) {
                const std::uint64_t kernel = rig.add_kernel(softgpu::kernels::kWork);
                Rig::Queue queue = rig.add_queue(1);
                signal = rig.add_signal(1);
                const std::uint64_t arguments = rig.allocate(16);
                rig.write(arguments, rig.allocate(256 * 4));
                rig.write(arguments + 8, std::uint32_t{256});
                softgpu::Launch launch;
                launch.kernel = kernel;
                launch.grid = {256, 1, 1};
                launch.group = {256, 1, 1};
                launch.arguments = arguments;
                launch.signal = signal;
                launch.lds_bytes = 1024;
                rig.launch(queue, launch);
            });
            EXPECT_TRUE(chip->wait(std::chrono::steady_clock::now() + kPatience,
                                   [&](Rig& rig) { return rig.value(signal) == 0; }));
        }
    }

    SteadyClock clock_{20};
    std::vector<std::unique_ptr<LiveChip>> chips_;
    std::vector<std::unique_ptr<Client>> clients_;
    std::atomic<int> wrong_{0}, runs_{0};
    std::atomic<std::uint32_t> steps_{0};
    Session session_; ///< last: its hubs end before what they use
};

TEST(StormTest, EightThreads_FourHundredContexts_FourAgents) {
    const int wanted = rounds();
    int done = 0;
    // A few rounds a session, and in the last one the end comes while everybody is at it.
    while (done < wanted) {
        Storm storm;
        const int here = std::min(wanted - done, 8);
        for (int i = 0; i < here; ++i)
            storm.round(done + i, i + 1 == here);
        storm.check(here);
        done += here;
        if (HasFailure()) break;
    }
    EXPECT_EQ(done, wanted);
}

} // namespace
} // namespace wavetap::test
