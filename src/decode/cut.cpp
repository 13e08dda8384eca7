// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/cut.hpp"

#include "decode/piece_walk.hpp"
#include "decode/stream.hpp"
#include "sqtt/gfx9.hpp"

#include <algorithm>
#include <cstring>
#include <initializer_list>

namespace wavetap::decode {
namespace {

using sqtt::FieldId;
using sqtt::Generation;
using sqtt::Token;
using sqtt::TokenType;

struct FieldValue {
    FieldId id;
    std::uint64_t value;
};

/// Writes tokens of a generation by its table. All that are used here are whole bytes.
class TokenBytes {
  public:
    explicit TokenBytes(const ScanState& state)
        : generation_(state.header.generation), bytes_(sizeof state.header.raw) {
        std::memcpy(bytes_.data(), &state.header.raw, sizeof state.header.raw);
    }

    void add(TokenType type, std::uint64_t delta, std::initializer_list<FieldValue> values) {
        const sqtt::TokenRow* row = sqtt::find_row(generation_, type);
        if (row == nullptr) return;
        sqtt::TokenBits bits{row->pattern, 0};
        sqtt::insert(bits, row->delta, delta);
        for (const FieldValue& field : values)
            sqtt::insert(bits, row->find(field.id).bits, field.value);
        const std::size_t at = bytes_.size();
        bytes_.resize(at + row->bits / 8);
        std::memcpy(bytes_.data() + at, &bits.low, std::min<std::size_t>(row->bits / 8, 8));
    }

    void write(const ReplayedWrite& write) {
        const std::uint64_t me = write.queue / 4U;
        const std::uint64_t pipe = write.queue % 4U;
        if (generation_ != Generation::kGfx9) {
            add(TokenType::kReg, 0,
                {{FieldId::kMe, me},
                 {FieldId::kPipe, pipe},
                 {FieldId::kCsSpace, write.is_compute ? 1U : 0U},
                 {FieldId::kAddress, write.reg},
                 {FieldId::kData, write.data}});
            return;
        }
        const std::uint64_t raw_me = (me + 1) & 1;
        if (write.is_compute)
            add(TokenType::kRegCs, 0,
                {{FieldId::kMe, raw_me},
                 {FieldId::kPipe, pipe},
                 {FieldId::kAddress, write.reg},
                 {FieldId::kData, write.data}});
        else
            add(TokenType::kReg, 0,
                {{FieldId::kMe, raw_me},
                 {FieldId::kPipe, pipe},
                 {FieldId::kOp, 1},
                 {FieldId::kAddress, write.reg},
                 {FieldId::kData, write.data}});
    }

    /// gfx10 and later: brings the clock from 0 to `time`.
    void clock(std::uint64_t time) {
        const sqtt::TokenRow* row = sqtt::find_row(generation_, TokenType::kTimestamp);
        const std::uint64_t most =
            (std::uint64_t{1} << row->find(FieldId::kValue).bits.width()) - 1;
        while (time != 0) {
            const std::uint64_t step = std::min(time, most);
            add(TokenType::kTimestamp, 0,
                {{FieldId::kType, generation_ == Generation::kGfx10 ? 1U : 0U},
                 {FieldId::kValue, step}});
            time -= step;
        }
    }

    /// gfx9: brings the clock to `time` and, where the stream had told it, the absolute counter of
    /// time 0 to `base`.
    void gfx9_clock(std::uint64_t time, std::optional<std::uint64_t> base) {
        std::uint64_t now = 0;
        if (base && time >= 4) {
            const std::uint64_t units = std::min<std::uint64_t>(time / 4 + 1, sqtt::kGfx9MaxDelta);
            now = units * 4 - 4; // a first reset gives back four clocks
            reset(units, *base + now);
        }
        if (base && time - now > kLongestGap) {
            reset(sqtt::kGfx9MaxDelta, *base + time);
            return;
        }
        while (now < time) {
            const std::uint64_t step = std::min(time - now, kLongestGap);
            add(TokenType::kMisc, step / 4, {});
            now += step;
        }
    }

    std::vector<std::byte> take() { return std::move(bytes_); }

  private:
    static constexpr std::uint64_t kLongestGap = (sqtt::kGfx9MaxDelta - 1) * 4;
    void reset(std::uint64_t units, std::uint64_t absolute) {
        add(TokenType::kMisc, units,
            {{FieldId::kType, static_cast<std::uint64_t>(sqtt::Gfx9Misc::kTimeReset)}});
        add(TokenType::kTimestamp, 0, {{FieldId::kValue, absolute}});
    }

