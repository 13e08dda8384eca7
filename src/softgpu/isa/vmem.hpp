// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "softgpu/isa/opcode.hpp"

// What flat, global, scratch and buffer instructions share: 64 places, then a load, a store or an
// atomic on each.

namespace wavetap::softgpu::isa {

/// Where one lane's bytes lie.
struct Place {
    enum class Kind : std::uint8_t { kMemory, kLds, kOutOfRange };
    Kind kind = Kind::kMemory;
    /// 0: bytes follow each other from `va`. Otherwise dwords of this many lanes are interleaved:
    /// byte b is at va + (offset + b) / 4 * 4 * swizzle_lanes + (offset + b) % 4.
    std::uint32_t swizzle_lanes = 0;
    std::uint64_t va = 0;
    std::uint64_t offset = 0;
};

struct Addresses {
    bool linear = true; ///< every lane is plain memory at va[lane]
    bool wide = false;  ///< cpu_is_wide()
    std::array<std::uint64_t, kLanes> va;
    std::array<Place, kLanes> places; ///< if not linear

    Place place(unsigned lane) const {
        if (!linear) return places[lane];
        Place p;
        p.va = va[lane];
        return p;
    }
};

/// Performs code.row->memory on the active lanes; data registers are code.dst (load result, store
/// data, atomic result) and code.op[0] (atomic data).
StepInfo access_memory(const Op& op, Wave& wave, Memory& memory, const Addresses& addresses);

} // namespace wavetap::softgpu::isa
