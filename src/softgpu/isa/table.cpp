// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/table.hpp"

namespace wavetap::softgpu::isa {

std::vector<std::reference_wrapper<const Semantics>> all_rows() {
    std::vector<std::reference_wrapper<const Semantics>> out;
    for (const auto rows :
         {valu_float_rows(), valu_double_rows(), valu_half_rows(), valu_int_rows(),
          valu_convert_rows(), valu_compare_rows(), valu_packed_rows(), valu_cross_lane_rows(),
          mfma_rows(), salu_rows(), program_flow_rows(), smem_rows(), ds_rows(), flat_rows(),
          buffer_rows()})
        out.insert(out.end(), rows.begin(), rows.end());
    return out;
}

} // namespace wavetap::softgpu::isa
