// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/blobs_for_test.hpp"
#include "report/blob_for_test.hpp"
#include "report/foreign.hpp"
#include "report/health.hpp"
#include "report/hot_spots.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

namespace wavetap::report {
namespace {

namespace fs = std::filesystem;
using decode::test_blobs::text_of;

fs::path real_launch(const std::string& arch) {
    return test::data_folder() / "traces" / arch / "gemm_0";
}

std::uint64_t base_of(const fs::path& launch) {
    const auto meta = nlohmann::json::parse(std::ifstream(launch / "meta.json"));
    return std::stoull(meta["load_base"].get<std::string>(), nullptr, 16);
}

void write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
}

/// A folder as rocprofv3 leaves it, made of the bytes of a real launch: two shader engines.
struct RocprofFolder {
    test::TempFolder folder;
    fs::path launch;
    nlohmann::json results;

    explicit RocprofFolder(const std::string& arch) : launch(real_launch(arch)) {
        fs::create_directories(root() / "host_a");
        for (const char* se : {"0", "1"})
            fs::copy(launch / (std::string("se") + se + ".att"), root() / att(se));
        fs::copy(launch / "code.elf", root() / ("host_a/42_" + arch + "_code_object_id_3.out"));
        auto& tool = results["rocprofiler-sdk-tool"][0];
        tool["agents"] = {{{"id", {{"handle", 7}}}, {"name", "cpu"}},
                          {{"id", {{"handle", 77}}},
                           {"name", arch},
                           {"cu_count", 256},
                           {"num_shader_banks", 32},
                           {"simd_per_cu", 4}}};
        tool["strings"]["att_filenames"] = {
            {{"key", 5}, {"value", {{"agent", 77}, {"files", {"/gone/" + att("0").substr(7)}}}}}};
        tool["code_objects"] = {{{"code_object_id", 3},
                                 {"load_base", base_of(launch)},
                                 {"load_size", 16384},
                                 {"uri", "file:///gemm"}}};
        save();
    }
    static std::string att(const std::string& se) {
        return "host_a/42_77_shader_engine_" + se + "_5.att";
    }
    fs::path root() const { return folder.path(); }
    void save() { write(root() / "host_a/42_results.json", results.dump()); }
};

std::string waves_of(const decode::BlobRecords& records) {
    std::string out;
    for (const decode::WaveRecord& wave : records.waves)
        out += text_of(wave) + "\n";
    return out;
}

class Foreign : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        const auto files = test::trace_files(GetParam(), ".att");
        WAVETAP_NEED_DATA(files);
    }
};

TEST_P(Foreign, RocprofFolderDecodesLikeItsBytes) {
    if (IsSkipped()) return;
    const RocprofFolder made(GetParam());
    for (const std::string& name : {made.folder.path(), made.folder.path() + "/host_a"}) {
        const auto folder = open_any(name);
        ASSERT_TRUE(folder) << to_string(folder.error());
        ASSERT_EQ(folder->processes.size(), 1U);
        const store::ProcessTrace& process = folder->processes[0];
        EXPECT_EQ(process.pid, 42);
        EXPECT_TRUE(process.notes.empty()) << process.notes[0].second;
        ASSERT_EQ(process.agents.size(), 1U);
        EXPECT_EQ(process.agents[0].name, GetParam());
        EXPECT_EQ(process.agents[0].timing, "hardware");
        ASSERT_EQ(process.contexts.size(), 1U);
        EXPECT_EQ(process.contexts[0].se_mask, 3U);
        EXPECT_EQ(process.runs.at(0).info.first_dispatch, 5U);
        CodeTable code;
        std::size_t blobs = 0, instructions = 0;
        ASSERT_TRUE(visit_blobs(*folder, code, [&](const Blob& blob) {
            ASSERT_FALSE(blob.error) << to_string(*blob.error);
            decode::Options options;
            options.gfx = GetParam();
            const auto object = code::CodeObject::load((made.launch / "code.elf").string());
            options.objects.push_back({&*object, base_of(made.launch), 3});
            const auto direct = decode::decode_blob(
                test::read_bytes(made.launch / ("se" + std::to_string(blob.se) + ".att")), options);
            ASSERT_TRUE(direct);
            EXPECT_EQ(waves_of(blob.records), waves_of(*direct));
            instructions += blob.records.instructions_with_pc;
            ++blobs;
        }));
        EXPECT_EQ(blobs, 2U);
        EXPECT_GT(instructions, 0U);
        CodeTable table;
        const auto spots = find_hot_spots({*folder}, table);
        ASSERT_TRUE(spots);
        EXPECT_EQ(spots->timing, "hardware");
        EXPECT_FALSE(spots->by_instruction.empty());
    }
}

