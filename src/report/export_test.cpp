// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "report/blob_for_test.hpp"
#include "report/hot_spots.hpp"
#include "report/perfetto.hpp"
#include "report/stats_csv.hpp"
#include "sqtt/test_data.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <map>
#include <sstream>

namespace wavetap::report {
namespace {

using ::testing::HasSubstr;

TEST(StatsCsvTest, ColumnsLabelsAndOrder) {
    TestTrace trace;
    CodeTable code;
    code.add(trace.process());
    std::uint64_t saxpy = 0;
    for (const code::Symbol& symbol : code.object(0).functions())
        if (symbol.name == "saxpy") saxpy = symbol.address;
    Blob blob = trace.blob();
    decode::WaveRecord wave = wave_at(pc_at(saxpy), 100, 200);
    using decode::Category;
    // The second line of the program costs more, and still comes second.
    wave.instructions = {{Category::kSalu, 104, 8, 4, pc_at(saxpy)},
                         {Category::kSalu, 112, 40, 36, pc_at(saxpy + 4)}};
    blob.records.waves = {wave};
    HotSpotBuilder builder(code);
    builder.add_folder(trace.folder);
    builder.add(blob);
    std::istringstream csv(to_stats_csv(builder.finish(), code));
    std::string line;
    ASSERT_TRUE(std::getline(csv, line));
    EXPECT_EQ(line, "CodeObj,Vaddr,Instruction,Hitcount,Latency,Stall,Idle,Source");
    ASSERT_TRUE(std::getline(csv, line));
    const std::string address = std::to_string(saxpy);
    EXPECT_EQ(line, "1," + address + ",\"; saxpy\",0,0,0,0,\"saxpy\"");
    ASSERT_TRUE(std::getline(csv, line));
    EXPECT_THAT(line, ::testing::StartsWith("1," + address + ",\"s_add_u32 flat_scratch_lo"));
    EXPECT_THAT(line, HasSubstr("\",1,8,4,4,\""));
    EXPECT_THAT(line, ::testing::EndsWith("saxpy.cl:16\""));
    ASSERT_TRUE(std::getline(csv, line));
    EXPECT_THAT(line, ::testing::StartsWith("1," + std::to_string(saxpy + 4) + ",\"s_addc_u32"));
    EXPECT_FALSE(std::getline(csv, line));
}

TEST(PerfettoTest, RealTraceGivesNestedSlices) {
    const auto files = test::trace_files("gfx950", ".att");
    WAVETAP_NEED_DATA(files);
    const auto path = test::data_folder() / "traces/gfx950/gemm_0";
    TestTrace trace;
    store::ProcessTrace& process = trace.process();
    process.agents[0].name = "gfx950";
    process.agents[0].timing = "hardware";
    std::filesystem::copy(path / "se0.att", process.dir + "/0.att");
    std::filesystem::copy(path / "code.elf", process.dir + "/real.elf");
    process.code_objects = {{1, 0, 0x200002006000, 0x4000, "file://code", "real.elf", false}};
    process.runs[0].chunks[0].bytes = std::filesystem::file_size(path / "se0.att");
    CodeTable code;
    std::string text;
    const auto sink = [&text](std::string_view piece) -> Result<void> {
        text += piece;
        return {};
    };
    const auto written = write_perfetto({trace.folder}, code, {}, sink);
    ASSERT_TRUE(written) << to_string(written.error());
    const auto json = nlohmann::json::parse(text);
    EXPECT_EQ(json["otherData"]["timing"], "hardware");
    std::map<int, std::vector<std::pair<double, double>>> tracks;
    int instructions = 0;
    for (const auto& event : json["traceEvents"]) {
        if (event["ph"] != "X") continue;
        tracks[event["tid"]].emplace_back(event["ts"], event["dur"]);
        instructions += event["args"].contains("stall");
    }
    EXPECT_EQ(instructions, 232);
    for (const auto& [track, slices] : tracks) {
        const auto [wave_start, wave_length] = slices[0];
        double until = wave_start;
        for (std::size_t i = 1; i < slices.size(); ++i) {
            EXPECT_GE(slices[i].first, until - 1e-6);
            until = slices[i].first + slices[i].second;
            EXPECT_LE(until, wave_start + wave_length + 1e-6);
        }
    }
}

TEST(PerfettoTest, ErrorOfTheSinkIsPassedOn) {
    TestTrace trace;
    CodeTable code;
    const auto refuse = [](std::string_view) -> Result<void> {
        return Error{ErrorCode::kIo, "disk full", "", ""};
    };
    const auto written = write_perfetto({trace.folder}, code, {}, refuse);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().message, "disk full");
}

} // namespace
} // namespace wavetap::report
