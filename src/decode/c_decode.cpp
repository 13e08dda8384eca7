// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/c_interface.hpp"
#include "code/code_object.hpp"
#include "code/disassembler.hpp"
#include "decode/cut.hpp"
#include "decode/elf_source.hpp"
#include "decode/stream.hpp"
#include "decode/token_pieces.hpp"

#include <wavetap/decode.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

using namespace wavetap;
using namespace wavetap::decode;

namespace {

thread_local constinit LastError t_last_error;

template <class Call> wavetap_status guarded(Call&& call) noexcept {
    return t_last_error.guard(std::forward<Call>(call));
}

Error null_argument() {
    return Error{ErrorCode::kInvalidArgument, "a pointer that is required is null", "", ""};
}

std::span<const std::byte> span_of(const void* data, std::size_t bytes) {
    return {static_cast<const std::byte*>(data), bytes};
}

Result<wavetap_decode_handlers> handlers_of(const wavetap_decode_handlers* given) {
    if (given == nullptr) return null_argument();
    wavetap_decode_handlers known{};
    WAVETAP_CHECK_OK(copy_in(known, *given, "wavetap_decode_handlers",
                             "set it to sizeof(wavetap_decode_handlers)"));
    return known;
}

wavetap_pc pc_of(const Pc& pc) {
    return {pc.absolute, pc.elf_address, pc.code_object};
}

std::uint32_t flag(bool set, unsigned bit) {
    return set ? bit : 0U;
}

/// Somebody wants what only a decode finds.
bool wants_records(const wavetap_decode_handlers& handlers) {
    wavetap_decode_handlers others = handlers;
    others.size = 0;
    others.token = nullptr;
    const wavetap_decode_handlers none{};
    return handlers.token == nullptr || std::memcmp(&others, &none, sizeof none) != 0;
}

StreamOptions options_for(const wavetap_decode_handlers& handlers) {
    StreamOptions options;
    options.want_instructions = handlers.wave != nullptr || handlers.diagnostic != nullptr;
    return options;
}

/// Hands records to the caller.
class HandlerSink final : public RecordSink {
  public:
    HandlerSink(const wavetap_decode_handlers& handlers, void* user, CodeMap* code)
        : handlers_(handlers), user_(user), code_(code) {}

