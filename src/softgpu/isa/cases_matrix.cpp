// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/mnemonic_cases.hpp"

namespace wavetap::softgpu::isa_test {

std::vector<MachineCase> matrix_cases() {
    return {};
}

} // namespace wavetap::softgpu::isa_test
