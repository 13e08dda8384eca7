// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/task_pool.hpp"
#include "decode/code_map.hpp"
#include "decode/diagnostics.hpp"
#include "decode/sink.hpp"
#include "decode/stitch.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace wavetap::decode {

/// The last stages of a wave: stitching and the sink. At once, or, from begin_round() to flush(),
/// in groups that the threads of a pool stitch while the next waves are put together.
/// The sink sees the same either way: waves in the order in which they were delivered.
class WaveFinisher {
  public:
    /// `want_pcs`: stitch at all. `pool` may be null.
    WaveFinisher(const sqtt::Header& header, CodeMap& code, RecordSink& sink,
                 Diagnostics& diagnostics, TaskPool* pool, bool want_pcs,
                 bool insert_barrier_waits);

    /// A wave is finished. May take the contents of list, anchors and timeline.
    void deliver(const WaveHead& head, InstructionList& list, AnchorList& anchors,
                 std::vector<TimelinePiece>& timeline, std::uint64_t offset_bytes);

    /// From here on waves are queued. Those of the round before are stitched meanwhile.
    void begin_round();
    /// The sink gets the waves of the round before.
    void end_round();
    /// The sink gets every wave that was delivered; from here on they are finished at once.
    void flush();

    std::uint64_t instructions() const { return instructions_; }
    std::uint64_t with_pc() const { return with_pc_; }

  private:
    struct Finished {
        WaveHead head;
        InstructionList list;
        AnchorList anchors;
        std::vector<TimelinePiece> timeline;
        std::uint64_t offset_bytes = 0;
        std::vector<PcRef> pcs;
        std::vector<std::uint8_t> has_pc;
        std::vector<WaveRecord::ExcludedBarrierWait> barrier_waits;
        std::uint64_t placed = 0, missing = 0;
        std::uint64_t uncovered = 0; ///< instructions that no code object covers
        std::uint32_t lines_without_token = 0;
        bool complete = false;
    };
    struct Queue {
        std::vector<std::unique_ptr<Finished>> waves; ///< the first `count` are in use
        std::size_t count = 0;
    };
    std::uint64_t attribute(const InstructionList& list, AnchorList& anchors);
    void stitch(Stitcher& stitcher, Finished& wave) const;
    void stitch_part(std::size_t part, std::size_t parts);
    void emit(Queue& queue);
    void send(const WaveView& view, std::uint64_t placed, std::uint64_t missing,
              std::uint64_t offset_bytes);

    CodeMap* code_;
    RecordSink* sink_;
    Diagnostics* diagnostics_;
    TaskPool* pool_;
    bool want_pcs_;
    std::vector<Stitcher> stitchers_; ///< one for each part of a queue
    bool queueing_ = false, running_ = false;
    Queue filling_, stitching_;
    std::size_t queued_ = 0; ///< instructions of this round
    TaskPool::Group group_;
    std::uint64_t instructions_ = 0, with_pc_ = 0;
};

} // namespace wavetap::decode