TEST_P(Foreign, ModelledTimesStayModelled) {
    if (IsSkipped()) return;
    RocprofFolder made(GetParam()); // as `wavetap export --to att` marks it
    made.results["rocprofiler-sdk-tool"][0]["agents"][1]["timing"] = "modelled";
    made.save();
    const auto folder = open_any(made.folder.path());
    ASSERT_TRUE(folder) << to_string(folder.error());
    EXPECT_EQ(folder->processes.at(0).agents.at(0).timing, "modelled");
    CodeTable table;
    const auto spots = find_hot_spots({*folder}, table);
    ASSERT_TRUE(spots);
    EXPECT_EQ(spots->timing, "modelled");
}

TEST_P(Foreign, PlainFolderOpensAsItLies) {
    if (IsSkipped()) return;
    const auto folder = open_any(real_launch(GetParam()).string());
    ASSERT_TRUE(folder) << to_string(folder.error());
    CodeTable table;
    const auto spots = find_hot_spots({*folder}, table);
    ASSERT_TRUE(spots) << to_string(spots.error());
    EXPECT_GT(spots->instructions, 0U);
    EXPECT_EQ(spots->instructions_without_pc, 0U);
    ASSERT_FALSE(spots->by_kernel.empty());
    EXPECT_EQ(spots->by_kernel[0].kind, KernelKind::kKernel);
    EXPECT_TRUE(find_health({*folder}, table));
}

// Its code object has no symbol: the name of the section would say nothing.
TEST_P(Foreign, MetaNamesTheKernelOfCodeWithoutSymbols) {
    if (IsSkipped()) return;
    const fs::path launch = test::data_folder() / "traces" / GetParam() / "sync_0";
    if (!fs::exists(launch)) return; // gfx950 has none
    const auto folder = open_any(launch.string());
    ASSERT_TRUE(folder) << to_string(folder.error());
    CodeTable table;
    const auto spots = find_hot_spots({*folder}, table);
    ASSERT_TRUE(spots);
    ASSERT_EQ(spots->by_kernel.size(), 1U);
    EXPECT_EQ(spots->by_kernel[0].name, "custom_lds_sync");
    EXPECT_EQ(spots->by_wave.at(0).kernel, "custom_lds_sync");
}

TEST_P(Foreign, TwoProcessesWithTheSameIdsStayApart) {
    if (IsSkipped()) return;
    const RocprofFolder made(GetParam());
    for (const auto& entry : fs::directory_iterator(made.root() / "host_a")) {
        std::string name = entry.path().filename().string();
        if (name.starts_with("42_"))
            fs::copy(entry.path(), made.root() / "host_a" / ("43" + name.substr(2)));
    }
    // The second one's code was loaded elsewhere, so its addresses must not be found in the first's.
    auto results = made.results;
    results["rocprofiler-sdk-tool"][0]["code_objects"][0]["load_base"] = 0x1000;
    write(made.root() / "host_a/43_results.json", results.dump());
    const auto folder = open_foreign(made.folder.path());
    ASSERT_TRUE(folder);
    ASSERT_EQ(folder->processes.size(), 2U);
    CodeTable table;
    std::vector<std::uint64_t> with_pc;
    ASSERT_TRUE(visit_blobs(*folder, table, [&](const Blob& blob) {
        with_pc.push_back(blob.records.instructions_with_pc);
    }));
    ASSERT_EQ(with_pc.size(), 4U);
    EXPECT_GT(with_pc[0] + with_pc[1], 0U);
    EXPECT_EQ(with_pc[2] + with_pc[3], 0U);
}

