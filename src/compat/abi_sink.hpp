// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "compat/abi.hpp"
#include "compat/wanted.hpp"
#include "decode/diagnostics.hpp"
#include "decode/hidden_latency.hpp"
#include "decode/sink.hpp"
#include "sqtt/header.hpp"

#include <vector>

namespace wavetap::compat {

/// What is said once in a call, whatever its number of buffers.
struct Said {
    bool gfxip = false;
    bool frequency = false;
    bool stitch_incomplete = false;
    bool wave_incomplete = false;
};

/// Hands the records of one buffer to the caller's callback: waves, events and dispatches at once,
/// the small ones in arrays of at most 65,536. Records that are not wanted are not made.
class AbiSink final : public decode::RecordSink {
  public:
    struct Setup {
        RecordCallback callback = nullptr;
        void* user = nullptr;
        Wanted wanted;
        bool hidden_latency = false;
    };
    AbiSink(const Setup& setup, decode::CodeMap& code, const sqtt::Header& header, Said& said);

    void wave(const decode::WaveView& view) override;
    void occupancy(const decode::OccupancyRecord& record) override;
    void dispatch(const decode::DispatchRecord& record) override;
    void realtime(const decode::RealtimeRecord& record) override;
    void event(const decode::EventRecord& record) override;
    void shader_data(const decode::ShaderDataRecord& record) override;
    void perf(const decode::PerfRecord& record) override;
    void other_simd(const decode::BlobRecords::OtherSimd& record) override;

    /// Delivers the rest, the frequency and the warnings of the buffer.
    void finish(const decode::Diagnostics& diagnostics, std::uint32_t counter_frequency_khz);

  private:
    static constexpr std::size_t kBatch = 65536;

    std::uint8_t cu(std::uint8_t sa, std::uint8_t cu) const {
        return static_cast<std::uint8_t>(gfx9_ ? cu : sa << 7 | cu);
    }
    Pc address(decode::PcRef pc) const;
    void send(RecordType type, void* records, std::uint64_t count) {
        if (setup_.wanted.has(type)) setup_.callback(type, records, count, setup_.user);
    }
    void say(Info info) { send(kInfo, &info, 1); }
    template <class Record> void flush(RecordType type, std::vector<Record>& records);
    template <class Record>
    void add(RecordType type, std::vector<Record>& records, const Record& record);
    void flush_occupancy();

    void analyse(const decode::WaveView& view);
    void send_hidden_latency();

    Setup setup_;
    decode::HiddenLatency latency_;
    decode::CodeMap* code_;
    decode::LineCache lines_;
    Said* said_;
    bool gfx9_;
    unsigned version_; ///< of the header; 0 on gfx9
    std::uint8_t target_cu_;
    std::vector<Instruction> instructions_;
    std::vector<WaveState> timeline_;
    std::vector<decode::OccupancyRecord> occupancy_;
    std::vector<Occupancy> occupancy_out_;
    std::vector<Perf> perf_;
    std::vector<ShaderData> shader_data_;
    std::vector<Realtime> realtime_;
    std::vector<OtherSimd> other_simd_;
};

} // namespace wavetap::compat
