// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/memory.hpp"
#include "softgpu/space_for_test.hpp"

#include <gtest/gtest.h>

namespace wavetap::softgpu {
namespace {

TEST(MemoryTest, At_InsideOneWindow_IsItsHostAddress) {
    SpaceForTest space;
    std::byte* host = space.map(0x10000, 0x2000);
    Memory memory(space);
    EXPECT_EQ(memory.at(0x10000, 1, Access::kRead), host);
    EXPECT_EQ(memory.at(0x11ff0, 16, Access::kWrite), host + 0x1ff0);
    EXPECT_EQ(memory.at(0x11ff1, 16, Access::kRead), nullptr) << "past the end";
    EXPECT_EQ(memory.at(0xffff, 1, Access::kRead), nullptr);
    EXPECT_EQ(memory.at(0x12000, 1, Access::kRead), nullptr);
    EXPECT_EQ(memory.at(0x10000, ~std::uint64_t{0}, Access::kRead), nullptr) << "size overflow";
}

TEST(MemoryTest, At_ReadOnlyWindow_RefusesWrites) {
    SpaceForTest space;
    space.map(0x10000, 0x1000, false);
    Memory memory(space);
    EXPECT_NE(memory.at(0x10000, 4, Access::kExecute), nullptr);
    EXPECT_EQ(memory.at(0x10000, 4, Access::kWrite), nullptr);
}

TEST(MemoryTest, At_AfterUnmap_DropsTheCachedWindow) {
    SpaceForTest space;
    space.map(0x10000, 0x1000);
    Memory memory(space);
    ASSERT_NE(memory.at(0x10000, 4, Access::kRead), nullptr);
    space.unmap(0x10000);
    EXPECT_EQ(memory.at(0x10000, 4, Access::kRead), nullptr);
    std::byte* host = space.map(0x10000, 0x1000);
    EXPECT_EQ(memory.at(0x10000, 4, Access::kRead), host);
}

TEST(MemoryTest, ReadWrite_TwoWindowsInOneCacheWay_BothRight) {
    SpaceForTest space;
    const std::uint64_t a = 0x200000, b = a + 64 * 0x200000;
    space.map(a, 0x1000);
    space.map(b, 0x1000);
    Memory memory(space);
    for (int round = 0; round < 3; ++round) {
        ASSERT_TRUE(memory.write(a + 8, std::uint32_t{1}));
        ASSERT_TRUE(memory.write(b + 8, std::uint32_t{2}));
        std::uint32_t value = 0;
        ASSERT_TRUE(memory.read(a + 8, value));
        EXPECT_EQ(value, 1u);
        ASSERT_TRUE(memory.read(b + 8, value));
        EXPECT_EQ(value, 2u);
    }
}

} // namespace
} // namespace wavetap::softgpu
