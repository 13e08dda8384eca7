// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "sqtt/rdna_writer.hpp"
#include "sqtt/reader.hpp"
#include "sqtt/test_data.hpp"

#include <gtest/gtest.h>

namespace wavetap::sqtt {
namespace {

// Takes each token apart by its row and puts the fields together again.
TokenBits rebuild(const Token& token, const TokenRow& row) {
    TokenBits bits{row.pattern, 0};
    insert(bits, row.delta, token.delta - row.delta_bias);
    for (const Field& field : row.fields)
        insert(bits, field.bits, extract(token.bits, field.bits));
    return bits;
}

struct Arch {
    const char* folder;
    Generation generation;
};
class RealTraces : public testing::TestWithParam<Arch> {};

TEST_P(RealTraces, AreRebuiltByteForByte) {
    const auto files = test::trace_files(GetParam().folder, ".att");
    WAVETAP_NEED_DATA(files);
    for (const auto& path : files) {
        auto bytes = test::read_bytes(path);
        TokenReader reader(GetParam().generation, bytes);
        TokenPacker out;
        for (Token token; reader.next(token);) {
            ASSERT_NE(token.type, TokenType::kUnknown) << path << " bit " << token.offset_bits;
            const TokenRow* row = find_row(GetParam().generation, token.type);
            ASSERT_NE(row, nullptr) << path;
            const TokenBits bits = rebuild(token, *row);
            ASSERT_EQ(bits, token.bits) << path << " bit " << token.offset_bits;
            out.put(bits, token.size_bits);
        }
        bytes.resize((reader.offset_bits() + 7) / 8); // a cut token at the end is not rebuilt
        if (reader.offset_bits() % 8 != 0) bytes.back() &= std::byte{0xF};
        EXPECT_EQ(out.bytes(), bytes) << path;
    }
}

INSTANTIATE_TEST_SUITE_P(Silicon, RealTraces,
                         testing::Values(Arch{"gfx1100", Generation::kGfx11},
                                         Arch{"gfx1200", Generation::kGfx12}),
                         [](const auto& param) { return std::string(param.param.folder); });

TEST(RdnaTable, ReadsSeventyTwoBitTokensAtOddNibbles) {
    const TokenRow* row = find_row(Generation::kGfx12, TokenType::kNewPc);
    ASSERT_NE(row, nullptr);
    TokenBits bits{row->pattern, 0};
    insert(bits, row->find(FieldId::kSlot).bits, 19);
    insert(bits, row->find(FieldId::kPc).bits, 0x5A123456789ABCULL);
    insert(bits, row->find(FieldId::kError).bits, 1);
    TokenPacker out;
    out.put({0, 0}, 4);
    out.put(bits, row->bits);
    const auto bytes = out.bytes();
    TokenReader reader(Generation::kGfx12, bytes);
    Token token;
    ASSERT_TRUE(reader.next(token));
    EXPECT_EQ(token.type, TokenType::kNop);
    ASSERT_TRUE(reader.next(token));
    EXPECT_EQ(token.type, TokenType::kNewPc);
    EXPECT_EQ(token.field(row->find(FieldId::kPc).bits), 0x5A123456789ABCULL);
    EXPECT_EQ(token.field(row->find(FieldId::kSlot).bits), 19U);
    EXPECT_EQ(token.field(row->find(FieldId::kError).bits), 1U);
    ASSERT_TRUE(reader.next(token)); // fills the last byte
    EXPECT_EQ(token.type, TokenType::kNop);
    EXPECT_FALSE(reader.next(token));
    EXPECT_FALSE(reader.truncated());
}

} // namespace
} // namespace wavetap::sqtt
