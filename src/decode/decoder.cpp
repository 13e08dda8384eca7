// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/decoder.hpp"

#include "base/units.hpp"
#include "code/code_object.hpp"
#include "decode/elf_source.hpp"
#include "decode/stream.hpp"

#include <algorithm>
#include <cstring>

namespace wavetap::decode {
namespace {

/// Puts the records of a stream into a BlobRecords.
class Collector final : public RecordSink {
  public:
    Collector(BlobRecords& records, CodeMap& code, bool want_events)
        : records_(&records), code_(&code), want_events_(want_events) {}

    void wave(const WaveView& view) override {
        WaveRecord wave;
        const WaveHead& head = view.head;
        wave.sa = head.sa;
        wave.cu = head.cu;
        wave.simd = head.simd;
        wave.slot = head.slot;
        wave.me = head.me;
        wave.pipe = head.pipe;
        wave.count = head.count;
        wave.complete = head.complete;
        wave.on_target = head.on_target;
        wave.start_seen = head.start_seen;
        wave.start = head.start;
        wave.end = head.end;
        wave.record_end = head.record_end;
        wave.entry = code_->pc_of(
            head.entry.object != 0 ? head.entry : code_->attribute_late(head.entry.address));
        wave.contexts = head.contexts;
        wave.workgroup = head.workgroup;
        wave.cluster = head.cluster;
        wave.stitched = view.stitched;
        wave.lines_without_token = view.lines_without_token;
        wave.with_pc = view.with_pc;
        wave.without_pc = view.without_pc;
        const InstructionList& list = view.instructions;
        wave.instructions.resize(list.size());
        for (std::size_t i = 0; i < list.size(); ++i) {
            InstructionRecord& out = wave.instructions[i];
            out.category = static_cast<Category>(list.categories[i]);
            out.time = list.times[i];
            out.duration = list.durations[i];
            out.stall = list.stalls[i];
            if (i < view.has_pc.size() && view.has_pc[i] != 0) out.pc = code_->pc_of(view.pcs[i]);
        }
        for (const TimelinePiece& piece : view.timeline)
            wave.timeline.emplace_back(piece.state, piece.clocks);
        wave.excluded_barrier_waits.assign(view.excluded_barrier_waits.begin(),
                                           view.excluded_barrier_waits.end());
        order_.push_back(head.ordinal);
        records_->waves.push_back(std::move(wave));
    }
    void dispatch(const DispatchRecord& record) override { add(records_->dispatches, record); }
    void realtime(const RealtimeRecord& record) override { add(records_->realtime, record); }
    void register_write(const RegisterWrite& record) override {
        add(records_->userdata_writes, record);
    }
    void code_object(const CodeObjectEvent& record) override {
        add(records_->code_objects, record);
    }
    void event(const EventRecord& record) override { add(records_->events, record); }
    void shader_data(const ShaderDataRecord& record) override {
        add(records_->shader_data, record);
    }
    void perf(const PerfRecord& record) override { add(records_->perf, record); }
    void other_simd(const BlobRecords::OtherSimd& record) override {
        add(records_->other_simd, record);
    }

    /// Brings the waves into the order of their starts, and looks once more for code objects that
    /// the stream named late as loaded before it began.
    void finish() {
        for (WaveRecord& wave : records_->waves)
            find_late(wave.entry);
        for (DispatchRecord& dispatch : records_->dispatches)
            find_late(dispatch.entry);
        std::vector<std::size_t> index(order_.size());
        for (std::size_t i = 0; i < index.size(); ++i)
            index[i] = i;
        std::sort(index.begin(), index.end(), [this](std::size_t a, std::size_t b) {
            const std::uint64_t start_a = records_->waves[a].start;
            const std::uint64_t start_b = records_->waves[b].start;
            return start_a != start_b ? start_a < start_b : order_[a] < order_[b];
        });
        std::vector<WaveRecord> sorted;
        std::vector<std::uint64_t> order;
        sorted.reserve(index.size());
        order.reserve(index.size());
        for (const std::size_t i : index) {
            sorted.push_back(std::move(records_->waves[i]));
            order.push_back(order_[i]);
        }
        records_->waves = std::move(sorted);
        order_ = std::move(order);
    }
    void drop() {
        records_->clear_lists();
        order_.clear();
    }

  private:
    template <class Record> void add(std::vector<Record>& records, const Record& record) {
        if (want_events_) records.push_back(record);
    }
    void find_late(Pc& pc) const {
        if (pc.code_object == 0 && pc.absolute != 0)
            pc = code_->pc_of(code_->attribute_late(pc.absolute));
    }

