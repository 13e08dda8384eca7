// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "sqtt/header.hpp"
#include "sqtt/reader.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace wavetap::decode {

/// A trace of any length for tests and benchmarks: the preamble of a real one, then its kernel
/// part, first wave start to last wave end, again and again, times going on. EXEC tokens are left
/// out.
class LongTrace {
  public:
    using Bytes = std::vector<std::byte>;

    /// `only_target`: leave out the starts and ends of waves that are not on the target, so that
    /// instructions make up most of the trace. gfx10 and later.
    LongTrace(sqtt::Generation generation, std::span<const std::byte> real,
              bool only_target = false)
        : generation_(generation), only_target_(only_target) {
        sqtt::TokenReader reader(generation, real, generation == sqtt::Generation::kGfx9 ? 64 : 0);
        for (sqtt::Token token; reader.next(token);)
            tokens_.push_back(token);
        for (std::size_t i = 0; i < tokens_.size(); ++i) {
            if (tokens_[i].type == sqtt::TokenType::kWaveStart && first_ == kNone) first_ = i;
            if (tokens_[i].type == sqtt::TokenType::kWaveEnd) last_ = i;
        }
        if (first_ == kNone || last_ < first_) return;
        if (std::uint64_t raw = 0; real.size() >= 8) {
            std::memcpy(&raw, real.data(), 8);
            if (const auto header = sqtt::parse_header(raw)) header_ = *header;
        }
        if (generation == sqtt::Generation::kGfx9)
            cut_gfx9(real);
        else
            cut_rdna(real);
        tokens_ = {};
    }

    bool empty() const { return body_.empty(); }
    /// Comes once, first.
    const Bytes& preamble() const { return preamble_; }
    /// How many kernel parts one body holds.
    std::uint64_t copies_in_body() const { return generation_ == sqtt::Generation::kGfx9 ? 1 : 2; }
    /// The `number`th body, counted from 0, put behind `out`.
    void append(std::uint64_t number, Bytes& out) const {
        const std::size_t start = out.size();
        out.insert(out.end(), body_.begin(), body_.end());
        for (const auto& [offset, value] : stamps_) {
            const std::uint64_t moved = (value + number * stamp_step_) << 16 | 1U;
            std::memcpy(out.data() + start + offset, &moved, 8);
        }
    }
    /// All in one, at least `bytes` long.
    Bytes make(std::size_t bytes) const {
        Bytes out = preamble_;
        out.reserve(bytes + body_.size());
        for (std::uint64_t number = 0; out.size() < bytes; ++number)
            append(number, out);
        return out;
    }
    std::size_t body_bytes() const { return body_.size(); }

  private:
    static constexpr std::size_t kNone = ~std::size_t{0};

    bool wanted(const sqtt::Token& token, bool body) const {
        using sqtt::TokenType;
        if (token.type == TokenType::kAluExec || token.type == TokenType::kVmemExec) return false;
        if (!body || !only_target_) return true;
        if (token.type != TokenType::kWaveStart && token.type != TokenType::kWaveEnd) return true;
        const sqtt::TokenRow* row = sqtt::find_row(generation_, token.type);
        const auto field = [&](sqtt::FieldId id) { return token.field(row->find(id).bits); };
        return field(sqtt::FieldId::kSa) == header_.target_sa &&
               field(sqtt::FieldId::kCu) == header_.target_cu &&
               (header_.simd_mask >> field(sqtt::FieldId::kSimd) & 1) != 0;
    }
    void copy(std::span<const std::byte> real, std::size_t first, std::size_t last, bool body,
              Bytes& out, std::uint64_t& used) const {
        for (std::size_t i = first; i < last; ++i) {
            const sqtt::Token& token = tokens_[i];
            if (!wanted(token, body)) continue;
            for (std::uint64_t n = token.offset_bits / 4;
                 n < (token.offset_bits + token.size_bits) / 4; ++n, ++used) {
                if (used % 2 == 0) out.push_back(std::byte{0});
                const auto nibble = std::to_integer<unsigned>(real[n / 2] >> (n % 2 * 4)) & 0xFU;
                out.back() |= static_cast<std::byte>(nibble << (used % 2 * 4));
            }
        }
    }
    void cut_rdna(std::span<const std::byte> real) {
        std::uint64_t used = 0;
        copy(real, 0, first_, false, preamble_, used);
        // Two copies together end on a byte.
        used = 0;
        copy(real, first_, last_ + 1, true, body_, used);
        copy(real, first_, last_ + 1, true, body_, used);
    }
    void cut_gfx9(std::span<const std::byte> real) {
        const auto at = [&](std::size_t i) { return tokens_[i].offset_bits / 8; };
        const std::size_t begin = at(first_), end = at(last_) + 2;
        std::uint64_t low = ~std::uint64_t{0}, high = 0;
        for (std::size_t i = first_; i <= last_; ++i) {
            if (tokens_[i].type != sqtt::TokenType::kTimestamp) continue;
            const std::uint64_t value = tokens_[i].bits.low >> 16;
            stamps_.emplace_back(at(i) - begin, value);
            low = std::min(low, value);
            high = std::max(high, value);
        }
        stamp_step_ = high > low ? high - low + 4096 : 4096;
        preamble_.assign(real.begin(), real.begin() + static_cast<std::ptrdiff_t>(begin));
        body_.assign(real.begin() + static_cast<std::ptrdiff_t>(begin),
                     real.begin() + static_cast<std::ptrdiff_t>(end));
    }

    sqtt::Generation generation_;
    bool only_target_;
    sqtt::Header header_;
    std::vector<sqtt::Token> tokens_;
    std::size_t first_ = kNone, last_ = 0; ///< first wave start, last wave end
    Bytes preamble_, body_;
    std::vector<std::pair<std::size_t, std::uint64_t>> stamps_; ///< offset in the body, value
    std::uint64_t stamp_step_ = 0;
};

} // namespace wavetap::decode
