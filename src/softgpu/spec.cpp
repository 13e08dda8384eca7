// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/chip.hpp"

namespace wavetap::softgpu {

Result<ChipSpec> chip_spec(std::string_view name) {
    if (name != "gfx90a") {
        return Error{ErrorCode::kUnsupported, "no software chip named '" + std::string(name) + "'",
                     "", "there is: gfx90a"};
    }
    ChipSpec spec;
    spec.name = "gfx90a";
    // 110 of the 112 compute units of the die are in use.
    spec.harvested = {6 << 8 | 13, 7 << 8 | 13};
    return spec;
}

} // namespace wavetap::softgpu
