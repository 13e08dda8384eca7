// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/stream_scan.hpp"
#include "decode/walk.hpp"

#include <algorithm>
#include <cstring>

namespace wavetap::decode {
namespace {

using sqtt::Generation;
using sqtt::Token;
using sqtt::TokenType;

Result<ScanState> fresh_state(std::span<const std::byte> bytes,
                              std::optional<std::uint64_t> assumed) {
    std::uint64_t raw = assumed.value_or(0);
    if (!assumed) {
        if (bytes.size() < sizeof raw)
            return Error{ErrorCode::kCorrupt,
                         "a thread trace of " + std::to_string(bytes.size()) +
                             " bytes has no room for its header of 8",
                         "byte 0", "the trace unit wrote nothing, or the file was cut"};
        std::memcpy(&raw, bytes.data(), sizeof raw);
    }
    ScanState state;
    WAVETAP_TRY(state.header, sqtt::parse_header(raw));
    return state;
}

std::uint64_t first_token(const ScanState& state, bool has_header) {
    return has_header && state.header.generation == Generation::kGfx9 ? 64 : 0;
}

/// Collects a scan and follows the waves of each dispatch to their ends.
class Collector final : public RecordSink {
  public:
    explicit Collector(BlobScan& scan) : scan_(&scan), slots_(WavePlace::kCount, kNobody) {
        latest_.fill(kNobody);
        in_target_.fill(kNobody);
    }
    void dispatch(const DispatchRecord& record) override {
        DispatchExtent extent;
        extent.record = record;
        extent.begin_bits = now_.offset_bits;
        cover(extent, record.time);
        scan_->dispatches.push_back(extent);
        latest_[(record.me & 1U) * 4U + (record.pipe & 3U)] = scan_->dispatches.size() - 1;
    }
    void event(const EventRecord& record) override { scan_->events.push_back(record); }
    void code_object(const CodeObjectEvent& record) override {
        scan_->code_objects.push_back(record);
    }

    void before(const Token& token) { now_ = token; }
    void after(const Token& token, const StreamScanner& scanner) {
        switch (token.type) {
        case TokenType::kWaveStart:
        case TokenType::kWaveStartExt: {
            if (!scanner.begins_wave(token)) break;
            const WavePlace place = scanner.place(token);
            const std::size_t dispatch = latest_[scanner.start_queue(token)];
            slots_[place.index()] = dispatch;
            if (scanner.on_target(place)) in_target_[target_slot(scanner, place)] = dispatch;
            if (dispatch == kNobody)
                ++scan_->waves_before;
            else
                ++scan_->dispatches[dispatch].waves;
            break;
        }
        case TokenType::kWaveEnd: {
            std::size_t& dispatch = slots_[scanner.place(token).index()];
            if (dispatch == kNobody) break;
            ++scan_->dispatches[dispatch].waves_ended;
            cover(scan_->dispatches[dispatch], scanner.time());
            dispatch = kNobody;
            break;
        }
        case TokenType::kNewPc: {
            const std::size_t dispatch = in_target_[target_slot(scanner, scanner.place(token))];
            if (dispatch != kNobody) cover(scan_->dispatches[dispatch], scanner.time());
            break;
        }
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
    static constexpr std::size_t kNobody = ~std::size_t{0};
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
    std::vector<std::size_t> slots_; ///< dispatch of the wave in each slot
    std::array<std::size_t, 8> latest_{};
    std::array<std::size_t, 4 * 32> in_target_{};
    Token now_;
};

class Nobody final : public RecordSink {};

} // namespace

Result<BlobScan> scan_blob(std::span<const std::byte> bytes, const ScanOptions& options) {
    WAVETAP_TRY(const ScanState state, fresh_state(bytes, options.header));
    BlobScan scan;
    scan.header = state.header;
    Collector collector(scan);
    StreamScanner scanner(state, options.objects, collector);
    const WalkEnd end = walk(state.header.generation, bytes, first_token(state, !options.header),
                             [&](const Token& token) {
                                 collector.before(token);
                                 scanner.take(token, bytes);
                                 collector.after(token, scanner);
                             });
    scan.end_bits = end.end_bits;
    scan.last_time = scanner.time();
    collector.finish();
    return scan;
}

Result<ScanState> state_before(std::span<const std::byte> bytes, std::uint64_t bits,
                               const ScanOptions& options) {
    WAVETAP_TRY(const ScanState state, fresh_state(bytes, options.header));
    Nobody nobody;
    StreamScanner scanner(state, options.objects, nobody);
    const std::size_t prefix = std::min<std::uint64_t>(bytes.size(), (bits + 7) / 8);
    walk(state.header.generation, bytes.first(prefix), first_token(state, !options.header),
         [&](const Token& token) {
             if (token.offset_bits < bits) scanner.take(token, bytes);
         });
    return scanner.state();
}

namespace {

bool has_extensions(const ScanState& state) {
    return state.header.generation == Generation::kGfx12 ||
           state.header.generation == Generation::kGfx1250;
}
bool is_extended(TokenType type) {
    return type == TokenType::kWaveStartExt || type == TokenType::kExtension;
}

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
        extends = is_extended(token.type) && has_extensions(state);
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
                      is_extended(token.type) && has_extensions(state)};
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
        extends = is_extended(token.type);
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
    state.after_extended_start = extends && last_end == end.end_bits && has_extensions(state);
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
