// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "base/result.hpp"
#include "capture/chunk.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace wavetap::capture {

/// In which order a streaming run's chunks reach the client.
enum class Delivery : std::uint8_t {
    kInOrder, ///< by index, one call at a time
    kAsReady, ///< several calls at once; the client sorts by index
};

/// Hands the chunks of streaming runs to clients, on threads of its own that are parked while
/// nothing is to be done. Knows staging slots only by number. Resource. Methods are for the hub's
/// thread unless said otherwise; `changed` is called on the pool's threads, without a lock of ours,
/// when a slot came back or the last chunk was delivered.
class ChunkPool {
  public:
    static constexpr std::uint32_t kNoSlot = 32;
    static constexpr std::size_t kMaxThreads = 16;
    struct Counts {
        std::uint64_t chunks = 0, bytes = 0; ///< handed over
        std::uint64_t discarded_bytes = 0;   ///< of staging slots, not handed over
        std::uint64_t handler_exceptions = 0;
    };

    /// `clock` and `silenced` must outlive the pool and its threads. While `silenced` is true no
    /// handler is called.
    ChunkPool(const Clock& clock, const std::atomic<bool>& silenced, std::string thread_name);
    ~ChunkPool();
    ChunkPool(const ChunkPool&) = delete;
    ChunkPool& operator=(const ChunkPool&) = delete;
    /// Before the first ensure_threads(). Kept, with what it owns, until every thread has ended.
    void set_changed(std::function<void()> changed);

    /// Errors: kLimit.
    Result<void> ensure_threads(std::size_t count);
    std::size_t threads() const;
    /// A run begins. Errors: kBusy, while a handler of an earlier run has not returned.
    Result<void> begin(ChunkHandler handler, void* user, Delivery order);
    /// `slot`: whose memory the chunk's data are in, or kNoSlot (data stay valid until the run ends).
    void push(const Chunk& chunk, std::uint32_t slot);
    /// From now on nothing of this run is handed over.
    void discard();
    /// Staging slots that came back since the last call.
    std::uint32_t take_freed();
    /// False at the deadline.
    bool wait_for_slot(TimePoint deadline);
    bool wait_until_delivered(TimePoint deadline);
    /// Gives up on what handlers still hold: returns these staging slots; they never come back.
    std::uint32_t abandon();
    Counts counts() const;

    /// Any thread: the caller is inside a handler that the pool called.
    bool on_pool_thread() const;
    /// Ends the threads. A thread that does not end is left alone. Errors: kTimeout.
    Result<void> close(TimePoint deadline);

  private:
    struct Shared;
    std::shared_ptr<Shared> shared_; ///< also of each thread
    std::string thread_name_;
    std::vector<std::thread> threads_;
};

} // namespace wavetap::capture
