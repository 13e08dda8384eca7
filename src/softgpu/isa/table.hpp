// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "softgpu/isa/opcode.hpp"

#include <functional>
#include <vector>

namespace wavetap::softgpu::isa {

/// Every row of every table; rows live as long as the program.
std::vector<std::reference_wrapper<const Semantics>> all_rows();

} // namespace wavetap::softgpu::isa
