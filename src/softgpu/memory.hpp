// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace wavetap::softgpu {

enum class Access : std::uint8_t { kRead, kWrite, kExecute };

/// How the front end (KFD emulation, or a test) lends the chip its memory. Implementations are
/// called with the chip's owner lock held and must not block.
class AddressSpace {
  public:
    /// A contiguous piece of GPU virtual memory that is mapped to this chip.
    struct Window {
        std::uint64_t va = 0;
        std::uint64_t size = 0;    ///< bytes; 0 = nothing is mapped there
        std::byte* host = nullptr; ///< where `va` lies in this process
        bool writable = true;
    };
    virtual ~AddressSpace() = default;
    /// The window that contains `va`, or one of size 0.
    virtual Window find(std::uint64_t va) = 0;
    /// Changes whenever a window was removed or replaced, so that cached windows are dropped.
    virtual std::uint64_t generation() const = 0;
};

/// An AddressSpace behind a small cache of windows: what instructions and engines use.
/// Value-like view; not thread safe.
class Memory {
  public:
    explicit Memory(AddressSpace& space) : space_(space) {}

    /// Host address of [va, va + size) if one mapped window holds all of it, else nullptr.
    std::byte* at(std::uint64_t va, std::uint64_t size, Access access) {
        const AddressSpace::Window& w = ways_[(va >> 21) % ways_.size()];
        if (generation_ == space_.generation() && va - w.va < w.size &&
            size <= w.size - (va - w.va) && (access != Access::kWrite || w.writable))
            return w.host + (va - w.va);
        return slow_at(va, size, access);
    }
    template <class T> bool read(std::uint64_t va, T& out) {
        const std::byte* p = at(va, sizeof(T), Access::kRead);
        if (p == nullptr) return false;
        std::memcpy(&out, p, sizeof(T));
        return true;
    }
    template <class T> bool write(std::uint64_t va, const T& in) {
        std::byte* p = at(va, sizeof(T), Access::kWrite);
        if (p == nullptr) return false;
        std::memcpy(p, &in, sizeof(T));
        return true;
    }

  private:
    std::byte* slow_at(std::uint64_t va, std::uint64_t size, Access access);

    AddressSpace& space_;
    std::uint64_t generation_ = ~std::uint64_t{0};
    std::array<AddressSpace::Window, 64> ways_{};
};

} // namespace wavetap::softgpu
