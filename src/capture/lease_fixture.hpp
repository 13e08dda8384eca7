// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "capture/hub_fixture.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

// For tests of dispatch mode.

namespace wavetap::capture {

/// Plays the application's queues: executes the streams of a lease at its turn.
class Queues final : public LeaseClient {
  public:
    FakeBackend* gpu = nullptr;
    AgentHub* hub = nullptr;
    LeaseStreams streams;
    std::atomic<bool> retires{true};
    std::atomic<LeaseProgress> progress{LeaseProgress::kDispatch}; ///< of one that does not retire
    std::atomic<int> failures{0};
    std::atomic<FakeGpu*> counts{nullptr}; ///< the n-th turn (from 1) writes n * 32 bytes

    void lease_ready(void* lease, const Result<void>& armed) override {
        if (FakeGpu* fake = counts) fake->wptr = static_cast<std::uint32_t>(ready().size() + 1);
        EXPECT_TRUE(gpu->run(streams.start));
        {
            MutexLock lock(mutex_);
            ready_.push_back(lease);
            armed_.push_back(armed.has_value());
            changed_.notify_all();
        }
        if (!retires) return;
        EXPECT_TRUE(gpu->run(streams.stop));
        hub->lease_retired(lease);
    }
    void lease_ended(void* lease, const Result<RunSummary>& summary) override {
        MutexLock lock(mutex_);
        ended_.push_back(lease);
        good_.push_back(summary.has_value());
        changed_.notify_all();
    }
    LeaseProgress lease_progress(void*) override {
        MutexLock lock(mutex_);
        ++looks_;
        changed_.notify_all();
        return progress;
    }
    bool wait_looks(int count) {
        MutexLock lock(mutex_);
        return changed_.wait_until(mutex_,
                                   std::chrono::steady_clock::now() + std::chrono::seconds(30),
                                   [&]() WAVETAP_REQUIRES(mutex_) { return looks_ >= count; });
    }
    void leases_failed(const Error& reason) override {
        EXPECT_EQ(reason.code, ErrorCode::kTimeout);
        MutexLock lock(mutex_);
        ++failures;
        changed_.notify_all();
    }
    bool wait_failed() {
        MutexLock lock(mutex_);
        return changed_.wait_until(mutex_,
                                   std::chrono::steady_clock::now() + std::chrono::seconds(30),
                                   [&]() WAVETAP_REQUIRES(mutex_) { return failures != 0; });
    }
    bool wait_ready(std::size_t count) {
        MutexLock lock(mutex_);
        return changed_.wait_until(
            mutex_, std::chrono::steady_clock::now() + std::chrono::seconds(30),
            [&]() WAVETAP_REQUIRES(mutex_) { return ready_.size() >= count; });
    }
    bool wait_ended(std::size_t count) {
        MutexLock lock(mutex_);
        return changed_.wait_until(
            mutex_, std::chrono::steady_clock::now() + std::chrono::seconds(30),
            [&]() WAVETAP_REQUIRES(mutex_) { return ended_.size() >= count; });
    }
    std::vector<void*> ready() {
        MutexLock lock(mutex_);
        return ready_;
    }
    std::vector<bool> armed() {
        MutexLock lock(mutex_);
        return armed_;
    }
    std::vector<void*> ended() {
        MutexLock lock(mutex_);
        return ended_;
    }
    std::vector<bool> good() {
        MutexLock lock(mutex_);
        return good_;
    }

  private:
    Mutex mutex_;
    CondVar changed_;
    int looks_ WAVETAP_GUARDED_BY(mutex_) = 0;
    std::vector<void*> ready_ WAVETAP_GUARDED_BY(mutex_), ended_ WAVETAP_GUARDED_BY(mutex_);
    std::vector<bool> armed_ WAVETAP_GUARDED_BY(mutex_), good_ WAVETAP_GUARDED_BY(mutex_);
};

struct Received {
    std::vector<std::uint32_t>
        contexts; ///< of the chunks; delivery thread until the leases are over
    std::vector<std::size_t> sizes;
    std::uint64_t bytes = 0;
};

inline void receive(const Chunk& chunk, void* user) {
    auto* received = static_cast<Received*>(user);
    received->contexts.push_back(chunk.context);
    received->sizes.push_back(chunk.data.size());
    received->bytes += chunk.data.size();
}

/// A handler that stays inside until it is let go.
struct SlowHandler {
    Received received;
    Mutex mutex;
    CondVar changed;
    int inside WAVETAP_GUARDED_BY(mutex) = 0; ///< calls that began
    bool open WAVETAP_GUARDED_BY(mutex) = false;

    static void handle(const Chunk& chunk, void* user) {
        auto* self = static_cast<SlowHandler*>(user);
        receive(chunk, &self->received);
        MutexLock lock(self->mutex);
        ++self->inside;
        self->changed.notify_all();
        EXPECT_TRUE(self->changed.wait_until(
            self->mutex, std::chrono::steady_clock::now() + std::chrono::seconds(30),
            [&]() WAVETAP_REQUIRES(self->mutex) { return self->open; }));
    }
    bool wait_inside() {
        MutexLock lock(mutex);
        return changed.wait_until(mutex,
                                  std::chrono::steady_clock::now() + std::chrono::seconds(30),
                                  [&]() WAVETAP_REQUIRES(mutex) { return inside > 0; });
    }
    void let_go() {
        MutexLock lock(mutex);
        open = true;
        changed.notify_all();
    }
};

class LeaseTest : public HubTest {
  protected:
    void SetUp() override { make_hub(std::chrono::milliseconds(100)); }
    void make_hub(std::chrono::milliseconds drain) {
        AgentHub::Options options;
        options.engine.topology = topology_;
        options.engine.limits.start = std::chrono::milliseconds(100);
        options.engine.limits.stop = std::chrono::milliseconds(100);
        options.engine.limits.drain = drain;
        auto backend = std::make_unique<FakeBackend>(gpu_);
        queues_.gpu = backend.get();
        hub_ = std::make_unique<AgentHub>(std::move(backend), options, clock_);
        queues_.hub = hub_.get();
    }
    void open() {
        auto streams = hub_->open_leases(7, queues_);
        ASSERT_TRUE(streams) << to_string(streams.error());
        queues_.streams = *streams;
    }
    RunRequest request(std::uint32_t context, std::uint64_t bytes = kMiB) {
        return make_request(context, bytes, 1, receive, &received_);
    }
    RunRequest slow_request(std::uint32_t context, std::uint32_t slots,
                            std::uint64_t bytes = kMiB) {
        RunRequest made = request(context, bytes);
        made.handler = SlowHandler::handle;
        made.user = &slow_;
        made.lease_slots = slots;
        return made;
    }
    /// What was asked for before is done, as far as it can be.
    void settle() {
        Mutex mutex;
        CondVar changed;
        bool done = false;
        ASSERT_TRUE(hub_->post([&] {
            MutexLock lock(mutex);
            done = true;
            changed.notify_all();
        }));
        MutexLock lock(mutex);
        ASSERT_TRUE(changed.wait_until(mutex,
                                       std::chrono::steady_clock::now() + std::chrono::seconds(30),
                                       [&] { return done; }));
    }
    void* id(std::size_t i) { return &ids_[i]; }

    Received received_;
    SlowHandler slow_;
    Queues queues_;
    char ids_[100] = {};
};

} // namespace wavetap::capture