    BlobRecords* records_;
    CodeMap* code_;
    bool want_events_;
    std::vector<std::uint64_t> order_; ///< of the waves: what tells those of one start apart
};

std::string default_chip(sqtt::Generation generation) {
    switch (generation) {
    case sqtt::Generation::kGfx9:
        return "gfx90a";
    case sqtt::Generation::kGfx10:
        return "gfx1030";
    case sqtt::Generation::kGfx11:
        return "gfx1100";
    case sqtt::Generation::kGfx12:
        return "gfx1201";
    case sqtt::Generation::kGfx1250:
        return "gfx1250";
    }
    return "";
}

std::string chip_of(const Options& options, sqtt::Generation generation) {
    if (!options.gfx.empty()) return options.gfx;
    for (const LoadedObject& object : options.objects) {
        if (object.object != nullptr) return object.object->gfx();
    }
    return default_chip(generation);
}

void set_header_fields(BlobRecords& records, const sqtt::Header& header) {
    auto& out = records.header_fields;
    const std::uint64_t raw = header.raw;
    if (header.generation == sqtt::Generation::kGfx9) {
        out["legacy_version"] = raw & 0x1FFF;
        out["gfx9_version2"] = header.version;
        out["DSIMDM"] = header.simd_mask;
        out["DCU"] = header.target_cu;
        out["DSA"] = raw >> 25 & 1;
        out["SEID"] = header.engine;
        out["double_buffer"] = header.double_buffer ? 1 : 0;
        return;
    }
    out["version"] = header.version;
    out["DSIMD"] = raw >> 13 & 3;
    out["DWGP"] = header.target_cu;
    out["DSA"] = header.target_sa;
    out["NSA"] = raw >> 20 & 1;
    out["NWGP"] = raw >> 21 & 7;
    out["WSM"] = raw >> 25 & 3;
    out["UCF"] = raw >> 27 & 1;
    out["DPRate"] = header.dp_rate;
    if (header.version >= 4) {
        out["double_buffer"] = header.double_buffer ? 1 : 0;
        out["exclude_barrier_wait"] = header.exclude_barrier_wait ? 1 : 0;
    }
}

std::uint64_t used_bytes(std::span<const std::byte> bytes) {
    std::size_t size = bytes.size();
    while (size > 0 && bytes[size - 1] == std::byte{0})
        --size;
    return size;
}

void take_totals(BlobRecords& records, const sqtt::Header& header, const BlobTotals& totals) {
    records.generation = sqtt::generation_name(header.generation);
    records.header = header.raw;
    set_header_fields(records, header);
    for (std::size_t i = 0; i < totals.tokens.size(); ++i) {
        if (totals.tokens[i] == 0) continue;
        records.tokens_total += totals.tokens[i];
        records
            .token_counts[sqtt::token_name(header.generation, static_cast<sqtt::TokenType>(i))] +=
            totals.tokens[i];
    }
    if (totals.cut_tokens != 0) {
        records.token_counts["TRUNC"] = totals.cut_tokens;
        records.tokens_total += totals.cut_tokens;
    }
    records.first_time = totals.first_time;
    records.last_time = totals.last_time;
    records.clock_base = totals.clock_base;
    records.instructions = totals.instructions;
    records.instructions_with_pc = totals.instructions_with_pc;
    records.instruction_tokens = totals.instruction_tokens;
    records.wave_end_without_start = totals.wave_end_without_start;
    records.tokens_without_wave = totals.tokens_without_wave;
    records.counter_frequency_khz = totals.counter_frequency_khz;
}

/// Lines of code, if any are wanted and given.
Result<std::optional<ElfSource>> source_for(const Options& options, const sqtt::Header& header,
                                            Diagnostics& diagnostics) {
    std::optional<ElfSource> source;
    if (options.objects.empty() || !options.want_instructions) return source;
    WAVETAP_TRY(auto created,
                ElfSource::create(chip_of(options, header.generation), options.objects));
    source.emplace(std::move(created));
    if (!source->exact()) diagnostics.add(Fault::kNearestChip, 0, 0);
    return source;
}

StreamOptions stream_options(const Options& options) {
    StreamOptions stream;
    stream.header = options.header;
    stream.want_instructions = options.want_instructions;
    stream.threads = options.threads;
    stream.part_bytes = options.part_bytes;
    return stream;
}

Result<sqtt::Header> header_of(std::span<const std::byte> bytes,
                               std::optional<std::uint64_t> assumed) {
    if (assumed) return sqtt::parse_header(*assumed);
    return StreamDecoder::read_header(bytes);
}

} // namespace

namespace {

template <class Do> void each_list(BlobRecords& records, BlobRecords& other, Do&& act) {
    act(records.waves, other.waves);
    act(records.dispatches, other.dispatches);
    act(records.realtime, other.realtime);
    act(records.userdata_writes, other.userdata_writes);
    act(records.code_objects, other.code_objects);
    act(records.events, other.events);
    act(records.shader_data, other.shader_data);
    act(records.perf, other.perf);
    act(records.other_simd, other.other_simd);
}

} // namespace

bool BlobRecords::has_lists() const {
    return !(waves.empty() && dispatches.empty() && realtime.empty() && userdata_writes.empty() &&
             code_objects.empty() && events.empty() && shader_data.empty() && perf.empty() &&
             other_simd.empty());
}

void BlobRecords::clear_lists() {
    each_list(*this, *this, [](auto& list, auto&) { list.clear(); });
}

void BlobRecords::take_lists(BlobRecords& other) {
    each_list(*this, other, [](auto& mine, auto& others) { std::swap(mine, others); });
    generation = other.generation;
    clock_base = other.clock_base;
}

Result<BlobRecords> decode_blob(std::span<const std::byte> bytes, const Options& options) {
    WAVETAP_TRY(const auto header, header_of(bytes, options.header));
    Diagnostics diagnostics;
    WAVETAP_TRY(auto source, source_for(options, header, diagnostics));
    CodeMap code(source ? &*source : nullptr, options.objects);
    BlobRecords records;
    Collector collector(records, code, options.want_events);
    WAVETAP_TRY(const auto totals,
                decode_stream(bytes, stream_options(options), code, collector, diagnostics));
    collector.finish();
    take_totals(records, header, totals);
    records.used_bytes = used_bytes(bytes);
    records.diagnostics = diagnostics.list();
    return records;
}

struct PieceDecoder::Impl {
    /// Once the header is known.
    struct Running {
        Running(const Options& options, std::optional<ElfSource> lines, BlobRecords& records,
                Diagnostics& diagnostics)
            : source(std::move(lines)), code(source ? &*source : nullptr, options.objects),
              collector(records, code, options.want_events),
              decoder(stream_options(options), code, collector, diagnostics) {}
        std::optional<ElfSource> source;
        CodeMap code;
        Collector collector;
        StreamDecoder decoder;
    };

