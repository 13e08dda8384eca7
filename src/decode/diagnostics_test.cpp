// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/diagnostics.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace wavetap::decode {
namespace {

// Every fault has a whole row: a word of its own, a known severity, and sentences.
TEST(DiagnosticsTable, IsCompleteForEveryFault) {
    std::set<std::string> kinds, sentences;
    for (std::size_t i = 0; i < kFaultCount; ++i) {
        const Diagnostic row = describe(static_cast<Fault>(i));
        const std::string kind = row.kind;
        SCOPED_TRACE(kind);
        EXPECT_FALSE(kind.empty());
        EXPECT_EQ(kind.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"), std::string::npos);
        EXPECT_TRUE(kinds.insert(kind).second) << "two faults have one word";
        EXPECT_TRUE(std::set<std::string>({"info", "data-loss", "error"}).contains(row.severity));
        for (const std::string text : {row.sentence, row.advice}) {
            EXPECT_GT(text.size(), 10U);
            EXPECT_TRUE(text.ends_with('.')) << text;
            EXPECT_TRUE(std::isupper(static_cast<unsigned char>(text[0])) != 0) << text;
        }
        EXPECT_TRUE(sentences.insert(row.sentence).second);
        EXPECT_EQ(row.text(), std::string(row.sentence) + " " + row.advice);
    }
}

// Each fault counts for itself and keeps the place that is first in the stream, whatever the order
// in which places are found.
TEST(Diagnostics, CountEveryFaultAndKeepTheFirstPlace) {
    for (std::size_t i = 0; i < kFaultCount; ++i) {
        const auto fault = static_cast<Fault>(i);
        Diagnostics diagnostics;
        EXPECT_TRUE(diagnostics.list().empty());
        Diagnostics part;
        part.add(fault, 100 + i, 1000 + i);
        part.add(fault, 100 + i, 1001 + i);
        part.add(fault, 500, 5000, 30);
        diagnostics.add(fault, 700, 7, 10);
        diagnostics.merge(part);
        const auto list = diagnostics.list();
        ASSERT_EQ(list.size(), 1U);
        EXPECT_STREQ(list[0].kind, describe(fault).kind);
        EXPECT_EQ(list[0].count, 42U);
        EXPECT_EQ(diagnostics.count(fault), 42U);
        EXPECT_EQ(list[0].first_offset_bytes, 100 + i);
        EXPECT_EQ(list[0].first_time, 1000 + i);
    }
}

} // namespace
} // namespace wavetap::decode
