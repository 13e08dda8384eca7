// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/kfd/heap.hpp"

#include "softgpu/kfd/real.hpp"

#include <cerrno>
#include <cstring>
#include <iterator>

namespace wavetap::softgpu::kfd {
namespace {

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

Error unavailable(const char* what) {
    return Error{ErrorCode::kUnavailable,
                 std::string("the software GPU got no memory: ") + what + ": " + strerror(errno),
                 "", "raise the limit on address space (ulimit -v) or lower WAVETAP_SOFTGPU_HBM"};
}

} // namespace

RangeAllocator::RangeAllocator(std::uint64_t base, std::uint64_t size) {
    free_.emplace(base, size);
}

std::optional<std::uint64_t> RangeAllocator::allocate(std::uint64_t bytes) {
    const std::uint64_t size = page_round(bytes);
    if (size == 0) return std::nullopt;
    for (auto it = free_.begin(); it != free_.end(); ++it) {
        if (it->second < size) continue;
        const std::uint64_t offset = it->first, left = it->second - size;
        free_.erase(it);
        if (left != 0) free_.emplace(offset + size, left);
        return offset;
    }
    return std::nullopt;
}

void RangeAllocator::release(std::uint64_t offset, std::uint64_t bytes) {
    auto [it, added] = free_.emplace(offset, page_round(bytes));
    if (!added) return;
    if (const auto next = std::next(it);
        next != free_.end() && it->first + it->second == next->first) {
        it->second += next->second;
        free_.erase(next);
    }
    if (it == free_.begin()) return;
    if (const auto before = std::prev(it); before->first + before->second == it->first) {
        before->second += it->second;
        free_.erase(it);
    }
}

DeviceFile::DeviceFile(unsigned agents, std::uint64_t hbm_bytes)
    : agents_(agents), vram_span_(round_up(2 * hbm_bytes, kDoorbellStride)),
      heap_bytes_(agents * vram_span_ + kGttBytes), gtt_(agents * vram_span_, kGttBytes) {
    for (unsigned agent = 0; agent < agents; ++agent)
        vram_.emplace(agent, RangeAllocator(agent * vram_span_, vram_span_));
}

Result<std::unique_ptr<DeviceFile>> DeviceFile::create(unsigned agents, std::uint64_t hbm_bytes) {
    std::unique_ptr<DeviceFile> file(new DeviceFile(agents, hbm_bytes));
    file->fd_ = real::memfd("wavetap-softgpu", MFD_CLOEXEC);
    if (file->fd_ < 0) return unavailable("memfd_create");
    const std::uint64_t total = file->mmio_offset() + kPageBytes;
    if (ftruncate(file->fd_, static_cast<off_t>(total)) != 0) return unavailable("ftruncate");
    struct ::stat identity {};
    if (real::fstat(file->fd_, &identity) != 0) return unavailable("fstat");
    file->device_ = identity.st_dev;
    file->inode_ = identity.st_ino;

    constexpr int kAccess = PROT_READ | PROT_WRITE;
    void* view =
        mmap(nullptr, file->heap_bytes_, kAccess, MAP_SHARED | MAP_NORESERVE, file->fd_, 0);
    if (view == MAP_FAILED) return unavailable("mmap");
    file->view_ = static_cast<std::byte*>(view);
    const std::uint64_t register_bytes = (agents + 1ull) * kDoorbellBytes;
    void* registers = mmap(nullptr, register_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (registers == MAP_FAILED) return unavailable("mmap");
    file->registers_ = static_cast<std::byte*>(registers);
    for (unsigned i = 0; i <= agents; ++i) {
        const std::uint64_t bytes = i < agents ? kDoorbellBytes : kPageBytes;
        if (mmap(file->registers_ + i * kDoorbellBytes, bytes, kAccess, MAP_SHARED | MAP_FIXED,
                 file->fd_, static_cast<off_t>(file->doorbell_offset(i))) == MAP_FAILED)
            return unavailable("mmap");
    }
    return file;
}

DeviceFile::~DeviceFile() {
    if (view_ != nullptr) munmap(view_, heap_bytes_);
    if (registers_ != nullptr) munmap(registers_, (agents_ + 1ull) * kDoorbellBytes);
    if (fd_ >= 0) real::close(fd_);
}

std::uint64_t DeviceFile::doorbell_offset(unsigned agent) const {
    return round_up(heap_bytes_, kDoorbellStride) + agent * kDoorbellStride;
}

std::byte* DeviceFile::host(std::uint64_t offset) const {
    if (offset < heap_bytes_) return view_ + offset;
    const std::uint64_t distance = offset - doorbell_offset(0);
    return registers_ + distance / kDoorbellStride * kDoorbellBytes + distance % kDoorbellStride;
}

std::optional<std::uint64_t> DeviceFile::allocate_vram(unsigned agent, std::uint64_t bytes) {
    const auto it = vram_.find(agent);
    return it == vram_.end() ? std::nullopt : it->second.allocate(bytes);
}

std::optional<std::uint64_t> DeviceFile::allocate_gtt(std::uint64_t bytes) {
    return gtt_.allocate(bytes);
}

void DeviceFile::release(std::uint64_t offset, std::uint64_t bytes) {
    fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
              static_cast<off_t>(page_round(bytes)));
    if (offset >= agents_ * vram_span_)
        gtt_.release(offset, bytes);
    else
        vram_.at(static_cast<unsigned>(offset / vram_span_)).release(offset, bytes);
}

} // namespace wavetap::softgpu::kfd
