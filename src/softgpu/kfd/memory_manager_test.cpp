// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/units.hpp"
#include "softgpu/kfd/memory_manager.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

namespace wavetap::softgpu::kfd {
namespace {

constexpr std::uint64_t kHbm = 256 * kMiB, kVa = 0x7f0000000000;

TEST(RangeAllocatorTest, ReleaseInAnyOrder_MergesToOneRange) {
    RangeAllocator ranges(0x1000, 0x4000);
    std::uint64_t offset[4];
    for (std::uint64_t& o : offset)
        o = ranges.allocate(1).value();
    EXPECT_FALSE(ranges.allocate(1));
    EXPECT_FALSE(RangeAllocator(0, 0x1000).allocate(0));
    for (const int i : {2, 0, 3, 1})
        ranges.release(offset[i], 1);
    EXPECT_EQ(ranges.allocate(0x4000).value(), 0x1000u);
}

class MemoryManagerTest : public ::testing::Test {
  protected:
    MemoryManagerTest()
        : file_(std::move(DeviceFile::create(2, kHbm).value())), memory_(*file_, 2, kHbm) {}

    AllocMemoryArgs allocate(std::uint64_t va, std::uint64_t size, std::uint32_t flags,
                             int expected = 0, std::uint64_t host = 0) {
        AllocMemoryArgs args;
        args.va = va;
        args.size = size;
        args.flags = flags;
        args.mmap_offset = host;
        EXPECT_EQ(memory_.allocate(0, args), expected);
        return args;
    }

    std::unique_ptr<DeviceFile> file_;
    MemoryManager memory_;
};

TEST_F(MemoryManagerTest, Vram_ClientMappingAndAgentSeeTheSameBytes) {
    const AllocMemoryArgs args = allocate(kVa, 0x3000, kMemoryVram);
    EXPECT_EQ(memory_.space(0).find(kVa).size, 0u) << "not mapped yet";
    ASSERT_EQ(memory_.map(args.handle, 0), 0);
    void* client = mmap(nullptr, 0x3000, PROT_READ | PROT_WRITE, MAP_SHARED, file_->fd(),
                        static_cast<off_t>(args.mmap_offset));
    ASSERT_NE(client, MAP_FAILED);
    static_cast<char*>(client)[0x2fff] = 'x';
    const AddressSpace::Window window = memory_.space(0).find(kVa + 0x2fff);
    EXPECT_EQ(window.va, kVa);
    EXPECT_EQ(window.size, 0x3000u);
    EXPECT_EQ(window.host[0x2fff], std::byte{'x'});
    EXPECT_EQ(memory_.space(0).find(kVa + 0x3000).size, 0u);
    EXPECT_EQ(memory_.space(1).find(kVa).size, 0u) << "mapped to agent 0 alone";
    munmap(client, 0x3000);
}

TEST_F(MemoryManagerTest, Unmap_BumpsTheGenerationAndFreeWantsItFirst) {
    const AllocMemoryArgs args = allocate(kVa, 0x1000, kMemoryGtt);
    ASSERT_EQ(memory_.map(args.handle, 0), 0);
    EXPECT_EQ(memory_.map(args.handle, 0), 0) << "twice is once";
    EXPECT_EQ(memory_.free(args.handle), EBUSY);
    const std::uint64_t before = memory_.space(0).generation();
    EXPECT_EQ(memory_.unmap(args.handle, 0), 0);
    EXPECT_NE(memory_.space(0).generation(), before);
    EXPECT_EQ(memory_.space(0).find(kVa).size, 0u);
    EXPECT_EQ(memory_.free(args.handle), 0);
    EXPECT_EQ(memory_.free(args.handle), EINVAL);
    EXPECT_EQ(memory_.map(args.handle, 0), EINVAL);
}

TEST_F(MemoryManagerTest, Vram_LimitIsTheHbm_PeakAndFreeAreCounted) {
    const AllocMemoryArgs a = allocate(kVa, kHbm - kMiB, kMemoryVram);
    allocate(kVa + kHbm, 2 * kMiB, kMemoryVram, ENOMEM);
    EXPECT_EQ(memory_.vram_free(0), kMiB);
    EXPECT_EQ(memory_.vram_free(1), kHbm);
    EXPECT_EQ(memory_.free(a.handle), 0);
    EXPECT_EQ(memory_.vram_bytes(), 0u);
    EXPECT_EQ(memory_.vram_peak_bytes(), kHbm - kMiB);
    EXPECT_EQ(memory_.buffer_objects_peak(), 1u);
    allocate(kVa, kHbm, kMemoryVram);
}

TEST_F(MemoryManagerTest, Freed_ReadsAsZeroWhenItComesBack) {
    const AllocMemoryArgs a = allocate(kVa, 0x1000, kMemoryVram);
    std::memset(memory_.host(a.handle).first, 0xff, 0x1000);
    ASSERT_EQ(memory_.free(a.handle), 0);
    const AllocMemoryArgs b = allocate(kVa, 0x1000, kMemoryVram);
    EXPECT_EQ(b.mmap_offset, a.mmap_offset);
    EXPECT_EQ(memory_.host(b.handle).first[5], std::byte{0});
}

TEST_F(MemoryManagerTest, Userptr_IsTheCallersMemoryAtAnotherAddress) {
    std::vector<std::byte> host(0x2000);
    const AllocMemoryArgs args =
        allocate(kVa, host.size(), kMemoryUserptr, 0, reinterpret_cast<std::uint64_t>(host.data()));
    ASSERT_EQ(memory_.map(args.handle, 0), 0);
    EXPECT_EQ(memory_.space(0).find(kVa + 0x1234).host, host.data());
    allocate(kVa, 0x1000, kMemoryUserptr, EINVAL, 0);
}

// libhsakmt masks the offset of a node's first queue with 32 bits.
TEST_F(MemoryManagerTest, Doorbells_LieAtMultiplesOfFourGiB) {
    for (unsigned agent = 0; agent < 2; ++agent)
        EXPECT_EQ(file_->doorbell_offset(agent) & 0xffffffff, 0u);
    EXPECT_EQ(file_->mmio_offset() & 0xffffffff, 0u);
    const AllocMemoryArgs args = allocate(kVa, 8192, kMemoryDoorbell);
    EXPECT_EQ(args.mmap_offset, file_->doorbell_offset(0));
    EXPECT_EQ(memory_.host(args.handle).first, file_->host(file_->doorbell_offset(0)));
    const AllocMemoryArgs mmio = allocate(kVa + 0x10000, 4096, kMemoryMmioRemap);
    EXPECT_EQ(mmio.mmap_offset, file_->mmio_offset());
}

TEST_F(MemoryManagerTest, BadRequests_AreRefused) {
    allocate(kVa + 1, 0x1000, kMemoryVram, EINVAL);
    allocate(kVa, 0, kMemoryVram, EINVAL);
    allocate(kVa, 0x1000, kMemoryVram | kMemoryGtt, EINVAL);
    allocate(kVa, 0x1000, 0, EINVAL);
    allocate(kVa, ~std::uint64_t{0}, kMemoryGtt, ENOMEM);
    const AllocMemoryArgs a = allocate(kVa, 0x2000, kMemoryGtt);
    const AllocMemoryArgs b = allocate(kVa + 0x1000, 0x2000, kMemoryGtt);
    EXPECT_EQ(memory_.map(a.handle, 0), 0);
    EXPECT_EQ(memory_.map(b.handle, 0), EINVAL) << "overlaps";
    EXPECT_EQ(memory_.map(b.handle, 1), 0);
}

} // namespace
} // namespace wavetap::softgpu::kfd
