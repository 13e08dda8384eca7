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

/// A run of 1,000 GiB, more than is judged by its bytes.
store::Run run_of(std::uint32_t context, bool ended) {
    store::Run run;
    run.info.context = context;
    store::ChunkInfo chunk;
    chunk.bytes = 1000ull << 30;
    chunk.end = ended;
    run.chunks.push_back(chunk);
    run.complete = ended;
    return run;
}

TEST(SummaryTest, ARunThatWasKilledIsNotCapturedButOthersOfItsContextAre) {
    Plan plan;
    for (const std::uint32_t id : {0u, 1u, 2u}) {
        plan.contexts.emplace_back().id = id;
        plan.contexts.back().buffers = 3;
    }
    store::TraceFolder folder;
    store::ProcessTrace& process = folder.processes.emplace_back();
    process.runs = {run_of(0, true), run_of(1, false), run_of(2, true), run_of(2, false)};
    process.runs.push_back(run_of(2, true));
    process.runs.back().chunks[0].end =
        false; // the manifest names its end, but its last bytes are missing
    const auto summary = summarize(folder, plan);
    ASSERT_TRUE(summary) << to_string(summary.error());
    EXPECT_EQ(summary->captured(), 2u);
    EXPECT_EQ(summary->contexts[0].killed, 0u);
    EXPECT_EQ(summary->contexts[1].killed, 1u);
    EXPECT_FALSE(summary->contexts[1].captured());
    EXPECT_EQ(summary->contexts[2].killed, 2u);
    EXPECT_TRUE(summary->contexts[2].captured());
    const std::string text = summary_text(*summary);
    EXPECT_TRUE(has(text, "wavetap: 2/3 captured")) << text;
    EXPECT_TRUE(has(text, "  killed: the last bytes are missing\n")) << text;
    EXPECT_TRUE(has(text, "  2 of 3 runs killed: their last bytes are missing\n")) << text;
    EXPECT_TRUE(has(summary_json(*summary), "\"killed\": 2")) << summary_json(*summary);
}

TEST(SummaryTest, WhereAllWasKilledThatIsWhyNothingWasCaptured) {
    Plan plan;
    plan.contexts.emplace_back().buffers = 3;
    store::TraceFolder folder;
    folder.dir = "trace";
    store::ProcessTrace& process = folder.processes.emplace_back();
    process.dispatches.emplace_back();
    process.runs = {run_of(0, false)};
    const auto summary = summarize(folder, plan);
    ASSERT_TRUE(summary) << to_string(summary.error());
    const Error error = nothing_captured(*summary);
    EXPECT_EQ(error.message, "nothing was captured: the process ended before a run was stopped");
    EXPECT_TRUE(has(error.hint, "wavetap health trace")) << error.hint;
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

TEST(SummaryTest, ABufferThatTheHardwareHadNoFollowerForIsNoFlip) {
    constexpr std::uint64_t kBytes = std::uint64_t{32} << 20; // too much to be judged, so not read
    store::TraceFolder folder;
    store::Run run;
    for (std::uint32_t i = 0; i < 4; ++i) {
        store::ChunkInfo chunk;
        chunk.index = i;
        chunk.bytes = chunk.capacity_bytes = kBytes;
        chunk.end = chunk.gpu_full = i == 2;
        run.chunks.push_back(chunk);
    }
    store::ProcessTrace process;
    process.runs.push_back(run);
    folder.processes.push_back(process);
    Plan plan;
    plan.contexts.emplace_back().buffers = 3;
    const Result<Summary> summary = summarize(folder, plan);
    ASSERT_TRUE(summary) << to_string(summary.error());
    EXPECT_EQ(summary->contexts.at(0).flips, 3U);
    EXPECT_EQ(summary->contexts[0].gpu_full, 1U);
}

} // namespace
} // namespace wavetap::cli
