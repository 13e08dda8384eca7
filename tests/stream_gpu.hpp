// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "capture/backend.hpp"
#include "softgpu/space_for_test.hpp"
#include "softgpu/thread_trace_unit.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

namespace wavetap::test {

/// A number that rises and can be waited for.
class Count {
  public:
    std::uint64_t load() const WAVETAP_EXCLUDES(mutex_) {
        const MutexLock lock(mutex_);
        return value_;
    }
    void add_one() WAVETAP_EXCLUDES(mutex_) {
        const MutexLock lock(mutex_);
        ++value_;
        changed_.notify_all();
    }
    /// Waits until it is more than `value`; false: the deadline passed first.
    bool wait_above(std::uint64_t value, std::chrono::steady_clock::time_point deadline) const
        WAVETAP_EXCLUDES(mutex_) {
        const MutexLock lock(mutex_);
        return changed_.wait_until(mutex_, deadline,
                                   [&]() WAVETAP_REQUIRES(mutex_) { return value_ > value; });
    }

  private:
    mutable Mutex mutex_;
    mutable CondVar changed_;
    std::uint64_t value_ WAVETAP_GUARDED_BY(mutex_) = 0;
};

/// A GPU of trace units only: those of the software GPU, which write USERDATA tokens, numbered per
/// engine, at a chosen rate of model time. Every call takes model time, during which the units go on
/// writing. For capture::HubEngine and AgentHub without a chip, driver or runtime.
struct StreamGpu {
    static constexpr std::uint32_t kEngines = 8;
    static constexpr std::uint64_t kTokenBytes = 6;
    /// Which submissions, or copies, are accepted and never answered.
    enum Hang : std::uint32_t { kQuery = 1, kSwap = 2, kStop = 4, kStart = 8, kCopy = 16 };

    explicit StreamGpu(double gigabytes_per_second) : rate(gigabytes_per_second) {
        for (std::uint32_t se = 0; se < kEngines; ++se)
            units[se] = std::make_unique<softgpu::ThreadTraceUnit>(0, se, memory, nullptr);
    }
    /// Lets every armed unit write for so long.
    void advance(double nanoseconds);
    std::uint64_t produced() const;
    bool any_armed() const;

    /// Counts a call; true: it fails.
    bool fails() { return ++calls == fail_at.load(); }

    double rate;                 ///< GB/s = bytes a nanosecond, of each engine
    double round_trip_ns = 3000; ///< of a submission
    double packet_ns = 14;
    double copy_rate = 50; ///< GB/s
    double copy_start_ns = 2000;
    std::atomic<std::uint32_t> hang{0};
    /// A unit that is written to after it has dropped tokens answers nothing on that queue any more.
    std::atomic<bool> breaks_after_overflow{false};
    Count stops;                           ///< submitted
    std::atomic<std::uint64_t> fail_at{0}; ///< the how manieth call of the backend fails; 0 = none
    std::atomic<std::uint64_t> calls{0};
    std::atomic<std::uint64_t> most_bytes{~std::uint64_t{0}}; ///< that an engine writes in all

    std::atomic<double> ns{0}; ///< model time; a delivery thread may ask the clock
    double disarmed_ns = 0;    ///< of it, while no unit was on
    softgpu::SpaceForTest space;
    softgpu::Memory memory{space};
    std::array<std::unique_ptr<softgpu::ThreadTraceUnit>, kEngines> units;
    std::array<std::uint32_t, kEngines> next_token{}; ///< also: tokens written or dropped
    std::array<double, kEngines> due_bytes{};
    std::vector<std::uint32_t> markers; ///< words written to the USERDATA2 register
    std::uint64_t counters[4]{};        ///< submissions, copies, copied bytes, freed while in use
    std::uint64_t& submissions = counters[0];
    std::uint64_t& copies = counters[1];
    std::uint64_t& copied_bytes = counters[2];
    std::uint64_t& freed_in_use = counters[3];
    std::int64_t queues = 0, blocks = 0;
};

/// Model time as a clock: now() is the GPU's, limits are real.
class ModelClock final : public Clock {
  public:
    explicit ModelClock(const StreamGpu& gpu) : gpu_(gpu) {}
    TimePoint now() const override { return begin_ + Duration(static_cast<std::int64_t>(gpu_.ns)); }
    TimePoint deadline_after(Duration limit) const override {
        return std::chrono::steady_clock::now() + limit;
    }

  private:
    const StreamGpu& gpu_;
    TimePoint begin_ = std::chrono::steady_clock::now();
};

class StreamBackend final : public capture::Backend {
  public:
    /// `gpu` must outlive the backend.
    explicit StreamBackend(StreamGpu& gpu) : gpu_(gpu) {}

    const char* name() const override { return "model"; }
    Result<void> create_queue() override;
    Result<void> destroy_queue() override;
    Result<capture::DeviceMemory> allocate_device(std::uint64_t bytes) override;
    Result<capture::HostMemory> allocate_host(std::uint64_t bytes) override;
    void free_device(const capture::DeviceMemory& memory) override;
    void free_host(const capture::HostMemory& memory) override;
    Result<capture::Ticket> submit(std::span<const capture::CommandBuffer> buffers,
                                   TimePoint deadline) override;
    Result<void> wait(capture::Ticket ticket, TimePoint deadline) override;
    Result<void> copy_to_host(const capture::HostMemory& to, std::uint64_t offset,
                              std::uint64_t from_va, std::uint64_t bytes,
                              TimePoint deadline) override;
    std::uint64_t counter() override { return static_cast<std::uint64_t>(gpu_.ns / 10) + 1; }

  private:
    std::vector<std::uint32_t> words_of(const capture::CommandBuffer& buffer);
    std::uint32_t kind_of(const std::vector<std::uint32_t>& words) const;
    Result<void> execute(const std::vector<std::uint32_t>& words);
    std::uint32_t read(std::uint32_t reg) const;
    /// A write to `se` is one too many.
    bool breaks(std::uint32_t se);
    std::uint64_t clocks() const { return static_cast<std::uint64_t>(gpu_.ns * 1.7); }

    StreamGpu& gpu_;
    std::uint64_t next_va_ = 0x100000000;
    std::uint64_t next_ticket_ = 1;
    std::uint32_t grbm_ = 0;
    bool queue_ = false;
    bool hung_ = false; ///< something on this queue is never answered
    std::array<bool, StreamGpu::kEngines> forgiven_{}; ///< what it dropped before this queue
    std::set<std::uint64_t> in_use_; ///< memory that an unanswered copy may still write
};

} // namespace wavetap::test
