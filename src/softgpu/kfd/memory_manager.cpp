// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/kfd/memory_manager.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <iterator>

namespace wavetap::softgpu::kfd {
namespace {

constexpr std::uint32_t kKinds =
    kMemoryVram | kMemoryGtt | kMemoryUserptr | kMemoryDoorbell | kMemoryMmioRemap;

} // namespace

AddressSpace::Window AgentSpace::find(std::uint64_t va) {
    const auto after = windows_.upper_bound(va);
    if (after == windows_.begin()) return {};
    const Window& window = std::prev(after)->second;
    return va - window.va < window.size ? window : Window{};
}

bool AgentSpace::add(const Window& window) {
    const auto after = windows_.lower_bound(window.va);
    if (after != windows_.end() && after->first - window.va < window.size) return false;
    if (after != windows_.begin()) {
        const Window& before = std::prev(after)->second;
        if (window.va - before.va < before.size) return false;
    }
    windows_.emplace(window.va, window);
    return true;
}

void AgentSpace::remove(std::uint64_t va) {
    if (windows_.erase(va) != 0) ++generation_;
}

MemoryManager::MemoryManager(DeviceFile& file, unsigned agents, std::uint64_t hbm_bytes)
    : file_(file), hbm_bytes_(hbm_bytes), vram_used_(agents), vram_peaks_(agents) {
    for (unsigned i = 0; i < agents; ++i)
        spaces_.push_back(std::make_unique<AgentSpace>());
}

int MemoryManager::place(Buffer& buffer, AllocMemoryArgs& args) {
    switch (args.flags & kKinds) {
    case kMemoryVram: {
        if (buffer.size > vram_free(buffer.agent)) return ENOMEM;
        const auto offset = file_.allocate_vram(buffer.agent, buffer.size);
        if (!offset) return ENOMEM;
        buffer.offset = *offset;
        break;
    }
    case kMemoryGtt: {
        const auto offset = file_.allocate_gtt(buffer.size);
        if (!offset) return ENOMEM;
        buffer.offset = *offset;
        break;
    }
    case kMemoryUserptr:
        if (args.mmap_offset == 0) return EINVAL;
        buffer.host = reinterpret_cast<std::byte*>(args.mmap_offset);
        return 0;
    case kMemoryDoorbell:
        if (buffer.size > DeviceFile::kDoorbellBytes) return EINVAL;
        buffer.offset = file_.doorbell_offset(buffer.agent);
        break;
    case kMemoryMmioRemap:
        if (buffer.size > kPageBytes) return EINVAL;
        buffer.offset = file_.mmio_offset();
        break;
    default:
        return EINVAL;
    }
    buffer.host = file_.host(buffer.offset);
    args.mmap_offset = buffer.offset;
    return 0;
}

int MemoryManager::allocate(unsigned agent, AllocMemoryArgs& args) {
    if (agent >= spaces_.size() || args.size == 0 || args.va % kPageBytes != 0) return EINVAL;
    if (args.size > DeviceFile::kGttBytes) return ENOMEM;
    Buffer buffer;
    buffer.va = args.va;
    buffer.size = page_round(args.size);
    buffer.flags = args.flags;
    buffer.agent = agent;
    if (const int error = place(buffer, args); error != 0) return error;
    if ((args.flags & kMemoryVram) != 0) {
        vram_used_[agent] += buffer.size;
        vram_total_ += buffer.size;
        vram_peak_ = std::max(vram_peak_, vram_total_);
        vram_peaks_[agent] = std::max(vram_peaks_[agent], vram_used_[agent]);
    }
    args.handle = next_handle_++;
    buffers_.emplace(args.handle, buffer);
    objects_peak_ = std::max<std::uint64_t>(objects_peak_, buffers_.size());
    return 0;
}

int MemoryManager::free(std::uint64_t handle) {
    const auto it = buffers_.find(handle);
    if (it == buffers_.end()) return EINVAL;
    const Buffer& buffer = it->second;
    if (buffer.mapped != 0) return EBUSY;
    if ((buffer.flags & (kMemoryVram | kMemoryGtt)) != 0) file_.release(buffer.offset, buffer.size);
    if ((buffer.flags & kMemoryVram) != 0) {
        vram_used_[buffer.agent] -= buffer.size;
        vram_total_ -= buffer.size;
    }
    buffers_.erase(it);
    return 0;
}

int MemoryManager::map(std::uint64_t handle, unsigned agent) {
    const auto it = buffers_.find(handle);
    if (it == buffers_.end() || agent >= spaces_.size()) return EINVAL;
    Buffer& buffer = it->second;
    if ((buffer.mapped >> agent & 1u) != 0) return 0;
    // Writable always: the runtime leaves the flag out for memory that the GPU does write.
    if (!spaces_[agent]->add({buffer.va, buffer.size, buffer.host, true})) return EINVAL;
    buffer.mapped |= 1u << agent;
    return 0;
}

int MemoryManager::unmap(std::uint64_t handle, unsigned agent) {
    const auto it = buffers_.find(handle);
    if (it == buffers_.end() || agent >= spaces_.size()) return EINVAL;
    Buffer& buffer = it->second;
    if ((buffer.mapped >> agent & 1u) == 0) return 0;
    spaces_[agent]->remove(buffer.va);
    buffer.mapped &= ~(1u << agent);
    return 0;
}

std::pair<std::byte*, std::uint64_t> MemoryManager::host(std::uint64_t handle) const {
    const auto it = buffers_.find(handle);
    if (it == buffers_.end()) return {nullptr, 0};
    return {it->second.host, it->second.size};
}

} // namespace wavetap::softgpu::kfd
