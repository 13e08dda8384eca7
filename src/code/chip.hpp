// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

// The chips whose code objects we read. One row a chip; the source of the machine numbers is the
// table "AMDGPU EF_AMDGPU_MACH Values" of LLVM's AMDGPU usage document.

namespace wavetap::code {

struct ChipRow {
    std::string_view name; ///< as the runtime and the compilers spell it
    std::uint8_t elf_mach; ///< low 8 bits of e_flags
    std::string_view llvm_cpu;
    bool exact; ///< LLVM 19 has this chip's own tables; else llvm_cpu is the nearest chip
    std::string_view generation; ///< word of the trace format: "gfx9", …, "gfx1250"
};

inline constexpr std::array kChips = {
    ChipRow{"gfx900", 0x2c, "gfx900", true, "gfx9"},
    ChipRow{"gfx902", 0x2d, "gfx902", true, "gfx9"},
    ChipRow{"gfx904", 0x2e, "gfx904", true, "gfx9"},
    ChipRow{"gfx906", 0x2f, "gfx906", true, "gfx9"},
    ChipRow{"gfx908", 0x30, "gfx908", true, "gfx9"},
    ChipRow{"gfx909", 0x31, "gfx909", true, "gfx9"},
    ChipRow{"gfx90c", 0x32, "gfx90c", true, "gfx9"},
    ChipRow{"gfx90a", 0x3f, "gfx90a", true, "gfx9"},
    ChipRow{"gfx940", 0x40, "gfx940", true, "gfx9"},
    ChipRow{"gfx941", 0x4b, "gfx941", true, "gfx9"},
    ChipRow{"gfx942", 0x4c, "gfx942", true, "gfx9"},
    ChipRow{"gfx950", 0x4f, "gfx942", false, "gfx9"},
    ChipRow{"gfx9-generic", 0x51, "gfx9-generic", true, "gfx9"},
    ChipRow{"gfx9-4-generic", 0x5f, "gfx942", false, "gfx9"},
    ChipRow{"gfx1010", 0x33, "gfx1010", true, "gfx10"},
    ChipRow{"gfx1011", 0x34, "gfx1011", true, "gfx10"},
    ChipRow{"gfx1012", 0x35, "gfx1012", true, "gfx10"},
    ChipRow{"gfx1013", 0x42, "gfx1013", true, "gfx10"},
    ChipRow{"gfx1030", 0x36, "gfx1030", true, "gfx10"},
    ChipRow{"gfx1031", 0x37, "gfx1031", true, "gfx10"},
    ChipRow{"gfx1032", 0x38, "gfx1032", true, "gfx10"},
    ChipRow{"gfx1033", 0x39, "gfx1033", true, "gfx10"},
    ChipRow{"gfx1034", 0x3e, "gfx1034", true, "gfx10"},
    ChipRow{"gfx1035", 0x3d, "gfx1035", true, "gfx10"},
    ChipRow{"gfx1036", 0x45, "gfx1036", true, "gfx10"},
    ChipRow{"gfx10-1-generic", 0x52, "gfx10-1-generic", true, "gfx10"},
    ChipRow{"gfx10-3-generic", 0x53, "gfx10-3-generic", true, "gfx10"},
    ChipRow{"gfx1100", 0x41, "gfx1100", true, "gfx11"},
    ChipRow{"gfx1101", 0x46, "gfx1101", true, "gfx11"},
    ChipRow{"gfx1102", 0x47, "gfx1102", true, "gfx11"},
    ChipRow{"gfx1103", 0x44, "gfx1103", true, "gfx11"},
    ChipRow{"gfx1150", 0x43, "gfx1150", true, "gfx11"},
    ChipRow{"gfx1151", 0x4a, "gfx1151", true, "gfx11"},
    ChipRow{"gfx1152", 0x55, "gfx1152", true, "gfx11"},
    ChipRow{"gfx1153", 0x58, "gfx1152", false, "gfx11"},
    ChipRow{"gfx11-generic", 0x54, "gfx11-generic", true, "gfx11"},
    ChipRow{"gfx1200", 0x48, "gfx1200", true, "gfx12"},
    ChipRow{"gfx1201", 0x4e, "gfx1201", true, "gfx12"},
    ChipRow{"gfx12-generic", 0x59, "gfx12-generic", true, "gfx12"},
    ChipRow{"gfx1250", 0x49, "gfx1201", false, "gfx1250"},
    ChipRow{"gfx1251", 0x5a, "gfx1201", false, "gfx1250"},
};

/// The row of `name`, or null. Target features behind a colon ("gfx90a:xnack-") are ignored.
constexpr const ChipRow* find_chip(std::string_view name) {
    name = name.substr(0, name.find(':'));
    const auto* row = std::find_if(kChips.begin(), kChips.end(),
                                   [name](const ChipRow& chip) { return chip.name == name; });
    return row == kChips.end() ? nullptr : row;
}

constexpr const ChipRow* find_chip_by_mach(std::uint8_t elf_mach) {
    const auto* row = std::find_if(kChips.begin(), kChips.end(), [elf_mach](const ChipRow& chip) {
        return chip.elf_mach == elf_mach;
    });
    return row == kChips.end() ? nullptr : row;
}

/// "gfx900, gfx902, …", for messages.
std::string known_chip_names();

} // namespace wavetap::code
