// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "softgpu/isa.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

// Shared by the tests of the instruction set.

namespace wavetap::softgpu::isa_test {

/// Memory in pieces that a test adds.
class TestSpace : public AddressSpace {
  public:
    Window find(std::uint64_t va) override {
        for (auto& [base, piece] : pieces_)
            if (va - base < piece.bytes.size())
                return {base, piece.bytes.size(), piece.bytes.data(), piece.writable};
        return {};
    }
    std::uint64_t generation() const override { return generation_; }

    std::span<std::byte> add(std::uint64_t va, std::size_t size, bool writable = true) {
        ++generation_;
        Piece& piece = pieces_[va];
        piece.bytes.assign(size, std::byte{0});
        piece.writable = writable;
        return piece.bytes;
    }
    std::span<std::byte> bytes(std::uint64_t va) { return pieces_.at(va).bytes; }

  private:
    struct Piece {
        std::vector<std::byte> bytes;
        bool writable = true;
    };
    std::map<std::uint64_t, Piece> pieces_;
    std::uint64_t generation_ = 1;
};

/// Machine code of gfx90a assembly text (LLVM's assembler). Fails the test on a syntax error.
std::vector<std::byte> assemble(std::string_view text);

inline constexpr std::uint64_t kCode = 0x10000;
inline constexpr std::uint64_t kData = 0x7f0000200000;
inline constexpr std::size_t kDataBytes = 256 << 10;

/// One wave on its own, with code at kCode, 256 KiB of memory at kData and 4 KiB of LDS.
struct Machine {
    Machine();
    TestSpace space;
    Memory memory;
    std::unique_ptr<Program> program;
    Wave wave;
    std::vector<std::byte> lds;

    /// Assembles, places and executes `text` until its end, a fault, or 100,000 steps; returns the
    /// last outcome. Barriers and waits go on at once.
    StepInfo run(std::string_view text);
    /// The same for code that is already in place at wave.pc.
    StepInfo run_from_pc(std::uint64_t limit = 100'000);

    LaneWords& v(unsigned i) { return wave.vgpr[i]; }
    template <class T> T* data(std::uint64_t offset = 0) {
        return reinterpret_cast<T*>(space.bytes(kData).data() + offset);
    }
};

} // namespace wavetap::softgpu::isa_test
