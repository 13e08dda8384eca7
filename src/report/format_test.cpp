// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "report/format.hpp"

#include <gtest/gtest.h>

namespace wavetap::report {
namespace {

TEST(FormatTest, Numbers) {
    EXPECT_EQ(with_commas(0), "0");
    EXPECT_EQ(with_commas(999), "999");
    EXPECT_EQ(with_commas(1000), "1,000");
    EXPECT_EQ(with_commas(18446744073709551615u), "18,446,744,073,709,551,615");
    EXPECT_EQ(as_percent(0.3412), "34.1%");
    EXPECT_EQ(as_percent(1), "100.0%");
    EXPECT_EQ(with_one_decimal(1234.56), "1,234.6");
    EXPECT_EQ(with_one_decimal(0.04), "0.0");
    EXPECT_EQ(counted(1, "wave"), "1 wave");
    EXPECT_EQ(counted(2000, "wave"), "2,000 waves");
}

TEST(FormatTest, CutCountsCodePoints) {
    EXPECT_EQ(cut("abcdef", 6), "abcdef");
    EXPECT_EQ(cut("abcdef", 4), "abc…");
    EXPECT_EQ(cut("ääää", 3), "ää…");
    EXPECT_EQ(cut_front("abcdef", 4), "…def");
    EXPECT_EQ(cut("abc", 0), "");
    EXPECT_EQ(base_name("/a/b/c.hip"), "c.hip");
    EXPECT_EQ(base_name("c.hip"), "c.hip");
    EXPECT_EQ(trimmed("\t  a\tb \r"), "a b");
    EXPECT_EQ(trimmed("  "), "");
}

TEST(FormatTest, WrappedLinesFitAndIndent) {
    std::string words;
    for (int i = 0; i < 40; ++i)
        words += "word" + std::to_string(i) + " ";
    const std::string text = wrapped(words, 4);
    std::size_t start = 0;
    int lines = 0;
    while (start < text.size()) {
        const std::size_t end = text.find('\n', start);
        EXPECT_LE(end - start, kTextColumns);
        EXPECT_EQ(text.compare(start, 4, "    ") == 0, lines != 0);
        start = end + 1;
        ++lines;
    }
    EXPECT_GT(lines, 2);
}

TEST(FormatTest, TableAlignsAndNeverPassesTheMargin) {
    Table table({{"n"}, {"name", Table::Align::kLeft, 5}, {"rest", Table::Align::kLeft}});
    EXPECT_TRUE(table.empty());
    table.row({"1", "abcdefgh", std::string(200, 'x')});
    table.row({"1,000", "b", "y"});
    const std::string text = table.text();
    EXPECT_EQ(text.substr(0, text.find('\n')), "    n  name   rest");
    EXPECT_NE(text.find("    1  abcd…  xxx"), std::string::npos) << text;
    EXPECT_NE(text.find("1,000  b      y\n"), std::string::npos) << text;
    const std::string row = text.substr(text.find('\n') + 1);
    EXPECT_EQ(row.find('\n'), kTextColumns + 4)
        << "100 columns; two marks take two bytes more each";
}

TEST(FormatTest, FlexibleColumnGivesWayToTheOnesBehindIt) {
    Table table({{"n"}, {"text", Table::Align::kLeft, 0, true}, {"place", Table::Align::kLeft}});
    table.row({"1", std::string(200, 't'), "file.hip:10"});
    const std::string text = table.text();
    EXPECT_NE(text.find("t…  file.hip:10\n"), std::string::npos) << text;
}

} // namespace
} // namespace wavetap::report
