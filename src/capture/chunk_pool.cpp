// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/chunk_pool.hpp"

#include "base/caught.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <deque>
#include <utility>

namespace wavetap::capture {

struct ChunkPool::Shared {
    struct Item {
        Chunk chunk;
        std::uint32_t slot = kNoSlot;
        std::uint64_t run = 0;
    };

    Shared(const Clock& pool_clock, const std::atomic<bool>& gate)
        : clock(pool_clock), silenced(gate) {}

    const Clock& clock;
    const std::atomic<bool>& silenced;
    /// For "am I inside a handler"; each written once, before its thread's first work.
    std::array<std::atomic<std::thread::id>, kMaxThreads> ids{};
    std::function<void()> changed; ///< set before the first thread

    mutable Mutex mutex;
    CondVar work, event;
    std::deque<Item> queue WAVETAP_GUARDED_BY(mutex);
    ChunkHandler handler WAVETAP_GUARDED_BY(mutex) = nullptr;
    void* user WAVETAP_GUARDED_BY(mutex) = nullptr;
    Delivery order WAVETAP_GUARDED_BY(mutex) = Delivery::kInOrder;
    std::uint64_t run WAVETAP_GUARDED_BY(mutex) = 0;
    std::uint32_t busy WAVETAP_GUARDED_BY(mutex) = 0; ///< handlers that run
    std::uint32_t held WAVETAP_GUARDED_BY(mutex) = 0; ///< their staging slots
    std::uint32_t freed WAVETAP_GUARDED_BY(mutex) = 0;
    std::size_t ended WAVETAP_GUARDED_BY(mutex) = 0; ///< threads
    bool discarding WAVETAP_GUARDED_BY(mutex) = false;
    bool closing WAVETAP_GUARDED_BY(mutex) = false;
    Counts counts WAVETAP_GUARDED_BY(mutex);

