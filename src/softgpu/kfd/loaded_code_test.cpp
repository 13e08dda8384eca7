// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/kfd/loaded_code.hpp"

#include <gtest/gtest.h>
#include <link.h>

namespace wavetap::softgpu::kfd {
namespace {

TEST(LoadedCodeTest, Uri_FileWithRangeAndEscapes) {
    const CodeUri uri = parse_code_uri("file:///a%20b/c#offset=4096&size=0x20").value();
    EXPECT_FALSE(uri.in_memory);
    EXPECT_EQ(uri.path, "/a b/c");
    EXPECT_EQ(uri.offset, 4096u);
    EXPECT_EQ(uri.size, 32u);
    EXPECT_EQ(parse_code_uri("file:///x").value().path, "/x");
}

TEST(LoadedCodeTest, Uri_Memory) {
    const CodeUri uri = parse_code_uri("memory://123#offset=0x7f00&size=16").value();
    EXPECT_TRUE(uri.in_memory);
    EXPECT_EQ(uri.offset, 0x7f00u);
    EXPECT_EQ(uri.size, 16u);
}

TEST(LoadedCodeTest, Uri_Bad) {
    for (const char* text :
         {"", "http://x", "memory://1", "memory://1#offset=zz&size=1", "file://x#offset"})
        EXPECT_FALSE(parse_code_uri(text)) << text;
}

// Lists that lie end in no name, not in a crash.
TEST(LoadedCodeTest, Describe_BrokenLists_GiveNothing) {
    EXPECT_EQ(describe_code(nullptr, 0x1000), "");
    EXPECT_EQ(describe_code(reinterpret_cast<const void*>(8), 0x1000), "");
    r_debug list{};
    list.r_state = r_debug::RT_CONSISTENT;
    list.r_map = reinterpret_cast<link_map*>(16);
    EXPECT_EQ(describe_code(&list, 0x1000), "");
    char name[] = "memory://1#offset=0x10&size=4096";
    link_map entry{};
    entry.l_name = name;
    entry.l_next = &entry; // for ever
    list.r_map = &entry;
    EXPECT_EQ(describe_code(&list, 0x1000), "");
}

} // namespace
} // namespace wavetap::softgpu::kfd