    Generation generation_;
    std::vector<std::byte> bytes_;
};

void add_registers(TokenBytes& out, const ScanState& state) {
    for (const ReplayedWrite& write :
         replay_writes(state.header.generation, state.registers, state.live))
        out.write(write);
}

void add_gfx1250(TokenBytes& out, const ScanState& state) {
    if (state.cluster != 0 || state.cluster_ends)
        out.add(TokenType::kMisc, 0,
                {{FieldId::kClusterFirst, state.cluster_ends ? 0U : 1U},
                 {FieldId::kClusterLast, state.cluster_ends ? 1U : 0U},
                 {FieldId::kCluster, state.cluster}});
    // An instruction of no wave moves its slot to the front; the last used comes last.
    constexpr std::uint64_t kValuOp = 10;
    for (auto slot = state.recent.rbegin(); slot != state.recent.rend(); ++slot) {
        if (*slot >= 0)
            out.add(TokenType::kInst, 0,
                    {{FieldId::kOp, kValuOp}, {FieldId::kSlot, static_cast<std::uint64_t>(*slot)}});
    }
}

class Nobody final : public RecordSink {};

/// The counter of issue phases before byte `end`, which a decode of all waves knows.
Result<unsigned> issue_phase(BlobSource& source, std::uint64_t end, const ScanOptions& options) {
    CodeMap code(nullptr, {});
    Diagnostics diagnostics;
    Nobody nobody;
    StreamOptions stream;
    stream.header = options.header;
    stream.want_instructions = false;
    StreamDecoder decoder(stream, code, nobody, diagnostics);
    source.rewind();
    while (end != 0) {
        WAVETAP_TRY(auto piece, source.next());
        if (piece.empty()) break;
        piece = piece.first(std::min<std::uint64_t>(piece.size(), end));
        WAVETAP_CHECK_OK(decoder.feed(piece));
        end -= piece.size();
    }
    WAVETAP_TRY(const BlobTotals totals, decoder.finish());
    return totals.issue_phase;
}

Error bad_range(const std::string& what) {
    return Error{ErrorCode::kInvalidArgument, what, "",
                 "`wavetap decode --scan` shows what there is"};
}

} // namespace

std::vector<std::byte> preamble(const ScanState& state) {
    TokenBytes out(state);
    add_registers(out, state);
    if (state.header.generation == Generation::kGfx1250) add_gfx1250(out, state);
    if (state.header.generation == Generation::kGfx9)
        out.gfx9_clock(state.time, state.clock_base);
    else
        out.clock(state.time);
    return out.take();
}

std::vector<std::byte> preamble_without_clock(const ScanState& state) {
    TokenBytes out(state);
    add_registers(out, state);
    return out.take();
}

namespace {

/// gfx9: a reset and the timestamp that it takes its time from stay together.
Result<void> widen(BlobSource& source, const ScanOptions& options, CutPlan& plan) {
    WAVETAP_TRY(const ScanState fresh, state_before(source, 0, options));
    if (fresh.header.generation != Generation::kGfx9) return {};
    Nobody nobody;
    StreamScanner scanner(fresh, {}, nobody);
    const std::uint64_t begin = plan.begin_bits;
    const std::uint64_t end = plan.end_bits;
    WAVETAP_CHECK_OK(walk_source(
        source, Generation::kGfx9, first_token(fresh, !options.header), end,
        [&](const Token& token, std::span<const std::byte> bytes, std::uint64_t origin) {
            scanner.take(token, bytes, origin);
            if (!scanner.last_reset() || scanner.last_reset()->token_bits != token.offset_bits)
                return;
            const std::uint64_t stamp = scanner.last_reset()->timestamp_bits;
            if (token.offset_bits < begin && stamp >= begin) plan.begin_bits = token.offset_bits;
            if (token.offset_bits < end && stamp >= end) plan.end_bits = stamp + 64;
        }));
    return {};
}

/// Dispatches that plan_dispatch() looks at in one pass.
constexpr std::uint64_t kDispatchesAtATime = std::uint64_t{1} << 16;

Result<Cut> cut_of(SpanSource& source, const Result<CutPlan>& plan) {
    if (!plan) return plan.error();
    Cut cut;
    cut.bytes.reserve(static_cast<std::size_t>(plan->bytes()));
    WAVETAP_CHECK_OK(write_plan(source, *plan, [&](std::span<const std::byte> bytes) {
        cut.bytes.insert(cut.bytes.end(), bytes.begin(), bytes.end());
        return Result<void>();
    }));
    cut.begin_bits = plan->begin_bits;
    cut.end_bits = plan->end_bits;
    cut.slice_offset = plan->preamble.size();
    cut.begin_time = plan->begin_time;
    return cut;
}

} // namespace

std::uint64_t CutPlan::bytes() const {
    const std::uint64_t used = preamble.size() + (end_bits + 7) / 8 - begin_bits / 8;
    return (used + unit - 1) / unit * unit;
}

Result<CutPlan> plan_range(BlobSource& source, std::uint64_t begin_bits, std::uint64_t end_bits,
                           const ScanOptions& options) {
    if (begin_bits >= end_bits || end_bits > source.bytes() * 8)
        return bad_range("there is nothing between bit " + std::to_string(begin_bits) +
                         " and bit " + std::to_string(end_bits) + " of " +
                         std::to_string(source.bytes()) + " bytes");
    CutPlan plan;
    plan.begin_bits = begin_bits;
    plan.end_bits = end_bits;
    WAVETAP_CHECK_OK(widen(source, options, plan));
    WAVETAP_TRY(ScanState state, state_before(source, plan.begin_bits, options));
    if (state.header.generation != Generation::kGfx9) {
        plan.unit = 32;
    } else if (plan.begin_bits / 8 >= 8) {
        WAVETAP_TRY(const unsigned phase, issue_phase(source, plan.begin_bits / 8, options));
        state.header.raw = sqtt::with_issue_phase(state.header.raw, phase);
    }
    plan.begin_time = state.time;
    plan.preamble = preamble(state);
    return plan;
}

Result<CutPlan> plan_window(BlobSource& source, std::uint64_t begin, std::uint64_t end,
                            const ScanOptions& options) {
    WAVETAP_TRY(const ScanState fresh, state_before(source, 0, options));
    Nobody nobody;
    StreamScanner scanner(fresh, {}, nobody);
    std::optional<std::uint64_t> from, to;
    WAVETAP_TRY(const WalkEnd walked,
                walk_source(source, fresh.header.generation, first_token(fresh, !options.header),
                            ~std::uint64_t{0},
                            [&](const Token& token, std::span<const std::byte> bytes,
                                std::uint64_t origin) {
                                if (to) return;
                                scanner.take(token, bytes, origin);
                                if (token.type == TokenType::kHeader) return;
                                const std::uint64_t now = scanner.time();
                                if (!from && now >= begin && now < end) from = token.offset_bits;
                                if (from && now >= end) to = token.offset_bits;
                            }));
    if (!from)
        return Error{ErrorCode::kNotFound,
                     "no token lies between clock " + std::to_string(begin) + " and " +
                         std::to_string(end),
                     "", "the trace ends at clock " + std::to_string(scanner.time())};
    return plan_range(source, *from, to.value_or(walked.end_bits), options);
}

Result<CutPlan> plan_dispatch(BlobSource& source, std::uint64_t index, const ScanOptions& options) {
    for (ScanWindow window{0, kDispatchesAtATime};; window.first += window.most) {
        WAVETAP_TRY(const BlobScan scan, scan_blob(source, options, window));
        if (index >= scan.dispatches_total)
            return Error{ErrorCode::kNotFound,
                         "there is no dispatch " + std::to_string(index) +
                             " in this blob, which has " + std::to_string(scan.dispatches_total) +
                             " (numbered from 0)",
                         "", "`wavetap decode --scan` lists them"};
        const std::uint64_t place = index - scan.first_dispatch;
        if (place >= scan.dispatches.size()) continue;
        const DispatchExtent& extent = scan.dispatches[static_cast<std::size_t>(place)];
        return plan_range(source, extent.begin_bits, extent.end_bits, options);
    }
}

Result<void> write_plan(BlobSource& source, const CutPlan& plan, const ByteSink& sink) {
    WAVETAP_CHECK_OK(sink(plan.preamble));
    const std::uint64_t first = plan.begin_bits / 8;
    const std::uint64_t last = (plan.end_bits + 7) / 8;
    source.rewind();
    std::vector<std::byte> ends; // pieces with a half byte are copied
    for (std::uint64_t at = 0; at < last;) {
        WAVETAP_TRY(auto piece, source.next());
        if (piece.empty()) break;
        const std::uint64_t begin = std::max(at, first);
        const std::uint64_t end = std::min<std::uint64_t>(at + piece.size(), last);
        const std::uint64_t offset = begin - at;
        at += piece.size();
        if (begin >= end) continue;
        piece =
            piece.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(end - begin));
        // Half bytes at the ends belong to the neighbours: zeros are padding.
        const bool half_first = begin == first && plan.begin_bits % 8 != 0;
        const bool half_last = end == last && plan.end_bits % 8 != 0;
        if (half_first || half_last) {
            ends.assign(piece.begin(), piece.end());
            if (half_first) ends.front() &= std::byte{0xF0};
            if (half_last) ends.back() &= std::byte{0x0F};
            piece = ends;
        }
        WAVETAP_CHECK_OK(sink(piece));
    }
    const std::uint64_t used = plan.preamble.size() + last - first;
    const std::vector<std::byte> padding(static_cast<std::size_t>(plan.bytes() - used));
    return sink(padding);
}

Result<Cut> cut_range(std::span<const std::byte> bytes, std::uint64_t begin_bits,
                      std::uint64_t end_bits, const ScanOptions& options) {
    SpanSource source(bytes);
    return cut_of(source, plan_range(source, begin_bits, end_bits, options));
}

Result<Cut> cut_window(std::span<const std::byte> bytes, std::uint64_t begin, std::uint64_t end,
                       const ScanOptions& options) {
    SpanSource source(bytes);
    return cut_of(source, plan_window(source, begin, end, options));
}

Result<Cut> cut_dispatch(std::span<const std::byte> bytes, std::uint64_t index,
                         const ScanOptions& options) {
    SpanSource source(bytes);
    return cut_of(source, plan_dispatch(source, index, options));
}

} // namespace wavetap::decode