// As the ranks of a job leave them, each on a GPU of its own.
TEST_P(Foreign, ProcessesOnDifferentAgentsAreCountedApart) {
    if (IsSkipped()) return;
    const RocprofFolder made(GetParam());
    auto results = made.results;
    results["rocprofiler-sdk-tool"][0]["agents"][1]["id"]["handle"] = 78;
    for (const auto& [folder, handle] : {std::pair("host_a", "78"), std::pair("host_b", "77")}) {
        fs::create_directories(made.root() / folder);
        for (const char* se : {"0", "1"})
            fs::copy(made.root() / RocprofFolder::att(se),
                     made.root() / (std::string(folder) + "/43_" + handle + "_shader_engine_" + se +
                                    "_5.att"));
        write(made.root() / folder / "43_results.json",
              (std::string(folder) == "host_a" ? results : made.results).dump());
    }
    const auto folder = open_foreign(made.folder.path());
    ASSERT_TRUE(folder);
    std::set<std::uint32_t> agents;
    for (const store::ProcessTrace& process : folder->processes) {
        ASSERT_EQ(process.agents.size(), 1U);
        EXPECT_EQ(process.contexts.at(0).agent, process.agents[0].index);
        agents.insert(process.agents[0].index);
    }
    EXPECT_EQ(agents, (std::set<std::uint32_t>{0, 1, 2}));
    CodeTable table;
    const auto spots = find_hot_spots({*folder}, table);
    ASSERT_TRUE(spots);
    ASSERT_EQ(spots->coverage.size(), 3U);
    for (const Coverage& coverage : spots->coverage)
        EXPECT_EQ(coverage.requested, 2U);
}

// Two agents load their code at one address; each trace is read with its own agent's.
TEST_P(Foreign, CodeOfOneAgentIsNotFoundOnTheOther) {
    if (IsSkipped()) return;
    RocprofFolder made(GetParam());
    const std::string arch = GetParam();
    for (const char* se : {"0", "1"})
        fs::copy(made.root() / RocprofFolder::att(se),
                 made.root() / ("host_a/42_78_shader_engine_" + std::string(se) + "_5.att"));
    fs::copy(made.launch / "code.elf",
             made.root() / ("host_a/42_" + arch + "_code_object_id_4.out"));
    auto& tool = made.results["rocprofiler-sdk-tool"][0];
    tool["agents"].push_back(tool["agents"][1]);
    tool["agents"][2]["id"]["handle"] = 78;
    auto& objects = tool["code_objects"];
    objects.push_back(objects[0]);
    objects[0]["agent_id"] = {{"handle", 77}};
    objects[1]["code_object_id"] = 4;
    objects[1]["agent_id"] = {{"handle", 78}};
    made.save();
    const auto folder = open_foreign(made.folder.path());
    ASSERT_TRUE(folder);
    ASSERT_EQ(folder->processes.at(0).agents.size(), 2U);
    const auto& code = folder->processes[0].code_objects;
    ASSERT_EQ(code.size(), 2U) << "each is on one agent";
    EXPECT_EQ(code[0].agent, 0U);
    EXPECT_EQ(code[1].agent, 1U);
    CodeTable table;
    std::map<std::uint32_t, std::set<std::uint64_t>> ids;
    ASSERT_TRUE(visit_blobs(*folder, table, [&](const Blob& blob) {
        for (const decode::WaveRecord& wave : blob.records.waves) {
            for (const decode::InstructionRecord& each : wave.instructions)
                ids[blob.run->info.context].insert(each.pc.code_object);
        }
    }));
    EXPECT_EQ(ids[0], std::set<std::uint64_t>{3});
    EXPECT_EQ(ids[1], std::set<std::uint64_t>{4});
    // Where nobody says it, an object may be on either; one of an agent without traces is on none.
    objects[0].erase("agent_id");
    objects[1]["agent_id"] = 79;
    tool["agents"].push_back(tool["agents"][1]);
    tool["agents"][3]["id"]["handle"] = 79;
    made.save();
    const auto again = open_foreign(made.folder.path());
    ASSERT_TRUE(again);
    ASSERT_EQ(again->processes.at(0).code_objects.size(), 2U);
    for (const auto& each : again->processes[0].code_objects)
        EXPECT_EQ(each.id, 3U);
}

