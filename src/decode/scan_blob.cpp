// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/piece_walk.hpp"
#include "decode/stream_scan.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace wavetap::decode {
namespace {

using sqtt::Generation;
using sqtt::Token;
using sqtt::TokenType;

/// The state before a blob's first token. Reads as much as its header needs.
Result<ScanState> fresh_state(BlobSource& source, std::optional<std::uint64_t> assumed) {
    std::uint64_t raw = assumed.value_or(0);
    if (!assumed) {
        source.rewind();
        std::size_t filled = 0;
        while (filled < sizeof raw) {
            WAVETAP_TRY(const auto piece, source.next());
            if (piece.empty()) break;
            const std::size_t part = std::min(piece.size(), sizeof raw - filled);
            std::memcpy(reinterpret_cast<std::byte*>(&raw) + filled, piece.data(), part);
            filled += part;
        }
        if (filled < sizeof raw)
            return Error{ErrorCode::kCorrupt,
                         "a thread trace of " + std::to_string(filled) +
                             " bytes has no room for its header of 8",
                         "byte 0", "the trace unit wrote nothing, or the file was cut"};
    }
    ScanState state;
    WAVETAP_TRY(state.header, sqtt::parse_header(raw));
    return state;
}

/// Collects a scan and follows the waves of each dispatch to their ends.
class Collector final : public RecordSink {
  public:
    Collector(BlobScan& scan, ScanWindow window)
        : scan_(&scan), window_(window), slots_(WavePlace::kCount, kNobody) {
        latest_.fill(kNobody);
        in_target_.fill(kNobody);
    }
    void dispatch(const DispatchRecord& record) override {
        const std::uint64_t number = scan_->dispatches_total++;
        latest_[(record.me & 1U) * 4U + (record.pipe & 3U)] = number;
        if (!next_is_kept()) return;
        if (scan_->dispatches.empty()) scan_->first_dispatch = number;
        DispatchExtent extent;
        extent.record = record;
        extent.begin_bits = now_.offset_bits;
        cover(extent, record.time);
        scan_->dispatches.push_back(extent);
    }
    void event(const EventRecord& record) override {
        ++scan_->events_total;
        if (next_is_kept()) scan_->events.push_back(record);
    }
    void code_object(const CodeObjectEvent& record) override {
        if (window_.most == ScanWindow{}.most) scan_->code_objects.push_back(record);
    }

    void before(const Token& token) { now_ = token; }
    void after(const Token& token, const StreamScanner& scanner) {
        switch (token.type) {
        case TokenType::kWaveStart:
        case TokenType::kWaveStartExt: {
            if (!scanner.begins_wave(token)) break;
            const WavePlace place = scanner.place(token);
            const std::uint64_t dispatch = latest_[scanner.start_queue(token)];
            slots_[place.index()] = dispatch;
            if (scanner.on_target(place)) in_target_[target_slot(scanner, place)] = dispatch;
            if (dispatch == kNobody)
                ++scan_->waves_before;
            else if (DispatchExtent* extent = kept(dispatch))
                ++extent->waves;
            break;
        }
        case TokenType::kWaveEnd: {
            const std::uint64_t dispatch =
                std::exchange(slots_[scanner.place(token).index()], kNobody);
            DispatchExtent* extent = kept(dispatch);
            if (extent == nullptr) break;
            ++extent->waves_ended;
            cover(*extent, scanner.time());
            break;
        }
        case TokenType::kNewPc:
            if (DispatchExtent* extent =
                    kept(in_target_[target_slot(scanner, scanner.place(token))]))
                cover(*extent, scanner.time());
            break;
        default:
            break;
        }
    }
    void finish() {
        for (DispatchExtent& extent : scan_->dispatches) {
            if (extent.waves_ended == extent.waves) continue;
            extent.end_bits = scan_->end_bits;
            extent.end_time = scan_->last_time;
        }
    }

