// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "sqtt/token.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace wavetap::sqtt {

/// Where a fact about a layout comes from.
enum class Evidence : std::uint8_t {
    kSilicon, ///< seen and checked on traces of real hardware
    kDecoder, ///< AMD's open decoder reads it so
    kSource,  ///< only read in public sources or headers
};
const char* evidence_name(Evidence evidence) noexcept;

/// Bits [lo, hi] of a token, bit 0 = lowest bit of its first byte.
struct BitRange {
    std::uint8_t lo = 1;
    std::uint8_t hi = 0; ///< hi < lo: there is none
    constexpr unsigned width() const { return hi < lo ? 0U : static_cast<unsigned>(hi - lo + 1); }
};

struct Field {
    FieldId id = FieldId::kNone;
    BitRange bits;
};

inline constexpr std::size_t kMaxFields = 14;

struct TokenRow {
    TokenType type = TokenType::kUnknown;
    const char* name = "";
    std::uint8_t pattern = 0; ///< value of the low `pattern_bits` bits
    std::uint8_t pattern_bits = 0;
    std::uint8_t bits = 0; ///< length of the token
    BitRange delta;        ///< clocks since the token before (gfx9: units of four clocks)
    std::uint8_t delta_bias = 0;
    Evidence evidence = Evidence::kSource;
    std::array<Field, kMaxFields> fields{};

    constexpr Field find(FieldId id) const {
        for (const Field& field : fields) {
            if (field.id == id) return field;
        }
        return {};
    }
};

/// Low 64 bits and the rest of a token (72 bits at most).
struct TokenBits {
    std::uint64_t low = 0;
    std::uint8_t high = 0;
    friend constexpr bool operator==(const TokenBits&, const TokenBits&) = default;
};

/// 0 for an absent range.
constexpr std::uint64_t extract(const TokenBits& token, BitRange range) {
    const unsigned width = range.width();
    if (width == 0) return 0;
    std::uint64_t value = 0;
    if (range.lo < 64) value = token.low >> range.lo;
    if (range.hi >= 64) {
        value |= range.lo < 64 ? (range.lo == 0 ? 0 : std::uint64_t{token.high} << (64 - range.lo))
                               : std::uint64_t{token.high} >> (range.lo - 64);
    }
    return width >= 64 ? value : value & ((std::uint64_t{1} << width) - 1);
}

/// Puts the low bits of `value` into the range; the range's bits must be clear.
constexpr void insert(TokenBits& token, BitRange range, std::uint64_t value) {
    const unsigned width = range.width();
    if (width == 0) return;
    if (width < 64) value &= (std::uint64_t{1} << width) - 1;
    if (range.lo < 64) token.low |= value << range.lo;
    if (range.hi >= 64) {
        const std::uint64_t rest =
            range.lo < 64 ? value >> (64 - range.lo) : value << (range.lo - 64);
        token.high = static_cast<std::uint8_t>(token.high | rest);
    }
}

/// True if id bits, delta and fields cover every bit of the token exactly once.
consteval bool is_partition(const TokenRow& row) {
    std::array<unsigned, 80> uses{};
    const auto add = [&uses](BitRange range) {
        for (unsigned bit = range.lo; range.width() != 0 && bit <= range.hi; ++bit)
            ++uses[bit];
    };
    if (row.pattern_bits == 0 || row.pattern_bits > 8 || row.bits > 72) return false;
    add({0, static_cast<std::uint8_t>(row.pattern_bits - 1)});
    add(row.delta);
    for (const Field& field : row.fields) {
        if (field.id != FieldId::kNone) add(field.bits);
    }
    for (unsigned bit = 0; bit < uses.size(); ++bit) {
        if (uses[bit] != (bit < row.bits ? 1U : 0U)) return false;
    }
    return true;
}

/// True if every row is a partition, no two rows can match the same byte, and no type or field of
/// a row occurs twice.
template <std::size_t N> consteval bool is_sound(const std::array<TokenRow, N>& rows) {
    std::array<bool, 256> taken{};
    std::array<bool, kTokenTypeCount> seen{};
    for (const TokenRow& row : rows) {
        if (!is_partition(row)) return false;
        if (seen[static_cast<std::size_t>(row.type)]) return false;
        seen[static_cast<std::size_t>(row.type)] = true;
        for (unsigned byte = 0; byte < 256; ++byte) {
            if ((byte & ((1U << row.pattern_bits) - 1)) != row.pattern) continue;
            if (taken[byte]) return false;
            taken[byte] = true;
        }
        for (std::size_t i = 0; i < kMaxFields; ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                if (row.fields[i].id == row.fields[j].id && row.fields[i].id != FieldId::kNone &&
                    row.fields[i].id != FieldId::kReserved)
                    return false;
            }
        }
    }
    return true;
}

/// The row of `type`; does not compile if there is none.
template <std::size_t N>
consteval const TokenRow& row_of(const std::array<TokenRow, N>& rows, TokenType type) {
    for (const TokenRow& row : rows) {
        if (row.type == type) return row;
    }
    throw "no such token in this generation";
}

/// The bits of a field; does not compile if the token has no such field.
template <std::size_t N>
consteval BitRange bits_of(const std::array<TokenRow, N>& rows, TokenType type, FieldId id) {
    const Field field = row_of(rows, type).find(id);
    if (field.id == FieldId::kNone) throw "no such field in this token";
    return field.bits;
}

/// The rows of a generation.
std::span<const TokenRow> token_rows(Generation generation) noexcept;
/// Null if the generation has no such token.
const TokenRow* find_row(Generation generation, TokenType type) noexcept;

} // namespace wavetap::sqtt