INSTANTIATE_TEST_SUITE_P(Real, Foreign, testing::Values("gfx950", "gfx1100", "gfx1200"));

class Broken : public testing::Test {
  protected:
    void SetUp() override {
        const auto files = test::trace_files("gfx1100", ".att");
        WAVETAP_NEED_DATA(files);
        made_.emplace("gfx1100");
    }
    std::string error() const {
        const auto folder = open_any(made_->folder.path());
        return folder ? "" : to_string(folder.error());
    }
    /// Notes of the process, and what is wrong with code objects and blobs.
    std::string complaints() const {
        const auto folder = open_any(made_->folder.path());
        if (!folder) return "ERROR " + to_string(folder.error());
        std::string out;
        for (const auto& [severity, note] : folder->processes[0].notes)
            out += severity + ": " + note + "\n";
        CodeTable table;
        EXPECT_TRUE(visit_blobs(*folder, table, [&](const Blob& blob) {
            if (blob.error) out += to_string(*blob.error) + "\n";
        }));
        for (const std::string& problem : table.problems())
            out += problem + "\n";
        return out;
    }
    void expect_complaint(const std::string& words) const {
        EXPECT_NE(complaints().find(words), std::string::npos) << complaints();
    }
    void expect_error(const std::string& words) const {
        EXPECT_NE(error().find(words), std::string::npos) << error();
    }
    std::optional<RocprofFolder> made_;
};

TEST_F(Broken, WholeOneHasNoComplaints) {
    if (!made_) return;
    EXPECT_EQ(complaints(), "");
}

TEST_F(Broken, ResultsThatAreNoJson) {
    if (!made_) return;
    const std::string whole = made_->results.dump();
    const fs::path path = made_->root() / "host_a/42_results.json";
    write(path, whole.substr(0, whole.size() / 2));
    expect_error("seems to be cut off (" + path.string());
    write(path, "");
    expect_error("this is no JSON");
    write(path, "[1, 2]\n");
    expect_error("this is JSON, but no object");
    write(path, "{\"other\": 1}");
    expect_error("no results file of rocprofv3");
    write(path, R"({"rocprofiler-sdk-tool": [{"code_objects": 7}]})");
    expect_error("\"code_objects\" is no list");
    write(path, R"({"rocprofiler-sdk-tool": [{"code_objects": [{"load_base": 7}]}]})");
    expect_error("has no \"code_object_id\"");
}

TEST_F(Broken, MissingFiles) {
    if (!made_) return;
    fs::remove(made_->root() / RocprofFolder::att("0"));
    expect_complaint("42_77_shader_engine_0_5.att is listed in");
    fs::remove(made_->root() / "host_a/42_gfx1100_code_object_id_3.out");
    expect_complaint("code object 3 (file:///gemm): its bytes were not available");
    fs::remove(made_->root() / "host_a/42_results.json");
    EXPECT_EQ(complaints(), "");
    fs::remove(made_->root() / RocprofFolder::att("1"));
    expect_error("there is no trace in this folder");
}

TEST_F(Broken, WithoutResultsCodeIsPlacedByMarkers) {
    if (!made_) return;
    fs::remove(made_->root() / "host_a/42_results.json");
    expect_complaint("info: there is no _results.json");
}

