// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "store/manifest.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace wavetap::store {
namespace {

constexpr const char* kAgent =
    R"({"type":"agent","index":0,"name":"gfx90a","shader_engines":8,"cus_per_engine":14,)"
    R"("simds_per_cu":4,"timing":"modelled"})";
constexpr const char* kContext =
    R"({"type":"context","id":0,"agent":0,"se_mask":1,"cu":1,"simd_mask":15,"buffer_bytes":4096,)"
    R"("buffers":1,"detail":true,"mode":"device"})";
constexpr const char* kRun = R"({"type":"run_begin","run":0,"context":0,"first_dispatch":0,)"
                             R"("last_dispatch":0,"start_counter":0,"end_counter":0})";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

class ManifestTest : public ::testing::Test {
  protected:
    void SetUp() override { accept(folder_line(7)); }
    void accept(const std::string& line) {
        const Result<void> result = apply_line(line, ++number_, trace_);
        ASSERT_TRUE(result) << line << ": " << result.error().message;
    }
    /// The words of the refusal; fails the test if `line` is taken.
    std::string refuse(const std::string& line) {
        const Result<void> result = apply_line(line, number_ + 1, trace_);
        EXPECT_FALSE(result) << line;
        if (result) return "";
        EXPECT_EQ(result.error().code, ErrorCode::kCorrupt) << line;
        return result.error().message;
    }
    void set_up_run() {
        accept(kAgent);
        accept(kContext);
        accept(kRun);
    }

