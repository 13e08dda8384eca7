// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "sqtt/table.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace wavetap::sqtt {

/// What the low eight bits at a token position say.
struct LookupEntry {
    TokenType type = TokenType::kUnknown;
    std::uint8_t bits = 4; ///< length; never 0, so a reader always advances
    std::uint8_t delta_shift = 0;
    std::uint16_t delta_mask = 0;
    std::uint8_t delta_bias = 0;
    std::uint8_t unused = 0;
};
using LookupTable = std::array<LookupEntry, 256>;

template <std::size_t N>
consteval LookupTable make_lookup(const std::array<TokenRow, N>& rows, std::uint8_t unknown_bits) {
    LookupTable table{};
    for (LookupEntry& entry : table)
        entry.bits = unknown_bits;
    for (const TokenRow& row : rows) {
        for (unsigned byte = row.pattern; byte < 256; byte += 1U << row.pattern_bits) {
            table[byte].type = row.type;
            table[byte].bits = row.bits;
            table[byte].delta_shift = row.delta.width() != 0 ? row.delta.lo : std::uint8_t{0};
            table[byte].delta_mask = static_cast<std::uint16_t>((1U << row.delta.width()) - 1U);
            table[byte].delta_bias = row.delta_bias;
        }
    }
    return table;
}

const LookupTable& lookup_table(Generation generation) noexcept;

/// One token as it lies in the stream. `delta` is in the generation's units (gfx9: 4 clocks) and
/// includes the bias of TIME tokens.
struct Token {
    TokenType type = TokenType::kUnknown;
    std::uint8_t size_bits = 0;
    std::uint32_t delta = 0;
    TokenBits bits;
    std::uint64_t offset_bits = 0; ///< from the start of the span

    std::uint64_t field(BitRange range) const { return extract(bits, range); }
};

/// Walks a span token by token. Never reads past its end and always advances. A token that the end
/// of the span cuts is not delivered; truncated() says so and offset_bits() stays at its start, so
/// a streaming caller can put its bytes in front of the next chunk.
class TokenReader {
  public:
    /// `start_bits`: position of the first token (gfx9: 64, after the header).
    /// `after_ext`: the token before the start was a WSTART_EXT (or an extension of it).
    TokenReader(Generation generation, std::span<const std::byte> bytes,
                std::uint64_t start_bits = 0, bool after_ext = false) noexcept
        : table_(&lookup_table(generation)), bytes_(bytes), end_bits_(bytes.size() * 8),
          position_(start_bits), align_(generation == Generation::kGfx9      ? 16U
                                        : generation == Generation::kGfx1250 ? 8U
                                                                             : 4U),
          extends_(generation == Generation::kGfx12 || generation == Generation::kGfx1250),
          after_ext_(after_ext) {}

    /// False at the end of the span.
    bool next(Token& token) noexcept {
        if (position_ >= end_bits_ || end_bits_ - position_ < align_) {
            truncated_ = position_ < end_bits_;
            return false;
        }
        TokenBits window = load(position_);
        LookupEntry entry = (*table_)[window.low & 0xFF];
        if (after_ext_) {
            // Bytes with bit 0 set behind a WSTART_EXT belong to it.
            if ((window.low & 1) != 0)
                entry = {TokenType::kExtension, 8, 0, 0, 0, 0};
            else
                after_ext_ = false;
        }
        if (entry.bits > end_bits_ - position_) {
            truncated_ = true;
            return false;
        }
        if (entry.bits <= 64) {
            window.high = 0;
            if (entry.bits < 64) window.low &= (std::uint64_t{1} << entry.bits) - 1;
        }
        if (entry.type == TokenType::kWaveStartExt) after_ext_ = extends_;
        token.type = entry.type;
        token.size_bits = entry.bits;
        token.delta =
            (static_cast<std::uint32_t>(window.low >> entry.delta_shift) & entry.delta_mask) +
            entry.delta_bias;
        token.bits = window;
        token.offset_bits = position_;
        position_ += entry.bits;
        return true;
    }

    /// Bit position of the next token.
    std::uint64_t offset_bits() const noexcept { return position_; }
    bool truncated() const noexcept { return truncated_; }

  private:
    TokenBits load(std::uint64_t position) const noexcept {
        const std::size_t byte = static_cast<std::size_t>(position >> 3);
        unsigned char raw[16] = {};
        if (bytes_.size() - byte >= 16) [[likely]]
            std::memcpy(raw, bytes_.data() + byte, 16);
        else
            std::memcpy(raw, bytes_.data() + byte, bytes_.size() - byte);
        std::uint64_t low = 0;
        std::memcpy(&low, raw, 8);
        TokenBits window;
        if ((position & 7) == 0) {
            window.low = low;
            window.high = raw[8];
        } else {
            window.low = low >> 4 | std::uint64_t{raw[8]} << 60;
            window.high = static_cast<std::uint8_t>(raw[8] >> 4 | raw[9] << 4);
        }
        return window;
    }

    const LookupTable* table_;
    std::span<const std::byte> bytes_;
    std::uint64_t end_bits_;
    std::uint64_t position_;
    unsigned align_;
    bool extends_;
    bool after_ext_;
    bool truncated_ = false;
};

} // namespace wavetap::sqtt