    Result<void> begin() {
        WAVETAP_TRY(header, header_of(head, options.header));
        WAVETAP_TRY(auto source, source_for(options, header, diagnostics));
        running = std::make_unique<Running>(options, std::move(source), records, diagnostics);
        return running->decoder.feed(head);
    }

    Options options;
    BlobRecords records;
    Diagnostics diagnostics;
    sqtt::Header header;
    std::vector<std::byte> head;        ///< what came before the header was whole
    std::uint64_t bytes = 0, zeros = 0; ///< came; of them at the end
    std::unique_ptr<Running> running;
};

PieceDecoder::PieceDecoder(const Options& options) : impl_(std::make_unique<Impl>()) {
    impl_->options = options;
}
PieceDecoder::~PieceDecoder() = default;
PieceDecoder::PieceDecoder(PieceDecoder&&) noexcept = default;
PieceDecoder& PieceDecoder::operator=(PieceDecoder&&) noexcept = default;

Result<void> PieceDecoder::feed(std::span<const std::byte> bytes) {
    Impl& impl = *impl_;
    const std::uint64_t used = used_bytes(bytes);
    impl.zeros = used == 0 ? impl.zeros + bytes.size() : bytes.size() - used;
    impl.bytes += bytes.size();
    if (impl.running) return impl.running->decoder.feed(bytes);
    const std::size_t missing = sizeof impl.header.raw - impl.head.size();
    const auto first = bytes.first(std::min(missing, bytes.size()));
    impl.head.insert(impl.head.end(), first.begin(), first.end());
    if (impl.head.size() < sizeof impl.header.raw) return {};
    WAVETAP_CHECK_OK(impl.begin());
    return impl.running->decoder.feed(bytes.subspan(first.size()));
}

Result<void> PieceDecoder::finish() {
    Impl& impl = *impl_;
    if (!impl.running) WAVETAP_CHECK_OK(impl.begin());
    WAVETAP_TRY(const BlobTotals totals, impl.running->decoder.finish());
    take_totals(impl.records, impl.header, totals);
    impl.records.used_bytes = impl.bytes - impl.zeros;
    impl.records.diagnostics = impl.diagnostics.list();
    return {};
}

BlobRecords& PieceDecoder::records() {
    if (impl_->running) {
        impl_->running->collector.finish();
        impl_->records.clock_base = impl_->running->decoder.clock_base();
        impl_->records.generation = sqtt::generation_name(impl_->header.generation);
    }
    return impl_->records;
}

void PieceDecoder::drop() {
    if (impl_->running) impl_->running->collector.drop();
}

} // namespace wavetap::decode
