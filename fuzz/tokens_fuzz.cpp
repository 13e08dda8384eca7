// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "fuzz/check.hpp"
#include "sqtt/fast_reader.hpp"
#include "sqtt/reader.hpp"

#include <cstdint>
#include <span>

// The first byte chooses the generation. The two readers must agree on every token, always
// advance, stay inside, and the tables must rebuild what they take apart.

namespace {

using wavetap::fuzz::check;

using namespace wavetap::sqtt;

TokenBits rebuild(const Token& token, const TokenRow& row) {
    TokenBits bits{row.pattern, 0};
    insert(bits, row.delta, token.delta - row.delta_bias);
    for (const Field& field : row.fields)
        insert(bits, field.bits, extract(token.bits, field.bits));
    return bits;
}

template <Generation kGen> void run(std::span<const std::byte> bytes) {
    TokenReader plain(kGen, bytes);
    FastReader<kGen> fast(lookup_table(kGen), bytes, 0);
    std::uint64_t padding = 0;
    const auto next = [&](Token& token) {
        const std::uint64_t before = plain.offset_bits();
        if (!plain.next(token)) return false;
        check(plain.offset_bits() > before && plain.offset_bits() <= bytes.size() * 8);
        if (const TokenRow* row = find_row(kGen, token.type))
            check(rebuild(token, *row) == token.bits);
        return true;
    };
    const auto is_padding = [](const Token& token) {
        return kGen == Generation::kGfx9 ? token.type == TokenType::kMisc && token.bits.low == 0
                                         : token.type == TokenType::kNop;
    };
    fast.run([&](const Token& token) {
        Token want;
        do {
            check(next(want));
            padding += is_padding(want) ? 1 : 0;
        } while (is_padding(want));
        check(want.type == token.type && want.offset_bits == token.offset_bits);
        check(want.delta == token.delta && want.size_bits == token.size_bits);
        const unsigned size = token.size_bits;
        check(extract(want.bits, {0, static_cast<std::uint8_t>(std::min(size, 64U) - 1)}) ==
              extract(token.bits, {0, static_cast<std::uint8_t>(std::min(size, 64U) - 1)}));
        check(size <= 64 || want.bits.high == token.bits.high);
    });
    for (Token want; next(want);) {
        check(is_padding(want));
        ++padding;
    }
    check(padding == fast.padding() && plain.offset_bits() == fast.offset_bits());
    check(plain.truncated() == fast.truncated());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::span bytes(reinterpret_cast<const std::byte*>(data + 1), size - 1);
    switch (data[0] % 5) {
    case 0:
        run<Generation::kGfx9>(bytes);
        break;
    case 1:
        run<Generation::kGfx10>(bytes);
        break;
    case 2:
        run<Generation::kGfx11>(bytes);
        break;
    case 3:
        run<Generation::kGfx12>(bytes);
        break;
    default:
        run<Generation::kGfx1250>(bytes);
        break;
    }
    return 0;
}
