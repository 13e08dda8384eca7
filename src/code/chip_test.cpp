// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "code/chip.hpp"

#include <gtest/gtest.h>

#include <set>

namespace wavetap::code {
namespace {

TEST(ChipTest, NamesAndMachineNumbersAreUnique) {
    std::set<std::string_view> names;
    std::set<unsigned> machs;
    for (const ChipRow& chip : kChips) {
        EXPECT_TRUE(names.insert(chip.name).second) << chip.name;
        EXPECT_TRUE(machs.insert(chip.elf_mach).second) << chip.name;
        EXPECT_EQ(chip.exact, chip.name == chip.llvm_cpu) << chip.name;
        EXPECT_EQ(find_chip(chip.name), &chip);
        EXPECT_EQ(find_chip_by_mach(chip.elf_mach), &chip);
    }
}

TEST(ChipTest, FeaturesAreIgnoredAndUnknownNamesAreNull) {
    ASSERT_NE(find_chip("gfx90a:sramecc+:xnack-"), nullptr);
    EXPECT_EQ(find_chip("gfx90a:sramecc+:xnack-")->name, "gfx90a");
    EXPECT_EQ(find_chip("gfx90"), nullptr);
    EXPECT_EQ(find_chip(""), nullptr);
    EXPECT_EQ(find_chip_by_mach(0), nullptr);
    EXPECT_EQ(find_chip_by_mach(0xff), nullptr);
}

TEST(ChipTest, GenerationIsTheTraceFormatsWord) {
    EXPECT_EQ(find_chip("gfx950")->generation, "gfx9");
    EXPECT_EQ(find_chip("gfx1030")->generation, "gfx10");
    EXPECT_EQ(find_chip("gfx1151")->generation, "gfx11");
    EXPECT_EQ(find_chip("gfx1201")->generation, "gfx12");
    EXPECT_EQ(find_chip("gfx1250")->generation, "gfx1250");
}

} // namespace
} // namespace wavetap::code