  private:
    static constexpr std::uint64_t kNobody = ~std::uint64_t{0};
    bool next_is_kept() {
        const std::uint64_t number = records_++;
        return number >= window_.first && number - window_.first < window_.most;
    }
    /// Null for a dispatch outside the window.
    DispatchExtent* kept(std::uint64_t dispatch) {
        const std::uint64_t index = dispatch - scan_->first_dispatch;
        return dispatch != kNobody && index < scan_->dispatches.size()
                   ? &scan_->dispatches[static_cast<std::size_t>(index)]
                   : nullptr;
    }
    void cover(DispatchExtent& extent, std::uint64_t time) const {
        extent.end_bits = now_.offset_bits + now_.size_bits;
        extent.end_time = time;
    }
    // What a program counter token can name.
    static std::size_t target_slot(const StreamScanner& scanner, const WavePlace& place) {
        const bool names_simd = scanner.generation() == Generation::kGfx9;
        return (names_simd ? (place.simd & 3U) * 32U : 0U) + (place.slot & 31U);
    }

    BlobScan* scan_;
    ScanWindow window_;
    std::uint64_t records_ = 0;        ///< dispatches and events so far
    std::vector<std::uint64_t> slots_; ///< number of the dispatch of the wave in each slot
    std::array<std::uint64_t, 8> latest_{};
    std::array<std::uint64_t, 4 * 32> in_target_{};
    Token now_;
};

class Nobody final : public RecordSink {};

} // namespace

std::uint64_t first_token(const ScanState& state, bool has_header) {
    return has_header && state.header.generation == Generation::kGfx9 ? 64 : 0;
}

Result<BlobScan> scan_blob(BlobSource& source, const ScanOptions& options, ScanWindow window) {
    WAVETAP_TRY(const ScanState state, fresh_state(source, options.header));
    BlobScan scan;
    scan.header = state.header;
    Collector collector(scan, window);
    StreamScanner scanner(state, options.objects, collector);
    WAVETAP_TRY(const WalkEnd end,
                walk_source(source, state.header.generation, first_token(state, !options.header),
                            ~std::uint64_t{0},
                            [&](const Token& token, std::span<const std::byte> bytes,
                                std::uint64_t origin) {
                                collector.before(token);
                                scanner.take(token, bytes, origin);
                                collector.after(token, scanner);
                            }));
    scan.end_bits = end.end_bits;
    scan.last_time = scanner.time();
    collector.finish();
    return scan;
}

Result<BlobScan> scan_blob(std::span<const std::byte> bytes, const ScanOptions& options) {
    SpanSource source(bytes);
    return scan_blob(source, options);
}

Result<ScanState> state_before(BlobSource& source, std::uint64_t bits, const ScanOptions& options) {
    WAVETAP_TRY(const ScanState state, fresh_state(source, options.header));
    Nobody nobody;
    StreamScanner scanner(state, options.objects, nobody);
    if (bits == 0) return scanner.state();
    WAVETAP_CHECK_OK(
        walk_source(source, state.header.generation, first_token(state, !options.header), bits,
                    [&](const Token& token, std::span<const std::byte> bytes,
                        std::uint64_t origin) { scanner.take(token, bytes, origin); }));
    return scanner.state();
}

Result<ScanState> state_before(std::span<const std::byte> bytes, std::uint64_t bits,
                               const ScanOptions& options) {
    SpanSource source(bytes);
    return state_before(source, bits, options);
}

