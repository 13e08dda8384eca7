// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/c_api.hpp"
#include "capture/fake_backend.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace wavetap::capture {
namespace {

struct Got {
    std::vector<wavetap_chunk> chunks;
    wavetap_session* session = nullptr;
    std::vector<wavetap_status> inside;
};
void receive(const wavetap_chunk* chunk, void* user) {
    auto* got = static_cast<Got*>(user);
    got->chunks.push_back(*chunk);
    got->inside = {wavetap_context_start(got->session, chunk->context),
                   wavetap_context_stop(got->session, chunk->context),
                   wavetap_context_destroy(got->session, chunk->context),
                   wavetap_session_close(got->session)};
}

class CApiTest : public ::testing::Test {
  protected:
    CApiTest() {
        auto clock = std::make_unique<SteadyClock>();
        auto session = std::make_unique<Session>();
        AgentHub::Options options;
        options.engine.topology = {"gfx90a", 1, 8, 14, 4};
        session->add_agent(
            std::make_unique<AgentHub>(std::make_unique<FakeBackend>(gpu_), options, *clock));
        session_ = wrap_session(std::move(clock), std::move(session));
        got_.session = session_;
        wavetap_parameters_init(&parameters_, sizeof parameters_);
        parameters_.buffer_bytes = 1 << 20;
    }
    ~CApiTest() override {
        if (session_ != nullptr) {
            EXPECT_EQ(wavetap_session_close(session_), WAVETAP_STATUS_SUCCESS);
        }
        EXPECT_EQ(gpu_.queues + gpu_.device_blocks + gpu_.host_blocks, 0);
    }
    wavetap_context make() {
        wavetap_context context{};
        EXPECT_EQ(wavetap_context_create(session_, &context), WAVETAP_STATUS_SUCCESS);
        EXPECT_EQ(wavetap_context_configure(session_, context, 0, &parameters_, receive, &got_),
                  WAVETAP_STATUS_SUCCESS);
        return context;
    }

