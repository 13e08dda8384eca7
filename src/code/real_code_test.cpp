// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "code/code_object.hpp"
#include "code/disassembler.hpp"
#include "tests/support/proof.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace wavetap::code {
namespace {

namespace fs = std::filesystem;

fs::path data_folder() {
    const char* folder = std::getenv("WAVETAP_DATA");
    return fs::path(folder != nullptr ? folder : WAVETAP_DATA_DEFAULT) / "traces";
}

std::vector<fs::path> real_code_objects() {
    std::vector<fs::path> result;
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(data_folder(), error))
        if (entry.path().filename() == "code.elf") result.push_back(entry.path());
    return result;
}

TEST(RealCodeTest, EveryFunctionOfEveryRealProgramDisassembles) {
    if (!fs::exists(data_folder())) {
        if (std::getenv("CI") != nullptr) FAIL() << "no real traces in " << data_folder();
        ::wavetap::test::count_proof("skipped", 0, 1);
        GTEST_SKIP() << "NO REAL TRACES in " << data_folder() << "; set WAVETAP_DATA";
    }
    const auto paths = real_code_objects();
    EXPECT_GE(paths.size(), 12u);
    for (const fs::path& path : paths) {
        const auto object = CodeObject::load(path);
        ASSERT_TRUE(object) << to_string(object.error());
        const std::string folder = path.parent_path().parent_path().filename();
        // The set called gfx1200 holds programs for gfx1200 and for gfx1201.
        EXPECT_THAT(object->gfx(), ::testing::StartsWith(folder.substr(0, 6))) << path;
        auto disassembler = Disassembler::create(object->gfx());
        ASSERT_TRUE(disassembler);
        ASSERT_FALSE(object->functions().empty()) << path;
        for (const Symbol& function : object->functions()) {
            std::uint64_t address = function.address;
            while (address < function.address + function.size_bytes) {
                const auto instruction = disassembler->decode(object->bytes_at(address), address);
                ASSERT_TRUE(instruction) << path << ": " << to_string(instruction.error());
                address += instruction->size_bytes;
            }
            EXPECT_EQ(address, function.address + function.size_bytes) << path;
        }
    }
}

} // namespace
} // namespace wavetap::code
