// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/decoder.hpp"
#include "decode/instruction_list.hpp"
#include "decode/records.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace wavetap::decode {

/// Identity and life of a wave.
struct WaveHead {
    std::uint64_t ordinal = 0; ///< counts wave starts of the blob in stream order
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint64_t record_end = 0;
    PcRef entry;
    std::uint8_t sa = 0, cu = 0, simd = 0, slot = 0;
    std::uint8_t me = 0, pipe = 0, count = 0;
    std::uint8_t contexts = 0, workgroup = 0, cluster = 0;
    bool complete = true;
    bool on_target = false;
    bool start_seen = true; ///< false: it ran before the trace began (or its start was lost)
};

/// A finished wave; everything is borrowed for the length of the call.
struct WaveView {
    const WaveHead& head;
    const InstructionList& instructions;  ///< empty for waves off the target
    std::span<const PcRef> pcs;           ///< one for each instruction, or empty (not asked for)
    std::span<const std::uint8_t> has_pc; ///< likewise
    std::span<const TimelinePiece> timeline;
    std::span<const WaveRecord::ExcludedBarrierWait> excluded_barrier_waits;
    bool stitched = false;
    std::uint32_t lines_without_token = 0;
};

/// A wave slot was taken or given back, in stream order.
struct OccupancyRecord {
    std::uint64_t time = 0;
    PcRef pc;
    bool start = false;
    bool is_ext = false; ///< `workgroup` is known
    std::uint8_t sa = 0, cu = 0, simd = 0, slot = 0;
    std::uint8_t me = 0, pipe = 0;
    std::uint8_t workgroup = 0, cluster = 0;
};

/// Takes records as the decoder finds them. The default of each call drops the record. Calls come
/// from the decoding thread.
class RecordSink {
  public:
    virtual ~RecordSink() = default;
    virtual void wave(const WaveView&) {}
    virtual void occupancy(const OccupancyRecord&) {}
    virtual void dispatch(const DispatchRecord&) {}
    virtual void realtime(const RealtimeRecord&) {}
    virtual void register_write(const RegisterWrite&) {}
    virtual void code_object(const CodeObjectEvent&) {}
    virtual void event(const EventRecord&) {}
    virtual void shader_data(const ShaderDataRecord&) {}
    virtual void perf(const PerfRecord&) {}
    virtual void other_simd(const BlobRecords::OtherSimd&) {}
};

} // namespace wavetap::decode