TEST_F(Broken, DamagedFiles) {
    if (!made_) return;
    write(made_->root() / RocprofFolder::att("0"), "");
    expect_complaint("0 bytes has no room for its header");
    write(made_->root() / RocprofFolder::att("0"), std::string(64, '\xff'));
    expect_complaint("are no thread-trace header");
    write(made_->root() / "host_a/42_gfx1100_code_object_id_3.out", "no ELF");
    expect_complaint("code object 3");
}

TEST_F(Broken, NamesThatAreNotRocprofs) {
    if (!made_) return;
    write(made_->root() / "host_a/42_gfx1100_code_object_id_3_copy.out", "x");
    expect_complaint("the name of a code object ends with _code_object_id_ID.out");
    write(made_->root() / "host_a/extra.att", "x");
    expect_complaint("host_a/extra.att is left out");
    for (const char* se : {"0", "1"})
        fs::remove(made_->root() / RocprofFolder::att(se));
    write(made_->root() / "host_a/42_77_shader_engine_x_5.att", "x");
    expect_error("does not end with _AGENT_shader_engine_SE_DISPATCH.att");
}

TEST_F(Broken, PlainFolders) {
    if (!made_) return;
    test::TempFolder plain;
    const fs::path root = plain.path();
    const auto words = [&] {
        const auto folder = open_any(plain.path());
        if (!folder) return to_string(folder.error());
        std::string out;
        for (const auto& [severity, note] : folder->processes[0].notes)
            out += note + "\n";
        return out;
    };
    EXPECT_NE(words().find("there is no trace in this folder"), std::string::npos) << words();
    fs::copy(made_->launch / "se0.att", root / "se0.att");
    EXPECT_NE(words().find("there is no code object in the folder"), std::string::npos) << words();
    fs::copy(made_->launch / "code.elf", root / "a.elf");
    EXPECT_NE(words().find("no meta.json with a load_base"), std::string::npos) << words();
    const auto named = open_any(plain.path());
    ASSERT_TRUE(named);
    EXPECT_EQ(named->processes[0].agents[0].name, "gfx1100") << "the code object says it";
    fs::copy(made_->launch / "code.elf", root / "b.hsaco");
    EXPECT_NE(words().find("2 code objects and none is called code.elf: a.elf, b.hsaco"),
              std::string::npos)
        << words();
    fs::remove(root / "b.hsaco");
    write(root / "meta.json", R"({"load_base": "somewhere"})");
    EXPECT_NE(words().find("\"load_base\" is no address"), std::string::npos) << words();
    write(root / "meta.json", R"({"load_base": 4096})");
    EXPECT_EQ(words(), "");
    fs::copy(made_->launch / "se0.att", root / "x0.att");
    EXPECT_NE(words().find("two traces of shader engine 0"), std::string::npos) << words();
    fs::rename(root / "x0.att", root / "trace.att");
    EXPECT_NE(words().find("the number of a shader engine"), std::string::npos) << words();
}

TEST(AttName, ReadsFromTheRight) {
    AttName name;
    ASSERT_TRUE(parse_att_name("my_shader_engine_9_run_12_shader_engine_3_44.att", name));
    EXPECT_EQ(name.prefix, "my_shader_engine_9_run");
    EXPECT_EQ(name.agent, "12");
    EXPECT_EQ(name.se, 3U);
    EXPECT_EQ(name.dispatch, 44U);
    ASSERT_TRUE(parse_att_name("12_shader_engine_0_1.att", name));
    EXPECT_EQ(name.prefix, "");
    for (const char* bad :
         {"se0.att", "1_shader_engine_0_1.out", "1_shader_engine_0.att", "1_shader_engine__1.att",
          "x_shader_engine_0_1.att", "1_shader_engine_0_1x.att",
          "1_shader_engine_99999999999999999999_1.att", "ab12_shader_engine_0_1.att"})
        EXPECT_FALSE(parse_att_name(bad, name)) << bad;
}

} // namespace
} // namespace wavetap::report
