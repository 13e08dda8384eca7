// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/task_pool.hpp"
#include "decode/code_map.hpp"
#include "decode/diagnostics.hpp"
#include "decode/register_state.hpp"
#include "decode/sink.hpp"
#include "decode/stitch.hpp"

#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace wavetap::decode {

/// Takes waves that are finished but for their program counters.
class WaveReceiver {
  public:
    virtual ~WaveReceiver() = default;
    /// May take the contents of list, anchors and timeline.
    virtual void deliver(const WaveHead& head, InstructionList& list, AnchorList& anchors,
                         std::vector<TimelinePiece>& timeline, std::uint64_t offset_bytes) = 0;
    /// In a part of a stream: here the wave comes, if there is one, that was in `slot` before the
    /// part began.
    virtual void deliver_unknown(unsigned slot) { static_cast<void>(slot); }
};

/// Where waves go and what is counted of them.
struct WaveContext {
    WaveReceiver* receiver = nullptr;
    Diagnostics* diagnostics = nullptr;
    std::uint64_t tokens_without_wave = 0;

    void token_without_wave(StreamPoint at) {
        ++tokens_without_wave;
        diagnostics->add(Fault::kTokenWithoutWave, at.offset_bytes, at.time);
    }
};

/// Instructions of a wave that have no program counter whatever the code is.
struct Unplaced {
    std::uint64_t no_code = 0; ///< nobody gave the bytes at their address
    std::uint64_t no_pc = 0;   ///< where they ran is not known
};

/// A finished wave that waits for the sink.
struct FinishedWave {
    WaveHead head;
    InstructionList list;
    AnchorList anchors;
    std::vector<TimelinePiece> timeline;
    std::uint64_t offset_bytes = 0;
    std::vector<PcRef> pcs;
    std::vector<std::uint8_t> has_pc;
    std::vector<WaveRecord::ExcludedBarrierWait> barrier_waits;
    std::vector<PcRef> unknown; ///< as Stitcher's
    std::uint64_t placed = 0, without_pc = 0, missing = 0;
    Unplaced unplaced;
    std::uint32_t lines_without_token = 0, mismatches = 0;
    bool complete = false;
    WaveDigest digest{};
    bool present = true; ///< false: a place that was kept for a wave that was not there
};

/// Finished waves in the order of their delivery. Keeps memory for the next ones.
struct WaveQueue {
    std::vector<std::unique_ptr<FinishedWave>> waves; ///< the first `count` are in use
    std::size_t count = 0;

    FinishedWave& add() {
        if (count == waves.size()) waves.push_back(std::make_unique<FinishedWave>());
        waves[count]->present = true;
        return *waves[count++];
    }
};

/// The last stages of a wave: stitching and the sink. At once, or, from begin_round() to flush(),
/// in groups that the threads of a pool stitch while the next waves are put together.
/// The sink sees the same either way: waves in the order in which they were delivered.
class WaveFinisher final : public WaveReceiver {
  public:
    /// `want_pcs`: stitch at all. `pool` may be null.
    WaveFinisher(const sqtt::Header& header, CodeMap& code, RecordSink& sink,
                 Diagnostics& diagnostics, TaskPool* pool, bool want_pcs,
                 bool insert_barrier_waits);

    /// A wave is finished.
    void deliver(const WaveHead& head, InstructionList& list, AnchorList& anchors,
                 std::vector<TimelinePiece>& timeline, std::uint64_t offset_bytes) override;

    /// From here on waves are queued. Those of the round before are stitched meanwhile.
    void begin_round();
    /// The sink gets the waves of the round before.
    void end_round();
    /// The sink gets every wave that was delivered; from here on they are finished at once.
    void flush();

    /// Puts a delivered wave into `out`. Thread safe while no code object is loaded or unloaded.
    void take(FinishedWave& out, const WaveHead& head, InstructionList& list, AnchorList& anchors,
              std::vector<TimelinePiece>& timeline, std::uint64_t offset_bytes) const;
    /// Gives it its program counters and the sink's digest. Thread safe but for the stitcher, while
    /// no code object is loaded or unloaded.
    void stitch(Stitcher& stitcher, FinishedWave& wave) const {
        find_pcs(stitcher, wave);
        wave.digest = wave.list.empty() ? WaveDigest{} : sink_->digest(view_of(wave));
    }
    /// One for each thread of the pool.
    Stitcher& stitcher(std::size_t thread) { return stitchers_[thread]; }
    /// The sink gets the waves of a queue, stitched; then it is empty.
    void emit(WaveQueue& queue);

    std::uint64_t instructions() const { return instructions_; }
    std::uint64_t with_pc() const { return with_pc_; }

  private:
    static WaveView view_of(const FinishedWave& wave) {
        return {wave.head,     wave.list,          wave.pcs,       wave.has_pc,
                wave.timeline, wave.barrier_waits, wave.complete,  wave.lines_without_token,
                wave.digest,   wave.placed,        wave.without_pc};
    }
    void find_pcs(Stitcher& stitcher, FinishedWave& wave) const;
    Unplaced attribute(const InstructionList& list, AnchorList& anchors) const;
    void stitch_part(std::size_t part, std::size_t parts);
    void add_unknown(const WaveHead& head, const std::vector<PcRef>& lines);
    void send(const WaveView& view, std::uint64_t placed, std::uint64_t missing, Unplaced unplaced,
              std::uint32_t mismatches, std::uint64_t offset_bytes);

    CodeMap* code_;
    RecordSink* sink_;
    Diagnostics* diagnostics_;
    TaskPool* pool_;
    bool want_pcs_;
    std::vector<Stitcher> stitchers_; ///< one for each part of a queue
    bool queueing_ = false, running_ = false;
    WaveQueue filling_, stitching_;
    std::size_t queued_ = 0; ///< instructions of this round
    TaskPool::Group group_;
    std::uint64_t instructions_ = 0, with_pc_ = 0;
    std::set<std::pair<std::uint64_t, std::uint64_t>> unknown_; ///< lines that were counted
};

} // namespace wavetap::decode