    void wave(const WaveView& view) override {
        if (handlers_.wave == nullptr || code_ == nullptr) return;
        const WaveHead& head = view.head;
        const InstructionList& list = view.instructions;
        instructions_.resize(list.size());
        for (std::size_t i = 0; i < list.size(); ++i) {
            wavetap_instruction& out = instructions_[i];
            out = {};
            out.time = list.times[i];
            out.duration = list.durations[i];
            out.stall = list.stalls[i];
            out.category = list.categories[i];
            if (i < view.has_pc.size() && view.has_pc[i] != 0)
                out.pc = pc_of(code_->pc_of(view.pcs[i]));
        }
        timeline_.clear();
        for (const TimelinePiece& piece : view.timeline)
            timeline_.push_back({piece.clocks, static_cast<std::uint32_t>(piece.state), 0});
        wavetap_wave out{};
        out.start = head.start;
        out.end = head.end;
        out.entry = entry_of(head.entry);
        out.sa = head.sa;
        out.cu = head.cu;
        out.simd = head.simd;
        out.slot = head.slot;
        out.me = head.me;
        out.pipe = head.pipe;
        out.contexts = head.contexts;
        out.workgroup = head.workgroup;
        out.flags = flag(head.complete, WAVETAP_WAVE_COMPLETE) |
                    flag(head.start_seen, WAVETAP_WAVE_START_SEEN) |
                    flag(head.on_target, WAVETAP_WAVE_ON_TARGET) |
                    flag(view.stitched, WAVETAP_WAVE_STITCHED);
        out.lines_without_token = view.lines_without_token;
        out.instructions = instructions_.data();
        out.instruction_count = instructions_.size();
        out.timeline = timeline_.data();
        out.timeline_count = timeline_.size();
        out.with_pc = view.with_pc;
        out.without_pc = view.without_pc;
        handlers_.wave(&out, user_);
    }
    void dispatch(const DispatchRecord& record) override {
        if (handlers_.dispatch == nullptr) return;
        wavetap_dispatch out{};
        out.time = record.time;
        out.entry = pc_of(record.entry);
        std::copy(std::begin(record.threads), std::end(record.threads), std::begin(out.threads));
        out.rsrc1 = record.rsrc1;
        out.rsrc2 = record.rsrc2;
        out.me = record.me;
        out.pipe = record.pipe;
        out.packet_address = record.packet_va;
        out.byte_offset = record.offset_bytes;
        handlers_.dispatch(&out, user_);
    }
    void event(const EventRecord& record) override {
        if (handlers_.event == nullptr) return;
        const wavetap_event out{record.time,    event_kind_name(record.kind),
                                record.payload, record.offset_bytes,
                                record.me,      record.pipe};
        handlers_.event(&out, user_);
    }
    void realtime(const RealtimeRecord& record) override {
        if (handlers_.realtime != nullptr) handlers_.realtime(record.time, record.counter, user_);
    }
    void token(const sqtt::Token& token, sqtt::Generation generation) {
        fields_.clear();
        if (const sqtt::TokenRow* row = sqtt::find_row(generation, token.type)) {
            for (const sqtt::Field& field : row->fields) {
                if (field.id != sqtt::FieldId::kNone && field.id != sqtt::FieldId::kPad &&
                    field.id != sqtt::FieldId::kReserved)
                    fields_.push_back({sqtt::field_name(field.id), token.field(field.bits)});
            }
        }
        const wavetap_token out{token.offset_bits, sqtt::token_name(generation, token.type),
                                token.size_bits,   token.delta,
                                token.bits.low,    token.bits.high,
                                fields_.data(),    fields_.size()};
        handlers_.token(&out, user_);
    }
    void occupancies(std::span<const OccupancyRecord> records) override {
        if (handlers_.occupancy == nullptr || code_ == nullptr) return;
        for (const OccupancyRecord& record : records) {
            const wavetap_occupancy out{record.time,
                                        entry_of(record.pc),
                                        record.sa,
                                        record.cu,
                                        record.simd,
                                        record.slot,
                                        record.me,
                                        record.pipe,
                                        record.workgroup,
                                        record.cluster,
                                        flag(record.start, WAVETAP_OCCUPANCY_START) |
                                            flag(record.is_ext, WAVETAP_OCCUPANCY_WORKGROUP),
                                        0};
            handlers_.occupancy(&out, user_);
        }
    }
    void register_write(const RegisterWrite& record) override {
        if (handlers_.register_write == nullptr) return;
        const wavetap_register_write out{record.time, record.reg, record.data};
        handlers_.register_write(&out, user_);
    }
    void code_object(const CodeObjectEvent& record) override {
        if (handlers_.code_object == nullptr) return;
        const wavetap_code_marker out{record.time,
                                      record.id,
                                      record.address,
                                      record.size,
                                      flag(record.unload, WAVETAP_CODE_MARKER_UNLOAD) |
                                          flag(record.from_start, WAVETAP_CODE_MARKER_FROM_START),
                                      0};
        handlers_.code_object(&out, user_);
    }
    void shader_data(const ShaderDataRecord& record) override {
        if (handlers_.shader_data == nullptr) return;
        const wavetap_shader_data out{record.time,
                                      record.value,
                                      flag(record.immediate, WAVETAP_SHADER_DATA_IMMEDIATE) |
                                          flag(record.privileged, WAVETAP_SHADER_DATA_PRIVILEGED),
                                      record.sa,
                                      record.cu,
                                      record.simd,
                                      record.slot,
                                      0};
        handlers_.shader_data(&out, user_);
    }
    void perf(const PerfRecord& record) override {
        if (handlers_.counters == nullptr) return;
        wavetap_counters out{};
        out.time = record.time;
        std::copy(std::begin(record.counters), std::end(record.counters), std::begin(out.counters));
        out.cu = record.cu;
        out.bank = record.bank;
        handlers_.counters(&out, user_);
    }
    void other_simd(const BlobRecords::OtherSimd& record) override {
        if (handlers_.other_simd == nullptr) return;
        const wavetap_other_simd out{record.time, record.cycles,
                                     static_cast<std::uint32_t>(record.kind)};
        handlers_.other_simd(&out, user_);
    }
    void totals(const BlobTotals& totals) const {
        if (handlers_.totals == nullptr) return;
        wavetap_totals out{};
        for (const std::uint64_t count : totals.tokens)
            out.tokens += count;
        out.first_time = totals.first_time;
        out.last_time = totals.last_time;
        out.instructions = totals.instructions;
        out.instructions_with_pc = totals.instructions_with_pc;
        out.clock_base = totals.clock_base.value_or(0);
        out.counter_frequency_khz = totals.counter_frequency_khz;
        handlers_.totals(&out, user_);
    }

