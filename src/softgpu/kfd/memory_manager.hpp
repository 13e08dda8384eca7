// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "softgpu/kfd/heap.hpp"
#include "softgpu/kfd/uapi.hpp"
#include "softgpu/memory.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace wavetap::softgpu::kfd {

/// The pages that are mapped to one agent. Owner lock.
class AgentSpace final : public AddressSpace {
  public:
    Window find(std::uint64_t va) override;
    std::uint64_t generation() const override { return generation_; }

    /// False if a window overlaps.
    bool add(const Window& window);
    void remove(std::uint64_t va);

  private:
    std::map<std::uint64_t, Window> windows_;
    std::uint64_t generation_ = 0;
};

/// Buffer objects of the process and their mappings to agents. Resource; every call under the owner
/// lock. Functions return 0 or an errno, as the ioctls do.
class MemoryManager {
  public:
    /// `file` must outlive it.
    MemoryManager(DeviceFile& file, unsigned agents, std::uint64_t hbm_bytes);

    /// Kinds of section "memory model" of the driver notes: exactly one of VRAM, GTT, USERPTR,
    /// DOORBELL, MMIO_REMAP in `args.flags`; sets handle and mmap_offset. EINVAL, ENOMEM.
    int allocate(unsigned agent, AllocMemoryArgs& args);
    /// EBUSY while mapped to an agent, EINVAL for an unknown handle.
    int free(std::uint64_t handle);
    int map(std::uint64_t handle, unsigned agent);
    int unmap(std::uint64_t handle, unsigned agent);

    AgentSpace& space(unsigned agent) { return *spaces_[agent]; }
    /// Where buffer `handle` lies in this process and its size; {nullptr, 0} if unknown.
    std::pair<std::byte*, std::uint64_t> host(std::uint64_t handle) const;

    std::uint64_t vram_bytes() const { return vram_total_; } ///< now, all agents
    std::uint64_t vram_peak_bytes() const { return vram_peak_; }
    std::uint64_t vram_bytes(unsigned agent) const { return vram_used_[agent]; }
    std::uint64_t vram_peak_bytes(unsigned agent) const { return vram_peaks_[agent]; }
    std::uint64_t vram_free(unsigned agent) const { return hbm_bytes_ - vram_used_[agent]; }
    std::uint64_t buffer_objects_peak() const { return objects_peak_; }

  private:
    struct Buffer {
        std::uint64_t va = 0;
        std::uint64_t size = 0;
        std::uint32_t flags = 0;
        unsigned agent = 0;
        std::uint64_t offset = 0; ///< in the device file; unused by USERPTR
        std::byte* host = nullptr;
        std::uint32_t mapped = 0; ///< bit an agent
    };
    int place(Buffer& buffer, AllocMemoryArgs& args);

    DeviceFile& file_;
    std::uint64_t hbm_bytes_;
    std::vector<std::unique_ptr<AgentSpace>> spaces_;
    std::vector<std::uint64_t> vram_used_, vram_peaks_; ///< by agent
    std::map<std::uint64_t, Buffer> buffers_;
    std::uint64_t next_handle_ = 1;
    std::uint64_t vram_total_ = 0;
    std::uint64_t vram_peak_ = 0;
    std::uint64_t objects_peak_ = 0;
};

} // namespace wavetap::softgpu::kfd
