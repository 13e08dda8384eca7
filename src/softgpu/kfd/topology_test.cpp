// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/kfd/config.hpp"
#include "softgpu/kfd/topology.hpp"
#include "softgpu/kfd/virtual_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>

namespace wavetap::softgpu::kfd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<AgentDescription> agents(unsigned count) {
    std::vector<AgentDescription> out;
    ChipSpec spec;
    spec.name = "gfx90a";
    spec.harvested = {6 << 8 | 13, 7 << 8 | 13};
    for (unsigned i = 0; i < count; ++i)
        out.push_back(describe_agent(spec, i, 64 * kGiB).value());
    return out;
}

std::string property(const std::string& text, const std::string& name) {
    for (const std::string_view line : split(text, '\n'))
        if (line.starts_with(name + " ")) return std::string(line.substr(name.size() + 1));
    return "absent";
}

const std::string kNodes = std::string(kSysfsRoot) + "/kfd/topology/nodes";

TEST(TopologyTest, Gfx90a_HasThePropertiesThatTheRuntimeReads) {
    const auto files = topology_files(agents(1), 8, 16 * kGiB, 3);
    const std::string gpu = *files.at(kNodes + "/1/properties");
    EXPECT_EQ(property(gpu, "simd_count"), "440") << "110 CUs";
    EXPECT_EQ(property(gpu, "gfx_target_version"), "90010");
    EXPECT_EQ(property(gpu, "device_id"), std::to_string(0x740c));
    EXPECT_EQ(property(gpu, "drm_render_minor"), "128");
    EXPECT_EQ(property(gpu, "cpu_cores_count"), "0");
    EXPECT_EQ(std::stoul(property(gpu, "capability")) >> 12 & 3, 2u) << "doorbell type 2";
    EXPECT_NE(*files.at(kNodes + "/1/gpu_id"), "0\n");
    const std::string cpu = *files.at(kNodes + "/0/properties");
    EXPECT_EQ(property(cpu, "cpu_cores_count"), "8");
    EXPECT_EQ(property(cpu, "cpu_core_id_base"), "3");
    EXPECT_EQ(*files.at(kNodes + "/0/gpu_id"), "0\n");
    EXPECT_EQ(property(*files.at(kNodes + "/1/mem_banks/0/properties"), "size_in_bytes"),
              std::to_string(64 * kGiB));
}

TEST(TopologyTest, CountsMatchTheFolders_FoldersAreListed_TextsAreShort) {
    const auto files = topology_files(agents(3), 2, kGiB, 0);
    for (const auto& [path, text] : files) {
        EXPECT_LT(text.value_or("").size(), 4096u) << path;
        const std::string parent = path.substr(0, path.rfind('/'));
        if (parent.size() >= kSysfsRoot.size()) {
            ASSERT_TRUE(files.contains(parent)) << parent;
            EXPECT_FALSE(files.at(parent).has_value()) << parent;
        }
    }
    for (unsigned node = 0; node < 4; ++node) {
        const std::string folder = kNodes + "/" + std::to_string(node);
        const std::string text = *files.at(folder + "/properties");
        for (const char* kind : {"mem_banks", "caches", "io_links"}) {
            unsigned count = 0;
            while (files.contains(folder + "/" + kind + "/" + std::to_string(count)))
                ++count;
            EXPECT_EQ(property(text, std::string(kind) + "_count"), std::to_string(count))
                << node << " " << kind;
        }
    }
    EXPECT_FALSE(files.contains(kNodes + "/4"));
}

