// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "sqtt/describe.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace wavetap::sqtt {
namespace {

TEST(Describe, NamesTheFields) {
    const std::array<std::byte, 4> bytes{std::byte{0x43}, std::byte{0x90}, std::byte{0x00},
                                         std::byte{0xB0}};
    TokenReader reader(Generation::kGfx9, bytes);
    Token token;
    ASSERT_TRUE(reader.next(token));
    EXPECT_EQ(describe(Generation::kGfx9, token),
              "WSTART sa=0 cu=1 slot=4 simd=2 pipe=0 me=0 grouped=0 count=64 thread_group=5");
}

TEST(Describe, NamesTokensWithoutARow) {
    const std::array<std::byte, 1> bytes{std::byte{0x26}};
    TokenReader reader(Generation::kGfx12, bytes);
    Token token;
    ASSERT_TRUE(reader.next(token));
    EXPECT_EQ(describe(Generation::kGfx12, token), "UNKNOWN bits=0x6");
}

// The tables of the documentation are those of the code; on a difference this prints the right ones.
TEST(Describe, TheDocumentationHasTheTables) {
    const std::pair<const char*, std::vector<Generation>> pages[] = {
        {"sqtt-gfx9.md", {Generation::kGfx9}},
        {"sqtt-rdna.md",
         {Generation::kGfx10, Generation::kGfx11, Generation::kGfx12, Generation::kGfx1250}}};
    for (const auto& [name, generations] : pages) {
        std::ifstream file(std::string(WAVETAP_SOURCE_DIR) + "/docs/formats/" + name);
        const std::string page{std::istreambuf_iterator<char>(file), {}};
        for (const Generation generation : generations) {
            const std::string table = table_markdown(generation);
            EXPECT_NE(page.find(table), std::string::npos)
                << name << " lacks the table of " << generation_name(generation) << ":\n"
                << table;
        }
    }
}

} // namespace
} // namespace wavetap::sqtt
