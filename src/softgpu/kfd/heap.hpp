// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

namespace wavetap::softgpu::kfd {

/// First-fit allocator of page-aligned ranges in [base, base + size), with merging. A value.
class RangeAllocator {
  public:
    RangeAllocator(std::uint64_t base, std::uint64_t size);
    /// `bytes` is rounded up to pages. Nothing if no range is free.
    std::optional<std::uint64_t> allocate(std::uint64_t bytes);
    /// `offset` and `bytes` as allocated.
    void release(std::uint64_t offset, std::uint64_t bytes);

  private:
    std::map<std::uint64_t, std::uint64_t> free_; ///< start -> size
};

inline constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t page_round(std::uint64_t bytes) {
    return (bytes + kPageBytes - 1) & ~(kPageBytes - 1);
}

/// The one sparse memory file that stands in for the KFD node and every render node: clients map
/// pieces of it by plain file offset, the engine sees all of it through its own view.
///
///   [0, agents * vram span)       VRAM, twice the HBM size an agent (the driver counts the HBM)
///   then 256 GiB                  GTT
///   then, at multiples of 4 GiB   one doorbell page pair an agent, then one MMIO page
///
/// Resource. Not thread safe.
class DeviceFile {
  public:
    static constexpr std::uint64_t kGttBytes = std::uint64_t{256} << 30;
    static constexpr std::uint64_t kDoorbellStride = std::uint64_t{4} << 30;
    static constexpr std::uint64_t kDoorbellBytes = 8192; ///< 1,024 slots of 8 bytes
    static constexpr std::uint32_t kDoorbellSlots = 1024;

    /// Errors: kUnavailable (no memfd, no address space).
    static Result<std::unique_ptr<DeviceFile>> create(unsigned agents, std::uint64_t hbm_bytes);
    ~DeviceFile();
    DeviceFile(const DeviceFile&) = delete;
    DeviceFile& operator=(const DeviceFile&) = delete;

    int fd() const { return fd_; }
    std::uint64_t device() const { return device_; } ///< st_dev
    std::uint64_t inode() const { return inode_; }   ///< st_ino

    /// Offset of `bytes` of VRAM of `agent`, or of GTT. Fresh memory reads as zero.
    std::optional<std::uint64_t> allocate_vram(unsigned agent, std::uint64_t bytes);
    std::optional<std::uint64_t> allocate_gtt(std::uint64_t bytes);
    /// Gives the range and its pages back.
    void release(std::uint64_t offset, std::uint64_t bytes);

    std::uint64_t doorbell_offset(unsigned agent) const;
    std::uint64_t mmio_offset() const { return doorbell_offset(agents_); }
    /// Where the byte at `offset` lies in this process.
    std::byte* host(std::uint64_t offset) const;

  private:
    DeviceFile(unsigned agents, std::uint64_t hbm_bytes);

    unsigned agents_;
    std::uint64_t vram_span_;
    std::uint64_t heap_bytes_;
    int fd_ = -1;
    std::uint64_t device_ = 0;
    std::uint64_t inode_ = 0;
    std::byte* view_ = nullptr;      ///< of [0, heap_bytes_)
    std::byte* registers_ = nullptr; ///< doorbell pages one after the other, then the MMIO page
    std::map<unsigned, RangeAllocator> vram_;
    RangeAllocator gtt_;
};

} // namespace wavetap::softgpu::kfd