TEST(TopologyTest, UnknownChip_IsRefusedWithAHint) {
    ChipSpec spec;
    spec.name = "gfx1234";
    const auto agent = describe_agent(spec, 0, kGiB);
    ASSERT_FALSE(agent);
    EXPECT_EQ(agent.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(agent.error().message, HasSubstr("gfx1234"));
    EXPECT_THAT(agent.error().hint, HasSubstr("gfx90a"));
}

TEST(TopologyTest, FirstApicid) {
    EXPECT_EQ(first_apicid("processor\t: 0\napicid\t\t: 12\ninitial apicid\t: 5\n"), 12u);
    EXPECT_EQ(first_apicid("nothing"), 0u);
}

class VirtualFilesTest : public ::testing::Test {
  protected:
    static constexpr VirtualFile kFiles[] = {
        {"/sys/devices/virtual/kfd", nullptr},
        {"/sys/devices/virtual/kfd/kfd", nullptr},
        {"/sys/devices/virtual/kfd/kfd/topology", nullptr},
        {"/sys/devices/virtual/kfd/kfd/topology/generation_id", "2\n"},
        {"/sys/devices/virtual/kfd/kfd/topology/nodes", nullptr},
    };
    VirtualFilesTest() {
        engine_.gpus = 2;
        engine_.files = kFiles;
        engine_.file_count = std::size(kFiles);
    }
    std::vector<std::string> list(const char* path) const {
        std::vector<std::string> names;
        char name[256];
        bool is_folder = false;
        while (folder_entry(path, &engine_, names.size(), name, sizeof name, is_folder))
            names.emplace_back(name);
        return names;
    }
    NodeKind kind(const char* path) const { return find_node(path, &engine_).kind; }

    EngineAbi engine_{};
};

TEST_F(VirtualFilesTest, BothSpellingsOfSysfsAreOneFile) {
    for (const char* path : {"/sys/devices/virtual/kfd/kfd/topology/generation_id",
                             "/sys/class/kfd/kfd/topology/generation_id",
                             "//sys/class//kfd/./kfd/topology/nodes/../generation_id"}) {
        const Node node = find_node(path, &engine_);
        EXPECT_TRUE(may_be_ours(path)) << path;
        EXPECT_TRUE(needs_engine(path)) << path;
        ASSERT_EQ(node.kind, NodeKind::kText) << path;
        EXPECT_STREQ(node.text, "2\n");
        EXPECT_STREQ(node.path, kFiles[3].path);
    }
}

TEST_F(VirtualFilesTest, DevicesAreThoseOfTheAgents) {
    EXPECT_EQ(kind("/dev/kfd"), NodeKind::kDevice);
    EXPECT_EQ(find_node("/dev/dri/renderD129", &engine_).minor, 129);
    EXPECT_EQ(kind("/dev/dri/renderD129"), NodeKind::kDevice);
    EXPECT_EQ(kind("/dev/dri/renderD130"), NodeKind::kMissing);
    EXPECT_EQ(kind("/dev/dri/renderD128x"), NodeKind::kForeign);
    EXPECT_EQ(kind("/dev/dri/renderD99999999999"), NodeKind::kForeign);
    EXPECT_EQ(kind("/dev/kfdx"), NodeKind::kForeign);
    EXPECT_EQ(find_node("/dev/kfd", nullptr).kind, NodeKind::kMissing);
}

TEST_F(VirtualFilesTest, ForeignNamesAreNotClaimed) {
    for (const char* path : {"/etc/passwd", "relative", "/sys/devices/virtual/kfdx", "/dev/null",
                             "/sys/module/amdgpux", "/proc/modulesx"})
        EXPECT_EQ(kind(path), NodeKind::kForeign) << path;
    EXPECT_FALSE(may_be_ours("/etc/passwd"));
    EXPECT_FALSE(may_be_ours("dev/kfd"));
    EXPECT_FALSE(needs_engine("/proc/modules")) << "lsmod must stay cheap";
    EXPECT_EQ(kind("/sys/devices/virtual/kfd/kfd/nothing"), NodeKind::kMissing);
    EXPECT_EQ(kind(("/sys/class/kfd/" + std::string(1000, 'x')).c_str()), NodeKind::kForeign);
}

TEST_F(VirtualFilesTest, ModulesAreThereWithoutAnEngine) {
    const Node node = find_node("/proc/modules", nullptr);
    EXPECT_EQ(node.kind, NodeKind::kText);
    EXPECT_TRUE(node.append_real);
    EXPECT_EQ(std::strncmp(node.text, "amdgpu ", 7), 0);
    EXPECT_EQ(find_node("/sys/module/amdgpu/holders", nullptr).kind, NodeKind::kFolder);
}

TEST_F(VirtualFilesTest, FolderEntries_AreTheDirectChildren) {
    EXPECT_THAT(list("/sys/devices/virtual/kfd/kfd/topology"),
                ElementsAre(".", "..", "generation_id", "nodes"));
    EXPECT_THAT(list("/sys/devices/virtual/kfd"), ElementsAre(".", "..", "kfd"));
    EXPECT_THAT(list("/sys/devices/virtual/kfd/kfd/topology/nodes"), ElementsAre(".", ".."));
}

Result<Config> config(const std::map<std::string, std::string>& variables) {
    return read_config([&](const char* name) {
        const auto it = variables.find(name);
        return it == variables.end() ? nullptr : it->second.c_str();
    });
}

TEST(ConfigTest, Defaults) {
    const Config c = config({{"WAVETAP_GPU", "soft:gfx90a"}}).value();
    EXPECT_THAT(c.chips, ElementsAre("gfx90a"));
    EXPECT_EQ(c.hbm_bytes, 64 * kGiB);
    EXPECT_EQ(c.queues_per_agent, 128u);
    EXPECT_EQ(c.interface_minor, 11u);
}

TEST(ConfigTest, EverythingSet) {
    const Config c = config({{"WAVETAP_GPU", "soft:gfx90a,gfx90a,soft:gfx90a"},
                             {"WAVETAP_SOFTGPU_HBM", "2GiB"},
                             {"WAVETAP_SOFTGPU_QUEUES", "7"},
                             {"WAVETAP_SOFTGPU_SEED", "0x10"},
                             {"WAVETAP_SOFTGPU_KFD_MINOR", "14"},
                             {"WAVETAP_TRUTH_DIR", "t"},
                             {"WAVETAP_DRIVER_DIR", "d"},
                             {"WAVETAP_SOFTGPU_LOG", "l"}})
                         .value();
    EXPECT_EQ(c.chips.size(), 3u);
    EXPECT_EQ(c.hbm_bytes, 2 * kGiB);
    EXPECT_EQ(c.queues_per_agent, 7u);
    EXPECT_EQ(c.seed, 16u);
    EXPECT_EQ(c.interface_minor, 14u);
    EXPECT_EQ(c.truth_folder, "t");
    EXPECT_EQ(c.counters_folder, "d");
    EXPECT_EQ(c.log_path, "l");
}

TEST(ConfigTest, BadValues_NameTheVariable) {
    for (const auto& [name, value] :
         std::map<std::string, std::string>{{"WAVETAP_GPU", "hard:gfx90a"},
                                            {"WAVETAP_SOFTGPU_HBM", "12 bananas"},
                                            {"WAVETAP_SOFTGPU_QUEUES", "0"},
                                            {"WAVETAP_SOFTGPU_SEED", "x"},
                                            {"WAVETAP_SOFTGPU_KFD_MINOR", "99"}}) {
        const auto c = config({{name, value}});
        ASSERT_FALSE(c) << name;
        EXPECT_EQ(c.error().where, name);
        EXPECT_FALSE(c.error().hint.empty());
    }
    EXPECT_FALSE(config({{"WAVETAP_GPU", "soft:gfx90a,,"}}));
}

} // namespace
} // namespace wavetap::softgpu::kfd
