// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/opcode.hpp"

namespace wavetap::softgpu::isa {

std::span<const Semantics> mfma_rows() {
    return {};
}

} // namespace wavetap::softgpu::isa
