// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "code/chip.hpp"

namespace wavetap::code {

std::string known_chip_names() {
    std::string names;
    for (const ChipRow& chip : kChips) {
        if (!names.empty()) names += ", ";
        names += chip.name;
    }
    return names;
}

} // namespace wavetap::code
