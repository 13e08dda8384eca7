// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/cut.hpp"

#include "decode/engine.hpp"
#include "decode/walk.hpp"
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

/// The counter of issue phases at the end of `prefix`, which a decode of all waves knows.
Result<unsigned> issue_phase(std::span<const std::byte> prefix, const ScanOptions& options) {
    CodeMap code(nullptr, {});
    Diagnostics diagnostics;
    Nobody nobody;
    StreamOptions stream;
    stream.header = options.header;
    stream.want_instructions = false;
    WAVETAP_TRY(const BlobTotals totals, decode_stream(prefix, stream, code, nobody, diagnostics));
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
Result<void> widen(std::span<const std::byte> bytes, const ScanOptions& options,
                   std::uint64_t& begin_bits, std::uint64_t& end_bits) {
    WAVETAP_TRY(const ScanState fresh, state_before(bytes, 0, options));
    if (fresh.header.generation != Generation::kGfx9) return {};
    Nobody nobody;
    StreamScanner scanner(fresh, {}, nobody);
    const std::uint64_t first = options.header ? 0 : 64;
    const std::uint64_t begin = begin_bits;
    const std::uint64_t end = end_bits;
    walk(Generation::kGfx9, bytes.first(static_cast<std::size_t>((end + 7) / 8)), first,
         [&](const Token& token) {
             scanner.take(token, bytes);
             if (!scanner.last_reset() || scanner.last_reset()->token_bits != token.offset_bits)
                 return;
             const std::uint64_t stamp = scanner.last_reset()->timestamp_bits;
             if (token.offset_bits < begin && stamp >= begin) begin_bits = token.offset_bits;
             if (token.offset_bits < end && stamp >= end) end_bits = stamp + 64;
         });
    return {};
}

} // namespace

Result<Cut> cut_range(std::span<const std::byte> bytes, std::uint64_t begin_bits,
                      std::uint64_t end_bits, const ScanOptions& options) {
    if (begin_bits >= end_bits || end_bits > bytes.size() * 8)
        return bad_range("there is nothing between bit " + std::to_string(begin_bits) +
                         " and bit " + std::to_string(end_bits) + " of " +
                         std::to_string(bytes.size()) + " bytes");
    WAVETAP_CHECK_OK(widen(bytes, options, begin_bits, end_bits));
    Cut cut;
    cut.begin_bits = begin_bits;
    cut.end_bits = end_bits;
    WAVETAP_TRY(ScanState state, state_before(bytes, begin_bits, options));
    if (state.header.generation == Generation::kGfx9) {
        const auto prefix = bytes.first(static_cast<std::size_t>(begin_bits / 8));
        if (prefix.size() >= 8) {
            WAVETAP_TRY(const unsigned phase, issue_phase(prefix, options));
            state.header.raw = sqtt::with_issue_phase(state.header.raw, phase);
        }
    }
    cut.begin_time = state.time;
    cut.bytes = preamble(state);
    cut.slice_offset = cut.bytes.size();
    const auto first = static_cast<std::ptrdiff_t>(begin_bits / 8);
    const auto last = static_cast<std::ptrdiff_t>((end_bits + 7) / 8);
    cut.bytes.insert(cut.bytes.end(), bytes.begin() + first, bytes.begin() + last);
    // Half bytes at the ends belong to the neighbours: zeros are padding.
    if (begin_bits % 8 != 0) cut.bytes[cut.slice_offset] &= std::byte{0xF0};
    if (end_bits % 8 != 0) cut.bytes.back() &= std::byte{0x0F};
    if (state.header.generation != Generation::kGfx9)
        cut.bytes.resize((cut.bytes.size() + 31) / 32 * 32);
    return cut;
}

Result<Cut> cut_window(std::span<const std::byte> bytes, std::uint64_t begin, std::uint64_t end,
                       const ScanOptions& options) {
    WAVETAP_TRY(const ScanState fresh, state_before(bytes, 0, options));
    Nobody nobody;
    StreamScanner scanner(fresh, {}, nobody);
    const bool skips_header = fresh.header.generation == Generation::kGfx9 && !options.header;
    std::optional<std::uint64_t> from, to;
    const WalkEnd walked =
        walk(fresh.header.generation, bytes, skips_header ? 64 : 0, [&](const Token& token) {
            if (to) return;
            scanner.take(token, bytes);
            if (token.type == TokenType::kHeader) return;
            if (!from && scanner.time() >= begin && scanner.time() < end) from = token.offset_bits;
            if (from && scanner.time() >= end) to = token.offset_bits;
        });
    if (!from)
        return Error{ErrorCode::kNotFound,
                     "no token lies between clock " + std::to_string(begin) + " and " +
                         std::to_string(end),
                     "", "the trace ends at clock " + std::to_string(scanner.time())};
    return cut_range(bytes, *from, to.value_or(walked.end_bits), options);
}

Result<Cut> cut_dispatch(std::span<const std::byte> bytes, std::uint64_t index,
                         const ScanOptions& options) {
    WAVETAP_TRY(const BlobScan scan, scan_blob(bytes, options));
    if (index >= scan.dispatches.size())
        return Error{ErrorCode::kNotFound,
                     "there is no dispatch " + std::to_string(index) + " in this blob, which has " +
                         std::to_string(scan.dispatches.size()) + " (numbered from 0)",
                     "", "`wavetap decode --scan` lists them"};
    const DispatchExtent& extent = scan.dispatches[static_cast<std::size_t>(index)];
    return cut_range(bytes, extent.begin_bits, extent.end_bits, options);
}

} // namespace wavetap::decode
