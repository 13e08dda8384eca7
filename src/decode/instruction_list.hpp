// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/code_map.hpp"
#include "decode/records.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace wavetap::decode {

/// The category of an instruction that was issued but not yet named.
inline constexpr std::uint8_t kPendingCategory = 0xFF;

/// A wave's instructions as columns. Grows with the wave and keeps its memory for the next one.
class InstructionList {
  public:
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    void clear() {
        size_ = 0;
        // A wave of rare length must not hold its memory for ever.
        if (times.size() > kMaxKept) *this = {};
    }

    [[gnu::always_inline]] void push(std::uint64_t time, std::uint8_t category,
                                     std::uint32_t duration, std::uint32_t stall) {
        if (size_ == times.size()) [[unlikely]]
            grow();
        times[size_] = time;
        durations[size_] = duration;
        stalls[size_] = stall;
        categories[size_] = category;
        ++size_;
    }
    void pop() { --size_; }
    /// Moves what lies behind; the caller bounds how much that can be.
    void erase(std::size_t i) {
        const auto at = static_cast<std::ptrdiff_t>(i);
        const auto end = static_cast<std::ptrdiff_t>(size_);
        std::move(times.begin() + at + 1, times.begin() + end, times.begin() + at);
        std::move(durations.begin() + at + 1, durations.begin() + end, durations.begin() + at);
        std::move(stalls.begin() + at + 1, stalls.begin() + end, stalls.begin() + at);
        std::move(categories.begin() + at + 1, categories.begin() + end, categories.begin() + at);
        --size_;
    }
    /// Adds the entries of `more` from `first` on.
    void append(const InstructionList& more, std::size_t first) {
        const std::size_t added = more.size_ - first;
        while (times.size() < size_ + added)
            grow();
        const auto put = [&](const auto& from, auto& to) {
            std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(first), added,
                        to.begin() + static_cast<std::ptrdiff_t>(size_));
        };
        put(more.times, times);
        put(more.durations, durations);
        put(more.stalls, stalls);
        put(more.categories, categories);
        size_ += added;
    }
    void swap(std::size_t i, std::size_t j) {
        std::swap(times[i], times[j]);
        std::swap(durations[i], durations[j]);
        std::swap(stalls[i], stalls[j]);
        std::swap(categories[i], categories[j]);
    }
    std::uint64_t end(std::size_t i) const { return times[i] + durations[i]; }
    bool is(std::size_t i, Category category) const {
        return categories[i] == static_cast<std::uint8_t>(category);
    }

    // Valid up to size(); longer than it.
    std::vector<std::uint64_t> times;
    std::vector<std::uint32_t> durations;
    std::vector<std::uint32_t> stalls;
    std::vector<std::uint8_t> categories;

  private:
    static constexpr std::size_t kMaxKept = std::size_t{1} << 15;
    [[gnu::noinline]] void grow() {
        const std::size_t capacity = std::max<std::size_t>(64, times.size() * 2);
        times.resize(capacity);
        durations.resize(capacity);
        stalls.resize(capacity);
        categories.resize(capacity);
    }
    std::size_t size_ = 0;
};

/// From instruction `index` on the wave is at `pc`.
struct PcAnchor {
    enum class State : std::uint8_t {
        kKnown,
        kWaiting, ///< a token with the program counter should follow
        kLost,    ///< tokens were lost: go on, but only if all up to the next anchor fits
        kBroken,  ///< instructions are missing here; nothing can be placed until the next anchor
    };
    std::uint32_t index = 0;
    State state = State::kWaiting;
    PcRef pc;
};

/// The anchors of a wave, by index.
class AnchorList {
  public:
    const std::vector<PcAnchor>& all() const { return anchors_; }
    /// Known places without a code object get what `attribute(address)` says.
    template <class Attribute> void attribute(Attribute&& attribute) {
        for (PcAnchor& anchor : anchors_) {
            if (anchor.state == PcAnchor::State::kKnown && anchor.pc.object == 0)
                anchor.pc = attribute(anchor.pc.address);
        }
    }
    bool empty() const { return anchors_.empty(); }
    /// How many wait for their program counter.
    std::size_t waiting() const { return anchors_.size() - std::min(waiting_, anchors_.size()); }
    /// Goes on with `more`, whose index 0 is `offset` here and all of which lie behind these; of
    /// these none waits then.
    void append(const AnchorList& more, std::size_t offset) {
        if (more.empty()) return;
        waiting_ = anchors_.size() + more.waiting_;
        for (PcAnchor anchor : more.anchors_) {
            anchor.index += static_cast<std::uint32_t>(offset);
            anchors_.push_back(anchor);
        }
    }
    void clear() {
        anchors_.clear();
        waiting_ = 0;
    }
    void add_known(std::size_t index, PcRef pc) { add(index, PcAnchor::State::kKnown, pc); }
    void add_waiting(std::size_t index) {
        const bool joins = waiting_ < anchors_.size();
        const std::size_t before = anchors_.size();
        add(index, PcAnchor::State::kWaiting, {});
        waiting_ = joins ? waiting_ : (anchors_.size() > before ? before : before - 1);
    }
    void add_lost(std::size_t index) {
        if (!anchors_.empty()) add(index, PcAnchor::State::kLost, {});
    }
    void add_broken(std::size_t index) { add(index, PcAnchor::State::kBroken, {}); }
    /// A program counter arrived: for the earliest anchor of the waiting ones at the end, else for
    /// the next instruction, which will have `index`.
    void arrived(std::size_t index, PcRef pc) {
        if (waiting_ < anchors_.size()) {
            anchors_[waiting_].state = PcAnchor::State::kKnown;
            anchors_[waiting_].pc = pc;
            ++waiting_;
        } else {
            add_known(index, pc);
        }
    }
    /// Instruction `index` was taken out.
    void erased(std::size_t index) {
        for (auto it = anchors_.rbegin(); it != anchors_.rend() && it->index > index; ++it)
            --it->index;
    }
    /// Anchors at `index` move one up.
    void push_up(std::size_t index) {
        for (auto it = anchors_.rbegin(); it != anchors_.rend() && it->index >= index; ++it)
            if (it->index == index) ++it->index;
    }

  private:
    void add(std::size_t index, PcAnchor::State state, PcRef pc) {
        const auto at = static_cast<std::uint32_t>(index);
        if (!anchors_.empty() && anchors_.back().index == at) {
            // A known place stays known when tokens are lost before its first instruction.
            if (state != PcAnchor::State::kLost) anchors_.back() = {at, state, pc};
        } else {
            anchors_.push_back({at, state, pc});
        }
        if (state != PcAnchor::State::kWaiting) waiting_ = anchors_.size();
    }
    std::vector<PcAnchor> anchors_;
    std::size_t waiting_ = 0; ///< first of the waiting anchors at the end
};

struct TimelinePiece {
    WaveState state = WaveState::kEmpty;
    std::uint64_t clocks = 0;
};

} // namespace wavetap::decode