    ProcessTrace trace_;
    std::uint64_t number_ = 0;
};

TEST_F(ManifestTest, NotJson_Refused) {
    for (const char* line : {"", "{", "[]", "3", "null", "{}{}", "{\"type\":\"finish\"", "\xff\xfe",
                             "{\"type\":\"\xff\"}"})
        EXPECT_EQ(refuse(line), "not a JSON object") << line;
}

TEST_F(ManifestTest, UnknownType_Refused) {
    EXPECT_EQ(refuse(R"({"type":"wave"})"), "unknown type 'wave'");
    EXPECT_EQ(refuse(R"({"id":1})"), "field 'type' is missing");
    EXPECT_EQ(refuse(R"({"type":3})"), "field 'type' is not a string");
    EXPECT_EQ(refuse(folder_line(7)), "a second line of type 'folder'");
}

TEST_F(ManifestTest, DeepNesting_Refused) {
    const std::string deep(100000, '[');
    EXPECT_EQ(refuse(R"({"type":"statistics","statistics":)" + deep), "nested too deeply");
    EXPECT_FALSE(statistics_line(deep));
}

TEST_F(ManifestTest, BracketsInAString_AreNotNesting) {
    accept(note_line("info", std::string(1000, '[') + "\"\\" + std::string(1000, '{')));
    EXPECT_EQ(trace_.notes.at(0).second.size(), 2002u);
}

TEST_F(ManifestTest, BadNumbers_Refused) {
    for (const char* value : {"-1", "1.5", "\"1\"", "null", "true", "[]", "1e30"})
        EXPECT_EQ(refuse(replaced(kAgent, "\"index\":0", "\"index\":" + std::string(value))),
                  "field 'index' is not a whole number from 0")
            << value;
    EXPECT_EQ(refuse(replaced(kAgent, "\"index\":0", "\"index\":4294967296")),
              "field 'index' is 4294967296, over the limit 4294967295");
    EXPECT_EQ(refuse(replaced(kAgent, "\"shader_engines\":8", "\"shader_engines\":4000000000")),
              "field 'shader_engines' is 4000000000, over the limit 4096");
    EXPECT_EQ(refuse(replaced(kAgent, "\"shader_engines\":8,", "")),
              "field 'shader_engines' is missing");
}

TEST_F(ManifestTest, BadWords_Refused) {
    EXPECT_EQ(refuse(replaced(kAgent, "modelled", "guessed")),
              "field 'timing' is 'guessed', not one of: modelled, hardware");
    accept(kAgent);
    EXPECT_EQ(refuse(replaced(kContext, "\"detail\":true", "\"detail\":1")),
              "field 'detail' is not true or false");
    EXPECT_EQ(refuse(replaced(kContext, "\"detail\":", "\"serialize_all\":3,\"detail\":")),
              "field 'serialize_all' is not true or false");
    EXPECT_EQ(refuse(replaced(kContext, "\"device\"", "\"both\"")),
              "field 'mode' is 'both', not one of: device, dispatch");
}

TEST_F(ManifestTest, BrokenReferences_Refused) {
    EXPECT_EQ(refuse(kContext), "context 0 names agent 0, which no line before it describes");
    EXPECT_EQ(refuse(kRun), "run 0 names context 0, which no line before it describes");
    set_up_run();
    EXPECT_EQ(refuse(kAgent), "agent 0 appears twice");
    EXPECT_EQ(refuse(kContext), "context 0 appears twice");
    EXPECT_EQ(refuse(kRun), "run 0 begins twice");
    EXPECT_EQ(refuse(R"({"type":"code_object_unloaded","id":9})"),
              "code object 9 was unloaded but never loaded");
    ChunkInfo chunk;
    chunk.run = 4;
    chunk.file = "x";
    EXPECT_EQ(refuse(chunk_line(chunk)), "a chunk of run 4 before that run begins");
    RunInfo run;
    run.id = 1;
    EXPECT_EQ(refuse(run_end_line(run)), "run 1 ends before it begins");
    run.id = 0;
    run.context = 2;
    EXPECT_EQ(refuse(run_end_line(run)), "run 0 ends in another context");
    run.context = 0;
    accept(run_end_line(run));
    EXPECT_EQ(refuse(run_end_line(run)), "run 0 ends twice");
}

TEST_F(ManifestTest, PathsThatLeaveTheFolder_Refused) {
    set_up_run();
    for (const char* file :
         {"", "/etc/passwd", "..", "../x", "a/../../x", "a/..", "./x", "a//b", "a/", "a\nb"}) {
        ChunkInfo chunk;
        chunk.file = file;
        EXPECT_NE(refuse(chunk_line(chunk)).find("does not stay below the process folder"),
                  std::string::npos)
            << file;
        if (*file == '\0') continue; // a code object may have no file
        CodeObjectInfo object;
        object.file = file;
        EXPECT_NE(refuse(code_object_line(object)).find("does not stay below the process folder"),
                  std::string::npos)
            << file;
    }
    ChunkInfo chunk;
    chunk.file = "runs/0/se0..att";
    accept(chunk_line(chunk));
}

TEST_F(ManifestTest, InvalidUtf8_IsReplacedWhenWritten) {
    accept(dispatch_line({1, 0, "k\xff\"\\\n", 7}));
    EXPECT_EQ(trace_.dispatches.at(0).kernel, "k\xEF\xBF\xBD\"\\\n");
}

TEST(ManifestDocumentTest, ExampleOfTheFormatPage_IsRead) {
    std::ifstream page(WAVETAP_FORMAT_PAGE);
    ASSERT_TRUE(page) << WAVETAP_FORMAT_PAGE;
    ProcessTrace trace;
    std::uint64_t number = 0;
    bool inside = false;
    for (std::string line; std::getline(page, line);) {
        if (line.starts_with("```")) {
            inside = line == "```jsonl";
        } else if (inside) {
            const Result<void> result = apply_line(line, ++number, trace);
            ASSERT_TRUE(result) << line << ": " << result.error().message;
        }
    }
    EXPECT_EQ(number, 10u);
    EXPECT_TRUE(trace.complete);
    EXPECT_EQ(trace.runs.at(0).chunks.at(0).bytes, 48168u);
}

TEST(ManifestFirstLineTest, OtherTypeOrVersion_Refused) {
    ProcessTrace trace;
    EXPECT_EQ(apply_line(finish_line(), 1, trace).error().message,
              "the first line is not of type 'folder'");
    const Result<void> newer =
        apply_line(replaced(folder_line(7), "\"version\":1", "\"version\":2"), 1, trace);
    ASSERT_FALSE(newer);
    EXPECT_EQ(newer.error().code, ErrorCode::kUnsupported);
    EXPECT_EQ(newer.error().message, "trace folder version 2, this program reads 1");
}

TEST_F(ManifestTest, EveryCutOfEveryLine_IsRefusedOrHarmless) {
    set_up_run();
    ChunkInfo chunk;
    chunk.file = "runs/0/se0.att";
    for (const std::string& line :
         {std::string(kAgent), std::string(kContext), std::string(kRun), chunk_line(chunk),
          code_object_line({}), dispatch_line({1, 0, "k", 0}), note_line("info", "x"),
          finish_line()}) {
        for (std::size_t bytes = 0; bytes < line.size(); ++bytes)
            EXPECT_EQ(refuse(line.substr(0, bytes)), "not a JSON object");
    }
}

} // namespace
} // namespace wavetap::store
