// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace wavetap::softgpu {

/// The comparison of PM4 WAIT_REG_MEM and SDMA POLL_REGMEM: 0 always, 1 <, 2 <=, 3 ==, 4 !=, 5 >=,
/// 6 and 7 >. `value` is already masked.
inline bool poll_holds(std::uint32_t function, std::uint32_t value, std::uint32_t reference) {
    switch (function) {
    case 0:
        return true;
    case 1:
        return value < reference;
    case 2:
        return value <= reference;
    case 3:
        return value == reference;
    case 4:
        return value != reference;
    case 5:
        return value >= reference;
    default:
        return value > reference;
    }
}

} // namespace wavetap::softgpu
