// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "softgpu/memory.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace wavetap::softgpu {

/// For tests: an AddressSpace that owns the memory behind its windows.
class SpaceForTest final : public AddressSpace {
  public:
    /// Maps `size` zero bytes at `va`; returns where they lie.
    std::byte* map(std::uint64_t va, std::uint64_t size, bool writable = true) {
        Piece& piece = pieces_[va];
        piece.bytes.assign((size + 7) / 8, 0);
        piece.size = size;
        piece.writable = writable;
        ++generation_;
        return reinterpret_cast<std::byte*>(piece.bytes.data());
    }
    /// Maps memory that somebody else owns.
    void lend(std::uint64_t va, std::byte* host, std::uint64_t size) {
        Piece& piece = pieces_[va];
        piece.host = host;
        piece.size = size;
        ++generation_;
    }
    void unmap(std::uint64_t va) {
        pieces_.erase(va);
        ++generation_;
    }
    Window find(std::uint64_t va) override {
        auto it = pieces_.upper_bound(va);
        if (it == pieces_.begin()) return {};
        --it;
        if (va - it->first >= it->second.size) return {};
        Piece& piece = it->second;
        auto* own = reinterpret_cast<std::byte*>(piece.bytes.data());
        return {it->first, piece.size, piece.host != nullptr ? piece.host : own, piece.writable};
    }
    std::uint64_t generation() const override { return generation_; }

  private:
    struct Piece {
        std::vector<std::uint64_t> bytes;
        std::byte* host = nullptr; ///< lent
        std::uint64_t size = 0;
        bool writable = true;
    };
    std::map<std::uint64_t, Piece> pieces_;
    std::uint64_t generation_ = 0;
};

} // namespace wavetap::softgpu
