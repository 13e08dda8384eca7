// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "sqtt/reader.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace wavetap::sqtt {

/// Gives every token but padding to `on_token(token)`, in stream order, and counts all of them.
/// The same tokens as TokenReader, faster: the generation is fixed, runs of padding are stepped
/// over at once, and the ends are checked only near the end. Bits of token.bits beyond
/// token.size_bits are not cleared.
template <Generation kGen> class FastReader {
  public:
    FastReader(const LookupTable& table, std::span<const std::byte> bytes,
               std::uint64_t start_bits) noexcept
        : table_(table), bytes_(bytes), position_(start_bits) {}

    template <class OnToken> void run(OnToken&& on_token) {
        if (bytes_.size() > kMargin) run_fast(on_token);
        TokenReader tail(kGen, bytes_, position_, after_ext_);
        for (Token token; tail.next(token);) {
            if (is_padding(token))
                ++padding_;
            else
                on_token(token);
        }
        position_ = tail.offset_bits();
        truncated_ = tail.truncated();
    }

    std::uint64_t offset_bits() const noexcept { return position_; }
    bool truncated() const noexcept { return truncated_; }
    /// gfx9: MISC tokens of sixteen zero bits; later: NOP.
    std::uint64_t padding() const noexcept { return padding_; }

  private:
    static constexpr std::size_t kMargin = 32; ///< bytes that the fast loop may look ahead
    static constexpr bool kGfx9 = kGen == Generation::kGfx9;
    static constexpr unsigned kUnit = kGfx9 ? 16 : kGen == Generation::kGfx1250 ? 8 : 4;
    static constexpr bool kExtends = kGen == Generation::kGfx12 || kGen == Generation::kGfx1250;

    static bool is_padding(const Token& token) {
        return kGfx9 ? token.type == TokenType::kMisc && token.bits.low == 0
                     : token.type == TokenType::kNop;
    }

    template <class OnToken> void run_fast(OnToken& on_token) {
        const auto* data = reinterpret_cast<const unsigned char*>(bytes_.data());
        const std::uint64_t end = (bytes_.size() - kMargin) * 8;
        std::uint64_t position = position_;
        std::uint64_t padding = 0;
        while (position < end) {
            const unsigned char* at = data + (position >> 3);
            std::uint64_t window;
            std::memcpy(&window, at, 8);
            unsigned valid = 64;
            if constexpr (kUnit == 4) {
                window >>= position & 4;
                valid = 60;
            }
            const unsigned zeros =
                std::min<unsigned>(static_cast<unsigned>(std::countr_zero(window)), valid);
            const unsigned skip = zeros / kUnit * kUnit;
            if (kGen != Generation::kGfx1250 && skip != 0) {
                padding += skip / kUnit;
                position += skip;
                if (skip > 40) continue;
                window >>= skip;
                valid -= skip;
            }
            const LookupEntry entry = table_[window & 0xFF];
            Token token;
            token.type = entry.type;
            token.size_bits = entry.bits;
            token.offset_bits = position;
            token.delta =
                (static_cast<std::uint32_t>(window >> entry.delta_shift) & entry.delta_mask) +
                entry.delta_bias;
            token.bits.low = window;
            if (entry.bits > valid) [[unlikely]]
                reload(data, position, token);
            position += entry.bits;
            if constexpr (kGen == Generation::kGfx1250) {
                if (entry.type == TokenType::kNop) {
                    ++padding;
                    continue;
                }
            }
            on_token(token);
            if constexpr (kExtends) {
                if (entry.type == TokenType::kWaveStartExt) [[unlikely]]
                    position = extensions(data, position, end, on_token);
            }
        }
        position_ = position;
        padding_ += padding;
    }

    static void reload(const unsigned char* data, std::uint64_t position, Token& token) {
        unsigned char raw[10];
        std::memcpy(raw, data + (position >> 3), 10);
        std::uint64_t low;
        std::memcpy(&low, raw, 8);
        if ((position & 4) == 0) {
            token.bits = {low, raw[8]};
        } else {
            token.bits.low = low >> 4 | std::uint64_t{raw[8]} << 60;
            token.bits.high = static_cast<std::uint8_t>(raw[8] >> 4 | raw[9] << 4);
        }
        if (token.size_bits <= 64) token.bits.high = 0;
    }

    // Bytes with bit 0 set behind a WSTART_EXT belong to it.
    template <class OnToken>
    std::uint64_t extensions(const unsigned char* data, std::uint64_t position, std::uint64_t end,
                             OnToken& on_token) {
        for (;;) {
            if (position >= end) {
                after_ext_ = true;
                return position;
            }
            std::uint16_t two;
            std::memcpy(&two, data + (position >> 3), 2);
            const unsigned byte = two >> (position & 4) & 0xFF;
            if ((byte & 1) == 0) return position;
            Token token;
            token.type = TokenType::kExtension;
            token.size_bits = 8;
            token.bits.low = byte;
            token.offset_bits = position;
            position += 8;
            on_token(token);
        }
    }

    const LookupTable& table_;
    std::span<const std::byte> bytes_;
    std::uint64_t position_;
    std::uint64_t padding_ = 0;
    bool after_ext_ = false;
    bool truncated_ = false;
};

} // namespace wavetap::sqtt
