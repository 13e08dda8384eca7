// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/units.hpp"

#include <gtest/gtest.h>

namespace wavetap {
namespace {

TEST(UnitsTest, ParseSize_KnownUnits) {
    EXPECT_EQ(*parse_size("4096"), 4096u);
    EXPECT_EQ(*parse_size("1KiB"), 1024u);
    EXPECT_EQ(*parse_size("64MiB"), 64 * kMiB);
    EXPECT_EQ(*parse_size("1GiB"), kGiB);
}

TEST(UnitsTest, ParseSize_Refused) {
    for (const char* text :
         {"", "0", "-1", "1kb", "MiB", "1 MiB", "1.5GiB", "99999999999GiB", "1MiBx"}) {
        const auto size = parse_size(text);
        ASSERT_FALSE(size) << text;
        EXPECT_EQ(size.error().code, ErrorCode::kInvalidArgument);
        EXPECT_NE(size.error().message.find(text), std::string::npos);
        EXPECT_FALSE(size.error().hint.empty());
    }
}

TEST(UnitsTest, ParseNumber) {
    EXPECT_EQ(*parse_number("0x1F"), 31u);
    EXPECT_EQ(*parse_number("0"), 0u);
    EXPECT_FALSE(parse_number("0x"));
    EXPECT_FALSE(parse_number("18446744073709551616"));
}

TEST(UnitsTest, Format) {
    EXPECT_EQ(format_size(64 * kMiB), "64 MiB");
    EXPECT_EQ(format_size(kMiB + 1), "1048577 B");
    EXPECT_EQ(format_size(0), "0 B");
    EXPECT_EQ(format_hex(0x1a2b), "0x1a2b");
    EXPECT_EQ(split("a,b,", ',').size(), 3u);
    EXPECT_TRUE(split("", ',').empty());
}

} // namespace
} // namespace wavetap