    static std::uint32_t bit(std::uint32_t slot) { return slot < kNoSlot ? 1U << slot : 0; }
    bool may_take() const WAVETAP_REQUIRES(mutex) {
        return !queue.empty() && (order == Delivery::kAsReady || busy == 0);
    }
    void deliver(const Item& item, ChunkHandler to, void* its_user) WAVETAP_EXCLUDES(mutex);
    void thread_main(std::size_t index, const std::string& name) WAVETAP_EXCLUDES(mutex);
};

void ChunkPool::Shared::deliver(const Item& item, ChunkHandler to, void* its_user) {
    bool threw = false;
    const bool call = to != nullptr && !silenced.load();
    if (call) {
        try {
            to(item.chunk, its_user);
        } catch (...) {
            threw = true;
        }
    }
    {
        MutexLock lock(mutex);
        --busy;
        if (item.run == run) { // else the run gave up on it
            held &= ~bit(item.slot);
            freed |= bit(item.slot);
            if (call) {
                ++counts.chunks;
                counts.bytes += item.chunk.data.size();
                counts.handler_exceptions += threw ? 1 : 0;
            } else if (item.slot != kNoSlot) {
                counts.discarded_bytes += item.chunk.data.size();
            }
        }
        event.notify_all();
        work.notify_all(); // in order: the next one may be taken
    }
    changed();
}

void ChunkPool::Shared::thread_main(std::size_t index, const std::string& name) {
    ids[index].store(std::this_thread::get_id());
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    pthread_setname_np(pthread_self(), name.c_str());
    for (;;) {
        Item item;
        ChunkHandler to = nullptr;
        void* its_user = nullptr;
        {
            MutexLock lock(mutex);
            work.wait_until(mutex, clock.now() + std::chrono::hours(1),
                            [this]() WAVETAP_REQUIRES(mutex) { return may_take() || closing; });
            if (!may_take()) {
                if (!closing) continue;
                ++ended;
                event.notify_all();
                return;
            }
            item = queue.front();
            queue.pop_front();
            ++busy;
            held |= bit(item.slot);
            if (!discarding) to = handler;
            its_user = user;
        }
        deliver(item, to, its_user);
    }
}

ChunkPool::ChunkPool(const Clock& clock, const std::atomic<bool>& silenced, std::string thread_name)
    : shared_(std::make_shared<Shared>(clock, silenced)), thread_name_(std::move(thread_name)) {
    shared_->changed = [] {};
}

ChunkPool::~ChunkPool() {
    (void)close(shared_->clock.now());
}

void ChunkPool::set_changed(std::function<void()> changed) {
    shared_->changed = std::move(changed);
}

Result<void> ChunkPool::ensure_threads(std::size_t count) {
    count = std::min(count, kMaxThreads);
    while (threads_.size() < count) {
        const std::size_t index = threads_.size();
        const std::string name = thread_name_.substr(0, 12) + "." + std::to_string(index);
        try {
            threads_.reserve(kMaxThreads);
            threads_.emplace_back(
                [shared = shared_, index, name] { shared->thread_main(index, name); });
        } catch (...) {
            return brief_error(ErrorCode::kLimit, "no thread to deliver chunks");
        }
    }
    return {};
}

std::size_t ChunkPool::threads() const {
    return threads_.size();
}

Result<void> ChunkPool::begin(ChunkHandler handler, void* user, Delivery order) {
    MutexLock lock(shared_->mutex);
    if (shared_->busy != 0)
        return Error{ErrorCode::kBusy, "a chunk handler of an earlier run has not returned", "",
                     ""};
    ++shared_->run;
    shared_->handler = handler;
    shared_->user = user;
    shared_->order = order;
    shared_->freed = shared_->held = 0;
    shared_->discarding = false;
    shared_->counts = {};
    return {};
}

void ChunkPool::push(const Chunk& chunk, std::uint32_t slot) {
    MutexLock lock(shared_->mutex);
    shared_->queue.push_back({chunk, slot, shared_->run});
    shared_->work.notify_one();
}

void ChunkPool::discard() {
    MutexLock lock(shared_->mutex);
    shared_->discarding = true;
}

std::uint32_t ChunkPool::take_freed() {
    MutexLock lock(shared_->mutex);
    return std::exchange(shared_->freed, 0);
}

bool ChunkPool::wait_for_slot(TimePoint deadline) {
    Shared& shared = *shared_;
    MutexLock lock(shared.mutex);
    return shared.event.wait_until(
        shared.mutex, deadline,
        [&shared]() WAVETAP_REQUIRES(shared.mutex) { return shared.freed != 0; });
}

bool ChunkPool::wait_until_delivered(TimePoint deadline) {
    Shared& shared = *shared_;
    MutexLock lock(shared.mutex);
    return shared.event.wait_until(shared.mutex, deadline,
                                   [&shared]() WAVETAP_REQUIRES(shared.mutex) {
                                       return shared.queue.empty() && shared.busy == 0;
                                   });
}

std::uint32_t ChunkPool::abandon() {
    MutexLock lock(shared_->mutex);
    for (const Shared::Item& item : shared_->queue)
        if (item.slot != kNoSlot) shared_->counts.discarded_bytes += item.chunk.data.size();
    shared_->queue.clear();
    ++shared_->run;
    return std::exchange(shared_->held, 0);
}

ChunkPool::Counts ChunkPool::counts() const {
    MutexLock lock(shared_->mutex);
    return shared_->counts;
}

bool ChunkPool::on_pool_thread() const {
    const std::thread::id self = std::this_thread::get_id();
    return std::any_of(shared_->ids.begin(), shared_->ids.end(),
                       [self](const auto& id) { return id.load() == self; });
}

Result<void> ChunkPool::close(TimePoint deadline) {
    Shared& shared = *shared_;
    if (threads_.empty()) {
        shared.changed = {};
        return {};
    }
    bool all = false;
    {
        MutexLock lock(shared.mutex);
        shared.closing = true;
        shared.work.notify_all();
        const std::size_t count = threads_.size();
        all = shared.event.wait_until(
            shared.mutex, deadline,
            [&shared, count]() WAVETAP_REQUIRES(shared.mutex) { return shared.ended == count; });
    }
    for (std::thread& thread : threads_) {
        if (all)
            thread.join();
        else
            thread.detach();
    }
    threads_.clear();
    if (all) {
        shared.changed = {};
        return {};
    }
    return Error{ErrorCode::kTimeout, "a chunk handler does not return", "", ""};
}

} // namespace wavetap::capture
