// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/summary.hpp"

#include <gtest/gtest.h>

namespace wavetap::cli {
namespace {

Summary summary_of(std::uint32_t contexts) {
    Summary summary;
    summary.dir = "trace";
    summary.chip = "gfx90a";
    summary.timing = "modelled";
    summary.agents_json = R"([{"agent":0,"contexts":1},{"agent":1,"contexts":2}])";
    summary.driver_json = "null";
    for (std::uint32_t i = 0; i < contexts; ++i) {
        ContextSummary context;
        context.planned.id = i;
        context.runs = 1;
        context.bytes = 100;
        context.waves = context.waves_on_target = 1;
        summary.contexts.push_back(context);
    }
    return summary;
}

bool has(const std::string& text, const char* words) {
    return text.find(words) != std::string::npos;
}

TEST(SummaryTest, FewContextsAreAllListed) {
    const std::string text = summary_text(summary_of(16));
    EXPECT_TRUE(has(text, "context  engines")) << text;
    EXPECT_TRUE(has(text, "\n       15 ")) << text;
    EXPECT_FALSE(has(text, "wavetap health")) << text;
    EXPECT_TRUE(has(text, "agent 0: 1 context ")) << text;
    EXPECT_TRUE(has(text, "agent 1: 2 contexts ")) << text;
}

TEST(SummaryTest, OfManyOnlyThoseWithATroubleAreListed) {
    Summary summary = summary_of(40);
    summary.contexts[7].bytes = 0;
    const std::string text = summary_text(summary);
    EXPECT_TRUE(has(text, "context  engines")) << text;
    EXPECT_TRUE(has(text, "no bytes")) << text;
    EXPECT_TRUE(has(text, "39 more: wavetap health trace")) << text;
}

TEST(SummaryTest, ManyWithoutTroubleGiveNoEmptyTable) {
    const std::string text = summary_text(summary_of(17));
    EXPECT_FALSE(has(text, "engines")) << text;
    EXPECT_TRUE(has(text, "nothing to note on any of 17 contexts: wavetap health trace")) << text;
}

} // namespace
} // namespace wavetap::cli