  private:
    wavetap_pc entry_of(PcRef entry) const {
        return pc_of(
            code_->pc_of(entry.object != 0 ? entry : code_->attribute_late(entry.address)));
    }

    wavetap_decode_handlers handlers_;
    void* user_;
    CodeMap* code_;
    std::vector<wavetap_instruction> instructions_;
    std::vector<wavetap_timeline_piece> timeline_;
    std::vector<wavetap_token_field> fields_;
};

Result<void> give(const Result<Cut>& cut, void* out, std::size_t* size) {
    if (!cut) return cut.error();
    const bool fits = out != nullptr && *size >= cut->bytes.size();
    *size = cut->bytes.size();
    if (!fits)
        return Error{ErrorCode::kLimit, "the piece needs " + std::to_string(*size) + " bytes", "",
                     ""};
    std::memcpy(out, cut->bytes.data(), cut->bytes.size());
    return {};
}

Error no_object(std::uint64_t id) {
    return Error{ErrorCode::kNotFound, "there is no code object " + std::to_string(id), "", ""};
}

} // namespace

struct wavetap_decoder {
    struct Object {
        std::uint64_t id;
        std::uint64_t load_address;
        std::unique_ptr<code::CodeObject> object;
    };
    std::string gfx;
    std::vector<Object> objects;
    std::optional<code::Disassembler> disassembler;

    std::string chip() const {
        return !gfx.empty() || objects.empty() ? gfx : objects.front().object->gfx();
    }
};

/// What a decode works with, in the order in which it is made.
struct wavetap_stream {
    wavetap_stream(const wavetap_decoder& owner, const wavetap_decode_handlers& given, void* to)
        : handlers(given), user(to) {
        for (const auto& each : owner.objects)
            objects.push_back({each.object.get(), each.load_address, each.id});
    }
    Result<void> begin(const wavetap_decoder& owner) {
        if (!objects.empty()) {
            WAVETAP_TRY(auto created, ElfSource::create(owner.chip(), objects));
            source.emplace(std::move(created));
            if (!source->exact()) diagnostics.add(Fault::kNearestChip, 0, 0);
        }
        code.emplace(source ? &*source : nullptr, objects);
        sink.emplace(handlers, user, &*code);
        decoder.emplace(options_for(handlers), *code, *sink, diagnostics);
        return {};
    }
    const sqtt::Header* header() const {
        return wants_records(handlers) ? decoder->header() : tokens.header();
    }
    auto to_handler() {
        return
            [this](const sqtt::Token& token, sqtt::Generation kind) { sink->token(token, kind); };
    }
    Result<void> take_tokens(std::span<const std::byte> bytes, bool last) {
        if (handlers.token == nullptr) return {};
        return tokens.feed(bytes, last, to_handler());
    }
    Result<void> feed_chunk(std::span<const std::byte> chunk, std::size_t read_offset,
                            bool missing) {
        WAVETAP_TRY(const auto part,
                    StreamDecoder::part_of_chunk(header(), chunk, read_offset, missing));
        if (part.gap) {
            if (handlers.token != nullptr) WAVETAP_CHECK_OK(tokens.gap(to_handler()));
            if (wants_records(handlers)) decoder->gap();
        }
        return feed(part.bytes);
    }
    Result<void> feed(std::span<const std::byte> bytes) {
        WAVETAP_CHECK_OK(take_tokens(bytes, false));
        if (!wants_records(handlers)) return {};
        return decoder->feed(bytes);
    }
    Result<void> finish() {
        finished = true;
        WAVETAP_CHECK_OK(take_tokens({}, true));
        if (!wants_records(handlers)) return {};
        WAVETAP_TRY(const BlobTotals totals, decoder->finish());
        sink->totals(totals);
        if (handlers.diagnostic == nullptr) return {};
        for (const Diagnostic& each : diagnostics.list()) {
            const wavetap_diagnostic out{each.kind,    each.severity,           each.advice,
                                         each.count,   each.first_offset_bytes, each.first_time,
                                         each.sentence};
            handlers.diagnostic(&out, user);
        }
        return {};
    }
    /// Errors: kWrongState.
    Result<void> check_open() const {
        if (!finished) return {};
        return Error{ErrorCode::kWrongState, "the stream was finished", "", ""};
    }