namespace {

struct Joined {
    std::uint64_t bits = 0; ///< of the chunk, where the next token begins
    bool extends = false;   ///< bytes of the next chunk may belong to the last token
};

/// The tokens that the chunk before left half, and those that may belong to its last one, read from
/// a copy of both ends. Nothing if the chunk is too short to end the token: then `state` holds both.
std::optional<Joined> join(ScanState& state, StreamScanner& scanner,
                           std::span<const std::byte> chunk) {
    constexpr std::size_t kHead = 64;
    std::vector<std::byte> joint(state.rest.begin(), state.rest.begin() + state.rest_bytes);
    const auto head = static_cast<std::ptrdiff_t>(std::min(kHead, chunk.size()));
    joint.insert(joint.end(), chunk.begin(), chunk.begin() + head);
    const std::uint64_t seam = std::uint64_t{state.rest_bytes} * 8;
    sqtt::TokenReader reader(state.header.generation, joint, state.rest_skip_bits,
                             state.after_extended_start);
    std::uint64_t next = state.rest_skip_bits;
    bool extends = state.after_extended_start;
    for (Token token; (next < seam || extends) && reader.next(token);) {
        next = token.offset_bits + token.size_bits;
        extends = may_be_extended(state.header.generation, token.type);
        token.offset_bits = token.offset_bits > seam ? token.offset_bits - seam : 0;
        token.size_bits =
            static_cast<std::uint8_t>(next > seam ? next - seam - token.offset_bits : 0);
        scanner.take(token, chunk);
    }
    if (next >= seam) {
        // Any number of bytes may extend a token: the rest of them in the chunk itself.
        Joined joined{next - seam, extends};
        sqtt::TokenReader more(state.header.generation, chunk, joined.bits, extends);
        for (Token token; joined.extends && more.next(token);) {
            joined = {token.offset_bits + token.size_bits,
                      may_be_extended(state.header.generation, token.type)};
            scanner.take(token, chunk);
        }
        return joined;
    }
    if (joint.size() > state.rest.size()) return Joined{}; // cannot be: no token is that long
    std::copy(joint.begin(), joint.end(), state.rest.begin());
    state.rest_bytes = static_cast<std::uint8_t>(joint.size());
    return std::nullopt;
}

void pass_chunk(ScanState& state, std::uint64_t bytes) {
    state.open_reset.left_bytes -= std::min(state.open_reset.left_bytes, bytes);
}

} // namespace

void scan_chunk(ScanState& state, std::span<const std::byte> chunk, bool has_header,
                RecordSink& sink) {
    StreamScanner scanner(state, {}, sink);
    std::uint64_t start = first_token(state, has_header);
    bool extends = false;
    if (!has_header && (state.rest_bytes != 0 || state.after_extended_start)) {
        const auto joined = join(state, scanner, chunk);
        if (!joined) return pass_chunk(state, chunk.size());
        start = joined->bits;
        extends = joined->extends;
    }
    std::uint64_t last_end = start;
    const WalkEnd end = walk(state.header.generation, chunk, start, [&](const Token& token) {
        extends = may_be_extended(state.header.generation, token.type);
        last_end = token.offset_bits + token.size_bits;
        scanner.take(token, chunk);
    });
    state = scanner.state();
    const std::size_t from = std::min(static_cast<std::size_t>(end.end_bits / 8), chunk.size());
    const std::size_t left = end.truncated ? chunk.size() - from : 0;
    state.rest_bytes = static_cast<std::uint8_t>(std::min(left, state.rest.size()));
    state.rest_skip_bits = state.rest_bytes == 0 ? 0 : static_cast<std::uint8_t>(end.end_bits % 8);
    std::copy_n(chunk.end() - static_cast<std::ptrdiff_t>(state.rest_bytes), state.rest_bytes,
                state.rest.begin());
    state.after_extended_start = extends && last_end == end.end_bits;
    pass_chunk(state, chunk.size());
}

std::uint64_t scan_chunk_until(ScanState& state, std::span<const std::byte> chunk, bool has_header,
                               std::uint64_t stop_bits) {
    Nobody nobody;
    StreamScanner scanner(state, {}, nobody);
    std::uint64_t last_end = first_token(state, has_header);
    if (!has_header && (state.rest_bytes != 0 || state.after_extended_start)) {
        const auto joined = join(state, scanner, chunk);
        if (!joined) return chunk.size() * 8;
        last_end = joined->bits;
    }
    constexpr std::uint64_t kLongestToken = 16;
    const std::size_t prefix = std::min<std::uint64_t>(chunk.size(), stop_bits / 8 + kLongestToken);
    walk(state.header.generation, chunk.first(prefix), last_end, [&](const Token& token) {
        if (token.offset_bits >= stop_bits) return;
        last_end = token.offset_bits + token.size_bits;
        scanner.take(token, chunk);
    });
    state = scanner.state();
    return last_end;
}

} // namespace wavetap::decode