    FakeGpu gpu_;
    Got got_;
    wavetap_parameters parameters_{};
    wavetap_session* session_ = nullptr;
};

TEST_F(CApiTest, RunsAContextAndDelivers) {
    gpu_.wptr = 10;
    parameters_.se_mask = 5;
    const wavetap_context context = make();
    ASSERT_EQ(wavetap_context_start(session_, context), WAVETAP_STATUS_SUCCESS);
    int running = 0;
    ASSERT_EQ(wavetap_context_is_running(session_, context, &running), WAVETAP_STATUS_SUCCESS);
    EXPECT_EQ(running, 1);
    ASSERT_EQ(wavetap_context_stop(session_, context), WAVETAP_STATUS_SUCCESS);
    ASSERT_EQ(got_.chunks.size(), 2u);
    EXPECT_EQ(got_.chunks[0].size, sizeof(wavetap_chunk));
    EXPECT_EQ(got_.chunks[0].context.handle, context.handle);
    EXPECT_EQ(got_.chunks[0].shader_engine, 0u);
    EXPECT_EQ(got_.chunks[1].shader_engine, 2u);
    EXPECT_EQ(got_.chunks[1].index, 1u);
    EXPECT_EQ(got_.chunks[1].data_bytes, 328u);
    EXPECT_EQ(got_.chunks[1].flags, static_cast<std::uint32_t>(WAVETAP_CHUNK_END));
    for (const wavetap_status status : got_.inside) {
        // A start inside the handler finds the context being stopped.
        EXPECT_TRUE(status == WAVETAP_STATUS_WOULD_DEADLOCK || status == WAVETAP_STATUS_BUSY);
    }
    EXPECT_EQ(got_.inside.back(), WAVETAP_STATUS_WOULD_DEADLOCK);

    wavetap_statistics statistics{};
    statistics.size = sizeof statistics;
    ASSERT_EQ(wavetap_get_statistics(session_, 0, &statistics), WAVETAP_STATUS_SUCCESS);
    EXPECT_EQ(statistics.runs, 1u);
    EXPECT_EQ(statistics.contexts, 1u);
    EXPECT_EQ(statistics.bytes_delivered, 656u);
    EXPECT_LE(statistics.host_bytes_per_idle_context, 1024u);
}

TEST_F(CApiTest, EveryMistakeIsAStatusWithWords) {
    const wavetap_context a = make(), b = make();
    ASSERT_EQ(wavetap_context_start(session_, a), WAVETAP_STATUS_SUCCESS);
    EXPECT_EQ(wavetap_context_start(session_, b), WAVETAP_STATUS_BUSY);
    EXPECT_NE(std::strstr(wavetap_last_error(), "holds the agent"), nullptr);
    EXPECT_EQ(wavetap_context_configure(session_, b, 0, &parameters_, receive, &got_),
              WAVETAP_STATUS_WRONG_STATE);
    wavetap_context c{};
    ASSERT_EQ(wavetap_context_create(session_, &c), WAVETAP_STATUS_SUCCESS);
    parameters_.target_cu = 257;
    EXPECT_EQ(wavetap_context_configure(session_, c, 0, &parameters_, receive, &got_),
              WAVETAP_STATUS_INVALID_ARGUMENT);
    EXPECT_NE(std::strstr(wavetap_last_error(), "target_cu = 257"), nullptr);
    parameters_.target_cu = 1;
    parameters_.serialize_all = 1;
    EXPECT_EQ(wavetap_context_configure(session_, c, 0, &parameters_, receive, &got_),
              WAVETAP_STATUS_INVALID_ARGUMENT);
    EXPECT_NE(std::strstr(wavetap_last_error(), "device mode"), nullptr);
    parameters_.serialize_all = 0;
    parameters_.perf_period = 3;
    parameters_.perf_counter_count = 2;
    parameters_.perf_counters[0].id = 4;
    parameters_.perf_counters[1].id = 0x100000004;
    EXPECT_EQ(wavetap_context_configure(session_, c, 0, &parameters_, receive, &got_),
              WAVETAP_STATUS_INVALID_ARGUMENT);
    EXPECT_NE(std::strstr(wavetap_last_error(), "perf_counters[1].id = 4294967300"), nullptr);
    parameters_.perf_counter_count = 1;
    EXPECT_EQ(wavetap_context_configure(session_, c, 9, &parameters_, receive, &got_),
              WAVETAP_STATUS_NOT_FOUND);
    EXPECT_EQ(wavetap_context_start(session_, c), WAVETAP_STATUS_WRONG_STATE);
    EXPECT_EQ(wavetap_context_destroy(session_, c), WAVETAP_STATUS_SUCCESS);
    EXPECT_EQ(wavetap_context_start(session_, c), WAVETAP_STATUS_NOT_FOUND);
    EXPECT_EQ(wavetap_context_stop(session_, {0}), WAVETAP_STATUS_NOT_FOUND);
    EXPECT_EQ(wavetap_context_start(nullptr, a), WAVETAP_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(wavetap_context_configure(session_, b, 0, nullptr, receive, &got_),
              WAVETAP_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(wavetap_context_create(session_, nullptr), WAVETAP_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(wavetap_session_close(nullptr), WAVETAP_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(wavetap_code_object_loaded(session_, 4, 1, 2, 3), WAVETAP_STATUS_NOT_FOUND);
    EXPECT_EQ(wavetap_code_object_loaded(session_, 0, 1, 2, 3), WAVETAP_STATUS_SUCCESS);
    EXPECT_EQ(wavetap_code_object_unloaded(session_, 0, 1), WAVETAP_STATUS_SUCCESS);
    EXPECT_STREQ(wavetap_status_name(WAVETAP_STATUS_BUSY), "busy");
    EXPECT_STREQ(wavetap_status_name(WAVETAP_STATUS_SUCCESS), "success");
    EXPECT_STREQ(wavetap_status_name(static_cast<wavetap_status>(15)), "unknown");
}

TEST_F(CApiTest, OlderAndShorterStructsAreAccepted) {
    wavetap_parameters old{};
    ASSERT_EQ(wavetap_parameters_init(&old, offsetof(wavetap_parameters, detail)),
              WAVETAP_STATUS_SUCCESS);
    EXPECT_EQ(old.buffers, 1u);
    EXPECT_EQ(old.detail, 0u); // beyond the caller's size: untouched
    wavetap_context context{};
    ASSERT_EQ(wavetap_context_create(session_, &context), WAVETAP_STATUS_SUCCESS);
    EXPECT_EQ(wavetap_context_configure(session_, context, 0, &old, receive, &got_),
              WAVETAP_STATUS_SUCCESS); // detail is the default there
    old.size = 1000;
    EXPECT_EQ(wavetap_context_configure(session_, context, 0, &old, receive, &got_),
              WAVETAP_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(wavetap_parameters_init(&old, 3), WAVETAP_STATUS_INVALID_ARGUMENT);
    // As it was before there were counters: what lies behind is not looked at.
    ASSERT_EQ(wavetap_parameters_init(&old, offsetof(wavetap_parameters, perf_period)),
              WAVETAP_STATUS_SUCCESS);
    old.perf_period = 99;
    wavetap_context before_counters{};
    ASSERT_EQ(wavetap_context_create(session_, &before_counters), WAVETAP_STATUS_SUCCESS);
    EXPECT_EQ(wavetap_context_configure(session_, before_counters, 0, &old, receive, &got_),
              WAVETAP_STATUS_SUCCESS)
        << wavetap_last_error();
    wavetap_agent_info info{};
    EXPECT_EQ(wavetap_agent_get_info(session_, 0, &info), WAVETAP_STATUS_INVALID_ARGUMENT);
    info.size = sizeof info;
    ASSERT_EQ(wavetap_agent_get_info(session_, 0, &info), WAVETAP_STATUS_SUCCESS);
    EXPECT_STREQ(info.name, "gfx90a");
    EXPECT_EQ(info.shader_engines, 8u);
    EXPECT_STREQ(info.backend, "fake");
    EXPECT_STREQ(info.packets, "own");
    std::memset(info.backend, 'x', sizeof info.backend);
    info.size = offsetof(wavetap_agent_info, backend);
    ASSERT_EQ(wavetap_agent_get_info(session_, 0, &info), WAVETAP_STATUS_SUCCESS);
    EXPECT_EQ(info.backend[0], 'x') << "an older caller's struct ends before it";
    std::uint32_t count = 0;
    EXPECT_EQ(wavetap_agent_count(session_, &count), WAVETAP_STATUS_SUCCESS);
    EXPECT_EQ(count, 1u);
}

struct Stopped {
    wavetap_session* session = nullptr;
    const Got* got = nullptr;
    std::vector<wavetap_status> statuses; ///< hub thread until the session is closed
    std::vector<std::size_t> chunks_before;
    std::vector<wavetap_status> inside;
    std::string words;
    std::promise<void> called;
};
void stopped(wavetap_context context, wavetap_status status, void* user) {
    auto* out = static_cast<Stopped*>(user);
    out->statuses.push_back(status);
    out->chunks_before.push_back(out->got->chunks.size());
    if (status != WAVETAP_STATUS_SUCCESS) out->words = wavetap_last_error();
    out->inside = {wavetap_context_start(out->session, context),
                   wavetap_context_stop(out->session, context),
                   wavetap_session_close(out->session)};
    out->called.set_value();
}

bool comes(std::promise<void>& promise) {
    return promise.get_future().wait_for(std::chrono::seconds(30)) == std::future_status::ready;
}

TEST_F(CApiTest, StopAsyncComesAfterTheLastChunk) {
    gpu_.wptr = 10;
    const wavetap_context context = make();
    Stopped out;
    out.session = session_;
    out.got = &got_;
    wavetap_context bare{};
    ASSERT_EQ(wavetap_context_create(session_, &bare), WAVETAP_STATUS_SUCCESS);
    EXPECT_EQ(wavetap_context_stop_async(nullptr, context, stopped, &out),
              WAVETAP_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(wavetap_context_stop_async(session_, {12345}, stopped, &out),
              WAVETAP_STATUS_NOT_FOUND);
    EXPECT_EQ(wavetap_context_stop_async(session_, bare, stopped, &out),
              WAVETAP_STATUS_WRONG_STATE);

    ASSERT_EQ(wavetap_context_start(session_, context), WAVETAP_STATUS_SUCCESS);
    ASSERT_EQ(wavetap_context_stop_async(session_, context, stopped, &out), WAVETAP_STATUS_SUCCESS);
    ASSERT_TRUE(comes(out.called));
    // Nothing runs any more, and nobody has to be told.
    ASSERT_EQ(wavetap_context_stop_async(session_, context, nullptr, nullptr),
              WAVETAP_STATUS_SUCCESS);
    ASSERT_EQ(wavetap_session_close(session_), WAVETAP_STATUS_SUCCESS);
    session_ = nullptr;
    EXPECT_EQ(out.statuses, std::vector<wavetap_status>{WAVETAP_STATUS_SUCCESS});
    EXPECT_EQ(out.chunks_before, std::vector<std::size_t>{1});
    EXPECT_EQ(out.inside,
              (std::vector<wavetap_status>{WAVETAP_STATUS_SUCCESS, WAVETAP_STATUS_SUCCESS,
                                           WAVETAP_STATUS_WOULD_DEADLOCK}));
    EXPECT_EQ(got_.chunks.size(), 2u); // of the run inside, too
}

void stop_another(const wavetap_chunk* chunk, void* user) {
    auto* out = static_cast<Stopped*>(user);
    out->inside.push_back(wavetap_context_stop_async(
        out->session, chunk->context,
        [](wavetap_context, wavetap_status status, void* data) {
            static_cast<Stopped*>(data)->statuses.push_back(status);
        },
        user));
}

TEST_F(CApiTest, StopAsyncFromAChunkHandlerIsTaken) {
    Stopped out;
    out.session = session_;
    out.got = &got_;
    wavetap_context context{};
    ASSERT_EQ(wavetap_context_create(session_, &context), WAVETAP_STATUS_SUCCESS);
    ASSERT_EQ(wavetap_context_configure(session_, context, 0, &parameters_, stop_another, &out),
              WAVETAP_STATUS_SUCCESS);
    ASSERT_EQ(wavetap_context_start(session_, context), WAVETAP_STATUS_SUCCESS);
    ASSERT_EQ(wavetap_context_stop(session_, context), WAVETAP_STATUS_SUCCESS);
    ASSERT_EQ(wavetap_session_close(session_), WAVETAP_STATUS_SUCCESS);
    session_ = nullptr;
    EXPECT_EQ(out.inside, std::vector<wavetap_status>{WAVETAP_STATUS_SUCCESS});
    // Whether that stop had returned is a matter of two threads.
    ASSERT_EQ(out.statuses.size(), 1u);
    EXPECT_TRUE(out.statuses[0] == WAVETAP_STATUS_SUCCESS || out.statuses[0] == WAVETAP_STATUS_BUSY)
        << out.statuses[0];
}

TEST_F(CApiTest, StopAsyncTellsWhyItFailed) {
    const wavetap_context context = make();
    Stopped out;
    out.session = session_;
    out.got = &got_;
    ASSERT_EQ(wavetap_context_start(session_, context), WAVETAP_STATUS_SUCCESS);
    gpu_.calls[FakeGpu::kWait] = 0;
    gpu_.fail_at[FakeGpu::kWait] = 1;
    ASSERT_EQ(wavetap_context_stop_async(session_, context, stopped, &out), WAVETAP_STATUS_SUCCESS);
    ASSERT_EQ(wavetap_session_close(session_), WAVETAP_STATUS_SUCCESS);
    session_ = nullptr;
    EXPECT_EQ(out.statuses, std::vector<wavetap_status>{WAVETAP_STATUS_UNAVAILABLE});
    EXPECT_NE(out.words.find("trace stop did not complete"), std::string::npos) << out.words;
}

TEST_F(CApiTest, NBuffersDeliverAHeaderChunkFirst) {
    gpu_.wptr = 2;
    parameters_.buffers = 3;
    parameters_.buffer_bytes = 1 << 20;
    const wavetap_context context = make();
    ASSERT_EQ(wavetap_context_start(session_, context), WAVETAP_STATUS_SUCCESS);
    ASSERT_EQ(wavetap_context_stop(session_, context), WAVETAP_STATUS_SUCCESS);
    ASSERT_EQ(got_.chunks.size(), 2u);
    EXPECT_EQ(got_.chunks[0].data_bytes, 32u);
    EXPECT_EQ(got_.chunks[0].flags, static_cast<std::uint32_t>(WAVETAP_CHUNK_NONE));
    EXPECT_EQ(got_.chunks[1].index, 1u);
    EXPECT_EQ(got_.chunks[1].data_bytes, 64u);
    EXPECT_EQ(got_.chunks[1].flags & WAVETAP_CHUNK_END,
              static_cast<std::uint32_t>(WAVETAP_CHUNK_END));
    wavetap_statistics statistics{};
    statistics.size = sizeof statistics;
    ASSERT_EQ(wavetap_get_statistics(session_, 0, &statistics), WAVETAP_STATUS_SUCCESS);
    EXPECT_EQ(statistics.output_slots, 3u);
    EXPECT_EQ(statistics.threads, 2u);
    EXPECT_EQ(statistics.cpu_full, 0u);
}

/// What a forked child may do with its parent's session; the number of the first call that is not
/// refused with words, or 0.
int use_in_child(wavetap_session* session, wavetap_context context,
                 const wavetap_parameters& parameters) {
    wavetap_context made{};
    wavetap_statistics statistics{};
    statistics.size = sizeof statistics;
    wavetap_agent_info info{};
    info.size = sizeof info;
    wavetap_dispatch_handlers handlers{};
    handlers.size = sizeof handlers;
    std::uint32_t count = 0;
    int flag = 0;
    const std::function<wavetap_status()> calls[] = {
        [&] { return wavetap_context_start(session, context); },
        [&] { return wavetap_context_stop(session, context); },
        [&] { return wavetap_context_stop_async(session, context, nullptr, nullptr); },
        [&] { return wavetap_context_is_running(session, context, &flag); },
        [&] { return wavetap_context_is_pending(session, context, &flag); },
        [&] { return wavetap_context_create(session, &made); },
        [&] {
            return wavetap_context_configure(session, context, 0, &parameters, nullptr, nullptr);
        },
        [&] {
            return wavetap_context_configure_dispatch(session, context, 0, &parameters, &handlers);
        },
        [&] { return wavetap_context_destroy(session, context); },
        [&] { return wavetap_agent_count(session, &count); },
        [&] { return wavetap_agent_get_info(session, 0, &info); },
        [&] { return wavetap_get_statistics(session, 0, &statistics); },
        [&] { return wavetap_session_set_idle_release(session, 5); },
        [&] { return wavetap_code_object_loaded(session, 0, 1, 2, 3); },
        [&] { return wavetap_code_object_unloaded(session, 0, 1); },
        [&] { return wavetap_session_close(session); },
        [&] { return wavetap_session_close(session); }, // it is still there
    };
    int number = 0;
    for (const auto& call : calls) {
        ++number;
        if (call() != WAVETAP_STATUS_WRONG_STATE) return number;
        if (std::strstr(wavetap_last_error(), "belongs to the process that opened it") == nullptr)
            return 100 + number;
    }
    wavetap_session* own = nullptr;
    if (wavetap_session_open(1.0, &own) != WAVETAP_STATUS_SUCCESS) return 200;
    if (wavetap_context_create(own, &made) != WAVETAP_STATUS_SUCCESS) return 201;
    return wavetap_session_close(own) == WAVETAP_STATUS_SUCCESS ? 0 : 202;
}

/// What the child exited with, or -1 if it did not end in time.
int exit_code_of(pid_t child) {
    for (int i = 0; i < 2000; ++i) {
        int status = 0;
        if (waitpid(child, &status, WNOHANG) == child)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
        usleep(10'000);
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    return -1;
}

TEST_F(CApiTest, InAForkedChildEveryCallIsRefusedAtOnceAndTheParentGoesOn) {
    gpu_.wptr = 10;
    const wavetap_context context = make();
    // Locks of the session may be held at the fork.
    std::atomic<bool> over{false};
    std::thread user([&] {
        while (!over.load()) {
            wavetap_statistics statistics{};
            statistics.size = sizeof statistics;
            (void)wavetap_get_statistics(session_, 0, &statistics);
            (void)wavetap_context_start(session_, context);
            (void)wavetap_context_stop(session_, context);
        }
    });
    for (int i = 0; i < 10 && !HasFailure(); ++i) {
        const pid_t child = fork();
        if (child == 0) _exit(use_in_child(session_, context, parameters_));
        EXPECT_EQ(exit_code_of(child), 0);
    }
    over = true;
    user.join();
    got_.chunks.clear();
    ASSERT_EQ(wavetap_context_start(session_, context), WAVETAP_STATUS_SUCCESS);
    const pid_t child = fork();
    if (child == 0) _exit(use_in_child(session_, context, parameters_));
    EXPECT_EQ(exit_code_of(child), 0);
    ASSERT_EQ(wavetap_context_stop(session_, context), WAVETAP_STATUS_SUCCESS);
    ASSERT_EQ(got_.chunks.size(), 1u);
    EXPECT_EQ(got_.chunks[0].data_bytes, 328u);
}

// The C++ classes below: what a child destroys by itself stays with the parent's threads.
TEST(ForkTest, ASessionIsDestroyedInAChildWithoutItsThreads) {
    FakeGpu gpu;
    SteadyClock clock;
    auto session = std::make_unique<Session>();
    AgentHub::Options options;
    options.engine.topology = {"gfx90a", 1, 8, 14, 4};
    session->add_agent(
        std::make_unique<AgentHub>(std::make_unique<FakeBackend>(gpu), options, clock));
    TraceParams params;
    params.buffer_bytes = 1 << 20;
    const auto context = session->create();
    ASSERT_TRUE(context);
    ASSERT_TRUE(session->configure(*context, 0, params, nullptr, nullptr));
    ASSERT_TRUE(session->start(*context));
    const pid_t child = fork();
    if (child == 0) {
        const auto closed = session->close();
        const auto posted = session->hub(0).post([] {});
        session.reset();
        const bool refused = !closed && closed.error().code == ErrorCode::kWrongState && !posted &&
                             posted.error().code == ErrorCode::kWrongState;
        _exit(refused ? 0 : 1);
    }
    EXPECT_EQ(exit_code_of(child), 0);
    EXPECT_TRUE(session->stop(*context));
    EXPECT_TRUE(session->close());
}

TEST_F(CApiTest, CloseDeliversWhatRuns) {
    const wavetap_context context = make();
    ASSERT_EQ(wavetap_context_start(session_, context), WAVETAP_STATUS_SUCCESS);
    EXPECT_EQ(wavetap_session_close(session_), WAVETAP_STATUS_SUCCESS);
    session_ = nullptr;
    EXPECT_EQ(got_.chunks.size(), 1u);
}

} // namespace
} // namespace wavetap::capture