    wavetap_decode_handlers handlers;
    void* user;
    std::vector<LoadedObject> objects;
    std::optional<ElfSource> source;
    std::optional<CodeMap> code;
    std::optional<HandlerSink> sink;
    Diagnostics diagnostics;
    std::optional<StreamDecoder> decoder;
    TokenPieces tokens;
    bool finished = false;
};

struct wavetap_scanner {
    bool begun = false;
    ScanState state;
};

extern "C" {

const char* wavetap_decode_last_error(void) {
    return t_last_error.words();
}

uint32_t wavetap_decode_version(void) {
    return WAVETAP_VERSION_MAJOR << 16 | WAVETAP_VERSION_MINOR;
}

const char* wavetap_status_name(wavetap_status status) {
    return status_name(status);
}

const char* wavetap_category_name(wavetap_category category) {
    return category_name(static_cast<Category>(category));
}

wavetap_status wavetap_decoder_create(const char* gfx, wavetap_decoder** decoder) {
    return guarded([&]() -> Result<void> {
        if (decoder == nullptr) return null_argument();
        *decoder = nullptr;
        auto made = std::make_unique<wavetap_decoder>();
        if (gfx != nullptr) {
            WAVETAP_CHECK_OK(code::Disassembler::create(gfx));
            made->gfx = gfx;
        }
        *decoder = made.release();
        return {};
    });
}

void wavetap_decoder_destroy(wavetap_decoder* decoder) {
    delete decoder;
}

wavetap_status wavetap_decoder_load_code(wavetap_decoder* decoder, uint64_t id,
                                         uint64_t load_address, const void* elf, size_t bytes) {
    return guarded([&]() -> Result<void> {
        if (decoder == nullptr || elf == nullptr) return null_argument();
        if (id == 0)
            return Error{ErrorCode::kInvalidArgument, "0 is no id of a code object", "", ""};
        for (const auto& each : decoder->objects) {
            if (each.id == id)
                return Error{ErrorCode::kWrongState,
                             "code object " + std::to_string(id) + " is loaded already", "", ""};
        }
        const auto given = span_of(elf, bytes);
        WAVETAP_TRY(auto object, code::CodeObject::parse({given.begin(), given.end()}));
        decoder->objects.push_back(
            {id, load_address, std::make_unique<code::CodeObject>(std::move(object))});
        decoder->disassembler.reset();
        return {};
    });
}

wavetap_status wavetap_decoder_unload_code(wavetap_decoder* decoder, uint64_t id) {
    return guarded([&]() -> Result<void> {
        if (decoder == nullptr) return null_argument();
        decoder->disassembler.reset();
        if (std::erase_if(decoder->objects, [id](const auto& each) { return each.id == id; }) == 0)
            return no_object(id);
        return {};
    });
}

wavetap_status wavetap_decoder_decode(wavetap_decoder* decoder, const void* blob, size_t bytes,
                                      const wavetap_decode_handlers* handlers, void* user) {
    return guarded([&]() -> Result<void> {
        if (decoder == nullptr || blob == nullptr || handlers == nullptr) return null_argument();
        WAVETAP_TRY(const auto wanted, handlers_of(handlers));
        wavetap_stream stream(*decoder, wanted, user);
        WAVETAP_CHECK_OK(stream.begin(*decoder));
        WAVETAP_CHECK_OK(stream.feed(span_of(blob, bytes)));
        return stream.finish();
    });
}

wavetap_status wavetap_stream_create(wavetap_decoder* decoder,
                                     const wavetap_decode_handlers* handlers, void* user,
                                     wavetap_stream** stream) {
    return guarded([&]() -> Result<void> {
        if (decoder == nullptr || handlers == nullptr || stream == nullptr) return null_argument();
        *stream = nullptr;
        WAVETAP_TRY(const auto wanted, handlers_of(handlers));
        auto made = std::make_unique<wavetap_stream>(*decoder, wanted, user);
        WAVETAP_CHECK_OK(made->begin(*decoder));
        *stream = made.release();
        return {};
    });
}

wavetap_status wavetap_stream_feed(wavetap_stream* stream, const void* data, size_t bytes) {
    return guarded([&]() -> Result<void> {
        if (stream == nullptr || (data == nullptr && bytes != 0)) return null_argument();
        WAVETAP_CHECK_OK(stream->check_open());
        return stream->feed(span_of(data, bytes));
    });
}

wavetap_status wavetap_stream_feed_chunk(wavetap_stream* stream, const void* chunk, size_t bytes,
                                         size_t read_offset, int missing) {
    return guarded([&]() -> Result<void> {
        if (stream == nullptr || (chunk == nullptr && bytes != 0)) return null_argument();
        WAVETAP_CHECK_OK(stream->check_open());
        return stream->feed_chunk(span_of(chunk, bytes), read_offset, missing != 0);
    });
}

wavetap_status wavetap_stream_finish(wavetap_stream* stream) {
    return guarded([&]() -> Result<void> {
        if (stream == nullptr) return null_argument();
        WAVETAP_CHECK_OK(stream->check_open());
        return stream->finish();
    });
}

void wavetap_stream_destroy(wavetap_stream* stream) {
    delete stream;
}

wavetap_status wavetap_decoder_text(wavetap_decoder* decoder, uint64_t id, uint64_t elf_address,
                                    char* text, size_t* size) {
    return guarded([&]() -> Result<void> {
        if (decoder == nullptr || text == nullptr || size == nullptr) return null_argument();
        const auto found = std::find_if(decoder->objects.begin(), decoder->objects.end(),
                                        [id](const auto& each) { return each.id == id; });
        if (found == decoder->objects.end()) return no_object(id);
        if (!decoder->disassembler) {
            WAVETAP_TRY(auto created, code::Disassembler::create(decoder->chip()));
            decoder->disassembler.emplace(std::move(created));
        }
        const auto instruction =
            decoder->disassembler->decode(found->object->bytes_at(elf_address), elf_address);
        if (!instruction)
            return Error{ErrorCode::kNotFound, to_string(instruction.error()), "", ""};
        const std::string& line = instruction->text;
        const bool fits = *size > line.size();
        *size = line.size() + 1;
        if (!fits) return Error{ErrorCode::kLimit, "the text does not fit", "", ""};
        std::memcpy(text, line.c_str(), line.size() + 1);
        return {};
    });
}

wavetap_status wavetap_scanner_create(wavetap_scanner** scanner) {
    return guarded([&]() -> Result<void> {
        if (scanner == nullptr) return null_argument();
        *scanner = nullptr; // should there be no memory
        *scanner = new wavetap_scanner;
        return {};
    });
}

void wavetap_scanner_destroy(wavetap_scanner* scanner) {
    delete scanner;
}

wavetap_status wavetap_scanner_feed(wavetap_scanner* scanner, const void* chunk, size_t bytes,
                                    const wavetap_decode_handlers* handlers, void* user) {
    return guarded([&]() -> Result<void> {
        if (scanner == nullptr || chunk == nullptr) return null_argument();
        WAVETAP_TRY(const auto wanted, handlers_of(handlers));
        const auto data = span_of(chunk, bytes);
        const bool first = !scanner->begun;
        if (first) {
            WAVETAP_TRY(scanner->state, state_before(data, 0, {}));
            scanner->begun = true;
        }
        HandlerSink sink(wanted, user, nullptr);
        scan_chunk(scanner->state, data, first, sink);
        return {};
    });
}

wavetap_status wavetap_decode_cut_dispatch(const void* blob, size_t bytes, uint64_t index,
                                           void* out, size_t* size) {
    return guarded([&]() -> Result<void> {
        if (blob == nullptr || size == nullptr) return null_argument();
        return give(cut_dispatch(span_of(blob, bytes), index, {}), out, size);
    });
}

wavetap_status wavetap_decode_cut_window(const void* blob, size_t bytes, uint64_t begin,
                                         uint64_t end, void* out, size_t* size) {
    return guarded([&]() -> Result<void> {
        if (blob == nullptr || size == nullptr) return null_argument();
        return give(cut_window(span_of(blob, bytes), begin, end, {}), out, size);
    });
}

} // extern "C"
