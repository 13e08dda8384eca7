// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/memory.hpp"

namespace wavetap::softgpu {

std::byte* Memory::slow_at(std::uint64_t va, std::uint64_t size, Access access) {
    const std::uint64_t generation = space_.generation();
    if (generation != generation_) {
        ways_.fill({});
        generation_ = generation;
    }
    const AddressSpace::Window window = space_.find(va);
    if (window.size == 0 || va < window.va || va - window.va >= window.size) return nullptr;
    ways_[(va >> 21) % ways_.size()] = window;
    const std::uint64_t offset = va - window.va;
    if (size > window.size - offset || (access == Access::kWrite && !window.writable))
        return nullptr;
    return window.host + offset;
}

} // namespace wavetap::softgpu
