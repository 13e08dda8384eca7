// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/stream.hpp"
#include "fuzz/check.hpp"
#include "fuzz/made_up_code.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

// The first byte chooses the generation, the second the pieces and threads, the rest is the stream. Fed
// in pieces, or taken apart by several threads, a stream gives the records of one plain decode.

namespace {

using namespace wavetap;
using fuzz::check;

class Sum {
  public:
    template <class... Values> void add(Values... values) {
        ((value = (value ^ static_cast<std::uint64_t>(values)) * 0x9E3779B97F4A7C15ULL,
          value ^= value >> 29),
         ...);
    }
    std::uint64_t value = 0x1234567;
};

/// Every record, each kind in its order: that is what RecordSink promises.
class SumSink final : public decode::RecordSink {
  public:
    void waves_without_detail(std::span<const decode::WaveHead> heads) override {
        for (const decode::WaveHead& head : heads)
            add_head(kinds[0], head);
    }
    void wave(const decode::WaveView& view) override {
        add_head(waves, view.head);
        waves.add(view.stitched, view.lines_without_token);
        for (std::size_t i = 0; i < view.instructions.size(); ++i) {
            waves.add(view.instructions.times[i], view.instructions.durations[i],
                      view.instructions.stalls[i], view.instructions.categories[i]);
            if (!view.pcs.empty())
                waves.add(view.pcs[i].address, view.pcs[i].object, view.has_pc[i]);
        }
        for (const decode::TimelinePiece& piece : view.timeline)
            waves.add(piece.state, piece.clocks);
        for (const auto& wait : view.excluded_barrier_waits)
            waves.add(wait.index, wait.pc);
    }
    void occupancy(const decode::OccupancyRecord& r) override {
        kinds[1].add(r.time, r.pc.address, r.pc.object, r.start, r.cu, r.simd, r.slot, r.workgroup);
    }
    void dispatch(const decode::DispatchRecord& r) override {
        kinds[2].add(r.time, r.initiator, r.entry.absolute, r.packet_va, r.offset_bytes);
    }
    void realtime(const decode::RealtimeRecord& r) override { kinds[3].add(r.time, r.counter); }
    void register_write(const decode::RegisterWrite& r) override {
        kinds[4].add(r.time, r.reg, r.data);
    }
    void code_object(const decode::CodeObjectEvent& r) override {
        kinds[5].add(r.time, r.id, r.address, r.size, r.unload);
    }
    void event(const decode::EventRecord& r) override {
        kinds[6].add(r.time, r.kind, r.payload, r.offset_bytes);
    }
    void shader_data(const decode::ShaderDataRecord& r) override {
        kinds[7].add(r.time, r.value, r.cu, r.simd, r.slot);
    }
    void perf(const decode::PerfRecord& r) override { kinds[8].add(r.time, r.cu, r.counters[0]); }
    void other_simd(const decode::BlobRecords::OtherSimd& r) override {
        kinds[9].add(r.time, r.kind, r.cycles);
    }
    Sum waves;
    std::array<Sum, 10> kinds;

  private:
    static void add_head(Sum& sum, const decode::WaveHead& head) {
        sum.add(head.ordinal, head.start, head.end, head.record_end, head.entry.address,
                head.entry.object, head.sa, head.cu, head.simd, head.slot, head.me, head.pipe,
                head.count, head.contexts, head.workgroup, head.cluster, head.complete,
                head.on_target, head.start_seen);
    }
};

struct Outcome {
    std::uint64_t waves = 0, rest = 0, totals = 0;
    friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome outcome_of(const SumSink& sink, const Result<decode::BlobTotals>& totals,
                   const decode::Diagnostics& diagnostics) {
    Sum sum;
    sum.add(totals.has_value());
    if (totals) {
        sum.add(totals->first_time, totals->last_time, totals->clock_base.value_or(7),
                totals->instructions, totals->instructions_with_pc, totals->cut_tokens,
                totals->wave_end_without_start, totals->tokens_without_wave);
        for (const std::uint64_t count : totals->tokens)
            sum.add(count);
    }
    for (const decode::Diagnostic& diagnostic : diagnostics.list())
        sum.add(diagnostic.kind[0], diagnostic.count, diagnostic.first_offset_bytes,
                diagnostic.first_time);
    Sum rest;
    for (const Sum& kind : sink.kinds)
        rest.add(kind.value);
    return {sink.waves.value, rest.value, sum.value};
}

Outcome whole(std::span<const std::byte> bytes, const decode::StreamOptions& options) {
    fuzz::MadeUpCode source;
    decode::CodeMap code(&source, {});
    decode::Diagnostics diagnostics;
    SumSink sink;
    const auto totals = decode::decode_stream(bytes, options, code, sink, diagnostics);
    return outcome_of(sink, totals, diagnostics);
}

Outcome in_pieces(std::span<const std::byte> bytes, const decode::StreamOptions& options,
                  std::size_t piece) {
    fuzz::MadeUpCode source;
    decode::CodeMap code(&source, {});
    decode::Diagnostics diagnostics;
    SumSink sink;
    decode::StreamDecoder decoder(options, code, sink, diagnostics);
    bool good = true;
    for (std::size_t at = 0; at < bytes.size() && good;) {
        const std::size_t size = std::min(bytes.size() - at, 1 + at * 7 % piece);
        good = decoder.feed(bytes.subspan(at, size)).has_value();
        at += size;
    }
    check(good);
    return outcome_of(sink, decoder.finish(), diagnostics);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const std::vector<std::byte> bytes = fuzz::stream_of(data[0], {data + 2, size - 2});
    decode::StreamOptions options;
    options.insert_barrier_waits = (data[0] & 0x80) != 0;
    const Outcome want = whole(bytes, options);
    check(in_pieces(bytes, options, 1 + data[1] % 64) == want);
    if ((data[1] & 0xC0) == 0xC0) {
        options.threads = 2 + data[1] % 2;
        options.part_bytes = 64 + data[1] % 32 * 8;
        check(whole(bytes, options) == want);
    }
    return 0;
}
