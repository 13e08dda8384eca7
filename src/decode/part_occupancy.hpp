// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/occupancy.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

namespace wavetap::decode {

/// Plain values in a row, in memory that is not written before they are. Keeps it.
template <class T> class Row {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

  public:
    Row() = default;
    ~Row() { std::free(data_); }
    Row(const Row&) = delete;
    Row& operator=(const Row&) = delete;

    /// Room for `more`; `next()` without it is not allowed.
    void reserve(std::size_t more) {
        if (size_ + more <= capacity_) return;
        void* const grown = std::realloc(static_cast<void*>(data_), (size_ + more) * sizeof(T));
        if (grown == nullptr) throw std::bad_alloc();
        data_ = static_cast<T*>(grown);
        capacity_ = size_ + more;
    }
    T& next() { return data_[size_++]; }
    T& operator[](std::size_t i) { return data_[i]; }
    std::size_t size() const { return size_; }
    std::span<const T> all() const { return {data_, size_}; }
    void clear() { size_ = 0; }

  private:
    T* data_ = nullptr;
    std::size_t size_ = 0, capacity_ = 0;
};

/// What a part of the stream does to the wave slots of the engine, found without knowing what was
/// in them. Where that matters, which is at the first token of each slot, a place is left open.
struct PartSlots {
    /// The first token of a slot.
    struct Open {
        StreamPoint at;
        WaveWords words;
        std::uint32_t slot = 0;
        std::uint32_t record = 0; ///< of the token: where in `records`, and before which
        std::uint32_t wave = 0;   ///< of an end off the target: where in `waves`; else before which
        bool start = false;
    };
    struct Last {
        std::uint32_t slot = 0;
        Occupancy::Slot state;
    };
    /// Belongs before `waves[before]` or `records[before]`. In order.
    template <class T> struct Extra {
        std::uint32_t before = 0;
        T value;
    };
    Row<OccupancyRecord> records;
    Row<WaveHead> waves; ///< off the target
    std::vector<Open> opens;
    std::vector<Last> lasts;  ///< how each slot in which a wave started was left
    std::uint32_t losses = 0; ///< of tokens, before this part
    std::vector<Extra<OccupancyRecord>> more_records;
    std::vector<Extra<WaveHead>> more_waves;
    std::uint64_t ends_without_start = 0;

    void clear();
    std::size_t bytes() const {
        return records.size() * sizeof(OccupancyRecord) + waves.size() * sizeof(WaveHead) +
               opens.size() * sizeof(Open) + lasts.size() * sizeof(Last);
    }
    /// Hands everything over in order.
    void send(RecordSink& sink) const;
};

/// As Occupancy, for a part: fills a PartSlots. One for each thread.
class PartOccupancy {
  public:
    /// `code` must not change while parts are worked on.
    explicit PartOccupancy(const CodeMap& code) : slots_(Occupancy::kSlots), code_(&code) {}

    void begin(PartSlots& out, Diagnostics& diagnostics);
    /// Room for the records of so many tokens.
    void reserve(std::size_t tokens) {
        out_->records.reserve(tokens * 2);
        out_->waves.reserve(tokens);
    }
    void finish();
    /// Something happened that only Occupancy itself can tell the outcome of.
    bool failed() const { return failed_; }

    [[gnu::always_inline]] void start(StreamPoint at, WaveWords words, PcRef entry, bool is_ext) {
        Occupancy::Slot& slot = slots_[Occupancy::index(words)];
        if (slot.stamp != stamp_)
            open(slot, at, words, true);
        else if (slot.taken) [[unlikely]]
            end_is_missing(slot, at);
        Occupancy::fill(slot, at, words, entry, is_ext, out_->losses);
        slot.started = true;
        report(slot, at.time, true);
    }
    [[gnu::always_inline]] bool end(StreamPoint at, WaveWords where) {
        Occupancy::Slot& slot = slots_[Occupancy::index(where)];
        if (slot.stamp != stamp_) {
            open(slot, at, where, false);
            return true;
        }
        if (!slot.taken) return false;
        slot.taken = false;
        report(slot, at.time, false);
        if (!slot.words.on_target()) deliver(slot, at.time);
        return true;
    }
    void end_without_start(StreamPoint at, WaveWords where);
    WaveHead head(WaveWords where) const {
        return Occupancy::head_of(slots_[Occupancy::index(where)]);
    }
    void pause(StreamPoint, WaveWords) { failed_ = true; }
    void resume(StreamPoint, WaveWords, PcRef) { failed_ = true; }
    void packets_lost() { failed_ = true; }

  private:
    static constexpr std::uint64_t kMaxEndsWithoutStart = 256;
    void open(Occupancy::Slot& slot, StreamPoint at, WaveWords words, bool start);
    void end_is_missing(Occupancy::Slot& slot, StreamPoint at);
    [[gnu::always_inline]] void report(const Occupancy::Slot& slot, std::uint64_t time,
                                       bool start) {
        OccupancyRecord& record = out_->records.next();
        record.time = time;
        record.pc.object = slot.entry.object;
        record.pc.address = slot.entry.address;
        record.set(slot.words, start, slot.is_ext);
    }
    [[gnu::always_inline]] void deliver(const Occupancy::Slot& slot, std::uint64_t end) {
        Occupancy::fill(out_->waves.next(), slot, end, *code_);
    }

    std::vector<Occupancy::Slot> slots_;
    const CodeMap* code_;
    PartSlots* out_ = nullptr;
    Diagnostics* diagnostics_ = nullptr;
    std::uint32_t stamp_ = 0; ///< a slot with another one was not touched in this part
    std::vector<std::uint32_t> touched_;
    bool failed_ = false;
};

} // namespace wavetap::decode
