// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "base/task_pool.hpp"
#include "sqtt/columns.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace wavetap::decode {

/// Takes the parts of a stream through an engine with all threads of a pool. Each part goes this way:
///   read      any thread   its tokens, from a guessed entry
///   prepare   the caller   in order; the entry is proved, or the part is read again
///   build     any thread   what can be said without the parts before
///   check     any thread   in order; what was supposed of the parts before is right, or the part is
///                          done again (only an engine that supposes something)
///   join      any thread   with the parts before, chain by chain, in order within a chain
///   deliver   the caller   in order
/// A part that cannot be prepared waits until all before it are delivered and is then taken singly
/// by the caller; one that cannot be built is done again in the same place. `Engine` has
///   Part, kChains, kChecksParts
///   bool prepare(Part&, const TokenColumns&, const TokenColumns* next, bool first)
///   bool build(Part&, thread), void join(Part&, chain, thread), void deliver(Part&)
///   bool check(Part&), if kChecksParts: then chain kChains, which goes ahead of the others
///   void take_singly(Part&, const TokenColumns&), void redo(Part&)
/// and each Part has bytes(), its results in memory.
template <sqtt::Generation kGen, class Engine> class PartPipeline {
  public:
    using Columns = sqtt::TokenColumns;
    using Entry = Columns::Entry;

    PartPipeline(TaskPool& pool, std::uint64_t part_bits)
        : pool_(&pool), helps_(pool.threads() < kBusyLead), part_bits_(part_bits),
          stages_(window_of(pool.threads())) {
        for (auto& stage : stages_)
            stage = std::make_unique<Stage>();
    }

    /// Takes the tokens from `from` to the first one at or after `stop_bits`, and returns where the
    /// next begins. Behind the stop bytes go on for Columns::kMarginBytes.
    Entry run(Engine& engine, std::span<const std::byte> bytes, Entry from, std::uint64_t stop_bits)
        WAVETAP_EXCLUDES(mutex_) {
        engine_ = &engine;
        bytes_ = bytes;
        first_bits_ = from.bits;
        stop_bits_ = stop_bits;
        parts_ = (stop_bits - from.bits + part_bits_ - 1) / part_bits_;
        end_ = from;
        proved_ = 0;
        {
            const MutexLock lock(mutex_);
            next_read_ = prepared_ = next_build_ = delivered_ = 0;
            chain_next_ = {};
            results_ = 0;
        }
        pool_->start(group_, pool_->threads() - 1, [this](std::size_t i) { work(i + 1); });
        lead();
        pool_->finish(group_);
        return end_;
    }

  private:
    /// Results that wait for delivery; beyond it only the next part is built.
    static constexpr std::size_t kMostResults = std::size_t{24} << 20;
    /// With so many threads the caller has enough to do with preparing and delivering.
    static constexpr unsigned kBusyLead = 8;

    /// The last chain is the one that checks, if the engine does.
    static constexpr unsigned kAllChains = Engine::kChains + (Engine::kChecksParts ? 1 : 0);

    enum class Way : std::uint8_t { kBuild, kSingly, kRedo };
    struct Stage {
        Columns columns;
        typename Engine::Part part;
        bool read = false;
        bool built = false; ///< or found that it cannot be
        Way way = Way::kBuild;
        std::size_t results = 0; ///< bytes
    };
    enum class Job : std::uint8_t { kNone, kRead, kBuild, kJoin };
    struct Work {
        Job job = Job::kNone;
        std::uint64_t part = 0;
        unsigned chain = 0;
    };

    static std::size_t window_of(unsigned threads) {
        return threads + std::size_t{threads} / 2 + 3;
    }
    Stage& stage(std::uint64_t part) { return *stages_[part % stages_.size()]; }
    std::uint64_t begin_of(std::uint64_t part) const {
        return std::min(stop_bits_, first_bits_ + part * part_bits_);
    }
    static std::chrono::steady_clock::time_point soon() {
        return std::chrono::steady_clock::now() + std::chrono::seconds(1);
    }

    /// What a thread can do now.
    Work find() WAVETAP_REQUIRES(mutex_) {
        for (unsigned i = 0; i < kAllChains; ++i) {
            const unsigned chain = (i + Engine::kChains) % kAllChains;
            const std::uint64_t part = chain_next_[chain];
            if (chain_busy_[chain] || part >= next_build_ || part >= prepared_) continue;
            if (chain != kAllChains - 1 && Engine::kChecksParts &&
                part >= chain_next_[kAllChains - 1])
                continue;
            const Stage& at = stage(part);
            if (at.built && at.way == Way::kBuild) return {Job::kJoin, part, chain};
        }
        if (next_build_ < prepared_ && (results_ < kMostResults || next_build_ == delivered_))
            return {Job::kBuild, next_build_, 0};
        if (next_read_ < parts_ && next_read_ < delivered_ + stages_.size())
            return {Job::kRead, next_read_, 0};
        return {};
    }
    Work choose() WAVETAP_REQUIRES(mutex_) {
        const Work found = find();
        if (found.job == Job::kJoin) chain_busy_[found.chain] = true;
        if (found.job == Job::kBuild) ++next_build_;
        if (found.job == Job::kRead) ++next_read_;
        return found;
    }
    /// False: a part that cannot be built, or is to be done again.
    bool perform(const Work& work, std::size_t thread) WAVETAP_EXCLUDES(mutex_) {
        Stage& at = stage(work.part);
        if (work.job == Job::kJoin) return join(at.part, work.chain, thread);
        if (work.job == Job::kBuild) return engine_->build(at.part, thread);
        at.columns.read_guessed(kGen, bytes_, first_bits_, begin_of(work.part),
                                begin_of(work.part + 1));
        return true;
    }
    bool join(typename Engine::Part& part, unsigned chain, std::size_t thread) {
        if constexpr (Engine::kChecksParts) {
            if (chain == Engine::kChains) return engine_->check(part);
        }
        engine_->join(part, chain, thread);
        return true;
    }
    void note(const Work& work, bool good) WAVETAP_REQUIRES(mutex_) {
        Stage& at = stage(work.part);
        if (!good) at.way = Way::kRedo;
        if (work.job == Job::kRead) at.read = true;
        if (work.job == Job::kBuild) {
            at.built = true;
            at.results = good ? at.part.bytes() : 0;
            results_ += at.results;
        }
        if (work.job == Job::kJoin) {
            chain_busy_[work.chain] = false;
            if (good) ++chain_next_[work.chain];
        }
        if (lead_waits_ && (can_prove() || can_deliver())) lead_turn_.notify_one();
    }
    // Who takes a job or makes one possible wakes one thread if another job is left, and no more:
    // there are some ten jobs for each part.
    void wake_one() WAVETAP_REQUIRES(mutex_) {
        if (idle_ == 0 && !(helps_ && lead_waits_)) return;
        if (find().job == Job::kNone) return;
        (idle_ != 0 ? changed_ : lead_turn_).notify_one();
    }
    void work(std::size_t thread) WAVETAP_EXCLUDES(mutex_) {
        bool good = true;
        for (Work now;; good = perform(now, thread)) {
            const MutexLock lock(mutex_);
            if (now.job != Job::kNone) note(now, good);
            ++idle_;
            while (delivered_ != parts_ && find().job == Job::kNone)
                changed_.wait_until(mutex_, soon(), [this]() WAVETAP_NO_THREAD_SAFETY_ANALYSIS {
                    return delivered_ == parts_ || find().job != Job::kNone;
                });
            --idle_;
            if (delivered_ == parts_) return;
            now = choose();
            wake_one();
        }
    }

    void lead() WAVETAP_EXCLUDES(mutex_) {
        while (prove() || prepare() || deliver() || help()) {
        }
        engine_->end_parts();
    }
    // Another thread's job, or a wait for what they do; false: all parts are delivered.
    bool help() WAVETAP_EXCLUDES(mutex_) {
        Work now;
        {
            const MutexLock lock(mutex_);
            if (delivered_ == parts_) return false;
            if (helps_) now = choose();
            if (now.job == Job::kNone) {
                lead_waits_ = true;
                lead_turn_.wait_until(mutex_, soon(), [this]() WAVETAP_NO_THREAD_SAFETY_ANALYSIS {
                    return can_prove() || can_deliver() || (helps_ && find().job != Job::kNone);
                });
                lead_waits_ = false;
                return true;
            }
            wake_one();
        }
        const bool good = perform(now, 0);
        const MutexLock lock(mutex_);
        note(now, good);
        wake_one();
        return true;
    }
    bool can_prove() WAVETAP_REQUIRES(mutex_) {
        return proved_ != next_read_ && stage(proved_).read;
    }
    bool can_deliver() WAVETAP_REQUIRES(mutex_) {
        if (delivered_ == prepared_) return single_;
        const Stage& at = stage(delivered_);
        return at.built &&
               (at.way != Way::kBuild ||
                std::find(chain_next_.begin(), chain_next_.end(), delivered_) == chain_next_.end());
    }

    // What the caller does; false: nothing to do now.
    bool prove() WAVETAP_EXCLUDES(mutex_) {
        Stage& at = stage(proved_);
        {
            const MutexLock lock(mutex_);
            if (!can_prove()) return false;
        }
        const std::uint64_t end = begin_of(proved_ + 1);
        if (end_.bits >= end)
            at.columns.read_nothing(end_); // a token of the part before covers it
        else if (at.columns.entry() != end_)
            at.columns.read(kGen, bytes_, end_, end);
        end_ = at.columns.end();
        ++proved_;
        return true;
    }
    bool prepare() WAVETAP_EXCLUDES(mutex_) {
        std::uint64_t part = 0;
        {
            const MutexLock lock(mutex_);
            part = prepared_;
        }
        const bool last = part + 1 == parts_;
        if (single_ || part >= parts_ || part + (last ? 0 : 1) >= proved_) return false;
        Stage& at = stage(part);
        const bool ready = engine_->prepare(at.part, at.columns,
                                            last ? nullptr : &stage(part + 1).columns, part == 0);
        const MutexLock lock(mutex_);
        at.way = Way::kBuild;
        if (ready)
            ++prepared_;
        else
            single_ = true;
        wake_one();
        return true;
    }
    bool deliver() WAVETAP_EXCLUDES(mutex_) {
        std::uint64_t part = 0;
        Way way = Way::kSingly;
        {
            const MutexLock lock(mutex_);
            if (!can_deliver()) return false;
            part = delivered_;
            if (part != prepared_) way = stage(part).way;
        }
        Stage& at = stage(part);
        if (way == Way::kBuild)
            engine_->deliver(at.part);
        else if (way == Way::kRedo)
            engine_->redo(at.part);
        else
            engine_->take_singly(at.part, at.columns);
        const MutexLock lock(mutex_);
        if (way == Way::kSingly) {
            single_ = false;
            next_build_ = ++prepared_;
        }
        if (way != Way::kBuild) chain_next_.fill(part + 1);
        results_ -= at.results;
        at.read = at.built = false;
        at.results = 0;
        if (++delivered_ == parts_)
            changed_.notify_all();
        else
            wake_one();
        return true;
    }

    TaskPool* pool_;
    bool helps_; ///< the caller does other threads' jobs, too
    std::uint64_t part_bits_;
    TaskPool::Group group_;
    Engine* engine_ = nullptr;
    std::span<const std::byte> bytes_;
    std::uint64_t first_bits_ = 0, stop_bits_ = 0, parts_ = 0;
    std::vector<std::unique_ptr<Stage>> stages_; ///< of the parts from delivered_ on, in a ring
    std::uint64_t proved_ = 0;                   ///< parts whose entry is known to be right
    Entry end_;                                  ///< of the last of those
    bool single_ = false;                        ///< the next part waits to be taken singly

    Mutex mutex_;
    CondVar changed_;   ///< a job is left, or none ever will be
    CondVar lead_turn_; ///< the caller can do something
    std::uint64_t next_read_ WAVETAP_GUARDED_BY(mutex_) = 0;
    std::uint64_t prepared_ WAVETAP_GUARDED_BY(mutex_) = 0;
    std::uint64_t next_build_ WAVETAP_GUARDED_BY(mutex_) = 0;
    std::uint64_t delivered_ WAVETAP_GUARDED_BY(mutex_) = 0;
    std::array<std::uint64_t, kAllChains> chain_next_ WAVETAP_GUARDED_BY(mutex_) = {};
    std::array<bool, kAllChains> chain_busy_ WAVETAP_GUARDED_BY(mutex_) = {};
    std::size_t results_ WAVETAP_GUARDED_BY(mutex_) = 0;
    unsigned idle_ WAVETAP_GUARDED_BY(mutex_) = 0; ///< threads that wait for a job
    bool lead_waits_ WAVETAP_GUARDED_BY(mutex_) = false;
};

} // namespace wavetap::decode
